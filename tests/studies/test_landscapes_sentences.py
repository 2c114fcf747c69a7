import itertools

import numpy as np
from made_up import check, runs, verdicts

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.landscapes import study

AXES = {"landscape": study.NAMES, "beta": (10.0, 1000.0)}
SEEDS, POINTS = 8, study.Parameters().points


def grid(temperature=lambda value, name, beta: value, volume=1.0, c=0.3):
    """Runs that do as the closed forms say, but for what is done to them; volumes as powers of what they should be."""
    random, none = np.random.default_rng(0), np.zeros(0)
    cells = [
        study.Parameters(landscape=name, beta=beta, c=c)
        for name, beta in itertools.product(*AXES.values())
    ]
    coefficients, shares = [], []
    for p in cells:
        value = float(study.of(p.landscape, c).by_temperature(p.beta))
        value = temperature(value, p.landscape, p.beta)
        coefficients.append(value + 0.004 * random.standard_normal(SEEDS))
        slope = study.predict(p, none)["volume_coefficient"]
        fall = np.exp(-volume * slope * np.log(study.SCALES[1] / study.SCALES[0]))
        counts = np.full((SEEDS, len(study.SCALES)), POINTS)
        for k in range(len(fall) - 1, -1, -1):  # below a scale are some of those below the next
            counts[:, k] = random.binomial(counts[:, k + 1], fall[k])
        shares.append(counts / POINTS)

    def laid(values):
        return np.array(values).reshape(*map(len, AXES.values()), *np.shape(values)[1:])

    made = {"learning_coefficient": laid(coefficients), "share_below": laid(shares)}
    said = [
        study.predict(study.Parameters(landscape=p.landscape, beta=p.beta), none) for p in cells
    ]
    said = {name: laid([one[name] for one in said]) for name in said[0]}
    labels = {"scale": ("scale", study.SCALES)}
    theory = runs(AXES, 0, said, outcome=None)
    return Grid(
        study.Parameters(), AXES, SEEDS, 0, runs(AXES, SEEDS, made, labels=labels), {}, theory
    )


def as_document():
    """A world in which two statements of the document that fail are true."""
    return grid(lambda value, name, beta: 0.5 if name == "cross" else value, c=0.3**0.0625)


def same():
    """Chains that have, at every beta, the lambda(eps) of the scale they are at."""

    def temperature(value, name, beta):
        if name in ("cross", "crossover", "partial"):
            for _ in range(60):
                value = float(study.of(name, 0.3).by_volume(value / beta))
        return value

    return grid(temperature)


def test_every_sentence_can_hold_and_fail():
    good = {said.id: grid for said in catalogue.load("landscapes").sentences}
    check(
        "landscapes",
        good | {"cross": as_document, "crossover": as_document, "same-curve": same},
        {
            "by-temperature": lambda: grid(lambda value, name, beta: value + 0.03),
            "by-volume": lambda: grid(volume=1.05),
            "crossover": grid,
            "crossover.corrected": lambda: grid(c=0.3**0.5),
            "plane": lambda: grid(lambda value, name, beta: 0.9 * value),
            "cross": grid,
            "cross.corrected": lambda: grid(lambda value, name, beta: 0.93 * value),
            "partial": lambda: grid(lambda value, name, beta: value + 0.1),
            "same-curve": grid,
            "same-curve.corrected": lambda: grid(lambda value, name, beta: 1.2 * value),
        },
    )


def test_limits_are_not_what_is_measured():
    (claim, *_) = verdicts("landscapes", grid(), "cross")["cross"]
    assert claim.measured > 1.2
