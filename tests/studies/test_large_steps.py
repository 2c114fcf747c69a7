"""Laws of large steps hold of descent in twenty lines of NumPy; sentences hold where runs obey them, and fail elsewhere."""

from functools import cache

import made_up
import numpy as np
import pytest

import foretrain
from foretrain.claims.claim import FAILS, HOLDS
from foretrain.networks import linear_paths as network
from foretrain.streams import Seed
from foretrain.studies.large_steps import study
from foretrain.theory.pathways import large_steps as theory

SEEDS = 20
AXES = {"depth": (4, 2), "paths": (2,), "relative_step": (1.3, 0.8, 1.6)}
STEP = np.arange(0, 20000, 5000)


def descend(start, depth, relative_step, steps=4000):
    """Participation (seed,), curvature x step / 2 and loss at the end of descent from equal layers."""
    weights, raised = np.repeat(start[..., None], depth, axis=-1), np.zeros(len(start), bool)
    for _ in range(steps):
        shares = weights.prod(-1)
        error = 1 - shares.sum(-1)
        raised |= error**2 / 2 < 1e-7
        step = np.where(raised, relative_step, 0.1) * 2 / depth
        weights = weights + (step * error)[:, None, None] * shares[..., None] / weights
    shares = weights.prod(-1)
    return {
        "participation": theory.participation(shares),
        "edge": relative_step * ((shares[..., None] / weights) ** 2).sum((-2, -1)) / depth,
        "last_loss": (1 - shares.sum(-1)) ** 2 / 2,
    }


def starts(paths, depth):
    p = study.Parameters(paths=paths, depth=depth)
    return np.array(
        [study.inputs(p, Seed(0, seed))["weights"][:, 0, 0, 0] for seed in range(SEEDS)]
    )


def test_no_layers_of_matrices_are_flatter_than_balanced_ones_and_balanced_ones_reach_the_law():
    random, depth, width = np.random.default_rng(0), 4, 3
    for balanced in (False, True):
        weights = random.standard_normal((2, depth, width, width))
        if balanced:
            scale = random.uniform(0.5, 1, (2, 1, 1, 1))
            weights = np.broadcast_to(scale * np.diag([1.0, 0.5, 0.2]), weights.shape)
        whole, shares = np.zeros((width**2, width**2)), []
        for path in weights:
            shares.append(np.linalg.multi_dot(path[::-1])[0, 0])
            for layer in range(depth):
                above, below = np.eye(width), np.eye(width)
                for later in path[layer + 1 :]:
                    above = later @ above
                for earlier in path[:layer]:
                    below = earlier @ below
                whole += np.kron(above @ above.T, below.T @ below)
        excess = np.linalg.eigvalsh(whole)[-1] / theory.sharpness(np.abs(shares), depth) - 1
        assert abs(excess) < 1e-12 if balanced else excess > 0.1


@pytest.mark.parametrize(("paths", "depth", "step"), [(2, 3, 1.1), (4, 4, 1.3), (4, 6, 2.0)])
def test_no_shares_at_the_edge_are_fewer_than_those_of_equal_followers(paths, depth, step):
    shares = np.random.default_rng(0).dirichlet(np.full(paths, 0.5), 200_000)
    stable = shares[theory.sharpness(shares, depth) * step / depth <= 1]
    fewest = theory.participation(stable).min() / theory.least_participation(step, paths, depth)
    assert 1 <= fewest < 1.02


@pytest.mark.parametrize(("paths", "depth", "step"), [(2, 4, 1.3), (4, 4, 1.6), (4, 3, 1.1)])
def test_descent_in_numpy_slides_to_the_edge_and_beyond_the_window_paths_are_equal(
    paths, depth, step
):
    start = starts(paths, depth)
    flow = np.array([theory.shares_of_flow(a, depth) for a in start])
    slid = theory.participation(np.array([theory.slide(p, depth, depth / step) for p in flow]))
    seen = descend(start, depth, step)
    assert abs(seen["participation"] / slid - 1).max() < 0.1
    assert seen["edge"].max() < 1
    assert seen["last_loss"].max() < 1e-6
    calm = descend(start, depth, 0.5, 2000)
    assert abs(calm["participation"] / theory.participation(flow) - 1).max() < 0.05
    if (paths, depth) != (4, 4):  # of these some are not back by then
        wild = descend(start, depth, 1.1 * theory.window(paths, depth), 2000)
        assert abs(wild["participation"] / paths - 1).max() < 1e-3
        assert wild["last_loss"].min() > 1e-4


def test_a_path_that_has_lost_is_back_when_it_is_told_to_be():
    start = starts(2, 6)
    flow = np.array([theory.shares_of_flow(a, 6) for a in start])
    wait = np.array([theory.return_steps(shares, 1.1, 6) for shares in flow])
    back = descend(start, 6, 1.1, 12000)["participation"] > 1.1
    assert back[wait < 4000].all()
    assert not back[wait > 12000].any()
    assert theory.return_steps(flow[0], 2.0, 6) == np.inf
    assert theory.return_steps(flow[0], 0.9, 6) == 0


@cache
def laws():
    return made_up.predictions(study, study.Parameters(), AXES, SEEDS, STEP)


def build():
    """Runs that do as they are told, a little below the edge; matrices that share a little more evenly."""
    law = laws()
    slid = (law["early_edge"] > 0.99) & np.isfinite(law["return_steps"])
    slid[1] = False  # depth two
    runs = {
        "participation": np.where(slid, 1.01, 1) * law["participation"],
        "early_share": law["early_share"],
        "edge": np.where(slid, 0.993, np.minimum(law["early_edge"], 1)),
        "early_edge": law["early_edge"],
        "last_loss": np.where(np.isinf(law["return_steps"]), 0.3, 1e-20),
        "loss": np.linspace(1, 2, SEEDS)[:, None] * 0.1 ** np.arange(4),
        "share": np.repeat(law["early_share"][..., None, :], len(STEP), axis=-2),
    }
    wide = runs | {"participation": np.where(slid, 1.05, 1) * runs["participation"]}
    networks = {"": runs, "matrices": wide, "theory": law}
    return made_up.grid(study.Parameters(), AXES, SEEDS, networks, step=STEP)


def test_every_sentence_can_hold_and_fail():
    more, less = made_up.times(1.2), made_up.times(0.8)
    spoilt = {
        "depth-two": ("participation", made_up.times(1.001)),
        "edge": ("edge", less),
        "told": ("participation", more),
        "settles": ("last_loss", lambda loss: 0 * loss + 1),
        "equal-beyond": ("participation", less),
        "matrices-least": ("matrices/participation", less),
        "participation": ("participation", more),
        "flat": ("participation", more),
        "matrices-slide": ("matrices/participation", more),
    }
    made_up.check("large-steps", build, spoilt, of_diverged={"settles"})


ERRORS = [
    (network, "products", lambda weights, products=network.products: products(weights[:, 1:])),
    (network, "loss", lambda *arguments, loss=network.loss: 1.2 * loss(*arguments)),
    (theory, "sharpness", lambda shares, depth: depth * (shares ** (2 - 1 / depth)).sum(-1)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name", "error"), ERRORS)
def test_another_network_step_or_law_turns_a_headline(module, name, error, tmp_path, monkeypatch):
    cell = {"depth": 4, "paths": 2, "relative_step": 1.3, "steps": 8000, "seeds": 8}
    for verdict in (HOLDS, FAILS):
        result = foretrain.run("large-steps", **cell, out=tmp_path / verdict, quiet=True, workers=0)
        assert {claim.verdict for claim in result.claims if claim.id == "told"} == {verdict}
        monkeypatch.setattr(module, name, error)
