"""HTML from templates: one environment, in which every text is escaped unless it is marked as HTML."""

from functools import cache
from importlib import resources
from typing import Any


@cache
def _environment():
    # Jinja2 is imported when first needed: a command that shows no HTML does not wait for it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def source(name: str) -> str:
    """The text of a file of the package, such as ``report/page.css``."""
    return (resources.files("foretrain") / name).read_text(encoding="utf-8")


def render(name: str, **values: Any) -> str:
    """Fill the template of that name, such as ``report/page.html``; a value it lacks is an error."""
    return _environment().get_template(name).render(**values)
