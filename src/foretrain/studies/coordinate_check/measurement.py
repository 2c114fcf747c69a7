"""One network of one width, trained for some steps: how far its layers and its output move, and which loss it reaches."""

from dataclasses import replace
from functools import lru_cache
from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import OwnModel, own_model
from foretrain.errors import ForetrainError
from foretrain.explain.own_network import described, plain_run
from foretrain.study import argument_error, data, key

from .layers import layer_outputs
from .study import FIRST, HIDDEN, READOUT, model_file

_INPUTS, _EXAMPLES = 4, 8


def measure(p, seed):
    """Return sizes of changes, kinds of layers and losses."""
    with jax.enable_x64(True):
        training, kinds, run = _prepared(replace(p, learning_rate=1.0))
        start = training.init(key(seed.root, seed.number, "weights"))
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), start)
        arrays = {name: np.asarray(value) for name, value in run(start, p.learning_rate).items()}
    return arrays | {"layer_kind": kinds}


@lru_cache(maxsize=16)
def _prepared(p):
    """The training, the kinds of its layers, and the compiled run as a function of start and learning rate."""
    network, x, y = network_of(p)
    draw = lambda key: network.init(key, p.width)  # noqa: E731
    options = {"learning_rate": 1.0, "steps": p.steps, "loss": p.loss, "optimizer": p.optimizer}
    training = described(network.apply, draw, x, y, **options)
    read = 1 if p.parametrisation == "standard" else p.steps
    rows = np.tile(np.arange(len(training.x)), (p.steps, 1))
    late = max(1, p.steps // 10)

    @jax.jit
    def run(start, rate):
        rates = jnp.full(p.steps, rate)
        losses = plain_run(training, start, rows, rates)[1]
        end, _ = plain_run(training, start, rows[:read], rates[:read])
        before, after = (layer_outputs(training.apply, w, training.x) for w in (start, end))
        change = [_rms(after[name][0] - f) / _rms(f) for name, (f, *_) in before.items()]
        output = training.apply(end, training.x) - training.apply(start, training.x)
        sizes = {"layer_change": jnp.stack(change), "output_change": _rms(output)}
        return sizes | {"first_loss": losses[0], "late_loss": losses[-late:].mean()}

    return training, _kinds(network, x, p.width), run


def _rms(values):
    return ((values**2).mean()) ** 0.5


def _kinds(network, x, width):
    """The kind of every layer, by which of its fans grow with the width; the readout is left to the network's output."""
    narrow, wide = (_fans(network, x, n) for n in (width, 2 * width))
    kinds = []
    for name, (fan_in, fan_out) in narrow.items():
        grows = wide[name][0] > fan_in, wide[name][1] > fan_out
        kinds.append((HIDDEN if grows[0] else FIRST) if grows[1] else READOUT)
    if set(kinds) == {READOUT}:
        raise ForetrainError("No layer grows with the width: Function `init` must use `width`.")
    return np.array(kinds)


def _fans(network, x, width):
    fans = {}

    def read(weights):
        layers = layer_outputs(network.apply, weights, x)
        fans.update({name: layer[1:] for name, layer in layers.items()})

    jax.eval_shape(read, network.init(jax.random.key(0), width))
    return fans


def network_of(p) -> tuple[OwnModel, np.ndarray, np.ndarray]:
    """Return the network of some parameters, of ``init(key, width)``, with training examples x and y.

    Raises `ArgumentError` where that of the user takes no width.
    """
    if not p.model:
        return perceptron(p.parametrisation)
    arrays = read_examples(data(p.data))
    file, name = model_file(p)
    model = own_model(f"{file.path}{name}", arrays["x"])
    try:
        signature(model.init).bind(None, 1)
    except TypeError:
        rule = "define the function `init(key, width)`"
        raise argument_error("model", rule, "its `init` takes no width") from None
    return model, arrays["x"], arrays["y"]


def perceptron(parametrisation: str) -> tuple[OwnModel, np.ndarray, np.ndarray]:
    """Return a perceptron of two hidden layers of tanh on a few examples; see the study's page."""
    x = np.random.default_rng(0).standard_normal((_EXAMPLES, _INPUTS)) / 2

    def init(key, n):
        shapes = {"first": (_INPUTS, n), "second": (n, n), "last": (n, 1)}
        keys = zip(jax.random.split(key, 3), shapes.items(), strict=True)
        small = {"standard": ("second", "last"), "ntk": (), "mup": tuple(shapes)}[parametrisation]
        return {
            name: jax.random.normal(stream, shape) / (n**0.5 if name in small else 1.0)
            for stream, (name, shape) in keys
        }

    def apply(w, x):
        n = len(w["second"])
        first, second, last = {
            "standard": (1.0, 1.0, 1.0),
            "ntk": (1.0, n**-0.5, n**-0.5),
            "mup": (n**0.5, 1.0, n**-0.5),
        }[parametrisation]
        hidden = jnp.tanh(first * (x @ w["first"]))
        return last * (jnp.tanh(second * (hidden @ w["second"])) @ w["last"])

    return OwnModel(apply, init), x, np.sign(x[:, :1])
