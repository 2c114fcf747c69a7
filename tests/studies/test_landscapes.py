import itertools

import numpy as np
import pytest
from made_up import check, grid, runs

import foretrain
from foretrain.streams import Seed
from foretrain.studies.landscapes import study

AXES = {"landscape": study.NAMES, "beta": (10.0, 1000.0)}
SEEDS, POINTS = 8, study.Parameters().points


@pytest.mark.slow
def test_chains_and_counts_of_a_small_run_find_both_curves(tmp_path):
    options = {"landscape": "partial", "beta": [10.0, 1000.0], "seeds": 6, "quiet": True}
    result = foretrain.run("landscapes", **options, out=tmp_path / "a", workers=1)
    answer = result.simulation["learning_coefficient"].mean("seed")
    np.testing.assert_allclose(answer, result.theory["learning_coefficient"], atol=0.02)


def test_counted_points_are_the_volume():
    p = study.Parameters(landscape="partial")
    exact = 2 * study.SCALES**0.25 - study.SCALES**0.5
    np.testing.assert_allclose(study.measure(p, Seed(0, 0))["share_below"], exact, rtol=0.05)


def build(temperature=lambda value, name, beta: value, c=0.3):
    """Runs that do as the closed forms say, but for what is done to them."""
    random = np.random.default_rng(0)
    cells = [
        study.Parameters(landscape=name, beta=beta, c=c)
        for name, beta in itertools.product(*AXES.values())
    ]
    coefficients, shares, exact = [], [], []
    for p in cells:
        value = float(study.landscape_of(p.landscape, c).by_temperature(p.beta))
        exact.append(value)
        value = temperature(value, p.landscape, p.beta)
        coefficients.append(value + 0.004 * random.standard_normal(SEEDS))
        slope = study.landscape_of(p.landscape, c).by_volume(np.exp(study.BETWEEN))
        fall = np.exp(-slope * np.log(study.SCALES[1] / study.SCALES[0]))
        counts = np.full((SEEDS, len(study.SCALES)), POINTS)
        for k in range(len(fall) - 1, -1, -1):  # below a scale are some of those below the next
            counts[:, k] = random.binomial(counts[:, k + 1], fall[k])
        shares.append(counts / POINTS)

    def laid(values):
        return np.array(values).reshape(*map(len, AXES.values()), *np.shape(values)[1:])

    own = {"learning_coefficient": laid(coefficients), "share_below": laid(shares)}
    theory = runs(AXES, 0, {"learning_coefficient": laid(exact)}, outcome=None)
    labels = {"scale": ("scale", study.SCALES)}
    return grid(study.Parameters(), AXES, SEEDS, {"": own, "theory": theory}, labels=labels)


def same():
    """Chains that have, at every beta, the lambda(eps) of the scale they are at."""

    def temperature(value, name, beta):
        if name in ("cross", "crossover", "partial"):
            for _ in range(60):
                value = float(study.landscape_of(name, 0.3).by_volume(value / beta))
        return value

    return build(temperature)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "crossover": {},
        "crossover.corrected": {"c": 0.3**0.5},
        "cross": {"temperature": lambda value, name, beta: 0.8 * value},
        "at-each-temperature": {"temperature": lambda value, name, beta: 0.93 * value},
        "one-parameter": {"temperature": lambda value, name, beta: 1.05 * value},
        "same-curve": {},
        "same-curve.corrected": {"temperature": lambda value, name, beta: 1.2 * value},
    }
    # A world in which the document's crossover, which fails, is true.
    check("landscapes", build, spoilt, {"crossover": {"c": 0.3**0.0625}, "same-curve": same})
