"""A page as one file: its style and its script stand in it, and its policy forbids the browser to fetch anything."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foretrain.claims import markup
from foretrain.results.files import disk_errors, write_atomic

_LIVE = ("save.js", "uplot.js", "curves.js")


def document(
    template: str,  # such as ``report/page.html``
    *,
    # Files beside it whose text is the script of the page, in this order.
    scripts: Sequence[str] = (),
    # True if curves are looked into, which takes a style and scripts of their own.
    live: bool = False,
    sheets: Sequence[str] = (),  # files beside it with further style
    images: str = "data:",  # where pictures may come from, as the policy says it
    **values: Any,  # what else the template asks for
) -> str:
    """Fill a template with style, script, policy and values."""
    styles, names = ["page.css", *sheets, *["uplot.css"] * live], [*scripts, *_LIVE * live]
    style, script = (
        "\n".join(markup.source(f"report/{name}").strip() for name in dict.fromkeys(several))
        for several in (styles, names)
    )
    # The browser hashes all between the tags, so the line breaks of the template count.
    rules = ["default-src 'none'", f"img-src {images}"]
    for kind, text in (("style-src", style), ("script-src", script)):
        digest = hashlib.sha256(f"\n{text}\n".encode()).digest()
        rules.append(f"{kind} 'sha256-{base64.b64encode(digest).decode()}'")
    return markup.render(template, policy="; ".join(rules), style=style, script=script, **values)


def write_document(path: Path, text: str) -> Path:
    """Write a page; a reader sees the old one or the new one, never half of one. Raises `FolderError` where it cannot."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    # What UTF-8 cannot hold becomes a question mark, so that any text can stand on a page.
    return write_atomic(path, text.encode("utf-8", "replace"))
