import functools
import math
import os
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr

from foretrain.claims.judge import judge
from foretrain.claims.sentence import SentenceError, claim, sentence
from foretrain.plans import siblings
from foretrain.plans.grid import Grid, WithheldError
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.vocabulary import CONVERGED, DIVERGED, FAILED, MISSING, OUT_OF_STEPS


@dataclass(frozen=True)
class Parameters:
    init_scale: float = 0.1


def cell(seeds=10, outcome=CONVERGED, loss=None, axes=None):
    step = np.arange(40)
    curves = np.exp(-step)[None] * (1 + np.arange(seeds)[:, None]) if loss is None else loss
    data = xr.Dataset(
        {
            "loss": (("seed", "step"), np.broadcast_to(curves, (seeds, 40)).copy()),
            "outcome": ("seed", np.broadcast_to(np.asarray(outcome, np.int8), seeds).copy()),
        }
    )
    theory = xr.Dataset({"loss": ("step", np.exp(-step))})
    return Grid(Parameters(), axes or {}, seeds, 0, data, {}, theory)


def judged(measure, made=None, **fields):
    given = {"source": "here", "inside": (0, 2), "why": "So.", **fields}
    return judge(claim("made", "It is so.", measure, **given), made or cell())


def spread(value, seeds=10):
    return value + np.linspace(-0.01, 0.01, seeds)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [(spread(1.0), "holds"), (spread(3.0), "fails"), (spread(2.0), "inconclusive")],
)
def test_verdict_follows_where_the_interval_lies(values, verdict):
    assert judged(lambda cell: values).verdict == verdict


def test_a_sentence_has_its_name_from_its_function_and_a_corrected_form_from_what_it_corrects():
    @sentence("A.", source="s", inside=(0, 1), why="w")
    def larger_first(cell):
        return None

    @sentence("B.", source="s", inside=(0, 1), why="w", corrects="larger-first")
    def whatever(cell):
        return None

    assert (larger_first.id, whatever.id) == ("larger-first", "larger-first.corrected")
    assert judge(larger_first, cell()) is None


def test_a_corrected_form_measures_the_same_and_is_judged_by_its_own_words():
    @sentence("A.", source="s", inside=(5, 6), near=5, why="w", along="init_scale", note="N.")
    def larger_first(cell):
        return spread(1.0)

    other = larger_first.corrected("B.", inside=(0, 2), why="v")
    assert (other.id, other.corrects) == ("larger-first.corrected", "larger-first")
    assert (other.statement, other.why, other.note, other.along) == (
        "B.",
        "v",
        "N.",
        ("init_scale",),
    )
    assert judge(larger_first, cell()).verdict == "fails"
    assert judge(other, cell()).verdict == "holds"
    assert math.isnan(other.near)
    assert other.seal != larger_first.seal
    assert larger_first.corrected("C.", inside=(0, 2), id="x").id == "x"
    ranked = larger_first.corrected("C.", rank="headline")
    assert (judge(ranked, cell()).rank, judge(larger_first, cell()).rank) == ("headline", "detail")
    assert ranked.seal == larger_first.corrected("C.").seal
    with pytest.raises(SentenceError, match="`rank` must be one of"):
        larger_first.corrected("D.", rank="first")
    with pytest.raises(SentenceError):
        larger_first.corrected("D.", inside=(-math.inf, math.inf))


def test_a_sentence_speaks_of_the_cells_it_names_and_sees_nothing_trained_when_it_names_them():
    small = {"where": lambda cell: cell.parameters.init_scale < 0.5}
    assert judged(lambda cell: spread(1.0), **small).verdict == "holds"
    assert judged(lambda cell: spread(1.0), where=lambda cell: False) is None
    with pytest.raises(WithheldError):
        judged(lambda cell: spread(1.0), where=lambda cell: cell.simulation["loss"].min() < 1)


def test_one_seed_proves_nothing_and_none_less():
    assert (
        judged(lambda cell: spread(1.0, 1), cell(1)).reason == "one seed says nothing of the spread"
    )
    none = judged(lambda cell: np.full(10, np.nan))
    assert (none.verdict, none.reason, none.left_out) == (
        "inconclusive",
        "nothing was measured",
        10,
    )


def test_there_are_no_more_values_than_seeds_and_those_left_out_on_purpose_are_counted():
    with pytest.raises(SentenceError, match="at most one number for each of 10 seeds, but gave 11"):
        judged(lambda cell: np.ones(11))
    with pytest.raises(
        SentenceError, match=r"test_sentence\.py, line \d+: .* each of 10 seeds, .* gave 7\. Name"
    ):
        judged(lambda cell: np.ones(7))
    some = judged(lambda cell: np.ones(7, bool), among="runs that converge")
    assert (some.seeds, some.left_out) == (7, 3)


def test_seeds_without_a_value_are_counted_and_keep_a_claim_from_holding():
    values = spread(1.0)
    values[:2] = np.nan
    claim = judged(lambda cell: values)
    assert (claim.seeds, claim.left_out) == (8, 2)
    assert (claim.verdict, claim.reason) == ("inconclusive", "2 of 10 seeds gave no value")
    said = judged(lambda cell: values, among="runs that converge")
    assert (said.verdict, said.left_out, said.among) == ("holds", 2, "runs that converge")


@pytest.mark.parametrize(
    ("code", "word"), [(DIVERGED, "diverged"), (FAILED, "failed"), (MISSING, "missing")]
)
def test_runs_that_are_not_there_keep_a_claim_from_holding_but_not_from_failing(code, word):
    outcome = np.full(10, CONVERGED)
    outcome[0] = code
    lost = cell(outcome=outcome)
    held = judged(lambda cell: spread(1.0), lost)
    assert (held.verdict, held.reason) == ("inconclusive", f"1 of 10 runs {word}")
    assert judged(lambda cell: spread(3.0), lost).verdict == "fails"
    exact = judged(lambda cell: Exact(0.5), lost)
    assert exact.verdict == "inconclusive"
    some = judged(lambda cell: spread(1.0), lost, among="runs that end")
    left_out_on_purpose = ("holds", "") if code == DIVERGED else ("inconclusive", held.reason)
    assert (some.verdict, some.reason) == left_out_on_purpose
    assert judged(lambda cell: spread(3.0), lost, among="runs that end").verdict == "fails"
    beside = replace(lost, variants={"twin": cell().simulation})
    assert judged(lambda cell: spread(1.0), beside, of="twin").verdict == "holds"
    never = judged(lambda cell: spread(1.0), lost, of="twin")
    assert (never.verdict, never.reason) == ("inconclusive", "no network `twin` was trained")


def test_a_sentence_about_the_end_waits_for_runs_that_were_cut_off_while_learning():
    falling = np.exp(-np.arange(40) / 20)[None] * np.linspace(1, 2, 10)[:, None]
    unsettled, settled = cell(outcome=OUT_OF_STEPS, loss=falling), cell(outcome=OUT_OF_STEPS)
    for measure in (lambda cell: spread(3.0), lambda cell: Exact(3.0)):
        claim = judged(measure, unsettled, at_end=True)
        assert claim.verdict == "inconclusive"
        assert claim.reason.startswith("not finished: 10 of 10 runs")
        assert judged(measure, settled, at_end=True).verdict == "fails"
        assert judged(measure, unsettled).verdict == "fails"


def test_seeds_that_gave_the_same_run_carry_no_verdict():
    ended = np.exp(-np.arange(40.0))[None]
    ended[:, 30:] = np.nan
    assert judged(lambda cell: spread(1.0), cell(loss=ended)).verdict == "inconclusive"
    same = cell(loss=np.exp(-np.arange(40))[None])
    claim = judged(lambda cell: spread(1.0), same)
    assert (claim.verdict, claim.reason) == ("inconclusive", "all seeds gave the same run")
    assert judged(lambda cell: Exact(1.0), same).verdict == "holds"


def test_exact_facts_hold_up_to_what_is_allowed_and_never_by_nan():
    assert judged(lambda cell: Exact(1.9)).verdict == "holds"
    assert judged(lambda cell: Exact(2.1)).verdict == "fails"
    assert judged(lambda cell: Exact(math.inf)).verdict == "fails"
    assert judged(lambda cell: Exact(math.nan)).verdict == "inconclusive"
    assert judged(lambda cell: Exact(-0.1)).verdict == "fails", "both ends of what is allowed count"


def test_two_bounds_are_judged_from_the_lower_end_of_one_to_the_upper_end_of_the_other():
    def between(low, high):
        return judged(lambda cell: PerSeed(spread(low), upto=spread(high)), inside=(0, 1))

    claim, alone = between(0.3, 0.6), judged(lambda cell: spread(0.6), inside=(0, 1))
    assert claim.verdict == "holds"
    assert claim.measured == pytest.approx(0.45, abs=0.02)
    assert claim.uncertainty[0] < 0.3
    assert claim.uncertainty[1] == alone.uncertainty[1]
    assert between(0.3, 1.5).verdict == "inconclusive", "however narrow either interval is"
    assert between(1.3, 1.5).verdict == "fails"


def test_a_seed_counts_where_both_bounds_are_known():
    low, high = spread(0.3), spread(0.6)
    high[2] = math.nan
    claim = judged(lambda cell: PerSeed(low, upto=high), inside=(0, 1))
    assert (claim.verdict, claim.seeds, claim.left_out) == ("inconclusive", 9, 1)
    claim = judged(lambda cell: PerSeed(low, upto=high), inside=(0, 1), among="those")
    assert (claim.verdict, claim.seeds) == ("holds", 9)


@pytest.mark.parametrize("upto", [0.6, spread(0.6)[:3], spread(0.6) > 0, "abc", Exact(0.6)])
def test_upper_bounds_are_as_many_and_of_the_kind_of_the_lower_ones(upto):
    with pytest.raises(
        SentenceError, match=r"line \d+: .* upper bounds of shape \(10,\), of dtype"
    ):
        judged(lambda cell: PerSeed(spread(0.3), upto=upto), inside=(0, 1))


def test_booleans_are_judged_as_a_fraction():
    claim = judged(lambda cell: np.ones(10, bool), inside=(0.5, 1))
    assert claim.method.startswith("Clopper")
    assert claim.uncertainty[0] == pytest.approx(0.025 ** (1 / 10), rel=1e-6)


def test_what_is_allowed_and_predicted_may_use_theory_and_parameters_but_nothing_trained():
    claim = judged(
        lambda cell: PerSeed(spread(1.0), "Noted."),
        inside=lambda cell: (0, 20 * cell.parameters.init_scale),
        near=lambda cell: float(cell.theory["loss"][0]),
    )
    assert (claim.allowed, claim.predicted, claim.note) == ((0, 2), 1.0, "Noted.")
    for peeking in (
        lambda cell: (0, float(cell.simulation["loss"].max())),
        lambda cell: (0, len(cell.variants)),
        lambda cell: (0, cell.fits.sizes["seed"]),
    ):
        with pytest.raises((WithheldError, TypeError)):
            judged(lambda cell: spread(1.0), inside=peeking)


@pytest.mark.parametrize(
    ("inside", "near", "match"),
    [
        ((2, 1), math.nan, "low <= high"),
        ((-math.inf, math.inf), math.nan, "whole line"),
        ((0, 1), 1.5, "its own prediction"),
        (3, math.nan, r"\(low, high\)"),
    ],
)
def test_what_could_not_fail_or_contradicts_itself_is_refused(inside, near, match):
    with pytest.raises(SentenceError, match=match):
        sentence("A.", source="s", inside=inside, near=near, why="w")(lambda cell: None)
    with pytest.raises(SentenceError, match=match):
        judged(lambda cell: spread(1.0), inside=lambda cell: inside, near=lambda cell: near)


def test_a_measure_of_the_wrong_shape_is_refused():
    with pytest.raises(SentenceError, match="one number per seed"):
        judged(lambda cell: np.ones((10, 2)))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"where": True}, "`where` must be a function"),
        ({"near": "1"}, "`near` must be a number"),
    ],
)
def test_what_is_neither_a_function_of_the_cell_nor_fits_is_refused(given, match):
    with pytest.raises(SentenceError, match=match):
        claim("a", "A.", lambda c: None, **{"inside": (0, 1), "why": "w", **given})


def test_a_seal_changes_with_every_part_that_is_fixed_before_a_run():
    def made(statement="A.", measure=lambda cell: cell, **fields):
        given = {"source": "s", "inside": (0, 1), "why": "w", "id": "one", **fields}
        return sentence(statement, **given)(measure).seal

    others = [
        made("B."),
        made(inside=(0, 2)),
        made(inside=lambda cell: (0, 1)),
        made(why="v"),
        made(near=0.5),
        made(along=("rank",)),
        made(at_end=True),
        made(among="some"),
        made(measure=lambda cell: cell + 1),
    ]
    assert len({made(), *others}) == 1 + len(others)
    assert made() == made()


def test_a_seal_sees_the_helpers_of_a_measure():
    first, second = {}, {}
    text = (
        "def helper(cell):\n    return cell {} 1\n\ndef measure(cell):\n    return helper(cell)\n"
    )
    for names, sign in ((first, "+"), (second, "-")):
        names["__name__"] = "made"
        exec(compile(text.format(sign), f"<made {sign}>", "exec"), names)
    seals = [
        sentence("A.", source="s", inside=(0, 1), why="w")(names["measure"]).seal
        for names in (first, second)
    ]
    assert seals[0] != seals[1]


def test_a_seal_is_that_of_the_function_itself_when_it_and_its_helper_are_wrapped():
    text = (
        "def helper(cell):\n    return cell {} 1\n\ndef measure(cell):\n    return helper(cell)\n"
    )

    def wrapped(function):
        return functools.wraps(function)(lambda *given: function(*given))

    def seal(sign, change):
        names = {"__name__": "made"}
        exec(compile(text.format(sign), "<made>", "exec"), names)
        names["helper"] = change(names["helper"])
        return sentence("A.", source="s", inside=(0, 1), why="w")(change(names["measure"])).seal

    assert seal("+", wrapped) == seal("+", lambda function: function)
    assert seal("+", wrapped) != seal("-", wrapped)


OWN = """
import functools
from dataclasses import dataclass
import numpy as np
from foretrain.claims.sentence import sentence
from helper import far, nearby
import helper as other

TOL, WORDS, TABLE, POINTS = 1e-6, ("a", "b"), {"a": [1.0]}, np.array([1.0, 2.0])

@dataclass(frozen=True)
class Case:
    name: str = "one"
    size: float = 2.0

    def grown(self):
        return 3 * self.size

CASE = Case()

def made(power):
    def within(cell, add=4 * TOL):
        return (0, 9 + power + add)
    return within

def bounded(cell, *, high):
    return (0, high)

def half(cell):
    return bounded(cell, high=8 * TOL)

@sentence("A.", source="s", inside=lambda cell: (0, TOL), near=made(2), why="w",
          where=lambda cell:
              cell.parameters.size < 5)
def first(cell):
    return far(cell)

@sentence("B.", source="s", inside=functools.partial(bounded, high=7), why="w")
def second(cell):
    return CASE.grown(), WORDS, TABLE, {"b", "a", "c"}

@sentence("C.", source="s", inside=half, why="w", near=lambda cell: POINTS[0])
def third(cell):
    return other.unit(cell)

def seals():
    return [first.seal, second.seal, third.seal]
"""
HELPER = """
FACTOR = 1.5

def nearby(cell):
    return cell * FACTOR

def far(cell):
    return nearby(cell) + 1

def unit(cell):
    return cell * SMALL

SMALL = 0.25
"""


def own_seals(tmp_path, old="", new=""):
    """Seals of the sentences of a study's folder, after an edit of one of its files."""
    folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    assert not old or (OWN + HELPER).count(old) == 1, old
    (folder / "study.py").write_text(OWN.replace(old, new) if old else OWN)
    (folder / "helper.py").write_text(HELPER.replace(old, new) if old else HELPER)
    package = siblings.package_of(folder / "study.py", folder)
    return siblings.part(package, folder / "study.py").seals()


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("TOL, WORDS, TABLE, POINTS = 1e-6", "TOL, WORDS, TABLE, POINTS = 1e-5", [0, 2]),
        ('("a", "b")', '("a", "c")', [1]),
        ('{"a": [1.0]}', '{"a": [2.0]}', [1]),
        ("np.array([1.0, 2.0])", "np.array([1.0, 2.5])", [2]),
        ("size: float = 2.0", "size: float = 2.5", [1]),
        ("3 * self.size", "4 * self.size", [1]),
        ("near=made(2)", "near=made(3)", [0]),
        ("high=7", "high=6", [1]),
        ("cell.parameters.size < 5", "cell.parameters.size < 4", [0]),
        ("FACTOR = 1.5", "FACTOR = 1.25", [0]),
        ("nearby(cell) + 1", "nearby(cell) + 2", [0]),
        ("SMALL = 0.25", "SMALL = 0.5", [2]),
        ("return (0, high)", "return (0.0, high)", [1, 2]),
    ],
)
def test_a_seal_changes_with_every_value_and_helper_of_its_study_that_it_depends_on(
    tmp_path, old, new, changed
):
    before, after = own_seals(tmp_path), own_seals(tmp_path, old, new)
    assert [n for n in range(3) if before[n] != after[n]] == changed


def test_a_seal_is_the_same_in_every_process_and_wherever_the_study_lies(tmp_path):
    here = own_seals(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.py").write_text(OWN)
    (tmp_path / "mine" / "helper.py").write_text(HELPER)
    for hashing in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", "import study; print(*study.seals())"],
            cwd=tmp_path / "mine",
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == here


def test_a_function_that_has_no_source_is_sealed_by_what_it_does(tmp_path):
    def seal(text):
        names = {"__name__": "made"}
        exec(compile(text, "<made>", "exec"), names)
        return sentence("A.", source="s", inside=(0, 1), why="w", id="one")(names["f"]).seal

    text = "def f(cell):\n    return [one + {} for one in (lambda: cell)()]\n"
    assert seal(text.format(1)) == seal(text.format(1))
    assert seal(text.format(1)) != seal(text.format(2))


def test_a_partial_function_measures_and_what_is_no_function_is_refused():
    def shifted(cell, by):
        return spread(by)

    given = {"source": "s", "inside": (0, 2), "why": "w"}
    one, two = (sentence("A.", **given)(functools.partial(shifted, by=by)) for by in (1.0, 1.5))
    assert (one.id, judge(one, cell()).verdict) == ("shifted", "holds")
    assert one.seal != two.seal
    with pytest.raises(SentenceError, match="must be a function"):
        claim("a", "A.", 3, **given)


@pytest.mark.parametrize("worst", [True, np.True_, None, "0", np.zeros(3), 1j])
def test_an_exact_deviation_is_one_number(worst):
    with pytest.raises(SentenceError, match=r"line \d+: .* one number as its deviation"):
        judged(lambda cell: Exact(worst))
