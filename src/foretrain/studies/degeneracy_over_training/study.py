"""Degeneracy over training: do effective parameters fall as a network generalises, by how much, and do they rank models?"""

from dataclasses import dataclass

import numpy as np

from foretrain.study import argument_error, choice, declare, parameter

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 2"
COST = "1 min"
REFERENCES = ("bushnaq2024degeneracy", "saxe2022", "aoyagi2024")
SEEDS = 16
AXES = {"system": ("routing", "s-curve", "grokking", "selection")}
PRESETS = {"paper": {"seeds": 50}}
MOMENTS = 41  # of training at which a network is looked at, the start among them
VARIANCE = 0.25  # of every input of a linear network, four items one-hot
FINER = (10.0, 1.0, 0.1)  # scales, over that of the parameter `scale`, at which it is judged
FAMILIES = ("linear", "rectified")
CRITERIA = ("training loss", "parameters", "closed form", "measured")
declare(
    "moment noise_scale",
    effective_parameters="Sum of h/(h + eps), h the curvatures of the behavioural loss on all routes or fresh data.",
)
declare(
    "moment",
    count="Directions whose curvature is at least eps.",
    fit_error="Squared error on training data, over that of zero.",
    unseen_error="Squared error on untrained routes or on fresh examples, over that of zero; of one domain on all.",
    activation_rank="Rank of the activations of the hidden layer of `grokking`, at the scale eps.",
    blocks="Blocks of hidden neurons with equal gates, within eps.",
)
declare("family criterion", rank_agreement="Kendall's tau over widths with the loss on fresh data.")
declare(
    "family width",
    model_effective="Effective parameters at noise scale.",
    model_heldout="Loss on fresh data over the noise.",
)
declare(spread_power="Power of the noise's variance with which the variance between fits grows.")


@dataclass(frozen=True)
class Parameters:
    """Four systems: two gated linear networks, a perceptron that groks, and families of models of several widths."""

    system: str = choice(
        "domains routed through shared and through separate pathways; one domain; the parity of two bits among many; models "
        "of several widths to choose from",
        AXES["system"],
    )
    scale: float = parameter(
        0.01,
        "scale of the loss: directions of larger curvature count",
        symbol="ε",
        above=0,
        maximum=1,
    )
    domains: int = parameter(
        4, "domains of inputs and of outputs of `routing`", symbol="M", minimum=2, maximum=6
    )
    trained_outputs: int = parameter(
        3,
        "output domains that `routing` trains from each input domain",
        symbol="K",
        minimum=1,
        maximum=6,
    )
    hidden_width: int = parameter(16, "width of pathways in linear networks", minimum=4, maximum=64)
    init_scale: float = parameter(0.05, "scale of the start of linear networks", above=0, maximum=1)
    shared_scale: float = parameter(1.0, "start of the shared pathway over the others'", above=0)
    start: str = parameter(
        "random",
        "start of linear networks: orthogonal weights, or those of the reduction",
        choices=("random", "decoupled"),
    )
    learning_rate: float = parameter(0.5, "learning rate of linear networks", above=0)
    updates: int = parameter(
        4000, "updates of training; linear networks of one domain take a quarter", minimum=160
    )
    bits: int = parameter(30, "bits of an input of `grokking`; two matter", minimum=3, maximum=100)
    samples: int = parameter(100, "training examples of `grokking`", minimum=30, maximum=1000)
    neurons: int = parameter(24, "hidden neurons of `grokking`", minimum=2, maximum=200)
    weight_decay: float = parameter(0.02, "weight decay of `grokking`, in its gradient", minimum=0)
    descent_rate: float = parameter(0.1, "learning rate of `grokking`", above=0)
    answers: str = parameter(
        "true",
        "answers that `grokking` is trained on: true, or drawn, with nothing to find",
        choices=("true", "drawn"),
    )


def domains(p) -> tuple[int, int]:
    """M and K of a linear network."""
    return (p.domains, p.trained_outputs) if p.system == "routing" else (1, 1)


def check(p):
    if p.trained_outputs > p.domains:
        rule = f"be at most `domains` = {p.domains}"
        raise argument_error("trained_outputs", rule, f"is {p.trained_outputs}")


def variants(p):
    """The reduction's start; and a rival: separate pathways with the head start of routing, drawn answers of grokking."""
    rival = {"shared_scale": 0.5 / p.trained_outputs, "answers": "drawn"}
    return {"decoupled": {"start": "decoupled", "seeds": 1}, "rival": rival}


def moments(p) -> np.ndarray:
    """Updates after which a network is looked at, (moment,)."""
    last = p.updates // 4 if p.system == "s-curve" else p.updates
    return np.linspace(0, last, MOMENTS).astype(int)


def labels(p):
    return {
        "moment": moments(p),
        "noise_scale": p.scale * np.array(FINER),
        "family": np.array(FAMILIES),
        "criterion": np.array(CRITERIA),
    }
