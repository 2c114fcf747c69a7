"""Derivations: sections of Markdown pages that say which sentences rest on them, as they stand on the page of a result.

A section derives the sentences that a paragraph of it names, by study and id::

    Judged by `routing/half-times`, `routing/ratio`.

For studies of the catalogue these are sections of the documentation, which the package carries; a study of one's own has
them in ``theory.md`` beside its other files. Formulas between dollar signs become MathML, which browsers set by themselves;
pictures with their captions, cells of code and links to other pages, which one file cannot hold, are left out.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_JUDGED = "Judged by "
_NAMED = re.compile(r"`([\w-]+)/([\w.%-]+)`")
_PACKAGE = Path(__file__).parents[1]
_PICTURES = re.compile(r"(?:\s*!\[[^\]]*\]\([^)]*\))+\s*")
_ALPHABET = re.compile(r'<mi mathvariant="(double-struck|script)">([A-Z])</mi>')
_ENLARGED = re.compile(r"\\[bB]igg?[lrm]?(?![a-zA-Z])\s*(\\[a-zA-Z]+|\\.|.)")
_PARTNER = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle", "|": "|", r"\|": r"\|"}
# What HTML knows by itself, and characters that few fonts have.
_COMMON = {
    ' xmlns="http://www.w3.org/1998/Math/MathML"': "",
    "&#x029F5;": "&#x02216;",
    "&#x027C2;": "&#x022A5;",
}


@dataclass(frozen=True)
class Derivation:
    """A section that derives sentences of one study.

    Attributes:
        title: Title of its page and its own, as HTML.
        html: Its text, as HTML.
        claims: Ids of the sentences.
    """

    title: Any
    html: Any
    claims: tuple[str, ...]


def pages() -> list[Path]:
    """The pages of the documentation that may derive sentences: beside the package, or in the repository."""
    held = _PACKAGE / "docs"
    folder = held if held.is_dir() else _PACKAGE.parents[1] / "docs"
    return sorted([*folder.glob("theory/*.md"), *folder.glob("studies/*.md")])


def derivations(study: str, files: Iterable[Path]) -> list[Derivation]:
    """The sections of these pages that derive sentences of a study; a page that is none of Markdown in UTF-8 has none."""
    found = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if _JUDGED in text and f"`{study}/" in text:
            found += _sections(study, text)
    return found


def named(text: str) -> dict[str, list[str]]:
    """Study to the ids of its sentences that the sections of a page name, in their order."""
    found: dict[str, list[str]] = {}
    for token in _markdown().parse(text):
        if token.type == "inline" and token.content.startswith(_JUDGED):
            for study, claim in _NAMED.findall(token.content):
                found.setdefault(study, []).append(claim)
    return found


def mathml(formula: str, display: str) -> str:
    """The MathML of a formula in TeX, "inline" or "block"; enlarged brackets grow with what they enclose."""
    from latex2mathml.converter import convert

    found = convert(_paired(formula), display=display)
    for rare, common in _COMMON.items():
        found = found.replace(rare, common)
    return _ALPHABET.sub(_letter, found)


def _paired(formula: str) -> str:
    """A formula in which enlarged brackets are a pair that grows, or plain where they have no partner."""
    words = [found[1] for found in _ENLARGED.finditer(formula)]
    opened: list[int] = []
    for at, word in enumerate(words):
        if opened and _PARTNER[words[opened[-1]]] == word:
            first = opened.pop()
            words[first], words[at] = rf"\left{words[first]} ", rf"\right{word} "
        elif word in _PARTNER:
            opened.append(at)
    left = iter(words)
    return _ENLARGED.sub(lambda _: next(left), formula)


def _letter(found: re.Match) -> str:
    """A letter of an alphabet of its own, which browsers take as a character and not as a style."""
    name = f"{found[1].upper()} CAPITAL {found[2]}"
    try:
        letter = unicodedata.lookup(name)
    except KeyError:  # but for some letters, which were there before
        letter = unicodedata.lookup(f"MATHEMATICAL {name}")
    return f'<mi mathvariant="normal">{letter}</mi>'


@cache
def _markdown():
    # A command that writes no page does not wait for these.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.front_matter import front_matter_plugin

    def formula(text, options):
        return mathml(text, "block" if options["display_mode"] else "inline")

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    front_matter_plugin(markdown)
    dollarmath_plugin(markdown, renderer=formula, allow_digits=False)
    for name in ("link_open", "link_close", "image", "front_matter"):
        markdown.add_render_rule(name, lambda *_: "")
    for name in ("th_open", "td_open"):
        markdown.add_render_rule(name, _cell)
    return markdown


def _cell(renderer, tokens, at, options, _):
    """A cell of a table; the page lets no style stand at an element, a class says that numbers are aligned."""
    if tokens[at].attrs.pop("style", "") == "text-align:right":
        tokens[at].attrSet("class", "number")
    return renderer.renderToken(tokens, at, options, {})


def _sections(study: str, text: str) -> list[Derivation]:
    from markupsafe import Markup

    markdown = _markdown()
    tokens = markdown.parse(re.sub(r"\{\w+\}`~?", "`", text))  # roles, such as {mod}`...`
    heads = [at for at, token in enumerate(tokens) if token.type == "heading_open"]
    found, title = [], ""
    for at, end in zip(heads, [*heads[1:], len(tokens)], strict=True):
        inline = tokens[at + 1]
        heading = markdown.renderer.render(inline.children or [], markdown.options, {})
        if tokens[at].tag == "h1":
            title = heading
        claims: list[str] = []
        shown, pictured = [], False
        for block in _blocks(tokens[at + 3 : end]):
            words = next((token.content for token in block if token.type == "inline"), "")
            captioned = pictured and re.fullmatch(r"\*[^*].*\*", words, re.DOTALL)
            pictured = _PICTURES.fullmatch(words) is not None
            if block[0].level == 0 and words.startswith(_JUDGED):
                claims += [claim for name, claim in _NAMED.findall(words) if name == study]
            elif pictured or captioned:
                continue
            elif not (block[0].type == "fence" and block[0].info.startswith("{")):
                shown += block
        if claims:
            html = markdown.renderer.render(shown, markdown.options, {})
            whole = heading if heading == title or not title else f"{title}: {heading}"
            found.append(Derivation(Markup(whole), Markup(html), tuple(dict.fromkeys(claims))))
    return found


def _blocks(tokens: Sequence) -> list[list]:
    """The blocks at the outermost level, each with all that is in it."""
    found: list[list] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            found.append([])
        depth += token.nesting
        found[-1].append(token)
    return found
