import itertools

import numpy as np
from made_up import check, runs

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.deep_linear_coefficients import claims, study
from foretrain.theory.aoyagi import deep_linear, largest

AXES = {"network": study.NETWORKS, "beta": (1000.0, 100.0)}
SEEDS, STEP = 5, np.array([0, 1000])


def finite(name, beta):
    """About what is sampled: the integral where there is one, else less than the limit as multiplicity says."""
    widths, rank = study.parsed(name)
    if len(widths) == 3 and widths[1] == 1 and rank == 0:
        return claims.integral(widths, beta, 1.0)
    value, m = deep_linear(widths, rank)
    return value * (1 - 0.1 / np.log(beta)) - (m - 1) / np.log(beta) / 4


def grid(change=lambda value, name, beta: value, langevin=1.02):
    """Chains that do as they should, but for what is done to them."""
    random, values = np.random.default_rng(0), []
    for name, beta in itertools.product(*AXES.values()):
        noise = 1 + 0.004 * random.standard_normal(SEEDS)
        values.append(change(finite(name, beta), name, beta) * noise)
    values = np.array(values).reshape(*map(len, AXES.values()), SEEDS, 1) * np.ones(2)
    own, other = (
        runs(AXES, SEEDS, {"sampled_coefficient": by * values}, step=STEP) for by in (1, langevin)
    )
    return Grid(study.Parameters(), AXES, SEEDS, simulation=own, variants={"langevin": other})


def limit(name):
    return deep_linear(*study.parsed(name))


def test_every_sentence_can_hold_and_fail():
    good = {said.id: grid for said in catalogue.load("deep-linear-coefficients").sentences}
    good["langevin.corrected"] = lambda: grid(langevin=1.3)
    check(
        "deep-linear-coefficients",
        good,
        {
            "closed-form": lambda: grid(lambda value, name, beta: 0.85 * value),
            "from-below": lambda: grid(lambda value, name, beta: 1.3 * value),
            "multiplicity": lambda: grid(
                lambda value, name, beta: limit(name)[0] - 1 / limit(name)[1]
            ),
            "at-larger-beta": lambda: grid(lambda value, name, beta: 0.9 * limit(name)[0]),
            "one-unit": lambda: grid(lambda value, name, beta: 1.07 * value),
            "fewer": lambda: grid(lambda value, name, beta: 1.01 * largest(study.parsed(name)[0])),
            "langevin": lambda: grid(langevin=1.08),
            "langevin.corrected": grid,
        },
    )


def test_the_integral_is_the_closed_form_in_the_limit():
    for widths, rank in map(study.parsed, study.NETWORKS):
        if len(widths) == 3 and widths[1] == 1 and rank == 0:
            value, m = deep_linear(widths, 0)
            found = claims.integral(widths, 1e9, 1.0)
            assert abs(found - value) < 2 * (m - 1) / np.log(1e9) + 1e-3
            # Only beta over the square of the pull counts: two layers.
            assert np.isclose(
                claims.integral(widths, 100.0, 1.0), claims.integral(widths, 2500.0, 5.0), rtol=1e-6
            )


def test_thirty_networks_or_more_are_looked_at():
    assert len(study.NETWORKS) >= 30
    assert {limit(name)[1] for name in study.NETWORKS} >= {1, 2}
