import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr

from foretrain.claims.judge import NO_SPREAD, judge
from foretrain.claims.rows import rows
from foretrain.claims.sentence import SentenceError, claim
from foretrain.claims.table import ClaimTable
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


def judged(measure, result=None, **fields):
    options = {"source": "here", "inside": (0, 2), "why": "So.", **fields}
    return judge(claim("made", "It is so.", measure, **options), result or cell())


def spread(value, seeds=10):
    return value + np.linspace(-0.01, 0.01, seeds)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [(spread(1.0), "holds"), (spread(3.0), "fails"), (spread(2.0), "inconclusive")],
)
def test_verdict_follows_where_the_interval_lies(values, verdict):
    assert judged(lambda cell: values).verdict == verdict


@pytest.mark.parametrize("values", [spread(1.0), spread(1.0) > 0, spread(0.5)])
def test_the_interval_of_a_later_look_is_wider_and_the_plain_one_stands_beside_it(values):
    within = {"within": (0, 1)} if values.mean() == 0.5 else {}
    row = claim("made", "It is so.", lambda c: values, inside=(0, 2), why="So.", **within)
    first, third = judge(row, cell()), judge(row, cell(), 3)
    (low, high), (wider, higher) = first.uncertainty, third.uncertainty
    assert wider < low <= high <= higher
    assert third.method == f"{first.method} over 3 looks"
    alone = f"Of these seeds alone the interval is {low:.4g} to {high:.4g}."
    assert alone in third.note
    assert " ".join(ClaimTable([third]).format(120).split()).endswith(alone)
    (cells,) = rows([replace(third, cell={"rank": n}) for n in (1, 2)])
    assert f"of these seeds alone {low:.4g} to {high:.4g}" in cells.cells[0][2]


def test_a_corrected_form_measures_the_same_and_is_judged_by_its_own_words():
    options = {"inside": (5, 6), "near": 5, "why": "w", "along": "init_scale", "note": "N."}
    larger_first = claim("larger-first", "A.", lambda c: spread(1.0), **options)
    other = larger_first.corrected("B.", inside=(0, 2), why="v")
    assert (other.id, other.corrects) == ("larger-first.corrected", "larger-first")
    assert (other.statement, other.why, other.note) == ("B.", "v", "N.")
    assert other.along == ("init_scale",)
    assert judge(larger_first, cell()).verdict == "fails"
    assert judge(other, cell()).verdict == "holds"
    assert math.isnan(other.near)
    assert larger_first.corrected("C.", inside=(0, 2), id="x").id == "x"
    ranked = larger_first.corrected("C.", rank="headline")
    assert (judge(ranked, cell()).rank, judge(larger_first, cell()).rank) == ("headline", "detail")
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
    assert "one seed says" in judged(lambda cell: spread(1.0, 1), cell(1)).reason
    none = judged(lambda cell: np.full(10, np.nan))
    assert none.verdict == "inconclusive"
    assert (none.reason, none.left_out) == ("nothing was measured", 10)


def test_there_are_no_more_values_than_seeds_and_those_left_out_on_purpose_are_counted():
    with pytest.raises(SentenceError, match="at most one number for each of 10 seeds, but gave 11"):
        judged(lambda cell: np.ones(11))
    with pytest.raises(SentenceError, match="one number per seed"):
        judged(lambda cell: np.ones((10, 2)))
    words = r"test_sentence\.py, line \d+: .* each of 10 seeds, .* gave 7\. Name"
    with pytest.raises(SentenceError, match=words):
        judged(lambda cell: np.ones(7))
    some = judged(lambda cell: np.ones(7, bool), among="runs that converge")
    assert (some.seeds, some.left_out) == (7, 3)


def test_seeds_without_a_value_are_counted_and_keep_a_claim_from_holding():
    values = spread(1.0)
    values[:2] = np.nan
    claim = judged(lambda cell: values)
    assert (claim.seeds, claim.left_out) == (8, 2)
    assert (claim.verdict, claim.reason) == ("inconclusive", "2 of 10 seeds gave no value")
    text = judged(lambda cell: values, among="runs that converge")
    assert (text.verdict, text.left_out, text.among) == ("holds", 2, "runs that converge")


@pytest.mark.parametrize(
    ("code", "word"), [(DIVERGED, "diverged"), (FAILED, "failed"), (MISSING, "missing")]
)
def test_runs_that_are_not_there_keep_a_claim_from_holding_but_not_from_failing(code, word):
    outcome = np.full(10, CONVERGED)
    outcome[0] = code
    lost = cell(outcome=outcome)
    stored = judged(lambda cell: spread(1.0), lost)
    assert (stored.verdict, stored.reason) == ("inconclusive", f"1 of 10 runs {word}")
    assert judged(lambda cell: spread(3.0), lost).verdict == "fails"
    assert judged(lambda cell: Exact(0.5), lost).verdict == "inconclusive"
    some = judged(lambda cell: spread(1.0), lost, among="runs that end")
    left_out_on_purpose = ("holds", "") if code == DIVERGED else ("inconclusive", stored.reason)
    assert (some.verdict, some.reason) == left_out_on_purpose
    assert judged(lambda cell: spread(3.0), lost, among="runs that end").verdict == "fails"
    neighbour = replace(lost, variants={"twin": cell().simulation})
    assert judged(lambda cell: spread(1.0), neighbour, of="twin").verdict == "holds"
    never = judged(lambda cell: spread(1.0), lost, of="twin")
    assert (never.verdict, never.reason) == ("inconclusive", "no network `twin` was trained")
    for options in ({}, {"among": "runs that end"}):
        nothing = judged(lambda cell: np.full(10, np.nan), lost, **options)
        assert nothing.reason == f"nothing was measured; {stored.reason}"


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


def test_equal_values_of_a_mean_have_a_note_and_within_a_range_an_interval():
    equal = np.full(10, 1.0)
    assert NO_SPREAD in judged(lambda cell: equal).note
    assert judged(lambda cell: equal, statistic="median").note == ""
    share = {"inside": (0.7, 1), "within": (0, 1)}
    assert judged(lambda cell: equal, **share).uncertainty == pytest.approx((0.6915, 1), abs=1e-4)
    assert judged(lambda cell: equal, **share).verdict == "inconclusive"
    assert judged(lambda cell: np.full(20, 1.0), cell(seeds=20), **share).verdict == "holds"
    with pytest.raises(SentenceError, match="Only a mean has a range"):
        judged(lambda cell: equal, statistic="median", within=(0, 1))


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
    words = r"line \d+: .* upper bounds of shape \(10,\), of dtype"
    with pytest.raises(SentenceError, match=words):
        judged(lambda cell: PerSeed(spread(0.3), upto=upto), inside=(0, 1))


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
        claim("a", "A.", lambda c: None, inside=inside, near=near, why="w")
    with pytest.raises(SentenceError, match=match):
        judged(lambda cell: spread(1.0), inside=lambda cell: inside, near=lambda cell: near)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"where": True}, "`where` must be a function"),
        ({"near": "1"}, "`near` must be a number"),
        ({"domain": "narrow"}, "`domain` must be a function"),
        ({"quantity": 3}, "must be a function"),
    ],
)
def test_what_is_neither_a_function_of_the_cell_nor_fits_is_refused(fields, match):
    row = {"quantity": lambda c: None, "inside": (0, 1), "why": "w", **fields}
    with pytest.raises(SentenceError, match=match):
        claim("a", "A.", **row)


def test_a_partial_function_measures():
    assert judged(functools.partial(lambda cell, by: spread(by), by=1.0)).verdict == "holds"


@pytest.mark.parametrize("worst", [True, np.True_, None, "0", np.zeros(3), 1j])
def test_an_exact_deviation_is_one_number(worst):
    with pytest.raises(SentenceError, match=r"line \d+: .* one number as its deviation"):
        judged(lambda cell: Exact(worst))


@pytest.mark.parametrize("value", [1.0, 3.0])
def test_outside_of_its_domain_a_sentence_is_measured_and_not_claimed(value):
    def near_one(c):
        return "lambda_1 is above 0.05" if c.p.init_scale > 0.05 else ""

    result = judged(lambda cell: spread(value), domain=near_one)
    assert (result.verdict, result.reason) == ("not claimed", "lambda_1 is above 0.05")
    assert result.measured == pytest.approx(value)
    inside = judged(lambda cell: spread(value), domain=lambda c: "")
    assert inside.verdict == ("holds" if value == 1 else "fails")


def test_a_domain_is_fixed_before_the_run():
    with pytest.raises(WithheldError):
        judged(lambda cell: spread(1.0), domain=lambda c: "far" if c.loss.mean() > 0 else "")


def test_a_mean_with_a_run_that_lies_apart_says_so():
    rare = spread(0.1)
    rare[3] = 5.0
    note = "1 of 10 runs lies apart; the mean of the others is 0.1004."
    assert judged(lambda cell: rare).note == note
    assert judged(lambda cell: rare, statistic="median").note == ""
