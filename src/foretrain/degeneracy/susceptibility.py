"""What stored draws say at no further sampling: how expectations answer to the weights of examples in the loss.

In exp(-beta L - gamma |w - w*|^2/2) add h times L_S = (1/n) sum_i s_i l_i to L = (1/n) sum_i l_i. An observable then moves by

    d E[phi] / d h = -beta Cov(phi, L_S),

its susceptibility to the subset or weighting s; with phi = l_j and s one example that is the influence of i on j. Covariances
are taken about the mean over all chains, errors from how chains differ: chains must be long beside their memory.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.draws import LOSSES, Draws, gigabytes
from foretrain.errors import TooLarge, argument_error, finite_array


@dataclass(frozen=True)
class Response:
    """A susceptibility or an influence.

    Attributes:
        value: Of every weighting (rows) and entry of the observable (further axes).
        error: Standard errors from the spread over chains, same shape; nan for one chain.
    """

    value: np.ndarray
    error: np.ndarray


def susceptibility(draws: Draws, weights: Any, observable: str, *, memory: float = 2e9) -> Response:
    """-beta Cov(observable, L_S) for every row s of `weights`.

    Args:
        draws: Stored draws.
        weights: s, shape (weighting, n); a mask of a subset, or anything else.
        observable: Name of something stored; `losses` for those of every example.
        memory: Bytes that the result and one block may take.

    Returns:
        Shape (weighting, *observable). Cost: two passes over what is stored.

    Raises:
        ArgumentError: Weights are not as long as there are examples, or no chain stayed finite.
        TooLarge: The result does not fit.
    """
    weights = finite_array("weights", weights, ndim=2)
    if weights.shape[1] != draws.examples:
        rule = f"have {draws.examples} columns, one for each example"
        raise argument_error("weights", rule, f"has {weights.shape[1]}")
    chains, length = int(draws.finite.sum()), draws.shapes[LOSSES][1]
    if not chains:
        raise argument_error("draws", "hold a chain that stayed finite", "hold none")
    shape = draws.shapes[observable][2:] if observable in draws.shapes else ()
    needs = 8 * (chains + 3) * len(weights) * int(np.prod(shape))
    if needs > memory:
        raise TooLarge(
            f"Responses need {gigabytes(needs)}, but {gigabytes(memory)} are allowed. "
            "Try fewer weightings or a smaller observable."
        )
    names = (LOSSES, observable)
    first = second = 0.0
    for losses, values in draws.blocks(*names):
        first = first + (losses @ weights.T).sum((0, 1))
        second = second + values.reshape(*values.shape[:2], -1).sum((0, 1))
    first, second = first / (chains * length), second / (chains * length)
    found = np.zeros((chains, len(weights), int(np.prod(shape))))
    for losses, values in draws.blocks(*names):
        here = losses @ weights.T - first
        there = values.reshape(*values.shape[:2], -1) - second
        found += np.einsum("cts,cto->cso", here, there)
    found *= -draws.beta / draws.examples / length
    value = found.mean(0).reshape(len(weights), *shape)
    if chains == 1:
        return Response(value, np.full(value.shape, np.nan))
    error = found.std(0, ddof=1) / np.sqrt(chains)
    return Response(value, error.reshape(value.shape))


def influence(draws: Draws, examples: Any = None, *, memory: float = 2e9) -> Response:
    """How the expected loss of every example answers to the weight of others in the mean loss: -(beta/n) Cov(l_i, l_j).

    Args:
        draws: Stored draws.
        examples: Which i, indices; all by default.
        memory: As in `susceptibility`: a matrix for each chain.

    Returns:
        Shape (i, n); over all i symmetric, and never above 0 on its diagonal: more weight lowers one's own loss.
    """
    chosen = np.arange(draws.examples) if examples is None else np.asarray(examples)
    if chosen.ndim != 1 or not np.isin(chosen, np.arange(draws.examples)).all():
        rule = f"be indices from 0 to {draws.examples - 1}"
        raise argument_error("examples", rule, "is something else")
    weights = (chosen[:, None] == np.arange(draws.examples)).astype(float)
    return susceptibility(draws, weights, LOSSES, memory=memory)
