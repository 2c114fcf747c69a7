"""Blocks of parameters that many studies share; a study inherits them and changes defaults with `default`."""

from dataclasses import dataclass

from foretrain.arithmetic import PRECISIONS
from foretrain.plans.parameters import choice, default, parameter, size


@dataclass(frozen=True)
class Run:
    """Parameters of every run: its length, its stored values, and the precision of its numbers."""

    steps: int = parameter(2000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = size(10, "stride in steps of what is stored", 10**9)
    precision: str = choice(
        "floating-point type; or float32 with products in TF32, where a GPU has them", PRECISIONS
    )


@dataclass(frozen=True)
class Training(Run):
    """Training by steps of a fixed size until the loss is small enough or the steps are used up."""

    learning_rate: float = parameter(0.01, "step of descent", above=0)
    loss_tolerance: float = parameter(
        0.0, "a run ends when its loss is at most this; 0 runs all steps", minimum=0
    )


@dataclass(frozen=True)
class DescentOrFlow(Training):
    """Training by descent, or along its flow by steps of the same size."""

    dynamics: str = choice(
        "gradient descent, or gradient flow by Tsitouras' 5th-order method with the same step",
        ("descent", "flow"),
    )
    learning_rate: float = default(0.01, "step of descent or of the flow's solver")
