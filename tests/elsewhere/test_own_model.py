"""Networks that are named: stored weights have one start, PyTorch's layers draw themselves, and train as they do there."""

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from foretrain.elsewhere.own_model import own_model
from foretrain.errors import ForetrainError
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
    said = []
    made = explain_files(
        folder / "model.safetensors", folder / "data.npz", rate=0.1, steps=5, tell=said.append
    )
    assert made.starts == 1
    assert made.weights == sum(one.size for one in weights.values())
    assert "There is one start, the weights as they are given: nothing has an interval." in str(
        made
    )
    hidden = np.maximum(X @ weights["first.weight"].T, 0)
    loss = ((hidden @ weights["last.weight"].T - Y) ** 2).mean() / 2
    assert made.train[made.run][0, 0] == pytest.approx(loss)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="PyTorch is not installed")

    def test_starts_are_drawn_by_reset_parameters_as_functions_of_their_key(
        self, folder, x64, torch
    ):
        with own_model(f"{folder / 'modules.py'}:scaled", X) as made:
            before = torch.get_rng_state()
            one, again = (made.init(key(0, 3, "weights")) for _ in range(2))
            other = made.init(key(0, 4, "weights"))
            assert torch.equal(before, torch.get_rng_state())
            assert all((one[name] == again[name]).all() for name in one)
            assert (one["first.weight"] != other["first.weight"]).all()
            assert one["scale"] == other["scale"] == 1
            assert np.abs(one["first.weight"]).max() < 3**-0.5
            assert not made.single
            assert "the same in every start: scale." in made.notes[1]

    def test_a_function_that_makes_a_module_draws_by_its_own_rule(self, folder, x64):
        with own_model(f"{folder / 'modules.py'}:small", X) as made:
            first = np.concatenate([made.init(key(0, k, "weights"))["0.weight"] for k in range(20)])
            assert first.std() == pytest.approx(0.01, rel=4 / np.sqrt(2 * first.size))
            assert "calling the name again" in made.notes[0]

    def test_what_is_no_model_is_refused(self, folder):
        for name, words in (("torch", "be a PyTorch or Equinox module"), ("smal", "`small`")):
            with (
                pytest.raises(ForetrainError, match=words),
                own_model(f"{folder / 'modules.py'}:{name}", X),
            ):
                pass

    @pytest.mark.slow
    def test_a_module_trains_as_pytorch_trains_it(self, folder, torch):
        """Equations are the same, so that what differs is rounding; 1e-6 of the loss is asked for in float64."""
        made = explain_files(
            f"{folder / 'modules.py'}:small", folder / "data.npz", rate=0.1, steps=40, seeds=2
        )
        with jax.enable_x64(True):
            seed = int(jax.random.bits(key(0, 0, "weights"), dtype="uint32"))
        torch.manual_seed(seed)
        space = {}
        exec(MODULES.partition("scaled =")[0], space)
        torch.manual_seed(seed)
        module = space["small"]().double()
        descent = torch.optim.SGD(module.parameters(), lr=0.1)
        x, y, losses = torch.tensor(X), torch.tensor(Y), []
        for _ in range(41):
            loss = ((module(x) - y) ** 2).sum() / (2 * len(x))
            losses.append(loss.item())
            descent.zero_grad()
            loss.backward()
            descent.step()
        assert np.allclose(made.train[made.run][0], np.array(losses)[made.at], rtol=1e-6)
