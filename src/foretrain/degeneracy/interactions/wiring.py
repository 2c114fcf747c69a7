"""The interaction basis of a network, its graph, and the modules of that graph at a noise scale, one after the other."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse.csgraph import connected_components

from foretrain.degeneracy.interactions import rewiring
from foretrain.degeneracy.interactions.interaction_basis import InteractionBasis, interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import InteractionGraph, interaction_graph
from foretrain.degeneracy.interactions.modularity import Partition, affinity
from foretrain.degeneracy.network import Network, Section
from foretrain.lazy import jax


@dataclass(frozen=True)
class Wiring:
    """The local interaction basis of a network, activations from their mean; its graph, and the modules of that at a scale.

    `chance` is the modularity of the same graph rewired at random, each sought alike, (draws,); see `rewiring`.
    """

    basis: InteractionBasis
    graph: InteractionGraph
    modules: Partition
    chance: np.ndarray

    @property
    def parts(self) -> int:
        """Number of parts between which there is no edge at all, to rounding."""
        least = max(1e-13 * part.max(initial=1e-99) for part in self.graph.strengths)
        edges = affinity(self.graph.strengths, least)
        met = edges.any(0)
        return connected_components(edges[met][:, met])[0]

    @property
    def modular(self) -> bool:
        """True if there is one module, or the graph is more modular than it is rewired."""
        return self.modules.modules < 2 or rewiring.is_modular(self.modules, self.chance)


def wired(
    network: Network,
    x: np.ndarray,
    eps: float,
    *,
    loss: str = "mse",
    number: int | None = None,
    resolution: float | None = None,
    points: int = 5,
) -> tuple[Wiring, list[str]]:
    """The wiring of a network, and doubts about it.

    Args:
        x: As the network reads them, float64.
        eps, number, resolution: See `foretrain.degeneracy.interactions.rewiring.modules`.
        loss: "mse", or "kl" of outputs that are logits: edges then are those of the roots of twice the probabilities.
        points: See `interaction_graph`.

    Cost: of the three parts; ten more partitions of rewired graphs.
    """
    doubts = []
    if loss != "mse":
        network = Network((*network.sections, _roots()), (*network.params, {}))
    basis = interaction_basis(network, x, kind="local", centre=True, few=True, separate=True)
    graph = interaction_graph(network, x, basis, points=points)
    count = int(affinity(graph.strengths, eps).any(0).sum())
    if (number or 0) > count:
        doubts.append(f"Modules: only {count} directions have an edge above the noise scale.")
        number = None
    modules, chance = rewiring.modules(graph.strengths, eps, number, resolution=resolution)
    wiring = Wiring(basis, graph, modules, chance)
    if max((part > eps).sum(axis).max() for part in graph.strengths for axis in (0, 1)) < 2:
        why = "each direction has one edge to a layer at most, which leaves rewiring no freedom"
        doubts.append(f"Modules: {why}.")
    elif not wiring.modular:
        doubts.append("Modules: graphs that are rewired at random are as modular as this one.")
    if 1 < wiring.parts != modules.modules:
        doubts.append(f"Modules: {wiring.parts} parts have no edge between them at any scale.")
    return wiring, doubts


@cache
def _roots():
    """The section from logits to the roots of twice their probabilities."""
    return Section(lambda params, logits: jax.numpy.sqrt(2 * jax.nn.softmax(logits)))
