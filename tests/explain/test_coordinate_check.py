"""The coordinate check: powers of the width in parametrisations written out, and declared ones told apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.cli import main
from foretrain.errors import ArgumentError, ForetrainError
from foretrain.explain.best_rate import best_rates, rates_argument, slope_error
from foretrain.explain.coordinate_check import OUTPUT, RATE, coordinate_check
from foretrain.explain.layer_outputs import layer_outputs
from foretrain.explain.own_network import described

# The error at the start differs from start to start by a factor of e^.5 or so, and a line through three widths by .3: the mean
# over 32 starts by .06, so that intervals are half as long as what divides the verdicts.
X = np.random.default_rng(0).standard_normal((6, 4)) / 2
Y = np.sign(X[:, :1])
WIDTHS = (32, 96, 256)


def normal(key, *shape):
    return jax.random.normal(key, shape, jnp.float64)


def two_layers(power):
    """Network v phi(W x) / n^power of the given units; its weights are of size 1."""

    def init(key, width):
        one, two = jax.random.split(key)
        return {"first": normal(one, 4, width), "last": normal(two, width, 1)}

    return lambda w, x: jnp.tanh(x @ w["first"]) @ w["last"] / w["last"].shape[0] ** power, init


def mup():
    """The first layer sqrt(n) W x with W ~ N(0, 1/n), the output v phi / sqrt(n) with v ~ N(0, 1/n)."""
    _, init = two_layers(0)

    def drawn(key, width):
        return {name: one / width**0.5 for name, one in init(key, width).items()}

    def apply(w, x):
        n = w["last"].shape[0]
        return jnp.tanh(n**0.5 * (x @ w["first"])) @ w["last"] / n**0.5

    return apply, drawn


def standard():
    """W ~ N(0, 1) to the few inputs, n hidden units twice, all weights of the others ~ N(0, 1/n)."""

    def init(key, width):
        one, two, three = jax.random.split(key, 3)
        return {
            "one": normal(one, 4, width),
            "two": normal(two, width, width) / width**0.5,
            "three": normal(three, width, 1) / width**0.5,
        }

    return lambda w, x: jnp.tanh(jnp.tanh(x @ w["one"]) @ w["two"]) @ w["three"], init


def checked(network, parametrisation, rate, steps, seeds=32):
    found = coordinate_check(
        *network, X, Y, widths=WIDTHS, parametrisation=parametrisation, learning_rate=rate, steps=steps,
        seeds=seeds,
    )  # fmt: skip
    return {one.name: one for one in found.slopes}


def test_features_of_the_ntk_parametrisation_move_by_the_inverse_root_of_the_width():
    found = checked(two_layers(0.5), "ntk", 0.3, 6)
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(
        ("first", OUTPUT), "agrees"
    )
    assert abs(found["first"].slope.measured + 0.5) < 0.1


def test_features_of_mup_move_at_every_width_alike():
    found = checked(mup(), "mup", 0.3, 6)
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(
        ("first", OUTPUT), "agrees"
    )


def test_the_output_of_a_standard_network_grows_like_the_width():
    found = checked(standard(), "standard", 1e-4, 3)
    assert abs(found[OUTPUT].slope.measured - 1) < 0.1
    assert [found[name].exponent for name in ("one", "two")] == [-0.5, 0.5]
    assert {found[name].verdict for name in ("one", "two", OUTPUT)} == {"agrees"}


@pytest.mark.slow
def test_another_parametrisation_than_declared_is_seen():
    assert checked(two_layers(0.5), "mup", 0.3, 6)["first"].verdict == "shrinks"
    assert checked(mup(), "ntk", 0.3, 6)["first"].verdict == "grows"


@pytest.mark.parametrize(
    ("power", "parametrisation", "largest"), [(0.5, "ntk", 64.0), (0.0, "ntk", 4.0)]
)
def test_the_best_rate_has_the_power_of_the_parametrisation(power, parametrisation, largest):
    """Without its factor 1/sqrt(n) the network's best rate goes with the inverse width."""
    grid = (largest / 2 ** np.arange(0, 14 if power == 0 else 7, 0.5)[::-1]).tolist()
    found = coordinate_check(
        *two_layers(power), X, Y, widths=(16, 64, 256), parametrisation=parametrisation, learning_rate=1e-4,
        steps=4, seeds=16, rates=grid,
    )  # fmt: skip
    best = found.slopes[-1]
    assert best.name == RATE
    assert best.verdict == ("agrees" if power else "shrinks")
    assert abs(best.slope.measured - (0 if power else -1)) < 0.2
    assert best.slope.high - best.slope.low >= 2 * slope_error(np.array(grid), (16, 64, 256))


def test_a_best_rate_at_the_end_of_the_grid_is_refused():
    training = described(*fixed(two_layers(0.5), 16), X, Y, learning_rate=1.0, steps=3)
    with (
        jax.enable_x64(True),
        pytest.raises(ForetrainError, match=r"best rate of width 16 is 5e-05, an end .* larger"),
    ):
        best_rates(training, 2, rates_argument(list(np.geomspace(1e-5, 5e-5, 5))), 16)
    with pytest.raises(ArgumentError, match="`rates` must be at least 5 growing numbers"):
        rates_argument([0.1, 0.2, 0.4, 0.3, 0.5])


def test_the_best_rate_of_one_weight_is_known_in_closed_form():
    """After one step of w from 2 on (w x)²/2 the loss is least at the rate 1 / x²; the parabola must find it off the grid."""
    apply, init = (lambda w, x: x * w["w"]), (lambda key: {"w": 2 * np.ones(1)})
    training = described(
        apply, init, np.array([[2.0]]), np.zeros((1, 1)), learning_rate=1.0, steps=1
    )
    grid = 0.25 * np.exp(0.1 * (np.arange(6) - 2.4))  # .0 to either side is no point of it
    assert abs(np.log(best_rates(training, 1, grid, 1)[0] / 0.25)) < 0.05


def fixed(network, width):
    return network[0], lambda key: network[1](key, width)


def test_layers_are_products_with_weights_alone():
    weights = {"in": np.ones((4, 3)), "keys": np.ones((3, 3)), "out": np.ones((3, 2))}

    def apply(w, x):
        h = jax.nn.gelu(x @ (w["in"] / 2) + 1)
        return (jax.nn.softmax((h @ w["keys"]) @ h.T) @ h) @ w["out"]

    with jax.enable_x64(True):
        layers, outputs = layer_outputs(apply, weights, X), apply(weights, X)
    assert {name: one[1:] for name, one in layers.items()} == {
        "in": (4, 3), "keys": (3, 3), "out": (3, 2)
    }  # fmt: skip
    np.testing.assert_allclose(layers["in"].outputs, X @ np.full((4, 3), 0.5))
    np.testing.assert_allclose(layers["out"].outputs, outputs)


def test_widths_and_functions_that_cannot_be_used_are_refused():
    apply, init = two_layers(0.5)
    options = {"learning_rate": 0.3, "steps": 1, "parametrisation": "ntk"}
    with pytest.raises(ArgumentError, match="`widths` must be at least three growing"):
        coordinate_check(apply, init, X, Y, widths=[64, 32, 128], **options)
    with pytest.raises(ArgumentError, match="`parametrisation` must be mup for Adam"):
        coordinate_check(apply, init, X, Y, widths=WIDTHS, optimizer="adam", **options)
    with pytest.raises(ForetrainError, match="No layer grows with the width"):
        coordinate_check(
            apply, lambda key, width: init(key, 8), X, Y, widths=(2, 4, 8), seeds=2, **options
        )
    with pytest.raises(ForetrainError, match="The network of width 2 diverges"):
        coordinate_check(
            lambda w, x: x @ w["first"] @ w["last"], init, X, Y, widths=(2, 4, 8), seeds=2,
            parametrisation="ntk", learning_rate=1e9, steps=50,
        )  # fmt: skip


MODEL = """
import jax
import jax.numpy as jnp


def init(key, width=32):
    one, two = jax.random.split(key)
    return {"first": jax.random.normal(one, (4, width)), "last": jax.random.normal(two, (width, 1))}


def apply(w, x):
    return jnp.tanh(x @ w["first"]) @ w["last"] / w["last"].shape[0] ** 0.5
"""


def test_the_command_prints_powers_and_refuses_what_is_not_declared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "narrow.py").write_text(MODEL.replace(", width=32", "").replace("width", "32"))
    np.savez("data.npz", x=X, y=Y)
    command = "data.npz --learning-rate 0.3 --steps 2 --seeds 2 --widths 8 16 32"
    declared = f"{command} --parametrisation ntk --out made"
    assert main(f"explain model.py {declared}".split()) == 0
    assert "Coordinate check of ntk: widths 8, 16, 32, 2 starts" in capsys.readouterr().out
    assert (tmp_path / "made" / "coordinate_check.json").exists()
    for words, answer in (
        (f"model.py {command}", "`--parametrisation` must be given with `widths`"),
        (f"narrow.py {declared}", "its `init` takes no width"),
        (f"model.py {declared} --from-zero", "`--from-zero` must be left out"),
        (
            "model.py data.npz --learning-rate 0.3 --steps 2 --rates 1 2",
            "`--widths` must be given with",
        ),
    ):
        assert main(f"explain {words}".split()) == 2
        assert answer in capsys.readouterr().err
