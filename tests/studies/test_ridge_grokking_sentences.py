import dataclasses
import itertools
from functools import cache

import numpy as np
from made_up import check, runs, verdicts

from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.ridge_grokking import study
from foretrain.studies.ridge_grokking.training import STEPS

SEEDS = 20
AXES = {"weight_decay": (0.003, 0.0, 0.006, 0.012), "samples": (30, 60, 70, 80)}


@cache
def by_theory(init_scale):
    """What the theory says of every run of the grid, name to array of shape (decay, samples, seed)."""
    base = study.Parameters(init_scale=init_scale)
    found = [
        study.predict(
            dataclasses.replace(base, weight_decay=decay, samples=n), np.arange(1), Seed(0, seed)
        )
        for decay, n, seed in itertools.product(*AXES.values(), range(SEEDS))
    ]
    shape = (*map(len, AXES.values()), SEEDS)
    return {
        name: np.array([one[name] for one in found]).reshape(shape)
        for name in (*STEPS, "law", "law_room")
    }


def grid(generalisation=lambda step: step, small=lambda step: step):
    """Runs that do as the theory says, but for what is done to their steps of generalisation."""
    large, small_start = by_theory(study.Parameters().init_scale), by_theory(0.01)
    large_steps, small_steps = (
        {name: data[name] for name in STEPS} for data in (large, small_start)
    )
    large_steps["generalisation_step"] = generalisation(large_steps["generalisation_step"])
    small_steps["generalisation_step"] = small(small_steps["generalisation_step"])
    return Grid(
        study.Parameters(),
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, large_steps),
        variants={"small": runs(AXES, SEEDS, small_steps)},
        theory=runs(AXES, SEEDS, large, outcome=None),
    )


def powers(decay=0.0, samples=0.0):
    """Steps times powers of decay and of the unseen share."""
    decays, counts = (np.array(values, float) for values in AXES.values())
    scale = np.where(decays > 0, decays / 0.003, 1) ** decay
    scale = scale[:, None, None] * (((1 - counts / 100) / 0.3) ** samples)[:, None]
    return lambda step: step * scale


def test_every_sentence_can_hold_and_fail():
    check(
        "ridge-grokking",
        grid,
        {
            "predicted-steps": lambda: grid(lambda step: step + 2),
            "law": lambda: grid(lambda step: 1.02 * step),
            "decay-slope": lambda: grid(powers(decay=0.05)),
            "samples-slope": lambda: grid(powers(samples=1)),
            "never": lambda: grid(lambda step: np.where(np.isnan(step), 20000.0, step)),
            "small-start": lambda: grid(small=lambda step: step + 100),
        },
    )


def test_a_run_that_generalises_where_theory_says_never_is_a_failure():
    (claim, *_) = verdicts("ridge-grokking", grid(lambda step: np.full_like(step, np.nan)))["law"]
    assert claim.verdict == "fails"
    found = verdicts("ridge-grokking", grid(lambda step: np.nan_to_num(step, nan=24000)))
    assert {one.verdict for one in found["predicted-steps"]} >= {"fails"}
