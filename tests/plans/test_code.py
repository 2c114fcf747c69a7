"""Which changes of a study are other code, and which are not."""

import importlib
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.plans import catalogue, code
from foretrain.plans.code import code_of
from foretrain.study import Program, Run, define, parameter

STUDY = '''"""A decay."""

from dataclasses import dataclass
from functools import partial

import helper
from foretrain import study as lab
from foretrain.study import Program, Training, declare, default, parameter, sentence
from lib.deep import pull

SOURCE = "A book"
COST = "2 s"
AXES = {"scale": (1.0, 3.0)}
RATE = 0.5
declare("step", height="How high.")
said = partial(sentence, source=SOURCE)


@dataclass(frozen=True)
class Parameters(Training):
    """Fields."""

    scale: float = parameter(1.0, "how large", above=0)
    steps: int = default(20)

    @property
    def half(self):
        return self.scale / 2


def inputs(p, seed):
    return {"start": p.half}


def program(p):
    def predict(inputs, w):
        return w - 0.1 * w

    def step(inputs, w):
        return helper.fit(predict(inputs, w)) * RATE + pull(w)

    return Program(lambda inputs: inputs["start"], step, lambda inputs, w: {"loss": w**2})


def predict(p, step):
    return {"loss": 7 * step}


@lab.sentence("Loss falls far.", source=SOURCE, allowed=(0, 1), why="It must.")
def falls(cell):
    return cell.simulation["loss"].values[:, -1]


slowly = falls.corrected("Loss falls little.", allowed=(0, 2))


@said("Loss stays positive.", allowed=(0, 11), why="A square.")
def positive(cell):
    return cell.simulation["loss"].values[:, 0]
'''
HELPER = """from foretrain import study as lab

def fit(w):
    return 2 * w

@lab.sentence("In a helper.", source="x", allowed=(0, 1), why="y")
def helped(cell):
    return 1
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").touch()
    (tmp_path / "lib" / "deep.py").write_text("def pull(w):\n    return 0.25 * w\n")
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "mine.py").write_text(STUDY)
    return tmp_path / "mine.py"


def changes(file, where, old, new):
    """Whether the code of a study is another one after an edit."""
    before = code_of(catalogue.load(file))
    edited = (file if file.is_dir() else file.parent) / where
    text = edited.read_text()
    assert old in text
    edited.write_text(text.replace(old, new))
    return code_of(catalogue.load(file)) != before


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("mine.py", "w - 0.1 * w", "w - 0.2 * w"),
        ("mine.py", "RATE = 0.5", "RATE = 0.6"),
        ("mine.py", "self.scale / 2", "self.scale / 3"),
        ("mine.py", '{"start": p.half}', '{"start": 2 * p.half}'),
        ("helper.py", "2 * w", "3 * w"),
        ("lib/deep.py", "0.25", "0.35"),
    ],
)
def test_a_change_of_what_the_program_reaches_is_other_code_whatever_its_name(
    file, where, old, new
):
    assert changes(file, where, old, new)


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("mine.py", "Loss falls far.", "It falls far."),
        ("mine.py", "Loss falls little.", "It falls little."),
        ("mine.py", "Loss stays positive.", "It stays positive."),
        ("mine.py", "A book", "Another book"),
        ("mine.py", "2 s", "3 s"),
        ("mine.py", "(1.0, 3.0)", "(1.0, 4.0)"),
        ("mine.py", "How high.", "Height."),
        ("mine.py", "how large", "the scale"),
        ("mine.py", "7 * step", "8 * step"),
        ("mine.py", "    def step(", "    # A remark.\n    def step("),
        ("helper.py", "In a helper.", "Of a helper."),
    ],
)
def test_words_and_what_looks_at_runs_are_no_other_code(file, where, old, new):
    assert not changes(file, where, old, new)


def test_a_constant_counts_where_the_program_uses_it_and_only_there(file):
    file.write_text(STUDY.replace("0.1 * w", "AXES['scale'][0] * w"))
    assert changes(file, "mine.py", "(1.0, 3.0)", "(1.0, 4.0)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.seterr(over='raise')", "np.seterr(over='warn')"),
        ("TABLE.append(3)", "TABLE.append(4)"),
        ("TABLE[0] = 1", "TABLE[0] = 2"),
        ("return 11 * w", "return 12 * w"),
        ("def far(w): return 21", "def far(w): return 22"),
        ("kind: int = 31", "kind: int = 32"),
    ],
)
def test_what_is_reached_in_a_roundabout_way_is_other_code(file, old, new):
    more = """
import numpy as np

np.seterr(over='raise')
TABLE = [0]
TABLE[0] = 1
TABLE.append(3)


class Kind:
    kind: int = 31


def check(w):
    return 11 * w


def used(w):
    from lib.far import far
    return check(TABLE[0] * far(w)) + Kind.kind
"""
    (file.parent / "lib" / "far.py").write_text("def far(w): return 21\n")
    file.write_text(STUDY.replace("w - 0.1 * w", "w - 0.1 * used(w)") + more)
    assert changes(file, "lib/far.py" if "far" in old else "mine.py", old, new)


KEPT = """
import importlib
import sys

import table
from elsewhere import slow

RULES: dict = {}
KINDS, rate = [], 61


def rule(name):
    def put(function):
        RULES[name] = function
        return function

    return put


@rule("far")
def far(w):
    return 51 * w


@table.kept
def near(w):
    return 52 * w


@rule("unused")
@table.kept
class Alone:
    pass


class Base:
    def __init_subclass__(cls):
        KINDS.append(cls)


class Kind(Base):
    kind = 53


class Other:
    rate = rate


class Last:
    pass


class Least(Last):
    kind = 54


def used(w):
    late = importlib.import_module("late").late
    kinds = KINDS[0].kind + Other.rate + Last.__subclasses__()[0].kind
    return RULES["far"](table.TABLE[0](w)) + kinds + late(slow(w))
"""


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("mine.py", "51 * w", "61 * w"),
        ("mine.py", "52 * w", "62 * w"),
        ("mine.py", "kind = 53", "kind = 63"),
        ("mine.py", "kind = 54", "kind = 64"),
        ("mine.py", ", 61", ", 71"),
        ("late.py", "81", "82"),
        ("path/elsewhere.py", "91", "92"),
    ],
)
def test_what_a_table_keeps_and_what_is_found_by_its_text_is_other_code(
    file, monkeypatch, where, old, new
):
    (file.parent / "path").mkdir()
    (file.parent / "path" / "elsewhere.py").write_text("def slow(w):\n    return 91 * w\n")
    monkeypatch.syspath_prepend(file.parent / "path")
    (file.parent / "late.py").write_text("def late(w):\n    return 81 * w\n")
    (file.parent / "table.py").write_text("TABLE = []\n\n\nkept = TABLE.append\n")
    file.write_text(STUDY.replace("w - 0.1 * w", "w - 0.1 * used(w)") + KEPT)
    assert changes(file, where, old, new)


def test_what_a_table_keeps_counts_only_where_it_is_used(file):
    file.write_text(STUDY + KEPT)
    for name in ("late", "elsewhere", "table"):
        (file.parent / f"{name}.py").write_text("")
    assert not changes(file, "mine.py", "51 * w", "61 * w")


def test_a_study_in_a_package_counts_what_it_imports_by_the_name_of_the_package(file):
    folder = file.parent / "site-packages" / "theirs"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "nets.py").write_text("def fit(w):\n    return 81 * w\n")
    (folder / "mine.py").write_text(
        STUDY.replace("import helper", "from theirs import nets as helper")
    )
    assert changes(folder / "mine.py", "nets.py", "81", "82")


def test_a_file_is_read_in_its_own_encoding_and_one_that_cannot_be_imported_is_its_bytes(file):
    code = code_of(catalogue.load(file))
    for start, encoding in (("\ufeff", "utf-8"), ("# coding: latin-1\n", "latin-1")):
        file.write_bytes((start + STUDY.replace("A decay.", "D\xe9cay.")).encode(encoding))
        study = catalogue.load(file)
        assert (study.card.summary, code_of(study)) == ("D\xe9cay.", code)
    (file.parent / "newer.py").write_text("def (81:\n")
    file.write_text(STUDY + "\ntry:\n    import newer\nexcept SyntaxError:\n    newer = None\n")
    assert changes(file, "newer.py", "81", "82")


def test_an_edit_in_a_package_beside_a_study_is_read_in_the_same_process(file):
    before = catalogue.load(file).part("study")
    assert before is not None
    assert before["pull"](4.0) == 1.0
    deep = file.parent / "lib" / "deep.py"
    deep.write_text(deep.read_text().replace("0.25", "0.125"))
    after = catalogue.load(file).part("study")
    assert after is not None
    assert after["pull"](4.0) == 0.5
    assert catalogue.load(file).part("study") is after


def test_every_file_of_a_folder_counts_by_what_is_used_of_it(file):
    folder = file.parent
    file.write_text('"""A study."""\n\nfrom foretrain.study import Training as Parameters\n')
    body = "from foretrain.study import Program\nfrom .theory import rate\n\ndef program(p):\n"
    (folder / "training.py").write_text(f"{body}    return Program(rate, rate, rate)\n")
    theory = "def rate(*x):\n    return 5\n\ndef predict(p, step):\n    return {'loss': 6}\n"
    (folder / "theory.py").write_text(theory)
    file.rename(folder / "study.py")
    assert changes(folder, "theory.py", "return 5", "return 4")
    assert not changes(folder, "theory.py", "6", "7")


def decaying(*, factor=2.0, table=None, given=1, function=np.sin):
    """A study from functions that holds values in every way."""
    table = {"a": [np.zeros(3)]} if table is None else table

    def step(inputs, w, given=given):
        return w * factor + table["a"][0].sum() + given + function(w) + jnp.pi

    def init(inputs):
        return 1.0

    whole = Program(init, step, lambda inputs, w: {"loss": w})
    return define("decay", Parameters=Run, program=lambda p: whole)


def decay(**held):
    return code_of(decaying(**held))


def twice(w):
    return 2 * FACTOR * w


FACTOR = 3


@pytest.mark.parametrize(
    "held",
    [
        {"factor": 3.0},
        {"factor": 2},
        {"factor": jnp.ones(2)},
        {"table": {"a": [np.array([0.0, 1, 0])]}},
        {"given": 2},
        {"function": np.cos},
        {"function": twice},
        {"function": lambda w: w},
        {"function": lambda w: w + 1},
        {"function": partial(twice, w=2)},
        {"function": Counter(a=1)},
        {"function": Counter(a=2)},
        {"function": re.compile("a").match},
    ],
)
def test_a_study_from_functions_is_what_they_hold(held):
    assert decay() == decay()
    assert decay(**held) != decay()
    assert decay(**held) == decay(**held)


def test_a_study_from_functions_is_the_same_code_in_the_process_that_runs_it():
    def function(w):
        return w.FACTOR if hasattr(w, "FACTOR") else ((1, 2), (1, 2))

    study = decaying(function=function)
    assert code_of(catalogue.restore(catalogue.describe(study))) == code_of(study)


def test_a_method_of_the_parameters_counts_and_a_default_does_not():
    def made(default, text, factor):
        @dataclass(frozen=True)
        class Mine(Run):
            rate: float = parameter(default, text)

            def twice(self):
                return factor * self.rate

        program = Program(lambda i: 1.0, lambda i, w: w, lambda i, w: {"loss": w})
        return code_of(define("mine", Parameters=Mine, program=lambda p: program))

    assert made(1.0, "a rate", 2) == made(3.0, "the rate", 2) != made(1.0, "a rate", 3)


def test_a_global_that_a_function_of_a_function_uses_counts(monkeypatch):
    before = decay(function=twice)
    monkeypatch.setitem(globals(), "FACTOR", 4)
    assert decay(function=twice) != before


def test_modules_that_a_function_imports_itself_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def late(w):
        import rates_of_mine  # pyright: ignore[reportMissingImports]  # written below

        return rates_of_mine.rate(w)

    codes = []
    for number in (1, 22, 1):
        (tmp_path / "rates_of_mine.py").write_text(f"def rate(w):\n    return {number} * w\n")
        sys.modules.pop("rates_of_mine", None)
        importlib.invalidate_caches()
        codes.append(decay(function=late))
    sys.modules.pop("rates_of_mine", None)
    assert codes[0] == codes[2] != codes[1]


def test_wrapped_functions_count_by_what_they_wrap():
    import jax

    assert decay(function=jax.jit(lambda w: w)) != decay(function=jax.jit(lambda w: -w))
    assert decay(function=jax.grad(lambda w: w)) != decay(function=jax.grad(lambda w: -w))
    assert decay(function=jax.grad(twice)) == decay(function=jax.grad(twice))


def test_of_every_room_it_is_decided_whether_its_code_counts():
    """A new room is named here, or in `plans.code`, before runs can depend on it unseen."""
    ignored = {
        "claims",
        "engine",
        "figures",
        "forecast",
        "laboratory",
        "plans",
        "report",
        "results",
    }
    rooms = {folder.name for folder in code._PACKAGE.iterdir() if (folder / "__init__.py").exists()}
    assert rooms == ignored | code._ROOMS - {"streams"}
