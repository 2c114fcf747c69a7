"""Every sentence of the optimizers study holds on published rules, fails where it should, and notices mutations."""

import dataclasses
from functools import cache
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from made_up import check, grid, runs, verdicts
from riding import trained

from foretrain.streams import Seed
from foretrain.studies.optimizers import study
from foretrain.theory import published_rules

SEEDS = 8
AXES = {"optimizer": ("sgd", "adam", "adamw"), "init_scale": (1.0, 0.1), "learning_rate": (0.01,)}
STEPS = 800
STEP = np.arange(STEPS + 1)
FORGOTTEN = study.forgetting_steps(study.Parameters(learning_rate=0.01))
LATE = np.union1d(STEP, FORGOTTEN)  # stored steps of AdamW with strong decay


@cache
def _losses(strong: bool = False, **rule):
    """Losses of the published rules along AXES, with other constants where `rule` gives them."""
    curves = []
    for name, scale in product(*list(AXES.values())[:2]):
        p = study.Parameters(optimizer=name, init_scale=scale, learning_rate=0.01, steps=STEPS)
        p = dataclasses.replace(p, weight_decay=rule.get("decay", p.weight_decay))
        if strong:
            p = dataclasses.replace(p, **{**study.variants(p)["strong_decay"], "steps": STEPS})
        study._losses.cache_clear()
        with patch.object(published_rules, "BETAS", rule.get("betas", published_rules.BETAS)):
            curves.append([study._curve(p, STEP, Seed(0, k), True) for k in range(SEEDS)])
    study._losses.cache_clear()
    return np.reshape(curves, (3, 2, 1, SEEDS, -1))


def _late(fall=0.95, beta=0.999):
    """Losses of strong decay at two late steps, falling by that part of what beta_2 forgets, shape (..., 2)."""
    left = [beta**step / (1 - beta**step) for step in FORGOTTEN]
    spread = 1 + 0.01 * np.linspace(-1, 1, SEEDS)
    falls = np.stack([np.ones(SEEDS), (left[1] / left[0]) ** (fall * spread)], -1)
    return np.broadcast_to(1e-5 * falls, (3, 2, 1, SEEDS, 2))


ZERO = {"zero_loss": np.float64(1)}


def _times(sgd=0.5, adam=0.2):
    """Logs of the steps at which three components learn, spread so much under descent and under Adam."""
    distance = 1 + 0.1 * np.linspace(-1, 1, SEEDS)
    spreads = (
        np.array([sgd, adam, adam])[:, None, None, None] * distance * np.ones((3, 2, 1, SEEDS))
    )
    return 6 + spreads[..., None] * [-1, 0.2, 1]


def build(loss=None, names=AXES["optimizer"], late=None, times=None, rank=1):
    """A grid whose runs have these losses, by default those of the published rules; at rank one unless said."""
    axes = {**AXES, "optimizer": names}
    rows = [AXES["optimizer"].index(name) for name in names]
    loss = (_losses() if loss is None else loss)[rows]
    followed = np.concatenate([_losses(True), _late() if late is None else late], -1)[rows]
    learned = (_times() if times is None else times)[rows]
    theory = {"loss": _losses()[rows]}
    if "adamw" in names:
        theory["strong_loss"] = _losses(True)[rows][..., :300]
    networks = {
        "": {"loss": loss, "log_learning_step": learned, **ZERO},
        "double": {"loss": loss},
        "strong_decay": runs(axes, SEEDS, {"loss": followed, **ZERO}, step=LATE),
        "theory": theory,
    }
    p = study.Parameters(
        optimizer=names[0], init_scale=1.0, learning_rate=0.01, steps=2000, rank=rank
    )
    return grid(p, axes, SEEDS, networks, step=STEP)


def _accelerated(factor=5):
    """AdamW as descent that is so many times faster, and nothing else."""
    loss = _losses().copy()
    faster = loss[0][..., ::factor]
    loss[2] = np.nan
    loss[2][..., : faster.shape[-1]] = faster
    return loss


def test_every_sentence_can_hold_and_fail():
    others = [_losses(betas=betas) for betas in ((0.9, 0.99), (0.8, 0.999))]
    others += [_losses(decay=decay) for decay in (0.0, 0.02, 0.1)]
    spoilt = {
        "published-rules": [{"loss": 1.001 * _losses()}, *({"loss": loss} for loss in others)],
        "adamw-just-accelerates": {},
        "adamw-just-accelerates.corrected": {"loss": _accelerated()},
        "adamw-differs": {},
        "adamw-differs.corrected": [{"loss": _losses(decay=decay)} for decay in (0.0, 0.1)],
        # Without decay the loss goes to zero long before: ten times as fast.
        "decay-forgotten": [
            {"late": _late(*fall)} for fall in ((0.95, 0.99), (0.85,), (1.05,), (10.0,))
        ],
        "decay-forgotten.corrected": {"late": _late(beta=0.99)},
        "similar-times": {"rank": 3, "times": _times(0.2, 0.5)},
    }
    strongest = _losses().copy()
    strongest[2] = _losses(True)[2]
    # What the sentence says, where the published rules refute it.
    exceptions = {
        "adamw-just-accelerates": {"loss": _accelerated()},
        "adamw-differs": {"loss": strongest},
        "similar-times": {"rank": 3},
    }
    check("optimizers", build, spoilt, exceptions)


def test_a_pair_that_is_not_there_makes_no_claim():
    for rank in (1, 3):
        assert set(verdicts("optimizers", build(names=("sgd",), rank=rank))) == {"published-rules"}
    claims = verdicts("optimizers", build(names=("sgd", "adamw")))
    assert "adamw-just-accelerates" in claims
    assert "adamw-differs" not in claims


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
    result = study.predict(p, np.arange(0, 31, 10), Seed(0, 0))["loss"]
    np.testing.assert_allclose(run.curves["loss"], result, rtol=1e-6)
    assert set(run.curves) == {"loss"}
    assert run.finals["zero_loss"] == pytest.approx(((a @ b.T) ** 2).sum())
