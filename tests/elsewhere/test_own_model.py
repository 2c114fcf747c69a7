"""Networks that are named: read as they were meant or refused with what to do; starts are functions of their key."""

import jax.numpy as jnp
import numpy as np
import planted
import pytest
from safetensors.numpy import save_file

from foretrain.analyze.analysis import analyze
from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.function import as_function
from foretrain.degeneracy.network import Section, network_of, perceptron
from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import SINGLE, own_model
from foretrain.errors import ArgumentError
from foretrain.explain.model_file import explain_files
from foretrain.streams import key

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((8, 3))
Y = np.sin(X[:, :1])
MODULES = """
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 1)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.scale * self.last(torch.tanh(self.first(x)))


def small():
    made = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    nn.init.normal_(made[0].weight, std=0.01)
    return made


scaled = Scaled()
bare = nn.ParameterList([nn.Parameter(torch.ones(3, 1))])
"""


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    (tmp_path / "modules.py").write_text(MODULES)
    return tmp_path


@pytest.mark.slow
def test_stored_weights_have_one_start_and_no_interval(folder):
    weights = {
        "first.weight": RANDOM.standard_normal((6, 3)),
        "first.bias": np.zeros(6),
        "last.weight": RANDOM.standard_normal((1, 6)) / 3,
        "last.bias": np.zeros(1),
    }
    save_file(weights, folder / "model.safetensors")
    files = folder / "model.safetensors", folder / "data.npz"
    result = explain_files(*files, learning_rate=0.1, steps=5)
    assert (result.starts, result.weights) == (1, sum(item.size for item in weights.values()))
    assert SINGLE in str(result)
    hidden = np.maximum(X @ weights["first.weight"].T, 0)
    loss = ((hidden @ weights["last.weight"].T - Y) ** 2).mean() / 2
    assert result.train[result.run][0, 0] == pytest.approx(loss)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="PyTorch is not installed")

    def test_starts_are_drawn_by_reset_parameters_as_functions_of_their_key(
        self, folder, x64, torch
    ):
        network = own_model(f"{folder / 'modules.py'}:scaled", X)
        before = torch.get_rng_state()
        item, again = (network.init(key(0, 3, "weights")) for _ in range(2))
        other = network.init(key(0, 4, "weights"))
        assert torch.equal(before, torch.get_rng_state())
        assert all((item[name] == again[name]).all() for name in item)
        assert (item["first.weight"] != other["first.weight"]).all()
        assert item["scale"] == other["scale"] == 1
        assert np.abs(item["first.weight"]).max() < 3**-0.5
        assert not network.single
        assert "the same in every start: scale." in network.notes[-1]

    def test_a_function_that_makes_a_module_draws_by_its_own_rule(self, folder, x64):
        network = own_model(f"{folder / 'modules.py'}:small", X)
        first = np.concatenate([network.init(key(0, k, "weights"))["0.weight"] for k in range(20)])
        assert first.std() == pytest.approx(0.01, rel=4 / np.sqrt(2 * first.size))
        assert "calling the name again" in network.notes[0]


WIDE = planted.data(30, 4)
WEIGHTS = {f"l{at}.weight": RANDOM.standard_normal((4, 4)) for at in range(3)}


def function_at(model, x, **options):
    return own_model(model, x, **options).function(x)


def outputs(activation="relu", weights=WEIGHTS, order=(0, 1, 2)):
    result = perceptron([weights[f"l{at}.weight"] for at in order], None, activation)
    return as_function(result).outputs(WIDE)


@pytest.fixture
def model(tmp_path):
    np.savez(tmp_path / "m.npz", **WEIGHTS)
    return tmp_path / "m.npz"


def test_a_nonlinearity_that_is_not_the_networks_is_refused_with_its_name(model):
    """A SiLU network was read as one of ReLU without a word."""
    says = r"differ by up to .* of the largest\. Try --activation silu\."
    with pytest.raises(ArgumentError, match=says):
        function_at(model, WIDE, outputs=outputs("silu").astype(np.float32))
    function = function_at(model, WIDE, outputs=outputs("silu"), activation="silu")
    assert function.notes == ()
    assert [item.activation for item in function.network.sections] == ["silu", "silu", "identity"]


def test_another_order_and_a_transposed_weight_are_told(model):
    with pytest.raises(ArgumentError, match="Try --layers l1 l0 l2"):
        function_at(model, WIDE, outputs=outputs(order=(1, 0, 2)))
    with pytest.raises(ArgumentError, match="Try --activation tanh --layers l2 l1 l0"):
        function_at(model, WIDE, outputs=outputs("tanh", order=(2, 1, 0)))
    turned = {**WEIGHTS, "l1.weight": WEIGHTS["l1.weight"].T}
    with pytest.raises(ArgumentError, match=r"`l1\.weight` is transposed"):
        function_at(model, WIDE, outputs=outputs(weights=turned))
    with pytest.raises(ArgumentError, match="Look at the nonlinearity"):
        function_at(model, WIDE, outputs=np.sin(outputs()))
    function = function_at(model, WIDE, layers=["l1", "l0", "l2"], outputs=outputs(order=(1, 0, 2)))
    assert function.notes == ()
    (note,) = function_at(model, WIDE).notes
    assert "that relu stands between its layers, and their order l0, l1, l2, was assumed" in note


def test_outputs_stored_with_the_weights_are_compared(tmp_path):
    stored = {name: item.astype(np.float32) for name, item in WEIGHTS.items()}
    save_file(stored | {"outputs": outputs().astype(np.float32)}, tmp_path / "m.safetensors")
    function = function_at(tmp_path / "m.safetensors", WIDE)
    assert (function.notes, function.names) == ((), tuple(WEIGHTS))
    with pytest.raises(ArgumentError, match="up to"):
        function_at(tmp_path / "m.safetensors", WIDE[::-1].copy())


CODE = """
import jax
import jax.numpy as jnp
import numpy as np
from beside import WIDTH

params = {"w": np.ones((4, WIDTH))}
def apply(params, x):
    return jnp.tanh(x @ params["w"])
plain = apply, params
def init(key):
    from later import SCALE
    return {"w": SCALE * jax.random.normal(key, (4, WIDTH))}
drawn = apply, init
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
        function = function_at(f"{file}:{name}", WIDE)
        exact = np.tanh(WIDE @ np.ones((4, 2)))
        np.testing.assert_allclose(function.outputs(WIDE), exact, atol=1e-14)
        assert function.names == ("w",)
    with pytest.raises(ArgumentError, match="`outputs` must be those"):
        function_at(f"{file}:plain", WIDE, outputs=np.ones((30, 2)))
    for name, says in (
        ("number", "`model` must be a PyTorch or Equinox module.* is int"),
        ("plane", "has no `plane`. Did you mean `plain`"),
        ("broken", r"mine\.py, line 19: ZeroDivisionError"),
    ):
        with pytest.raises(ArgumentError, match=says):
            function_at(f"{file}:{name}", WIDE)
    (tmp_path / "half.py").write_text("def apply(params, x):\n    return x")
    with pytest.raises(ArgumentError, match="`init`, or `params`"):
        own_model(tmp_path / "half.py", WIDE)
    with pytest.raises(ArgumentError, match=r"half\.py, line 1: TypeError.* Name the file alone"):
        own_model(f"{tmp_path / 'half.py'}:apply", WIDE)
    with pytest.raises(ArgumentError, match="is not there"):
        function_at(tmp_path / "none.py:a", WIDE)
    file.write_text("x = 1\nx.y")
    with pytest.raises(ArgumentError, match=r"mine\.py, line 2: AttributeError"):
        function_at(f"{file}:x", WIDE)


@pytest.mark.parametrize("name", ["", ":drawn"])
def test_what_only_draws_weights_is_read_at_its_first_start(tmp_path, name):
    """Functions may import a file beside theirs when they are called."""
    (tmp_path / "beside.py").write_text("WIDTH = 2")
    (tmp_path / "later.py").write_text("SCALE = 3.0")
    (tmp_path / "mine.py").write_text(CODE)
    network = own_model(f"{tmp_path / 'mine.py'}{name}", WIDE)
    function = network.function(WIDE)
    first, second = (network.init(key(0, start, "weights"))["w"] for start in range(2))
    np.testing.assert_allclose(function.params["w"], first)
    assert (first != second).all()
    assert not network.single
    assert "those of the first start" in function.notes[0]


def test_an_equinox_module_is_drawn_by_a_function_of_a_key(tmp_path, x64):
    (tmp_path / "mine.py").write_text(
        "import equinox as eqx\n"
        "def make(key):\n    return eqx.nn.Sequential([eqx.nn.Linear(4, 2, key=key), eqx.nn.Dropout()])"
    )
    network = own_model(tmp_path / "mine.py:make", WIDE)
    first, second = (network.init(key(0, start, "weights")) for start in range(2))
    weight, bias = np.asarray(first.layers[0].weight), np.asarray(first.layers[0].bias)
    np.testing.assert_allclose(network.apply(first, WIDE), WIDE @ weight.T + bias, atol=1e-12)
    assert np.abs(weight - second.layers[0].weight).max() > 0.01
    assert "with its key" in network.notes[-2]
    assert network.notes[-1] == "Trained in evaluation: dropout is off (layers.1)."
    assert set(network.function(WIDE).names) == {"layers.0.weight", "layers.0.bias"}


def test_examples_are_an_npz_file_or_npy_files(tmp_path):
    np.savez(tmp_path / "both.npz", x=X, y=Y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    for arguments in (["both.npz"], ["x.npy", "y.npy"]):
        function = read_examples(*(tmp_path / name for name in arguments))
        assert (function["x"] == X).all()
        assert (function["y"] == Y).all()
    assert list(read_examples(tmp_path / "x.npy")) == ["x"]
    with pytest.raises(ArgumentError, match="`labels` must be left out"):
        read_examples(tmp_path / "both.npz", tmp_path / "y.npy")


def test_sections_of_ones_own_without_a_weight_are_analysed():
    """They have no free directions by section, but the equations of the function have, each with its source."""
    first, last = (lambda p, f: jnp.tanh(p["w"] @ f)), (lambda p, f: p["v"] @ f)
    sections = [Section(first, inputs=4), Section(last)]
    network = network_of(sections, [{"w": np.ones((3, 4))}, {"v": np.eye(2, 3)}])
    assert free_directions(network, WIDE).sections == {}
    assert free_directions(network, WIDE, scale=0.1).free == 0
    function = analyze(network, WIDE, seconds=0)
    assert function.widths == (4, 3, 2)
    assert ["rewiring no freedom" in doubt for doubt in function.doubts] == [True]
    assert "of these not attributed  0" in str(function)
