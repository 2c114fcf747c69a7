"""Interactions that a perceptron does not need, step by step on the study's page: dependent activations, blocks in a basis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.counts.free_directions import synchronized_blocks
from foretrain.degeneracy.counts.grams import THRESHOLD, Grams
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.nonlinearities import nonlinearity

LINEAR = -1  # in place of a neuron: a node whose gate is always 1


@dataclass(frozen=True)
class SparseSection:
    """One section in the new nodes."""

    weight: np.ndarray  # (node, node before), and a column more: the bias, zero where there is none
    settled: np.ndarray  # which weights are 0 or 1 by construction, no parameters any more
    gates: tuple[int, ...]  # for each node a neuron of the old layer whose gate it has, or `LINEAR`


def parameters(sections: Sequence[SparseSection]) -> int:
    """Weights and biases left: not settled, into nodes that something reads, directly or not."""
    total, read = 0, np.ones(len(sections[-1].weight), bool)
    for section in reversed(sections):
        total += int((~section.settled[read]).sum())
        read = (section.weight[read, :-1] != 0).any(0)
    return total


def sparsified(
    network: Network, x: np.ndarray, matrices: Grams, scale: float | None = None
) -> list[SparseSection]:
    """Return the sections of a perceptron after both steps for every layer.

    Blocks are formed where its nonlinearity is `relu`, `leaky_relu` or `identity`; of `x`, (example, d_0), only Gram matrices
    and gates matter. Below a loss `scale` an activation counts as dependent and neurons as synchronised; None for exact.
    """
    formed = synchronized_blocks(network, x, scale, matrices)
    # From old activations to new nodes; and from these to the old ones, as the next section reads them.
    basis = outward = np.eye(x.shape[1])
    sections, shift = [], np.zeros(x.shape[1])
    for at, (section, leaves) in enumerate(zip(network.sections, network.params, strict=True)):
        old = np.asarray(leaves[section.weight or ""], float)
        bias = None if section.bias is None else leaves[section.bias] + old @ shift
        gram, mean = basis @ matrices.activations[at] @ basis.T, basis @ matrices.means[at]
        weight, kept = _unread(old @ outward, bias, gram, mean, scale)
        blocks = formed.get(at, [])
        if not blocks or not nonlinearity(section.activation or "").homogeneous:
            wide = len(weight)
            settled = np.ones(weight.shape, bool)
            settled[:, kept] = False
            sections.append(SparseSection(weight, settled, tuple(range(wide))))
            basis, outward, shift = np.eye(wide), np.eye(wide), np.zeros(wide)
        else:
            new, basis, outward, shift = _in_blocks(weight, kept, blocks)
            sections.append(new)
    return sections


def _unread(weight, bias, gram, mean, scale):
    """Step 1: weights that read independent nodes only, bias last, and the columns of these nodes and of a bias."""
    biased = bias is not None
    whole = np.column_stack([weight, bias if biased else np.zeros(len(weight))])
    if biased:
        gram = np.block([[gram, mean[:, None]], [mean[None], np.ones((1, 1))]])
    kept = _independent(gram, scale, biased)
    others = [k for k in range(len(gram)) if k not in kept]
    if others:
        inner = gram[np.ix_(kept, kept)]
        c = np.linalg.lstsq(inner, gram[np.ix_(kept, others)], rcond=None)[0]
        whole[:, kept] += whole[:, others] @ c.T
        whole[:, others] = 0
    return whole, sorted({*kept, weight.shape[1]}) if biased else kept


def _independent(gram, scale, biased):
    """Rows of a Gram matrix that none before depends on, the last one of a bias first, then the largest remainder."""
    rest, kept = gram.copy(), []
    least = max(THRESHOLD * np.diag(gram).max(initial=0), scale or 0)
    for step in range(len(gram)):
        left = np.diag(rest)
        at = len(gram) - 1 if biased and step == 0 else int(np.argmax(left))
        if left[at] <= least:
            break
        kept.append(at)
        rest = rest - np.outer(rest[:, at], rest[at]) / rest[at, at]
    return sorted(kept)


def _in_blocks(weight, kept, blocks):
    """Step 2: the section, the new basis, its inverse as the next section reads it, and what that adds to the next bias."""
    wide, last = len(weight), weight.shape[1] - 1
    # Begun empty, for a layer of which nothing is left.
    empty = np.zeros((0, last + 1))
    parts: list[Any] = [(empty, empty.astype(bool), np.zeros((0, wide)), np.zeros((wide, 0)))]
    gates, shift, unit = [], np.zeros(wide), np.eye(wide)
    for block in blocks:
        these = list(block.neurons)
        whole = weight[these] * np.array(block.constants or [1.0] * len(these))[:, None]
        if block.unit:
            shift[these] = whole[:, last]
            whole[:, last] = 0
        columns = sorted({*kept, last})
        chosen = [columns[c] for c in _pivots(whole[:, columns])]
        if not chosen:
            continue
        inner = whole[:, chosen]
        change = np.linalg.pinv(inner)
        new = change @ whole
        new[:, chosen] = np.round(new[:, chosen])  # 1 or 0 but for rounding
        fixed = np.ones(new.shape, bool)
        fixed[:, kept] = False
        fixed[:, chosen] = True
        fixed[:, last] |= block.unit
        gates += [LINEAR if block.constants else these[0]] * len(new)
        parts.append((new, fixed, change @ unit[these], unit[:, these] @ inner))
    rows, settled, basis, outward = zip(*parts, strict=True)
    sparse = SparseSection(np.concatenate(rows), np.concatenate(settled), tuple(gates))
    return sparse, np.concatenate(basis), np.concatenate(outward, 1), shift


def _pivots(rows):
    from scipy.linalg import qr

    triangle, order = qr(rows, mode="r", pivoting=True)  # pyright: ignore[reportAssignmentType]
    sizes = np.abs(np.diag(triangle))
    if not sizes.size or sizes[0] == 0:
        return []
    return sorted(map(int, order[: len(sizes)][sizes > THRESHOLD**0.5 * sizes[0]]))


def outputs(sections: Sequence[SparseSection], network: Network, x: np.ndarray) -> np.ndarray:
    """Return the outputs of what `sparsified` returns of a network, (example, d_L), by the network's own gates."""
    layers, before = evaluated(network, x)
    f = layers[0]
    for at, section in enumerate(sections):
        p = f @ section.weight[:, :-1].T + section.weight[:, -1]
        old, was = layers[at + 1], before[at]
        quotient = np.divide(old, was, out=np.ones_like(was), where=was != 0)
        gate = np.pad(quotient, ((0, 0), (0, 1)), constant_values=1)  # the last is that of `LINEAR`
        f = gate[:, list(section.gates)] * p
    return f
