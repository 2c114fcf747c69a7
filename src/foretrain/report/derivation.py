"""Derivations: sections of Markdown pages that say which sentences rest on them, as they stand on the page of a result.

A section derives the sentences that a paragraph of it names, by study and id::

    Judged by `routing/half-times`, `routing/ratio`.

For studies of the catalogue these are sections of the documentation, which the package carries; a study of one's own has
them in ``theory.md`` beside its other files. Formulas between dollar signs become MathML, which browsers set by themselves;
pictures with their captions, cells of code and links to other pages, which one file cannot hold, are left out. A formula
that cannot be read stays in TeX, and a line names it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

from markupsafe import Markup, escape

from foretrain.errors import StoreError
from foretrain.provenance.reading import MOST_TEXT, read_file

_JUDGED = "Judged by "
_NAMED = re.compile(r"`([\w-]+)/([\w.%-]+)`")
_QUESTION = re.compile(r"^## (.*)\n+<!-- gallery: (.*) -->$", re.M)
_PACKAGE = Path(__file__).parents[1]
_PICTURES = re.compile(r"(?:\s*!\[[^\]]*\]\([^)]*\))+\s*")
_ALPHABET = re.compile(r'<mi mathvariant="(double-struck|script)">([A-Z])</mi>')
_ENLARGED = re.compile(r"\\[bB]igg?[lrm]?(?![a-zA-Z])\s*(\\[a-zA-Z]+|\\.|.)")
_LONGEST = 60  # characters of a formula that a problem names
_REFERENCE = re.compile(r"&amp;(#x[0-9A-Fa-f]+;)")
_PARTNER = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle", "|": "|", r"\|": r"\|"}
# What HTML knows by itself, and characters that few fonts have.
_COMMON = {
    ' xmlns="http://www.w3.org/1998/Math/MathML"': "",
    "&#x029F5;": "&#x02216;",
    "&#x027C2;": "&#x022A5;",
}


@dataclass(frozen=True)
class Derivation:
    """A section that derives sentences of one study."""

    title: Any  # title of its page and its own, as HTML
    html: Any  # its text, as HTML
    claims: tuple[str, ...]  # ids of the sentences


def documentation() -> Path:
    """The folder of the documentation: in the installed package, or in the repository."""
    own = _PACKAGE / "docs"
    return own if own.is_dir() else _PACKAGE.parents[1] / "docs"


def questions() -> dict[str, tuple[str, ...]]:
    """Return each question of the documentation's gallery to the names of its studies, in the gallery's order."""
    page = documentation() / "gallery.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return {question: tuple(names.split()) for question, names in _QUESTION.findall(text)}


def pages() -> list[Path]:
    """The pages of the documentation that may derive sentences."""
    folder = documentation()
    return sorted([*folder.glob("theory/*.md"), *folder.glob("studies/*.md")])


def derivations(
    study: str, files: Iterable[Path], problems: list[str] | None = None
) -> list[Derivation]:
    """The sections of these pages that derive sentences of a study, whose name a page may write with underscores.

    Pages of Markdown that are missing or cannot be read have no sections; `problems` takes a line for each that is not UTF-8
    and for each formula that cannot be read.
    """
    sections, lines = [], [] if problems is None else problems
    for file in files:
        try:
            text = read_file(file, MOST_TEXT).decode("utf-8-sig")
        except UnicodeDecodeError:
            lines.append(f"{file} must be UTF-8, but is not: no derivation was read from it.")
            continue
        except FileNotFoundError:
            continue
        except (OSError, StoreError) as error:
            lines.append(
                f"{file}: {getattr(error, 'strerror', error)}: no derivation was read from it."
            )
            continue
        mistakes: list[str] = []
        named = {name.replace("_", "-") for name, _ in _NAMED.findall(text)}
        if _JUDGED in text and study in named:
            sections += _sections(study, text, mistakes)
        lines += [f"{file}: {line}" for line in dict.fromkeys(mistakes)]
    return sections


def mathml(formula: str, display: str) -> str:
    """The MathML of a formula in TeX, "inline" or "block"; enlarged brackets grow with what they enclose."""
    from latex2mathml.converter import convert_to_element

    whole = convert_to_element(_paired(formula), display=display)
    for element in whole.iter():
        for name in ("href", "style"):
            element.attrib.pop(name, None)
    # Characters are written as references already; whatever else a formula holds is no markup.
    text = _REFERENCE.sub(r"&\1", tostring(whole, encoding="unicode"))
    for rare, common in _COMMON.items():
        text = text.replace(rare, common)
    return _ALPHABET.sub(_letter, text)


def _paired(formula: str) -> str:
    """A formula in which enlarged brackets are a pair that grows, or plain where they have no partner."""
    words = [match[1] for match in _ENLARGED.finditer(formula)]
    opened: list[int] = []
    for at, word in enumerate(words):
        if opened and _PARTNER[words[opened[-1]]] == word:
            first = opened.pop()
            words[first], words[at] = rf"\left{words[first]} ", rf"\right{word} "
        elif word in _PARTNER:
            opened.append(at)
    left = iter(words)
    return _ENLARGED.sub(lambda _: next(left), formula)


def _letter(match: re.Match) -> str:
    """A letter of an alphabet of its own, which browsers take as a character and not as a style."""
    name = f"{match[1].upper()} CAPITAL {match[2]}"
    try:
        letter = unicodedata.lookup(name)
    except KeyError:  # but for some letters, which were there before
        letter = unicodedata.lookup(f"MATHEMATICAL {name}")
    return f'<mi mathvariant="normal">{letter}</mi>'


def _markdown(mistakes: list[str]):
    """Return reader and writer of pages; formulas that cannot be set are added to the mistakes and stay in TeX."""
    # A command that writes no page does not wait for these.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.front_matter import front_matter_plugin

    def formula(text, options):
        try:
            return mathml(text, "block" if options["display_mode"] else "inline")
        except Exception as error:  # of many kinds, some of them of the depth of a formula
            tex = " ".join(text.split())
            tex = tex if len(tex) <= _LONGEST else f"{tex[:_LONGEST]}..."
            reason = f"{type(error).__name__} {error}".strip()
            mistakes.append(f"the formula `{tex}` cannot be set and stays in TeX ({reason}).")
            return f"<code>{escape(text)}</code>"

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    front_matter_plugin(markdown)
    dollarmath_plugin(markdown, renderer=formula, allow_digits=False)
    # Labels of formulas would be ids, which the page has its own of.
    markdown.add_render_rule(
        "math_block_label", lambda renderer, *rest: renderer.rules["math_block"](*rest)
    )
    for name in ("link_open", "link_close", "image", "front_matter"):
        markdown.add_render_rule(name, lambda *_: "")
    for name in ("th_open", "td_open"):
        markdown.add_render_rule(name, _cell)
    return markdown


def html(text: str) -> Any:
    """A page of Markdown as HTML, without its links; a formula that cannot be read stays in TeX."""
    return Markup(_markdown([]).render(text))


def _cell(renderer, tokens, at, options, _):
    if tokens[at].attrs.pop("style", "") == "text-align:right":
        tokens[at].attrSet("class", "number")
    return renderer.renderToken(tokens, at, options, {})


def _sections(study: str, text: str, mistakes: list[str]) -> list[Derivation]:
    markdown = _markdown(mistakes)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    tokens = markdown.parse(re.sub(r"\{\w+\}`~?", "`", text))  # roles, such as {mod}`...`
    heads = [
        at for at, token in enumerate(tokens) if token.type == "heading_open" and not token.level
    ]
    parts = [
        (tokens[at].tag, tokens[at + 1].children or [], tokens[at + 3 : end])
        for at, end in pairwise([*heads, len(tokens)])
    ]
    if before := tokens[: heads[0] if heads else len(tokens)]:
        parts = [("h1", [], before), *parts]
    sections, title = [], ""
    for tag, words_of, content in parts:
        heading = markdown.renderer.render(words_of, markdown.options, {}) or "Theory"
        if tag == "h1":
            title = heading
        claims: list[str] = []
        shown, pictured = [], False
        for block in _blocks(content):
            words = next((token.content for token in block if token.type == "inline"), "")
            captioned = pictured and re.fullmatch(r"\*[^*].*\*", words, re.DOTALL)
            pictured = _PICTURES.fullmatch(words) is not None
            if block[0].level == 0 and words.startswith(_JUDGED):
                claims += [c for n, c in _NAMED.findall(words) if n.replace("_", "-") == study]
            elif pictured or captioned:
                continue
            elif not (block[0].type == "fence" and block[0].info.startswith("{")):
                shown += block
        if claims:
            html = markdown.renderer.render(shown, markdown.options, {})
            whole = heading if heading == title or not title else f"{title}: {heading}"
            sections.append(Derivation(Markup(whole), Markup(html), tuple(dict.fromkeys(claims))))
    return sections


def _blocks(tokens: Sequence) -> list[list]:
    parts: list[list] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            parts.append([])
        depth += token.nesting
        parts[-1].append(token)
    return parts
