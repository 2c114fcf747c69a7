"""From the race to the lazy regime: sharing and generalisation against the scale of the initial weights."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.quantities.representation import cross_domain_similarity
from foretrain.study import Seed, argument_error, declare, default
from foretrain.tasks.masks import is_biregular
from foretrain.theory.gated.tangent_kernel import TangentKernel, tangent_kernel
from foretrain.theory.pathways.race import routing_factors
from foretrain.theory.pathways.race_parts import from_random, race_gains, race_loss, similarity
from foretrain.theory.pathways.race_schemes import equal_scheme, half_time
from foretrain.training.routing import ITEMS, check_routes, items_task, labels, mask  # noqa: F401
from foretrain.training.routing_to_loss import ToLoss, inputs, program, start  # noqa: F401

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 6"
COST = "35 s"
REFERENCES = ("saxe2022", "jacot2018", "chizat2019")
EXPLORE = ("init_scale",)
SEEDS = 5
AXES = {"init_scale": (0.05, 0.1, 0.2, 0.66, 1.12, 1.58, 2.04, 2.5)}
_SCALES = (0.05, 0.1, 0.2, 0.4, 0.66, 1.12, 1.58, 2.04, 2.5, 3.5, 5.0)
PRESETS = {"paper": {"init_scale": _SCALES, "seeds": 10, "steps": 100000}}


@dataclass(frozen=True)
class Parameters(ToLoss):
    """Parameters of the study, each with its rule."""

    domains: int = default(7, maximum=40)
    learning_rate: float = default(
        0.048, "step of descent at init_scale 1; as in the paper it goes with init_scale^(-1/3)"
    )
    loss_tolerance: float = default(1e-8)
    patience: int = default(6000)
    steps: int = default(20000)
    observe_every: int = default(5)

    @property
    def rate(self) -> float:
        """Step of descent at the run's own scale."""
        return self.learning_rate / self.init_scale ** (1 / 3)


declare(
    "step",
    source="Jacot et al. (2018)",
    lazy_loss="Training loss of the network linearised at its start.",
    lazy_untrained_error="Error on untrained routes of the network linearised at its start.",
)
declare(
    "step",
    source="docs/studies/pathway-race.md",
    race_loss="Training loss of the race from wide random weights, in closed form.",
)
declare(
    source="docs/theory/routing.md",
    race_cosine="Mean cosine of first-layer activity for one item in two domains at the end of the race from wide random "
    "weights, in closed form; nan for masks it does not speak of.",
)
declare(lazy_limit="Error on untrained routes that the linearised network ends with.")


def check(p: Parameters) -> None:
    check_routes(p)
    if (routes := p.domains * p.trained_outputs) > 144:
        rule = f"be at most {144 // p.domains} with `domains` = {p.domains}"
        got = f"is {p.trained_outputs}: the tangent kernel of {routes} routes is too large"
        raise argument_error("trained_outputs", rule, got)


def time(p: Parameters, step: np.ndarray) -> np.ndarray:
    return step * p.rate


def estimate(p: Parameters) -> float:
    """Predicted number of steps: the fewer, the faster the tangent kernel of the start, which goes with init_scale^4."""
    return min(p.steps, 900 / (p.rate * p.init_scale**4))


def variants(p: Parameters) -> dict[str, dict]:
    """Return a network deep in the lazy end: it takes width as well as scale to get there."""
    lazy = {"init_scale": 5.0, "learning_rate": 0.02, "observe_every": 1, "seeds": 16}
    return {"lazy": {**lazy, "hidden_width": 4 * p.hidden_width}}


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, Any]:
    """Predict both losses, until the race has had time to learn all modes four times over; nan after that."""
    race = explore(p, step, seed)["loss"]
    known, lazy = np.isfinite(race), np.full((2, step.size), np.nan)
    lazy[:, known] = kernel_of_seed(p, seed).errors(step[known], p.rate, p.init_scale)
    return {
        "race_loss": race,
        "lazy_loss": lazy[0],
        "lazy_untrained_error": lazy[1],
        "lazy_limit": lazy_limit(p, seed),
        "race_cosine": race_cosine(p, seed),
    }


def explore(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict the loss by the race alone, without the kernel."""
    data, factors = items_task(p.level_weights), routing_factors(p.domains)
    modes = data.singular_values, data.variances
    slowest = max(
        half_time([equal_scheme(p.init_scale, factors, s / d)], s, d)
        for s, d in zip(*modes, strict=True)
    )
    shown = step[step <= math.ceil(max(4 * slowest / p.rate, 400))]
    gains = race_gains(p.init_scale, shown * p.rate, p.domains, *modes)
    loss = race_loss(gains, *modes, data.unexplained_power)
    return {"loss": np.pad(loss, (0, step.size - shown.size), constant_values=np.nan)}


def race_cosine(p: Parameters, seed: Seed) -> float:
    """Return the mean cosine of an item's representations across domains where the race ends; nan for uneven masks."""
    pairs = mask(p, seed)
    if p.domains == 1 or not is_biregular(pairs):
        return np.nan
    data = items_task(p.level_weights)
    modes = data.singular_values, data.variances
    end = from_random(p.init_scale, np.array([1.0, np.inf]), pairs, *modes)
    dots = similarity(data.input_modes[0], end.outer[-1] ** 2, end.cosine[-1], p.domains)
    return float(cross_domain_similarity(dots, ITEMS)[0])


def lazy_limit(p: Parameters, seed: Seed) -> float:
    """Return the error on untrained routes with which the network linearised at its start ends."""
    return float(kernel_of_seed(p, seed).errors(np.array([np.inf]), p.rate, p.init_scale)[1][0])


def kernel_of_seed(p: Parameters, seed: Seed) -> TangentKernel:
    """Return the tangent kernel at a seed's draw of weights, scale 1; kept, since it serves every scale and step."""
    return _kernel(Parameters(**{name: getattr(p, name) for name in _IN_KERNEL}), seed)


_IN_KERNEL = ("level_weights", "domains", "trained_outputs", "mask", "hidden_width")


@lru_cache(maxsize=32)
def _kernel(p, seed):
    data = items_task(p.level_weights)
    return tangent_kernel(*start(p, seed), data.inputs[0], data.targets[0], mask(p, seed))
