"""The optimizers study: the same learning rate for all, published rules, and what a rescaling of time explains."""

import numpy as np
import pytest
from riding import trained

from foretrain.streams import Seed
from foretrain.studies.optimizers import study
from foretrain.theory import published_rules


@pytest.mark.slow
def test_how_components_learn_is_followed_at_every_step():
    p = study.Parameters(
        dimension=6, rank=2, optimizer="adam", steps=30, observe_every=10, precision="float64"
    )
    (run,) = trained(study.program(p), p, [study.inputs(p, Seed(0, 0))], loss_tolerance=0.0)
    target, start = study.draw(p, Seed(0, 0))
    (a, b), weights = target, np.array([start.left.T, start.right.T])
    memory, logs, changes = (0 * weights, 0 * weights), np.zeros(2), np.zeros(2)
    for count in range(1, 31):
        (x, y), old = weights, ((weights[0] @ a) * (weights[1] @ b)).sum(1)
        gap = x.T @ y - a @ b.T
        slope = np.array([2 * y @ gap.T, 2 * x @ gap])
        moved, memory = published_rules.step("adam", weights, slope, memory, count, 0.01, 0.0)
        change = np.abs(((moved[0] @ a) * (moved[1] @ b)).sum(1) - old)
        weights, logs, changes = moved, logs + change * np.log(count), changes + change
    np.testing.assert_allclose(run.finals["log_learning_step"], logs / changes, rtol=1e-6)
    found = study.predict(p, np.arange(0, 31, 10), Seed(0, 0))["loss"]
    np.testing.assert_allclose(run.curves["loss"], found, rtol=1e-6)
    assert set(run.curves) == {"loss"}
    assert run.finals["zero_loss"] == pytest.approx(((a @ b.T) ** 2).sum())
