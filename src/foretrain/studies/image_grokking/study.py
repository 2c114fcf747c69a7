"""Grokking on images: from a large start a perceptron fits first, and generalises once weight decay has forgotten it."""

from dataclasses import dataclass

import numpy as np

from foretrain.networks.embedding import Decoder
from foretrain.study import declare, parameter
from foretrain.theory.grokking.lazy_perceptron import lazy_step, shrinking, shrunk
from foretrain.training import image_perceptron
from foretrain.training.image_perceptron import ImagePerceptron

SOURCE = "Liu et al. (2022), Towards understanding grokking, appendix J, Figs 8 and 20"
COST = "2 min"
REFERENCES = ("liu2022", "liu2022omnigrok")
EXPLORE = ("weight_decay", "init_scale")
SEEDS = 6
AXES = {
    "weight_decay": (0.1, 0.0, 0.005, 0.03, 0.05, 0.3, 1.0, 10.0),
    "last_learning_rate": (0.003, 0.0003, 0.03),
}
_SIZES = {"training_size": 1000, "validation_size": 1000, "batch_size": 200, "hidden_width": 200}
_TIMES = {"learning_rate": 0.001, "delay": 1000, "steps": 100_000, "observe_every": 100}
_MAP = {
    "weight_decay": tuple(10.0**power for power in range(-5, 3)),
    "last_learning_rate": tuple(10.0**power for power in range(-6, 2)),
    "compared_rate": 0.001,
}
PRESETS = {"paper": {"data": "mnist", "init_scale": 9.0, **_SIZES, **_TIMES, **_MAP}}
STARTS = {"smaller": 2 / 3, "larger": 4 / 3}  # times alpha; "usual" is alpha = 1
SIZES = {"fewer": 0.5, "more": 2.0}  # times the number of training images
SHORTEST = 2 / 3  # of a start is left along itself when it is fitted by least change
MNIST = 60_000  # training images

declare(
    unit="step",
    forgetting_step="Step at which decay has multiplied the product of the three layers by 1/alpha³; infinity for never.",
    lazy_step="First step at which the tangent kernel of a shrunk start generalises; infinity: never; nan: decay overshoots.",
    shorter_lazy_step="That step of a start two thirds as large, the shortest that fitting makes it.",
)
check, inputs, program = image_perceptron.check, image_perceptron.inputs, image_perceptron.program
reads = image_perceptron.reads


@dataclass(frozen=True)
class Parameters(ImagePerceptron):
    """The perceptron, and the cell of the map in which other starts and training sets are trained, too."""

    compared_decay: float = parameter(0.1, "decay of the cell with other starts", sweepable=False)
    compared_rate: float = parameter(0.003, "rate of the last layer in that cell", sweepable=False)


def has_comparisons(p):
    """Return True in the cell of the map in which other starts and training sets are trained as well."""
    in_cell = (p.weight_decay, p.last_learning_rate) == (p.compared_decay, p.compared_rate)
    return in_cell and p.init_scale >= 3 and p.training_size >= 2


def variants(p):
    """Other sizes of the start, and training sets half and twice as large: with a batch each, and images enough."""
    if not has_comparisons(p):
        return {}
    scales = {name: p.init_scale * factor for name, factor in STARTS.items()} | {"usual": 1.0}
    sizes = {name: round(p.training_size * factor) for name, factor in SIZES.items()}
    available = MNIST if p.data == "mnist" else len(image_perceptron.images_of(p.data).train_labels)
    if p.batch_size > sizes["fewer"] or sizes["more"] > available:
        sizes = {}
    starts = {name: {"init_scale": scale} for name, scale in scales.items()}
    return starts | {name: {"training_size": size} for name, size in sizes.items()}


def predict(p, step, seed):
    """Return the step of generalisation as decay alone, and as decay and the tangent kernel predict it."""
    arrays = inputs(p, seed)
    per_step = shrinking(p.learning_rate, p.last_learning_rate, p.weight_decay)
    with np.errstate(divide="ignore"):
        forgotten = max(np.log(p.init_scale), 0.0) / np.float64(per_step)
    start = Decoder(*(arrays[name] for name in Decoder._fields))
    images = [arrays[part + name] for part in ("", "validation_") for name in ("images", "labels")]
    rules = {
        "hidden_learning_rate": p.learning_rate,
        "last_learning_rate": p.last_learning_rate,
        "weight_decay": p.weight_decay,
        "threshold": p.validation_threshold,
    }
    starts = {"lazy_step": start, "shorter_lazy_step": shrunk(start, SHORTEST, SHORTEST)}
    laws = {name: np.float64(lazy_step(each, *images, **rules)) for name, each in starts.items()}
    return {"forgetting_step": np.float64(forgotten)} | laws
