"""Grokking phases: which of four phases does a network end in, how surely, why, and when?"""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from scipy.special import softmax

from foretrain.networks import embedding as network
from foretrain.study import Seed, declare, default
from foretrain.theory import published_rules
from foretrain.theory.grokking.grokking_time import flow_time
from foretrain.training import embedding as toy
from foretrain.training.embedding import Toy, check, inputs, labels, program, reads, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, Figs 6, 13-15"
COST = "3 min"
REFERENCES = ("liu2022",)
SEEDS = 12
_COARSE = (1e-5, 5.62e-5, 3.16e-4, 1.78e-3, 1e-2)
EXPLORE = ("embedding_learning_rate", "decoder_learning_rate")
AXES = {"decoder_learning_rate": _COARSE, "embedding_learning_rate": _COARSE}
_RATES = tuple(float(f"{10 ** (-5 + n / 4):.3g}") for n in range(13))
_TEN = tuple(float(f"{10 ** (-5 + n / 3):.3g}") for n in range(10))
_MAP = {"seeds": 2, "hidden_width": 200, "steps": 100_000}
_KNOB = {**_MAP, "decoder_learning_rate": _TEN, "embedding_learning_rate": 1e-3}
_DECAY = {**_KNOB, "decoder_decay": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)}
_S3 = {"operation": "symmetric", "symbols": 6, "embedding_dim": 3, "training_size": 24}
PRESETS = {  # Fig. 6a, b, c, d, and Figs 13 to 15
    "paper": {**_MAP, "decoder_learning_rate": _RATES, "embedding_learning_rate": _RATES},
    "decay": _DECAY,
    "classification": {
        **_DECAY,
        "objective": "classification",
        "decoder_decay": (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0),
    },
    "permutation": {**_DECAY, **_S3, "parallelogram_tolerance": 0.71},
    "batch": {**_KNOB, "batch_size": (3, 5, 8, 12, 16, 21, 27, 33, 39, 45)},
    "scale": {**_KNOB, "init_scale": (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)},
    "embedding-decay": {
        **_KNOB,
        "embedding_decay": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0),
    },
}
RATE = 1e-3  # of the decoder alone
PATH = 3.0  # rate times steps after which it counts as never
declare(
    unit="step",
    decoder_step="Step at which the decoder alone, embeddings on a line of the start's spread, generalises; infinity = never.",
)


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model; a run ends when both accuracies are reached, or the budget is spent."""

    hidden_width: int = default(50)
    steps: int = default(20_000)
    observe_every: int = default(500)


def predict(p, step, seed):
    """Return the first steps of a run whose representation and decoder are learned one after the other; infinity = never."""
    task = toy.operation(p)
    if not task.commutative or p.symbols < 3:
        return {}
    # Of the toy model alone, equal where times do not depend on its parameters.
    alone = {field.name: getattr(p, field.name) for field in fields(Toy)}
    alone |= {"embedding_learning_rate": 1.0, "decoder_learning_rate": 1.0, "embedding_decay": 0.0}
    alone |= {"batch_size": 0, "steps": 1, "observe_every": 1, "stop": "never"}
    times = at_start(Toy(**alone), seed)
    with np.errstate(divide="ignore"):
        flow, decoder = np.array(times) / (p.embedding_learning_rate, p.decoder_learning_rate)
    return {"rqi_step": flow, "decoder_step": decoder, "validation_step": flow + decoder}


@lru_cache(maxsize=1024)
def at_start(p: Toy, seed: Seed) -> tuple[float, float]:
    """Return rate times steps of the flow of the effective loss, and of the decoder on a line."""
    arrays, task = inputs(p, seed), toy.operation(p)
    start, training = arrays["embedding"], arrays["training"] > 0
    flow = flow_time(start, task, training, p.rqi_threshold, p.parallelogram_tolerance)
    number = np.arange(p.symbols) - (p.symbols - 1) / 2
    line = np.outer(number / number.std(), start.std(0)) + start.mean(0)
    return float(flow), decoder_time(p, arrays, line)


def decoder_time(p: Toy, arrays: dict, embedding: np.ndarray) -> float:
    """Return rate times steps in which the decoder alone, on still embeddings (symbol, coordinate), has both accuracies."""
    task, targets, training = toy.operation(p), arrays["targets"], arrays["training"] > 0
    joined, wanted = embedding[task.samples].sum(1), targets[task.labels]
    parts = [part for part in (training, ~training) if part.any()]
    decoder = network.turned(network.Decoder(*map(arrays.__getitem__, network.Decoder._fields)))
    memories = [(np.zeros_like(weights), np.zeros_like(weights)) for weights in decoder]
    for step in range(int(PATH / RATE)):
        first = np.tanh(joined @ decoder.weight_1 + decoder.bias_1)
        second = np.tanh(first @ decoder.weight_2 + decoder.bias_2)
        outputs = second @ decoder.weight_3.T + decoder.bias_3
        right = network.nearness(outputs, targets).argmax(0) == task.labels
        if all(right[part].mean() >= p.accuracy_threshold for part in parts):
            return step * RATE
        regression = p.objective == "regression"
        slope = (
            2 * (outputs - wanted) / len(outputs.T) if regression else softmax(outputs, 1) - wanted
        )
        back = slope.T * training / training.sum()
        slopes, _ = network.slopes(decoder, joined, first, second, back)
        moved = [
            published_rules.step("adamw", part, slope, memory, step + 1, RATE, p.decoder_decay)
            for part, slope, memory in zip(decoder, slopes, memories, strict=True)
        ]
        weights, memories = zip(*moved, strict=True)
        decoder = network.Decoder(*weights)
    return np.inf


def tells_enough(c):
    """Return True for runs whose training set lets the ideal model reach the validation accuracy."""
    total = len(toy.operation(c.p).samples)
    if not (rest := total - c.p.training_size):
        return c.ideal_accuracy >= 0
    ideal = (c.ideal_accuracy * total - c.p.training_size) / rest
    return ideal >= c.p.accuracy_threshold - toy.SLACK * total


def learners(c):
    """Return True for seeds whose training set determines enough, shape (seed,)."""
    which = tells_enough(c)
    return which.isel({dim: 0 for dim in which.dims if dim != "seed"}, drop=True)
