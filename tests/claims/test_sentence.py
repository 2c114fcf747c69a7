import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr

from foretrain.claims.sentence import Exact, PerSeed, SentenceError, judge, sentence
from foretrain.plans.grid import Grid, WithheldError
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
    given = {"source": "here", "allowed": (0, 2), "why": "So.", **fields}
    return judge(sentence("It is so.", **given)(measure), made or cell())


def spread(value, seeds=10):
    return value + np.linspace(-0.01, 0.01, seeds)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [(spread(1.0), "holds"), (spread(3.0), "fails"), (spread(2.0), "inconclusive")],
)
def test_verdict_follows_where_the_interval_lies(values, verdict):
    assert judged(lambda cell: values).verdict == verdict


def test_a_sentence_has_its_name_from_its_function_and_a_corrected_form_from_what_it_corrects():
    @sentence("A.", source="s", allowed=(0, 1), why="w")
    def larger_first(cell):
        return None

    @sentence("B.", source="s", allowed=(0, 1), why="w", corrects="larger-first")
    def whatever(cell):
        return None

    assert (larger_first.id, whatever.id) == ("larger-first", "larger-first.corrected")
    assert judge(larger_first, cell()) is None


def test_a_corrected_form_measures_the_same_and_is_judged_by_its_own_words():
    @sentence("A.", source="s", allowed=(5, 6), predicted=5, why="w", over="init_scale", note="N.")
    def larger_first(cell):
        return spread(1.0)

    other = larger_first.corrected("B.", allowed=(0, 2), why="v")
    assert (other.id, other.corrects) == ("larger-first.corrected", "larger-first")
    assert (other.statement, other.why, other.note, other.over) == (
        "B.",
        "v",
        "N.",
        ("init_scale",),
    )
    assert judge(larger_first, cell()).verdict == "fails"
    assert judge(other, cell()).verdict == "holds"
    assert math.isnan(other.predicted)
    assert other.seal != larger_first.seal
    assert larger_first.corrected("C.", allowed=(0, 2), id="x").id == "x"
    with pytest.raises(SentenceError):
        larger_first.corrected("D.", allowed=(-math.inf, math.inf))


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
    assert judged(lambda cell: spread(1.0), lost, among="runs that end").verdict == "holds"
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


def test_booleans_are_judged_as_a_fraction():
    claim = judged(lambda cell: np.ones(10, bool), allowed=(0.5, 1))
    assert claim.method.startswith("Clopper")
    assert claim.uncertainty[0] == pytest.approx(0.025 ** (1 / 10), rel=1e-6)


def test_what_is_allowed_and_predicted_may_use_theory_and_parameters_but_nothing_trained():
    claim = judged(
        lambda cell: PerSeed(spread(1.0), "Noted."),
        allowed=lambda cell: (0, 20 * cell.parameters.init_scale),
        predicted=lambda cell: float(cell.theory["loss"][0]),
    )
    assert (claim.allowed, claim.predicted, claim.note) == ((0, 2), 1.0, "Noted.")
    for peeking in (
        lambda cell: (0, float(cell.simulation["loss"].max())),
        lambda cell: (0, len(cell.variants)),
        lambda cell: (0, cell.fits.sizes["seed"]),
    ):
        with pytest.raises((WithheldError, TypeError)):
            judged(lambda cell: spread(1.0), allowed=peeking)


@pytest.mark.parametrize(
    ("allowed", "predicted", "match"),
    [
        ((2, 1), math.nan, "low <= high"),
        ((-math.inf, math.inf), math.nan, "whole line"),
        ((0, 1), 1.5, "its own prediction"),
        (3, math.nan, r"\(low, high\)"),
    ],
)
def test_what_could_not_fail_or_contradicts_itself_is_refused(allowed, predicted, match):
    with pytest.raises(SentenceError, match=match):
        sentence("A.", source="s", allowed=allowed, predicted=predicted, why="w")(lambda cell: None)
    with pytest.raises(SentenceError, match=match):
        judged(
            lambda cell: spread(1.0), allowed=lambda cell: allowed, predicted=lambda cell: predicted
        )


def test_a_measure_of_the_wrong_shape_is_refused():
    with pytest.raises(SentenceError, match="one number per seed"):
        judged(lambda cell: np.ones((10, 2)))


def test_a_seal_changes_with_every_part_that_is_fixed_before_a_run():
    def made(statement="A.", measure=lambda cell: cell, **fields):
        given = {"source": "s", "allowed": (0, 1), "why": "w", "id": "one", **fields}
        return sentence(statement, **given)(measure).seal

    others = [
        made("B."),
        made(allowed=(0, 2)),
        made(allowed=lambda cell: (0, 1)),
        made(why="v"),
        made(predicted=0.5),
        made(over=("rank",)),
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
        sentence("A.", source="s", allowed=(0, 1), why="w")(names["measure"]).seal
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
        return sentence("A.", source="s", allowed=(0, 1), why="w")(change(names["measure"])).seal

    assert seal("+", wrapped) == seal("+", lambda function: function)
    assert seal("+", wrapped) != seal("-", wrapped)


@pytest.mark.parametrize("worst", [True, np.True_, None, "0", np.zeros(3), 1j])
def test_an_exact_deviation_is_one_number(worst):
    with pytest.raises(SentenceError, match=r"line \d+: .* one number as its deviation"):
        judged(lambda cell: Exact(worst))
