"""Runs of the toy model from arrays made elsewhere, step by step as PyTorch takes them."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from small_toy import SEED, SMALL, inputs_of

from foretrain.errors import ArgumentError, StoreError
from foretrain.networks.embedding import turned
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.training import embedding as toy


def file(tmp_path, p, **changed):
    """A start in a file, as PyTorch's layers have it; returns its arrays and parameters that read it."""
    random, shapes = np.random.default_rng(5), toy.shapes(p)
    if p.objective != "regression":
        del shapes["targets"]
    arrays = {
        name: random.standard_normal(shape[::-1] if name.startswith("weight") else shape) / 3
        for name, shape in shapes.items()
    }
    arrays |= changed
    np.savez(tmp_path / "start-1.npz", **arrays)
    return arrays, replace(p, start_file=str(tmp_path / "start-{seed}.npz"))


def test_a_start_from_a_file_is_that_of_the_file(tmp_path, monkeypatch):
    arrays, p = file(tmp_path, SMALL)
    result = toy.inputs(p, SEED)
    for name in ("embedding", "bias_2", "targets"):
        np.testing.assert_array_equal(result[name], arrays[name])
    np.testing.assert_array_equal(result["weight_3"], arrays["weight_3"].T)
    monkeypatch.setenv("FORETRAIN_DATA_DIR", str(tmp_path))
    again = toy.inputs(replace(p, start_file="start-1.npz"), SEED)
    np.testing.assert_array_equal(again["embedding"], result["embedding"])
    with pytest.raises(StoreError, match=r"start-7.npz` does not exist"):
        toy.inputs(p, Seed(0, 7))


def test_what_the_file_leaves_out_is_drawn_and_one_that_is_missing_refused(tmp_path):
    with pytest.raises(StoreError, match=r"no-0.npz` does not exist"):
        make_plan("grokking-phases", {"start_file": str(tmp_path / "no-{seed}.npz")})
    np.savez(tmp_path / "a.npz", embedding=np.ones((10, 1)))
    result = toy.inputs(replace(SMALL, start_file=str(tmp_path / "a.npz")), SEED)
    drawn = toy.inputs(SMALL, SEED)
    assert (result.pop("embedding") == 1).all()
    assert all((result[name] == drawn[name]).all() for name in result)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"embeddings": np.zeros(3)}, "`start_file` must hold arrays among bias_1, .*`embeddings`"),
        ({"weight_1": np.zeros((1, 12))}, r"`weight_1` must have shape \(12, 1\), but has .*1, 12"),
        ({"bias_1": np.full(12, np.nan)}, "`bias_1` must hold finite numbers"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path, changed, match):
    with pytest.raises(ArgumentError, match=match):
        toy.inputs(file(tmp_path, SMALL, **changed)[1], SEED)


@pytest.mark.torch
@pytest.mark.parametrize(
    "changed",
    [
        {"decoder_decay": 0.5, "embedding_decay": 0.1},
        {"objective": "classification", "embedding_dim": 3},
        {"operation": "symmetric", "symbols": 6, "embedding_dim": 3, "training_size": 24},
    ],
)
def test_pytorch_takes_the_same_hundred_steps_from_the_same_arrays(changed, tmp_path, x64):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    p = replace(SMALL, hidden_width=20, decoder_learning_rate=1e-2, **changed)
    arrays, p = file(tmp_path, p)
    inputs, program, task = inputs_of(p), toy.program(p), toy.operation(p)
    training = np.asarray(inputs["training"]) > 0
    pairs, label = torch.tensor(task.samples[training]), torch.tensor(task.labels[training])
    embedding = torch.nn.Parameter(torch.tensor(arrays["embedding"]))
    layers = []
    for number in (1, 2, 3):
        weight, bias = (torch.tensor(arrays[f"{name}_{number}"]) for name in ("weight", "bias"))
        layers.append(torch.nn.Linear(*weight.shape[::-1]).double())
        layers[-1].weight.data, layers[-1].bias.data = weight, bias
    tanh = torch.nn.Tanh()
    decoder = torch.nn.Sequential(layers[0], tanh, layers[1], tanh, layers[2])
    parts = {"embedding": [embedding], "decoder": decoder.parameters()}
    rates = ((getattr(p, f"{n}_learning_rate"), getattr(p, f"{n}_decay")) for n in parts)
    groups = zip(parts.values(), rates, strict=True)
    rule = torch.optim.AdamW([{"params": w, "lr": r, "weight_decay": d} for w, (r, d) in groups])

    def torch_loss():
        first, second = embedding[pairs[:, 0]], embedding[pairs[:, 1]]
        if task.commutative:
            joined = first + second
        else:
            joined = (first.reshape(-1, 3, 3) @ second.reshape(-1, 3, 3)).reshape(-1, 9)
        if p.objective == "classification":
            return torch.nn.functional.cross_entropy(decoder(joined), label)
        return torch.nn.functional.mse_loss(decoder(joined), torch.tensor(arrays["targets"])[label])

    step, observe, state = jax.jit(program.step), jax.jit(program.observe), program.init(inputs)
    for _ in range(100):
        value = torch_loss()
        assert float(observe(inputs, state)["loss"]) == pytest.approx(value.item(), rel=1e-8)
        rule.zero_grad()
        value.backward()
        rule.step()
        state = step(inputs, state)
    theirs = [layer for layer in decoder if hasattr(layer, "bias")]
    theirs = [embedding, *(part for layer in theirs for part in (layer.weight.T, layer.bias))]
    for own, other in zip([state.embedding, *turned(state.decoder)], theirs, strict=True):
        np.testing.assert_allclose(own, other.detach().numpy(), rtol=0, atol=1e-8)
    assert np.abs(state.embedding - arrays["embedding"]).max() > 0.01
