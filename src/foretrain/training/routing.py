"""Shared by all studies of routing networks: trained routes, items, and variables of routes."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from foretrain.errors import argument_error
from foretrain.plans.parameters import choice, parameter, size
from foretrain.streams import Seed, generator
from foretrain.tasks import masks
from foretrain.tasks.domains import Task, hierarchy_task
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS
from foretrain.vocabulary import declare

LAYERS = ("encoders", "hidden", "decoders")
ITEMS = 4  # of the hierarchy, one-hot inputs
PAIR = ("input_domain", "output_domain")

declare(
    "step",
    untrained_error="Mean over untrained routes and items of 1/2 |error|^2, as the paper's loss.",
)
declare(
    "input_domain output_domain",
    trained_pairs="1 where a route is trained.",
    pair_error="Error of every route at the end, mean over items of 1/2 |error|^2.",
    heldout_accuracy="Fraction of held-out samples classified right on every route.",
)
declare(
    "input_domain output_domain feature item",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 4h",
    outputs="Output of every route for every item at the end.",
)
declare(
    "sample sample_other",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 4g",
    similarity="Dot products of first-hidden-layer activity, samples ordered by domain, then item.",
)
declare(
    kind="int",
    component_count="Connected components of the graph whose edges are the trained pairs of domains.",
)
declare(
    gradient_gap="Distance of the first step from descent on the stored trained routes alone, over its length."
)


@dataclass(frozen=True)
class Routes:
    """Number of domains, and which routes between them are trained."""

    domains: int = size(7, "number of input and of output domains", 1000, symbol="M")
    trained_outputs: int = parameter(
        4, "output domains that every input domain is trained with", symbol="K", minimum=1
    )
    mask: str = parameter(
        "circulant",
        "which K outputs: a circulant band, K at random per input, random with K inputs per output, or two halves apart",
        choices=masks.MASKS,
    )


@dataclass(frozen=True)
class Items:
    """The hierarchical items that all domains share, and the network that learns them."""

    level_weights: str = parameter(
        "authors", "feature values by level: 6, 4, 3 or 1, 1, 1", choices=("authors", "unit")
    )
    hidden_width: int = size(64, "width of every hidden layer", 4096, minimum=ITEMS, symbol="N_h")
    init_scale: float = parameter(
        0.2, "all singular values of the initial weights", symbol="σ_0", above=0
    )


@dataclass(frozen=True)
class Images:
    """Transforms that make images into domains."""

    transform: str = choice(
        "a domain of images: a pixel permutation (absorbed by the encoder), or a rotation",
        ("permutation", "rotation"),
    )
    heldout_fraction: float = parameter(
        0.2,
        "fraction held out where images come without a split",
        minimum=0.05,
        maximum=0.9,
        static=True,
    )


def labels(p: Any) -> dict:
    """Return the names of the layers."""
    return {"layer": LAYERS}


def check_routes(p: Any) -> None:
    """Refuse more trained outputs than there are domains."""
    if p.trained_outputs > p.domains:
        rule = f"be between 1 and `domains` = {p.domains}"
        raise argument_error("trained_outputs", rule, f"is {p.trained_outputs}")


def mask(p: Any, seed: Seed) -> np.ndarray:
    """Return the trained pairs T of one run, shape (input_domain, output_domain), int8; the same at every scale."""
    return masks.draw(p.mask, p.domains, p.trained_outputs, generator(seed, "mask"))


def first_half(domains: int) -> int:
    """Return the number of domains in the first half."""
    return (domains + 1) // 2


def maps(domains: int, disagreement: float) -> np.ndarray:
    """Return the factor of each route's targets, shape (M, M): 1 + d within a half of the domains, 1 - d between halves."""
    sign = np.where(np.arange(domains) < first_half(domains), 1.0, -1.0)
    return 1 + disagreement * np.outer(sign, sign)


@cache
def items_task(level_weights: str) -> Task:
    """Return the hierarchical items, without permutations of labels per domain: the decoders absorb them exactly."""
    return hierarchy_task(LEVEL_WEIGHTS[level_weights])


def paper_rate(p: Any, features: int = 7) -> float:
    """Return the learning rate in the paper's time, for any `loss_function`; `features` is the length of an output."""
    if p.loss_function == "paper":
        return p.learning_rate
    from foretrain.theory.pathways.race import authors_time_scale

    return p.learning_rate * authors_time_scale(p.domains, p.trained_outputs, features)


def item_ends(weights: Any) -> dict[str, Any]:
    """Return outputs of every route, and dot products of first-layer activity, for one-hot items; weights are JAX arrays."""
    import jax.numpy as jnp

    from foretrain.networks.routing import outputs

    _, width, items = weights.encoders.shape
    activity = weights.encoders.transpose(0, 2, 1).reshape(-1, width)
    one_hot = jnp.eye(items, dtype=weights.hidden.dtype)[None]
    return {"outputs": outputs(weights, one_hot), "similarity": activity @ activity.T}
