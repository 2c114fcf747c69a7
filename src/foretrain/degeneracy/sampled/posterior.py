"""The density that is sampled: exp(-beta L(w) - gamma |w - w*|^2/2) around given parameters.

One object owns what an estimate must not disagree about: data and their number n, the inverse temperature beta (of the mean
loss: what the literature writes n beta), the precision gamma of the Gaussian prior, and the loss at w*, taken on all data,
since noise in it would shift every chain alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from foretrain.arithmetic import exact_products
from foretrain.errors import argument_error, one_of, real
from foretrain.lazy import jax, jnp

Losses = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The tempered posterior around w*; made by `posterior` and `behavioural`.

    Attributes:
        losses, params, data, beta, start_loss: As of `posterior`; the parameters, w*, fix the precision.
        n: Number of examples.
        pull: gamma; None for 1, or for the `localisation` of a study's parameters.
        moving: Shape (d,), 1 where a parameter moves, else 0.
    """

    losses: Losses
    params: Any
    data: Any
    n: int
    beta: float
    pull: float | None
    start_loss: float
    moving: np.ndarray

    @cached_property
    def flat(self) -> np.ndarray:
        """w* as one array, shape (d,), in the order of `jax.flatten_util.ravel_pytree`."""
        return flattened(self.params)


def posterior(
    losses: Losses,
    params: Any,
    data: Any,
    *,
    beta: float | None = None,
    pull: float | None = None,
    start_loss: float | None = None,
    moving: Any = None,
) -> Posterior:
    """Return the posterior of a loss, such as that of training, around given parameters.

    Args:
        losses: ``losses(params, data)``: loss of every example, shape (examples,), pure and in JAX. The same function object
            shares what was compiled.
        params: w*, a pytree of arrays of one float precision.
        data: Pytree of arrays with the examples along their first axis.
        beta: Inverse temperature of the mean loss; n / ln n by default.
        pull: gamma, the precision of the Gaussian prior around w*.
        start_loss: Mean loss at w*; that of all data by default.
        moving: What moves: a pytree like `params` of booleans or of arrays of them, or a flat mask of shape (d,); all by
            default.

    Raises:
        ArgumentError: Examples differ in number, a number is out of range, the loss at w* is not finite, or the mask fits
            no parameters.

    Two steep directions and a flat one have two effective parameters:

    >>> import numpy as np
    >>> from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
    >>> def losses(w, data):
    ...     return data + w[0] ** 2 + w[1] ** 2
    >>> estimate = sampled_parameters(posterior(losses, np.zeros(3), np.zeros(1), beta=50.0), gradients=200_000)
    >>> bool(estimate.trusted[0]), round(float(estimate.value[0]))
    (True, 2)
    """
    losses = exact_products(losses)
    sizes = {len(leaf) for leaf in jax.tree.leaves(data)}
    if len(sizes) != 1:
        raise argument_error("data", "have one number of examples", f"has {sorted(sizes)}")
    (n,) = sizes
    if beta is None and n < 3:
        rule = "be given where there are fewer than three examples"
        raise argument_error("beta", rule, "is not")
    beta = float(n / np.log(n)) if beta is None else real("beta", beta, above=0)
    pull = None if pull is None else real("pull", pull, above=0)
    flat = flattened(params)
    if not np.isfinite(flat).all():
        raise argument_error("params", "hold finite numbers", "hold some that are not")
    if start_loss is None:
        start_loss = float(np.mean(np.asarray(_jitted(losses)(params, data), np.float64)))
        if not np.isfinite(start_loss):
            got = f"is {start_loss} there"
            raise argument_error("losses", "be finite at the parameters given", got)
    mask = np.ones(flat.size) if moving is None else _mask(moving, params, flat.size)
    return Posterior(losses, params, data, n, beta, pull, real("start_loss", start_loss), mask)


def behavioural(
    apply: Callable[[Any, Any], Any],
    params: Any,
    inputs: Any,
    *,
    kind: str = "mse",
    targets: Any = None,
    **options: Any,
) -> Posterior:
    """Return the posterior of the behavioural loss: how far outputs are from those at w*, (7), zero at w*; or from labels.

    Args:
        apply: ``apply(params, inputs)``: outputs, shape (examples, outputs), pure and in JAX; the loss is a sum over other
            axes between these, such as positions.
        params: w*, a pytree of arrays of one float precision.
        inputs: Shape (examples, ...).
        kind: "mse", the squared distance per example; or "kl", KL(softmax at w* || softmax) per example.
        targets: Labels in place of the outputs at w*: shaped like these, or of "kl" classes, (examples,), whole numbers, of
            which the loss is the cross-entropy.
        **options: Of `posterior`: beta, pull, moving.

    Returns:
        The posterior; its data are ``{"inputs", "targets"}``.

    Raises:
        ArgumentError: As `posterior`, or the KL divergence is asked of one output, of which it is 0.
    """
    kind = one_of("kind", kind, ("mse", "kl"))
    if targets is None:
        targets = _jitted(exact_products(apply))(params, inputs)
        options = {"start_loss": 0.0} | options
    if kind == "kl" and targets.shape[1:] == (1,):
        rule = "be `mse` where there is one output"
        raise argument_error("kind", rule, "is `kl`, which is 0 whatever that output is")
    return posterior(
        _behaviour(apply, kind), params, {"inputs": inputs, "targets": targets}, **options
    )


@lru_cache(maxsize=64)
def _behaviour(apply: Callable[[Any, Any], Any], kind: str) -> Losses:
    """One function object for one network and kind, so that programs are compiled once."""

    def squared(params, data):
        gap = apply(params, data["inputs"]) - data["targets"]
        return (gap**2).reshape(len(gap), -1).sum(-1)

    def divergence(params, data):
        own, targets = jax.nn.log_softmax(apply(params, data["inputs"])), data["targets"]
        if jnp.issubdtype(targets.dtype, jnp.integer):
            return -jnp.take_along_axis(own, targets[:, None], 1)[:, 0]
        logs = jax.nn.log_softmax(targets)
        each = jnp.exp(logs) * (logs - own)
        return each.reshape(len(each), -1).sum(-1)

    return squared if kind == "mse" else divergence


@lru_cache(maxsize=64)
def _jitted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same compiled function for the same function, which is faster from the first call on."""
    return jax.jit(function)


def flattened(params: Any) -> np.ndarray:
    """All leaves one after another, shape (d,), as `jax.flatten_util.ravel_pytree` but in NumPy: nothing is compiled."""
    leaves = [np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(params)]
    return jax.dtypes.canonicalize_dtype(np.result_type(*leaves)).type(np.concatenate(leaves))


def _mask(moving: Any, params: Any, dimension: int) -> np.ndarray:
    if not isinstance(moving, np.ndarray) or moving.shape != (dimension,):
        try:
            like = jax.tree.map(lambda m, p: np.broadcast_to(m, np.shape(p)), moving, params)
        except (ValueError, TypeError):
            rule = f"be like the parameters or have shape ({dimension},)"
            raise argument_error("moving", rule, "is not") from None
        moving = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(like)])
    mask = np.asarray(moving, float)
    if not np.isin(mask, (0, 1)).all() or not mask.any():
        raise argument_error("moving", "hold zeros and some ones", "does not")
    return mask
