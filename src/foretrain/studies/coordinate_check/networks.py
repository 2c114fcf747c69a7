"""The network that is checked: a perceptron in the parametrisation that is declared, or one of the user's."""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import own_model
from foretrain.study import argument_error, data

from .study import Parameters, model_file

_INPUTS, _EXAMPLES = 4, 8


class Network(NamedTuple):
    """Functions ``apply(weights, x)`` and ``init(key, width)`` with training examples."""

    apply: Callable[[Any, Any], Any]
    init: Callable[[Any, int], Any]
    x: np.ndarray
    y: np.ndarray


def network_of(p: Parameters) -> Network:
    """Return the network of some parameters; raises `ArgumentError` where that of the user takes no width."""
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
    return Network(model.apply, model.init, arrays["x"], arrays["y"])


def perceptron(parametrisation: str) -> Network:
    """Return a perceptron of two hidden layers of tanh on a few examples; see the study's page."""
    random = np.random.default_rng(0)
    x = random.standard_normal((_EXAMPLES, _INPUTS)) / 2
    y = np.sign(x[:, :1])

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

    return Network(apply, init, x, y)
