"""Time and memory of `foretrain.explain` at a usual size, and its curves beside a slower way to them.

``python benchmarks/explain_size.py [--examples N] [--steps N] [--seeds N] [--slow]`` explains a rectified network of 784, 128
and 10 units (101,770 weights) on images of MNIST, by minibatches of 32 and cross-entropy; ``--small`` one of 997 weights on
100 examples, whose programs the second call finds compiled in the folder ``FORETRAIN_CACHE_DIR``. Seconds of processor, which
all processes have worked, hardly depend on what else the machine does. ``--slow`` trains the first two starts of every corner
once more, in double precision and by a small step or more for every own one, and tells the largest difference.
``--convolution`` trains four starts of a small convolutional network with XLA's convolutions, and as sums of products.
"""

import argparse
import os
import resource
import tempfile
import time
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.engine.cache import program_cache
from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described
from foretrain.explain.simulated import Corner, simulator_of
from foretrain.tasks.image_files import mnist


def init(sizes, key):
    """Weights of the network of so many inputs, units and outputs."""
    inputs, width, outputs = sizes
    first, last = jax.random.split(key)
    return {
        "first": jax.random.normal(first, (inputs, width)) * (2 / inputs) ** 0.5,
        "bias": jnp.zeros(width),
        "last": jax.random.normal(last, (width, outputs)) / width**0.5,
        "shift": jnp.zeros(outputs),
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
    return described(apply, partial(init, (784, width, 10)), x, y, steps=steps, **rules)


def small_network() -> Training:
    """A training of 997 weights on 100 normal examples: squared error, rate .05, batch 20, 500 steps."""
    x = np.random.default_rng(0).normal(size=(100, 10))
    rules = {"learning_rate": 0.05, "batch_size": 20, "steps": 500}
    return described(apply, partial(init, (10, 83, 1)), x, np.sin(2 * x[:, :1]), **rules)


def convolve(w, x):
    """Logits of 8 and 16 filters of 3 x 3, rectified, in maxima of 2 x 2, on 1 x 8 x 8 numbers."""
    for name in ("first", "second"):
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w[name], (1, 1), "SAME"))
    return x.reshape(len(x), 16, 4, 2, 4, 2).max((3, 5)).reshape(len(x), -1) @ w["last"]


def filters(key):
    """Weights of `convolve`."""
    shapes = {"first": (8, 1, 3, 3), "second": (16, 8, 3, 3), "last": (256, 10)}
    keys = zip(shapes.items(), jax.random.split(key, 3), strict=True)
    return {name: jax.random.normal(k, shape) / 9 for (name, shape), k in keys}


def convolutions() -> dict[str, float]:
    """Seconds of 200 steps of four starts on 200 examples, with XLA's convolutions and as sums of products."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(200, 1, 8, 8)), random.integers(0, 10, 200)
    training = described(
        convolve, filters, x, y, learning_rate=0.1, steps=200, loss="cross_entropy"
    )
    taken, ways = {}, {"XLA's convolutions": convolve, "sums of products": training.apply}
    for name, function in ways.items():
        simulator = simulator_of(replace(training, apply=function), 4)
        for _ in range(2):  # the first one compiles
            began = time.monotonic()
            simulator.run(Corner(True, True, True))
            taken[f"seconds with {name}"] = time.monotonic() - began
    return taken


def slow_curves(explanation: Explanation) -> dict[Corner, np.ndarray]:
    """Training losses of the first two starts in every corner, in double precision, by small steps of an own one at most."""
    simulator = simulator_of(explanation.training, 2)
    simulator.weights = 0  # double precision
    substeps = max(1.0, explanation.substeps)
    return {
        corner: simulator.run(corner, 1.0 if corner.step else substeps).train
        for corner in explanation.train
    }


def _usages():
    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def _core_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in _usages())


def main(words: list[str] | None = None) -> dict[str, float]:
    """Print and return what the explanation took, and how far its curves are from the slow ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("examples", 1000), ("steps", 1500), ("width", 128), ("seeds", None)):
        parser.add_argument(f"--{name}", type=int, default=number)
    for name in ("slow", "small", "convolution"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--out", help="folder in which a call that was cut off goes on")
    arguments = parser.parse_args(words)
    if arguments.convolution:
        return shown(convolutions())
    source = partial(network, arguments.examples, arguments.steps, arguments.width)
    source = small_network if arguments.small else source
    began, screens = time.monotonic(), []

    def tell(line):
        if "First the kernel" not in line:
            screens.append(_core_seconds())
        print(line)

    with tempfile.TemporaryDirectory() as folder, program_cache():
        explanation = explained(
            source(),
            seeds=arguments.seeds,
            out=arguments.out or folder,
            source=source,
            cores=os.sched_getaffinity(0),
            tell=tell,
        )
    assert explanation is not None, "without shards all is trained"
    print(explanation)
    taken = {
        "core seconds before the first screen": screens[0],
        "core seconds": _core_seconds(),
        "seconds": time.monotonic() - began,
        "bytes of the largest process": 1024.0 * max(usage.ru_maxrss for usage in _usages()),
        "small steps for an own one": explanation.substeps,
    }
    if arguments.slow:
        run = explanation.train[explanation.run][:2, :1]
        off = {
            c: np.abs(explanation.train[c][:2] - slow) / run
            for c, slow in slow_curves(explanation).items()
        }
        taken["largest difference from the slow curves"] = max(map(np.max, off.values()))
    return shown(taken)


def shown(taken: dict[str, float]) -> dict[str, float]:
    """The numbers, printed."""
    for name, value in taken.items():
        print(f"{name}: {value:.3g}")
    return taken


if __name__ == "__main__":
    main()
