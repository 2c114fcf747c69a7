import itertools

import numpy as np
from made_up import check, runs, verdicts

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.landscapes import study

AXES = {"landscape": study.NAMES, "beta": (10.0, 1000.0)}
SEEDS, STEP = 8, np.array([0, 1600])
THROWN = 1600 * study.THROWN


def grid(temperature=lambda value, beta: value, volume=1.0, c=None):
    """Runs that do as the closed forms say, but for what is done to them; volumes as powers of what they should be."""
    p = study.Parameters(c=c or 0.3)
    random = np.random.default_rng(0)
    coefficients, shares = [], []
    for name, beta in itertools.product(*AXES.values()):
        one = study.of(name, p.c)
        found = temperature(float(one.by_temperature(beta)), beta)
        coefficients.append(found + 0.004 * random.standard_normal(SEEDS))
        slope = study.predict(study.Parameters(landscape=name, c=p.c), STEP)["volume_coefficient"]
        fall = volume * slope * np.log(study.SCALES[1] / study.SCALES[0])
        share = np.exp(-np.append(np.cumsum(fall[::-1])[::-1], 0.0))
        counts = random.binomial(THROWN, share, (SEEDS, share.size))
        # Nested as real counts are: below a scale are some of those below the next.
        counts[:, -1] = THROWN
        for k in range(share.size - 2, -1, -1):
            counts[:, k] = random.binomial(counts[:, k + 1], share[k] / share[k + 1])
        shares.append(counts / THROWN)
    shape = tuple(map(len, AXES.values()))
    values = np.array(coefficients).reshape(*shape, SEEDS, 1) * np.ones(2)
    data = runs(
        AXES, SEEDS,
        {"learning_coefficient": values, "share_below": np.array(shares).reshape(*shape, SEEDS, -1)},
        step=STEP, labels={"scale": ("scale", study.SCALES)},
    )  # fmt: skip
    data["steps_taken"] = ((*AXES, "seed"), np.full((*shape, SEEDS), 1600))
    true = [
        study.predict(study.Parameters(landscape=name, beta=beta, c=study.Parameters().c), STEP)
        for name, beta in itertools.product(*AXES.values())
    ]
    said = {
        name: np.array([one[name] for one in true]).reshape(*shape, -1)
        for name in ("learning_coefficient", "volume_coefficient")
    }
    theory = runs(AXES, 0, said, step=STEP, outcome=None)
    return Grid(study.Parameters(), AXES, SEEDS, simulation=data, theory=theory)


def is_of(name, value, beta):
    return abs(value - float(study.of(name, 0.3).by_temperature(beta))) < 1e-9


def as_said():
    """A world in which the document's two statements that fail are true."""
    return grid(
        lambda value, beta: 0.5 if is_of("cross", value, beta) else value,
        c=0.3**0.0625,
    )  # fmt: skip


def test_every_sentence_can_hold_and_fail():
    good = {said.id: grid for said in catalogue.load("landscapes").sentences}
    good["cross"] = as_said
    good["crossover"] = as_said
    good["same-curve"] = same
    check(
        "landscapes",
        good,
        {
            "by-temperature": lambda: grid(lambda value, beta: value + 0.03),
            "by-volume": lambda: grid(volume=1.05),
            "crossover": grid,
            "crossover.corrected": lambda: grid(c=0.3**0.5),
            "plane": lambda: grid(lambda value, beta: 0.9 * value),
            "cross": grid,
            "cross.corrected": lambda: grid(lambda value, beta: 0.93 * value),
            "partial": lambda: grid(lambda value, beta: value + 0.1),
            "same-curve": grid,
            "same-curve.corrected": lambda: grid(lambda value, beta: 1.2 * value),
        },
    )


def same():
    """Walkers that have, at every beta, the lambda(eps) of the scale they are at."""

    def temperature(value, beta):
        for name in ("cross", "crossover", "partial"):
            if is_of(name, value, beta):
                for _ in range(60):
                    value = float(study.of(name, 0.3).by_volume(value / beta))
                return value
        return value

    return grid(temperature)


def test_limits_are_not_what_is_measured():
    (claim, *_) = verdicts("landscapes", grid(), "cross")["cross"]
    assert claim.measured > 1.2
