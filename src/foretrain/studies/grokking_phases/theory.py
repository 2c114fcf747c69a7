"""What can be said of a run before it is trained: how long its representation and its decoder take, each alone.

Both times are computed once for a start and go as one over a rate; nothing in them is fitted to the runs. The decoder's is
that of the decoder alone under Adam, on embeddings that do not move, at one rate: in small steps Adam's path does not depend
on its rate.
"""

import dataclasses
from functools import lru_cache

import numpy as np

from foretrain.study import Seed
from foretrain.theory import published_rules
from foretrain.theory.grokking_time import flow_time
from foretrain.training.embedding import Toy, inputs, operation
from foretrain.training.embedding_start import decoder_of

RATE = 1e-3  # of the decoder alone
PATH = 3.0  # rate times steps after which it counts as never


def predict(p, step, seed):
    """First steps of a run whose representation and decoder are learned one after the other; infinity = never."""
    task = operation(p)
    if not task.commutative or p.symbols < 3:
        return {}
    times = at_start(_plain(p), seed)
    with np.errstate(divide="ignore"):
        flow, decoder = np.array(times) / (p.embedding_learning_rate, p.decoder_learning_rate)
    return {"rqi_step": flow, "decoder_step": decoder, "validation_step": flow + decoder}


def _plain(p):
    """Parameters that differ in what times do not depend on, made equal; of the toy model only."""
    names = [field.name for field in dataclasses.fields(Toy)]
    toy = Toy(**{name: getattr(p, name) for name in names})
    free = {"embedding_learning_rate": 1.0, "decoder_learning_rate": 1.0, "embedding_decay": 0.0}
    return dataclasses.replace(toy, batch_size=0, steps=1, observe_every=1, stop="never", **free)


@lru_cache(maxsize=1024)
def at_start(p: Toy, seed: Seed) -> tuple[float, float]:
    """Rate times steps of the flow of the effective loss, and of the decoder on a line."""
    given, task = inputs(p, seed), operation(p)
    start, training = given["embedding"], given["training"] > 0
    flow = flow_time(start, task, training, p.rqi_threshold, p.parallelogram_tolerance)
    number = np.arange(p.symbols) - (p.symbols - 1) / 2
    line = np.outer(number / number.std(), start.std(0)) + start.mean(0)
    return float(flow), decoder_time(p, given, line)


def decoder_time(p: Toy, given: dict, embedding: np.ndarray) -> float:
    """Rate times steps after which the decoder alone has the accuracy wanted, in training and in validation.

    Args:
        p: Parameters.
        given: Inputs of the run.
        embedding: (symbol, coordinate), which do not move.
    """
    task = operation(p)
    first, second = task.samples.T
    joined, targets = embedding[first] + embedding[second], given["targets"]
    training = given["training"] > 0
    decoder = decoder_of(given)
    memories = [(np.zeros_like(part), np.zeros_like(part)) for part in decoder]
    weight = training[:, None] / training.sum()
    for step in range(int(PATH / RATE)):
        w1, b1, w2, b2, w3, b3 = decoder
        one = np.tanh(joined @ w1 + b1)
        two = np.tanh(one @ w2 + b2)
        out = two @ w3 + b3
        nearness = out @ targets.T - 0.5 * (targets**2).sum(1)
        right = nearness.argmax(1) == task.labels
        if all(
            right[part].mean() >= p.accuracy_threshold
            for part in (training, ~training)
            if part.any()
        ):
            return step * RATE
        slope = _slope(p, out, targets[task.labels]) * weight
        back = (slope @ w3.T) * (1 - two**2)
        first_back = (back @ w2.T) * (1 - one**2)
        slopes = (
            *(joined.T @ first_back, first_back.sum(0)),
            *(one.T @ back, back.sum(0)),
            *(two.T @ slope, slope.sum(0)),
        )
        moved = [
            published_rules.step("adamw", part, slope, memory, step + 1, RATE, p.decoder_decay)
            for part, slope, memory in zip(decoder, slopes, memories, strict=True)
        ]
        decoder, memories = zip(*moved, strict=True)
    return np.inf


def _slope(p, out, targets):
    """Gradient of the loss of each sample in the outputs."""
    if p.objective == "regression":
        return 2 * (out - targets) / out.shape[1]
    odds = np.exp(out - out.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True) - targets
