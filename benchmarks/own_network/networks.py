"""Networks that a seed draws: perceptrons, convolutions and attention on three tasks, from lazy ones to the edge."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import described, starts

TASKS = ("digits", "teacher", "waves")
KINDS = ("perceptron", "convolution", "attention")
ACTIVATIONS = ("tanh", "relu", "gelu", "leaky_relu")
_MOST_STEPS = 1000


class Drawn(NamedTuple):
    """A network with its data: arguments of `foretrain.explain`, its options, and what it is in words."""

    apply: Callable
    init: Callable
    x: np.ndarray
    y: np.ndarray
    options: dict
    words: str


def drawn(random: np.random.Generator) -> Drawn:
    """A network, its data, and its steps: the rate is .02 to .9 of the edge of its first start, in full batches or not."""
    x, y, task = _examples(random)
    apply, init, words = _network(random, x.shape[1])
    share = float(np.exp(random.uniform(np.log(0.02), np.log(0.9))))
    batch = None if random.random() < 0.5 else int(random.choice([1, 2, 4, 8]))
    steps = int(min(_MOST_STEPS, np.ceil(random.choice([4, 20, 80]) / share)))
    options = {
        "learning_rate": share / edge(apply, init, x, y),
        "steps": steps,
        "batch_size": batch,
    }
    text = f"{task} {len(x)}, {words}, c {share:.2f}, batch {batch or 'all'}, {steps} steps"
    return Drawn(apply, init, x, y, options, text)


def edge(apply: Callable, init: Callable, x, y) -> float:
    """The sharpness of the linearised network over two at the first start: the rate times it is 1 at the edge of stability."""
    import jax

    with jax.enable_x64(True):
        plain = described(apply, init, x, y, learning_rate=1.0, steps=1)
        return Kernel(plain, jax.tree.map(lambda leaf: leaf[0], starts(plain, 1))).edge


def _examples(random):
    """Inputs of mean square length 1, targets, and the name of the task."""
    count, task = int(random.integers(16, 65)), str(random.choice(TASKS))
    if task == "digits":
        from sklearn.datasets import load_digits

        bundle = load_digits()
        rows = random.permutation(len(bundle.data))[:count]
        x = bundle.data - bundle.data.mean(0)
        y = np.where(bundle.target[rows] % 2, 1.0, -1.0)
        x = (x @ np.linalg.svd(x, full_matrices=False)[2][:24].T)[rows]
    else:
        x = random.standard_normal((count, int(random.integers(4, 25))))
        ahead = random.standard_normal((x.shape[1], 3)) / np.sqrt(x.shape[1])
        y = np.tanh(2 * x @ ahead).sum(1) if task == "teacher" else np.sin(3 * x @ ahead[:, 0])
    return x / np.sqrt((x**2).sum(1).mean()), y[:, None], task


def _network(random, inputs):
    """A network as functions `apply` and `init`, and its words: kind, width, activation, and scale of its start."""
    kind = str(random.choice(KINDS, p=[0.5, 0.25, 0.25]))
    name = str(random.choice(ACTIVATIONS))
    width, depth = int(random.choice([16, 32, 64, 128])), int(random.integers(1, 3))
    scale = float(np.exp(random.uniform(np.log(0.2), np.log(3))))
    gain = scale * (1.0 if name == "tanh" else np.sqrt(2))
    shape = _activation(name)
    if kind == "perceptron":
        sizes = [inputs, *[width] * depth, 1]
        return (*_perceptron(shape, sizes, gain), f"{depth} x {width} {name} x {scale:.2f}")
    result, narrow = (_convolution, 4) if kind == "convolution" else (_attention, 8)
    channels = width // narrow
    return (*result(shape, inputs, channels, gain), f"{kind} {channels} {name} x {scale:.2f}")


def _activation(name):
    import jax

    return getattr(jax.nn, name)


def _normal(key, rows, columns):
    import jax

    return jax.random.normal(key, (rows, columns)) / rows**0.5


def _perceptron(shape, sizes, gain):
    import jax

    def init(key):
        keys = jax.random.split(key, len(sizes) - 1)
        layers = zip(keys, sizes[:-1], sizes[1:], strict=True)
        return [gain * _normal(item, a, b) for item, a, b in layers]

    def apply(w, x):
        for layer in w[:-1]:
            x = shape(x @ layer)
        return x @ w[-1]

    return apply, init


def _convolution(shape, inputs, channels, gain):
    """Filters over three neighbouring inputs, their mean over places, and a perceptron with one hidden layer behind."""
    import jax

    def init(key):
        item, two, three = jax.random.split(key, 3)
        filters = _normal(item, 3, channels).reshape(3, 1, channels)
        hidden, last = _normal(two, channels, 4 * channels), _normal(three, 4 * channels, 1)
        return [gain * weight for weight in (filters, hidden, last)]

    def apply(w, x):
        order = ("NWC", "WIO", "NWC")
        signal = x[:, :, None] * inputs**0.5
        maps = jax.lax.conv_general_dilated(signal, w[0], (1,), "SAME", dimension_numbers=order)
        return shape(shape(maps).mean(1) @ w[1]) @ w[2]

    return apply, init


def _attention(shape, inputs, channels, gain):
    """One head over as many tokens as there are inputs, each with its own embedding, and a hidden layer behind their mean."""
    import jax

    def init(key):
        keys = jax.random.split(key, 6)
        embed = jax.random.normal(keys[0], (inputs, channels))
        query, key_, value = (_normal(item, channels, channels) for item in keys[1:4])
        hidden, last = _normal(keys[4], channels, 4 * channels), _normal(keys[5], 4 * channels, 1)
        return [gain * weight for weight in (embed, query, key_, value, hidden, last)]

    def apply(w, x):
        embed, query, key_, value, hidden, last = w
        tokens = x[:, :, None] * inputs**0.5 * embed
        scores = (tokens @ query) @ (tokens @ key_).swapaxes(1, 2) / channels**0.5
        mixed = tokens + jax.nn.softmax(scores) @ (tokens @ value)
        return shape(mixed.mean(1) @ hidden) @ last

    return apply, init
