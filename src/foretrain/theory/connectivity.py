"""Generalisation from the graph of trained pairs alone, and when a random graph is connected.

Conjecture (docs/theory/connectivity.md): at zero training loss and minimal rank an untrained pair
of domains generalises exactly if and only if both lie in one connected component of the bipartite
graph of trained pairs; across components the map is that of a random orthogonal change of basis.
For small initial weights the generalisation threshold is then the connectivity threshold.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy

from foretrain.errors import argument_error, finite_array, integer, one_of
from foretrain.tasks.masks import components

LARGEST_EXACT = {True: 25, False: 16}  # by whether the diagonal is forced; half a second


class MaskPrediction(NamedTuple):
    """Predictions for several masks, one entry per mask.

    `pair_error` is that of `predicted_pair_error`, (mask, input_domain, output_domain), `untrained_error` its mean over
    untrained pairs, (mask,), nan if all are trained, `component_count` int64, (mask,), 1 if the mask is connected.
    """

    pair_error: np.ndarray
    untrained_error: np.ndarray
    component_count: np.ndarray


def predict_masks(
    masks: Sequence[np.ndarray], error_across: float = 1.0, error_idle: float | None = None
) -> MaskPrediction:
    """Errors of several masks T, all of one shape (input_domain, output_domain), such as one per seed.

    `error_across` and `error_idle` are those of `predicted_pair_error`.
    """
    errors = [predicted_pair_error(mask, error_across, error_idle) for mask in masks]
    free = [error[mask == 0] for mask, error in zip(masks, errors, strict=True)]
    means = [float(error.mean()) if error.size else math.nan for error in free]
    counts = [1 + max(labels.max() for labels in components(mask)) for mask in masks]
    return MaskPrediction(np.array(errors), np.array(means), np.array(counts))


def predicted_pair_error(
    trained_pairs: np.ndarray, error_across: float = 1.0, error_idle: float | None = None
) -> np.ndarray:
    """Expected error of every pair of domains in the limit of small weights, from the mask alone.

    The defaults are those of one-hot words of unit length: 1 - tr O/D across components, O a random orthogonal matrix, has
    mean 1, and nothing learned gives 1/2.

    Args:
        error_across: Error of a pair across components, as of `error_across_components`.
        error_idle: Error of a pair with a domain that is never trained, whose answer stays zero: <|y|^2>/2. By default half
            of `error_across`, which it is where the modes carry all of the output.

    Returns:
        Shape of T, float64: 0 for trained pairs and within components.
    """
    if error_idle is None:
        error_idle = error_across / 2
    inputs, outputs = components(trained_pairs)
    idle = (trained_pairs.sum(1) == 0)[:, None] | (trained_pairs.sum(0) == 0)[None, :]
    error = np.where(idle, error_idle, error_across)
    return np.where(inputs[:, None] == outputs[None, :], 0.0, error)


def across_scale(trained_pairs: np.ndarray) -> np.ndarray:
    """Length of the map of a pair across components over that of a pair within, in the limit of small weights.

    The scale symmetry of a component's encoders against its decoders is conserved, so that with a inputs and b outputs
    a e^2 = b d^2 of the lengths e and d of their modes; e d is the same in all components. A pair from an input of the first
    to an output of the second has the length e_1 d_2 / (e_1 d_1) = ((b_1 / a_1) (a_2 / b_2))^(1/4).
    Shape of T, float64: 1 within components, 1/rho for the reverse of a pair, and 1 where a domain is never trained.
    """
    inputs, outputs = components(trained_pairs)
    size = 1 + max(inputs.max(), outputs.max())
    number = np.bincount(inputs, minlength=size)
    ratio = np.bincount(outputs, minlength=size) / np.maximum(number, 1)
    ratio = np.where(ratio > 0, ratio, 1.0)
    scale = (ratio[inputs][:, None] / ratio[outputs][None, :]) ** 0.25
    idle = (trained_pairs.sum(1) == 0)[:, None] | (trained_pairs.sum(0) == 0)[None, :]
    return np.where(idle, 1.0, scale)


def joining_times(times: np.ndarray) -> np.ndarray:
    """Time at which every pair of domains is first joined by pairs that are learned, inf for those never joined.

    On every path of trained pairs between both the last pair to be learned counts, and of all paths the earliest. `times` of
    the trained pairs, and the result, are (..., input_domain, output_domain). Cost: L^3 log(L) per mask of L domains.
    """
    direct = np.where(np.isnan(times), np.inf, times).astype(float)
    # From output to output over a common input, then over several; the diagonal is joined from the start.
    hop = _quickest(np.swapaxes(direct, -1, -2), direct)
    diagonal = np.arange(hop.shape[-1])
    hop[..., diagonal, diagonal] = -np.inf
    for _ in range(hop.shape[-1].bit_length()):
        hop = _quickest(hop, hop)
    return _quickest(direct, hop)


def _quickest(first, second):
    """Min over k of max(first_ik, second_kj): the matrix product in which a path takes as long as its slowest part."""
    return np.maximum(first[..., :, :, None], second[..., None, :, :]).min(-2)


def error_across_components(
    singular_values, input_variances, *, output_power: float | None = None, mixing: str = "modes"
) -> float:
    """Expected half squared error, averaged over items, of a pair across components.

    If the law of initial weights does not change under rotations of the data side, the output of a cross pair has mean zero,
    so that the expected error is (<|y|^2> + E<|yhat|^2>)/2. At zero training loss and minimal rank the pair computes
    U A O B V^T in place of U A B V^T, with B the first layer's weights, proportional to (S/D)^(1/3), A B = S/D and O
    orthogonal. For small initial weights O mixes modes of equal S/D only (``"modes"``: signs +1 or -1 where they are
    distinct) and the expectation is <|y|^2>, twice the error of predicting zero. If all modes mix (``"all"``), it is

        sum_a S_a^2/D_a / 2 + sum_a (S_a/D_a)^(4/3) sum_b D_b (S_b/D_b)^(2/3) / (2 r).

    Both agree where all S/D are equal. One seed with distinct modes gives the sum of 2 S_a^2/D_a over the modes whose sign is
    flipped. Components with unequal numbers of inputs and outputs do not fix the size of yhat so.

    Args:
        singular_values: S of the un-gated statistics, shape (mode,), positive.
        output_power: <|y|^2>; by default what the modes carry, sum S^2/D. Any other part adds half of itself.
        mixing: "modes" or "all".
    """
    one_of("mixing", mixing, ("modes", "all"))
    singular = finite_array("singular_values", singular_values, ndim=1).astype(float)
    variance = finite_array("input_variances", input_variances, ndim=1).astype(float)
    for name, values in (("singular_values", singular), ("input_variances", variance)):
        if not (values > 0).all():
            raise argument_error(name, "be positive", f"holds {values.min():g}")
    gain = singular / variance
    carried = float((singular * gain).sum())
    rest = 0.0 if output_power is None else max(output_power - carried, 0.0) / 2
    if mixing == "modes":
        return carried + rest
    mixed = (gain ** (4 / 3)).sum() * (variance * gain ** (2 / 3)).sum() / gain.size
    return (carried + float(mixed)) / 2 + rest


def connection_probability(domains: int, pairs: int, *, diagonal: bool) -> float:
    """Probability that a random mask with a given number of trained pairs is connected, exactly.

    The usual recursion over the component of one marked domain counts connected graphs by their edges, in whole numbers. With
    the diagonal, input i and output i are merged into one of M nodes, with two possible edges between any two.
    M is 1 to 16, or to 25 with the diagonal, which trains input i with output i always; `pairs` includes the diagonal.

    Example:
        >>> round(connection_probability(8, 24, diagonal=False), 3)
        0.73
    """
    domains, pairs = _sizes(domains, pairs, diagonal, LARGEST_EXACT[bool(diagonal)])
    if diagonal:
        free, connected = domains * (domains - 1), _merged(domains)
    else:
        free, connected = domains**2, _bipartite(domains, domains)
    chosen = pairs - domains if diagonal else pairs
    bits = _bits(domains)
    count = (connected >> (bits * chosen)) & ((1 << bits) - 1)
    return count / math.comb(free, chosen)


def isolation_estimate(domains: int, pairs: int, *, diagonal: bool) -> float:
    """Estimate `connection_probability` for large M: exp(-expected number of isolated domains).

    Near the threshold a random graph is disconnected, for large M, only by single domains without a trained pair (with the
    diagonal: without a further one), whose number is Poisson (Erdos & Renyi 1959). Arguments as there, for any M.
    """
    domains, pairs = _sizes(domains, pairs, diagonal, None)
    chosen = pairs - domains if diagonal else pairs
    free = domains * (domains - 1) if diagonal else domains**2
    nodes, own = (domains, 2 * (domains - 1)) if diagonal else (2 * domains, domains)
    if domains == 1 or chosen > free - own:  # too many pairs to leave a domain without
        return 1.0
    log_absent = (
        scipy.special.gammaln(free - own + 1)
        - scipy.special.gammaln(free - own - chosen + 1)
        - scipy.special.gammaln(free + 1)
        + scipy.special.gammaln(free - chosen + 1)
    )
    return math.exp(-nodes * math.exp(log_absent))


def _sizes(domains, pairs, diagonal, largest):
    domains = integer("domains", domains, minimum=1, maximum=largest)
    fewest = domains if diagonal else 1
    return domains, integer("pairs", pairs, minimum=fewest, maximum=domains**2)


# A polynomial in x, whose coefficient of x^e counts graphs with e edges, is one whole number,
# its value at x = 2^bits. No coefficient exceeds 2^(M^2), so that they never overlap; differences
# below are again counts, hence without borrows.


def _bits(domains):
    return domains**2 + 1


@cache
def _power(edges, bits):
    """(1 + x)^edges: all graphs on that many possible edges."""
    return (1 + (1 << bits)) ** edges


@cache
def _bipartite(inputs, outputs):
    """Connected bipartite graphs on so many inputs and outputs, by number of edges."""
    bits = _bits(max(inputs, outputs))
    counts = {}
    for a in range(1, inputs + 1):
        for b in range(outputs + 1):
            total = _power(a * b, bits)
            for c in range(1, a + 1):  # inputs and outputs in the component of the first input
                for d in range(b + 1):
                    if (c, d) != (a, b) and counts[c, d]:
                        rest = _power((a - c) * (b - d), bits)
                        ways = math.comb(a - 1, c - 1) * math.comb(b, d)
                        total -= ways * counts[c, d] * rest
            counts[a, b] = total
    return counts[inputs, outputs]


@cache
def _merged(nodes):
    """Connected graphs on so many nodes with two possible edges between any two, by number of edges."""
    bits = _bits(nodes)
    counts = {}
    for n in range(1, nodes + 1):
        counts[n] = _power(n * (n - 1), bits) - sum(
            math.comb(n - 1, c - 1) * counts[c] * _power((n - c) * (n - c - 1), bits)
            for c in range(1, n)
        )
    return counts[nodes]
