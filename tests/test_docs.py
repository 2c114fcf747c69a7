"""The worked example of the documentation runs as it is printed, block by block.

A reader of ``docs/extending.md`` copies code into a file, patches it and types commands; so does this. What a block is
for is told by its language and first line: ``# mine.py`` adds to that file, a diff changes it, ``sh`` is typed and ``text``
behind it is in the answer (``...`` stands for anything), ``# test_mine.py`` holds a test, other Python is executed.
"""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from foretrain.claims.interval import interval
from foretrain.cli import main
from foretrain.plans import catalogue, define

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "extending.md").read_text("utf-8")
ROLES = {
    "training": {"program", "inputs"},
    "theory": {"predict"},
    "claims": {"CLAIMS", "half_times", "per_logarithm"},
    "figures": {"FIGURES"},
}


class Reader:
    """A reader who does what the page says, in a folder of their own."""

    def __init__(self, folder: Path, capsys):
        self.mine, self.capsys = folder / "mine.py", capsys
        self.names, self.answer = {}, ""

    def do(self, language: str, text: str) -> None:
        first, _, rest = text.partition("\n")
        if language == "diff" or first == "# mine.py":
            self.write(language, text)
        elif language == "python" and first == "# test_mine.py":
            self.test(rest)
        elif language == "python":
            exec(compile(text, "docs/extending.md", "exec"), self.names)
        elif language == "sh":
            self.answer = "".join(map(self.type, text.splitlines()))
        elif language == "text":
            self.compare(text)

    def write(self, language: str, text: str) -> None:
        """Add to the study, or change it."""
        if language == "python":
            before = self.mine.read_text("utf-8") + "\n\n" if self.mine.exists() else ""
            self.mine.write_text(before + text.partition("\n")[2], "utf-8")
            return
        lines = text.splitlines()
        assert {line[0] for line in lines} <= set(" -+"), text
        old, new = ("\n".join(n[1:] for n in lines if n[0] != sign) for sign in "+-")
        whole = self.mine.read_text("utf-8")
        assert whole.count(old) == 1, old
        self.mine.write_text(whole.replace(old, new), "utf-8")

    def type(self, line: str) -> str:
        program, *words = shlex.split(line, comments=True)
        assert program == "foretrain"
        assert "Traceback" not in self.capsys.readouterr().err
        assert main(words) == 0, line
        return self.capsys.readouterr().out

    def test(self, text: str) -> None:
        """Do what pytest would do with the one test of a file."""
        names: dict = {}
        exec(compile(text, "test_mine.py", "exec"), names)
        (test,) = (value for name, value in names.items() if name.startswith("test_"))
        (mark,) = test.pytestmark
        assert mark.args[0] == ("id", "spoilt")
        sentences = {message.id for message in names["STUDY"].sentences}
        assert {id for id, _ in mark.args[1]} == sentences
        for case in mark.args[1]:
            test(*case)

    def compare(self, text: str) -> None:
        answer = " ".join(self.answer.split())
        parts = [re.escape(" ".join(part.split())) for part in text.split("...")]
        assert re.search(".*".join(parts), answer), f"{text}\nis not in\n{self.answer}"


BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.DOTALL)


@pytest.mark.slow
def test_the_study_of_the_page_runs_as_it_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, capsys)
    assert {language for language, _ in BLOCKS} == {"python", "diff", "sh", "text", "toml", ""}
    for language, text in BLOCKS:
        reader.do(language, text)
    assert reader.names["result"].simulation["loss"].dims == ("rate", "seed", "step")
    data = reader.names["data"]
    end = 4 * (1 - data["rate"]) ** 100
    assert float(np.abs(data["loss"].isel(step=-1) / end - 1).max()) < 1e-4


def test_the_study_of_the_page_in_a_folder_and_in_a_package(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path, capsys)
    for language, block in BLOCKS:
        if language == "diff" or block.startswith("# mine.py"):
            reader.write(language, block)
    text = reader.mine.read_text("utf-8")
    tree, parts = ast.parse(text), {role: [] for role in ("study", *ROLES)}
    for node in tree.body:
        target = getattr(node, "target", None) or getattr(node, "targets", [node])[0]
        name = getattr(target, "id", getattr(target, "name", ""))
        role = next((r for r, names in ROLES.items() if name in names), "study")
        start = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
        parts[role].append("\n".join(text.splitlines()[start - 1 : node.end_lineno]))
    package = tmp_path / "site" / "mylab" / "autoencoder"
    package.mkdir(parents=True)
    for name in (package, package.parent):
        (name / "__init__.py").write_text("")
    imported = re.search(r"`(from \.study import [\w, ]+)`", PAGE)[1]
    head = f"import numpy as np\n\nfrom foretrain import study as lab\n{imported}\n\n\n"
    parts["figures"].insert(0, "from .claims import half_times")
    for role, result in parts.items():
        lead = "" if role == "study" else head
        (package / f"{role}.py").write_text(lead + "\n\n\n".join(result) + "\n")
    assert main(["check", str(package)]) == 0
    (point,) = re.findall(r"^```toml\n# pyproject.toml\n(\[.*?\]\n.*?)```", PAGE, re.M | re.DOTALL)
    point = point.replace("project.entry-points.", "").replace('"', "")
    info = tmp_path / "site" / "mylab-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"{point}\ngone = nowhere_at_all\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mylab\nVersion: 1\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    caches = (catalogue.names, catalogue._entry_points, catalogue._known)
    for cache in caches:
        cache.cache_clear()
    try:
        assert main(["list"]) == 0
        assert "autoencoder" in capsys.readouterr().out
        assert catalogue.load("autoencoder").sentences[-1].id == "logarithm"
        assert main(["check", "autoencoder"]) == 0
        words = ["--seeds", "2", "--steps", "40", "--workers", "1", "--quiet"]
        assert main(["run", "autoencoder", *words, "--out", str(tmp_path / "out")]) == 0
    finally:
        for cache in caches:
            cache.cache_clear()


def test_the_page_names_all_that_a_study_may_define():
    table = PAGE.partition("## All that a study may define")[2].partition("What a claim may")[0]
    assert define._PARTS | {"Parameters", "program"} <= set(re.findall(r"\w+", table))


def test_what_a_few_seeds_can_show_is_as_the_page_says():
    text = (DOCS / "claims.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\d+) \| (\.\d+) \| (\.\d+) \| (?:(\.\d+) and (\.\d+)|–) \|$", text, re.M
    )
    assert [int(row[0]) for row in rows] == [3, 5, 10, 20, 100]
    for seeds, *shares in rows:
        n = int(seeds)
        yes = {k: interval(np.arange(n) < k, "fraction") for k in (n, n - 1, n // 2)}
        result = [yes[n].low, yes[n - 1].low, yes[n // 2].low, yes[n // 2].high]
        message = [float(share) for share in shares if share]
        np.testing.assert_allclose(result[: len(message)], message, atol=0.005)
    agree = {n: interval(np.ones(n, bool)).low for n in (5, 6, 71, 72)}
    assert agree[5] < 0.5 < agree[6]
    assert agree[71] < 0.95 <= agree[72]


def test_the_table_of_claims_names_every_reason_that_a_claim_can_have():
    page = (DOCS / "claims.md").read_text("utf-8")
    source = (Path(define.__file__).parents[1] / "claims" / "judge.py").read_text("utf-8")
    reasons = set(re.findall(r'(?:reason|NOTHING) = [^#\n]*?"([a-z][^"]+)"', source))
    assert len(reasons) >= 3
    assert [reason for reason in reasons if reason not in page] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)  # kernels start and cells run, a minute and more on a free core
def test_the_documentation_is_built_without_a_warning(tmp_path):
    for name in ("sphinx", "myst_nb", "furo", "latex2mathml"):
        pytest.importorskip(name, reason=f"{name} is not installed; it comes with foretrain[docs]")
    command = [sys.executable, *"-m sphinx -n -W -q -b html".split(), DOCS, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1700)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "theory" / "routing.html").read_text("utf-8")
    assert "<math" in page
    assert "\\frac" not in page
    assert "cell_output" in page  # cells were run, and what they say and draw is there
    assert 'src="../_images/' in page
    gallery = (tmp_path / "html" / "gallery.html").read_text("utf-8")
    assert gallery.count('class="card') == len(catalogue.names())
    assert 'id="foretrain.run"' in (tmp_path / "html" / "api" / "foretrain.html").read_text("utf-8")
