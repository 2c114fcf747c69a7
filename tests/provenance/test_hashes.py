"""Which edits change what makes the runs of a study, what predicts and what judges, and which change none of them."""

import dataclasses
import functools
import shutil
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.plans import catalogue
from foretrain.provenance import seal as sealing
from foretrain.provenance import sources
from foretrain.provenance.objects import hashed
from foretrain.study import Program, Run, define, parameter

FILES = {
    "study.py": '''"""A decay."""

from dataclasses import dataclass

from foretrain.study import Training, declare, default, parameter

SOURCE = "A book"
AXES = {"scale": (1.0, 3.0)}
declare("step", height="How high.")


@dataclass(frozen=True)
class Parameters(Training):
    """Fields."""

    scale: float = parameter(1.0, "how large", above=0)
    steps: int = default(20)

    @property
    def half(self):
        return self.scale / 2
''',
    "training.py": '''
import nets
from foretrain.study import Program
from lib.deep import pull

RATE, UNUSED = 0.5, 7
TABLE = []
TABLE.append(71)
RULES = {}


def rule(function):
    RULES[function.__name__] = function
    return function


@rule
def far(w):
    return 51 * w


def inputs(p, seed):
    return {"start": p.half}


def program(p):
    """Decay."""

    def step(inputs, w):
        from late import late

        # A remark.
        return late(nets.fit(w) * RATE + pull(w)) + TABLE[0] + RULES["far"](w)

    return Program(lambda inputs: inputs["start"], step, lambda inputs, w: {"loss": w**2})
''',
    "nets.py": "def fit(w):\n    return 2 * w\n\n\ndef other(w):\n    return 44 * w\n",
    "late.py": "def late(w):\n    return 81 * w\n",
    "lib/__init__.py": "",
    "lib/deep.py": "import nets\n\n\ndef pull(w):\n    return 0.25 * nets.fit(w)\n",
    "theory.py": """
import numpy as np

from .curves import falling


def predict(p, step):
    return {"loss": 1.00 * falling(p.half, step)}
""",
    "curves.py": "def falling(half, step):\n    return half * 0.9**step\n",
    "claims.py": """
import numpy as np

from foretrain.study import claim
from .readings import last

TOL, POINTS = 1e-6, np.array([1.0, 2.0])


def below(high):
    def bounds(c):
        return (0, high + TOL)

    return bounds


CLAIMS = [
    claim(
        "falls", "Loss falls.", lambda c: last(c) / 2, source="A book", inside=(0, 0.5), why="It must."
    ),
    claim(
        "stays",
        "Loss stays.",
        lambda c: last(c) * POINTS[0],
        inside=below(11), why="A square.", rank="control", where=lambda c: c.scale < 5,
    ),
]
CLAIMS.append(CLAIMS[0].corrected("Loss falls little.", inside=(0, 2)))
""",
    "readings.py": 'def last(cell):\n    return cell.simulation["loss"].values[:, -1]\n',
    "figures.py": "def draw(grid):\n    return {}\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / "decay" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "decay" / name).write_text(text)
    return tmp_path / "decay"


def parts(study) -> dict:
    """All hashes of a study by what they are of."""
    seal = study.seal
    claims = {id: item[1] for id, item in seal["claims"].items()}
    words = {f"words of {id}": item[0] for id, item in seal["claims"].items()}
    return {
        "makes": study.code, "predicts": seal["predicts"], "judges": seal["judges"], **claims, **words
    }  # fmt: skip


def changed(study, file, old, new) -> set[str]:
    """Names of what is another after an edit."""
    before = parts(catalogue.load(study))
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))
    after = parts(catalogue.load(study))
    return {name for name in before | after if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("study.py", "self.scale / 2", "self.scale / 3", {"makes"}),
        ("training.py", "RATE, UNUSED = 0.5", "RATE, UNUSED = 0.6", {"makes"}),
        ("training.py", "append(71)", "append(72)", {"makes"}),
        ("training.py", "51 * w", "52 * w", {"makes"}),
        ("nets.py", "2 * w", "3 * w", {"makes"}),
        ("late.py", "81", "82", {"makes"}),
        ("lib/deep.py", "0.25", "0.35", {"makes"}),
        ("theory.py", "1.00", "1.05", {"predicts"}),
        ("curves.py", "0.9**step", "0.8**step", {"predicts"}),
        ("claims.py", "last(c) / 2", "last(c) / 4", {"falls", "falls.corrected"}),
        ("claims.py", "inside=(0, 0.5)", "inside=(0, 0.6)", {"falls"}),
        ("claims.py", "inside=(0, 2)", "inside=(0, 3)", {"falls.corrected"}),
        ("claims.py", "below(11)", "below(12)", {"stays"}),
        ("claims.py", "TOL, POINTS = 1e-6", "TOL, POINTS = 1e-5", {"stays"}),
        ("claims.py", "c.scale < 5", "c.scale < 4", {"stays"}),
        ("readings.py", "-1", "-2", {"falls", "stays", "falls.corrected"}),
        ("claims.py", "Loss falls.", "It falls.", {"words of falls"}),
        ("claims.py", "control", "headline", set()),
        ("study.py", '"A book"', '"Another book"', set()),
        ("study.py", "How high.", "Height.", set()),
        ("study.py", '1.0, "how large"', '2.0, "the scale"', set()),
        ("study.py", "(1.0, 3.0)", "(1.0, 4.0)", set()),
        ("training.py", "# A remark.", "# Another remark.\n", set()),
        ("training.py", '"""Decay."""', '"""Fall."""', set()),
        ("training.py", "def inputs(p, seed):", "def inputs(\n    p: int,\n    seed,\n) -> dict:", set()),
        ("nets.py", "44 * w", "45 * w", set()),
        ("figures.py", "return {}", "return None", set()),
    ],
)  # fmt: skip
def test_an_edit_changes_what_rests_on_it_and_nothing_else(folder, file, old, new, expected):
    assert changed(folder, folder / file, old, new) == expected


def test_of_a_study_in_one_file_every_part_counts_by_itself(folder):
    names = ("study.py", "training.py", "theory.py", "claims.py")
    (folder / "one.py").write_text("\n".join((folder / name).read_text() for name in names))
    for name in names[1:]:
        (folder / name).unlink()
    item = folder / "one.py"
    item.write_text(item.read_text().replace("from .", "from "))
    assert changed(item, item, "1.00", "1.05") == {"predicts"}
    assert changed(item, item, "last(c) / 2", "last(c) / 4") == {"falls", "falls.corrected"}
    assert changed(item, item, "RATE, UNUSED = 0.5", "RATE, UNUSED = 0.6") == {"makes"}
    assert changed(item, item, "Loss falls.", "It falls.") == {"words of falls"}


def test_hashes_do_not_depend_on_place_or_name_of_a_study(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "elsewhere" / "fall")
    assert parts(catalogue.load(folder)) == parts(catalogue.load(tmp_path / "elsewhere" / "fall"))


def test_a_file_is_read_in_its_own_encoding_and_one_that_cannot_be_imported_is_its_bytes(folder):
    before = parts(catalogue.load(folder))
    text = FILES["study.py"].replace("A decay.", "D\xe9cay.")
    for start, encoding in (("\ufeff", "utf-8"), ("# coding: latin-1\n", "latin-1")):
        (folder / "study.py").write_bytes((start + text).encode(encoding))
        assert parts(catalogue.load(folder)) == before
    (folder / "newer.py").write_text("def (81:\n")
    tried = "\ntry:\n    import newer\nexcept SyntaxError:\n    newer = None\n"
    (folder / "training.py").write_text(FILES["training.py"] + tried)
    assert changed(folder, folder / "newer.py", "81", "82") == {"makes"}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("claims/interval.py", "_TAIL = 0.025", "_TAIL = 0.25", True),
        ("claims/interval.py", '"""', '"""A remark. ', False),
        ("claims/claim.py", "floor <= low and high <= ceiling", "floor <= high", True),
        ("claims/table.py", "import", "import math\nimport", False),
    ],
)
def test_the_code_that_judges_all_claims_is_sealed(tmp_path, monkeypatch, file, old, new, expected):
    package = tmp_path / "foretrain"
    for room in ("claims", "plans", "quantities"):
        shutil.copytree(sources.PACKAGE / room, package / room)
    monkeypatch.setattr(sources, "PACKAGE", package)
    monkeypatch.setattr(sealing, "PACKAGE", package)
    study = define("decay", Parameters=Run, program=lambda p: None)
    before = sealing.seal(study)["judges"]
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new, 1))
    assert (sealing.seal(study)["judges"] != before) == expected


def test_of_every_room_it_is_decided_whether_its_code_counts():
    """A new room is named here, or in `provenance.sources`, before runs can depend on it unseen."""
    names = "analyze claims commands elsewhere engine figures laboratory plans predict provenance registry report results"
    ignored = set(names.split())
    rooms = {item.name for item in sources.PACKAGE.iterdir() if (item / "__init__.py").exists()}
    assert rooms <= ignored | sources.ROOMS
    assert not ignored & sources.ROOMS


# Functions that are met as objects, as a notebook has them.


def decaying(*, factor=2.0, table=None, options=1, function=np.sin):
    """A study from functions that holds values in every way."""
    table = {"a": [np.zeros(3)]} if table is None else table

    def step(inputs, w, options=options):
        return w * factor + table["a"][0].sum() + options + function(w) + jnp.pi

    def init(inputs):
        return 1.0

    whole = Program(init, step, lambda inputs, w: {"loss": w})
    return define("decay", Parameters=Run, program=lambda p: whole)


def twice(w):
    return 2 * w


class Counted:
    def __init__(self, number):
        self.number = number


@pytest.mark.parametrize(
    "parts",
    [
        {"factor": 3.0},
        {"factor": 2},
        {"factor": jnp.ones(2)},
        {"table": {"a": [np.array([0.0, 1, 0])]}},
        {"options": 2},
        {"function": np.cos},
        {"function": twice},
        {"function": lambda w: w},
        {"function": lambda w: w + 1},
        {"function": functools.partial(twice, w=2)},
        {"function": jax.jit(twice)},
        {"function": jax.grad(twice)},
        {"function": Counter(a=2)},
        {"function": Counted(1)},
        {"function": Counted(2)},
    ],
)
def test_a_study_from_functions_is_what_they_hold(parts):
    other = decaying(**parts).code
    assert decaying().code == decaying().code != other
    assert decaying(**parts).code == other
    assert decaying(function=Counted(3)).code != other


def test_a_study_from_functions_keeps_its_code_in_the_process_that_runs_it():
    study = decaying(function=lambda w: w)
    restored = catalogue.restore(catalogue.describe(study))
    assert restored.code == restored.named("other").code == study.code


def test_a_method_of_the_parameters_counts_and_a_default_does_not():
    def code_of(default, text, factor):
        @dataclasses.dataclass(frozen=True)
        class Mine(Run):
            rate: float = parameter(default, text)

            def twice(self):
                return factor * self.rate

        return define("mine", Parameters=Mine, program=lambda p: None).code

    assert code_of(1.0, "a rate", 2) == code_of(3.0, "the rate", 2) != code_of(1.0, "a rate", 3)


NOTEBOOK = """
FACTOR = {factor}

def helper(w):
    return w * FACTOR

def measure(w):
    {remark}
    return helper(w) {sign} 1
"""


@pytest.mark.parametrize("has_source", [True, False])
def test_a_function_that_is_in_no_file_counts_by_its_source_or_else_by_what_it_does(has_source):
    import linecache

    def code_of(factor=2, sign="+", remark="# None."):
        text = NOTEBOOK.format(factor=factor, sign=sign, remark=remark)
        file = f"<cell {len(linecache.cache)}>"
        if has_source:
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        names = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), names)
        return hashed(names["measure"])

    assert code_of() == code_of(remark="# Some.")
    assert len({code_of(), code_of(factor=3), code_of(sign="-")}) == 3
