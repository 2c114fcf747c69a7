"""Every sentence of degeneracy over training holds on a made-up grid and fails on another."""

import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.degeneracy_over_training.study import (
    MOMENTS,
    Parameters,
    labels,
)
from foretrain.studies.degeneracy_over_training.theory import winner_count

SYSTEMS = ("routing", "s-curve", "grokking", "selection")
SEEDS = 16
P, ONE = Parameters(), Parameters(system="s-curve")
T = np.arange(MOMENTS)
WHEN = 8 + np.arange(SEEDS)[:, None] % 5  # moment of generalisation
WINNER = np.array([winner_count(P), winner_count(ONE), 0, 0])[:, None, None]
NOISE = np.random.default_rng(0).standard_normal((SEEDS, 1))


def steps(at, wide=1.0):
    """From 0 to 1 around a moment."""
    return 1 / (1 + np.exp((at - T) / wide))


def laid(rising, grokking):
    """Of all systems, (system, seed, moment): linear ones rise by what wins, grokking is as given."""
    linear = WINNER[:2] * rising * np.ones((2, SEEDS, MOMENTS))
    return np.concatenate([linear, np.broadcast_to(grokking, (2, SEEDS, MOMENTS))])


def three(values):
    return np.repeat(values[..., None], 3, -1)


def curves(count, effective, error, **more):
    return {
        "count": count,
        "effective_parameters": three(effective),
        "unseen_error": error,
        "fit_error": (1 - steps(1, 0.1)) * np.ones(count.shape),
    } | {name: np.broadcast_to(v, count.shape) for name, v in more.items()}


def grid(
    rising=1.0, late=10, depth=100.0, drawn=0.0, rank=5.0, fewer=10.0, similar=0.8, exact=0.0, winner=0,
    separate=0, untrained=1.0, one=1.0, tied=1.0, taus=(-0.5, 0.3, 0.5, 0.6, 0.5), rectified=(0.0, 0.3, np.nan, 0.5, 0.5),
):  # fmt: skip
    """Networks that do as corrected: grokking falls from generalisation on, and by most only later."""
    fall, slow = steps(WHEN, 4), steps(WHEN + late, 4)
    after = 200 + tied * 8 * WHEN - depth * slow
    error = 1.2 - 1.2 * fall + 0.01 * np.exp(0.2 * WHEN)
    own = laid(rising * steps(WHEN, 1), after)
    own_error = np.concatenate(
        [np.broadcast_to(1 - steps(WHEN, 1), (2, SEEDS, MOMENTS)), [error] * 2]
    )
    tau = (
        np.stack([np.tile(taus, (SEEDS, 1)), np.tile(rectified, (SEEDS, 1))], 1)
        + 0.01 * NOISE[..., None]
    )
    count = laid(steps(WHEN, 1), after)
    count[:2, :, -1] = WINNER[:2, :, 0] + winner
    simulation = curves(
        count,
        own,
        own_error,
        activation_rank=24 - rank * steps(WHEN, 1),
        blocks=24 - fewer * steps(WHEN, 1),
        shared_similarity=np.concatenate(
            [np.ones((2, SEEDS, MOMENTS)) * one, [similar * steps(WHEN, 2)] * 2]
        ),
    ) | {"rank_agreement": np.broadcast_to(tau, (4, *tau.shape))}
    flat = np.ones((1, SEEDS, MOMENTS))
    apart = winner_count(P, shared=False) * flat
    laid_out = curves(
        np.concatenate([apart + separate, *[200 * flat] * 3]),
        np.concatenate([apart, *[(200 - drawn * fall)[None]] * 3]),
        np.concatenate([untrained * flat, *[2 * flat] * 3]),
        activation_rank=24,
        blocks=24,
        shared_similarity=np.array([0.0, 0.1, 0.1, 0.1])[:, None, None],
    )
    told = {"effective_parameters": three(WINNER[:2] * steps(WHEN[:1], 1)).reshape(2, MOMENTS, 3)}
    told = {name: np.concatenate([values, values]) for name, values in told.items()}
    exactly = {"effective_parameters": told["effective_parameters"][:, None] + exact}
    names = {name: (name, values) for name, values in labels(P).items()}
    moment = {name: names[name] for name in ("moment", "noise_scale")}
    axis = {"system": SYSTEMS}

    return Grid(
        P,
        axis,
        SEEDS,
        simulation=runs(axis, SEEDS, simulation, labels=names),
        variants={
            "rival": runs(axis, SEEDS, laid_out, labels=moment),
            "decoupled": runs(axis, 1, exactly, labels=moment),
        },
        theory=runs(axis, 0, told, outcome=None, labels=moment),
    )


def test_every_sentence_can_hold_and_fail():
    as_the_document_says = {
        "fastest": lambda: grid(late=0),
    }
    spoilt = {
        "falls": grid,
        "falls.corrected": lambda: grid(rising=-1.0),
        "fastest": lambda: grid(late=18),
        "fastest.corrected": lambda: grid(late=-4),
        "not-by-decay": lambda: grid(drawn=300.0),
        "rank-falls": lambda: grid(rank=0.0),
        "synchronise": lambda: grid(fewer=-10.0),
        "similar-then": lambda: grid(similar=0.0),
        "closed-form": lambda: grid(exact=1e-6),
        "rise": lambda: grid(rising=1.5),
        "winner": lambda: grid(winner=5),
        "separate-winner": lambda: grid(separate=5),
        "fewer-generalise": lambda: grid(untrained=0.0),
        "one-representation": lambda: grid(one=0.5),
        "lower-together": lambda: grid(tied=-1.0),
        "foretell": lambda: grid(tied=-1.0),
        "linear-closed-form": lambda: grid(taus=(-0.5, 0.3, 0.1, 0.6, 0.5)),
        "linear-measured": lambda: grid(taus=(-0.5, 0.3, 0.5, 0.1, 0.5)),
        "rectified-measured": lambda: grid(rectified=(0.0, 0.6, np.nan, 0.5, 0.5)),
        "rectified-not-loss": lambda: grid(rectified=(0.6, 0.3, np.nan, 0.5, 0.5)),
    }
    check("degeneracy-over-training", dict.fromkeys(spoilt, grid) | as_the_document_says, spoilt)
