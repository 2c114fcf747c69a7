"""A rectified perceptron learns few images, from a start of any size; grokking depends on several of its numbers."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.networks.embedding import Decoder, draw_decoder
from foretrain.plans.blocks import Run
from foretrain.plans.parameters import choice, default, parameter, size
from foretrain.streams import Seed, generator, key
from foretrain.tasks import image_files
from foretrain.tasks.data_files import DataFile
from foretrain.tasks.images import LabelledImages, flatten
from foretrain.training import phases

CURVES = ("train_accuracy", "validation_accuracy")
_HELD_OUT = 0.25  # of data that come without a split


@dataclass(frozen=True)
class ImagePerceptron(Run):
    """Parameters of the perceptron; the steps are the budget within which a threshold counts as reached."""

    data: str = choice("scikit-learn's 1,797 digits, or MNIST from files", ("digits", "mnist"))
    training_size: int = size(100, "training images", 10**6)
    validation_size: int = size(400, "held-out images on which generalisation is looked for", 10**6)
    hidden_width: int = size(50, "width of both hidden layers", 10**4)
    init_scale: float = parameter(
        6.0, "factor on all parameters of PyTorch's start", symbol="α", above=0, maximum=1e6
    )
    learning_rate: float = parameter(0.003, "rate of the hidden layers, AdamW", minimum=0)
    last_learning_rate: float = parameter(0.003, "rate of the last layer, AdamW", minimum=0)
    weight_decay: float = parameter(0.1, "decoupled weight decay of all parameters", minimum=0)
    batch_size: int = parameter(
        0,
        "training images of a step, drawn anew without repetition; 0 is all",
        minimum=0,
        static=True,
    )
    train_threshold: float = parameter(0.9, "accuracy that counts as fitted", minimum=0, maximum=1)
    validation_threshold: float = parameter(
        0.6, "accuracy that counts as generalised", minimum=0, maximum=1
    )
    delay: int = parameter(
        500, "steps from fitted to generalised from which on it is grokking", minimum=1
    )
    steps: int = default(8000)
    observe_every: int = default(
        20, "stride in steps of what is stored, and the fineness of both first steps"
    )


def check(p: ImagePerceptron) -> None:
    """Refuse batches larger than the training set, and of bundled data more images than there are."""
    phases.check_batch(p)
    if p.data == "digits":
        _check_enough(p, images_of(p.data))


def _check_enough(p, images):
    available = {"training_size": images.train_labels, "validation_size": images.heldout_labels}
    for name, labels in available.items():
        if (size := getattr(p, name)) > len(labels):
            raise argument_error(name, f"be at most {len(labels)} for `{p.data}`", f"is {size}")


@functools.lru_cache(maxsize=1)
def _load(data: str, known: tuple[str, ...]) -> LabelledImages:
    return image_files.load(data, _HELD_OUT, generator(Seed(0, 0), "data"))


def reads(p: Any) -> list[DataFile]:
    """Files of the images."""
    return image_files.files(p.data)


def images_of(data: str) -> LabelledImages:
    """All images of "digits" or, from the folder that ``FORETRAIN_DATA_DIR`` names, "mnist"; one split for all runs.

    Raises `ArgumentError` where files are missing, or are not what their names say.
    """
    return _load(data, tuple(file.digest for file in image_files.files(data)))


def inputs(p: ImagePerceptron, seed: Seed) -> dict[str, Any]:
    """Images of one run and its start; smaller training sets are the first of larger ones, and alpha only multiplies."""
    every = images_of(p.data)
    _check_enough(p, every)
    draw = generator(seed, "data")
    kept = draw.permutation(len(every.train_labels))[: p.training_size]
    validation = draw.permutation(len(every.heldout_labels))[: p.validation_size]
    images = flatten(every.train_images[kept])
    start = draw_decoder(generator(seed, "weights"), images.shape[1], p.hidden_width, every.classes)
    return {
        "images": images,
        "labels": every.train_labels[kept].astype(np.int32),
        "validation_images": flatten(every.heldout_images[validation]),
        "validation_labels": every.heldout_labels[validation].astype(np.int32),
        **{name: p.init_scale * part for name, part in start._asdict().items()},
    }


class State(NamedTuple):
    """State of a run: weights, AdamW's memory of hidden layers and of the last one, and steps taken."""

    weights: Any
    memory: Any
    last_memory: Any
    taken: Any


def program(p: ImagePerceptron) -> Program:
    """Mean squared error to one-hot labels under AdamW, whose last layer has a rate of its own."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import descent
    from foretrain.networks import perceptron

    def loss(weights, images, labels):
        """Mean over images and outputs, and the share answered right."""
        outputs = perceptron.layers(weights, images)[-1]
        wanted = jax.nn.one_hot(labels, outputs.shape[1], dtype=outputs.dtype)
        right = (outputs.argmax(1) == labels).astype(outputs.dtype).mean()
        return ((outputs - wanted) ** 2).mean(), right

    def init(inputs):
        weights = Decoder(*(inputs[name] for name in Decoder._fields))
        parts = weights[:4], weights[4:]
        memory, last_memory = (descent.start("adamw", tuple(part)) for part in parts)
        return State(weights, memory, last_memory, jnp.zeros((), jnp.int32))

    def step(inputs, state):
        images, labels = inputs["images"], inputs["labels"]
        if p.batch_size:
            random = key(inputs["root_seed"], inputs["seed"], "batch")
            random = jax.random.fold_in(random, state.taken)
            chosen = jax.random.permutation(random, p.training_size)[: p.batch_size]
            images, labels = images[chosen], labels[chosen]
        weights = tuple(state.weights)
        slope = tuple(jax.grad(lambda w: loss(w, images, labels)[0])(state.weights))

        def moved(part, memory, rate):
            decay = inputs["weight_decay"]
            return descent.step("adamw", weights[part], slope[part], memory, inputs[rate], decay)

        body, memory = moved(slice(4), state.memory, "learning_rate")
        last, last_memory = moved(slice(4, None), state.last_memory, "last_learning_rate")
        return State(Decoder(*body, *last), memory, last_memory, state.taken + 1)

    def observe(inputs, state):
        value, train = loss(state.weights, inputs["images"], inputs["labels"])
        images, labels = inputs["validation_images"], inputs["validation_labels"]
        _, validation = loss(state.weights, images, labels)
        return {"loss": value, "train_accuracy": train, "validation_accuracy": validation}

    def done(inputs, state, observed):
        fitted = observed["train_accuracy"] >= inputs["train_threshold"]
        both = fitted & (observed["validation_accuracy"] >= inputs["validation_threshold"])
        return jnp.where(both, CONVERGED, RUNNING).astype(jnp.int8)

    return Program(init, step, observe, done)


def first_steps(data, p: ImagePerceptron) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the first stored steps at which runs have fitted and generalised, infinity for never, without ``step``."""
    levels = p.train_threshold, p.validation_threshold
    # Accuracies are shares in single precision.
    reached = (data[name] >= np.float32(level) for name, level in zip(CURVES, levels, strict=True))
    fitted, generalised = (data["step"].where(now, np.inf).min("step") for now in reached)
    return fitted, generalised


def phase(fitted: xr.DataArray, generalised: xr.DataArray, delay: int) -> xr.DataArray:
    """Return the place of the phase in `phases.PHASES` of runs with these first steps, infinity for never."""
    late = generalised >= fitted + delay
    return phases.phase(np.isfinite(fitted), np.isfinite(generalised), late, xr.where)
