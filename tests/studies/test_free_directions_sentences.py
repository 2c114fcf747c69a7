"""Every sentence of free directions holds on a made-up grid and fails on another."""

import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.free_directions.study import (
    SAMPLED,
    SCALES,
    SHARES,
    SOURCES,
    Parameters,
    labels,
    shown,
)

KINDS = ("drawn", "dependent", "synchronized", "deep", "deeper")
SEEDS, NETWORKS = 10, 20
P = Parameters()


def grid(
    beyond=0, sources=(5, 2, 4, 0), squares=0, left=0, gap=1e-15, power=1.0, transfer=1.0, law=1.0,
    off=1.0, fit=1e-3, counted_by=0, roots=0, least=-1, edges=-2, weights=4, decades=0.1,
):  # fmt: skip
    """Networks that are as the theory says, but for what is counted, left, lost and forgotten."""
    shape = (len(KINDS), SEEDS, NETWORKS)
    counted = np.broadcast_to(np.array(sources, float)[:, None], (*shape[:2], 4, NETWORKS)).copy()
    counted[..., 0, : NETWORKS // 2] += beyond
    ones = np.ones(shape)
    axes = {"kind": KINDS}
    # Effective parameters of networks that differ, fewer at larger scales.
    curve = (29 - 4 * np.arange(len(SCALES)))[:, None] - np.arange(NETWORKS) % 3
    shifts = {
        "effective": 0, "counted_at_scale": counted_by, "counted_by_roots": roots, "left_at_scale": least,
        "edges_at_scale": edges, "weights_at_scale": weights,
    }  # fmt: skip
    scales = {name: curve + by for name, by in shifts.items()}
    names = {name: (name, values) for name, values in labels(P).items()}
    simulation = runs(
        axes,
        SEEDS,
        {
            "parameter_count": 40 * ones,
            "counted": counted,
            "counted_by_squares": 11 * ones - squares,
            "deficit": 11 * ones,
            "parameters_left": (29 + left) * ones,
            "sparsified_gap": gap * ones,
        }
        | scales,
        labels={"free_source": ("free_source", list(SOURCES))},
    )
    share = np.array(SHARES)[:, None] * np.ones((SEEDS, 1, NETWORKS))
    near = runs(
        {},
        SEEDS,
        {
            "disagreement": share,
            "mixing_loss": share**power,
            "transfer": share,
            "transfer_loss": transfer * share,
        },
        labels={"flipped_share": names["flipped_share"]},
    )
    update = shown(P)
    forgotten = (1 - P.learning_rate * P.weight_decay) ** (law * update)
    null = np.stack([np.ones(len(update)), forgotten]) * np.ones((SEEDS, 1, 1))
    trained = runs(
        {},
        SEEDS,
        {
            "null_weight": null,
            "off_distribution": null ** (2 * off),
            "fit": np.maximum(null * 0, fit) * np.ones((SEEDS, 2, len(update))),
        },
        labels={"decayed": names["decayed"], "update": names["update"]},
    )
    smooth = 18.0 - 2 * np.arange(len(SCALES))[:, None] * np.ones((SEEDS, 1, 4))
    sampled = 18.0 - 2 * (np.log10(SAMPLED / SCALES[0]) + decades)[:, None] * np.ones((SEEDS, 1, 4))
    chains = runs(
        {},
        SEEDS,
        {"smooth": smooth, "sampled": sampled},
        labels={name: names[name] for name in ("noise_scale", "sampled_scale")},
    )
    variants = {"approximate": near, "decay": trained, "sampled": chains}
    return Grid(P, axes, SEEDS, simulation=simulation, variants=variants)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "accounted": lambda: grid(beyond=-1),
        "accounted.corrected": lambda: grid(sources=(5, 2, 3, 0)),
        "counted-is-free": lambda: grid(beyond=1),
        "squares": lambda: grid(squares=1),
        "squares.corrected": lambda: grid(beyond=-1),
        "sparse": lambda: grid(left=3),
        "old-gates": lambda: grid(gap=1e-5),
        "by-roots": lambda: grid(roots=-5),
        "by-roots.corrected": lambda: grid(counted_by=5),
        "enough": lambda: grid(left=1),
        "needed": lambda: grid(left=-1),
        "enough-at-scale": lambda: grid(least=1),
        "enough-at-scale.corrected": lambda: grid(edges=1),
        "needed-at-scale": lambda: grid(least=-5),
        "edges-needed-at-scale": lambda: grid(edges=-5),
        "weights-at-scale": lambda: grid(weights=-1),
        "by-volume": lambda: grid(decades=1.5),
        "rise-power": lambda: grid(power=0.7),
        "transfer-size": lambda: grid(transfer=0.9),
        "forgotten": lambda: grid(law=1.001),
        "off-data": lambda: grid(off=0.7),
        "fitted": lambda: grid(fit=0.1),
    }
    good = dict.fromkeys(spoilt, grid)
    good["accounted.corrected"] = lambda: grid(sources=(5, 2, 3, 1))
    check("free-directions", good, spoilt)
