"""Routing on images: zero-shot transfer to untrained pathways, against their number and the size of the start."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import TIME_UNIT, Run, argument_error, choice, declare, default, parameter
from foretrain.tasks import image_files
from foretrain.tasks.data_files import DataFile
from foretrain.training.routing import Images, Routes, check_routes
from foretrain.words import value_text

SOURCE = "Saxe, Sodhani & Lewallen (2022), Figs 7-10"
COST = "70 s"
REFERENCES = ("saxe2022",)
EXPLORE = ("init_scale", "trained_outputs")
SEEDS = 5

_K10 = (1, 2, 3, 4, 5, 7)
_K40 = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40)
_K100 = (1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
AXES = {"trained_outputs": _K10, "init_scale": (0.01, 0.03, 0.1, 0.3, 1.0)}
_MNIST = {"data": "mnist", "domains": 40, "hidden_width": 128}
# Tables 1 and 2, squared error as in the text: the flow on images projected on what holds nine tenths of them.
_FLOW = {**_MNIST, "truncation": 0.1, "solver_tolerance": 5e-3, "steps": 6000, "seeds": 10}
_MINIBATCH = {"training": "minibatch", "loss_function": "cross_entropy", "biases": True}
# What the authors ran: 1000 epochs of 7500 batches of 8.
_BATCHES = {"learning_rate": 1e-4, "steps": 7_500_000, "seeds": 10, "observe_every": 1500}
_AUTHORS = {**_MINIBATCH, **_MNIST, **_BATCHES, "init_law": "authors", "evaluation_samples": 2000}
# The figures are a cross. A preset is one arm of it: K at one size of the start, or the size of the start at K = 10.
_FRACTIONS = {"init_scale": 0.1, "trained_outputs": _K40}
_GAINS = {"init_scale": (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0), "trained_outputs": 10}
_TURNED = {"transform": "rotation", "rotation_degrees": 270.0}  # by as much as the authors turned
_CIFAR = {"data": "cifar10", "hidden_width": 1024}
_SMALL = {**_MINIBATCH, "init_scale": 0.1, "steps": 40_000, "trained_outputs": _K10, "seeds": 3}
PRESETS = {
    "paper": {**_FLOW, **_FRACTIONS},
    "paper-gain": {**_FLOW, **_GAINS},
    "paper-100": {**_FLOW, "domains": 100, "init_scale": 0.1, "trained_outputs": _K100},
    "paper-100-gain": {**_FLOW, "domains": 100, **_GAINS},
    # Table 4, with the 40 domains and the 180 degrees of the text.
    "paper-rotated": {**_FLOW, "transform": "rotation", **_FRACTIONS},
    "paper-rotated-gain": {**_FLOW, "transform": "rotation", **_GAINS},
    "paper-cifar": {**_FLOW, **_CIFAR, "truncation": 0.02, "transform": "rotation", **_FRACTIONS},
    # Fig. 9: leaky ReLUs have no statistics.
    "paper-leaky": {**_AUTHORS, **_FRACTIONS, "negative_slope": 0.01},
    "paper-leaky-rotated": {**_AUTHORS, **_TURNED, **_FRACTIONS, "negative_slope": 0.01},
    "authors": {**_AUTHORS, **_FRACTIONS},
    "authors-gain": {**_AUTHORS, **_GAINS},
    "authors-rotated": {**_AUTHORS, **_TURNED, **_FRACTIONS},
    "authors-rotated-gain": {**_AUTHORS, **_TURNED, **_GAINS},
    # Table 5: 1000 epochs of 6250 batches.
    "authors-cifar": {**_AUTHORS, **_TURNED, **_FRACTIONS, **_CIFAR, "steps": 6_250_000},
    # The question of Fig. 8 on all of MNIST by gradient flow: cost independent of the number of images.
    "mnist": {**_MNIST, "trained_outputs": (1, 2, 4, 10, 16, 24), "init_scale": (0.01, 0.1, 1.0)}
    | {"seeds": 2},
    # Figs 8 and 9 in small: the same networks with and without the leaky ReLU; and the right panel of Fig. 9.
    "leaky": {**_SMALL, "negative_slope": (1.0, 0.01)},
    "leaky-rotated": {**_SMALL, "transform": "rotation", "negative_slope": 0.01},
}
_LONG = {"steps": 40_000, "observe_every": 1000, "init_scale": 0.1}
CONDITIONAL_DEFAULTS = {("training", "minibatch"): _LONG}
COUNT: dict = {"minimum": 1, "maximum": 10**6, "static": True}


@dataclass(frozen=True)
class Parameters(Images, Routes, Run):
    """Parameters of the study, each with its rule."""

    data: str = choice(
        "scikit-learn's 1,797 digits, MNIST, CIFAR-10, or an array of features from a file",
        ("digits", "mnist", "cifar10", "features"),
    )
    features_file: str = parameter("", "data=features: the .npz or .npy file", static=True)
    domains: int = default(10)
    rotation_degrees: float = parameter(
        180.0, "domain i is turned by i/M of this; the authors' code turned by 270", static=True
    )
    hidden_width: int = parameter(32, "width of both hidden layers", **COUNT | {"maximum": 10**5})
    init_scale: float = parameter(0.1, "factor on the initial weights, the gain", above=0)
    init_law: str = choice(
        "law of the initial weights; authors: xavier with the decoders' fans as their code counts them",
        ("xavier", "authors", "orthogonal", "gaussian"),
    )
    training: str = choice(
        "gradient flow on all images by their statistics (linear, squared error), or minibatches",
        ("statistics", "minibatch"),
    )
    loss_function: str = choice("1/2 |error|^2, or cross-entropy", ("squared", "cross_entropy"))
    biases: bool = parameter(False, "minibatch: train biases, zero at the start", static=True)
    negative_slope: float = parameter(
        1.0, "minibatch: slope below zero of leaky ReLUs; 1 is linear", minimum=0, maximum=1
    )
    learning_rate: float = parameter(0.01, "minibatch: learning rate", above=0)
    momentum: float = parameter(0.9, "minibatch: momentum", minimum=0, maximum=0.999)
    batch_size: int = parameter(8, "minibatch: images a step, the same for all routes", **COUNT)
    steps: int = default(3000)
    excess_tolerance: float = parameter(
        0.02,
        "statistics: a run ends when what it could still learn is this share of all there was",
        above=0,
        maximum=1,
    )
    duration: float = parameter(
        1e9,
        "statistics: a run ends after this continuous time; the paper's runs take 7500",
        above=0,
    )
    solver_tolerance: float = parameter(
        3e-3, "statistics: largest relative error of a step of the flow", above=0
    )
    truncation: float = parameter(
        0.0,
        "statistics: images are projected on the directions that hold all but this share of <|x|^2>",
        minimum=0,
        maximum=0.9,
        static=True,
    )
    evaluation_samples: int = parameter(
        1000, "at most so many held-out (and training) images are classified", **COUNT
    )


declare(
    "step",
    untrained_loss="Loss on untrained routes, training images.",
    trained_accuracy="Fraction of held-out images classified right, mean over trained routes.",
    untrained_accuracy="Fraction of held-out images classified right, mean over untrained routes; 0 if there are none.",
    excess_loss="Training loss above that of least squares, over that of answering zero.",
)
declare(
    "step", unit=TIME_UNIT, flow_time="Continuous time; with momentum m, step × rate / (1 - m)."
)
declare(
    least_squares_loss="Loss of the least-squares map, mean over domains.",
    least_squares_accuracy="Held-out accuracy of the least-squares map, mean over domains.",
    chance_accuracy="1 over the number of classes: answers at random.",
)
declare(
    unit=TIME_UNIT,
    shared_half_time="Time at which one network from the mean of all encoders and decoders has learned half; nan for rotated "
    "images, and for starts below 0.01.",
)
declare(
    source="Saxe, Sodhani & Lewallen (2022), eq. 10",
    imbalance_drift="Change of what the flow conserves at both hidden layers, over the squared norm of the hidden matrix.",
)


def reads(p: Parameters) -> list[DataFile]:
    return image_files.files(p.data, p.features_file)


def check(p: Parameters) -> None:
    check_routes(p)
    linear = {"loss_function": "squared", "negative_slope": 1.0, "biases": False}
    for name, only in linear.items():
        if p.training == "statistics" and (got := getattr(p, name)) != only:
            rule, repair = f"be `{value_text(only)}` from statistics", "Try --training minibatch."
            raise argument_error(name, rule, f"is `{value_text(got)}`", repair)
    if p.training == "minibatch" and p.truncation:
        raise argument_error("truncation", "be 0 for minibatches", f"is {p.truncation:g}")
    if bool(p.features_file) != (p.data == "features"):
        got = f"data is `{p.data}`" if p.features_file else "is not given"
        raise argument_error("features_file", "name a file for data `features` alone", got)
    if p.data == "features" and p.transform == "rotation":
        raise argument_error("transform", "be `permutation` for features", "is `rotation`")


def estimate(p: Parameters) -> float:
    """Predicted steps: all of them for minibatches; a flow waits long for small starts and is stiff for large ones."""
    if p.training == "minibatch":
        return p.steps
    return min(p.steps, 200 + 3 / p.init_scale + 300 * p.init_scale)


def time(p: Parameters, step: np.ndarray) -> np.ndarray:
    """Continuous time of minibatches; a flow's steps adapt to it, so that it is nan here and stored as ``flow_time``."""
    return step * (p.learning_rate / (1 - p.momentum) if p.training == "minibatch" else np.nan)
