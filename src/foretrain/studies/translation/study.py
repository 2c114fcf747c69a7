"""Translation between languages: which pairs come for free, and which runs get stuck (shared representations)."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Program, Seed, argument_error, generator, parameter
from foretrain.tasks.masks import nested
from foretrain.training import translation as common
from foretrain.training.translation import estimate as estimate

SOURCE = "Note on shared representations, Fig. 1"
COST = "1 min"
REFERENCES = ("saxe2022", "sommeijer1998")
SEEDS = 5
AXES = {
    "hidden_width": (8, 16),
    "init_scale": (0.3, 0.1, 0.03, 0.01),
    "trained_fraction": tuple(round(0.05 * number, 2) for number in range(2, 19)),  # 10% to 90%
}
PRESETS = {
    "paper": {
        "words": 32,
        "hidden_width": (32, 64),
        "steps": 5000,  # with 32 words and the largest scale many runs are not done after 2000
    }
}


@dataclass(frozen=True)
class Parameters(common.Languages):
    """Languages, how many pairs are trained, and what the loss sees of them."""

    trained_fraction: float = parameter(
        0.3, "fraction of all L^2 pairs that are trained", above=0, maximum=1
    )
    loss_mask: str = parameter(
        "full",
        "what the loss sees of a trained pair: all entries, or as in the note's figure the diagonal ones",
        choices=("full", "diagonal_only"),
        static=True,
    )
    start_orientation: str = parameter(
        "random",
        "signs of the determinants of square initial factors: as drawn, or all made positive",
        choices=("random", "positive"),
        static=True,
    )


def check(p: Parameters) -> None:
    """Refuse masks without room for the diagonal, too narrow networks, and orientations of factors that have none."""
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
    """The note's loss mask; where runs get stuck, the same flow in double precision with a thirtieth of the error."""
    diagonal = {"loss_mask": "diagonal_only", "start_orientation": "random"}
    precise = {
        "precision": "float64",
        "solver_tolerance": p.solver_tolerance / 30,
        "steps": 3 * p.steps,  # a thirtieth of the error takes three times the steps
    }
    found = {"diagonal_only": diagonal, "precise": precise}
    return found if p.hidden_width == p.words else {"diagonal_only": diagonal}


def trained_count(p: Parameters) -> int:
    """Number of trained pairs."""
    return max(1, round(p.trained_fraction * p.languages**2))


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run; for one seed, a smaller fraction trains a subset."""
    return nested(p.languages, trained_count(p), generator(seed, "mask"), diagonal=p.diagonal)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """The trained pairs."""
    return {"trained_pairs": mask(p, seed).astype(float)}


def program(p: Parameters) -> Program:
    """The network and its flow."""
    return common.program(p, p.loss_mask, p.start_orientation)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Which pairs come for free, from the mask alone."""
    return common.predicted(mask(p, seed))
