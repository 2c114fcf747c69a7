"""A sentence's derivation stands on the page, once, and is linked from it."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from made_claims import sample

from foretrain.laboratory.page import _derived
from foretrain.plans import catalogue
from foretrain.report import derivation
from foretrain.report.derivation import derivations, mathml, pages
from foretrain.report.page import PageFigure, render

PAGE = """---
jupytext: {}
---
# A law of $x_1$

Words before.

Judged by `mine/first`, `other/second`.

## The end

It tends to $a < b$, see [there](there.md) and {mod}`foretrain.theory`:

$$ \\frac12 \\big( x^2 \\big) $$

![a picture](picture.png)

*What is seen in it:
two lines.*

```{code-cell} ipython3
print("executed")
```

| a | b |
|---|---:|
| 1 | <b> |

Judged by `mine/second`,
`mine/third`.

### Further

Nobody judges this.
"""
CLAIM = sample("second", 1.0, (0.8, 1.2))
TWO, THREE = ("msup", "msub", "munder", "mover", "mfrac", "mroot"), ("msubsup", "munderover")
PARTS = dict.fromkeys(TWO, 2) | dict.fromkeys(THREE, 3)


@pytest.fixture
def sections(tmp_path):
    file = tmp_path / "theory.md"
    file.write_text(PAGE, encoding="utf-8")
    return derivations("mine", [file, tmp_path / "missing.md"])


def test_a_section_derives_what_it_names(sections):
    assert [item.claims for item in sections] == [("first",), ("second", "third")]


def test_a_section_keeps_words_formulas_and_tables_and_leaves_out_what_one_file_cannot_hold(
    sections,
):
    assert "<math" in sections[0].title
    first, second = (str(item.html) for item in sections)
    assert re.sub(r"\s", "", first) == "<p>Wordsbefore.</p>"
    for kept in ("<mfrac>", "&lt;", "<table>", "see there and", "<code>foretrain.theory</code>"):
        assert kept in second
    assert '<td class="number">' in second
    for gone in r"Judged by,executed,href,<img,<b>,Nobody,\big,style=,What is seen,<p></p>".split(
        ","
    ):
        assert gone not in second


def test_letters_of_other_alphabets_are_characters_that_every_browser_sets():
    result = mathml(r"\mathbb R \setminus \mathbb E\mathcal E", "inline")
    for character in ("ℝ", "𝔼", "ℰ", "&#x02216;"):
        assert character in result
    for gone in ("double-struck", "script", "xmlns"):
        assert gone not in result


def test_a_formula_that_cannot_be_read_stays_in_tex_and_is_told(tmp_path):
    file, problems = tmp_path / "theory.md", []
    file.write_text(
        "Judged by `my_own/first`.\n\n$x_1_2$, $\\left( y$, $a < \\text{<b>}$ and $\\href{a:b}{z}$\n\n"
        "> # Quoted\n\n## Then\n\n$$ x^2 $$ (claims)\n\nJudged by `my-own/second`.\n",
        encoding="utf-8-sig",
    )
    first, second = derivations("my-own", [file], problems)
    assert (str(first.title), str(second.title)) == ("Theory", "Theory: Then")
    assert (first.claims, second.claims) == (("first",), ("second",))
    kept = ("<code>x_1_2</code>", "<mtext>&lt;b&gt;</mtext>", "<h1>Quoted</h1>\n</blockquote>")
    assert all(part in first.html for part in kept)
    assert "href" not in first.html
    assert "id=" not in second.html
    assert len(problems) == 2
    assert "`x_1_2` cannot be set" in problems[0]


def test_a_page_that_is_not_utf8_is_told(tmp_path):
    file, problems = tmp_path / "theory.md", []
    file.write_bytes(b"# Theory\n\nJudged by `mine/first` \xff\n")
    assert derivations("mine", [file], problems) == []
    assert "must be UTF-8" in problems[0]


def test_a_page_that_names_no_sentence_of_its_study_is_told(tmp_path):
    page, problems = tmp_path / "theory.md", []
    page.write_text("Judged by `my_own/closed-form`, `my_own/typo`.\n")
    result = _derived("my-own", [page], {"closed-form"}, problems)
    assert [item.claims for item in result] == [("closed-form", "typo")]
    assert [item.line for item in problems] == [
        "A section derives `my-own/typo`, but the study has no such sentence."
    ]


def test_enlarged_brackets_grow_in_pairs():
    result = mathml(r"\Big\langle \bigl( \tfrac12 x \bigr)^2 \Big| y \Big\rangle", "block")
    assert result.count('stretchy="true"') == 2  # what encloses a bar without a partner has none
    result = mathml(r"\Big\langle \big| \tfrac12 x \big|^2 \Big\rangle", "block")
    assert result.count('stretchy="true"') == 4


def test_formulas_of_the_documentation_are_whole():
    formula = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
    for file in pages():
        text = re.sub("^```.*?^```", "", file.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for result in formula.findall(text):
            for element in ElementTree.fromstring(mathml("".join(result), "block")).iter():
                parts = PARTS.get(element.tag, len(element))
                assert len(element) == parts, f"{file.name}: {''.join(result)}"


def test_a_claim_links_to_its_figure_and_with_its_corrected_form_to_its_derivation(sections):
    corrected = replace(CLAIM, id="second.corrected", corrects="second")
    judged = PageFigure("b", "B", "", "<svg/>", "", ("second",))
    figures = [PageFigure("a", "A", "", "<svg/>"), judged]
    page = render(
        {"claims": [CLAIM, corrected, replace(CLAIM, id="lone")]}, figures, None, sections
    )
    rows = {
        name: page[page.index(f'<tr role="row" id="claim-{place}"') :].split("</tr>")[0]
        for place, name in enumerate(("second", "corrected", "lone"))
    }
    for name in ("second", "corrected"):
        assert 'href="#derivation-2"' in rows[name]
    assert 'href="#figure-2"' in rows["second"]
    assert "#figure" not in rows["corrected"] + rows["lone"]
    assert "#derivation" not in rows["lone"]
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page
    second = page[page.index('id="derivation-2"') :].split("</article>")[0]
    assert re.findall('href="#(claim-.)"', second) == ["claim-0", "claim-1"]


def test_sections_derive_every_sentence_and_none_that_there_is_not():
    derived: dict[str, set[str]] = {}
    for file in pages():
        for block in file.read_text(encoding="utf-8").split("\n\n"):
            if block.startswith(derivation._JUDGED):
                for study, id in derivation._NAMED.findall(block):
                    derived.setdefault(study.replace("_", "-"), set()).add(id)
    known = {name: catalogue.load(name).sentences for name in catalogue.names()}
    lacking = [
        f"{name}/{words.id}"
        for name, sentences in known.items()
        for words in sentences
        if not {words.id, words.corrects} & derived.get(name, set())
    ]
    assert not lacking, f"no section derives {', '.join(lacking)}"
    for name, ids in derived.items():
        unknown = ids - {words.id for words in known[name]}
        assert not unknown, f"sections derive {unknown} of {name}"
