"""Networks of which theory holds but for what was made to break it.

A difference of two equal networks, times a large number, is its kernel however it is trained, and begins at zero; with a small
rate and all examples in a step theory holds. Minibatches, a rate near the edge, layers that learn together (units that are
nearly linear, from a small factor) and gates that move (the last layer is fixed) are put into such a network, one or two at
once.
"""

import numpy as np

from .networks import Drawn, edge

_LAZY, _SMALL_SHARE, _MOST_STEPS, _SLOWER = 100.0, 0.004, 400, 10


def planted(causes: tuple[str, ...], random: np.random.Generator, without: str = "") -> Drawn:
    """A network with these causes and no other, and of them all but `without` one, which is taken out again.

    Minibatches are taken out by steps on all examples, the step's size by ten times as many steps of a tenth of the size,
    layers and gates by the large factor.
    """
    import jax
    import jax.numpy as jnp

    inputs, examples = int(random.integers(4, 11)), int(random.integers(12, 25))
    width, name = int(random.choice([24, 48])), str(random.choice(["tanh", "gelu", "softplus"]))
    x = random.standard_normal((examples, inputs)) / np.sqrt(inputs)
    y = np.sin(2 * x @ random.standard_normal((inputs, 2))).sum(1, keepdims=True)
    moves = {"layers", "gates"} & set(causes)
    small, signs = float(random.uniform(0.03, 0.06)), random.choice([-1.0, 1.0], (width, 1))
    factor = small if moves and without not in moves else _LAZY
    curve = getattr(jax.nn, name)
    # Nearly linear units have gates that hardly move, whatever the layers do.
    units = (lambda z: z + 0.05 * curve(z)) if moves == {"layers"} else curve

    def init(key):
        item, two = jax.random.split(key)
        first = jax.random.normal(item, (inputs, width))
        last = jax.random.normal(two, (width, 1))
        return [first, first] if moves == {"gates"} else [first, last, first, last]

    def apply(w, x):
        if moves == {"gates"}:
            result = (units(x @ w[0]) - units(x @ w[1])) @ signs
        else:
            result = units(x @ w[0]) @ w[1] - units(x @ w[2]) @ w[3]
        return factor * result / jnp.sqrt(width)

    # Where layers or gates move the sharpness grows, and with it what the step does.
    share, batch = _SMALL_SHARE, None
    if "step" in causes:
        share = float(random.uniform(0.05, 0.1) if moves else random.uniform(0.3, 0.7))
    if "batches" in causes:
        share, batch = 0.006 if moves else 0.03, int(random.choice([1, 2]))
    steps = min(_MOST_STEPS, int(np.ceil(6 / share)) + 20)
    if without == "batches":
        batch = None
    if without == "step":
        share, steps = share / _SLOWER, steps * _SLOWER
    options = {
        "learning_rate": share / edge(apply, init, x, y),
        "steps": steps,
        "batch_size": batch,
    }
    return Drawn(apply, init, x, y, options, ", ".join(causes) or "nothing")
