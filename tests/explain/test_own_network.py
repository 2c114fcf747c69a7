import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.errors import ArgumentError, ForetrainError
from foretrain.explain import own_network
from foretrain.explain.own_network import batches, described, starts

X = np.random.default_rng(0).standard_normal((10, 3))
Y = X[:, :1]


def apply(w, x):
    return jnp.tanh(x @ w[0]) @ w[1]


def init(key):
    item, two = jax.random.split(key)
    return [jax.random.normal(item, (3, 4)), jax.random.normal(two, (4, 1))]


def test_every_epoch_shows_every_example_once_and_every_start_in_its_own_order():
    training = described(apply, init, X, Y, learning_rate=0.1, steps=7, batch_size=3)
    rows = batches(training, 2)
    assert rows.shape == (2, 7, 3)
    for epoch in (rows[:, :3], rows[:, 3:6]):
        assert all(len(set(item.ravel())) == 9 for item in epoch)
    assert (rows[0] != rows[1]).any()
    assert (batches(training, 1)[0] == rows[0]).all()


def test_a_schedule_gives_the_rate_of_every_step():
    training = described(apply, init, X, Y, learning_rate=lambda step: 0.1 / (1 + step), steps=3)
    assert np.allclose(training.learning_rates, [0.1, 0.05, 0.1 / 3])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": X[:, 0]}, r"`y` must have the shape \(10, 1\) of the outputs .*, but has \(10,\)"),
        ({"y": np.arange(10) % 4, "apply": lambda w, x: x @ w[0]}, "loss `cross_entropy` for class numbers, or one-hot"),
        ({"y": Y[:4]}, "`y` must be as long as `x`"),
        ({"batch_size": 11}, "`batch_size` must be between 1 and 10, but is 11"),
        ({"learning_rate": -1}, "`learning_rate` must be greater than 0"),
        ({"learning_rate": lambda step: np.nan}, "`learning_rate` must hold finite numbers"),
        ({"learning_rate": np.ones(1)}, "`learning_rate` must be finite, .* for each of 2 steps"),
        ({"order": np.array([[0, 1], [2, 10]])}, "`order` must hold whole numbers below 10, .* but has 10"),
        ({"order": np.ones((0, 5))}, "`order` must hold whole numbers below 10, .* but has the shape"),
        ({"order": np.zeros((2, 11))}, r"`order` must hold .*, at most as many in a row .* but has the shape \(2, 11\)"),
        ({"order": np.zeros((2, 5)), "batch_size": 4}, r"`batch_size` must be 5, .* but is 4\. Leave it out"),
        ({"optimizer": "adam", "betas": ["0.9"]}, r"`betas` must be two numbers, but is"),
        ({"betas": (0.9, 0.999)}, "`betas` must be given for adam or adamw alone, but is for sgd"),
        ({"optimizer": "adam", "momentum": "0.9"}, "`momentum` must be given for .* but is for adam. Try"),
        ({"optimizer": "adam", "betas": ("0.9", "1")}, "`betas` must be between 0 and 0.99999, but is 1"),
        ({"clip": "0"}, "`clip` must be greater than 0, but is 0"),
        ({"optimizer": "lion"}, "`optimizer` must be one of"),
        ({"loss": "hinge"}, "`loss` must be one of"),
        ({"loss": lambda outputs, y: outputs}, "`loss` must return one number"),
        ({"x_test": X}, "`x_test` must be given together"),
        ({"x_test": X[:, :2], "y_test": Y}, r"`x_test` must have examples of shape \(3,\)"),
        ({"init": lambda key: {"params": init(key), "batch_stats": [Y[0]]}}, "Flax's parameters alone, but has batch_stats"),
        ({"init": lambda key: [np.arange(3)]}, "`init` must return a pytree of floating arrays"),
        ({"loss": "cross_entropy"}, "`y` must hold class numbers from 0 to 0"),
        ({"apply": lambda w, x: x @ w[0] @ w[1] @ w[1]}, r"test_own_network.py, line \d+: TypeError"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(change, words):
    whole = {"apply": apply, "init": init, "x": X, "y": Y, "learning_rate": 0.1, "steps": 2}
    with pytest.raises(ForetrainError, match=words):
        described(**whole | change)


def test_random_numbers_in_a_network_and_rows_that_no_step_takes_are_named():
    noisy = lambda w, x: apply(w, x) + jax.random.normal(jax.random.key(0), (len(x), 1))  # noqa: E731
    order = np.arange(30).reshape(6, 5) % 10
    training = described(noisy, init, X, Y, learning_rate=0.1, steps=2, order=order)
    assert (training.order == order[:2]).all()
    assert training.notes == ("The order's first 2 of 6 rows are taken.", own_network._DRAWS)


def test_an_init_that_ignores_its_key_is_refused(x64):
    same = lambda key: init(jax.random.key(0))  # noqa: E731
    with pytest.raises(ArgumentError, match="`init` must draw other weights for every key"):
        starts(described(apply, same, X, Y, learning_rate=0.1, steps=2), 2)
    chance = lambda key: jax.tree.map(lambda w: w * np.random.default_rng().random(), init(key))  # noqa: E731
    with pytest.raises(ArgumentError, match="`init` must be a function of its key"):
        described(apply, chance, X, Y, learning_rate=0.1, steps=2)
