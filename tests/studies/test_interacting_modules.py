import jax
import numpy as np
from made_up import check, grid

from foretrain.streams import Seed
from foretrain.studies.interacting_modules import chains, measurement, study

AXES, SEEDS = study.AXES, 8


def test_ranks_of_constrained_losses_are_those_of_what_the_second_module_can_undo():
    for activation, excess in {"relu": 2, "identity": 6, "tanh": 0}.items():
        ranks = {}
        for part in study.PARTS:
            p = study.Parameters(part=part, activation=activation)
            ranks |= {part: measurement.measure(p, Seed(0, 0))["constrained_rank"]}
        assert ranks["first, held"] + ranks["second"] - ranks["both"] == excess
        assert ranks["both, apart"] == ranks["first"] + ranks["second, apart"]


def test_the_constrained_loss_adds_the_mean_square_changes_of_the_mediators():
    with jax.enable_x64(True):
        bound, free = (
            chains.posterior(study.Parameters(part=part, strength=0.7), Seed(0, 0))
            for part in ("first, held", "first")
        )
        origin = bound.params
        w = origin + 0.1 * np.random.default_rng(0).standard_normal(len(origin))
        loss = [float(chains.losses(w, around.data)[0]) for around in (bound, free)]
    x = bound.data["x"][0]
    first = [np.maximum(x @ v[4:20].reshape(4, 4).T + v[:4], 0)[:, :2] for v in (w, origin)]
    moved = 0.7**2 * ((first[0] - first[1]) ** 2).sum(1).mean()
    np.testing.assert_allclose(loss[0], loss[1] + moved, rtol=1e-6)


def build(relu=2, identity=6, tanh=0, each=1, distance=0.0):
    """Effective parameters of the parts, as much too much by activation."""
    noise = 0.02 * np.random.default_rng(3).standard_normal((len(study.PARTS), 3, SEEDS))
    whole = [20, 20 + 2 * each, 30, 50 + 2 * each, 28, 48 + distance]
    table = np.subtract.outer(whole, np.zeros(3))
    table[3] -= (relu, identity, tanh)
    own = {"learning_coefficient": (table[..., None] + noise) / 2}
    return grid(study.Parameters(), AXES, SEEDS, {"": own})


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "additive": {"distance": 2},
        "one-each": {"each": 2},
        "constrained-sum": {},
        "constrained-sum.corrected": {"relu": 0},
        "linear-sum": {"tanh": 1},
    }
    check("interacting-modules", build, spoilt, {"constrained-sum": {"relu": 0}})
