"""The toy model: its loss, its gradient and its steps against direct formulas, and what must not change a run."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_toy import SEED, SMALL, check_first_gradient, finals, inputs_of, observed, trained

import foretrain
from foretrain.errors import ArgumentError
from foretrain.networks import embedding as network
from foretrain.plans.define import define
from foretrain.streams import Seed
from foretrain.studies.parallelograms.study import Parameters
from foretrain.theory.grokking import parallelograms
from foretrain.training import embedding as toy
from foretrain.training.phases import PHASES, ends

FIG_2 = {"objective": "classification", "activation": "leaky_relu", "init_law": "normal"}
MODULO = {"operation": "cyclic", "symbols": 7, "training_size": 15, "embedding_dim": 2}
CASES = {
    "regression": SMALL,
    "classification": replace(SMALL, objective="classification"),
    "two dimensions": replace(SMALL, embedding_dim=2, parallelogram_tolerance=0.4),
    "modulo": Parameters(**vars(SMALL) | FIG_2 | MODULO),
    "matrices": replace(
        SMALL,
        operation="symmetric",
        symbols=6,
        embedding_dim=2,
        training_size=24,
        parallelogram_tolerance=0.5**0.5,
    ),
}
THRESHOLDS = ("train_accuracy", "validation_accuracy", "rqi")
FIRST = ("train_step", "validation_step", "rqi_step")


def direct(p, inputs, state):
    """Loss, accuracies and shares of parallelograms of a state, by their definitions."""
    task, embedding = toy.operation(p), np.asarray(state.embedding)
    w1, b1, w2, b2, w3, b3 = map(np.asarray, network.turned(state.decoder))
    left, right = embedding[task.samples.T]
    if task.commutative:
        joined = left + right
    else:
        square = (-1, p.embedding_dim, p.embedding_dim)
        joined = (left.reshape(square) @ right.reshape(square)).reshape(left.shape)
    active = np.tanh if p.activation == "tanh" else lambda x: np.where(x > 0, x, 0.01 * x)
    outputs = active(active(joined @ w1 + b1) @ w2 + b2) @ w3 + b3
    training, targets = np.asarray(inputs["training"]) > 0, np.asarray(inputs["targets"])
    if p.objective == "regression":
        loss = ((outputs - targets[task.labels]) ** 2)[training].mean()
        answers = ((outputs[:, None] - targets) ** 2).sum(2).argmin(1)
    else:
        odds = np.exp(outputs) / np.exp(outputs).sum(1, keepdims=True)
        loss = -np.log(odds[np.arange(len(outputs)), task.labels])[training].mean()
        answers = outputs.argmax(1)
    right = answers == task.labels
    first, second = parallelograms.parallelograms(task)[1].T
    if task.commutative:
        closed = parallelograms.parallelograms_of(embedding, task, p.parallelogram_tolerance)
    else:
        distance = joined[first] - joined[second]
        closed = (distance**2).mean(1) < (p.parallelogram_tolerance * (embedding**2).mean()) ** 2
    gap = ((outputs[first] - outputs[second]) ** 2).mean(1)
    return {
        "loss": loss,
        "train_accuracy": right[training].mean(),
        "validation_accuracy": right[~training].mean(),
        "rqi": closed.mean(),
        "decoder_rqi": (gap < p.parallelogram_tolerance**2 * outputs.var(0).mean()).mean(),
        "predicted_accuracy": parallelograms.predicted_accuracy(task, training, closed),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_observed_is_what_its_definitions_say(name, x64):
    p = replace(CASES[name], decoder_learning_rate=3e-3)
    inputs = inputs_of(p)
    for steps in (0, 60):
        state = trained(p, steps, inputs)
        result = observed(p, inputs, state)
        for variable, expected in direct(p, inputs, state).items():
            assert float(result[variable]) == pytest.approx(expected, rel=1e-12), variable
        np.testing.assert_array_equal(result["embedding"], state.embedding)


@pytest.mark.parametrize("name", CASES)
def test_a_step_takes_the_gradient_that_finite_differences_give(name, x64):
    p = CASES[name]
    inputs = inputs_of(p)
    check_first_gradient(p, inputs, lambda state: direct(p, inputs, state)["loss"])


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"training_size": 50}, {"training_size": 20, "batch_size": 7}])
def test_a_wide_network_takes_the_same_steps_though_some_samples_have_no_slope(
    values, x64, monkeypatch
):
    p = replace(SMALL, decoder_learning_rate=3e-3, objective="classification", **values)
    inputs = inputs_of(p)
    narrow = trained(p, 40, inputs)
    monkeypatch.setattr(toy, "WIDE", 1)
    assert toy.program(p).in_turn
    for item, other in zip(*map(jax.tree.leaves, (narrow, trained(p, 40, inputs))), strict=True):
        if not jnp.issubdtype(item.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(other, item, rtol=1e-9, atol=1e-13)


@pytest.mark.slow
def test_first_steps_are_those_of_every_single_step_whatever_is_observed(x64):
    p = replace(CASES["classification"], accuracy_threshold=0.5, rqi_threshold=0.4)
    p = replace(p, decoder_learning_rate=0.01, embedding_learning_rate=0.01)
    inputs = inputs_of(p)
    step = jax.jit(toy.program(p).step)
    state, seen = trained(p, 0, inputs), []
    for _ in range(120):
        result = observed(p, inputs, state)
        train, validation, rqi = (float(result[name]) for name in THRESHOLDS)
        seen.append([train >= 0.5, validation >= 0.5, rqi > 0.4])
        state = step(inputs, state)
    assert all(any(column) and not column[0] for column in zip(*seen, strict=True))
    expected = np.argmax(seen, axis=0)
    final = finals(p, inputs, state)
    np.testing.assert_array_equal([final[name] for name in FIRST], expected)
    # A threshold that is reached by the last step counts, one reached by the next does not.
    reached = int(expected[0])
    assert float(finals(p, inputs, trained(p, reached, inputs))["train_step"]) == reached
    assert np.isnan(finals(p, inputs, trained(p, reached - 1, inputs))["train_step"])


@pytest.mark.parametrize(
    ("first", "phase"),
    [
        ((10, 1009, 5), "comprehension"),
        ((10, 1010, 5), "grokking"),
        ((3000, 10, 5), "comprehension"),
        ((10, -1, -1), "memorization"),
        ((-1, -1, 7), "confusion"),
    ],
)
def test_the_phase_is_that_of_the_table(first, phase):
    result = ends(jnp.asarray(first), toy.DELAY, jnp.float32)
    assert PHASES[int(result["phase"])] == phase
    expected = [step if step >= 0 else np.nan for step in first]
    np.testing.assert_equal([float(result[name]) for name in FIRST], expected)


def test_a_batch_holds_so_many_training_samples_and_each_as_often(x64):
    p = replace(SMALL, training_size=6, batch_size=2, symbols=4)
    inputs = inputs_of(p)

    def slope(p):
        program = toy.program(p)
        step = jax.jit(lambda inputs: program.step(inputs, program.init(inputs)))
        return lambda **other: np.ravel(step({**inputs, **other}).embedding_memory[0].mu)

    alone = np.eye(10)[np.flatnonzero(inputs["training"])]
    full, drawn = slope(replace(p, batch_size=0)), slope(p)
    of_one = np.array([full(training=who) for who in alone])
    pairs = [(a, b) for a in range(6) for b in range(a)]
    of_pairs = np.array([of_one[list(pair)].mean(0) for pair in pairs])
    counts = np.zeros(6)
    for seed in range(60):
        gap = np.abs(of_pairs - drawn(seed=np.uint32(seed))).max(1)
        assert gap.min() < 1e-15, "the gradient is the mean of those of two training samples"
        counts[list(pairs[gap.argmin()])] += 1
    # 60 batches of 2 out of 6: 20 each, with standard deviation 3.7.
    assert np.abs(counts - 20).max() < 15


@pytest.mark.slow
def test_runs_end_when_both_accuracies_are_reached(tmp_path):
    parts = {name: getattr(toy, name) for name in ("program", "inputs", "shared", "labels")}
    study = define("toy", Parameters=toy.Toy, **parts)
    p = {"steps": 400, "hidden_width": 24, "decoder_learning_rate": 0.01, "observe_every": 50}
    options = {"seeds": 2, "workers": 0, "quiet": True, "out": tmp_path / "a"}
    data = foretrain.run(study, accuracy_threshold=0.3, **p, **options).simulation
    latest = data[["train_step", "validation_step"]].to_array().max("variable", skipna=False)
    assert latest.min() < 350
    ended = np.maximum(np.ceil(latest / 50), 1) * 50
    np.testing.assert_array_equal(data["steps_taken"], ended.fillna(400))


def test_one_seed_has_one_start_and_its_training_sets_are_nested():
    small, large = (toy.inputs(replace(SMALL, training_size=n), SEED) for n in (10, 40))
    assert small["training"].sum() == 10
    assert large["training"].sum() == 40
    assert (small["training"] <= large["training"]).all()
    scaled = toy.inputs(replace(SMALL, init_scale=3.0), SEED)
    np.testing.assert_array_equal(scaled["embedding"], 3 * small["embedding"])
    for name in ("weight_2", "targets"):
        np.testing.assert_array_equal(small[name], large[name])
    assert np.abs(toy.inputs(SMALL, Seed(0, 2))["embedding"] - small["embedding"]).max() > 0.01
    for name, fan in (("weight_1", 1), ("bias_2", 12), ("weight_3", 12)):
        assert 0.8 < np.abs(small[name]).max() * fan**0.5 <= 1


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"training_size": 56}, "`training_size` must be between 1 and 55, but is 56"),
        ({"batch_size": 46}, "`batch_size` must be 0, or at most `training_size` = 45, but is 46"),
        ({"operation": "symmetric"}, "`symbols` must be 2, 6, 24 or 120 for `symmetric`"),
        ({"ordered": True}, "`ordered` must go with operation `cyclic`, but that is `addition`"),
    ],
)
def test_sizes_that_cannot_be_are_refused_by_name(values, match):
    with pytest.raises(ArgumentError, match=match):
        toy.check(replace(SMALL, **values))


@pytest.mark.parametrize("values", [{"training_size": 55}, {"symbols": 2, "training_size": 2}])
def test_without_validation_samples_or_parallelograms_all_of_them_are_right(values):
    p = replace(replace(SMALL, precision="float32"), **values)
    inputs = inputs_of(p)
    result = observed(p, inputs, trained(p, 3, inputs))
    assert all(np.isfinite(value).all() for value in result.values())
    assert float(result["validation_accuracy" if p.symbols == 10 else "rqi"]) == 1


def test_a_tie_is_no_right_answer_and_the_nearest_target_need_not_be_the_longest(x64):
    targets = np.array([[1.0, 0.0], [3.0, 0.0]])
    chosen = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    outputs = np.array([[1.9, 5.0], [2.0, 0.0], [2.1, 0.0], [-9.0, 0.0]])
    np.testing.assert_array_equal(network.right_answers(outputs, targets, chosen), [1, 0, 1, 0])
