"""The coordinate check: powers of the width of three parametrisations, as made up and as trained."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import check, grid

import foretrain
from foretrain.errors import ArgumentError
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.coordinate_check import study
from foretrain.studies.coordinate_check.claims import rounding, vertex
from foretrain.studies.coordinate_check.layers import layer_outputs
from foretrain.studies.coordinate_check.measurement import measure

AXES = {**study.AXES, "learning_rate": tuple(2.0 ** np.arange(-8, 6))}
SEEDS = 6
MODEL = """
import jax
import jax.numpy as jnp


def init(key, width=32):
    one, two = jax.random.split(key)
    return {"first": jax.random.normal(one, (4, width)), "last": jax.random.normal(two, (width, 1))}


def apply(w, x):
    return jnp.tanh(x @ w["first"]) @ w["last"] / w["last"].shape[0] ** 0.5
"""


def build(first=0.0, hidden=0.0, output=0.0, rate=0.0):
    """Runs whose powers of the width are the derived ones but for what is added."""
    widths, rates = (np.array(AXES[name], float) for name in ("width", "learning_rate"))
    widths, rates, random = widths[:, None, None], rates[:, None], np.random.default_rng(0)
    noise = np.exp(0.02 * random.standard_normal((len(widths), 1, SEEDS)))
    change, moved, late = [], [], []
    for powers in study.EXPONENTS.values():
        ones = np.ones(rates.shape) * noise
        by_layer = (powers["first"] + first, powers["hidden"] + hidden, 0.0)
        change.append(np.stack([widths**power * ones for power in by_layer], -1))
        moved.append(widths ** (powers["output"] + output) * ones)
        best = np.log((widths / 128) ** (powers["rate"] + rate)) - 1 + np.log(noise)
        late.append(0.5 * np.exp(0.01 * (np.log(rates) - best) ** 2))
    own = {"layer_change": change, "output_change": moved, "late_loss": late, "first_loss": 1.0}
    own["layer_kind"] = [study.FIRST, study.HIDDEN, study.READOUT]
    return grid(study.Parameters(), AXES, SEEDS, {"": own})


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "first-layer": {"first": -0.5},
        "hidden-layers": {"hidden": 0.5},
        "output": {"output": -0.5},
        "best-rate": {"rate": 0.5},
    }
    check("coordinate-check", build, spoilt)


def test_a_parabola_finds_the_best_rate_off_the_grid_and_none_at_its_end():
    at = np.arange(6) * 0.1
    assert vertex(at, (at - 0.234) ** 2) == pytest.approx(0.234)
    assert np.isnan(vertex(at, at))
    # 1.96 ln 2 / sqrt(12 (4 + 1 + 0 + 1 + 4) ln 2 ** 2)
    assert rounding(Cell(build())) == pytest.approx(1.96 / np.sqrt(120))


@pytest.mark.parametrize(
    ("parametrisation", "name", "power"),
    [
        ("ntk", "first", -0.5),
        ("mup", "first", 0.0),
        ("mup", "hidden", 0.0),
        ("standard", "output", 1.0),
    ],
)
def test_trained_networks_have_the_derived_powers(parametrisation, name, power):
    """The mean over 8 starts of the slope through two widths, whose standard deviation is .3."""
    assert study.EXPONENTS[parametrisation][name] == power
    sizes = []
    for width in (32, 256):
        options = {"parametrisation": parametrisation, "width": width, "learning_rate": 2.0**-6}
        arrays = [measure(study.Parameters(**options), Seed(0, seed)) for seed in range(8)]
        assert arrays[0]["layer_kind"].tolist() == [study.FIRST, study.HIDDEN, study.READOUT]
        changes = [np.append(item["layer_change"][:2], item["output_change"]) for item in arrays]
        sizes.append(np.log(changes)[:, ("first", "hidden", "output").index(name)])
    assert np.mean(sizes[1] - sizes[0]) / np.log(8) == pytest.approx(power, abs=0.25)


def test_a_network_of_the_users_is_checked_and_one_without_a_width_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "narrow.py").write_text(MODEL.replace(", width=32", "").replace("width", "32"))
    x = np.random.default_rng(0).standard_normal((6, 4)) / 2
    np.savez("data.npz", x=x, y=np.sign(x[:, :1]))
    options = {"model": "model.py", "data": "data.npz", "width": [8, 16, 32], "seeds": 4}
    options |= {"parametrisation": "ntk", "learning_rate": 0.1, "steps": 2}
    result = foretrain.run("coordinate-check", **options, workers=0, quiet=True)
    assert {claim.id for claim in result.claims} == {"first-layer", "output"}
    own = study.Parameters(model="narrow.py", data="data.npz")
    with pytest.raises(ArgumentError, match="its `init` takes no width"):
        measure(own, Seed(0, 0))
    with pytest.raises(ArgumentError, match="`parametrisation` must be mup for Adam"):
        foretrain.run("coordinate-check", optimizer="adam", parametrisation="ntk")
    with pytest.raises(ArgumentError, match="`data` must be given together with `model`"):
        foretrain.run("coordinate-check", model="model.py")


def test_layers_are_products_with_weights_alone():
    weights = {"in": np.ones((4, 3)), "keys": np.ones((3, 3)), "out": np.ones((3, 2))}
    x = np.random.default_rng(0).standard_normal((6, 4))

    def apply(w, x):
        h = jax.nn.gelu(x @ (w["in"] / 2) + 1)
        return (jax.nn.softmax((h @ w["keys"]) @ h.T) @ h) @ w["out"]

    with jax.enable_x64(True):
        layers, outputs = layer_outputs(apply, weights, x), apply(weights, x)
    assert {name: layer[1:] for name, layer in layers.items()} == {
        "in": (4, 3), "keys": (3, 3), "out": (3, 2)
    }  # fmt: skip
    np.testing.assert_allclose(layers["in"][0], x @ np.full((4, 3), 0.5))
    np.testing.assert_allclose(layers["out"][0], jnp.asarray(outputs))
