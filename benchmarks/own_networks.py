"""When does the kernel at the start describe a training, told before it? Drawn networks, trained beside what is said.

    python benchmarks/own_networks.py [number] [first seed]

Each line is a network: by what the kernel along the way changes the curve, what is said of it, the miss of the predicted curve
over the loss at the start, and its largest relative error; below, how often each verdict was right.
"""

import sys

import numpy as np

from foretrain.forecast.kernel_forecast import NEAR, WILL_DO, WILL_NOT, kernel_forecast
from foretrain.forecast.kernel_recursion import Kernel
from foretrain.forecast.own_network import batches, described, starts
from foretrain.forecast.shares import bounded, lost
from foretrain.forecast.simulated import Corner, Simulator, log_spaced

STARTS = 2


def examples(random):
    """Inputs of mean square length 1 and targets of one of three tasks: digits, a teacher, waves."""
    count, kind = int(random.integers(16, 65)), random.choice(["digits", "teacher", "waves"])
    if kind == "digits":
        from sklearn.datasets import load_digits

        bundle = load_digits()
        rows = random.permutation(len(bundle.data))[:count]
        x = bundle.data - bundle.data.mean(0)
        y = np.where(bundle.target[rows] % 2, 1.0, -1.0)
        x = (x @ np.linalg.svd(x, full_matrices=False)[2][:24].T)[rows]
    else:
        x = random.standard_normal((count, int(random.integers(4, 25))))
        ahead = random.standard_normal((x.shape[1], 3)) / np.sqrt(x.shape[1])
        y = np.tanh(2 * x @ ahead).sum(1) if kind == "teacher" else np.sin(3 * x @ ahead[:, 0])
    return x / np.sqrt((x**2).sum(1).mean()), y[:, None], str(kind)


def network(random, inputs):
    """A perceptron, or a convolution over the inputs, at a drawn width, activation and scale of the start."""
    import jax
    import jax.numpy as jnp

    name = str(random.choice(["tanh", "relu", "gelu", "leaky_relu"]))
    shape = getattr(jax.nn, name)
    width, depth = int(random.choice([16, 32, 64, 128])), int(random.integers(1, 3))
    scale = float(np.exp(random.uniform(np.log(0.2), np.log(3))))
    convolves = random.random() < 0.25
    gain = 1.0 if name == "tanh" else np.sqrt(2)
    sizes = [inputs, *[width] * depth, 1]

    def init(key):
        keys = jax.random.split(key, len(sizes) - 1)
        layers = zip(keys, sizes[:-1], sizes[1:], strict=True)
        weights = [scale * gain * jax.random.normal(k, (a, b)) / jnp.sqrt(a) for k, a, b in layers]
        if convolves:
            weights[0] = scale * jax.random.normal(keys[0], (3, 1, width // 4)) / jnp.sqrt(3.0)
            weights[1] = weights[1][: width // 4]
        return weights

    def apply(w, x):
        if convolves:
            order = ("NWC", "WIO", "NWC")
            signal = x[:, :, None] * inputs**0.5
            maps = jax.lax.conv_general_dilated(signal, w[0], (1,), "SAME", dimension_numbers=order)
            x = shape(maps).mean(1)
        for number, layer in enumerate(w[1:] if convolves else w):
            last = number == len(w[1:] if convolves else w) - 1
            x = x @ layer if last else shape(x @ layer)
        return x

    kind = "convolution" if convolves else f"{depth} x {width}"
    return apply, init, f"{kind} {name} x {scale:.2f}"


def drawn(seed):
    """A training with its words: the rate is a share of the edge of its first start, .02 to .9, in full batches or not."""
    import jax

    random = np.random.default_rng([3, seed])
    x, y, task = examples(random)
    apply, init, words = network(random, x.shape[1])
    share = float(np.exp(random.uniform(np.log(0.02), np.log(0.9))))
    batch = None if random.random() < 0.5 else int(random.choice([2, 4, 8]))
    with jax.enable_x64(True):
        plain = described(apply, init, x, y, rate=1.0, steps=1)
        edge = Kernel(plain, jax.tree.map(lambda leaf: leaf[0], starts(plain, 1))).edge
    steps = int(min(1000, np.ceil(random.choice([4, 20, 80]) / share)))
    training = described(apply, init, x, y, rate=share / edge, steps=steps, batch=batch)
    return (
        training,
        f"{task} {len(x)}, {words}, c {share:.2f}, batch {batch or 'all'}, {steps} steps",
    )


def judged(seed):
    """Correction, verdict, miss and relative error of one drawn network; None if it diverges itself."""
    import jax

    training, words = drawn(seed)
    with jax.enable_x64(True):
        weights = jax.tree.map(np.asarray, starts(training, STARTS))
    rows, at = batches(training, STARTS), log_spaced(training.steps)
    kernels = [Kernel(training, jax.tree.map(lambda x, k=k: x[k], weights)) for k in range(STARTS)]
    forecast, _ = kernel_forecast(kernels, rows, at)
    run = Simulator(training, weights, rows, at).run(Corner(True, True, True, True)).train
    if lost(run).any():
        return None, words
    first = run[:, 0]
    miss = np.abs(bounded(forecast.train, first) - bounded(run, first)).max(1).mean()
    relative = (np.abs(forecast.train - run) / run).max(1).mean()
    correction = np.nan if forecast.correction is None else forecast.correction.measured
    return (correction, forecast.verdict, miss, relative), words


def main(number=40, first=0):
    rows = []
    for seed in range(first, first + number):
        found, words = judged(seed)
        if found is None:
            print(f"{seed:3} diverges: {words}", flush=True)
            continue
        correction, verdict, miss, relative = found
        rows.append(found)
        line = f"{seed:3} correction {correction:5.3f} {verdict:17} miss {miss:.3f} relative {relative:8.3f}"
        print(f"{line}  {words}", flush=True)
    for name in ("will do", "cannot be said", "not to be trusted", "diverges"):
        misses = np.array([row[2] for row in rows if row[1] == name])
        if misses.size:
            near = int((misses < NEAR).sum())
            print(f"{name}: {misses.size} of {len(rows)}, of which {near} miss by less than {NEAR}")
    print(f"thresholds {WILL_DO}, {WILL_NOT}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
