"""A network explained: the whole from its description to its tables."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import foretrain
from foretrain.claims.interval import interval
from foretrain.errors import ForetrainError
from foretrain.explain import explain
from foretrain.explain.kernel import kernel_prediction, kernel_recursion
from foretrain.explain.kernel.kernel_prediction import verdict
from foretrain.explain.shares import shapley_shares
from foretrain.explain.simulated import Corner, corner_name, simulator_of

RANDOM = np.random.default_rng(0)
X, X_TEST = RANDOM.standard_normal((12, 4)), RANDOM.standard_normal((6, 4))
Y, Y_TEST = np.sin(X[:, :1]), np.sin(X_TEST[:, :1])
OPTIONS = {"learning_rate": 0.2, "steps": 60, "batch_size": 4, "seeds": 3, "x_test": X_TEST, "y_test": Y_TEST}  # fmt: skip
SETS = [frozenset(part) for part in ((), ("layers",), ("step",), ("layers", "step"))]


def apply(w, x):
    return jax.nn.relu(x @ w["in"]) @ w["out"]


def init(key, width=12):
    item, two = jax.random.split(key)
    out = jax.random.normal(two, (width, 1)) / width**0.5
    return {"in": jax.random.normal(item, (4, width)) / 2, "out": out}


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    lines, out = [], tmp_path_factory.mktemp("explained")
    answer = foretrain.explain(apply, init, X, Y, **OPTIONS, tell=lines.append, out=out)
    assert [line.split()[0] for line in lines[:2]] == ["First", "Said"]
    assert answer.folder == out
    return answer


def test_kernels_of_a_part_of_the_examples_leave_the_prediction_as_it_is(answer, monkeypatch):
    """Five of twelve: the curves are those of the linearised network, and the kernel moves by about as much."""
    monkeypatch.setattr(kernel_recursion, "LARGEST", 8 * 3 * 5**2)
    part = foretrain.explain(apply, init, X, Y, **OPTIONS, out=answer.folder)
    assert part.kernel_examples == 5
    assert "How far the kernel moved is read off 5 of 12 examples." in str(part)
    for name in ("train", "test", "along"):
        ours, whole = (getattr(item.prediction, name) for item in (part, answer))
        np.testing.assert_allclose(ours, whole, rtol=1e-9)
    assert part.checks.recursion is None
    assert 0.5 < part.regime.movement.measured / answer.regime.movement.measured < 2


def test_it_checks_itself(answer):
    assert answer.checks.closed < 0.005
    assert answer.checks.recursion < 1e-12
    assert answer.checks.run < 1e-9


def test_starts_are_added_while_an_interval_leaves_the_answer_open(monkeypatch, tmp_path):
    """Of a large network one start after the other; the curves are those of all starts together."""
    looks, lines = iter([False, True]), []
    monkeypatch.setattr(explain, "_settled", lambda *_: next(looks))
    each = lambda runs, _, number, start=explain._Starts: start(runs, 1, number)  # noqa: E731
    monkeypatch.setattr(explain, "_Starts", each)
    options = {"learning_rate": 0.2, "steps": 6}
    more = foretrain.explain(apply, init, X, Y, **options, tell=lines.append, out=tmp_path)
    assert (more.starts, len(more.prediction.train), len(more.prediction.along)) == (8, 8, 4)
    screens = [line.split(":")[0] for line in lines if line.startswith("After")]
    assert screens == [f"After {n} start{'s' * (n > 1)}" for n in range(1, 8)]
    together = simulator_of(more.training, 8).run(more.run).train
    np.testing.assert_allclose(more.train[more.run], together, rtol=1e-9)
    # Before training, where the mean of the correction says that the kernel will do and its interval does not.
    monkeypatch.setattr(kernel_prediction, "WILL_DO", 1.01 * more.prediction.correction.measured)
    monkeypatch.setattr(explain, "_settled", lambda *_: True)
    for seeds, number in ((None, 8), (6, 6), (4, 4)):
        more = foretrain.explain(apply, init, X, Y, **options, seeds=seeds)
        assert (more.starts, len(more.prediction.along)) == (number, number)


def test_what_is_open_is_which_cause_is_first_whether_there_is_a_gap_and_the_regime(answer):
    def settled(gap=0.2, step=0.1, move=1.0):
        starts = np.array([[0.9], [1.0], [1.1], [1.2]])
        parts = {"layers": 0.2 * gap * starts[::-1], "step": step * gap * starts}
        game = {part: sum((-parts[name] for name in part), np.full((4, 1), 0.5)) for part in SETS}
        shares = shapley_shares(game, [*parts], np.ones(4))
        moved = interval(move * starts[:, 0])
        return explain._settled(shares, replace(answer.regime, movement=moved))

    assert settled()
    assert not settled(step=0.2)
    assert not settled(gap=0.00794)
    assert not settled(move=0.4)


def test_more_small_steps_than_were_reckoned_with_bring_a_new_time(monkeypatch, tmp_path):
    lines, options = [], {"learning_rate": 0.2, "steps": 6, "seeds": 2, "out": tmp_path}
    monkeypatch.setattr(explain, "enough_substeps", lambda *_: 4.0)
    foretrain.explain(apply, init, X, Y, **options, tell=lines.append)
    (line,) = (line for line in lines if line.startswith("With 4 small steps a step"))
    assert "takes longer. Time: about" in line


def test_the_parts_add_up_to_the_gap(answer):
    for shares, curves in ((answer.shares, answer.train), (answer.test_shares, answer.test)):
        whole = sum(item.values for item in shares.causes)
        assert np.allclose(whole, shares.gap, rtol=0, atol=1e-12)
        first = curves[answer.run][:, :1]
        gap = (curves[answer.run] - curves[Corner()]) / first
        below = (curves[answer.run] <= first) & (curves[Corner()] <= first)
        assert below.mean() > 0.5
        assert np.allclose(shares.gap[below], gap[below], atol=1e-12)


def test_tables_and_data_say_the_same(answer):
    words = str(answer)
    for name in ("layers learn together", "gates move", "the step's size", "minibatches"):
        assert name in words
    message = json.loads(json.dumps(answer.as_dict()))
    assert set(message["causes"]) == {"layers", "gates", "step", "batches"}
    assert sum(item["share"][0] for item in message["causes"].values()) == pytest.approx(100)
    data = answer.dataset()
    run = corner_name(answer.training, answer.run)
    np.testing.assert_array_equal(data["loss"].sel(corner=run), answer.train[answer.run])
    assert len(answer.answer().tables[0].rows) == 8
    face = answer._repr_html_()
    assert face.index("data:image/png;base64,iVBOR") < face.index("<table")
    assert max(map(len, answer.answer().text(80).splitlines())) <= 80


def test_the_figures_are_legible(answer):
    from legible import troubles

    from foretrain.figures.style import style

    with style():
        for draw in answer.answer().drawings.values():
            assert troubles(draw().figure) == []
        assert answer.plot() is not None


def test_the_kernel_will_do_where_the_whole_interval_of_its_correction_says_so():
    """A mean of .03 with an interval up to .06 was once enough."""
    will = {(0.03, 0.031, 0.029): True, (0.03, 0.05, 0.01): False, (0.03,): True, (0.2, 0.3): False}
    for values, expected in will.items():
        assert (verdict(interval(np.array(values))) == "will do") == expected


def test_a_linear_model_has_nothing_to_explain():
    linear = lambda w, x: x @ w, lambda key: jax.random.normal(key, (4, 1))
    answer = foretrain.explain(*linear, X, Y, learning_rate=1e-4, steps=20, seeds=2)
    assert answer.shares.causes == ()
    assert "there is nothing to take apart" in str(answer)
    assert answer.prediction.verdict == "will do"
    assert answer.regime.name == "lazy"
    assert answer.test is None


def test_a_linearised_network_that_diverges_predicts_no_curve():
    """At this rate one start is below the edge, one diverges, from one the network comes back but its kernel does not."""

    def smooth(w, x):
        return jnp.tanh(x @ w["in"]) @ w["out"]

    answer = foretrain.explain(smooth, init, X, Y, learning_rate=1.0, steps=60, seeds=3)
    assert answer.prediction.verdict == "diverges"
    assert answer.prediction.edge.measured > 1
    assert "no curve is predicted" in str(answer)
    assert "From 1 start the network itself diverges" in str(answer)
    assert ("predicted: kernel, own steps", "diverges", "") in answer.answer().tables[0].rows
    assert all(np.isfinite(item.values).all() for item in answer.shares.causes)
    assert np.isfinite(answer.regime.movement.measured)
    assert answer.plot() is not None


def test_clipped_steps_of_adam_are_explained_and_not_predicted():
    options = {"learning_rate": 0.03, "steps": 30, "optimizer": "adam", "clip": 0.1, "seeds": 2}
    answer = foretrain.explain(apply, init, X, Y, **options)
    assert "all examples in a step, gradients clipped to 0.1; 2 starts." in str(answer)
    assert "clipped steps are no recursion of the kernel: explained, not predicted." in str(answer)
    assert {item.name for item in answer.shares.causes} == {"layers", "gates"}
    assert answer.prediction is None
    assert answer.checks.run < 1e-9


def test_a_network_that_diverges_from_every_start_is_refused():
    with pytest.raises(ForetrainError, match="The network itself diverges from every start"):
        foretrain.explain(apply, init, X, Y, learning_rate=50.0, steps=200, seeds=2)


@pytest.mark.slow
def test_cross_entropy_with_momentum_decay_and_a_schedule_is_explained():
    def drawn(key):
        item, two = jax.random.split(key)
        return {"in": jax.random.normal(item, (4, 8)), "out": jax.random.normal(two, (8, 3)) / 3}

    answer = foretrain.explain(
        apply, drawn, X, np.arange(12) % 3, learning_rate=lambda step: 0.1 / (1 + step / 20), steps=30, batch_size=4,
        loss="cross_entropy", optimizer="momentum", weight_decay=0.01, seeds=2,
    )  # fmt: skip
    assert answer.checks.closed is None
    assert answer.checks.recursion < 1e-12
    assert answer.checks.run < 1e-9
    assert "the step's size and momentum" in str(answer)
    assert "at rate 0.1 to 0.0" in str(answer)
