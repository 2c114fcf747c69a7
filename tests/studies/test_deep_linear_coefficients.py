import itertools

import numpy as np
import pytest
from made_up import check, grid, runs

import foretrain
from foretrain.streams import Seed
from foretrain.studies.deep_linear_coefficients import measurement, study
from foretrain.theory.aoyagi import deep_linear
from foretrain.theory.reduced_rank import coefficient_at

AXES = {"network": study.NETWORKS, "beta": (1000.0, 100.0)}
SEEDS = 5


@pytest.mark.slow
def test_chains_of_a_network_with_one_unit_have_its_integral(tmp_path):
    options = {"network": "4-1-3 r0", "beta": 100.0, "seeds": 6, "quiet": True, "workers": 1}
    result = foretrain.run("deep-linear-coefficients", **options, out=tmp_path / "a")
    answer = result.simulation["learning_coefficient"]
    assert float(answer.mean()) == pytest.approx(coefficient_at([4, 1, 3], 100.0, 1.0), rel=0.05)


def test_layers_that_are_not_there_are_the_identity_and_do_not_move():
    around = study.posterior(study.Parameters(network="5-3-4 r2"), Seed(0, 0))
    assert around.moving.sum() == 15 + 12
    first, second, third = around.params
    assert np.linalg.matrix_rank(second @ first) == 2
    np.testing.assert_array_equal(third, np.eye(8))
    assert around.start_loss == 0


@pytest.mark.slow
def test_langevin_steps_without_correction_are_too_hot():
    p = study.Parameters(network="5-3-5 r0", beta=1000.0)
    values = [
        measurement.measure(p, Seed(0, number))["langevin_coefficient"] for number in range(3)
    ]
    assert 1.03 < np.mean(values) / coefficient_at([5, 3, 5], 1000.0) < 1.3


def limit(name):
    return deep_linear(*study.parsed(name))


def finite(name, beta):
    """About what is sampled: the determinant where there is one, else less than the limit as multiplicity says."""
    widths, rank = study.parsed(name)
    if len(widths) == 3 and rank == 0:
        return coefficient_at(widths, beta)
    value, m = limit(name)
    return value * (1 - 0.1 / np.log(beta)) - (m - 1) / np.log(beta) / 4


def build(change=lambda value, name, beta: value, langevin=1.02):
    """Chains that do as they should, but for what is done to them."""
    random = np.random.default_rng(0)
    cells = list(itertools.product(*AXES.values()))
    shape = tuple(map(len, AXES.values()))
    values = [change(finite(name, beta), name, beta) for name, beta in cells]
    values = np.reshape(values, (*shape, 1)) * random.normal(1, 0.004, (*shape, SEEDS))
    exact = np.reshape([limit(name) for name, _ in cells], (*shape, 2))
    text = {"limit": exact[..., 0], "learning_coefficient": exact[..., 0]}
    text |= {"multiplicity": exact[..., 1].astype(int)}
    own = {"learning_coefficient": values, "langevin_coefficient": langevin * values}
    networks = {"": own, "theory": runs(AXES, 0, text, outcome=None)}
    return grid(study.Parameters(), AXES, SEEDS, networks)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "closed-form": lambda: build(lambda value, name, beta: 0.85 * value),
        "from-below": lambda: build(lambda value, name, beta: 1.3 * value),
        "multiplicity": lambda: build(lambda _, name, beta: limit(name)[0] - 1 / limit(name)[1]),
        # At the larger beta two layers at zero miss what one determinant says: nothing missing there is no logarithm.
        "at-larger-beta": [
            lambda: build(lambda value, name, beta: 0.9 * limit(name)[0]),
            lambda: build(lambda _, name, beta: limit(name)[0] * (1 if beta > 100 else 0.95)),
        ],
        "finite-beta": lambda: build(lambda value, name, beta: 1.07 * value),
        "langevin": {"langevin": 1.08},
        "langevin.corrected": {},
    }
    check("deep-linear-coefficients", build, spoilt, {"langevin.corrected": {"langevin": 1.12}})
