from types import SimpleNamespace

import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.degeneracy.ablation import all_bases
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.transformer import pairs
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.interaction_basis import study, transformer
from foretrain.studies.interaction_basis.measurement import needed, trained

SEEDS, AXES = 8, {"centring": ("mean", "none")}  # as in the larger preset
LABELS = {
    "sample_count": ("sample_count", np.array(study.SAMPLES)),
    "moment": ("moment", np.array(study.MOMENTS)),
    "basis": ("basis", np.array(study.BASES)),
}


def test_training_follows_adamw_written_out():
    random = np.random.default_rng(0)
    x, labels = random.normal(size=(6, 3)), random.integers(0, 2, 6)
    weights, biases = [random.normal(size=s) for s in ((4, 3), (2, 4))], [np.ones(4), np.zeros(2)]
    p = study.Parameters(updates=1, batch=6, learning_rate=0.1, weight_decay=0.3)

    def loss(w):
        logits = np.maximum(x @ weights[0].T + biases[0], 0) @ w.T + biases[1]
        return (np.log(np.exp(logits).sum(1)) - logits[np.arange(6), labels]).mean()

    first = trained(np.random.default_rng(1), weights, biases, x, labels, p)
    slope = np.zeros((2, 4))
    for place in np.ndindex(2, 4):
        bump = np.zeros((2, 4))
        bump[place] = 1e-6
        slope[place] = (loss(weights[1] + bump) - loss(weights[1] - bump)) / 2e-6
    own = weights[1] - 0.1 * (slope / (np.abs(slope) + 1e-8) + 0.3 * weights[1])
    np.testing.assert_allclose(first[0][1], own, atol=1e-6)


def test_what_is_needed_lies_between_the_counts():
    counts = np.array([1, 2, 4, 8])
    assert needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 2.0) == 4
    np.testing.assert_allclose(needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 3.0), 8 / 3)
    assert needed(counts, np.array([0.5, 0.4, 0.2, 0.1]), 3.0) == 1
    assert needed(counts, np.array([0.5, 4.0, 0.2, 0.1]), 0.4) > 2
    assert np.isnan(needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 0.1))


def turned(kernel):
    """The circulant matrix (to, from) of a kernel."""
    return np.stack([np.roll(kernel, at) for at in range(len(kernel))], 1)


def test_where_all_symbols_are_treated_alike_each_direction_of_the_input_has_one_frequency():
    """Shifting both symbols shifts hidden units and outputs, so that moments, and the basis, commute with shifts."""
    random = np.random.default_rng(0)
    p = 7
    first, second = random.standard_normal((2, p))
    inward = np.concatenate([turned(first), turned(second)], 1)
    network, x = perceptron([inward, turned(random.standard_normal(p))], None, "tanh"), pairs(p)
    bases = all_bases(network, x, names=study.BASES, centre=True, few=True)
    found = transformer.frequencies(network, x, bases, random)
    np.testing.assert_allclose(found["frequency_share"][[0, 1, 3], 0], 1, atol=1e-8)
    assert (found["frequency_share"][[2, 4], 0] < 0.8).all()  # any direction, or one symbol each
    assert found["frequency_share"][4, 0] == pytest.approx(2 / (p - 1))
    assert found["shuffled_share"][0] < 0.8
    assert set(found["direction_frequency"][0]) == {1, 2, 3, -1}


def test_power_at_a_frequency():
    a, b = np.indices((9, 9)) * 2 * np.pi / 9
    some = np.stack(
        [np.cos(2 * a) + np.sin(2 * b) + 5, np.cos(3 * (a + b)), np.cos(a) * np.cos(2 * b), 0 * a]
    )
    found = transformer.powers(some)
    np.testing.assert_allclose(found, [[0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4], atol=1e-12)
    assert transformer.powers(np.cos(3 * np.indices((6, 6))[:1] * np.pi / 3)).argmax() == 2


def test_modules_of_one_frequency():
    random = np.random.default_rng(0)
    best = np.array([[1, 1, 2, 2], [1, 2, 2, -1]])
    whole = np.array([[0, 0, 1, 1], [0, 1, 1, -1]])
    found = transformer.agreement(whole, best, random)
    assert found == {n: 1 for n in found}
    split = np.array([[0, 2, 1, 3], [0, 1, 3, -1]])  # two modules of each frequency
    found = transformer.agreement(split, best, random)
    assert found["module_purity"] == 1 > found["module_agreement"] + 0.3
    mixed = np.array([[0, 1, 0, 1], [0, 0, 1, -1]])
    assert max(transformer.agreement(mixed, best, random).values()) < 0.3


@pytest.mark.slow
def test_a_seed_is_a_network_and_the_moment_when_fitted_is_before_the_end():
    p = study.Parameters(
        task="transformer",
        modulus=5,
        embedding_dim=8,
        hidden_width=8,
        updates=60,
        weight_decay=1.0,
        learning_rate=0.01,
    )
    networks, x, targets, own = transformer.trained(p, Seed(0, 1))
    again, other = (transformer.trained(p, Seed(0, n)) for n in (1, 2))
    leaf = [one[0][-1].params[0]["embedding"] for one in ((networks,), again, other)]
    np.testing.assert_array_equal(leaf[0], leaf[1])
    assert np.abs(leaf[0] - leaf[2]).max() > 0.1
    assert np.abs(networks[0].params[0]["embedding"] - leaf[0]).max() > 1e-3
    assert own.sum() == 20
    assert (targets == (x[:, :5].argmax(1) + x[:, 5:].argmax(1)) % 5).all()


def scattered(values):
    random = np.random.default_rng(0)
    return np.asarray(values) * random.uniform(0.95, 1.05, (2, SEEDS, len(values)))


def needs(directions=(7, 7, 20, 8.5, 40), edges=(30, 27, 160, 240, 1800), accuracy=0.95):
    return {
        "directions_needed": scattered(directions),
        "edges_needed": scattered(edges),
        "fitted_accuracy": np.full((2, SEEDS), accuracy),
    }


def attentive(fitted=0.35, end=0.95, others=0.8, modules=0.8, heldout=0.95, **needed):
    """A transformer that has these shares of power at one frequency, 0.3 by chance, in its own basis and in the others."""
    shares = np.array([[[fitted] * 5] * 5, [[end] * 5] * 5])
    shares[:, 2:] = np.minimum(shares[:, 2:], others)
    bent = np.random.default_rng(1).uniform(0.97, 1.03, (2, SEEDS, 2, 5, 5))
    return needs(**needed) | {
        "unseen_accuracy": np.broadcast_to([0.1, heldout], (2, SEEDS, 2)),
        "frequency_share": shares * bent,
        "shuffled_share": np.full((2, SEEDS, 2, 5), 0.3),
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
):
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
        simulation=runs(AXES, SEEDS, main or needs(), labels=LABELS),
        variants={
            "modular": runs(AXES, SEEDS, modular or needs(), labels=LABELS),
            "transformer": runs(AXES, SEEDS, transformer or attentive(), labels=LABELS),
            "linear": runs(AXES, SEEDS, linear),
            "blocks": runs(AXES, SEEDS, apart, labels=LABELS),
        },
    )


def test_every_sentence_can_hold_and_fail():
    more_directions = {"directions": (9, 9, 20, 8, 40)}
    more_edges = {"edges": (170, 27, 160, 240, 900)}
    spoilt = {
        "identity": lambda: grid(gaps=(0, 0, 1e-9)),
        "product-blocks": lambda: grid(product=1e-7),
        "sampled-blocks": lambda: grid(power=-0.5),
        "fewer-directions": lambda: grid(transformer=attentive(**more_directions)),
        "fewer-edges": lambda: grid(modular=needs(**more_edges)),
        "frequencies-at-the-end": lambda: grid(transformer=attentive(end=0.6)),
        "frequencies-when-fitted": lambda: grid(transformer=attentive(fitted=0.7)),
        "frequencies-of-this-basis": lambda: grid(transformer=attentive(end=0.8, others=0.9)),
        "modules-are-frequencies": lambda: grid(transformer=attentive(modules=0.2)),
        "modules-are-frequencies.corrected": lambda: grid(transformer=attentive(modules=0.2)),
        "local-edges": lambda: grid(needs(edges=(27, 30, 160, 240, 1800))),
        "local-edges.corrected": lambda: grid(needs(edges=(27, 40, 160, 240, 1800))),
    }
    check("interaction-basis", grid, spoilt)


@pytest.mark.parametrize(
    ("spoilt", "ids"),
    [
        (lambda: grid(needs(accuracy=0.5)), ("fewer-directions", "local-edges.corrected")),
        (
            lambda: grid(transformer=attentive(heldout=0.5)),
            ("frequencies-at-the-end", "modules-are-frequencies"),
        ),
    ],
)
def test_networks_that_did_not_learn_or_generalise_say_nothing(spoilt, ids):
    judged = verdicts("interaction-basis", spoilt())
    for id in ids:
        assert {claim.verdict for claim in judged[id]} == {"inconclusive"}


@pytest.mark.parametrize("task", ["modular", "transformer", "linear", "blocks"])
def test_of_another_task_nothing_is_said_of_networks_that_are_not_there(task):
    cell = SimpleNamespace(p=study.Parameters(task=task))
    assert not any(one.where(cell) for one in catalogue.load("interaction-basis").sentences)
