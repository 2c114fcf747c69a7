"""Both ends of initialisation: claims on made-up networks that follow one theory or the other, kernels and small runs."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_up import add, check, grid, runs, spoil, times, verdicts

from foretrain.quantities.learning_curves.curve_deviation import deviation_while_falling, falling
from foretrain.streams import Seed
from foretrain.studies.initialization import study
from foretrain.studies.initialization.study import Parameters, variants
from foretrain.training.routing import LAYERS, mask

SMALL = {"domains": 3, "trained_outputs": 2, "hidden_width": 24}
P = Parameters(**{**SMALL, "hidden_width": 16}, init_scale=0.1, steps=12000, observe_every=20)
AXES = {"init_scale": (0.1, 0.5, 2.5)}
SEEDS, STEP = 5, np.arange(0, 12001, 20)
NEAR = np.arange(60)  # steps of the lazy network
ONE_REPRESENTATION = np.kron(np.ones((3, 3)), np.eye(4))


@cache
def _predicted():
    cells = [replace(P, init_scale=scale) for scale in AXES["init_scale"]]
    predicted = [[study.predict(p, STEP, Seed(0, n)) for n in range(SEEDS)] for p in cells]
    return {
        name: np.array([[first[name] for first in cell] for cell in predicted])
        for name in predicted[0][0]
    }


@cache
def _lazy(faster=1.0):
    p = replace(P, **{k: v for k, v in variants(P)["lazy"].items() if k != "seeds"})
    kernels = [study.kernel_of_seed(p, Seed(0, number)) for number in range(SEEDS)]
    falls = [np.log(kernel.errors(NEAR, p.rate, p.init_scale)[0]) for kernel in kernels]
    loss = [np.exp(np.interp(NEAR / faster, NEAR, fall)) for fall in falls]
    return np.array(loss), np.array([study.lazy_limit(p, Seed(0, n)) for n in range(SEEDS)])


def build(changes=None, faster=1.0):
    """Small networks that race, large ones that are linear, and one between; each begins where it is linearised.

    `changes` are functions of an array, by variable, or by network and variable as in ``lazy/weight_change``.
    """
    predicted, hair = dict(_predicted()), 1 + 1e-6 * np.arange(SEEDS)
    pairs = np.array([mask(P, Seed(0, number)) for number in range(SEEDS)])
    loss = np.stack([*predicted["race_loss"][:2], predicted["lazy_loss"][2]])
    loss = np.where(np.isnan(loss), np.nanmin(loss, axis=-1, keepdims=True), loss)
    loss = np.abs(loss) * hair[:, None]
    loss[..., 0] = predicted["lazy_loss"][..., 0]
    untrained = np.stack([0 * hair + 1e-4, 0 * hair + 1.5, predicted["lazy_limit"][2]])
    cosine = np.array([*predicted["race_cosine"][:2, 0], 0.1])[:, None, None, None]
    dots = cosine * ONE_REPRESENTATION + (1 - cosine) * np.eye(12) * hair[:, None, None]
    curves, limits = _lazy(faster)
    error = loss * 0 + untrained[..., None]
    error[..., 0] = predicted["lazy_untrained_error"][..., 0]
    ends = (end[..., None, None] for end in (loss[..., -1], untrained))
    networks = {
        "": {
            "loss": loss,
            "untrained_error": error,
            "converged_loss": loss[..., -1] * 0 + 1e-8,
            "converged_untrained_error": untrained,
            "trained_pairs": pairs[None] + np.zeros((3, 1, 1, 1)),
            "pair_error": np.where(pairs == 1, *ends),
            "gradient_gap": 1e-6 * hair[None] + np.zeros((3, 1)),
            "similarity": dots,
            "outputs": np.ones((3, SEEDS, 3, 3, 7, 4)),
            "weight_change": np.array([3.0, 1.0, 0.1])[:, None, None] * np.ones((3, SEEDS, 3)),
        },
        "lazy": {
            "loss": np.broadcast_to(curves, (3, *curves.shape)),
            "converged_untrained_error": np.broadcast_to(limits * hair, (3, SEEDS)),
            "weight_change": 0.1 * hair[:, None] * np.ones((3, 1, 3)),
        },
        "theory": predicted,
    }
    networks = spoil(networks, changes or {})
    rate = [replace(P, init_scale=scale).rate for scale in AXES["init_scale"]]
    time = {"time": (("init_scale", "step"), np.outer(rate, STEP))}
    layer = {"layer": ("layer", list(LAYERS))}
    networks["lazy"] = runs(AXES, SEEDS, networks["lazy"], step=NEAR, labels=layer)
    return grid(P, AXES, SEEDS, networks, step=STEP, labels=time | layer)


def at(place, change):
    def changed(values):
        values[place] = change(values[place])
        return values

    return changed


def end(value):
    return lambda values: value * (1 + 1e-3 * np.arange(SEEDS))


def stretched(factor):
    """The curves later by a factor."""
    return lambda curves: [np.interp(STEP / factor, STEP, curve) for curve in curves]


PACES = (0.5, 0.8, 1.2, 2.0)  # of the theories of stages and of the linearised network
SPOILT = {
    "trained-routes-alone": {"gradient_gap": add(0.05)},
    "linearised-start": {"theory/lazy_loss": times(1.05)},
    "linearised-end": {"theory/lazy_limit": times(1.05)},
    "race-start": {"theory/race_loss": times(1.05)},
    "shared-as-predicted": {"theory/race_cosine": times(0.95)},
    "trained": {"converged_loss": at(1, end(1.0))},
    "zero-shot": {"converged_untrained_error": at(0, end(3.0))},
    "shared": {"similarity": add(2 * np.eye(12))},
    "zero-shot-limit": {"converged_untrained_error": at(0, end(1e-3))},
    "stage-like": {"loss": at(0, stretched(2.0))},
    "no-zero-shot": {"converged_untrained_error": at(2, end(3.0))},
    "distinct": {"similarity": add(ONE_REPRESENTATION)},
    "connectivity-persists": {"weight_change": times(5)},
    "exponential": {"loss": at(2, stretched(3.0))},
    "connectivity-persists.corrected": {"lazy/weight_change": times(4)},
}


def test_every_sentence_can_hold_and_fail():
    spoilt = {id: {"changes": changes} for id, changes in SPOILT.items()}
    spoilt["stage-times"] = [{"changes": {"loss": at(0, stretched(pace))}} for pace in PACES]
    spoilt["lazy"] = [{"faster": pace} for pace in PACES]
    check("initialization", build, spoilt)


def test_one_scale_is_judged_at_the_end_at_which_it_stands():
    (cell, *_) = build().cells()
    claims = verdicts("initialization", replace(cell, cell={}))
    assert {"trained", "zero-shot", "shared", "stage-like", "stage-times"} <= set(claims)
    assert not {"no-zero-shot", "distinct", "exponential", "zero-shot-limit"} & set(claims)


def test_step_goes_with_the_inverse_cube_root_of_the_scale():
    first, eight = (Parameters(init_scale=scale).rate for scale in (1.0, 8.0))
    assert first == 0.048
    assert eight == pytest.approx(0.024)


def test_curve_is_compared_until_one_percent_is_left_for_good():
    loss = np.array([10.0, 5.0, 0.05, 3.0, 0.09, 0.01, 0.001])
    assert falling(loss).tolist() == loss[:5].tolist()
    assert falling(np.array([1.0, 1e-9, 1e-9])).size == 2
    later = np.append(loss, [np.nan] * 3)
    assert deviation_while_falling(later, np.append(loss + 1, [9] * 3)) == pytest.approx(0.1)
    assert np.isnan(deviation_while_falling(np.array([1.0, np.inf]), np.ones(2)))
