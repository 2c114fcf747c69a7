import dataclasses

import numpy as np
import pytest

import foretrain
from foretrain.degeneracy.ablation import all_bases
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.transformer import pairs
from foretrain.streams import Seed
from foretrain.studies.interaction_basis import study, transformer
from foretrain.studies.interaction_basis.measurement import needed, trained


@pytest.mark.slow
def test_a_small_run_is_judged_and_drawn(tmp_path):
    small = {"hidden_width": 12, "embedding_dim": 8, "updates": 60, "modulus": 5}
    result = foretrain.run(
        "interaction-basis", **small, seeds=2, out=tmp_path / "a", quiet=True, workers=1
    )
    verdicts = {claim.id: claim.verdict for claim in result.claims}
    exact = ("identity", "diagonal-edges", "product-blocks")
    assert {verdicts[name] for name in exact} == {"holds"}
    whole = result.simulation["direction_loss"].isel(kept=-1)
    assert np.abs(whole).max() < 1e-12
    assert (result.simulation["edge_loss"].isel(kept_edges=0) > 1e-3).all()
    assert (tmp_path / "a" / "report.html").exists()
    assert {"curves", "graph", "transformer", "frequencies"} <= {
        path.stem for path in (tmp_path / "a").rglob("*.svg")
    }


def test_training_follows_adamw_written_out():
    random = np.random.default_rng(0)
    x, labels = random.normal(size=(6, 3)), random.integers(0, 2, 6)
    weights, biases = [random.normal(size=s) for s in ((4, 3), (2, 4))], [np.ones(4), np.zeros(2)]
    p = study.Parameters(updates=2, batch=6, learning_rate=0.1, weight_decay=0.3)
    found = trained(np.random.default_rng(1), weights, biases, x, labels, p)

    def loss(w):
        logits = np.maximum(x @ weights[0].T + biases[0], 0) @ w.T + biases[1]
        return (np.log(np.exp(logits).sum(1)) - logits[np.arange(6), labels]).mean()

    first = trained(
        np.random.default_rng(1), weights, biases, x, labels, dataclasses.replace(p, updates=1)
    )
    slope = np.zeros((2, 4))
    for place in np.ndindex(2, 4):
        bump = np.zeros((2, 4))
        bump[place] = 1e-6
        slope[place] = (loss(weights[1] + bump) - loss(weights[1] - bump)) / 2e-6
    own = weights[1] - 0.1 * (slope / (np.abs(slope) + 1e-8) + 0.3 * weights[1])
    np.testing.assert_allclose(first[0][1], own, atol=1e-6)
    assert np.abs(found[0][1] - first[0][1]).max() > 1e-3


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


def test_modules_and_edges_of_one_frequency():
    random = np.random.default_rng(0)
    best = np.array([[1, 1, 2, 2], [1, 2, 2, -1]])
    strengths = np.zeros((1, 4, 4))
    strengths[0, 0, 0] = strengths[0, 1, 2] = 1
    modules = np.array([[0, 0, 1, 1], [0, 1, 1, -1]])
    found = transformer.agreement(strengths, modules, best, random)
    assert found == {n: 1 for n in found} | {"same_by_chance": 0.5}
    split = np.array([[0, 2, 1, 3], [0, 1, 3, -1]])  # two modules of each frequency
    found = transformer.agreement(strengths, split, best, random)
    assert found["module_purity"] == 1 > found["module_agreement"] + 0.3
    strengths[0, 0, 2] = strengths[0, 1, 0] = 1
    mixed = np.array([[0, 1, 0, 1], [0, 0, 1, -1]])
    found = transformer.agreement(strengths, mixed, best, random)
    assert found["same_frequency"] == 0.5
    assert max(found["module_agreement"], found["module_purity"]) < 0.3


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
