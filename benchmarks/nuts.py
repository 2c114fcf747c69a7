"""Distances of sampled numbers of effective parameters from NUTS on the same posterior, on nine small networks.

    python benchmarks/nuts.py

Where there is no closed form another setting of the same sampler is no reference: it shares its bias. NUTS on all data has
none but that of its length. The networks are generic, singular by plan, or wider than what they realise, at a handful to some
two hundred parameters; the table is that of `docs/theory/learning-coefficients.md`.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sampled_parameters.samplers import SAMPLERS, estimate

from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.degeneracy.sampled.posterior import Posterior, behavioural

EXAMPLES, GRADIENTS = 64, 2_000_000
OWN = "foretrain"  # the sampler of the library
NUTS = {"chains": 8, "draws": 1000, "warm_up": 500, "seed": 1}


class Distance(NamedTuple):
    """An estimate beside its reference: numbers of effective parameters with their standard errors."""

    network: str
    sampler: str
    value: float
    error: float
    reference: float
    reference_error: float
    trusted: bool

    @property
    def relative(self) -> float:
        """Distance as a share of the reference."""
        return self.value / self.reference - 1

    @property
    def in_errors(self) -> float:
        """Distance in standard errors of the difference."""
        return (self.value - self.reference) / np.hypot(self.error, self.reference_error)


def small_networks(beta: float = 500.0) -> dict[str, Posterior]:
    """Posteriors of the behavioural loss of small networks, by name; inputs are Gaussian, or white where that makes it exact.

    Args:
        beta: Inverse temperature.
    """
    random = np.random.default_rng(0)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731

    def white(width):
        return np.linalg.qr(draw(EXAMPLES, width))[0] * np.float32(np.sqrt(EXAMPLES))

    def generic(*widths):
        pairs = itertools.pairwise(widths)
        return [
            (draw(out, into) / np.sqrt(into, dtype=np.float32), 0.3 * draw(out))
            for into, out in pairs
        ]

    def widened(params, spare):
        """One hidden layer with so many units more that do nothing, whose weights are all zero."""
        (first, bias), (second, end) = params
        zeros = np.zeros((spare, first.shape[1]), np.float32)
        wide = np.pad(second, ((0, 0), (0, spare)))
        return [(np.concatenate([first, zeros]), np.pad(bias, (0, spare))), (wide, end)]

    def doubled(params):
        """Every hidden unit twice, each with half of what it gave."""
        (first, bias), (second, end) = params
        halves = np.concatenate([second, second], 1) / 2
        return [(np.concatenate([first, first]), np.concatenate([bias, bias])), (halves, end)]

    rank_one = np.zeros((3, 3), np.float32)
    rank_one[0, 0] = 1
    zero = [np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)]
    networks = {
        "linear 3-2-3 at zero": ("linear", zero, white(3), "mse"),
        "linear 3-3-3-3 of rank 1": ("linear", [rank_one] * 3, white(3), "mse"),
        "tanh 2-3-1": ("tanh", generic(2, 3, 1), draw(EXAMPLES, 2), "mse"),
        "tanh 2-5-1 with 2 in use": ("tanh", widened(generic(2, 2, 1), 3), draw(EXAMPLES, 2), "mse"),
        "tanh 3-4-3-2": ("tanh", generic(3, 4, 3, 2), draw(EXAMPLES, 3), "mse"),
        "tanh 2-4-3, KL": ("tanh", generic(2, 4, 3), draw(EXAMPLES, 2), "kl"),
        "relu 3-5-2": ("relu", generic(3, 5, 2), draw(EXAMPLES, 3), "mse"),
        "relu 3-6-2, units twice": ("relu", doubled(generic(3, 3, 2)), draw(EXAMPLES, 3), "mse"),
        "relu 8-16-4 with 4 in use": ("relu", widened(generic(8, 4, 4), 12), draw(EXAMPLES, 8), "mse"),
    }  # fmt: skip
    return {
        name: behavioural(_apply(activation), params, x, kind=kind, beta=beta)
        for name, (activation, params, x, kind) in networks.items()
    }


def distances(
    posteriors: Mapping[str, Posterior] | None = None,
    samplers: Sequence[str] = (OWN, *SAMPLERS),
    *,
    gradients: int = GRADIENTS,
    reference: Mapping[str, int] = NUTS,
    seed: int = 0,
) -> list[Distance]:
    """Return estimates of every network by every sampler beside NUTS, each of so many gradients.

    Args:
        posteriors: By name; `small_networks` by default.
        samplers: `OWN`, or of `SAMPLERS`.
        gradients: Of each estimate.
        reference: Options of `estimate` for NUTS.
        seed: Of the estimates.
    """
    rows = []
    for name, posterior in (posteriors or small_networks()).items():
        truth = estimate(posterior, "nuts", **reference)
        for sampler in samplers:
            if sampler == OWN:
                own = sampled_parameters(posterior, gradients=gradients, seed=seed)
                values = own.value[0], own.error[0], own.trusted[0]
            else:
                biased = estimate(posterior, sampler, draws=gradients // 8, seed=seed)
                values = biased.value, biased.error, biased.trusted
            value, error, trusted = values
            rows.append(
                Distance(name, sampler, value, error, truth.value, truth.error, bool(trusted))
            )
    return rows


def table(rows: Iterable[Distance]) -> str:
    """Return Markdown, networks down and samplers across: per cent and standard errors, in brackets where in doubt."""
    rows = list(rows)
    names = list(dict.fromkeys(row.sampler for row in rows))
    lines = ["| network | NUTS | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]
    for network in dict.fromkeys(row.network for row in rows):
        here = [row for row in rows if row.network == network]
        cells = [f"{row.relative:+.0%}, {row.in_errors:+.1f}" for row in here]
        cells = [
            text if row.trusted else f"({text})" for text, row in zip(cells, here, strict=True)
        ]
        truth = f"{here[0].reference:.2f} ± {here[0].reference_error:.2f}"
        lines.append(f"| {network} | {truth} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@lru_cache
def _apply(activation: str):
    """Outputs of a perceptron: of weights alone where it is linear, of pairs with biases elsewhere."""
    import jax
    import jax.numpy as jnp

    shape = {"tanh": jnp.tanh, "relu": jax.nn.relu}.get(activation)

    def linear(params, x):
        for weight in params:
            x = x @ weight.T
        return x

    def perceptron(params, x):
        for number, (weight, bias) in enumerate(params):
            x = x @ weight.T + bias
            if shape is not None and number < len(params) - 1:
                x = shape(x)
        return x

    return linear if shape is None else perceptron


if __name__ == "__main__":
    print(table(distances()))
