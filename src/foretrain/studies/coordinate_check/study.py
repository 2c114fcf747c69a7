"""By which power of the width does a network change, and is it that of its parametrisation?"""

from dataclasses import dataclass

from foretrain.dynamics.descent import OPTIMIZERS
from foretrain.study import argument_error, choice, data, declare, parameter, size

# Powers of the width: of the changes of the first layer, hidden layers and the output, and of the best learning rate.
EXPONENTS = {
    "standard": {"first": -0.5, "hidden": 0.5, "output": 1.0, "rate": -1.0},
    "ntk": {"first": -0.5, "hidden": -0.5, "output": 0.0, "rate": 0.0},
    "mup": {"first": 0.0, "hidden": 0.0, "output": 0.0, "rate": 0.0},
}
SOURCE = "docs/studies/coordinate-check.md"
COST = "1 min"
REFERENCES = ("yang2021feature", "jacot2018")
SEEDS = 20
AXES = {
    "parametrisation": tuple(EXPONENTS),
    "width": (32, 64, 128, 256, 512),
    "learning_rate": tuple(2.0**power for power in range(-8, 6)),
}
PRESETS = {"fine": {"learning_rate": tuple(2.0 ** (power / 2) for power in range(-16, 11))}}
FIRST, HIDDEN, READOUT = range(3)  # kinds of layers
declare("layer", layer_change="RMS of the change of a layer's outputs over their RMS at the start.")
declare("layer", kind="int", layer_kind="0 first layer, 1 hidden layer, 2 readout.")
declare(
    output_change="RMS of the change of the network's output.",
    first_loss="Loss at the start.",
    late_loss="Mean loss over the last tenth of the steps.",
)


@dataclass(frozen=True)
class Parameters:
    """A network of a width, trained on all examples in every step: that of the study, or one of the user's."""

    parametrisation: str = choice("the parametrisation that is declared", tuple(EXPONENTS))
    width: int = size(128, "units of a hidden layer, `init(key, width)`", 2**16, symbol="n")
    learning_rate: float = parameter(2.0**-8, "learning rate", above=0)
    steps: int = size(6, "steps; of standard the first alone changes layers as is derived", 10**6)
    loss: str = choice("loss, with `model`", ("mse", "cross_entropy"))
    optimizer: str = choice("optimizer", OPTIMIZERS)
    model: str = parameter(
        "", "file.py:name of a network with `init(key, width)`; default that of the study",
        sweepable=False,
    )  # fmt: skip
    data: str = parameter("", "npz file with x and y, with `model`", sweepable=False)


def reads(p):
    """The file of the network, and that of its examples."""
    return [model_file(p)[0], data(p.data)] if p.model else []


def model_file(p):
    """The file of the network, and the name of the network in it with a colon, or nothing."""
    file, colon, name = p.model.rpartition(":")
    return (data(file), f":{name}") if colon and file.endswith(".py") else (data(p.model), "")


def check(p):
    if bool(p.model) != bool(p.data):
        raise argument_error("data", "be given together with `model`", "one stands alone")
    if p.optimizer.startswith("adam") and p.parametrisation != "mup":
        got = f"is {p.parametrisation}: Adam's steps have no gradient's size"
        raise argument_error("parametrisation", "be mup for Adam", got)
