"""Free directions of a network, counted by their sources without counting any twice.

To first order a direction is free if it moves no output on the data. Three sources are counted, each beyond those before:

1. activations: with ``rank G^l = g``, each of the d_l - g dependencies frees the d_{l+1} weights that read it;
2. Jacobians: with ``rank K^{l+1} = k``, each null direction frees g directions more: section l keeps ``k g`` of its weights;
3. synchronised blocks: the directions ``(A W^l, -W^{l+1} A)``, A within blocks, beyond both: where neither rank is short
   this is ``sum_a |S_a| s_a``. A direction that the first two know already, of dead neurons for one, is not counted.

Beside them stands the exact rank of the Jacobian, which is what the three are to account for. It may be lower still where
activations and Jacobians depend on one another: a neuron that is on for fewer examples than it has inputs, or for examples
that span less than all do, has freedom that no mean over all data shows. Biases count as weights from a unit that is
always 1.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.grams import THRESHOLD, Grams, grams, jacobian_rank, range_basis, rank
from foretrain.degeneracy.network import Network, examples, size
from foretrain.degeneracy.synchronization import (
    Block,
    constant_gates,
    disagreement,
    grouped,
    has_gates,
)
from foretrain.errors import argument_error, integer

SOURCES = ("activations", "jacobians", "synchronized")
_GENERATORS = 2**25  # entries of the largest matrix of block directions whose rank is taken


@dataclass(frozen=True)
class SectionFreedom:
    """What is free in one section, by source, and of the layer that it leads to.

    Args:
        parameters: All of its weight and bias.
        activation_rank: Of G^l, with the unit that is always 1 where there is a bias.
        jacobian_rank: Of K^{l+1}.
        activations: Free directions by source 1.
        jacobians: By source 2, beyond.
        synchronized: By source 3, beyond: of the neurons that the section leads to, shared with the section after.
        blocks: Those neurons in blocks, larger ones first; empty where they have no gates or are the outputs.
        exact: Whether the gates are gates in the strict sense and `synchronized` is a rank, not only its closed form.
    """

    parameters: int
    activation_rank: int
    jacobian_rank: int
    activations: int
    jacobians: int
    synchronized: int
    blocks: tuple[Block, ...]
    exact: bool

    @property
    def free(self) -> int:
        """By all sources."""
        return self.activations + self.jacobians + self.synchronized


@dataclass(frozen=True)
class FreeDirections:
    """The counts of a network.

    Args:
        parameters: All of the network's, in sections that are counted and elsewhere.
        sections: By place, those with a weight and nothing but a bias beside it.
        jacobian_rank: Exact, or None where it was not asked for.
    """

    parameters: int
    sections: dict[int, SectionFreedom]
    jacobian_rank: int | None

    @property
    def free(self) -> int:
        """By all sources in all sections."""
        return sum(one.free for one in self.sections.values())

    @property
    def effective(self) -> int:
        """Parameters that are left: those not counted as free."""
        return self.parameters - self.free

    def by_source(self) -> dict[str, int]:
        """Free directions by each of `SOURCES`, over all sections."""
        return {s: sum(getattr(one, s) for one in self.sections.values()) for s in SOURCES}


def free_directions(
    network: Network,
    x: np.ndarray,
    scale: float | None = None,
    tolerance: float | None = None,
    threshold: float = THRESHOLD,
    exact_rank: bool = False,
    found: Grams | None = None,
) -> FreeDirections:
    """Count what is free, per section and source.

    Args:
        network: Sections that name a weight are counted.
        x: (example, d_0).
        scale: Loss epsilon below which a direction counts as free: root-mean-square singular values below its root,
            and neurons synchronised within it. None for exact counts.
        tolerance: Of synchronisation, in place of `scale`.
        threshold: Relative, of eigenvalues of the Gram matrices.
        exact_rank: Whether to take the rank of the Jacobian too; for small networks.
        found: Gram matrices of the same network and data, where they are at hand.

    Raises:
        ArgumentError: Examples are fewer than the activations whose rank they are to tell.
    """
    x = examples(network, x)
    found = grams(network, x) if found is None else found
    tolerance = tolerance if tolerance is not None else scale or 0.0
    counted = [
        at for at, one in enumerate(network.sections)
        if one.weight is not None and set(network.params[at]) <= {one.weight, one.bias}
    ]  # fmt: skip
    bases = {at: _bases(network, found, at, threshold, scale) for at in counted}
    blocks = {
        at: _blocks(network, x, found, at, tolerance, threshold, scale)
        for at in counted
        if at + 1 in bases and has_gates(network.sections[at])
    }
    extra = _beyond(network, bases, blocks)
    sections = {}
    for at, (inner, outer) in bases.items():
        widths = len(outer), len(inner)
        g, k = inner.shape[1], outer.shape[1]
        beyond, whole = extra.get(at, (0, True))
        sections[at] = SectionFreedom(
            parameters=widths[0] * widths[1],
            activation_rank=g,
            jacobian_rank=k,
            activations=widths[0] * (widths[1] - g),
            jacobians=(widths[0] - k) * g,
            synchronized=beyond,
            blocks=tuple(blocks.get(at, ())),
            exact=whole and _strict(network.sections[at]),
        )
    exact = jacobian_rank(network, x) if exact_rank else None
    return FreeDirections(size(network), sections, exact)


def _strict(section):
    from foretrain.degeneracy.nonlinearities import nonlinearity

    return section.gate is None and (
        section.activation is None
        or not has_gates(section)
        or nonlinearity(section.activation).homogeneous
    )


def _bases(network, found, at, threshold, scale):
    """Ranges of G^l, with the constant unit where there is a bias, and of K^{l+1}."""
    biased = network.sections[at].bias is not None
    inner = found.augmented(at) if biased else found.activations[at]
    if found.examples < len(inner):
        many = f"hold at least {len(inner)} examples to tell the rank of {len(inner)} activations"
        raise argument_error("x", many, f"holds {found.examples}")
    return range_basis(inner, threshold, scale), range_basis(found.jacobians[at], threshold, scale)


def _weights(network, at):
    """W with the bias as its last column, float64."""
    section, leaves = network.sections[at], network.params[at]
    weight = np.asarray(leaves[section.weight], float)
    if section.bias is None:
        return weight
    return np.concatenate([weight, np.asarray(leaves[section.bias], float)[:, None]], 1)


def _blocks(network, x, found, at, tolerance, threshold, scale):
    biased = network.sections[at].bias is not None
    inner = found.augmented(at) if biased else found.activations[at]
    following = network.sections[at + 1]
    outward = np.asarray(network.params[at + 1][following.weight], float)
    constants = constant_gates(network, x, at + 1, tolerance)
    linear = tuple(int(i) for i in np.flatnonzero(~np.isnan(constants)))
    others = [
        tuple(i for i in neurons if i not in linear)
        for neurons in grouped(disagreement(network, x, at + 1), tolerance)
    ]
    blocks = []
    for neurons in sorted(filter(None, [linear, *others]), key=lambda one: (-len(one), one)):
        these = list(neurons)
        unit = neurons == linear and biased and following.bias is not None
        rows = _weights(network, at)[these]
        if unit:
            rows = np.concatenate([rows, np.eye(len(inner))[-1:]])
        columns = outward[:, these]
        blocks.append(
            Block(
                neurons,
                rank(rows @ inner @ rows.T, threshold, scale),
                rank(columns.T @ columns, threshold),
                tuple(constants[these].tolist()) if neurons == linear else None,
                unit,
            )
        )
    return blocks


def _beyond(network, bases, blocks):
    """By section: free directions of blocks beyond both ranks, and whether that is a rank."""
    many = sum(len(b.neurons) ** 2 for of in blocks.values() for b in of)
    wide = sum(i.shape[1] * o.shape[1] for i, o in bases.values())
    if many * wide > _GENERATORS:
        return {at: (sum(b.extra for b in of), False) for at, of in blocks.items()}
    spots, begin = {}, 0
    for at, (inner, outer) in bases.items():
        spots[at] = slice(begin, begin + inner.shape[1] * outer.shape[1])
        begin = spots[at].stop
    rows, before, counts = np.zeros((0, begin)), 0, {}
    for at in sorted(blocks):
        new = _generators(network, bases, blocks[at], at, spots)
        rows = np.concatenate([rows, new])
        values = np.linalg.svd(rows, compute_uv=False)
        total = int((values > 1e-8 * max(1.0, values[0])).sum()) if values.size else 0
        counts[at] = (total - before, True)
        before = total
    return counts


def _generators(network, bases, blocks, at, spots):
    """What each A = e_i e_j^T within a block moves beyond the ranks: section `at` by e_i W_j, the next by -W_i e_j^T."""
    (inner, outer), (next_inner, next_outer) = bases[at], bases[at + 1]
    weight, following = _weights(network, at), _weights(network, at + 1)
    many = len(weight)
    read = weight @ inner
    sent = next_outer.T @ following
    rows = []
    for block in blocks:
        gates = dict(zip(block.neurons, block.constants or [1.0] * len(block.neurons), strict=True))
        for i in block.neurons:
            for j in block.neurons:
                row = np.zeros(max(spot.stop for spot in spots.values()))
                row[spots[at]] = np.outer(outer[i], read[j]).ravel()
                moved = -gates[i] / gates[j] * np.outer(sent[:, i], next_inner[j])
                row[spots[at + 1]] = moved.ravel()
                rows.append(row)
            if block.unit:  # e_i by the unit that is always 1: the last column of either section
                row = np.zeros(max(spot.stop for spot in spots.values()))
                row[spots[at]] = np.outer(outer[i], inner[-1]).ravel()
                row[spots[at + 1]] = -gates[i] * np.outer(sent[:, i], next_inner[many]).ravel()
                rows.append(row)
    return np.array(rows)


def attention_freedom(head: int, heads: int, synchronized_pairs: int = 0) -> int:
    """Free directions of an attention layer's values: d_head^2 for each head, 2 d_head^2 for each synchronised pair.

    Within a head only the product ``W_O W_V`` acts, so that d_head^2 of its weights are free in every transformer; two heads
    with the same attention pattern on all data may pass on their values through one another, both ways. A block of m heads
    has m (m - 1) / 2 pairs. Where value or output matrices are not of full rank it is fewer beyond what activations and
    Jacobians count.

    Args:
        head: d_head.
        heads: In the layer.
        synchronized_pairs: Of heads.
    """
    head, heads = integer("head", head, minimum=1), integer("heads", heads, minimum=1)
    pairs = integer("synchronized_pairs", synchronized_pairs, minimum=0)
    most = heads * (heads - 1) // 2
    if pairs > most:
        raise argument_error(
            "synchronized_pairs", f"be at most {most} of {heads} heads", f"is {pairs}"
        )
    return head**2 * (heads + 2 * pairs)


def synchronized_heads(patterns: np.ndarray, tolerance: float = 0.0) -> list[tuple[int, ...]]:
    """Heads in blocks of equal attention patterns, larger blocks first.

    Args:
        patterns: (head, anything): attention of each head over all queries, keys and examples.
        tolerance: Mean square within which two patterns are one.
    """
    flat = np.asarray(patterns, float).reshape(len(patterns), -1)
    apart = ((flat[:, None] - flat) ** 2).mean(-1)
    return grouped(apart, tolerance)
