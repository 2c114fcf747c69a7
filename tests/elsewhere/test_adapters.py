"""Networks made elsewhere, read exactly; files that cannot be used, refused in a line."""

import io
import json
import pickle
import struct

import jax
import jax.numpy as jnp
import numpy as np
import planted
import pytest

from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.network import is_perceptron
from foretrain.elsewhere import adapters
from foretrain.errors import ArgumentError, StoreError
from foretrain.tasks.array_files import read_npy


def test_equinox_perceptrons_and_sequences_have_their_layers():
    import equinox as eqx

    key = jax.random.key(0)
    x = planted.data(5, 3).astype(np.float32)
    sequence = eqx.nn.Sequential(
        [
            eqx.nn.Linear(3, 4, key=key), eqx.nn.Lambda(lambda p: jnp.where(p > 0, p, 0.3 * p)), eqx.nn.LayerNorm(4),
            eqx.nn.Sequential([eqx.nn.Dropout(), eqx.nn.Linear(4, 2, use_bias=False, key=key)]), eqx.nn.Lambda(jnp.sin),
        ]
    )  # fmt: skip
    mlp = eqx.nn.MLP(3, 2, 4, 2, activation=jax.nn.gelu, key=key)
    for model, names in (
        (sequence, ["leaky_relu:0.3", None, "identity", None]),
        (mlp, ["gelu_tanh", "gelu_tanh", "identity"]),
    ):
        network = adapters.chain_of_equinox(model, 3)
        assert [s.activation for s in network.sections] == names
        model = eqx.nn.inference_mode(model)
        exact = np.stack([model(row) for row in x])
        np.testing.assert_allclose(evaluated(network, x)[0][-1], exact, atol=1e-6)
    with pytest.raises(ArgumentError, match="give vectors, but Lambda does not"):
        adapters.chain_of_equinox(eqx.nn.Sequential([eqx.nn.Lambda(jnp.sum)]), 3)
    with pytest.raises(ArgumentError, match="be an equinox"):
        adapters.chain_of_equinox(eqx.nn.LayerNorm(3), 3)


def test_files_of_arrays(tmp_path):
    from safetensors.numpy import save_file

    item = planted.drawn((2, 3, 3, 1), bias=True)
    order = ("net.2", "net.9.out", "net.10")  # by number, not by letter
    arrays = {
        f"{name}.{leaf}": item.params[at][leaf].astype(np.float32)
        for at, name in enumerate(order)
        for leaf in ("weight", "bias")
    }
    save_file(arrays, tmp_path / "m.safetensors")
    np.savez(tmp_path / "m.npz", **arrays)
    x = planted.data(4, 2)
    for file in ("m.safetensors", "m.npz"):
        network = adapters.of_arrays(adapters.read_arrays(tmp_path / file), "tanh")
        assert is_perceptron(network)
        with_names = adapters.of_arrays(arrays, "tanh")
        np.testing.assert_array_equal(evaluated(network, x)[0][-1], evaluated(with_names, x)[0][-1])
        assert network.params[2]["weight"].shape == (1, 3)


def tensors(kind, raw):
    """A safetensors file of one weight (2, 3)."""
    tensor = {"dtype": kind, "shape": [2, 3], "data_offsets": [0, len(raw)]}
    head = json.dumps({"a.weight": tensor}).encode()
    return struct.pack("<Q", len(head)) + head + raw


def test_half_precisions_are_read_to_the_bit(tmp_path):
    exact = np.array([[0.0, -1.5, 3.0], [2.0**-126, 1.0078125, -256.0]], np.float32)
    path = tmp_path / "m.safetensors"
    path.write_bytes(tensors("BF16", (exact.view("<u4") >> 16).astype("<u2").tobytes()))
    np.testing.assert_array_equal(adapters.read_arrays(path)["a.weight"], exact)
    path.write_bytes(tensors("F16", exact.astype("<f2").tobytes()))
    network = adapters.read_arrays(path)["a.weight"]
    assert network.dtype == np.float32
    np.testing.assert_array_equal(network, exact.astype(np.float16))


def shaped(**shapes):
    return {f"{name}.weight": np.ones(shape) for name, shape in shapes.items()}


def test_layers_are_in_the_one_order_in_which_they_chain():
    """Names alone would read `inp, body, head` as body, head, inp."""
    layers = shaped(body=(4, 4), head=(2, 4), inp=(4, 3))
    assert adapters.order_of(layers) == ["inp", "body", "head"]
    numbered = {f"l{at}": (3, 3) for at in (10, 9, 2)}
    assert adapters.order_of(shaped(**numbered)) == ["l2", "l9", "l10"]
    square = shaped(inp=(3, 3), body=(3, 3), head=(2, 3))
    with pytest.raises(ArgumentError, match=r"body, inp, head fit as .* --layers body inp head"):
        adapters.order_of(square)
    assert adapters.order_of(square, ["inp", "body", "head"]) == ["inp", "body", "head"]
    with pytest.raises(ArgumentError, match="`layers` must name each of body, head, inp once"):
        adapters.order_of(square, ["inp", "head"])
    with pytest.raises(ArgumentError, match=r"a0 3 x 4, a1 4 x 2.*\(in, out\): store their tr"):
        adapters.order_of(shaped(a0=(3, 4), a1=(4, 2)))


def corrupted(whole, random):
    """One byte another, some cut out, or some written over: in the head half of the time."""
    raw = bytearray(whole)
    at = int(random.integers(len(raw) if random.random() < 0.5 else min(120, len(raw))))
    kind = random.integers(3)
    if kind == 0:
        raw[at] ^= int(random.integers(1, 256))
    elif kind == 1:
        del raw[at : at + int(random.integers(1, 9))]
    else:
        raw[at : at + 4] = random.bytes(int(random.integers(1, 9)))
    return bytes(raw)


@pytest.mark.parametrize("cases", [150, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ending", ["npz", "npy", "safetensors"])
def test_a_corrupted_file_is_read_or_refused_in_a_line(tmp_path, ending, cases):
    """Never another error, nor memory that a false header claims."""
    from safetensors.numpy import save

    arrays = {"a.weight": np.ones((3, 2), np.float32), "a.bias": np.zeros(3, np.float32)}
    stream = io.BytesIO()
    if ending == "safetensors":
        stream.write(save(arrays))
    elif ending == "npz":
        np.savez(stream, **arrays)
    else:
        np.save(stream, arrays["a.weight"])
    random, path = np.random.default_rng(0), tmp_path / f"m.{ending}"
    refused = []
    for _ in range(cases):
        path.write_bytes(corrupted(stream.getvalue(), random))
        try:
            read_npy(path) if ending == "npy" else adapters.of_arrays(adapters.read_arrays(path))
        except (ArgumentError, StoreError) as error:
            refused.append(str(error))
    assert len(refused) > cases / 4
    assert not any("\n" in line for line in refused)


def test_files_that_cannot_be_used_are_refused_in_a_line(tmp_path):
    def refused(name, says, content=b""):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ArgumentError, match=says) as caught:
            adapters.of_arrays(adapters.read_arrays(tmp_path / name))
        assert "\n" not in str(caught.value)

    for name in ("m.pt", "m.pth", "m.pkl"):
        refused(name, r"pickle, which runs code .*safetensors\.torch\.save_file", pickle.dumps(1))
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    refused("o.npz", "pickled objects", (tmp_path / "objects.npz").read_bytes())
    refused("broken.npz", "whole .npz", b"PK no")
    refused("broken.safetensors", "whole safetensors", b"12")
    refused("t.safetensors", r"32 or 64 bits.*tensor\.float", tensors("F8_E4M3", bytes(6)))
    refused("model.onnx", r"be a \.safetensors or \.npz")
    with pytest.raises(ArgumentError, match="is not there"):
        adapters.read_arrays(tmp_path / "absent.safetensors")
    for arrays, says in (
        ({"a.weight": np.ones((2, 3)), "b.weight": np.ones((2, 3))}, "a 2 x 3, b 2 x 3"),
        ({"a.weight": np.ones((2, 3)), "norm.weight": np.ones(2)}, r"norm.*model\.py:name"),
        ({"a.weight": np.full((2, 3), np.nan)}, "finite"),
        ({"a.weight": np.ones((2, 3)), "norm.scale": np.ones(2)}, r"has `norm.scale`.*py:name"),
        ({}, "no weight"),
    ):
        with pytest.raises(ArgumentError, match=says):
            adapters.of_arrays(arrays)
