"""One network of one width, trained for some steps: how far its layers and its output move, and which loss it reaches."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.errors import ForetrainError
from foretrain.explain.own_network import described
from foretrain.explain.simulated import plain_run
from foretrain.study import key

from .layers import layer_outputs
from .networks import network_of
from .study import FIRST, HIDDEN, READOUT


def measure(p, seed):
    """Return sizes of changes, kinds of layers and losses."""
    with jax.enable_x64(True):
        training, kinds, run = _prepared(replace(p, learning_rate=1.0))
        start = jax.tree.map(jnp.asarray, training.init(key(seed.root, seed.number, "weights")))
        start = jax.tree.map(lambda leaf: leaf.astype(float), start)
        arrays = {name: np.asarray(value) for name, value in run(start, p.learning_rate).items()}
    return arrays | {"layer_kind": kinds}


@lru_cache(maxsize=16)
def _prepared(p):
    """The training, the kinds of its layers, and the compiled run as a function of start and learning rate."""
    network = network_of(p)
    draw = lambda key: network.init(key, p.width)  # noqa: E731
    options = {"learning_rate": 1.0, "steps": p.steps, "loss": p.loss, "optimizer": p.optimizer}
    training = described(network.apply, draw, network.x, network.y, **options)
    read = 1 if p.parametrisation == "standard" else p.steps
    rows = np.tile(np.arange(len(training.x)), (p.steps, 1))
    late = max(1, p.steps // 10)

    @jax.jit
    def run(start, rate):
        rates = jnp.full(p.steps, rate)
        losses = plain_run(training, start, rows, rates)[1]
        end, _ = plain_run(training, start, rows[:read], rates[:read])
        before, after = (layer_outputs(training.apply, w, training.x) for w in (start, end))
        change = [
            _rms(after[name].outputs - layer.outputs) / _rms(layer.outputs)
            for name, layer in before.items()
        ]
        output = training.apply(end, training.x) - training.apply(start, training.x)
        sizes = {"layer_change": jnp.stack(change), "output_change": _rms(output)}
        return sizes | {"first_loss": losses[0], "late_loss": losses[-late:].mean()}

    return training, _kinds(network, p.width), run


def _rms(values):
    return ((values**2).mean()) ** 0.5


def _kinds(network, width):
    """The kind of every layer, by which of its fans grow with the width; the readout is left to the network's output."""
    narrow, wide = (_fans(network, n) for n in (width, 2 * width))
    kinds = []
    for name, (fan_in, fan_out) in narrow.items():
        grows = wide[name][0] > fan_in, wide[name][1] > fan_out
        kinds.append((HIDDEN if grows[0] else FIRST) if grows[1] else READOUT)
    if set(kinds) == {READOUT}:
        raise ForetrainError("No layer grows with the width: Function `init` must use `width`.")
    return np.array(kinds)


def _fans(network, width):
    fans = {}

    def read(weights):
        layers = layer_outputs(network.apply, weights, network.x)
        fans.update({name: (layer.fan_in, layer.fan_out) for name, layer in layers.items()})

    jax.eval_shape(read, network.init(jax.random.key(0), width))
    return fans
