"""The corners of a training beside what is known of them in closed form, by recursion and by Optax."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from foretrain.explain import simulated
from foretrain.explain.kernel.kernel_recursion import Kernel, diverged, sharpness
from foretrain.explain.own_network import Training, batches, described, start_of, starts
from foretrain.explain.simulated import Corner, Curves, Simulator, enough_substeps, log_spaced

RANDOM = np.random.default_rng(0)
X, X_TEST = RANDOM.standard_normal((12, 4)), RANDOM.standard_normal((5, 4))
Y, Y_TEST = np.tanh(X[:, :2]), np.tanh(X_TEST[:, :2])
REAL = Corner(True, True, True, True)


def apply(w, x):
    return jnp.tanh(x @ w["in"] + w["bias"]) @ w["out"]


def init(key):
    first, second = jax.random.split(key)
    return {
        "in": jax.random.normal(first, (4, 8)) / 2,
        "bias": jnp.zeros(8),
        "out": jax.random.normal(second, (8, 2)) / 3,
    }


def simulation(number=2, **options):
    """A training of a perceptron, its simulator and its starts."""
    values = {"learning_rate": 0.1, "steps": 60, "x_test": X_TEST, "y_test": Y_TEST} | options
    training = described(options.pop("apply", apply), init, X, values.pop("y", Y), **values)
    drawn, rows = starts(training, number), batches(training, number)
    return training, drawn, rows, Simulator(training, drawn, rows, log_spaced(training.steps, 12))


OPTIONS = {
    "descent": {},
    "decay in batches": {"batch_size": 5, "weight_decay": 0.03},
    "momentum": {"optimizer": "momentum", "momentum": 0.8, "learning_rate": 0.03, "batch_size": 4},
    "schedule": {"learning_rate": lambda step: 0.2 / (1 + step / 9), "batch_size": 5},
    "nesterov": {"optimizer": "nesterov", "learning_rate": np.geomspace(0.03, 0.01, 60)},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.03, "learning_rate": 0.01, "batch_size": 4},
    "betas": {"optimizer": "adam", "betas": (0.8, 0.99), "learning_rate": 0.01},
    "clip": {"optimizer": "momentum", "clip": 0.1, "weight_decay": 0.03, "batch_size": 5},
    "cross_entropy": {"loss": "cross_entropy", "y": np.arange(12) % 2, "y_test": np.arange(5) % 2},
}
DECAY = optax.add_decayed_weights(0.03)
RULES = {  # steps that have no flow, as Optax names them
    "adamw": lambda rate: optax.adamw(rate, weight_decay=0.03),
    "betas": lambda rate: optax.adam(rate, 0.8, 0.99),
    "clip": lambda rate: optax.chain(optax.clip_by_global_norm(0.1), DECAY, optax.sgd(rate, 0.9)),
}


@cache
def named(name):
    """The simulation of these options, whose programs all tests share."""
    return simulation(**OPTIONS[name])


# Of momentum and of a schedule the closed form and the run of Optax are held below, too.
PREDICTED = ["descent", "decay in batches", "nesterov", "cross_entropy"]
PREDICTED += [pytest.param(name, marks=pytest.mark.slow) for name in ("momentum", "schedule")]


@pytest.mark.parametrize("name", PREDICTED)
def test_the_kernel_in_own_steps_and_batches_is_the_recursion(x64, name):
    training, drawn, rows, simulator = named(name)
    curves = simulator.run(Corner(step=True, batches=True))
    for at in range(2):
        train, test, end = Kernel(training, start_of(drawn, at)).predicted(rows[at], simulator.at)
        np.testing.assert_allclose(curves.train[at], train, rtol=1e-10)
        np.testing.assert_allclose(curves.test[at], test, rtol=1e-10)
        leaves = map(jax.tree.leaves, (start_of(curves.weights, at), end))
        assert all(np.allclose(*pair, rtol=1e-7, atol=1e-11) for pair in zip(*leaves, strict=True))


@pytest.mark.parametrize("name", OPTIONS)
def test_no_assumption_kept_is_the_run_of_optax(x64, name, monkeypatch):
    *_, simulator = named(name)
    if name in RULES:
        monkeypatch.setattr(Training, "rule", lambda _, rate: RULES[name](rate))
    assert np.allclose(simulator.run(REAL).train[0], simulator.plain, rtol=1e-11, atol=0)


@pytest.mark.parametrize("name", ["descent", "decay in batches", "momentum", "schedule"])
def test_every_assumption_kept_is_the_closed_form(x64, name):
    training, drawn, _, simulator = named(name)
    curves = simulator.run(Corner(), 4)
    for at in range(2):
        exact = Kernel(training, start_of(drawn, at)).flow(simulator.at)
        assert np.allclose(curves.train[at], exact, rtol=0, atol=1e-5 * exact[0])


@pytest.mark.parametrize("corner", [Corner(), Corner(True, True)])
def test_small_steps_are_of_fourth_order(x64, corner):
    training, drawn, _, simulator = simulation(learning_rate=0.6, steps=20)
    exact = simulator.run(corner, 64).train[0]
    if corner == Corner():
        exact = Kernel(training, start_of(drawn, 0)).flow(simulator.at)
    off = [np.abs(simulator.run(corner, n).train[0] - exact).max() for n in (2, 4, 8)]
    orders = np.log2(np.divide(off[:-1], off[1:]))
    assert (orders > 3.7).all()
    assert (orders < 4.5).all()


@pytest.mark.parametrize("name", ["descent", "schedule"])
def test_a_small_step_as_long_as_several_own_ones_is_on_the_same_flow(x64, name):
    """Also where the flow is corrected for its own step, which the long step leaves as it is."""
    options = {"batch_size": 12} if name == "schedule" else {}
    *_, simulator = simulation(**OPTIONS[name] | {"steps": 200} | options)
    for corrected in (False, True):
        run = partial(simulator.run, Corner(True, True), corrected=corrected)
        long, short = run(1 / 8).train, run(2).train
        assert 0 < np.abs(long - short).max() < 1e-3 * short[:, :1].max()


def test_one_substep_of_one_stage_on_a_held_minibatch_is_a_step_of_its_own(x64):
    """In the limit of small rates small steps on minibatches and own ones are alike."""
    *_, simulator = simulation(learning_rate=1e-4, batch_size=4, steps=20)
    small, own = (simulator.run(REAL._replace(step=step)).train for step in (False, True))
    assert np.allclose(small, own, rtol=1e-6)


def test_the_number_of_substeps_makes_the_flow(x64):
    *_, simulator = simulation(learning_rate=0.8, steps=40)
    substeps = enough_substeps(simulator.train, 0.4)
    here, there = (simulator.run(Corner(True, True), n).train for n in (substeps, 8 * substeps))
    assert (np.abs(here - there) <= 1e-3 * here[:, :1]).all()
    ends, lines = {1.0: 1e308}, []  # with one substep the flow runs away, which brings no warning
    curves = lambda each: Curves(np.array([[0.1, ends.get(each.substeps, 0.05)]]), None, 0)  # noqa: E731
    train = lambda some: {each: curves(each) for each in some}  # noqa: E731
    assert (enough_substeps(train, 0.4, lines.append), len(lines)) == (2, 1)


def test_small_steps_in_single_precision_are_the_same_flow(x64):
    """Rounding of 20 x 8 gradients in single precision, each a few 1e-7 of the loss, is below 1e-4 of it."""
    single = simulation(3, steps=20)[-1]
    single.weights = simulated.SINGLE
    assert single.single(Corner())
    assert len(single.part((1, 2)).rows) == 2
    double = simulation(3, steps=20)[-1]
    for corner in (Corner(), Corner(True, True)):
        here, there = single.run(corner, 2).train, double.run(corner, 2).train
        assert here.dtype == np.float64
        assert 0 < np.abs(here - there).max() < 1e-4 * there[:, :1].max()
    assert (single.run(REAL).train == double.run(REAL).train).all()


def test_sharpness_is_that_of_the_dense_hessian(x64):
    _, drawn, *_ = simulation()
    flat, shaped = jax.flatten_util.ravel_pytree(start_of(drawn, 0))
    loss = lambda w: ((apply(w, X) - Y) ** 2).sum() / 24  # noqa: E731
    dense = np.linalg.eigvalsh(jax.jit(jax.hessian(lambda v: loss(shaped(v))))(flat))[-1]
    assert np.isclose(sharpness(loss, start_of(drawn, 0)), dense, rtol=1e-6)
    few = sharpness(lambda w: (w * np.array([3.0, -9.0, 1.0]) * w).sum() / 2, np.ones(3))
    assert np.isclose(few, 3.0)


@pytest.mark.parametrize("options", [{}, {"optimizer": "nesterov", "momentum": 0.8}])
def test_the_edge_of_descent_is_where_the_recursion_diverges(x64, options):
    training, drawn, *_ = simulation(**options)
    share = Kernel(training, start_of(drawn, 0)).edge
    for factor, grows in ((0.98, False), (1.02, True)):
        rate = 0.1 * factor / share
        training, drawn, rows, simulator = simulation(learning_rate=rate, steps=2000, **options)
        kernel = Kernel(training, start_of(drawn, 0))
        assert np.isclose(kernel.edge, factor)
        assert diverged(kernel.predicted(rows[0], simulator.at).train) == grows


def test_the_corrected_flow_is_right_to_second_order_in_the_rate(x64):
    """A flow leaves a difference of the rate, a corrected one of its square."""
    plain, corrected = [], []
    for rate in (0.1, 0.05):
        simulator = simulation(1, learning_rate=rate, steps=int(8 / rate), weight_decay=0.02)[-1]
        run, flow, better = (
            simulator.run(Corner(True, True, step), 4, corrected=more).train[0, -1]
            for step, more in ((True, False), (False, False), (False, True))
        )
        plain.append(abs(run - flow))
        corrected.append(abs(run - better))
    assert np.allclose(np.log2(np.divide(plain[:-1], plain[1:])), 1, atol=0.25)
    assert np.allclose(np.log2(np.divide(corrected[:-1], corrected[1:])), 2, atol=0.25)


def test_without_the_output_at_the_start_a_network_begins_at_zero(x64):
    training, drawn, *_, simulator = simulation(batch_size=4)
    for corner in (Corner(output=False), REAL._replace(output=False)):
        curves = simulator.run(corner)
        assert np.allclose(curves.train[:, 0], training.loss(0 * Y, Y), rtol=1e-12)
    # With targets moved by that output it is the network itself.
    before = jax.vmap(lambda w: apply(w, X))(drawn)[0]
    *_, other = simulation(1, y=Y + np.asarray(before), batch_size=4)
    assert np.allclose(other.run(REAL).train[0], curves.train[0], rtol=1e-10)
