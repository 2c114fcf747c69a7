"""Count how often `foretrain compare` calls runs of the same training another one, and those at another learning rate.

Several small networks are trained from many starts, and at 1.2 and 1.5 times the rate. Of the starts some are drawn as those
of the theory, others as the runs measured elsewhere, their losses on all examples or on their minibatches.

    python benchmarks/same_training.py            # about four minutes of a core
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.dynamics import descent
from foretrain.elsewhere.curves import Measured
from foretrain.explain.curve_comparison import curve_comparison
from foretrain.explain.own_network import batches, described, plain_run, starts
from foretrain.explain.simulated import log_spaced

STARTS, DRAWS, RATES = 300, 300, (1.0, 1.2, 1.5)
EVERY = (1, 10, 50)  # steps between two losses of a file
NUMBERS = (3, 5, 8, 16)  # of starts of the theory

_random = np.random.default_rng(0)
_x = _random.standard_normal((64, 10))
_wave = np.sin(_x @ _random.standard_normal((10, 1)))
_linear = _x @ (_random.standard_normal((10, 4)) * [3, 1.5, 0.7, 0.3]) / np.sqrt(10)
_sides = (_x[:, 0] * _x[:, 1] > 0).astype(int)
# Nonlinearity, widths, strength of the weights at the start, targets, and the training.
NETWORKS: dict[str, tuple[Any, list[int], float, Any, dict[str, Any]]] = {
    "lazy": (jnp.tanh, [10, 256, 1], 1.0, _wave, {"learning_rate": 0.1, "steps": 300}),
    "rich": (jnp.tanh, [10, 16, 1], 0.3, _wave, {"learning_rate": 0.2, "steps": 600}),
    "deep linear": (jnp.real, [10, 8, 8, 4], 0.2, _linear, {"learning_rate": 0.05, "steps": 400}),
    "deep": (jax.nn.relu, [10, 16, 16, 1], 1.2, _wave, {"learning_rate": 0.1, "steps": 500}),
    "classes": (
        jax.nn.relu, [10, 12, 2], 1.0, _sides,
        {"learning_rate": 0.3, "steps": 600, "loss": "cross_entropy"},
    ),
    "batches": (
        jnp.tanh, [10, 24, 1], 1.0, _wave,
        {"learning_rate": 0.1, "steps": 600, "batch_size": 8},
    ),
    "classes in batches": (
        jax.nn.relu, [10, 16, 2], 1.0, _sides,
        {"learning_rate": 0.2, "steps": 600, "batch_size": 8, "loss": "cross_entropy"},
    ),
}  # fmt: skip


def main():
    """Print the share of draws, in percent, in which the runs are called those of another training."""
    print("rows: starts 3, 5, 8, 16, each with 1 and 3 runs; percent called another training")
    total = {}
    for name in NETWORKS:
        theory = None
        for rate in RATES:
            curves = trained(name, rate)
            theory = curves[0] if theory is None else theory
            for kind, losses in zip(("all examples", "minibatches"), curves, strict=False):
                for every in EVERY:
                    row = [called(theory, losses, n, k, every) for n in NUMBERS for k in (1, 3)]
                    total.setdefault((rate, kind), []).append(row)
                    text = " ".join(f"{100 * share:5.1f}" for share in row)
                    print(f"{name:19s} rate x {rate}, {kind}, every {every:2d}: {text}", flush=True)
    for (rate, kind), rows in total.items():
        text = " ".join(f"{100 * share:5.1f}" for share in np.mean(rows, 0))
        print(f"mean: rate x {rate}, {kind}: {text}")
    return total


def trained(name: str, factor: float) -> list[np.ndarray]:
    """Losses from every start, (start, time): on all examples, and those of minibatches before each step."""
    nonlinearity, widths, strength, y, options = NETWORKS[name]

    def init(key):
        keys = jax.random.split(key, len(widths))
        pairs = zip(keys, widths, widths[1:], strict=False)
        return [strength * jax.random.normal(k, (a, b)) / jnp.sqrt(a) for k, a, b in pairs]

    def apply(weights, x):
        for matrix in weights[:-1]:
            x = nonlinearity(x @ matrix)
        return x @ weights[-1]

    options = options | {"learning_rate": factor * options["learning_rate"]}
    with jax.enable_x64(True):
        training = described(apply, init, _x, y, **options)
        rate, x, y = options["learning_rate"], jnp.asarray(_x), jnp.asarray(y)

        def seen(start, rows):
            def step(state, batch):
                loss = lambda weights: training.loss(apply(weights, x[batch]), y[batch])  # noqa: E731
                value, gradient = jax.value_and_grad(loss)(state[0])
                return descent.step("sgd", state[0], gradient, state[1], rate, 0.0), value

            return jax.lax.scan(step, (start, descent.start("sgd", start)), rows)[1]

        weights, rows = starts(training, STARTS), jnp.asarray(batches(training, STARTS))
        whole = jax.vmap(lambda start, rows: plain_run(training, start, rows)[1])(weights, rows)
        parts = [jax.vmap(seen)(weights, rows)] if training.in_batches else []
    return [np.asarray(losses) for losses in (whole, *parts)]


def called(theory: np.ndarray, losses: np.ndarray, number: int, runs: int, every: int) -> float:
    """Share of draws in which some runs are called another training than some of its starts."""
    at = log_spaced(theory.shape[1] - 1)
    steps = np.arange(0, losses.shape[1], every)
    levels = []
    for _ in range(DRAWS):
        drawn = _random.permutation(STARTS)[: number + runs]
        measured = losses[np.ix_(drawn[number:], steps)]
        measured = Measured(tuple(map(str, drawn[number:])), steps, measured, 0)
        curves = {"itself": theory[np.ix_(drawn[:number], at)]}
        levels.append(curve_comparison(measured, at, curves).distances["itself"].level)
    return float(np.mean(np.array(levels) < 0.05))


if __name__ == "__main__":
    sys.exit(main() is None)
