import dataclasses
import itertools
from functools import cache

import numpy as np
from made_up import check, grid, times, verdicts

import foretrain
from foretrain.claims.claim import HOLDS, NOT_CLAIMED
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.ridge_grokking import study
from foretrain.studies.ridge_grokking.study import CURVES, STEPS

SEEDS = 20
AXES = {"weight_decay": (0.01, 0.0, 0.02, 0.04), "samples": (15, 30, 35, 40)}
P = study.Parameters(steps=7000, dimension=50)
SEEN = np.arange(0, 200, 50)


@cache
def by_theory(init_scale):
    """Predictions of every run of the grid, name to array of shape (decay, samples, seed)."""
    predicted = [
        study.predict(
            dataclasses.replace(P, init_scale=init_scale, weight_decay=decay, samples=samples),
            SEEN,
            Seed(0, seed),
        )
        for decay, samples, seed in itertools.product(*AXES.values(), range(SEEDS))
    ]
    shape = (*map(len, AXES.values()), SEEDS)
    return {
        name: np.reshape([run[name] for run in predicted], (*shape, *np.shape(values)))
        for name, values in predicted[0].items()
    }


def build(changed=lambda step: step, delay=0.0, curves=1.0):
    """Runs that do as the theory says, but for a change of their steps, a delay of those from a small start, and a factor."""
    theory, small = by_theory(P.init_scale), by_theory(0.01)
    large = {"fit_step": theory["fit_step"], STEPS[1]: changed(theory[STEPS[1]])}
    large |= {name: curves * theory[name] for name in CURVES}
    small = {"fit_step": small["fit_step"], STEPS[1]: small[STEPS[1]] + delay}
    return grid(P, AXES, SEEDS, {"": large, "small": small, "theory": theory}, step=SEEN)


def test_the_slope_of_decay_is_claimed_only_where_the_law_itself_has_it():
    outcome = verdicts("ridge-grokking", build(), "decay-slope")["decay-slope"]
    assert [claim.verdict for claim in outcome] == [HOLDS, NOT_CLAIMED, NOT_CLAIMED]  # 30, 35, 40
    assert all("bends the law" in claim.reason for claim in outcome[1:])


def test_every_sentence_can_hold_and_fail():
    decays, counts = (np.array(values, float) for values in AXES.values())
    decays = np.where(decays > 0, decays / 0.01, 1)[:, None, None]
    spoilt = {
        "predicted-steps": {"changed": lambda step: np.nan_to_num(step, nan=7000)},
        "predicted-curves": {"curves": 1.0001},
        "law": {"changed": times(1.02)},
        "decay-slope": {"changed": times(decays**0.05)},
        "samples-slope": {"changed": times(((1 - counts / 50) / 0.3)[:, None])},
        "small-start": {"delay": 100},
    }
    check("ridge-grokking", build, spoilt)


def test_a_run_follows_the_closed_form_and_groks_with_decay_never_without(tmp_path):
    size = {"samples": 15, "dimension": 20, "steps": 3000, "weight_decay": [0.02, 0.0], "seeds": 6}
    result = foretrain.run("ridge-grokking", **size, out=tmp_path / "a", quiet=True, workers=0)
    large, small = result.simulation, result.variant("small")
    assert {claim.verdict for claim in result.claims if claim.id == "predicted-curves"} == {"holds"}
    claims = [claim for claim in result.claims if claim.id == "predicted-steps"]
    assert {(claim.verdict, claim.measured) for claim in claims} == {("holds", 0.0)}
    # Every run waits, most of them for long.
    waited = (large["generalisation_step"] / large["fit_step"]).sel(weight_decay=0.02)
    assert waited.min() > 2
    assert waited.median() > 4
    assert np.isnan(large["generalisation_step"].sel(weight_decay=0.0)).all()
    assert (small["generalisation_step"] <= small["fit_step"]).mean() > 0.7
    *_, ax = drawings(catalogue.load("ridge-grokking"), result.grid)["grokking"].figure.axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["15"]
    labels = [text.get_text() for text in ax.get_yticklabels() if text.get_text()]
    assert labels
    assert all(label.rstrip("0") in ("1", "15", "2", "3", "5", "7") for label in labels)


def test_fewer_samples_are_the_first_of_more():
    few, many = (study.inputs(study.Parameters(samples=n), Seed(0, 1)) for n in (20, 30))
    np.testing.assert_array_equal(few["data"], many["data"][:20])
    np.testing.assert_array_equal(few["teacher"], many["teacher"])
