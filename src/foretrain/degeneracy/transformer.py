"""foretrain's transformer of two tokens as a network of sections: residual stream to residual stream.

Layers of activations are both tokens side by side: the data, two one-hot symbols; the embedded tokens; then the residual
stream after each attention and after each perceptron; the outputs. Of its sections only the last linear one names a weight:
what the others do to one token they do to the other, by the same parameters.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretrain.degeneracy.network import Network, Section, dense, network_of
from foretrain.errors import argument_error, finite_array
from foretrain.lazy import jax, jnp
from foretrain.vocabulary import STATE

_STORED = (f"{STATE}decoder_", STATE)  # in front of the names of a run's kept state
_ATTENTION = ("scale_1", "shift_1", "inward", "inward_bias", "outward", "outward_bias")
_PERCEPTRON = ("scale_2", "shift_2", "widen", "widen_bias", "narrow", "narrow_bias")
_LAST = ("first", "second", "bias")
NAMES = ("embedding", *_ATTENTION, *_PERCEPTRON, *_LAST)


def pairs(symbols: int) -> np.ndarray:
    """All ordered pairs of symbols as what the transformer reads, (pair, 2 symbols): two ones in each row."""
    unit = np.eye(symbols)
    return np.concatenate([np.repeat(unit, symbols, 0), np.tile(unit, (symbols, 1))], 1)


def arrays(run: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The transformer of one stored run by name, for `numpy.savez`, as `foretrain analyze` reads it.

    `run` is one seed and cell of `modular-transformer` that kept its state (``keep_state="end"``), with the variables
    ``state_embedding`` and ``state_decoder_*``, or these arrays under their own names.
    """
    stored = {name: [p + name for p in ("", *_STORED) if p + name in run] for name in NAMES}
    for name in NAMES:
        if not stored[name]:
            rule = "hold the state of a transformer, as of a run with keep_state='end'"
            raise argument_error("run", rule, f"has no `{STATE}{name}`")
    return {name: np.asarray(run[keys[0]]) for name, keys in stored.items()}


def of_arrays(named: Mapping[str, Any]) -> Network:
    """A `foretrain.networks.transformer.Transformer` on pairs of symbols, from arrays by name, `NAMES`.

    Sections are the embedding (both tokens read the same one, so that it names no weight), for each layer one of attention and
    one of its perceptron, residuals included, and the last linear one. A layer's activations are both tokens side by side.
    """
    lacking = [name for name in NAMES if name not in named]
    if lacking:
        raise argument_error("model", "hold all arrays of a transformer", f"has no `{lacking[0]}`")
    leaves = {name: finite_array(name, named[name]) for name in NAMES}
    _check_shapes(leaves)
    symbols = len(leaves["embedding"])
    sections = [Section(_embedded, inputs=2 * symbols)]
    params: list[dict[str, np.ndarray]] = [{"embedding": leaves["embedding"]}]
    for layer in range(len(leaves["scale_1"])):
        for apply, names in ((_attended, _ATTENTION), (_widened, _PERCEPTRON)):
            sections.append(Section(apply))
            params.append({name: leaves[name][layer] for name in names})
    sections.append(dense())
    weight = np.concatenate([leaves["first"], leaves["second"]]).T
    params.append({"weight": weight, "bias": leaves["bias"]})
    return network_of(sections, params)


def _check_shapes(leaves):
    from foretrain.networks.transformer import shapes

    for name, axes in (("embedding", 2), ("widen", 3), ("first", 2)):
        if leaves[name].ndim != axes or not leaves[name].size:
            rule = f"have {axes} axes and an entry"
            raise argument_error(name, rule, f"has shape {leaves[name].shape}")
    dim, hidden = leaves["embedding"].shape[1], leaves["widen"].shape[2]
    wanted = shapes(dim, hidden, len(leaves["widen"]), leaves["first"].shape[1])
    for name, shape in wanted._asdict().items():
        if leaves[name].shape != shape:
            rule = f"have shape {shape}, of {dim} coordinates and {hidden} hidden units"
            raise argument_error(name, rule, f"has shape {leaves[name].shape}")


def is_transformer(network: Network) -> bool:
    """True if the network was made by `of_arrays`."""
    return network.sections[0].apply is _embedded


def one_hot(network: Network, x: Any, name: str = "x") -> np.ndarray:
    """Data as the transformer reads them: symbols (example, 2), whole numbers from 0, become (example, 2 symbols).

    Anything else, one-hot data too, goes on as it is.
    """
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[1] != 2:
        return x
    x = finite_array(name, x)
    symbols = len(network.params[0]["embedding"])
    bad = (x != np.round(x)) | (x < 0) | (x >= symbols)
    if bad.any():
        rule = f"hold symbols, whole numbers from 0 to {symbols - 1}"
        raise argument_error(name, rule, f"holds {x[bad][0]:g}")
    return np.eye(symbols)[x.astype(int)].reshape(len(x), -1)


def _embedded(params, f):
    return (f.reshape(2, -1) @ params["embedding"]).ravel()


def _attended(params, f):
    from foretrain.networks.transformer import normalised

    tokens = f.reshape(2, -1)
    normal = normalised(tokens, params["scale_1"], params["shift_1"])
    query, key, value = jnp.split(normal @ params["inward"] + params["inward_bias"], 3, axis=-1)
    pattern = jax.nn.softmax(query @ key.T / tokens.shape[-1] ** 0.5)
    return (tokens + pattern @ value @ params["outward"] + params["outward_bias"]).ravel()


def _widened(params, f):
    from foretrain.networks.transformer import normalised

    tokens = f.reshape(2, -1)
    normal = normalised(tokens, params["scale_2"], params["shift_2"])
    hidden = jax.nn.relu(normal @ params["widen"] + params["widen_bias"])
    return (tokens + hidden @ params["narrow"] + params["narrow_bias"]).ravel()
