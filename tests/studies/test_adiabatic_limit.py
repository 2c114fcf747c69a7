import dataclasses

import numpy as np
import pytest
from made_up import check, grid
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import foretrain
from foretrain.streams import Seed
from foretrain.studies.adiabatic_limit import study

SMALL = {"samples": 3, "dimension": 2, "output_dim": 5, "steps": 40}


def test_a_run_is_the_flow_of_the_loss_whatever_the_ratio(tmp_path):
    options = SMALL | {"rate_ratio": [0.0, 0.5], "weight_decay": 0.1, "seeds": 1}
    options |= {"out": tmp_path / "a", "quiet": True, "workers": 0}
    result = foretrain.run("adiabatic-limit", **options)
    drawn = study.inputs(study.Parameters(**SMALL), Seed(0, 0))
    shapes = (5, 2), (5,), (3, 2)

    def velocity(time, flat, ratio):
        weights, bias, points = (
            part.reshape(shape)
            for part, shape in zip(np.split(flat, (10, 15)), shapes, strict=True)
        )
        error = points @ weights.T + bias - drawn["label"]
        slope = -ratio * (error.T @ points / 3 + 0.1 * weights), -ratio * error.mean(0)
        return np.concatenate([part.ravel() for part in (*slope, -error @ weights)])

    start = np.concatenate([drawn["map"].ravel(), np.zeros(5), drawn["points"].ravel()])
    for ratio in (0.0, 0.5):
        solved = solve_ivp(velocity, (0, 2), start, args=(ratio,), rtol=1e-10, atol=1e-12)
        points = solved.y[15:, -1].reshape(3, 2)
        run = result.simulation.sel(rate_ratio=ratio).isel(seed=0, step=-1)
        np.testing.assert_allclose(run["deviations"], points - points.mean(0), atol=1e-7)
    still = result.simulation.sel(rate_ratio=0.0).isel(seed=0)
    text = result.theory.sel(rate_ratio=0.0).isel(seed=0)
    np.testing.assert_allclose(still["deviations"], text["deviations"], atol=1e-8)


@pytest.mark.parametrize("outputs", [1, 2, 7])
def test_theory_at_ratio_zero_is_the_propagator_of_the_frozen_map_whatever_its_shape(outputs):
    p = study.Parameters(samples=3, dimension=4, output_dim=outputs, rate_ratio=0.0)
    drawn, step = study.inputs(p, Seed(0, 0)), np.array([0, 7, 60])
    first = drawn["points"] - drawn["points"].mean(0)
    rate = drawn["map"].T @ drawn["map"]
    expected = [first @ expm(-rate * k * p.learning_rate) for k in step]
    np.testing.assert_allclose(
        study.predict(p, step, Seed(0, 0))["deviations"], expected, atol=1e-12
    )


def test_shared_embeddings_do_not_follow_the_energy_of_pairs():
    """Symbols 0 to 3 under addition, map frozen and isotropic: a pair that shares no symbol is moved by other samples."""
    random = np.random.default_rng(0)
    samples = np.array([(i, j) for i in range(4) for j in range(i, 4)])
    counts = np.array([np.bincount(pair, minlength=4) for pair in samples])
    labels = random.standard_normal((7, 3))[samples.sum(1)]
    embedding = random.standard_normal((4, 3))
    velocities = counts @ -(counts.T @ (counts @ embedding - labels))
    first, second = (samples.tolist().index(list(pair)) for pair in ((0, 3), (1, 2)))
    points = counts @ embedding
    gap, velocity = points[first] - points[second], velocities[first] - velocities[second]
    own = -2 * gap  # what these two samples do to each other: each holds two symbols
    assert np.linalg.norm(velocity - own) > np.linalg.norm(own) / 2


AXES = {"rate_ratio": (0.003, 0.01, 0.03), "output_dim": (32, 128, 512)}
SEEDS, STEP = 10, np.arange(0, 101, 5)


def build(ratio_power=1.0, width_power=-0.5, gap=0.0, bias=None, bias_power=1.0):
    """Runs that err from theory as powers of ratio and width; b as the document says where `bias` is so."""
    p, time = study.Parameters(), STEP * 0.05
    start = np.random.default_rng(0).standard_normal((SEEDS, 6, 4))
    start -= start.mean(1, keepdims=True)
    spread = np.linspace(0.95, 1.05, SEEDS)
    first = np.exp(-time)[:, None, None] * start[:, None]
    curve = (time * np.exp(-time))[:, None, None] * start[:, None] * spread[:, None, None, None]
    outcome, text, learned, message = [], [], [], []
    for ratio in AXES["rate_ratio"]:
        for width in AXES["output_dim"]:
            text.append(first + 0.5 * width**width_power * curve)
            outcome.append(text[-1] + 0.01 * ratio**ratio_power * curve)
            document = -np.expm1(-ratio * time)
            message.append(
                np.broadcast_to(document if bias else 1.3 * document, (SEEDS, time.size))
            )
            learned.append(message[-1] * (1 + ratio**bias_power * spread[:, None] / 100))
    laid = lambda parts: np.array(parts).reshape(3, 3, SEEDS, *np.shape(parts[0])[1:])  # noqa: E731
    simulation = {"deviations": laid(outcome), "learned_bias": laid(learned)}
    simulation["pair_gap"] = np.full(STEP.size, gap)
    theory = {"deviations": laid(text), "learned_bias": laid(message)}
    p = dataclasses.replace(p, rate_ratio=0.003, output_dim=32)
    networks = {"": simulation, "theory": theory}
    return grid(p, AXES, SEEDS, networks, step=STEP, labels={"time": ("step", time)})


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "pairs": {"gap": 1e-6},
        "bias": {},
        "bias.corrected": {"bias_power": 0.5},
        "frozen": {"ratio_power": 1.5},
        "isotropic": {"width_power": -1.0},
    }
    check("adiabatic-limit", build, spoilt, {"bias": {"bias": True}})
