from dataclasses import replace

import numpy as np
from made_up import check, runs, verdicts

from foretrain.plans.grid import Grid
from foretrain.studies.modules import entangled, study

SEEDS = 8
AXES = {"strength": (0.01, 0.0003, 0.003, 0.03, 0.1, 1.0), "mediators": (2, 1, 4)}
W = np.array(AXES["strength"])[:, None, None]
M = np.array(AXES["mediators"])[None, :, None]
SHAPE = (6, 3, SEEDS)
EPS = study.Parameters().cutoff
SECANT, STEP = np.clip(1 - 2 * np.log(W) / np.log(EPS), 0, 1), (W**2 > EPS) * 1.0


def counts(excess, each=1, apart=0, seeds=SEEDS):
    shape, random = (6, 3, seeds), np.random.default_rng(0)
    free = random.integers(40, 50, shape)
    second = random.integers(40, 50, shape)
    constrained = free + each * M
    return {
        "apart_sum": free + second,
        "apart_together": free + second - apart,
        "unconstrained": free,
        "constrained": constrained,
        "second": second,
        "together": constrained + second - excess,
    }


def equal(gap=1e-6, **moved):
    """Networks of equal function: coefficients as derived, but for scatter and for what is moved by kind."""
    random, shape = np.random.default_rng(2), (6, 3, SEEDS, len(study.ENTANGLED), len(study.UNITS))
    known = np.stack([entangled.limits(h) for h in study.UNITS], 1)
    idle = [name in ("idle", "idle rectified") for name in study.ENTANGLED]
    trained = (
        np.isnan(known) * (50 + np.array([name == "whole" for name in study.ENTANGLED]))[:, None]
    )
    found = np.nan_to_num(known) + trained + 0.02 * random.standard_normal(shape)[:1, :1]
    for kind, by in moved.items():
        found[..., study.ENTANGLED.index(kind), :] += by
    return {
        "sampled_parameters": found,
        "derived_parameters": known,
        "exact_rank": known - 4 * np.array(idle)[:, None],
        "function_gap": np.full(known.shape, gap),
    }


def parts(relu=2, linear=6, tanh=0, each=1, apart=0.0):
    """Constrained losses, with as much too much by activation."""
    noise = 0.02 * np.random.default_rng(3).standard_normal((1, 1, SEEDS, 3, len(study.PARTS)))
    table = [
        [20, 20 + 2 * each, 30, 50 + 2 * each - excess, 28, 48 + apart]
        for excess in (relu, linear, tanh)
    ]
    return {"constrained_parameters": table + np.broadcast_to(noise, (6, 3, SEEDS, 3, 6))}


def grid(
    excess=None, each=1, apart=0, linear=0, tanh=0, secant=1.0, derivative=STEP, more=0.0, plain=0.0,
    found=1.0, same=None, split=None,
):  # fmt: skip
    """Modules that do as corrected: an excess of one for each mediator, a step, and a search that finds them."""
    noise = 0.01 * np.random.default_rng(1).standard_normal((2, *SHAPE))
    one = secant * SECANT + noise[0]
    other = SECANT + noise[1]
    more_of_them = {
        "secant_cost": one,
        "other_cost": other,
        "pair_cost": one + other + 0.03 + more,
        "derivative_cost": derivative + noise[0],
        "secant_law": SECANT + 0 * noise[0],
        "derivative_law": STEP + 0 * noise[0],
        "search_agreement": np.broadcast_to(found * (W <= 0.05), SHAPE) - np.abs(noise[0]),
        "plain_agreement": plain + noise[1],
    }
    affine = M * (np.minimum(M, 3) + 1)
    main = counts(M if excess is None else excess, each, apart) | more_of_them
    return Grid(
        study.Parameters(),
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, main),
        variants={
            "linear": runs(AXES, 3, counts(affine - linear, seeds=3)),
            "tanh": runs(AXES, 3, counts(tanh, seeds=3)),
            "entangled": runs(AXES, SEEDS, same or equal()),
            "held": runs(AXES, SEEDS, split or parts()),
        },
    )


def test_networks_that_are_sampled_alone_are_not_judged_as_planted_ones():
    made = grid()
    for kind in ("entangled", "held"):
        assert verdicts("modules", replace(made, parameters=study.Parameters(kind=kind))) == {}


def test_every_sentence_can_hold_and_fail():
    as_corrected = grid()

    def good():
        return as_corrected

    as_the_document_says = {
        "constrained-sum": lambda: grid(excess=0),
        "logarithmic-count": lambda: grid(derivative=SECANT),
        "search": lambda: grid(plain=0.97),
        "modular-is-lower": lambda: grid(same=equal(rotated=2, once=20, whole=2)),
        "sampled-constrained-sum": lambda: grid(split=parts(relu=0)),
    }
    spoilt = {
        "additive": lambda: grid(apart=1),
        "one-each": lambda: grid(each=2),
        "constrained-sum": good,
        "constrained-sum.corrected": lambda: grid(excess=M + 1),
        "linear-sum": lambda: grid(linear=1),
        "smooth-sum": lambda: grid(tanh=1),
        "secant-slope": lambda: grid(secant=0.8),
        "logarithmic-count": good,
        "logarithmic-count.corrected": lambda: grid(derivative=SECANT),
        "strengths-add": lambda: grid(more=0.2),
        "search": good,
        "search.corrected": lambda: grid(found=0.6),
        "one-function": lambda: grid(same=equal(gap=1e-3)),
        "modular-is-lower": good,
        "modular-is-lower.corrected": lambda: grid(same=equal(rotated=2)),
        "as-derived": lambda: grid(same=equal(within=3)),
        "rotation": lambda: grid(same=equal(rotated=1)),
        "cancelling": lambda: grid(same=equal(across=0.5)),
        "cancelling-rectified": lambda: grid(same=equal(**{"across rectified": 1.5})),
        "within-as-across": lambda: grid(same=equal(within=-0.5)),
        "shared-once": lambda: grid(same=equal(once=2)),
        "beyond-rank": lambda: grid(same=equal(idle=-4)),
        "trained-apart": lambda: grid(same=equal(apart=2)),
        "trained-apart.corrected": lambda: grid(same=equal(whole=3)),
        "sampled-additive": lambda: grid(split=parts(apart=2)),
        "sampled-one-each": lambda: grid(split=parts(each=2)),
        "sampled-constrained-sum": good,
        "sampled-constrained-sum.corrected": lambda: grid(split=parts(relu=0)),
        "sampled-linear-sum": lambda: grid(split=parts(linear=2)),
        "sampled-smooth-sum": lambda: grid(split=parts(tanh=1)),
    }
    check("modules", dict.fromkeys(spoilt, good) | as_the_document_says, spoilt)
