"""What routing networks share: which routes are trained, on which items, and the variables that speak of routes."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from foretrain.errors import argument_error
from foretrain.measures.learning_time import crossing_time
from foretrain.plans.parameters import parameter
from foretrain.streams import Seed, generator
from foretrain.tasks import masks
from foretrain.tasks.domains import Task, hierarchy_task
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS
from foretrain.theory.pathway_race import authors_time_scale
from foretrain.vocabulary import Variable, declare

LAYERS = ("encoders", "hidden", "decoders")
ITEMS = 4  # of the hierarchy, one-hot inputs

declare(
    Variable(
        "untrained_error",
        ("step",),
        meaning="Mean over untrained routes and items of 1/2 |error|^2, as the paper's loss.",
    ),
    Variable(
        "trained_pairs", ("input_domain", "output_domain"), meaning="1 where a route is trained."
    ),
    Variable(
        "pair_error",
        ("input_domain", "output_domain"),
        meaning="Error of every route at the end, mean over items of 1/2 |error|^2.",
    ),
    Variable(
        "outputs",
        ("input_domain", "output_domain", "feature", "item"),
        meaning="Output of every route for every item at the end.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 4h",
    ),
    Variable(
        "similarity",
        ("sample", "sample_other"),
        meaning="Dot products of first-hidden-layer activity, samples ordered by domain, then item.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 4g",
    ),
    Variable(
        "gradient_gap",
        meaning="Distance of the first step's direction from that of descent on the stored trained routes alone, over its "
        "length.",
    ),
    Variable(
        "heldout_accuracy",
        ("input_domain", "output_domain"),
        meaning="Fraction of held-out samples classified right on every route.",
    ),
)


@dataclass(frozen=True)
class Routes:
    """How many domains there are, and which routes between them are trained."""

    domains: int = parameter(
        7, "M, number of input and of output domains", minimum=1, maximum=1000, static=True
    )
    trained_outputs: int = parameter(
        4, "K, number of output domains that every input domain is trained with", minimum=1
    )
    mask: str = parameter(
        "circulant",
        "which K outputs: a circulant band, K at random per input, or random with K inputs per output",
        choices=masks.MASKS,
    )


@dataclass(frozen=True)
class Items:
    """The hierarchical items that all domains share."""

    level_weights: str = parameter(
        "authors", "feature values by level: 6, 4, 3 or 1, 1, 1", choices=("authors", "unit")
    )


def check_routes(p: Any) -> None:
    """Refuse more trained outputs than there are domains."""
    if p.trained_outputs > p.domains:
        raise argument_error(
            "trained_outputs",
            f"be between 1 and `domains` = {p.domains}",
            f"is {p.trained_outputs}",
        )


def mask(p: Any, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run, shape (input_domain, output_domain), int8; the same at every scale."""
    return masks.draw(p.mask, p.domains, p.trained_outputs, generator(seed, "mask"))


@cache
def items_task(level_weights: str) -> Task:
    """The hierarchical items. Permutations of labels per domain are left out: the decoders absorb them exactly."""
    return hierarchy_task(LEVEL_WEIGHTS[level_weights])


def paper_rate(p: Any, features: int = 7) -> float:
    """The learning rate in the paper's time, whatever the `loss_function`; `features` is the length of an output."""
    if p.loss_function == "paper":
        return p.learning_rate
    return p.learning_rate * authors_time_scale(p.domains, p.trained_outputs, features)


def gradient_gap(velocity: Any, reference: Any) -> Any:
    """Distance between two directions in which weights may move, over the length of the second; pytrees of JAX arrays.

    Between that of a program and that of the trained routes alone, found another way, it is zero but for rounding: a route
    trained though it should not be, or left out, shows as its share of the gradient.
    """
    import jax
    import jax.numpy as jnp

    length = lambda tree: jnp.sqrt(sum((a**2).sum() for a in jax.tree.leaves(tree)))  # noqa: E731
    return length(jax.tree.map(jnp.subtract, velocity, reference)) / length(reference)


def fall_times(time: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Times at which a loss first falls to 1/2, 1/4, 1/8 and 1/16 of where it began, shape (..., 4).

    Args:
        time: Shape (time,).
        loss: Shape (..., time); nan after a run has ended.
    """
    shares = [crossing_time(time, -loss, -loss[..., 0] / 2**power) for power in (1, 2, 3, 4)]
    return np.stack(shares, -1)
