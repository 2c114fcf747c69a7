"""Networks made elsewhere, read exactly; files that cannot be used, refused in a line."""

import json
import pickle
import struct

import jax
import jax.numpy as jnp
import numpy as np
import planted
import pytest

from foretrain.degeneracy import adapters
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.grams import jacobian
from foretrain.degeneracy.network import is_perceptron, restricted, with_params
from foretrain.degeneracy.transformer import of_arrays, pairs
from foretrain.errors import ArgumentError
from foretrain.networks import transformer


@pytest.mark.slow
def test_equinox_perceptrons_and_sequences():
    import equinox as eqx

    key = jax.random.key(0)
    x = planted.data(5, 3).astype(np.float32)
    sequence = eqx.nn.Sequential(
        [
            eqx.nn.Linear(3, 4, key=key), eqx.nn.Lambda(lambda p: jnp.where(p > 0, p, 0.3 * p)),
            eqx.nn.Sequential([eqx.nn.Identity(), eqx.nn.Linear(4, 2, use_bias=False, key=key)]),
        ]
    )  # fmt: skip
    mlp = eqx.nn.MLP(3, 2, 4, 2, activation=jax.nn.gelu, key=key)
    for model, names in (
        (sequence, ["leaky_relu:0.3", "identity"]),
        (mlp, ["gelu_tanh", "gelu_tanh", "identity"]),
    ):
        found = adapters.of_equinox(model)
        assert [s.activation for s in found.sections] == names
        exact = np.stack([model(row) for row in x])
        np.testing.assert_allclose(evaluated(found, x)[0][-1], exact, atol=1e-6)
    with pytest.raises(ArgumentError, match="holds Dropout"):
        adapters.of_equinox(eqx.nn.Sequential([eqx.nn.Dropout()]))
    with pytest.raises(ArgumentError, match="be an equinox"):
        adapters.of_equinox(3)
    with pytest.raises(ArgumentError, match="nonlinearity that is known"):
        adapters.named(np.sin)


def test_steps_that_do_not_make_a_perceptron_are_refused():
    pair = np.ones((2, 2)), None
    with pytest.raises(ArgumentError, match="begin with a linear"):
        adapters._stepped(["relu", pair])
    with pytest.raises(ArgumentError, match="has relu and tanh"):
        adapters._stepped([pair, "relu", "tanh"])


@pytest.mark.torch
def test_torch_sequences_to_float32():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    nn = torch.nn
    torch.manual_seed(0)
    kinds = [nn.ReLU(), nn.LeakyReLU(0.2), nn.GELU(), nn.GELU("tanh"), nn.Tanh(), nn.Identity()]
    layers = [layer for kind in kinds for layer in (nn.Linear(4, 4), kind)]
    model = nn.Sequential(*layers[:4], nn.Sequential(*layers[4:]), nn.Linear(4, 2, bias=False))
    x = planted.data(20, 4).astype(np.float32)
    exact = model(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(evaluated(adapters.of_torch(model), x)[0][-1], exact, atol=1e-6)
    with pytest.raises(ArgumentError, match="holds Conv1d"):
        adapters.of_torch(nn.Sequential(nn.Conv1d(1, 1, 1)))


def test_files_of_arrays(tmp_path):
    from safetensors.numpy import save_file

    one = planted.drawn((2, 3, 3, 1), bias=True)
    names = ("net.2", "net.10", "net.9.out")  # by number, not by letter
    order = ("net.2", "net.9.out", "net.10")
    arrays = {
        f"{name}.{leaf}": one.params[at][leaf].astype(np.float32)
        for at, name in enumerate(order)
        for leaf in ("weight", "bias")
    }
    assert set(names) == set(order)
    save_file(arrays, tmp_path / "m.safetensors")
    np.savez(tmp_path / "m.npz", **arrays)
    x = planted.data(4, 2)
    for file in ("m.safetensors", "m.npz"):
        found = adapters.load(tmp_path / file, "tanh")
        assert is_perceptron(found)
        with_names = adapters.of_arrays(arrays, "tanh")
        np.testing.assert_array_equal(evaluated(found, x)[0][-1], evaluated(with_names, x)[0][-1])
        assert found.params[2]["weight"].shape == (1, 3)


def test_files_that_cannot_be_used_are_refused_in_a_line(tmp_path):
    def refused(name, says, content=b""):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ArgumentError, match=says) as caught:
            adapters.load(tmp_path / name)
        assert "\n" not in str(caught.value)

    for name in ("m.pt", "m.pth", "m.pkl"):
        refused(name, r"pickle, which runs code .*safetensors\.torch\.save_file", pickle.dumps(1))
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    refused("o.npz", "pickled objects", (tmp_path / "objects.npz").read_bytes())
    refused("broken.npz", "whole .npz", b"PK no")
    refused("broken.safetensors", "whole safetensors", b"12")
    for dtype, each in (("BF16", 2), ("F8_E4M3", 1)):
        tensor = {"dtype": dtype, "shape": [2, 3], "data_offsets": [0, 6 * each]}
        head = json.dumps({"a.weight": tensor}).encode()
        content = struct.pack("<Q", len(head)) + head + bytes(6 * each)
        refused("t.safetensors", r"float32 or float64.*tensor\.float", content)
    refused("model.onnx", r"be a \.safetensors or \.npz")
    with pytest.raises(ArgumentError, match="is not there"):
        adapters.load(tmp_path / "absent.safetensors")
    for arrays, says in (
        ({"a.weight": np.ones((2, 3)), "b.weight": np.ones((2, 3))}, "order a, b"),
        ({"a.weight": np.full((2, 3), np.nan)}, "finite"),
        ({"a.weight": np.ones((2, 3)), "norm.scale": np.ones(2)}, "has `norm.scale`"),
        ({}, "no weight"),
    ):
        with pytest.raises(ArgumentError, match=says):
            adapters.of_arrays(arrays)


@pytest.mark.slow
def test_the_transformer_and_the_freedom_of_its_heads():
    """Only the product of value and output matrices acts: d_head^2 free directions for its one head."""
    random = np.random.default_rng(0)
    dim, symbols = 4, 6
    weights = transformer.draw(random, dim, 5, 1, 8)
    embedding = random.normal(size=(symbols, dim))
    found, x = of_arrays(weights._asdict() | {"embedding": embedding}), pairs(symbols)
    with jax.enable_x64(True):
        exact = transformer.logits(weights, embedding)
    np.testing.assert_allclose(
        evaluated(found, x)[0][-1].reshape(symbols, symbols, 8), exact, atol=1e-12
    )
    # Of the Jacobian the columns of values, (dim, the last third of `inward`), and of `outward`.
    start, rebuilt = restricted(found)
    place = rebuilt(np.arange(start.size, dtype=np.float32))[1]
    columns = np.concatenate(
        [np.asarray(place["inward"])[:, 2 * dim :].ravel(), np.asarray(place["outward"]).ravel()]
    ).astype(int)
    scaled = with_params(found, [dict(p) for p in found.params])
    part = jacobian(scaled, x)[:, columns]
    values = np.linalg.svd(part, compute_uv=False)
    assert 2 * dim**2 - (values > 1e-8 * values[0]).sum() >= dim**2
