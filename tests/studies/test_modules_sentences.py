import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.modules import study

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


def grid(
    excess=None, each=1, apart=0, linear=0, tanh=0, secant=1.0, derivative=STEP, more=0.0, plain=0.0,
    found=1.0,
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
        },
    )


def test_every_sentence_can_hold_and_fail():
    as_the_document_says = {
        "constrained-sum": lambda: grid(excess=0),
        "logarithmic-count": lambda: grid(derivative=SECANT),
        "search": lambda: grid(plain=0.97),
    }
    spoilt = {
        "additive": lambda: grid(apart=1),
        "one-each": lambda: grid(each=2),
        "constrained-sum": grid,
        "constrained-sum.corrected": lambda: grid(excess=M + 1),
        "linear-sum": lambda: grid(linear=1),
        "smooth-sum": lambda: grid(tanh=1),
        "secant-slope": lambda: grid(secant=0.8),
        "logarithmic-count": grid,
        "logarithmic-count.corrected": lambda: grid(derivative=SECANT),
        "strengths-add": lambda: grid(more=0.2),
        "search": grid,
        "search.corrected": lambda: grid(found=0.6),
    }
    good = dict.fromkeys(spoilt, grid) | as_the_document_says
    check("modules", good, spoilt)
