"""The command line and Python have the same doors, which open at once and complete what is typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import foretrain
from foretrain.cli import main
from foretrain.commands import COMMANDS, registry
from foretrain.errors import ArgumentError

OTHER_NAMES = {"show": "open", "report": "rebuild"}
# Libraries, and a study: of studies only the one that is named is imported.
SLOW = ("xarray", "scipy.integrate", "scipy.special", "scipy.optimize", "jax", "matplotlib", "zarr")
SLOW += ("foretrain.studies.one_mode.study",)


def test_every_verb_is_a_function_at_the_top():
    verbs = {OTHER_NAMES.get(name, name) for name in COMMANDS.keys() - registry.COMMANDS} - {
        "completion"
    }
    assert verbs == {*foretrain.__all__} - {"train", "rank"}
    for name in foretrain.__all__:
        assert getattr(foretrain, name).__doc__, name
    assert dir(foretrain) == sorted(foretrain.__all__)


def test_what_they_return_prints_itself(tmp_path):
    assert "routing" in repr(foretrain.list())
    assert {card.name for card in foretrain.list()} >= {"routing", "one-mode"}
    assert "claims" in foretrain.info("one-mode")
    assert repr(foretrain.info("one-mode")).startswith("one-mode\n")
    assert "@" in foretrain.cite("one-mode")
    file = foretrain.new(tmp_path / "mine.py")
    assert repr(foretrain.check(file)) == "Nothing is missing."
    file.write_text("x = 1\n")
    assert "Parameters" in str(foretrain.check(file))


# The seeds that a headline needs take quantiles of Student's t, in a quarter of a second.
@pytest.mark.parametrize(
    ("verb", "needed"),
    [
        ("", set()),
        ("--help", set()),
        ("--version", set()),
        ("list", set()),
        ("run routing --help", set()),
        ("info routing", {"scipy.special"}),
        ("list routing --claims", set()),
    ],
)
def test_what_only_tells_imports_nothing_slow(verb, needed):
    code = (
        "import sys; from foretrain.cli import main\n"
        f"try: main({verb.split()})\n"
        "except SystemExit: pass\n"
        f"print('SLOW', [name for name in {sorted({*SLOW} - needed)} if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert answer.endswith("SLOW []\n"), answer[-200:]


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        ("foretrain ru", {"run"}),
        ("foretrain run one-mode --preset pa", {"paper"}),
        ("foretrain run routing --data dig", {"digits"}),
        ("foretrain info one-m", {"one-mode"}),
        ("foretrain export x --t", {"--to"}),
    ],
)
def test_a_shell_completes_verbs_studies_parameters_and_values(tmp_path, typed, answers):
    pytest.importorskip("argcomplete")
    file = tmp_path / "answer"
    request = {"_ARGCOMPLETE": "1", "COMP_LINE": typed, "COMP_POINT": str(len(typed))}
    request["_ARGCOMPLETE_STDOUT_FILENAME"] = str(file)
    subprocess.run(
        [sys.executable, "-m", "foretrain"], env={**os.environ, **request}, cwd=tmp_path, check=True
    )
    assert {word.strip() for word in Path(file).read_text().split("\v")} == answers


def test_completion_is_printed_for_each_shell(capsys):
    pytest.importorskip("argcomplete")
    assert main(["completion", "zsh"]) == 0
    assert "foretrain" in capsys.readouterr().out


def test_an_unknown_option_is_refused_by_the_name_of_the_public_function():
    with pytest.raises(ArgumentError, match=r"of foretrain\.explain, but is none\. .* `loss`\?"):
        foretrain.explain(abs, abs, [1.0], [1.0], lose="mse")
    with pytest.raises(ArgumentError, match=r"of foretrain\.analyze, .* `activation`\?"):
        foretrain.analyze("m.npz", "x.npy", actvation="relu")
