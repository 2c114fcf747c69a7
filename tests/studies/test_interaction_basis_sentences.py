from types import SimpleNamespace

import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.interaction_basis import study

SEEDS, AXES = 8, {"centring": ("mean", "none")}  # as in the larger preset
LABELS = {
    "sample_count": ("sample_count", np.array(study.SAMPLES)),
    "joint": ("joint", np.array(study.JOINTS)),
    "moment": ("moment", np.array(study.MOMENTS)),
    "basis": ("basis", np.array(study.BASES)),
}


def scattered(values):
    random = np.random.default_rng(0)
    return np.asarray(values) * random.uniform(0.95, 1.05, (2, SEEDS, len(values)))


def needs(directions=(7, 7, 20, 8.5, 40), edges=(30, 27, 160, 240, 1800), accuracy=0.95):
    return {
        "directions_needed": scattered(directions),
        "edges_needed": scattered(edges),
        "fitted_accuracy": np.full((2, SEEDS), accuracy),
    }


def attentive(fitted=0.35, end=0.95, others=0.8, same=0.9, modules=0.8, heldout=0.95, **needed):
    """A transformer that has these shares of power at one frequency, 0.3 by chance, in its own basis and in the others."""
    shares = np.array([[[fitted] * 5] * 5, [[end] * 5] * 5])
    shares[:, 2:] = np.minimum(shares[:, 2:], others)
    bent = np.random.default_rng(1).uniform(0.97, 1.03, (2, SEEDS, 2, 5, 5))
    return needs(**needed) | {
        "unseen_accuracy": np.broadcast_to([0.1, heldout], (2, SEEDS, 2)),
        "frequency_share": shares * bent,
        "shuffled_share": np.full((2, SEEDS, 2, 5), 0.3),
        "same_frequency": scattered([same])[..., 0],
        "same_by_chance": np.full((2, SEEDS), 0.4),
        "module_agreement": scattered([modules])[..., 0],
        "module_purity": scattered([modules])[..., 0],
    }


def grid(
    main=None,
    modular=None,
    transformer=None,
    gaps=(1e-14,) * 3,
    product=1e-15,
    power=-1.0,
    joined=2.0,
):
    """Networks that need what is said, exact up to these gaps; cross edges as a power of the samples."""
    names = ("identity_gap", "importance_gap", "edge_gap")
    linear = {name: np.full((2, SEEDS), gap) for name, gap in zip(names, gaps, strict=True)}
    between = np.array(study.SAMPLES, float) ** power
    apart = {
        "cross_on_product": np.full((2, SEEDS), product),
        "cross_on_joined": scattered(np.array(study.JOINTS) ** joined),
        "cross_on_samples": scattered(between),
    }
    return Grid(
        study.Parameters(),
        AXES,
        SEEDS,
        simulation=runs(AXES, SEEDS, main or needs(), labels=LABELS),
        variants={
            "modular": runs(AXES, SEEDS, modular or needs(), labels=LABELS),
            "transformer": runs(AXES, SEEDS, transformer or attentive(), labels=LABELS),
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
            "identity": lambda: grid(gaps=(0, 1e-9, 0)),
            "diagonal-edges": lambda: grid(gaps=(0, 0, 1e-9)),
            "product-blocks": lambda: grid(product=1e-7),
            "joined-blocks": lambda: grid(joined=1.0),
            "sampled-blocks": lambda: grid(power=-0.5),
            "fewer-directions": lambda: grid(needs(**more_directions)),
            "fewer-edges": lambda: grid(needs(**more_edges)),
            "modular-directions": lambda: grid(modular=needs(**more_directions)),
            "modular-edges": lambda: grid(modular=needs(**more_edges)),
            "transformer-directions": lambda: grid(transformer=attentive(**more_directions)),
            "transformer-edges": lambda: grid(transformer=attentive(**more_edges)),
            "frequencies-at-the-end": lambda: grid(transformer=attentive(end=0.6)),
            "frequencies-when-fitted": lambda: grid(transformer=attentive(fitted=0.7)),
            "frequencies-of-this-basis": lambda: grid(transformer=attentive(end=0.8, others=0.9)),
            "edges-within-frequencies": lambda: grid(transformer=attentive(same=0.6)),
            "modules-are-frequencies": lambda: grid(transformer=attentive(modules=0.2)),
            "modules-are-frequencies.corrected": lambda: grid(transformer=attentive(modules=0.2)),
            "local-edges": lambda: grid(needs(edges=(27, 30, 160, 240, 1800))),
            "local-edges.corrected": lambda: grid(needs(edges=(27, 40, 160, 240, 1800))),
        },
    )


def test_networks_that_did_not_learn_say_nothing_of_sparsity():
    found = verdicts("interaction-basis", grid(needs(accuracy=0.5)))
    for id in ("fewer-directions", "local-edges.corrected"):
        assert {claim.verdict for claim in found[id]} == {"inconclusive"}


def test_networks_that_did_not_generalise_say_nothing_of_frequencies():
    found = verdicts("interaction-basis", grid(transformer=attentive(heldout=0.5)))
    for id in ("frequencies-at-the-end", "modules-are-frequencies"):
        assert {claim.verdict for claim in found[id]} == {"inconclusive"}


@pytest.mark.parametrize("task", ["modular", "transformer", "linear", "blocks"])
def test_of_another_task_nothing_is_said_of_networks_that_are_not_there(task):
    cell = SimpleNamespace(p=study.Parameters(task=task))
    assert not any(one.where(cell) for one in catalogue.load("interaction-basis").sentences)
