"""Distance of sampled learning coefficients from NUTS on the same posterior, on a set of small networks.

Where there is no closed form another setting of the same sampler is no reference: it shares its bias. NUTS on all data has
none but that of its length. The networks are generic, singular by plan, or wider than what they realise, at a handful to some
two hundred parameters. `python benchmarks/degeneracy.py reference` prints the table of `docs/theory/learning-coefficients.md`;
its summary is in the verdict of every estimate (`foretrain.degeneracy.sampled.coefficient.DISTANCES`).
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from foretrain.degeneracy.sampled.coefficient import Coefficient
from foretrain.degeneracy.sampled.learning_coefficient import learning_coefficient
from foretrain.degeneracy.sampled.posterior import Posterior, behavioural
from foretrain.errors import argument_error

LARGEST = 10_000  # parameters up to which NUTS is run
SAMPLERS = ("baoab", "sgld", "rmsprop-sgld", "sghmc", "sgnht")
EXAMPLES = 64


class Distance(NamedTuple):
    """One estimate beside its reference.

    Attributes:
        network: Its name.
        sampler: One of `SAMPLERS`.
        steps: Of the sampler between draws.
        value, error: The estimate and its standard error.
        reference, reference_error: The same of NUTS.
        trusted: Whether the estimate's own verdict was that it is trustworthy.
        halved: How often its step was halved.
    """

    network: str
    sampler: str
    steps: int
    value: float
    error: float
    reference: float
    reference_error: float
    trusted: bool
    halved: int

    @property
    def relative(self) -> float:
        """Distance as a share of the reference."""
        return self.value / self.reference - 1

    @property
    def in_errors(self) -> float:
        """Distance in standard errors of the difference."""
        return (self.value - self.reference) / np.hypot(self.error, self.reference_error)


def reference_coefficient(
    posterior: Posterior,
    *,
    chains: int = 8,
    draws: int = 1000,
    warm_up: int = 500,
    pull: float = 1.0,
    seed: int = 1,
) -> Coefficient:
    """lambda_Z by NUTS, its step fitted to nine in ten accepted; with gamma extrapolated away as in other estimates.

    Args:
        posterior: Of at most `LARGEST` parameters and without minibatches.
        chains: Of each beta and part.
        draws: Of each chain.
        warm_up: Draws before those, over which the step is fitted.
        pull: gamma.
        seed: Of all draws; another than that of what is compared.

    Returns:
        The coefficient, with a verdict of its own. Cost: up to 255 gradients on all data for a draw.

    Raises:
        ArgumentError: The posterior has too many parameters, or minibatches.
    """
    if posterior.dimension > LARGEST:
        rule = f"have at most {LARGEST:,} parameters for NUTS"
        raise argument_error("posterior", rule, f"has {posterior.dimension:,}")
    return learning_coefficient(
        posterior, sampler="nuts", chains=chains, draws=draws, warm_up=warm_up, pull=pull, seed=seed
    )


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
    made = {
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
        for name, (activation, params, x, kind) in made.items()
    }


def distances(
    posteriors: Mapping[str, Posterior] | None = None,
    samplers: Sequence[str] = SAMPLERS,
    *,
    lengths: Sequence[int] = (1, 10),
    reference: Mapping[str, int] | None = None,
    seed: int = 0,
) -> list[Distance]:
    """Estimates of every network by every sampler beside NUTS, each at the defaults of `learning_coefficient`.

    Args:
        posteriors: By name, each of one part and one beta; `small_networks` by default, ten minutes on one core, most of them
            for NUTS.
        samplers: Of `SAMPLERS`.
        lengths: Steps between draws, of which there are as many whatever it is.
        reference: Options of `reference_coefficient`.
        seed: Of the estimates.
    """
    rows = []
    for name, posterior in (posteriors or small_networks()).items():
        truth = reference_coefficient(posterior, **(reference or {}))
        for sampler in samplers:
            for steps in lengths:
                found = learning_coefficient(
                    posterior,
                    sampler=sampler.removeprefix("rmsprop-"),
                    preconditioned=sampler.startswith("rmsprop-"),
                    steps=steps,
                    seed=seed,
                )
                rows.append(
                    Distance(
                        name, sampler, steps, float(found.value[0, 0]), float(found.error[0, 0]),
                        float(truth.value[0, 0]), float(truth.error[0, 0]), not found.doubts(),
                        int(found.halved[0, 0]),
                    )
                )  # fmt: skip
    return rows


def summary(rows: Iterable[Distance]) -> dict[str, tuple[float, float, float]]:
    """Of every sampler the median and largest relative distance of trusted estimates, and the largest of those in doubt.

    Returns:
        What `foretrain.degeneracy.sampled.coefficient.DISTANCES` holds; nan where there are none of a kind.
    """
    found, rows = {}, list(rows)
    for name in dict.fromkeys(row.sampler for row in rows):
        trusted, doubted = (
            [abs(row.relative) for row in rows if row.sampler == name and row.trusted == kind]
            for kind in (True, False)
        )
        most = (max(one, default=np.nan) for one in (trusted, doubted))
        found[name] = (float(np.median(trusted)) if trusted else np.nan, *map(float, most))
    return found


def table(rows: Iterable[Distance]) -> str:
    """Markdown: networks and lengths down, samplers across; per cent and standard errors, in brackets where in doubt."""
    rows = list(rows)
    names = list(dict.fromkeys(row.sampler for row in rows))
    head = "| network | NUTS | steps | "
    lines = [head + " | ".join(names) + " |", "|---|---:|---:|" + "---:|" * len(names)]
    for network, steps in dict.fromkeys((row.network, row.steps) for row in rows):
        here = {row.sampler: row for row in rows if (row.network, row.steps) == (network, steps)}
        first, cells = next(iter(here.values())), []
        for name in names:
            said = f"{here[name].relative:+.0%}, {here[name].in_errors:+.1f}"
            cells.append(said if here[name].trusted else f"({said})")
        truth = f"{first.reference:.2f} ± {first.reference_error:.2f}"
        lines.append(f"| {network} | {truth} | {steps} | " + " | ".join(cells) + " |")
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
