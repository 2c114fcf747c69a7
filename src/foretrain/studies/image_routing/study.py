"""Routing on images: zero-shot transfer to untrained pathways, against their number and the size of the start."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.tasks import image_domains, image_files, images, masks
from foretrain.tasks.image_domains import Domains, Statistics
from foretrain.vocabulary import TIME_UNIT, Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Figs 7-10"
COST = "60 s"
REFERENCES = ("saxe2022",)
SEEDS = 4
AXES = {
    "trained_outputs": (1, 2, 3, 4, 5, 7),
    "gain": (0.01, 0.03, 0.1, 0.3, 1.0),
}

_K40 = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40)
_GAINS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)
_TABLE_1 = {
    "training": "minibatch",
    "loss": "cross_entropy",
    "biases": True,
    "init_law": "authors",
    "hidden_width": 128,
    "batch_size": 8,
    "learning_rate": 1e-4,
    "momentum": 0.9,
    "steps": 7_500_000,
    "observe_every": 1500,
    "evaluation_samples": 2000,
    "seeds": 10,
    "gain": _GAINS,
}
_MNIST_40 = {**_TABLE_1, "data": "mnist", "domains": 40, "trained_outputs": _K40}
_MINIBATCH = {
    "training": "minibatch",
    "loss": "cross_entropy",
    "biases": True,
    "gain": 0.1,
    "steps": 40_000,
}
PRESETS = {
    # Tables 1 and 2: permuted in, permuted out; 1000 epochs of 7500 batches.
    "paper": _MNIST_40,
    # Table 3.
    "paper-100": {
        **_MNIST_40,
        "domains": 100,
        "trained_outputs": (1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100),
    },
    # Table 4, with the 40 domains of the text, and 270 degrees, as the authors turned.
    "paper-rotated": {**_MNIST_40, "transform": "rotation", "rotation_degrees": 270.0},
    # Table 5: 1000 epochs of 6250 batches.
    "paper-cifar": {
        **_MNIST_40,
        "data": "cifar10",
        "transform": "rotation",
        "rotation_degrees": 270.0,
        "steps": 6_250_000,
    },
    # Fig. 9.
    "paper-leaky": {**_MNIST_40, "negative_slope": 0.01, "gain": 0.1},
    # The question of Fig. 8 on all of MNIST by gradient flow: cost independent of the number of images.
    "mnist": {
        "data": "mnist",
        "domains": 40,
        "hidden_width": 128,
        "trained_outputs": (1, 2, 4, 10, 16, 24),
        "gain": (0.01, 0.1, 1.0),
        "seeds": 2,
    },
    # Figs 8 and 9 in small: the same networks with and without the leaky ReLU.
    "leaky": {
        **_MINIBATCH,
        "negative_slope": (1.0, 0.01),
        "trained_outputs": (1, 2, 3, 4, 5, 7),
        "seeds": 3,
    },
}
CONDITIONAL_DEFAULTS = {
    ("training", "minibatch"): {"steps": 40_000, "observe_every": 1000, "gain": 0.1},
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the image-routing study; each field's rule says what it may be."""

    data: str = parameter(
        "digits",
        "scikit-learn's 1,797 digits, or MNIST, CIFAR-10, or an array of features from files",
        choices=("digits", "mnist", "cifar10", "features"),
        static=True,
    )
    data_dir: str = parameter(
        "", "folder of the files; default: FORETRAIN_DATA_DIR", static=True, cosmetic=True
    )
    features_file: str = parameter("", "data=features: the .npz or .npy file", static=True)
    resnet_weights: str = parameter(
        "", "data=cifar10: weights of a torchvision resnet18 whose features are used", static=True
    )
    domains: int = parameter(
        10, "M, number of input and of output domains", minimum=1, maximum=1000, static=True
    )
    trained_outputs: int = parameter(
        4, "K, number of output domains that every input domain is trained with", minimum=1
    )
    mask: str = parameter(
        "circulant",
        "which K outputs: a circulant band, K at random per input, or random with K inputs per output",
        choices=masks.MASKS,
    )
    transform: str = parameter(
        "permutation",
        "what makes a domain: a pixel permutation (absorbed by the encoder), or a rotation",
        choices=("permutation", "rotation"),
        static=True,
    )
    rotation_degrees: float = parameter(
        180.0, "domain i is turned by i/M of this; the authors' code turned by 270", static=True
    )
    hidden_width: int = parameter(32, "width of both hidden layers", minimum=1, static=True)
    gain: float = parameter(0.1, "factor on the initial weights", above=0)
    init_law: str = parameter(
        "xavier",
        "law of the initial weights; authors: xavier with the decoders' fans as their code counts them",
        choices=("xavier", "authors", "orthogonal", "gaussian"),
        static=True,
    )
    training: str = parameter(
        "statistics",
        "gradient flow on all images by their statistics (linear, squared error), or minibatches",
        choices=("statistics", "minibatch"),
        static=True,
    )
    loss: str = parameter(
        "squared",
        "1/2 |error|^2, or cross-entropy",
        choices=("squared", "cross_entropy"),
        static=True,
    )
    biases: bool = parameter(False, "minibatch: train biases, zero at the start", static=True)
    negative_slope: float = parameter(
        1.0, "minibatch: slope below zero of leaky ReLUs; 1 is linear", minimum=0, maximum=1
    )
    learning_rate: float = parameter(0.01, "minibatch: learning rate", above=0)
    momentum: float = parameter(0.9, "minibatch: momentum", minimum=0, maximum=0.999)
    batch_size: int = parameter(
        8, "minibatch: images a step, the same for all routes", minimum=1, static=True
    )
    steps: int = parameter(3000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)
    excess_tolerance: float = parameter(
        0.02,
        "squared, statistics: a run ends when what it could still learn is this share of all there was",
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
    stages: int = parameter(
        40, "statistics: stages of a step of the flow", minimum=2, maximum=200, static=True
    )
    heldout_fraction: float = parameter(
        0.2,
        "fraction held out where the data come without a split",
        minimum=0.05,
        maximum=0.9,
        static=True,
    )
    evaluation_samples: int = parameter(
        1000,
        "at most so many held-out (and training) images are classified",
        minimum=1,
        static=True,
    )
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable("untrained_loss", ("step",), meaning="Loss on untrained routes, training images."),
    Variable(
        "trained_accuracy",
        ("step",),
        meaning="Fraction of held-out images classified right, mean over trained routes.",
    ),
    Variable(
        "untrained_accuracy",
        ("step",),
        meaning="Fraction of held-out images classified right, mean over untrained routes; 0 if there are none.",
    ),
    Variable(
        "flow_time",
        ("step",),
        TIME_UNIT,
        meaning="Continuous time; with momentum m, step × learning rate / (1 - m).",
    ),
    Variable(
        "excess_loss",
        ("step",),
        meaning="Training loss above that of least squares, over that of answering zero.",
    ),
    Variable(
        "trained_pairs", ("input_domain", "output_domain"), meaning="1 where a route is trained."
    ),
    Variable(
        "heldout_accuracy",
        ("input_domain", "output_domain"),
        meaning="Fraction of held-out samples classified right on every route.",
    ),
    Variable("least_squares_loss", meaning="Loss of the least-squares map, mean over domains."),
    Variable(
        "least_squares_accuracy",
        meaning="Held-out accuracy of the least-squares map, mean over domains.",
    ),
    Variable("chance_accuracy", meaning="1 over the number of classes: answers at random."),
)


def check(parameters: Parameters) -> None:
    """Refuse combinations of parameters that make no network or no task."""
    p = parameters
    if p.trained_outputs > p.domains:
        raise argument_error(
            "trained_outputs",
            f"be between 1 and `domains` = {p.domains}",
            f"is {p.trained_outputs}",
            "Try --trained-outputs with values up to --domains.",
        )
    if p.training == "statistics":
        repair = "Try --training minibatch."
        if p.loss != "squared":
            raise argument_error("loss", "be `squared` from statistics", f"is `{p.loss}`", repair)
        if p.negative_slope != 1:
            raise argument_error(
                "negative_slope", "be 1 from statistics", f"is {p.negative_slope:g}", repair
            )
        if p.biases:
            raise argument_error("biases", "be false from statistics", "is true", repair)
    for name, owner in (("features_file", "features"), ("resnet_weights", "cifar10")):
        if getattr(p, name) and p.data != owner:
            raise argument_error(name, f"go with data `{owner}`", f"data is `{p.data}`")
    if p.data == "features":
        if not p.features_file:
            raise argument_error("features_file", "name a file for data `features`", "is not given")
        if p.transform == "rotation":
            raise argument_error("transform", "be `permutation` for features", "is `rotation`")


def mask(parameters: Parameters, root_seed: int, seed: int) -> np.ndarray:
    """Trained pairs of one run, shape (input_domain, output_domain)."""
    size = (parameters.domains, parameters.trained_outputs)
    return masks.draw(parameters.mask, *size, generator(root_seed, seed, "mask"))


_DATA_FIELDS = (
    "data",
    "data_dir",
    "features_file",
    "resnet_weights",
    "transform",
    "rotation_degrees",
    "heldout_fraction",
)


def domain_data(parameters: Parameters) -> tuple[Domains, Statistics | None]:
    """Images of all domains and their statistics (None for minibatches); the split is the same in all runs."""
    domains = parameters.domains if parameters.transform == "rotation" else 1
    fields = tuple(getattr(parameters, name) for name in _DATA_FIELDS)
    return _domain_data(fields, domains, parameters.training == "statistics")


@functools.lru_cache(maxsize=2)
def _domain_data(fields, domains, with_statistics):
    p = replace(Parameters(), **dict(zip(_DATA_FIELDS, fields, strict=True)))
    random = generator(0, 0, "data")
    loaders = {
        "digits": lambda: images.digits(p.heldout_fraction, random),
        "mnist": lambda: image_files.mnist(p.data_dir, p.heldout_fraction, random),
        "cifar10": lambda: image_files.cifar10(p.data_dir, p.heldout_fraction, random),
        "features": lambda: image_files.features(p.features_file, p.heldout_fraction, random),
    }
    data = loaders[p.data]()
    if p.resnet_weights:
        from foretrain.tasks.image_features import resnet_features

        extract = functools.partial(resnet_features, weights=p.resnet_weights)
        found = image_domains.rotated_features(data, domains, p.rotation_degrees, extract)
    elif p.transform == "rotation":
        found = image_domains.rotated(data, domains, p.rotation_degrees)
    else:
        found = image_domains.permuted(data)
    return found, image_domains.statistics(found) if with_statistics else None


def shared(parameters: Parameters) -> dict[str, np.ndarray]:
    """Images, labels and statistics, common to all runs."""
    data, found = domain_data(parameters)
    most = parameters.evaluation_samples
    arrays = {"heldout_labels": data.heldout_labels[:most].astype(np.int32)}
    heldout = data.heldout_inputs[:, :most]
    if found is None:
        arrays |= {"inputs": data.inputs, "labels": data.labels.astype(np.int32)}
        if data.maps is not None:
            arrays["maps"] = data.maps
        return {**arrays, "heldout_inputs": heldout}
    arrays |= {name: getattr(found, name) for name in ("scales", "targets", "residual")}
    if data.maps is None:
        return {**arrays, "heldout_inputs": heldout @ found.bases}
    bases = found.bases.transpose(0, 2, 1).astype(np.float32)
    return {**arrays, "heldout_inputs": heldout, "maps": bases @ data.maps}


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    names = ("gain", "negative_slope", "learning_rate", "momentum", "excess_tolerance", "duration")
    scalars = {name: np.float64(getattr(parameters, name)) for name in names}
    return {
        **scalars,
        "solver_tolerance": np.float64(parameters.solver_tolerance),
        "trained_pairs": mask(parameters, root_seed, seed).astype(float),
    }


def estimate(parameters: Parameters) -> float:
    """Predicted steps: all of them for minibatches; a flow waits long for small starts and is stiff for large ones."""
    if parameters.training == "minibatch":
        return parameters.steps
    return min(parameters.steps, 200 + 3 / parameters.gain + 300 * parameters.gain)


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`."""
    from foretrain.studies.image_routing import training

    make = training.flow if parameters.training == "statistics" else training.minibatch
    return make(parameters)


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Where a linear network with squared error ends on every trained route, the least-squares map; and chance."""
    linear = parameters.loss == "squared" and parameters.negative_slope == 1
    loss = accuracy = math.nan
    if linear and not parameters.biases:
        loss, accuracy = _least_squares(replace(parameters, training="statistics"))
    return xr.Dataset(
        {
            "least_squares_loss": loss,
            "least_squares_accuracy": accuracy,
            "chance_accuracy": 1 / domain_data(parameters)[0].classes,
        }
    )


def _least_squares(parameters):
    data, found = domain_data(parameters)
    return image_domains.least_squares(data, found, parameters.evaluation_samples)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what Figs 7-10 say, over the whole grid; see `image_routing_claims`."""
    from foretrain.studies.image_routing import claims as image_routing_claims

    return image_routing_claims.judge_all(runs)
