"""Names of corners and causes, as tables, pictures and datasets have them."""

from foretrain.explain.own_network import Training
from foretrain.explain.simulated import Corner


def cause_name(training: Training, field: str) -> str:
    """The name of a cause, given the field of `Corner`."""
    return {
        "layers": "layers learn together",
        "gates": "gates move",
        "step": "the step's size and momentum" if training.momentum else "the step's size",
        "batches": "minibatches",
        "output": "output at the start",
    }[field]


def corner_name(training: Training, corner: Corner) -> str:
    """The name of a corner: what is kept and given up."""
    network = {
        (False, False): "kernel",
        (True, False): "gates frozen",
        (False, True): "layers apart",
        (True, True): "network",
    }[corner.layers, corner.gates]
    step = "own steps" if corner.step else "flow"
    sizes = {True: ", own batches", False: ", all examples"} if training.in_batches else {}
    zero = "" if corner.output else ", from zero"
    return f"{network}, {step}{sizes.get(corner.batches, '')}{zero}"
