"""Free directions of a network: how many, by the rank of its Jacobian, and where they come from, by source.

To first order a direction is free if it moves no output on the data. How many are is exact where the rank of the Jacobian is
(`jacobian_spectrum`); sources say why, and count from below. Each is counted beyond those before; the first three are the
document's:

1. activations: with ``rank G^l = g``, each of the d_l - g dependencies frees the d_{l+1} weights that read it;
2. Jacobians: with ``rank K^{l+1} = k``, each null direction frees g directions more: section l keeps ``k g`` of its weights;
3. synchronised blocks: the directions ``(A W^l, -W^{l+1} A)``, A within blocks, beyond both: where neither rank is short
   this is ``sum_a |S_a| s_a``. A direction that the first two know already, of dead neurons for one, is not counted;
4. conditional ones: what moves no preactivation two layers on where that matters to an output
   (`foretrain.degeneracy.counts.conditional`): a neuron that is on only for examples that span less than all do, neurons whose
   gates differ only where nobody reads them. No mean over all data shows these.

Not attributed are directions of which one section moves no output where each neuron of it alone would, as on few examples;
those of three sections and more; and readers that take back each other's changes. Biases count as weights from a unit that
is always 1. Only rectifiers have gates in the strict sense: of any other nonlinearity nothing counts as synchronised.

At a scale, a direction is free where a unit step along it costs no more than epsilon; the Jacobian's singular values say
how many are. Sources estimate it, as if activations and Jacobians were independent: along the j-th eigenvector of G and
the i-th of K a step costs ``k_i g_j`` (the document holds g_j alone against epsilon). Neurons are synchronised within
epsilon if passing on ``p_j`` by way of neuron i costs less, ``M_ii`` times the mean of ``(r_i - r_j)^2 p_j^2``; GELU and
SiLU have gates then, by a threshold. Blocks and conditional directions free as many more as eigenvalues fall below
epsilon once they are projected out of the diagonal matrix of all ``k_i g_j``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.counts.conditional import LEAST, conditional_directions, feasible
from foretrain.degeneracy.counts.grams import Grams, grams, range_basis
from foretrain.degeneracy.counts.jacobian_rows import weighted
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom, Spectrum
from foretrain.degeneracy.counts.synchronization import (
    Block,
    constant_gates,
    disagreement,
    grouped,
    has_gates,
)
from foretrain.degeneracy.derivatives import batches, evaluated, passed
from foretrain.degeneracy.network import Network, examples, size
from foretrain.errors import argument_error

SOURCES = ("activations", "jacobians", "synchronized", "conditional")
_WORK = 2**35  # operations that the rank of all block directions may take, as a rule


@dataclass(frozen=True)
class SectionFreedom:
    """Free directions of one section by source, and blocks of the layer that it leads to.

    Args:
        parameters: All of its weight and bias.
        activations, jacobians: Free directions by sources 1 and 2.
        synchronized, conditional: By sources 3 and 4, of the neurons that the section leads to, shared with the next one;
            where there are too many neurons, or the nonlinearity is not named, from below, at a scale 0.
        blocks: Those neurons in blocks, larger ones first; empty where they have no gates or are the outputs.
    """

    parameters: int
    activations: int
    jacobians: int
    synchronized: int
    conditional: int
    blocks: tuple[Block, ...]

    @property
    def counted(self) -> int:
        """By all sources."""
        return self.activations + self.jacobians + self.synchronized + self.conditional


@dataclass(frozen=True, kw_only=True)
class FreeDirections(Freedom):
    """The counts of a network; `sections` are those with a weight and nothing but a bias beside it."""

    sections: dict[int, SectionFreedom]

    @property
    def groups(self) -> list[tuple[int, Block]]:
        """Blocks of several neurons, each behind the number of the section that leads to it."""
        blocks = [(at, block) for at, section in self.sections.items() for block in section.blocks]
        return [(at, block) for at, block in blocks if len(block.neurons) > 1]

    def by_source(self) -> dict[str, int]:
        """Free directions by each of `SOURCES`, over all sections."""
        return {s: sum(getattr(section, s) for section in self.sections.values()) for s in SOURCES}


def free_directions(
    network: Network,
    x: np.ndarray,
    scale: float | None = None,
    spectrum: Spectrum | None = None,
    matrices: Grams | None = None,
    loss: str = "mse",
) -> FreeDirections:
    """Count what is free, per section and source.

    >>> from foretrain.degeneracy.network import perceptron
    >>> x = np.random.default_rng(0).normal(size=(20, 2))
    >>> str(free_directions(perceptron([np.eye(2), np.eye(2)]), x))  # a scale of each rectifier
    'at least 2 (estimate)'

    Args:
        network: Sections that name a weight are counted.
        scale: Cost of a unit step up to which a direction counts as free, see above. None for those that change nothing.
        spectrum: Of `foretrain.degeneracy.counts.jacobian_spectrum`, of this loss; without, nothing is exact.
        matrices: Used at a scale.

    Cost: one pass of Gram matrices or of triangles of the same sizes; then the rank of block directions.
    """
    x = examples(network, x)
    if spectrum is not None and spectrum.loss != loss:
        rule = f"be that of the loss `{loss}`"
        raise argument_error("spectrum", rule, f"is of `{spectrum.loss}`")
    matrices, roots = _matrices_and_roots(network, x, scale, matrices, loss)
    bases = {at: tuple(_range(root) for root in pair) for at, pair in roots.items()}
    costs = {at: np.outer(*(values for _, values in pair[::-1])) for at, pair in bases.items()}
    bases = {at: tuple(basis for basis, _ in pair) for at, pair in bases.items()}
    kept = {at: cost >= (scale or 0.0) for at, cost in costs.items()}
    blocks = synchronized_blocks(network, x, scale, matrices, roots)
    extra = _beyond(network, x, bases, costs, blocks, scale or 0.0)
    sections = {}
    for at, (inner, outer) in bases.items():
        widths = len(outer), len(inner)
        g = int(kept[at].any(0).sum())
        beyond, unseen = extra.get(at, (0, 0))
        sections[at] = SectionFreedom(
            parameters=widths[0] * widths[1],
            activations=widths[0] * (widths[1] - g),
            jacobians=widths[0] * g - int(kept[at].sum()),
            synchronized=beyond,
            conditional=unseen,
            blocks=tuple(blocks.get(at, ())),
        )
    answers = len(x) * evaluated(network, x[:1])[0][-1].size
    return FreeDirections(
        parameters=size(network), spectrum=spectrum, scale=scale, answers=answers, sections=sections
    )


def synchronized_blocks(
    network: Network,
    x: np.ndarray,
    scale: float | None = None,
    matrices: Grams | None = None,
    roots: dict | None = None,
) -> dict[int, list[Block]]:
    """By section the blocks of the neurons that it leads to, where these have gates; arguments as of `free_directions`."""
    counted = _counted(network)
    if roots is None:
        matrices, roots = _matrices_and_roots(network, x, scale, matrices)
    return {
        at: _blocks(network, x, matrices, roots, at, scale)
        for at in counted
        if at + 1 in counted and has_gates(network.sections[at], strict=scale is None)
    }


def _counted(network):
    return [
        at for at, section in enumerate(network.sections)
        if section.weight is not None and set(network.params[at]) <= {section.weight, section.bias}
    ]  # fmt: skip


def _matrices_and_roots(network, x, scale, matrices, loss="mse"):
    """Gram matrices, where a scale needs them, and the roots of `_roots`, of these where the loss allows."""
    counted = _counted(network)
    if scale is None:
        return matrices, _roots(network, x, counted, loss)
    matrices = grams(network, x) if matrices is None else matrices
    alike = loss == "mse"
    return matrices, (
        _of_grams(network, matrices, counted) if alike else _roots(network, x, counted, loss)
    )


def _roots(network, x, counted, loss):
    """By section R of what it reads, with the constant unit where there is a bias, and of df^L/dp^{l+1}: R^T R are G and K.

    By QR of the rows themselves, so that a neuron that is hardly ever on is seen beside one that always is.
    """
    roots: dict[int, list[Any]] = {at: [np.zeros((0, 0))] * 2 for at in counted}
    for part in batches(network, x):
        derivatives = passed(network, part)
        last = derivatives.activations[-1]
        outputs = last.reshape(len(part), -1, last.shape[1])
        for at, both in roots.items():
            read, j = derivatives.activations[at], np.asarray(derivatives.by_preactivations[at])
            if network.sections[at].bias is not None:
                read = np.concatenate([read, np.ones((len(read), 1))], 1)
            repeated = np.repeat(outputs, len(j) // len(part), 0)  # for each position of the layer
            sent = weighted(repeated, np.concatenate(list(j)), loss)
            for side, rows in enumerate((read, sent)):
                before = both[side] if len(both[side]) else rows[:0]
                both[side] = np.linalg.qr(np.concatenate([before, rows]), mode="r")
    return {at: tuple(root / len(x) ** 0.5 for root in both) for at, both in roots.items()}


def _of_grams(network, matrices, counted):
    """The same of Gram matrices; what is below their rounding is zero."""
    roots = {}
    for at in counted:
        biased = network.sections[at].bias is not None
        inner = matrices.augmented(at) if biased else matrices.activations[at]
        bases = [(range_basis(gram), gram) for gram in (inner, matrices.jacobians[at])]
        roots[at] = tuple(np.sqrt(((u.T @ gram) * u.T).sum(1))[:, None] * u.T for u, gram in bases)
    return roots


def _range(root):
    """Orthonormal columns that span the rows of a root, (d, rank), and the eigenvalues of its square along them."""
    _, values, directions = np.linalg.svd(root, full_matrices=False)
    kept = values > LEAST * values.max(initial=0)
    return directions[kept].T, values[kept] ** 2


def _weights(network, at):
    """W with the bias as its last column, float64."""
    section, leaves = network.sections[at], network.params[at]
    weight = np.asarray(leaves[section.weight], float)
    if section.bias is None:
        return weight
    return np.concatenate([weight, np.asarray(leaves[section.bias], float)[:, None]], 1)


def _blocks(network, x, matrices, roots, at, scale):
    root = roots[at][0]
    biased = all(section.bias is not None for section in network.sections[at : at + 2])
    distances, tolerance = disagreement(network, x, at + 1), 0.0
    if scale is not None:
        effect = np.maximum(np.diag(matrices.sensitivities[at + 1]), np.finfo(float).tiny)
        distances, tolerance = distances.T * effect[:, None], scale / effect
    constants = constant_gates(network, x, at + 1, tolerance)
    linear = tuple(int(i) for i in np.flatnonzero(~np.isnan(constants)))
    groups = grouped(distances, scale or 0.0)
    others = [tuple(i for i in neurons if i not in linear) for neurons in groups]
    blocks = []
    for neurons in sorted(filter(None, [linear, *others]), key=lambda block: (-len(block), block)):
        these = list(neurons)
        unit = neurons == linear and biased
        rows = _weights(network, at)[these]
        if unit:
            rows = np.concatenate([rows, np.eye(root.shape[1])[-1:]])
        own = tuple(constants[these].tolist()) if neurons == linear else None
        blocks.append(Block(neurons, _range(root @ rows.T)[1].size, own, unit))
    return blocks


def _beyond(network, x, bases, costs, blocks, scale):
    """By section: free directions of blocks beyond both ranks, and conditional ones beyond those."""
    if not costs:
        return {}
    many = sum(len(b.neurons) ** 2 for of in blocks.values() for b in of)
    wide = sum(cost.size for cost in costs.values())
    if many**2 * wide > _WORK:
        return {at: (0 if scale else _at_least(of, *bases[at]), 0) for at, of in blocks.items()}
    spots, begin = {}, 0
    for at in bases:
        spots[at] = slice(begin, begin + costs[at].size)
        begin = spots[at].stop
    above = np.concatenate([cost.ravel() for cost in costs.values()]) - scale
    rows, before, counts = np.zeros((0, begin)), 0, {}

    def row(at, first, second):
        """Of (section at, the next): what is left of them within both ranks."""
        flat = np.zeros(begin)
        for place, change in ((at, first), (at + 1, second)):
            inner, outer = bases[place]
            flat[spots[place]] = (outer.T @ change @ inner).ravel()
        return flat

    for at in sorted(blocks):
        moves = _generators(network, blocks[at], at)
        rows = _joined(rows, np.array([row(at, *move) for move in moves]))
        total = _freed(rows, above, scale)
        counts[at], before = (total - before, 0), total
    for at in (at for at in bases if at + 1 in bases):
        if not feasible(network, x, at):
            continue
        moves = conditional_directions(network, x, at)
        new = [row(at, v, u) / np.sqrt((v**2).sum() + (u**2).sum()) for v, u in moves]
        rows = _joined(rows, np.array(new))
        total = _freed(rows, above, scale)
        counts[at], before = (counts.get(at, (0, 0))[0], total - before), total
    return counts


def _at_least(blocks, inner, outer):
    """Free directions of blocks, from below: those that move the first section, as if each null direction of K cost most."""
    live = np.abs(outer).max(1, initial=0) > 0
    pairs = sum(int(live[list(block.neurons)].sum()) * block.dimension for block in blocks)
    return max(0, pairs - (int(live.sum()) - outer.shape[1]) * inner.shape[1])


def _freed(rows, above, scale):
    """Count the eigenvalues of diag(costs) that fall below the scale as these orthonormal directions are projected out.

    With D the costs less the scale and Q the rows, those above it on the complement of Q are as many as D has, less the rows,
    and one more for each negative eigenvalue of Q D^-1 Q^T (inertia of a bordered matrix).
    """
    if not scale:
        return len(rows)
    inverse = 1 / np.where(above == 0, np.finfo(float).tiny ** 0.5, above)
    return int((np.linalg.eigvalsh((rows * inverse) @ rows.T) >= 0).sum())


def _joined(rows, new):
    """An orthonormal basis of both."""
    if not new.size:
        return rows
    least = 1e-8 * max(1.0, np.linalg.norm(new, axis=1).max())
    for _ in range(2):
        new = new - (new @ rows.T) @ rows
    _, values, directions = np.linalg.svd(new, full_matrices=False)
    return np.concatenate([rows, directions[: int((values > least).sum())]])


def _generators(network, blocks, at):
    """Return the moves of each A = e_i e_j^T within a block, e_i W_j in section `at` and -W_i e_j^T in the next."""
    weight, following = _weights(network, at), _weights(network, at + 1)
    many, moves = len(weight), []

    def move(i, read, column, by):
        first, second = np.zeros_like(weight), np.zeros_like(following)
        first[i], second[:, column] = read, -by * following[:, i]
        moves.append((first, second))

    for block in blocks:
        gates = dict(zip(block.neurons, block.constants or [1.0] * len(block.neurons), strict=True))
        for i in block.neurons:
            for j in block.neurons:
                move(i, weight[j], j, gates[i] / gates[j])
            if block.unit:  # e_i by the unit that is always 1: the last column of either section
                move(i, np.eye(weight.shape[1])[-1], many, gates[i])
    return moves
