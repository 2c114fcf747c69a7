"""Polygons of the toy model of superposition: what counts by symmetry, by an exact Hessian and by `foretrain.analyze`."""

import sys
from pathlib import Path

import numpy as np
import pytest

import foretrain

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import superposition as bench


@pytest.mark.parametrize(("k", "counts"), [pytest.param(6, 17, marks=pytest.mark.slow), (5, 14)])
def test_analyze_counts_what_a_rotation_and_dead_columns_leave(k, counts):
    params = bench.polygon(k)
    u, total = (np.arange(4000) + 0.5) / 4000, 0.0
    for axis in np.eye(6):  # the loss in closed form is that of the network
        x = np.outer(u, axis)
        total += ((np.maximum(x @ params["W"].T @ params["W"] + params["b"], 0) - x) ** 2).sum()
    assert float(bench.loss(params)) == pytest.approx(total / 24000, rel=1e-5)
    values, vectors = np.linalg.eigh(bench.curvature(params))
    assert (abs(values[: 18 - counts]) < 1e-8).all()
    assert (values[18 - counts :] > 0.02).all()
    turn = np.concatenate([-params["W"][1], params["W"][0], np.zeros(6)])
    free = np.stack([turn, *np.eye(18)[np.arange(k, 6)[:, None] + [0, 6, 12]].reshape(-1, 18)])
    assert abs(free @ vectors[:, 18 - counts :]).max() < 1e-8
    # Where no neighbour answers, angles are free; a dead column with a bias above zero counts.
    alive = params | {"b": np.where(params["b"] == -1, 0.1, params["b"])}
    few = bench.X[bench.X.max(1) < 0.66]
    for at, x, rank in ((params, bench.X, counts), (params, few, 2 * k), (alive, bench.X, 17)):
        count = foretrain.analyze(bench.apply, at, x, noise_scale=1e-6, seconds=0).jacobian
        assert (count.rank, count.exact) == (rank, True)
