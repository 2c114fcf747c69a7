"""Every sentence of free directions holds on a made-up grid and fails on another."""

import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.free_directions.study import SHARES, SOURCES, Parameters, labels, shown

KINDS = ("drawn", "dependent", "synchronized", "deep")
SEEDS, NETWORKS = 10, 20
P = Parameters()


def grid(beyond=0, squares=0, left=0, gap=1e-15, power=1.0, size=1.0, law=1.0, off=1e-5):
    """Networks that are as the theory says, but for what is counted, left, lost and forgotten."""
    shape = (len(KINDS), SEEDS, NETWORKS)
    counted = np.broadcast_to(np.array([5.0, 2, 4])[:, None], (*shape[:2], 3, NETWORKS)).copy()
    counted[..., 0, : NETWORKS // 2] += beyond
    ones = np.ones(shape)
    axes = {"kind": KINDS}
    names = {name: (name, values) for name, values in labels(P).items()}
    simulation = runs(
        axes,
        SEEDS,
        {
            "parameter_count": 40 * ones,
            "counted": counted,
            "counted_by_squares": 11 * ones - squares,
            "deficit": 11 * ones,
            "parameters_left": (31 - 4 + left + 2) * ones - 0.0 * counted.sum(2),
            "sparsified_gap": gap * ones,
        },
        labels={"free_source": ("free_source", list(SOURCES))},
    )
    share = np.array(SHARES)[:, None] * np.ones((SEEDS, 1, NETWORKS))
    near = runs(
        {},
        SEEDS,
        {"disagreement": share, "mixing_loss": size * share**power},
        labels={"flipped_share": names["flipped_share"]},
    )
    update = shown(P)
    forgotten = (1 - P.learning_rate * P.weight_decay) ** (law * update)
    curve = np.stack([np.ones(len(update)), forgotten]) * np.ones((SEEDS, 1, 1))
    answers = curve.copy()
    answers[:, 1, -1] = off
    trained = runs(
        {},
        SEEDS,
        {"null_weight": curve, "off_distribution": answers},
        labels={"decayed": names["decayed"], "update": names["update"]},
    )
    return Grid(
        P, axes, SEEDS, simulation=simulation, variants={"approximate": near, "decay": trained}
    )


def test_every_sentence_can_hold_and_fail():
    check(
        "free-directions",
        grid,
        {
            "accounted": lambda: grid(beyond=-1),
            "accounted-deep": lambda: grid(beyond=-1),
            "accounted-deep.corrected": lambda: grid(beyond=1),
            "squares": lambda: grid(squares=1),
            "squares.corrected": lambda: grid(beyond=-1),
            "sparse": lambda: grid(left=3),
            "old-gates": lambda: grid(gap=1e-5),
            "rise-power": lambda: grid(power=0.7),
            "rise-size": lambda: grid(size=3),
            "forgotten": lambda: grid(law=1.001),
            "off-data": lambda: grid(off=0.1),
        },
    )
