from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from made_up import check, grid, runs, survives, verdicts

from foretrain.streams import Seed
from foretrain.studies.planted_modules import chains, measurement, study

SEEDS = 8
AXES = {"strength": study.AXES["strength"], "mediators": study.AXES["mediators"]}
W, M = (np.array(AXES["strength"])[:, None, None], np.array(AXES["mediators"])[None, :, None])
EPS = study.Parameters().cutoff
SECANT, STEP = np.clip(1 - 2 * np.log(W) / np.log(EPS), 0, 1), (W**2 > EPS) * 1.0


def measured(number=0, **overrides) -> dict[str, Any]:
    return measurement.measure(study.Parameters(**overrides), Seed(0, number))


def test_counts_of_planted_modules_are_those_of_their_symmetries():
    for activation, m, excess in (("relu", 1, 1), ("identity", 2, 6), ("tanh", 2, 0)):
        result = measured(activation=activation, mediators=m)
        assert result["apart_sum"] == result["apart_together"]
        assert result["constrained"] + result["second"] - result["together"] == excess


@pytest.mark.slow
def test_a_weak_interaction_is_cut_and_volumes_follow_their_law():
    weak, strong = (measured(strength=strength, mediators=1) for strength in (3e-4, 0.03))
    assert weak["search_agreement"] == 1
    assert weak["secant_cost"] == weak["derivative_cost"] == 0
    assert abs(strong["secant_cost"] - strong["secant_law"]) < 0.01
    assert abs(strong["derivative_cost"] - 1) < 0.01
    # Two constraints hold an ellipse of a box: ln(pi/4) of volume.
    gap = strong["pair_cost"] - strong["secant_cost"] - strong["other_cost"]
    assert abs(gap - 2 * np.log(np.pi / 4) / np.log(1e-6)) < 0.01


def test_ranks_of_constrained_losses_are_those_of_what_the_second_module_can_undo():
    for activation, excess in {"relu": 2, "identity": 6, "tanh": 0}.items():
        parts = {part: measured(part=part, activation=activation) for part in study.PARTS}
        ranks = {part: result["constrained_rank"] for part, result in parts.items()}
        assert ranks["first, held"] + ranks["second"] - ranks["both"] == excess
        assert ranks["both, apart"] == ranks["first"] + ranks["second, apart"]


def test_the_constrained_loss_adds_the_mean_square_changes_of_the_mediators():
    with jax.enable_x64(True):
        bound, free = (
            chains.posterior(study.Parameters(part=part, strength=0.7), Seed(0, 0))
            for part in ("first, held", "first")
        )
        origin = bound.params
        w = origin + 0.1 * np.random.default_rng(0).standard_normal(len(origin))
        loss = [float(chains.losses(w, around.data)[0]) for around in (bound, free)]
    x = bound.data["x"][0]
    first = [np.maximum(x @ v[4:20].reshape(4, 4).T + v[:4], 0)[:, :2] for v in (w, origin)]
    moved = 0.7**2 * ((first[0] - first[1]) ** 2).sum(1).mean()
    np.testing.assert_allclose(loss[0], loss[1] + moved, rtol=1e-6)


def counts(excess, distance=0, seeds=SEEDS):
    first, second = np.random.default_rng(0).integers(40, 50, (2, 6, 3, seeds))
    whole = {"apart_sum": first + second, "apart_together": first + second - distance}
    return whole | {"constrained": first, "second": second, "together": first + second - excess}


def build(excess=M, distance=0, linear=0, tanh=0, derivative=STEP, more=0.0, plain=0.0, result=1.0):
    """Modules that do as corrected: an excess of one for each mediator, a step, and a search that finds them."""
    noise = 0.01 * np.random.default_rng(1).standard_normal((2, 6, 3, SEEDS))
    item, other = SECANT + noise[0], SECANT + noise[1]
    costs = {
        "secant_cost": item,
        "other_cost": other,
        "pair_cost": item + other + 0.03 + more,
        "derivative_cost": derivative + noise[0],
        "secant_law": SECANT + 0 * noise[0],
        "derivative_law": STEP + 0 * noise[0],
        "search_agreement": result * (W <= 0.05) - np.abs(noise[0]),
        "plain_agreement": plain + noise[1],
    }
    affine = M * (np.minimum(M, 3) + 1)
    variants = {"linear": counts(affine - linear, seeds=3), "tanh": counts(tanh, seeds=3)}
    neighbour = {name: runs(AXES, 3, values) for name, values in variants.items()}
    return grid(study.Parameters(), AXES, SEEDS, {"": counts(excess, distance) | costs} | neighbour)


def sampled(relu=2, identity=6, tanh=0, each=1, distance=0.0):
    """Effective parameters of the parts, as much too much by activation."""
    noise = 0.02 * np.random.default_rng(3).standard_normal((len(study.PARTS), 3, SEEDS))
    whole = [20, 20 + 2 * each, 30, 50 + 2 * each, 28, 48 + distance]
    table = np.subtract.outer(whole, np.zeros(3))
    table[3] -= (relu, identity, tanh)
    own = {"": counts(excess=0) | {"learning_coefficient": (table[..., None] + noise) / 2}}
    axes = {"part": tuple(study.PARTS), "activation": study.ACTIVATIONS}
    return grid(study.Parameters(part="first"), axes, SEEDS, own)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "additive": {"distance": 1},
        "constrained-sum": {},
        "constrained-sum.corrected": {"excess": M + 1},
        "linear-sum": {"linear": 1, "tanh": 1},
        "logarithmic-count": {},
        "logarithmic-count.corrected": {"derivative": SECANT},
        "strengths-add": {"more": 0.2},
        "search": {},
        "search.corrected": {"result": 0.6},
        "sampled-additive": partial(sampled, distance=2),
        "one-each": partial(sampled, each=2),
        "sampled-sum": sampled,
        "sampled-sum.corrected": partial(sampled, relu=0),
        "sampled-linear-sum": partial(sampled, tanh=1),
    }
    as_the_document_says = {
        "constrained-sum": {"excess": 0},
        "logarithmic-count": {"derivative": SECANT},
        "search": {"plain": 0.97},
        "sampled-sum": partial(sampled, relu=0),
    }
    sampled_ones = dict.fromkeys([*spoilt][-5:], sampled)
    check("planted-modules", build, spoilt, sampled_ones | as_the_document_says)
    survives("planted-modules", sampled(), True, ())
    assert verdicts("planted-modules", sampled()).keys() == sampled_ones.keys()
