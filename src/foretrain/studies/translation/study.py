"""Translation between languages: which pairs come for free, and which runs get stuck (shared representations)."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Program, Seed, argument_error, choice, generator, parameter
from foretrain.tasks.masks import nested
from foretrain.training import translation as common

SOURCE = "Note on shared representations, Fig. 1"
COST = "1 min"
REFERENCES = ("saxe2022", "sommeijer1998")
SEEDS = 6  # of the variants, too: six shares that are all 1 decide that their mean is above a half
DEPARTURE = 4  # power of a scale from which the first mode departs alone
SMALLEST = 1e-12  # of it this power, and its fourth, are numbers in double precision
EXPLORE = ("trained_fraction",)
AXES = {
    "hidden_width": (8, 16),
    "init_scale": (0.3, 0.1, 0.03, 0.01),
    "trained_fraction": tuple(round(0.05 * number, 2) for number in range(2, 19)),  # 10% to 90%
}
PRESETS = {
    "paper": {
        "words": 32,
        "hidden_width": (32, 64),
        "init_scale": (0.1, 0.03, 0.01, 0.003),  # the note tells none; 0.3 is large with 32 words
        "steps": 5000,
        "seeds": 20,
    }
}


@dataclass(frozen=True)
class Parameters(common.Languages):
    """Languages, the number of trained pairs, and the entries of them that the loss sees."""

    trained_fraction: float = parameter(
        0.3, "fraction of all L^2 pairs that are trained", above=0, maximum=1
    )
    loss_mask: str = choice(
        "what the loss sees of a trained pair: all entries, or as in the note's figure the diagonal ones",
        ("full", "diagonal_only"),
    )
    start_orientation: str = choice(
        "signs of the determinants of square initial factors: as drawn, or all made positive",
        ("random", "positive"),
    )
    until: str = choice(
        "where a run ends: at its loss, or where the first mode departs from zero",
        ("loss", "departure"),
        sweepable=False,
    )


def check(p: Parameters) -> None:
    fewest = p.languages if p.diagonal else 1
    if trained_count(p) < fewest:
        rule, got = f"be at least {fewest / p.languages**2:g}, the diagonal", p.trained_fraction
        raise argument_error("trained_fraction", rule, f"is {got:g}", "Try `diagonal` false.")
    common.check_width(p)
    if p.start_orientation == "positive" and p.hidden_width != p.words:
        rule = "be `random` unless `hidden_width` equals `words`"
        got = f"is `positive` at {p.hidden_width} and {p.words}"
        raise argument_error("start_orientation", rule, got)


def variants(p: Parameters) -> dict[str, dict]:
    """Return runs with the note's loss mask and, where factors are square, two in double precision.

    ``precise`` shows what stuck runs owe to the solver; ``departure``, nearer to the limit, ends when the first mode grows.
    """
    diagonal = {"loss_mask": "diagonal_only", "start_orientation": "random", "seeds": SEEDS}
    if p.hidden_width != p.words or p.until != "loss":
        return {"diagonal_only": diagonal}
    precise = {
        "precision": "float64",
        "solver_tolerance": p.solver_tolerance / 30,
        "steps": 3 * p.steps,  # a thirtieth of the error takes three times the steps
        "seeds": 2 * SEEDS,
    }
    networks = {"diagonal_only": diagonal, "precise": precise}
    if SMALLEST <= p.init_scale < 1:
        networks["departure"] = diagonal | {
            "until": "departure",
            "init_scale": p.init_scale**DEPARTURE,
            "precision": "float64",
            "observe_every": 1,
            "loss_mask": "full",
        }
    return networks


def estimate(p: Parameters) -> float:
    """Attempted steps of a run: until the first mode departs, or with the waits of square factors and small weights."""
    if p.until == "departure":
        return min(p.steps, 20 + 6 * abs(np.log(p.init_scale)))
    return common.estimate(p) * (0.01 / p.solver_tolerance) ** 0.2


def trained_count(p: Parameters) -> int:
    return max(1, round(p.trained_fraction * p.languages**2))


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run; for one seed, a smaller fraction trains a subset."""
    return nested(p.languages, trained_count(p), generator(seed, "mask"), diagonal=p.diagonal)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    return {"trained_pairs": mask(p, seed).astype(float)}


def program(p: Parameters) -> Program:
    return common.program(p, p.loss_mask, p.start_orientation, p.until)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    return common.predict_pairs(mask(p, seed))
