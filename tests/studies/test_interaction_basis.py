from types import SimpleNamespace

import numpy as np
import pytest
from made_up import add, changed, check, grid, times, verdicts

from foretrain.degeneracy.network import forward, perceptron
from foretrain.degeneracy.transformer import pairs
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.interaction_basis import measurement, study
from foretrain.studies.interaction_basis.measurement import count_needed
from foretrain.training.ablation import all_bases

SEEDS, AXES = 8, {"centring": ("mean", "none")}  # as in the larger preset
LABELS = {
    "sample_count": ("sample_count", np.array(study.SAMPLES)),
    "moment": ("moment", np.array(study.MOMENTS)),
    "basis": ("basis", np.array(study.BASES)),
}


def test_what_is_needed_lies_between_the_counts():
    counts = np.array([1, 2, 4, 8])
    assert count_needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 2.0) == 4
    np.testing.assert_allclose(count_needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 3.0), 8 / 3)
    assert count_needed(counts, np.array([0.5, 0.4, 0.2, 0.1]), 3.0) == 1
    assert count_needed(counts, np.array([0.5, 4.0, 0.2, 0.1]), 0.4) > 2
    assert np.isnan(count_needed(counts, np.array([8.0, 4.0, 2.0, 1.0]), 0.1))


@pytest.mark.slow
def test_the_transformer_is_trained_on_its_share_of_all_pairs():
    sizes = {"modulus": 5, "embedding_dim": 8, "hidden_width": 12, "updates": 60}
    p = study.Parameters(task="transformer", learning_rate=0.03, **sizes)
    networks, x, labels, training = measurement.train_transformer(p, Seed(0, 0))
    assert len(x) == labels.size == 25
    assert training.sum() == 20
    answers = [np.asarray(forward(network, x)).argmax(-1) for network in networks]
    right = [(answer == labels)[training].mean() for answer in answers]
    assert right[-1] >= right[0] >= 0.95


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
    bases = all_bases(network, x, names=study.BASES, centre=True)
    measured = measurement.frequencies(network, x, bases, random)
    np.testing.assert_allclose(measured["frequency_share"][[0, 1, 3], 0], 1, atol=1e-8)
    assert (measured["frequency_share"][[2, 4], 0] < 0.8).all()  # any direction, or one symbol each
    assert measured["frequency_share"][4, 0] == pytest.approx(2 / (p - 1))
    assert measured["shuffled_share"][0] < 0.8
    assert set(measured["direction_frequency"][0]) == {1, 2, 3, -1}


def test_power_at_a_frequency():
    a, b = np.indices((9, 9)) * 2 * np.pi / 9
    item, mixed = np.cos(2 * a) + np.sin(2 * b) + 5, np.cos(a) * np.cos(2 * b)
    measured = measurement.powers(np.stack([item, np.cos(3 * (a + b)), mixed, 0 * a]))
    np.testing.assert_allclose(measured, [[0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4], atol=1e-12)
    assert measurement.powers(np.cos(3 * np.indices((6, 6))[:1] * np.pi / 3)).argmax() == 2


def test_modules_of_one_frequency():
    random = np.random.default_rng(0)
    best = np.array([[1, 1, 2, 2], [1, 2, 2, -1]])
    measured = measurement.agreement(np.array([[0, 0, 1, 1], [0, 1, 1, -1]]), best, random)
    assert measured == {n: 1 for n in measured}
    split = np.array([[0, 2, 1, 3], [0, 1, 3, -1]])  # two modules of each frequency
    measured = measurement.agreement(split, best, random)
    assert measured["module_purity"] == 1 > measured["module_agreement"] + 0.3
    mixed = np.array([[0, 1, 0, 1], [0, 0, 1, -1]])
    assert max(measurement.agreement(mixed, best, random).values()) < 0.3


def scattered(values):
    random = np.random.default_rng(0)
    return np.asarray(values) * random.uniform(0.95, 1.05, (2, SEEDS, len(values)))


def needs():
    return {
        "directions_needed": scattered((7, 7, 20, 8.5, 40)),
        "edges_needed": scattered((30, 27, 160, 240, 1800)),
        "fitted_accuracy": 0.95,
    }


def build():
    """Networks that need what the study says; a transformer whose directions have a frequency, 0.3 by chance."""
    power = np.array([[[0.35] * 5] * 5, [[0.95] * 5] * 2 + [[0.8] * 5] * 3])
    scatter = np.random.default_rng(1).uniform(0.97, 1.03, (2, SEEDS, 2, 5, 5))
    modules = scattered([0.8])[..., 0]
    attentive = needs() | {
        "unseen_accuracy": [0.1, 0.95],
        "frequency_share": power * scatter,
        "shuffled_share": np.full((2, 5), 0.3),
        "module_agreement": modules,
        "module_purity": modules,
    }
    between = 1 / np.array(study.SAMPLES, float)
    networks = {
        "": needs(),
        "modular": needs(),
        "transformer": attentive,
        "linear": {f"{name}_gap": 1e-14 for name in ("identity", "importance", "edge")},
        "blocks": {"cross_on_product": 1e-15, "cross_on_samples": scattered(between)},
    }
    return grid(study.Parameters(), AXES, SEEDS, networks, labels=LABELS)


def scaled(factor, basis):
    """A change of one basis by a factor."""
    return lambda v: v.where(v.basis != basis, factor * v)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "identity": ("linear/edge_gap", add(1e-9)),
        "product-blocks": ("blocks/cross_on_product", add(1e-7)),
        "sampled-blocks": ("blocks/cross_on_samples", lambda v: v**0.5),
        "fewer-directions": ("transformer/directions_needed", scaled(2, "global")),
        "fewer-edges": ("modular/edges_needed", scaled(10, "global")),
        "frequencies-at-the-end": ("transformer/frequency_share", times(0.6)),
        "frequencies-when-fitted": ("transformer/frequency_share", add(0.35)),
        "frequencies-of-this-basis": ("transformer/frequency_share", scaled(0.7, "global")),
        "modules-are-frequencies": ("transformer/module_agreement", times(0.2)),
        "modules-are-frequencies.corrected": ("transformer/module_purity", times(0.2)),
        "local-edges": ("edges_needed", scaled(2, "local")),
        "local-edges.corrected": ("edges_needed", scaled(2, "local")),
    }
    check("interaction-basis", build, spoilt, drawn=False)


@pytest.mark.parametrize(
    ("variable", "ids"),
    [
        ("fitted_accuracy", ("fewer-directions", "local-edges.corrected")),
        ("transformer/unseen_accuracy", ("frequencies-at-the-end", "modules-are-frequencies")),
    ],
)
def test_networks_that_did_not_learn_or_generalise_say_nothing(variable, ids):
    judged = verdicts("interaction-basis", changed(build(), variable, times(0.5)))
    for id in ids:
        assert {claim.verdict for claim in judged[id]} == {"inconclusive"}


@pytest.mark.parametrize("task", ["modular", "transformer", "linear", "blocks"])
def test_of_another_task_nothing_is_said_of_networks_that_are_not_there(task):
    cell = SimpleNamespace(p=study.Parameters(task=task))
    assert not any(item.where(cell) for item in catalogue.load("interaction-basis").sentences)
