"""Critical fraction: how many samples determine a representation, and when do networks learn it?"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from foretrain.study import Seed, declare, default, generator
from foretrain.theory.grokking import effective_loss, grokking_time, parallelograms
from foretrain.training import embedding as toy
from foretrain.training.embedding import Toy, check, inputs, labels, program, reads, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, Figs 4, 5"
COST = "2 min"
REFERENCES = ("liu2022",)
EXPLORE = ("training_size",)
SEEDS = 16
AXES = {"training_size": (16, 22, 28, 34, 40, 46, 52)}
PRESETS = {
    "paper": {
        "seeds": 40,
        "steps": 20000,
        "training_size": (10, 14, 18, 20, 22, 24, 26, 28, 30, 35, 40, 45, 50, 54),
    }
}
DRAWS = 10_000
ADAM_STEPS = 5000  # after which Adam on the effective loss counts as one that never gets there
declare(
    unique_probability="Share of random training sets of this size that determine the representation."
)
declare(
    unit="step",
    theory_step="1 / (lambda_3 eta); infinity = never.",
    adam_step="Step at which Adam on the effective loss, from the same start, has the RQI; infinity = never.",
    flow_step="Step from which on the flow of the effective loss from the same start has the RQI; infinity = never.",
)
declare("step symbol coordinate", flow_embedding="Normalised embeddings along that flow.")


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model, whose runs end when accuracies and RQI are reached."""

    steps: int = default(3000)
    stop: str = default("representation")


@cache
def critical_sizes(name: str, symbols: int) -> np.ndarray:
    """Samples in random order after which the representation is unique, int (draw,)."""
    task = toy.operation_of(name, symbols)
    return parallelograms.critical_sizes(task, DRAWS, generator(Seed(0, 0), "critical"))


def predict(p, step, seed):
    """Probability of a unique representation; normalised flow of the effective loss from the run's start; Adam on it."""
    task, rate = toy.operation(p), p.embedding_learning_rate
    if not task.commutative or not rate or p.symbols < 3:
        return {}
    start = inputs(p, seed)
    training, place = start["training"] > 0, start["embedding"]
    wanted = p.rqi_threshold, p.parallelogram_tolerance
    path = effective_loss.exact_flow(parallelograms.normalised(place), rate * step, task, training)
    adam = grokking_time.adam_descent(place, rate, ADAM_STEPS, task, training)
    return {
        "unique_probability": (critical_sizes(p.operation, p.symbols) <= p.training_size).mean(),
        "theory_step": effective_loss.grokking_time(start["lambda_3"], rate),
        "flow_step": grokking_time.flow_time(place, task, training, *wanted) / rate,
        "adam_step": grokking_time.first_step(adam, task, *wanted),
        "flow_embedding": path,
        "rqi": parallelograms.rqi(path, task, p.parallelogram_tolerance),
    }
