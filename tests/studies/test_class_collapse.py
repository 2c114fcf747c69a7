import numpy as np
import pytest
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
    centre = 30 * (points.mean(0) ** 2).sum()
    assert within + between + centre == pytest.approx(size, rel=1e-12)
    np.testing.assert_allclose(means.sum(0), 0, atol=1e-12)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_closed_form_is_the_flow_of_the_pair_loss(normalised):
    start = np.random.default_rng(1).standard_normal((20, 2)) + 0.3
    number, size = 2, (start**2).sum()
    unit = (size if normalised else 1) / (2 * number)

    def velocity(time, flat):
        points = flat.reshape(20, 2)
        means = points.reshape(10, 2, 2).mean(1).repeat(2, axis=0)
        slope = 2 * number * (points - means)
        if normalised:
            now = (points**2).sum()
            slope = slope / now - 2 * pair_loss(points) / now**2 * points
        return -unit * slope.ravel()

    times = np.linspace(0, 3, 7)
    solved = solve_ivp(velocity, (0, 3), start.ravel(), t_eval=times, rtol=1e-10, atol=1e-12)
    said = study.closed_form(start, np.exp(-times), normalised)
    np.testing.assert_allclose(solved.y.T.reshape(7, 20, 2), said, atol=1e-8)


def test_a_small_run_follows_the_flow_and_its_classes_are_balanced(tmp_path):
    options = {"dynamics": "flow", "learning_rate": 0.1, "per_class": 3, "hidden_width": 8}
    options |= {"steps": 20, "seeds": 2, "out": tmp_path / "a", "quiet": True, "workers": 0}
    result = foretrain.run("class-collapse", **options)
    points = result.simulation["points"].isel(seed=0).values
    decayed = np.exp(-0.1 * result.simulation["step"].values)
    np.testing.assert_allclose(points, study.closed_form(points[0], decayed, True), atol=1e-6)
    drawn = study.inputs(study.Parameters(per_class=3), Seed(0, 0))
    assert drawn["pixels"].shape == (30, 64)
