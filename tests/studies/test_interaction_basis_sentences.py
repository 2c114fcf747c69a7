import numpy as np
from made_up import check, runs

from foretrain.plans.grid import Grid
from foretrain.studies.interaction_basis import study

SEEDS, AXES = 8, {"centring": ("mean", "none")}  # as in the larger preset
LABELS = {"sample_count": ("sample_count", np.array(study.SAMPLES))}


def scattered(values):
    random = np.random.default_rng(0)
    return np.asarray(values) * random.uniform(0.95, 1.05, (2, SEEDS, len(values)))


def needs(directions=(7, 7, 20, 8.5, 40), edges=(30, 27, 160, 240, 1800)):
    return {"directions_needed": scattered(directions), "edges_needed": scattered(edges)}


def grid(main=None, modular=None, gaps=(1e-14,) * 3, product=1e-15, power=-1.0):
    """Networks that need what is said, exact up to these gaps; cross edges as a power of the samples."""
    names = ("identity_gap", "importance_gap", "edge_gap")
    linear = {name: np.full((2, SEEDS), gap) for name, gap in zip(names, gaps, strict=True)}
    between = np.array(study.SAMPLES, float) ** power
    apart = {
        "cross_on_product": np.full((2, SEEDS), product),
        "cross_on_samples": scattered(between),
    }
    return Grid(
        study.Parameters(),
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, main or needs()),
        variants={
            "modular": runs(AXES, SEEDS, modular or needs()),
            "linear": runs(AXES, SEEDS, linear),
            "blocks": runs(AXES, SEEDS, apart, labels=LABELS),
        },
    )


def test_every_sentence_can_hold_and_fail():
    more_directions, more_edges = (
        {"directions": (9, 9, 20, 8, 40)},
        {"edges": (170, 27, 160, 240, 900)},
    )
    check(
        "interaction-basis",
        grid,
        {
            "identity": lambda: grid(gaps=(1e-9, 0, 0)),
            "same-importances": lambda: grid(gaps=(0, 1e-9, 0)),
            "diagonal-edges": lambda: grid(gaps=(0, 0, 1e-9)),
            "product-blocks": lambda: grid(product=1e-7),
            "sampled-blocks": lambda: grid(power=-0.5),
            "fewer-directions": lambda: grid(needs(**more_directions)),
            "fewer-edges": lambda: grid(needs(**more_edges)),
            "modular-directions": lambda: grid(modular=needs(**more_directions)),
            "modular-edges": lambda: grid(modular=needs(**more_edges)),
            "local-edges": lambda: grid(needs(edges=(27, 30, 160, 240, 1800))),
            "local-edges.corrected": lambda: grid(needs(edges=(27, 40, 160, 240, 1800))),
        },
    )
