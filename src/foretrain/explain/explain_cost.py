"""What an explanation will cost, told before it is computed: seconds by a short trial, and bytes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.explain.own_network import Training
from foretrain.explain.simulated import STAGES, Corner, in_single, run_corner
from foretrain.explain.stored_curves import gradient_program
from foretrain.words import count, duration, memory

_TRIED = 0.1  # seconds of a trial
_HELD = 2.0  # gradients that one held to first order is worth, as measured; the network itself is 1
_COPIES = 6  # of the weights, in a step of a corner


@dataclass(frozen=True)
class Cost:
    """The cost of an explanation.

    Attributes:
        whole, part: Seconds of one start's gradient on all examples, and on a minibatch.
        single: True if small steps are in single precision, which takes half the time.
        memory: Bytes of a corner: weights in all their copies, what a gradient needs beside them, and kernels.
    """

    whole: float
    part: float
    memory: float
    single: bool

    def seconds(self, training: Training, starts: int, corner: Corner, substeps: int) -> float:
        """Seconds that a corner is expected to take, without its compilation."""
        gradient = self.part if corner.batches else self.whole
        stages = 1 if corner.step else STAGES * substeps * (0.5 if self.single else 1.0)
        held = 1.0 if corner.layers and corner.gates else _HELD
        return gradient * held * stages * starts * training.steps

    def all(self, training: Training, starts: int, asked: Sequence[Corner], substeps: int) -> float:
        """Seconds of several corners."""
        return sum(self.seconds(training, starts, one, substeps) for one in asked)


def cost(training: Training, starts: Any) -> Cost:
    """The cost, by gradients of the first start that are computed for a tenth of a second or at least twice."""
    import jax

    leaves = jax.tree.leaves(starts)
    number = len(leaves[0])
    first = jax.tree.map(lambda leaf: np.asarray(leaf[0]), starts)
    whole, beside = _trial(training, starts, first, len(training.x))
    part = whole
    if training.in_batches:
        part, _ = _trial(training, starts, first, training.batch)
    outputs = jax.eval_shape(training.apply, first, training.x).size
    test = 0 if training.x_test is None else len(training.x_test)
    kernels = 8 * outputs**2 * (1 + test / len(training.x)) * number
    weights = _COPIES * sum(leaf.nbytes for leaf in leaves)
    size = float(weights + number * beside + kernels)
    return Cost(whole, part, size, in_single(training, starts))


def cost_words(
    found: Cost, training: Training, starts: Any, asked: Sequence[Corner], substeps: int
) -> str:
    """What an explanation costs, in a line; with 1 substep that is the least."""
    import jax

    leaves = jax.tree.leaves(starts)
    number, size = len(leaves[0]), sum(leaf[0].size for leaf in leaves)
    own = duration(found.seconds(training, number, run_corner(training), substeps))
    least = "at least " if substeps == 1 else ""
    return (
        f"Cost: {count(number, 'start')} of {size:,} weights take {own} for the {training.steps} steps of the run, and "
        f"{least}{duration(found.all(training, number, asked, substeps))} for all {len(asked)} corners, small steps being "
        f"{substeps} x {STAGES} gradients; {memory(found.memory)} of memory. Compiling, kernels and the search "
        "for substeps come on top."
    )


def _trial(training, starts, first, examples):
    """Seconds of a gradient, and bytes that it needs beside weights."""
    import jax

    with jax.enable_x64(True):
        program = gradient_program(training, starts, examples).compile()
        given = first, training.x[:examples], training.y[:examples]
        jax.block_until_ready(program(*given))
        times, until = [], time.monotonic() + _TRIED
        while len(times) < 2 or time.monotonic() < until:
            began = time.monotonic()
            jax.block_until_ready(program(*given))
            times.append(time.monotonic() - began)
    return min(times), int(program.memory_analysis().temp_size_in_bytes)
