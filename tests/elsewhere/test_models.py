"""Models as the command line names them: read as they were meant, or refused with what to do."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import planted
import pytest

from foretrain.analyze.analysis import analyze
from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.function import as_function
from foretrain.degeneracy.network import Section, network_of, perceptron
from foretrain.elsewhere.models import open_model
from foretrain.errors import ArgumentError

X = planted.data(30, 4)
RANDOM = np.random.default_rng(0)
WEIGHTS = {f"l{at}.weight": RANDOM.standard_normal((4, 4)) for at in range(3)}


def outputs(activation="relu", weights=WEIGHTS, order=(0, 1, 2)):
    made = perceptron([weights[f"l{at}.weight"] for at in order], None, activation)
    return as_function(made).outputs(X)


@pytest.fixture
def model(tmp_path):
    np.savez(tmp_path / "m.npz", **WEIGHTS)
    return tmp_path / "m.npz"


def test_a_nonlinearity_that_is_not_the_networks_is_refused_with_its_name(model):
    """A SiLU network was read as one of ReLU without a word."""
    with pytest.raises(
        ArgumentError, match=r"differ by up to .* of the largest\. Try --activation silu\."
    ):
        open_model(model, X, outputs=outputs("silu").astype(np.float32))
    found = open_model(model, X, outputs=outputs("silu"), activation="silu")
    assert found.notes == ()
    assert [one.activation for one in found.network.sections] == ["silu", "silu", "identity"]


def test_another_order_and_a_transposed_weight_are_told(model):
    with pytest.raises(ArgumentError, match="Try --layers l1 l0 l2"):
        open_model(model, X, outputs=outputs(order=(1, 0, 2)))
    with pytest.raises(ArgumentError, match="Try --activation tanh --layers l2 l1 l0"):
        open_model(model, X, outputs=outputs("tanh", order=(2, 1, 0)))
    turned = {**WEIGHTS, "l1.weight": WEIGHTS["l1.weight"].T}
    with pytest.raises(ArgumentError, match=r"`l1\.weight` is transposed"):
        open_model(model, X, outputs=outputs(weights=turned))
    with pytest.raises(ArgumentError, match="Look at the nonlinearity"):
        open_model(model, X, outputs=np.sin(outputs()))
    found = open_model(model, X, layers=["l1", "l0", "l2"], outputs=outputs(order=(1, 0, 2)))
    assert found.notes == ()


def test_what_nothing_was_compared_with_is_noted(model):
    assert (
        "that relu stands between its layers, and their order l0, l1, l2, was assumed"
        in (open_model(model, X).notes[0])
    )


def test_outputs_stored_with_the_weights_are_compared(tmp_path):
    from safetensors.numpy import save_file

    stored = {name: one.astype(np.float32) for name, one in WEIGHTS.items()}
    save_file(stored | {"outputs": outputs().astype(np.float32)}, tmp_path / "m.safetensors")
    found = open_model(tmp_path / "m.safetensors", X)
    assert found.notes == ()
    assert found.names == tuple(WEIGHTS)
    with pytest.raises(ArgumentError, match="up to"):
        open_model(tmp_path / "m.safetensors", X[::-1].copy())


CODE = """
import jax.numpy as jnp
import numpy as np
from beside import WIDTH

params = {"w": np.ones((4, WIDTH))}
def apply(params, x):
    return jnp.tanh(x @ params["w"])
plain = apply, params
def made():
    return plain
number = 3
def broken():
    return 1 / 0
"""


def test_a_python_file_gives_the_model_that_is_named(tmp_path):
    (tmp_path / "beside.py").write_text("WIDTH = 2")
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    for name in ("plain", "made"):
        found = open_model(f"{file}:{name}", X)
        np.testing.assert_allclose(found.outputs(X), np.tanh(X @ np.ones((4, 2))), atol=1e-14)
        assert found.names == ("w",)
    with pytest.raises(ArgumentError, match="`outputs` must be those"):
        open_model(f"{file}:plain", X, outputs=np.ones((30, 2)))
    for name, says in (
        ("number", "`model` must be a PyTorch or Equinox module.* is int"),
        ("plane", "has no `plane`. Did you mean `plain`"),
        ("broken", r"mine\.py, line 14: ZeroDivisionError"),
    ):
        with pytest.raises(ArgumentError, match=says):
            open_model(f"{file}:{name}", X)
    with pytest.raises(ArgumentError, match="is not there"):
        open_model(tmp_path / "none.py:a", X)
    file.write_text("x = 1\nx.y")
    with pytest.raises(ArgumentError, match=r"mine\.py, line 2: AttributeError"):
        open_model(f"{file}:x", X)


def test_an_equinox_module_in_a_python_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import equinox as eqx, jax\nmodel = eqx.nn.MLP(4, 2, 3, 1, jax.nn.relu, key=jax.random.key(0))"
    )
    found = open_model(tmp_path / "mine.py:model", X)
    assert [one.activation for one in found.network.sections] == ["relu", "identity"]
    sizes = [leaf.size for leaf in jax.tree.leaves(found.params)]
    assert found.size == sum(sizes) == sum(b * (a + 1) for a, b in itertools.pairwise((4, 3, 2)))


def test_sections_of_ones_own_without_a_weight_are_analysed():
    """Nothing is counted in them, which is told; the rest is as of any network."""
    sections = [
        Section(lambda p, f: jnp.tanh(p["w"] @ f), inputs=4),
        Section(lambda p, f: p["v"] @ f),
    ]
    network = network_of(sections, [{"w": np.ones((3, 4))}, {"v": np.eye(2, 3)}])
    assert free_directions(network, X).sections == {}
    assert free_directions(network, X, scale=0.1).free == 0
    found = analyze(network, X, seconds=0)
    assert found.widths == (4, 3, 2)
    assert any("no section names a weight" in line for line in found.doubts)


def test_a_file_of_torch_export_is_refused_by_name_with_what_to_do():
    with pytest.raises(
        ArgumentError, match=r"is net\.pt2, a traced graph\. Name the module .*state_dict"
    ):
        open_model("some/net.pt2", np.ones((3, 2)))
