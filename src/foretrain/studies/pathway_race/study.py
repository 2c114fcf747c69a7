"""The race of gating schemes: networks that share more learn faster, and win where they compete."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import TIME_UNIT, Training, argument_error, declare, default, parameter, size
from foretrain.theory.pathways.race import RaceFactors, admissible_paths, race_factors
from foretrain.training.routing import Items

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 5a-b"
OURS = "docs/studies/pathway-race.md"
COST = "3 min"
REFERENCES = ("saxe2022",)
SEEDS = 5
AXES = {"paths": admissible_paths(12)}
CONDITIONAL_DEFAULTS = {("domains", m): {"paths": admissible_paths(m)} for m in range(1, 101)}
_PAPER = {"domains": 10, "paths": admissible_paths(10), "seeds": 10}
PRESETS = {"paper": {**_PAPER, "step_fraction": 0.01, "loss_tolerance": 1e-4}}
DUELS = {"mixed": "modules", "handicapped": "full sharing"}  # network to the scheme that loses


@dataclass(frozen=True)
class Parameters(Items, Training):
    """Parameters of the study, each with its rule."""

    domains: int = size(12, "number of input and of output domains", 100, symbol="M")
    paths: int = parameter(
        144,
        "routes through each hidden matrix, the square of a divisor of M",
        symbol="P",
        minimum=1,
        static=True,
    )
    shared_encoders: bool = parameter(
        False, "one encoder and decoder per domain, not one per module", static=True
    )
    against_full_sharing: bool = parameter(
        False, "beside the modules a fully shared pathway is always on; outputs add up", static=True
    )
    full_sharing_scale: float = parameter(
        1.0, "initial scale of the fully shared pathway over that of the modules", above=0
    )
    hidden_width: int = default(64, maximum=10**5)
    init_law: str = parameter(
        "orthogonal",
        "random orthogonal weights, or decoupled: the submanifold of the reduction",
        choices=("orthogonal", "decoupled"),
    )
    dynamics: str = parameter(
        "flow",
        "gradient flow by Euler steps that adapt to how fast weights grow, or descent with one step",
        choices=("flow", "descent"),
    )
    learning_rate: float = default(
        0.3, "largest step, over the inverse of the curvature along the strongest mode", maximum=1
    )
    step_fraction: float = parameter(
        0.03, "flow: largest relative growth of a mode in a step", above=0, maximum=0.5
    )
    loss_tolerance: float = default(
        3e-3, "a run has converged when its loss is at most this", minimum=None, above=0
    )
    steps: int = default(6000)


declare("step", unit=TIME_UNIT, elapsed="Time of the flow, the paper's.")
declare("point", unit=TIME_UNIT, race_time="Times at which the race is predicted.")
declare(
    "step part mode",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 5b",
    part_strength="Strength u^T W v of each mode in the modules and in the fully shared pathway, mean over routes.",
)
declare(
    "part mode",
    source="Saxe, Sodhani & Lewallen (2022), eqs. (16)-(17)",
    weight_ratio="B2/B1 of each mode where the run ended, from the lengths of its encoder and decoder vectors.",
)
declare(
    "point part mode",
    source=OURS,
    race_strength="Strength of each mode in the modules by the closed form from wide random weights.",
)
declare(
    "duel mode",
    source=OURS,
    foretold_share="Share of each mode that the losing scheme learns, as a run's own initial weights predict.",
)
declare(
    "mode",
    unit=TIME_UNIT,
    source=OURS,
    half_learning_time="Time at which a mode is half learned from wide random weights, mean over routes.",
    measured_half_time="Half-learning time of each mode in a run.",
    foretold_half_time="Half-learning time of each mode that a run's own initial weights lead to.",
    equal_start_half_time="Half-learning time of the reduction if every strength starts at init_scale, whatever P.",
)
declare(
    "mode",
    full_sharing_share="Share of each mode that the fully shared pathway carries at the end.",
    handicapped_share="The same, if the fully shared pathway starts at half the scale at which both would tie.",
)


def check(p: Parameters) -> None:
    if p.paths not in (admissible := admissible_paths(p.domains)):
        listed = ", ".join(map(str, admissible))
        rule = f"be the square of a divisor of `domains` = {p.domains} ({listed})"
        raise argument_error("paths", rule, f"is {p.paths}")


def part_factors(p: Parameters) -> list[RaceFactors]:
    """Shares of the trained routes: of the modules and, where there is one, of the fully shared pathway."""
    factors = [race_factors(p.domains, p.paths, shared_encoders=p.shared_encoders)]
    return factors + [race_factors(p.domains, p.domains**2)] * p.against_full_sharing


def duel_scales(p: Parameters) -> dict[str, float]:
    """Initial scale of the fully shared pathway over that of the modules, in either duel; poles tie at sqrt(P)/M."""
    return {"mixed": p.full_sharing_scale, "handicapped": 0.5 * p.paths**0.5 / p.domains}


def variants(p: Parameters) -> dict[str, dict]:
    """Shared encoders; modules and full sharing in one network, on equal terms or not, and this from decoupled weights."""
    mixed = {"against_full_sharing": True, "seeds": 5}
    handicapped = {**mixed, "full_sharing_scale": duel_scales(p)["handicapped"]}
    decoupled = {"init_law": "decoupled", "dynamics": "descent", "precision": "float64"}
    return {
        "decoupled": {**handicapped, **decoupled, "steps": 200, "init_scale": 0.5, "seeds": 1},
        "shared-encoders": {"shared_encoders": True, "seeds": 5},
        "mixed": mixed,
        "handicapped": handicapped,
    }


def labels(p: Parameters) -> dict:
    return {"part": ("modules", "full sharing"), "duel": tuple(DUELS)}


def time(p: Parameters, step: np.ndarray) -> np.ndarray:
    """Return nan: steps adapt to the run, whose time is ``elapsed``."""
    return np.full(step.shape, np.nan)
