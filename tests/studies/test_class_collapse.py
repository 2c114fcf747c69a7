import numpy as np
import pytest
from made_up import check, grid, runs
from scipy.integrate import solve_ivp

import foretrain
from foretrain.streams import Seed
from foretrain.studies.class_collapse import study


def pair_loss(points):
    """Sum over pairs of one label, one after the other."""
    number = len(points) // study.CLASSES
    total = 0.0
    for c in range(study.CLASSES):
        own = points[c * number : (c + 1) * number]
        total += sum(((x - y) ** 2).sum() for i, x in enumerate(own) for y in own[:i])
    return total


def test_the_sum_over_pairs_is_the_sum_about_the_means():
    points = np.random.default_rng(0).standard_normal((30, 2))
    within, between, size, means = study.energies(points)
    assert 3 * within == pytest.approx(pair_loss(points), rel=1e-12)
    assert within + between + (30 * (points.mean(0) ** 2).sum()) == pytest.approx(size, rel=1e-12)
    np.testing.assert_allclose(means.sum(0), 0, atol=1e-12)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_closed_form_is_the_flow_of_the_pair_loss(normalised):
    start = np.random.default_rng(1).standard_normal((20, 2)) + 0.3
    number, size = 2, (start**2).sum()
    unit = (size if normalised else 1) / (2 * number)

    def velocity(time, flat):
        points = flat.reshape(20, 2)
        slope = 2 * number * (points - points.reshape(10, 2, 2).mean(1).repeat(2, axis=0))
        if normalised:
            now = (points**2).sum()
            slope = slope / now - 2 * pair_loss(points) / now**2 * points
        return -unit * slope.ravel()

    times = np.linspace(0, 3, 7)
    solved = solve_ivp(velocity, (0, 3), start.ravel(), t_eval=times, rtol=1e-10, atol=1e-12)
    text = study.closed_form(start, np.exp(-times), normalised)
    np.testing.assert_allclose(solved.y.T.reshape(7, 20, 2), text, atol=1e-8)


def test_a_small_run_follows_the_flow_and_its_classes_are_balanced(tmp_path):
    options = {"dynamics": "flow", "learning_rate": 0.1, "per_class": 3, "hidden_width": 8}
    options |= {"steps": 20, "seeds": 2, "out": tmp_path / "a", "quiet": True, "workers": 0}
    result = foretrain.run("class-collapse", **options)
    points = result.simulation["points"].isel(seed=0).values
    decayed = np.exp(-0.1 * result.simulation["step"].values)
    np.testing.assert_allclose(points, study.closed_form(points[0], decayed, True), atol=1e-6)
    assert study.inputs(study.Parameters(per_class=3), Seed(0, 0))["pixels"].shape == (30, 64)


SEEDS, STEP = 10, np.array([0, 50, 100])


def curves(within=0.01, between=1.2, squared_norm=0.9, frame_gap=0.6):
    """Sums that go from 1, that within classes from .2, to shares of it, and how far from a frame it ends; ten seeds."""
    spread = np.linspace(0.95, 1.05, SEEDS)[:, None]
    path = np.linspace(0, 1, STEP.size)
    ends = {"within": within, "between": between, "squared_norm": squared_norm}
    sums = {name: (1 + path * (spread * end - 1)) for name, end in ends.items()}
    sums["within"] *= 0.2
    return runs({}, SEEDS, sums | {"frame_gap": spread * frame_gap * np.ones(3)}, step=STEP)


def flow(normalised, pull=1.0, drift=0.0, shrink=0.0):
    """Points under the closed form, their pull changed, swollen towards the end, or shrunk by a share."""
    starts = np.random.default_rng(0).standard_normal((SEEDS, study.CLASSES * 4, 2)) + 0.5
    decayed = np.exp(-study.FLOW_STEP * pull * STEP)
    points = np.array([study.closed_form(start, decayed, normalised) for start in starts])
    path = np.linspace(0, 1, STEP.size)[:, None, None]
    points = points * (1 + drift * path) * (1 - shrink * path)
    sums = np.array([[study.energies(item)[:3] for item in run] for run in points])
    names = ("within", "between", "squared_norm")
    outcome = {name: sums[..., number] for number, name in enumerate(names)}
    return runs({}, SEEDS, outcome | {"points": points}, step=STEP)


def build(**changed):
    """Networks that do as every sentence says, two of them as their corrected forms say."""
    networks = {
        "": curves(),
        "flow": flow(True),
        "flow_control": flow(False),
        "encoder": curves(squared_norm=20.0),
        "encoder_centred": curves(),
        "encoder_control": curves(squared_norm=0.02),
        "wide": curves(),
        "repelled": curves(frame_gap=0.001),
    }
    return grid(study.Parameters(), {}, SEEDS, networks | changed)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "same-class": {"": curves(within=0.1)},
        "different-classes": {"wide": curves(between=0.9)},
        "flow": {"flow": flow(True, pull=1.001)},
        "control": {},
        "control.corrected": {"flow_control": flow(False, drift=0.01)},
        "encoder-control": {"encoder_control": curves(squared_norm=0.3)},
        "encoder": {},
        "encoder.corrected": {"encoder_centred": curves(between=0.1)},
        "frame": {"wide": curves(frame_gap=0.01)},
    }
    exceptions = {
        "encoder": {"encoder": curves()},
        "control": {"flow_control": flow(False, shrink=0.9)},
    }
    check("class-collapse", build, spoilt, exceptions, drawn=False)
