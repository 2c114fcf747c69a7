"""Time and memory of `foretrain.explain` at a usual size, and its curves beside a slower way to them.

``python benchmarks/explain_size.py [--examples N] [--steps N] [--seeds N] [--slow]`` explains a rectified network of 784, 128
and 10 units (101,770 weights) on images of MNIST, by minibatches of 32 and cross-entropy. Seconds of processor, which all
processes have worked, hardly depend on what else the machine does. ``--slow`` trains the first two starts of every corner once
more, in double precision and by a small step or more for every own one, and tells the largest difference.
"""

import argparse
import os
import resource
import tempfile
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described
from foretrain.explain.simulated import Corner, simulator_of
from foretrain.tasks.image_files import mnist


def init(width, key):
    """Weights of the network."""
    first, last = jax.random.split(key)
    return {
        "first": jax.random.normal(first, (784, width)) * (2 / 784) ** 0.5,
        "bias": jnp.zeros(width),
        "last": jax.random.normal(last, (width, 10)) / width**0.5,
        "shift": jnp.zeros(10),
    }


def apply(w, x):
    """Logits of the network."""
    return jax.nn.relu(x @ w["first"] + w["bias"]) @ w["last"] + w["shift"]


def network(examples: int, steps: int, width: int) -> Training:
    """The training at rate .1 and batch 32, of images whose pixels lie between 0 and 1."""
    data = mnist(0.5, np.random.default_rng(0))
    x, y = (np.asarray(part)[:examples] for part in (data.train_images, data.train_labels))
    x = x.reshape(len(x), -1).astype(float)
    rules = {"learning_rate": 0.1, "batch_size": min(32, examples), "loss": "cross_entropy"}
    return described(apply, partial(init, width), x, y, steps=steps, **rules)


def slow_curves(explanation: Explanation) -> dict[Corner, np.ndarray]:
    """Training losses of the first two starts in every corner, in double precision, by small steps of an own one at most."""
    simulator = simulator_of(explanation.training, 2)
    simulator.weights = 0  # double precision
    substeps = max(1.0, explanation.substeps)
    return {
        corner: simulator.run(corner, 1.0 if corner.step else substeps).train
        for corner in explanation.train
    }


def main(words: list[str] | None = None) -> dict[str, float]:
    """Print and return what the explanation took, and how far its curves are from the slow ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("examples", 1000), ("steps", 1500), ("width", 128), ("seeds", None)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--out", help="folder in which a call that was cut off goes on")
    arguments = parser.parse_args(words)
    source = partial(network, arguments.examples, arguments.steps, arguments.width)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        explanation = explained(
            source(),
            seeds=arguments.seeds,
            out=arguments.out or folder,
            source=source,
            cores=os.sched_getaffinity(0),
            tell=print,
        )
    assert explanation is not None, "without shards all is trained"
    print(explanation)
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    taken = {
        "core seconds": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        "seconds": time.monotonic() - began,
        "bytes of the largest process": 1024.0 * max(usage.ru_maxrss for usage in usages),
        "small steps for an own one": explanation.substeps,
    }
    if arguments.slow:
        run = explanation.train[explanation.run][:2, :1]
        off = {
            c: np.abs(explanation.train[c][:2] - slow) / run
            for c, slow in slow_curves(explanation).items()
        }
        taken["largest difference from the slow curves"] = max(map(np.max, off.values()))
    for name, value in taken.items():
        print(f"{name}: {value:.3g}")
    return taken


if __name__ == "__main__":
    main()
