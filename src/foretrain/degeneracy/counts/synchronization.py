"""Synchronised nonlinearities: neurons that are on and off on the same examples, and what they leave free.

A neuron's gate on an example is ``r_i(x) = f_i(x) / p_i(x)``, 1 where p is zero. Neurons with equal gates on all data form
a block S, inside which ``W -> C W`` and ``W_out -> W_out C^{-1}`` change nothing while the gates stay: beyond what dependent
activations have counted already these are ``|S| s`` free directions, s the dimension that the block's preactivations span
(a single neuron's scale is the case |S| = s = 1).

A gate that is constant and not zero makes its neuron linear. All such neurons of a layer are one block, whatever their
constants (what goes out is divided by ``c_i / c_j`` on the way), and where this section and the next have biases the unit
that is always 1 is of the block too: it counts in s, not in |S|, since it cannot be moved.

Only rectifiers have gates in the strict sense, which stay as their neurons are scaled and mixed. At a noise scale `gelu` and
`silu` have one too, 1 where the slope exceeds 1/2 and 0 elsewhere: what follows of it is an estimate. `tanh`, `sigmoid` and
`square` have none: each neuron is alone, and not even its scale is free.
"""

from dataclasses import dataclass, replace

import numpy as np

from foretrain.degeneracy.derivatives import batches, evaluated
from foretrain.degeneracy.network import Network, Section
from foretrain.degeneracy.nonlinearities import nonlinearity
from foretrain.errors import real

_THRESHOLDED = ("gelu", "gelu_tanh", "silu")


def has_gates(section: Section, strict: bool = True) -> bool:
    """True if a section's neurons have gates: rectifiers; unless `strict` thresholded ones too."""
    if section.weight is None or section.activation is None:
        return False
    if section.activation in _THRESHOLDED:
        return not strict
    return nonlinearity(section.activation).homogeneous


def gates(section: Section, p: np.ndarray) -> np.ndarray:
    """r_i(x), (n, d), of a section that has gates, at its preactivations p."""
    slope = nonlinearity(section.activation or "").slope(p, np)
    if section.activation in _THRESHOLDED:
        return (slope > 0.5).astype(float)
    return np.where(p == 0, 1.0, slope)


@dataclass(frozen=True)
class Block:
    """Neurons of one layer, ascending, whose gates agree.

    `dimension` is s, of the space that their preactivations span over the data, with the unit that is always 1 where `unit` is
    True; `constants` are their gates, where these are the same on all data and not zero.
    """

    neurons: tuple[int, ...]
    dimension: int
    constants: tuple[float, ...] | None = None
    unit: bool = False

    @property
    def extra(self) -> int:
        """``|S| s``: free directions beyond those that dependent activations leave."""
        return len(self.neurons) * self.dimension


def disagreement(network: Network, x: np.ndarray, layer: int) -> np.ndarray:
    """Distance of neurons from being synchronised: mean over data of ``(r_i - r_j)^2 p_i^2``, (i, j), not symmetric.

    Layers count from 1; section `layer - 1` has gates. The distance is zero exactly where gates agree on all data.
    """
    section = network.sections[layer - 1]
    wide = len(network.params[layer - 1][section.weight or ""])
    total = np.zeros((wide, wide))
    for part in batches(network, x):
        p = evaluated(network, part)[1][layer - 1]
        r = gates(section, p)
        rows = [((r[:, [i]] - r) ** 2 * p[:, [i]] ** 2).sum(0) for i in range(p.shape[1])]
        total = total + np.stack(rows)
    return total / len(x)


def constant_gates(
    network: Network, x: np.ndarray, layer: int, tolerance: float | np.ndarray = 0.0
) -> np.ndarray:
    """The constant that each neuron's gate is on all data, NaN where it is none or zero, (d,).

    `tolerance` is of the mean over data of ``(r_i - c)^2 p_i^2``, one or one for each neuron; candidates for c are the least
    and the largest gate of the first batch.
    """
    section, candidates, total = network.sections[layer - 1], None, np.zeros(1)
    for part in batches(network, x):
        p = evaluated(network, part)[1][layer - 1]
        r = gates(section, p)
        if candidates is None:
            candidates = np.stack([r.min(0), r.max(0)])
        total = total + ((r - candidates[:, None]) ** 2 * p**2).sum(1)
    assert candidates is not None
    best = np.argmin(total, 0)
    constants = np.take_along_axis(candidates, best[None], 0)[0]
    return np.where((np.min(total, 0) <= tolerance * len(x)) & (constants != 0), constants, np.nan)


def grouped(distances: np.ndarray, tolerance: float = 0.0) -> list[tuple[int, ...]]:
    """Neurons in blocks, each pair of a block at most `tolerance` apart in both orders, larger blocks first.

    Distances are those of `disagreement`; tolerance 0 asks for equal gates wherever one of both preactivations is not zero.
    Blocks grow by complete linkage, as agreement within a tolerance does not hand itself on from pair to pair.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    tolerance = real("tolerance", tolerance, minimum=0)
    either = np.maximum(distances, distances.T)
    if len(either) == 1:
        return [(0,)]
    np.fill_diagonal(either, 0)
    names = fcluster(linkage(squareform(either, checks=False), "complete"), tolerance, "distance")
    blocks = [tuple(map(int, np.flatnonzero(names == name))) for name in np.unique(names)]
    return sorted(blocks, key=lambda block: (-len(block), block))


def rise(network: Network, x: np.ndarray, layer: int, move: np.ndarray) -> tuple[float, float]:
    """Rise of the behavioural loss as ``W -> (1 + A) W``, ``W_out -> W_out (1 + A)^{-1}``, and the rise predicted from gates.

    The sections before and after `layer`, from 1 to L - 1, are linear and named, with gates between; A is (d, d), 1 + A
    invertible. The prediction is ``sum_ij A_ij^2 D_ji`` with D the `disagreement`, by which the layer's activations move: the
    loss is at most a constant of the rest of the network times that, and 0 in a block of synchronised neurons.
    """
    params = [dict(leaves) for leaves in network.params]
    into, out = network.sections[layer - 1], network.sections[layer]
    change = np.eye(len(move)) + move
    for leaf in (into.weight, into.bias):
        if leaf is not None:
            params[layer - 1][leaf] = change @ np.asarray(params[layer - 1][leaf], float)
    weight = np.asarray(params[layer][out.weight or ""], float)
    params[layer][out.weight or ""] = weight @ np.linalg.inv(change)
    other, loss = replace(network, params=tuple(params)), 0.0
    for part in batches(network, x):
        gap = evaluated(other, part)[0][-1] - evaluated(network, part)[0][-1]
        loss += float((gap**2).sum())
    return loss / len(x), float((move**2 * disagreement(network, x, layer).T).sum())
