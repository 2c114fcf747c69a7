"""From the race to the lazy regime: sharing and generalisation against the scale of the initial weights."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import argument_error, declare, default
from foretrain.training.routing import check_routes, labels  # noqa: F401
from foretrain.training.routing_to_loss import ToLoss, inputs, program  # noqa: F401

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 6"
COST = "35 s"
REFERENCES = ("saxe2022", "jacot2018", "chizat2019")
SEEDS = 5
AXES = {"init_scale": (0.05, 0.1, 0.2, 0.66, 1.12, 1.58, 2.04, 2.5)}
_SCALES = (0.05, 0.1, 0.2, 0.4, 0.66, 1.12, 1.58, 2.04, 2.5, 3.5, 5.0)
PRESETS = {"paper": {"init_scale": _SCALES, "seeds": 10, "steps": 100000}}


@dataclass(frozen=True)
class Parameters(ToLoss):
    """Parameters of the study; each field's rule says what it may be."""

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
    if p.domains * p.trained_outputs > 144:
        rule = f"be at most {144 // p.domains} with `domains` = {p.domains}"
        routes = p.domains * p.trained_outputs
        got = f"is {p.trained_outputs}: the tangent kernel of {routes} routes is too large"
        raise argument_error("trained_outputs", rule, got)


def time(p: Parameters, step: np.ndarray) -> np.ndarray:
    return step * p.rate


def variants(p: Parameters) -> dict[str, dict]:
    """Return a network deep in the lazy end: it takes width as well as scale to get there."""
    lazy = {"init_scale": 5.0, "learning_rate": 0.02, "observe_every": 1, "seeds": 16}
    return {"lazy": {**lazy, "hidden_width": 4 * p.hidden_width}}
