"""S-curves: a low-rank matrix learned by two factors, against rank, optimizer and loss."""

from dataclasses import dataclass

from foretrain.plans.parameters import default
from foretrain.training import factorization
from foretrain.vocabulary import Variable, declare

SOURCE = "Jermyn & Shlegeris (2022), Multi-Component Learning and S-Curves, and its comments"
COST = "1 min"
REFERENCES = ("jermyn2022", "saxe2014")
AXES = {
    "loss_function": ("mse", "cross_entropy"),
    "rank": (1, 2, 10, 100),
    "optimizer": ("sgd", "sgd_decay", "adam", "adamw"),
}
PRESETS = {"paper": {"seeds": 100}}
LARGE_SCALE = 100.0  # entries of a unit component at n = 100 are then of order one

declare(
    Variable("decayed_loss", meaning="Squared error at which descent with weight decay ends."),
    Variable(
        "direct_loss",
        ("step",),
        meaning="Training loss where the logits themselves are trained, by descent.",
    ),
    Variable(
        "direct_loss_large",
        ("step",),
        meaning="The same for a target whose logits are of order one.",
    ),
)


@dataclass(frozen=True)
class Parameters(factorization.Factorization):
    """Parameters of the S-curves."""

    steps: int = default(600)
    observe_every: int = default(2)


check, time = factorization.check, factorization.time
inputs, program = factorization.inputs, factorization.program


def variants(p: Parameters) -> dict[str, dict]:
    """Beside it: cross-entropy of logits of order one, at which it is more than a squared error."""
    large = {"loss_function": "cross_entropy", "target_scale": LARGE_SCALE}
    return {"large_logits": {**large, "steps": min(5 * p.steps, 10**9)}}
