"""Grokking with a theorem: ridge regression fits its data at once and forgets its start only as fast as weights decay."""

import numpy as np

from foretrain.study import declare
from foretrain.theory.grokking import ridge as theory

from .training import CURVES, STEPS, Parameters, inputs  # noqa: F401

SOURCE = "docs/theory/ridge-grokking.md"
COST = "30 s"
REFERENCES = ("xu2026", "liu2022omnigrok", "levi2024")
SEEDS = 20
AXES = {"weight_decay": (0.003, 0.0, 0.006, 0.012), "samples": (70, 30, 60, 80)}
PRESETS = {"paper": {"seeds": 100, "dimension": 200, "samples": (140, 60, 120, 160)}}
declare(unit="step", law="What the null space forgets by, inf = never.")
declare(law_room="How far rigorous bounds are from it, relatively, nan = none.")


def variants(p):
    return {"small": {"init_scale": p.init_scale / 1000}} if p.init_scale > 1 else {}


def predict(p, step, seed):
    """The closed form of descent, and the law of the null space alone."""
    run = theory.descent(
        learning_rate=p.learning_rate, weight_decay=p.weight_decay, **inputs(p, seed)
    )
    first = run.first_steps((p.fit_threshold, p.threshold), p.steps - 1)
    bounds = np.array(run.generalisation(p.threshold))
    steps = *np.where(np.isinf(first), np.nan, first), bounds[1], theory.room(bounds, p.steps)
    names = *CURVES, *STEPS, "law", "law_room"
    return dict(zip(names, (*run.errors(step), *steps), strict=True))
