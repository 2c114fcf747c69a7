"""HTML from templates: one environment, in which every text is escaped unless it is marked as HTML."""

import re
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup, escape

from foretrain.words import encodable

_STEERING = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"


@cache
def _environment():
    # Jinja2 is imported when first needed: a command that shows no HTML does not wait for it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["formulas"] = formulas
    return environment


def formulas(text: str) -> Any:
    """A plain text as HTML in which what reads as a formula is set as one.

    Greek names become letters, ``sigma_0`` and ``B1^2`` get their index, ``x^2`` and ``P^(-3/4)`` their exponent, ``sqrt(M)``
    its sign; a capital before a symbol is one too. Words with an underscore that are no symbol, such as ``init_scale``, stay.
    What stands between backticks is code, and a number such as 9e-6 is never broken.
    """
    html = re.sub(r"\d[\d.]*e-\d+", r'<span class="whole">\g<0></span>', _set(str(escape(text))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html))


def _set(html: str) -> str:
    html = re.sub(r"\bsqrt\((\w+)\)", r"√\1", html).replace("sqrt(", "√(")
    symbol = rf"(?:{'|'.join(_GREEK)}|[A-Za-z])"
    index = r"(?:_(?:\{(\w+)\}|(\d+|[A-Za-z])(?![A-Za-z0-9]))|(\d+)(?=\^))?"
    power = r"(?:\^(?:\(([^()]+)\)|(-?\d+(?:\.\d+)?|[A-Za-z])(?![A-Za-z0-9])))?"

    def shown(match):
        name, in_braces, low, behind, in_brackets, high = match.groups()
        if name not in _GREEK and not any(match.groups()[1:]):
            return match.group(0)
        index, power = in_braces or low or behind, in_brackets or high
        below = f"<sub>{index}</sub>" if index else ""
        above = f"<sup>{_set(power).replace('-', '−')}</sup>" if power else ""
        return f"{_GREEK.get(name, f'<i>{name}</i>')}{below}{above}"

    html = re.sub(rf"(?<![\w&#;])({symbol}){index}{power}(?![\w(])", shown, html)
    html = re.sub(r"(?<=[|)])\^(\d+)", r"<sup>\1</sup>", html)
    return re.sub(r"(?<![\w&#;>])([B-HJ-Z]) (?=<i>)", r"<i>\1</i> ", html)


_NAMES = (
    "alpha beta gamma delta epsilon eta theta kappa lambda mu nu rho sigma tau phi chi psi omega pi"
)
_GREEK = {"eps": "ε"} | dict(zip(_NAMES.split(), "αβγδεηθκλμνρστφχψωπ", strict=True))


def source(name: str) -> str:
    """The text of a file of the package, such as ``report/page.css``."""
    return (resources.files("foretrain") / name).read_text(encoding="utf-8")


def render(name: str, **values: Any) -> str:
    """Fill the template of that name, such as ``report/page.html``; control characters and marks of direction become codes."""
    html = _environment().get_template(name).render(**values)
    return re.sub(_STEERING, lambda mark: encodable(mark[0], "utf-8"), html)
