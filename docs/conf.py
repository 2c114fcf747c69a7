"""Configuration of Sphinx."""

import os
import re
from pathlib import Path

from docutils import nodes

from foretrain.engine.cores import pin_to_one_core
from foretrain.plans import catalogue
from foretrain.report.derivation import mathml

project = "foretrain"
author = "The foretrain developers"
copyright = "2026, The foretrain developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Cells of the tutorial and of theory run when the pages are built, once until they change. Kernels inherit the one core:
# XLA on the CPU can deadlock on two.
pin_to_one_core()
os.environ.setdefault("JAX_PLATFORMS", "cpu")
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds a cell; the longest takes some five
nb_execution_in_temp = True
nb_output_stderr = "remove"  # progress

exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "foretrain"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]

# Docstrings name shapes and types in words; signatures keep their annotations as text, not as links to other packages.
autodoc_typehints = "none"
autodoc_mock_imports = ["torch"]  # the extra `docs` does without it
autodoc_default_options = {"show-inheritance": False}
napoleon_use_rtype = False
# Types of other packages, and of foretrain where they have no page: there is nothing to link to.
nitpick_ignore_regex = [
    ("py:exc", "StudyError|FigureError"),
    (
        "py:.*",
        r"(numpy|pathlib|collections|xarray|matplotlib|jax|typing|types|pandas|scipy|os)\..*",
    ),
    ("py:.*", r"foretrain\.(results\.summary|claims\.rows|report|plans)\..*"),
    (
        "py:.*",
        r"foretrain\.(explain\.(further|weights_over_time)|elsewhere\.measured|predict\.prediction\._Shown).*",
    ),
]
napoleon_use_ivar = True


def as_markup(app, what, name, obj, options, lines):
    """Formulas between dollar signs as formulas; bars of absolute values as bars, which else begin a substitution."""
    text = "\n".join(lines)
    parts = re.split(r"(\$\$.+?\$\$|\$[^$]+?\$|``.+?``|:math:`.+?`)", text, flags=re.DOTALL)
    for place, part in enumerate(parts):
        if part.startswith("$$"):
            formula = " ".join(part.strip("$").split())
            parts[place] = f"\n\n.. math:: {formula}\n\n"
        elif part.startswith("$"):
            parts[place] = f":math:`{' '.join(part.strip('$').split())}`"
        elif not part.startswith((":math:", "``")):
            part = re.sub(r"(?<=[ (])\*(?=\w+\b(?![*:]))", r"\*", part)  # of a shape, no emphasis
            parts[place] = part.replace("|", r"\|")
    lines[:] = "".join(parts).split("\n")
    if what in ("attribute", "property", "data") and ":" in lines[0]:
        lines[0] = lines[0].replace(":", " –", 1)  # a colon in a first line ends no type


def with_single_names(app, what, name, obj, options, lines):
    """Fields of several names, such as `low, high`, as one name: else the first would be the type of the second."""
    for place, line in enumerate(lines):
        if found := re.match(r":(ivar|param|vartype|type) ([\w*, ]+, [\w*]+):", line):
            names = found.group(2).replace(", ", "/")
            lines[place] = f":{found.group(1)} {names}:" + line[found.end() :]


def without_aliases(app, what, name, obj, skip, options):
    """Leave out fields of named tuples that say nothing of themselves: the class names and explains them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def gallery(app, docname, source):
    """Put studies with their questions and first pictures where a page asks for them: ``<!-- gallery: routing xor -->``."""

    def cards(found):
        shown = "\n".join(_card(Path(app.srcdir), name) for name in found[1].split())
        return f":::::{{container}} gallery\n{shown}:::::"

    source[0] = re.sub(r"^<!-- gallery: (.*) -->$", cards, source[0], flags=re.MULTILINE)


def _card(docs, name):
    page = (docs / "studies" / f"{name}.md").read_text("utf-8")
    picture = re.search(r"!\[[^\]]*\]\(\.\./(images/[^)]+)\)", page)
    shown = f"[![{name}]({picture.group(1)})](studies/{name}.md)\n\n" if picture else ""
    question = catalogue.card(name).summary
    return f"::::{{container}} card\n{shown}**[{name}](studies/{name}.md)**\n{question}\n::::\n"


def known_places(app, pagename, templatename, context, doctree):
    """Let a listing lead back to the place of what it lists, or to its page where that has none of this name."""
    places = app.env.domaindata["py"]["objects"]

    def back(link):
        if link[2] not in places:
            return link[1]
        page, place, *_ = places[link[2]]
        return f'href="{app.builder.get_relative_uri(pagename, page)}#{place}'

    if pagename.startswith("_modules/foretrain"):
        found = r'(href="[^"#]+)#(foretrain[\w.]*)(?=")'
        context["body"] = re.sub(found, back, context["body"])


def inline_formula(self, node):
    """A formula in a line as MathML, which browsers set by themselves, offline too."""
    text, formula = node.astext(), mathml(node.astext(), "inline")
    self.body.append(f'<span class="long-formula">{formula}</span>' if len(text) > 40 else formula)
    raise nodes.SkipNode


def block_formula(self, node):
    """A formula of its own as MathML."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(mathml(node.astext(), "block") + "</div>")
    raise nodes.SkipNode


def setup(app):
    """Let docstrings pass `as_markup` before their sections are read, and formulas be MathML."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("source-read", gallery)
    app.connect("html-page-context", known_places)
    app.connect("autodoc-skip-member", without_aliases)
    app.connect("autodoc-process-docstring", as_markup, priority=100)
    app.connect("autodoc-process-docstring", with_single_names, priority=900)
