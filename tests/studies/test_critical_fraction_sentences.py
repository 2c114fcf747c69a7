from dataclasses import replace

import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.critical_fraction import claims, study

SEEDS, SIZES = 16, (10, 16, 20, 24, 30, 40, 50)
AXES = {"training_size": SIZES}
SIZE = np.array(SIZES, float)[:, None]
RANDOM = np.random.default_rng(0)
EASE = np.exp(0.3 * RANDOM.standard_normal(SEEDS))  # of a seed, at all sizes
NOISE = np.exp(0.01 * RANDOM.standard_normal((len(SIZES), SEEDS)))
OTHER = RANDOM.permutation(EASE)


def line(direction):
    """Embeddings on a line at the second of two steps, direction of shape (seed,)."""
    place = direction[:, None, None, None] * np.arange(10.0)[:, None] * np.array([[[0.0]], [[1.0]]])
    return np.broadcast_to(place, (len(SIZES), SEEDS, 2, 10, 1))


def grid(enough=22, network=1.0, ranks=EASE, theory=1.0, theory_ranks=EASE, power=-2.0, **changed):
    """Networks that learn in the steps that theory says, from so many samples on.

    Args:
        enough: Samples from which on networks learn.
        network: What their steps are multiplied by.
        ranks: How seeds of one size differ from each other in steps of networks.
        theory: What steps of 1 / lambda_3 are multiplied by.
        theory_ranks: How seeds differ in 1 / lambda_3.
        power: Of the size, with which steps go.
        **changed: Other variables of the networks.
    """
    unique = (SIZE > 22) & np.ones(SEEDS, bool)
    steps = 600 * (SIZE / 40) ** power * ranks * NOISE
    said = 600 * (SIZE / 40) ** -2.0 * theory_ranks
    found = np.where(SIZE > enough, network * steps, np.nan)
    rate = np.where(unique, 1e3 / (600 * (SIZE / 40) ** -2.0), 0)
    direction = RANDOM.choice([-1.0, 1.0], SEEDS)
    variables = {
        "rqi_step": found,
        "train_step": np.nan_to_num(1.2 * found, nan=2000),
        "lambda_3": rate,
        "ideal_rqi": np.where(unique, 1.0, 0.5),
        "embedding": line(direction),
        **changed,
    }
    with np.errstate(divide="ignore"):
        predicted = {
            "theory_step": np.where(unique, theory * said, np.inf),
            "adam_step": 600 * (SIZE / 40) ** -2.0 * EASE,
            "flow_embedding": line(changed.pop("flow", direction)),
            "unique_probability": unique.astype(float),
        }
    variables.pop("flow", None)
    p = study.Parameters(
        symbols=variables.pop("symbols", 10), operation=variables.pop("operation", "addition")
    )
    step = np.array([0, 100])
    return Grid(
        p,
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, variables, step=step),
        theory=runs(AXES, SEEDS, predicted, step=step, outcome=None),
    )


def test_every_sentence_can_hold_and_fail():
    late = np.where(SIZE > 22, 1e3 * np.ones(SEEDS), np.nan)
    names = """half-unique learned-from never-below always-above rate-grows trend theory-steps theory-steps.corrected ranking
    ranking.corrected before-fit direction"""
    good = dict.fromkeys(names.split(), grid) | {"better": lambda: grid(theory_ranks=OTHER)}
    check(
        "critical-fraction",
        good,
        {
            "half-unique": lambda: grid(symbols=6),
            "learned-from": lambda: grid(enough=35),
            "never-below": lambda: grid(enough=18),
            "always-above": lambda: grid(enough=35),
            "rate-grows": lambda: grid(lambda_3=np.where(SIZE > 22, 1 / SIZE, 0) * np.ones(SEEDS)),
            "trend": lambda: grid(enough=5, power=1.0),
            "theory-steps": lambda: grid(theory=0.3),
            "theory-steps.corrected": lambda: grid(network=3.0),
            "ranking": lambda: grid(theory_ranks=1 / EASE),
            "ranking.corrected": lambda: grid(ranks=1 / EASE),
            "better": lambda: grid(ranks=OTHER, theory_ranks=OTHER),
            "before-fit": lambda: grid(train_step=0.5 * late),
            "direction": lambda: grid(flow=-np.ones(SEEDS), embedding=line(np.ones(SEEDS))),
        },
    )


def test_seeds_that_were_looked_at_are_those_of_one_root_only():
    made = grid()
    assert np.arange(SEEDS)[claims.held_out(made)].tolist() == list(range(6, 16))
    assert np.arange(SEEDS)[claims.held_out(replace(made, root_seed=1))].size == SEEDS
