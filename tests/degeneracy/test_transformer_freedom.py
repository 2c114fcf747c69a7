"""Free directions of a transformer by source, against the exact rank of its Jacobian."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.transformer_freedom import product_freedom, transformer_freedom
from foretrain.degeneracy.network import Section, network_of
from foretrain.degeneracy.transformer import of_arrays, pairs
from foretrain.errors import ArgumentError
from foretrain.networks import transformer


def drawn(seed, symbols, dim, hidden, layers, outputs):
    random = np.random.default_rng(seed)
    weights = transformer.draw(random, dim, hidden, layers, outputs)
    moved = [w + 0.3 * random.standard_normal(np.shape(w)) for w in weights]
    network = of_arrays(
        type(weights)(*moved)._asdict() | {"embedding": random.standard_normal((symbols, dim))}
    )
    return network, pairs(symbols)


def free(rows):
    values = np.linalg.svd(rows, compute_uv=False)
    # Of drawn transformers the least that is not zero is some 1e-9 of the largest, and what is zero 1e-16.
    return rows.shape[1] - int((values > 1e-12 * values[0]).sum())


@pytest.mark.slow
def test_a_head_of_partial_rank_is_freer():
    network, x = drawn(6, 7, 4, 3, 1, 9)
    params = [{k: v.copy() for k, v in leaves.items()} for leaves in network.params]
    params[1]["inward"][:, 9:] = params[1]["outward"][1:] = 0  # values of rank 1, outputs of rank 1
    params[1]["inward_bias"][9:] = 0
    partial = replace(network, params=tuple(params))
    result, whole = (
        transformer_freedom(item, x, jacobian_spectrum(item, x)) for item in (partial, network)
    )
    assert result.exact
    assert result.unattributed == whole.unattributed == 0
    assert result.counted == result.free == free(jacobian(partial, x))
    # D = 4: values read 3 dimensions of what varies, and the constant.
    assert result.by_source()["values_outputs"] == 4 * 7 - (3 * 1 + 1 * 4 - 1) + 4
    assert whole.by_source()["values_outputs"] == 4 * 7 - (3 * 4 + 3 * 4 - 3 * 4) + 4


def heads(values, outputs, patterns):
    """Attention of several heads with patterns that do not depend on the data, as a network of one section."""

    def apply(params, f):
        import jax.numpy as jnp

        token = f.reshape(patterns.shape[1], -1)
        mixed = jnp.einsum("hqk,kd,hdv,hve->qe", patterns, token, params["value"], params["output"])
        return mixed.ravel()

    return network_of([Section(apply)], [{"value": values, "output": outputs}])


@pytest.mark.parametrize("partial", [False, True])
def test_blocks_of_heads_whole_and_partial_by_the_jacobian(partial):
    """Three heads of width 2, two of one pattern, on tokens of five coordinates."""
    random = np.random.default_rng(0)
    values, outputs = random.standard_normal((3, 5, 2)), random.standard_normal((3, 2, 5))
    if partial:
        values[1, :, 1] = values[0, :, 0]  # the first two span three dimensions, not four
        outputs[1, 1] = 0
        outputs[2, 1] = 3 * outputs[2, 0]
    patterns = random.dirichlet(np.ones(3), (3, 3))
    patterns[1] = patterns[0]
    network, x = heads(values, outputs, patterns), random.standard_normal((12, 15))
    blocks = [(4, 3, 3), (2, 2, 1)] if partial else [(4, 4, 4), (2, 2, 2)]
    counted = sum(product_freedom(inner, 5, 5, *ranks) for inner, *ranks in blocks)
    assert counted == free(jacobian(network, x))
    if not partial:  # d_head^2 for each of three heads, and twice that for one pair
        assert counted == 3 * 2**2 + 2 * 2**2


def test_another_network_is_refused():
    other = network_of([Section(lambda params, f: f)], [{"a": np.ones(1)}])
    with pytest.raises(ArgumentError, match="be a transformer"):
        transformer_freedom(other, np.ones((2, 2)))
