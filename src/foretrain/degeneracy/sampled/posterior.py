"""The density that is sampled: exp(-beta L(w) - gamma |w - w*|^2/2) around given parameters, for one or many beta.

One object owns all that an estimate of a learning coefficient must not disagree about: data and their number n, the inverse
temperatures beta (of the mean loss: what the literature writes n beta), the minibatch, and the loss at w*, taken on all data,
since noise in it would shift every chain alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from foretrain.arithmetic import exact_products
from foretrain.errors import argument_error, integer, one_of, real

Losses = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior around w*, tempered; made by `posterior` and `behavioural`.

    Attributes:
        losses: ``losses(params, data)``: the loss of every example, shape (examples,), in JAX.
        params: w*, a pytree of arrays; they fix the precision.
        data: Pytree of arrays whose first axis are the n examples.
        n: Number of examples.
        beta: Inverse temperatures of the mean loss, shape (beta,).
        batch_size: Examples of a minibatch, drawn anew with replacement for each step; None for all data.
        start_loss: Mean loss at w*.
        parts: Name to mask over flat parameters, shape (d,), 0 or 1: only what is 1 moves. ``{"all": ones}`` by default.
    """

    losses: Losses
    params: Any
    data: Any
    n: int
    beta: np.ndarray
    batch_size: int | None
    start_loss: float
    parts: Mapping[str, np.ndarray]

    @property
    def dimension(self) -> int:
        """d, of all parameters."""
        return len(next(iter(self.parts.values())))

    @cached_property
    def flat(self) -> np.ndarray:
        """w* as one array, shape (d,), in the order of `jax.flatten_util.ravel_pytree`."""
        return flattened(self.params)

    def at(self, beta) -> "Posterior":
        """The same at other inverse temperatures."""
        return replace(self, beta=_betas(beta, self.n))


def posterior(
    losses: Losses,
    params: Any,
    data: Any,
    *,
    beta: Any = None,
    batch_size: int | None = None,
    start_loss: float | None = None,
    parts: Mapping[str, Any] | None = None,
) -> Posterior:
    """The posterior of a loss, such as that of training, around given parameters.

    Args:
        losses: ``losses(params, data)``: loss of every example, shape (examples,), pure and in JAX. The same function object
            shares what was compiled.
        params: w*, a pytree of arrays of one float precision.
        data: Pytree of arrays with the examples along their first axis.
        beta: One or several inverse temperatures of the mean loss; n / ln n by default.
        batch_size: None for full-batch gradients.
        start_loss: Mean loss at w*; that of all data by default.
        parts: Name to what moves: a pytree like `params` of booleans or of arrays of them, or a flat mask of shape (d,).

    Raises:
        ArgumentError: Examples differ in number, a size or beta is out of range, the loss at w* is not finite, or a mask fits
            no parameters.
    """
    import jax

    losses = exact_products(losses)
    leaves = jax.tree.leaves(data)
    sizes = {len(leaf) for leaf in leaves}
    if len(sizes) != 1:
        raise argument_error("data", "have one number of examples", f"has {sorted(sizes)}")
    (n,) = sizes
    if batch_size is not None:
        batch_size = integer("batch_size", batch_size, minimum=1, maximum=n)
        batch_size = None if batch_size == n else batch_size
    flat = flattened(params)
    if not np.isfinite(flat).all():
        raise argument_error("params", "hold finite numbers", "hold some that are not")
    if start_loss is None:
        found = float(np.mean(np.asarray(_jitted(losses)(params, data), np.float64)))
        if not np.isfinite(found):
            raise argument_error("losses", "be finite at the parameters given", f"is {found} there")
        start_loss = found
    masks = {"all": np.ones(flat.size)} if parts is None else _masks(parts, params, flat.size)
    return Posterior(
        losses, params, data, n, _betas(beta, n), batch_size, real("start_loss", start_loss), masks
    )


def behavioural(
    apply: Callable[[Any, Any], Any], params: Any, inputs: Any, *, kind: str = "mse", **options: Any
) -> Posterior:
    """The posterior of the behavioural loss: how far outputs are from those at w*, (7), zero at w* whatever was trained.

    Args:
        apply: ``apply(params, inputs)``: outputs, shape (examples, outputs), pure and in JAX; the loss is a sum over other
            axes between these, such as positions.
        params: w*, a pytree of arrays of one float precision.
        inputs: Shape (examples, ...).
        kind: "mse", the squared distance per example; or "kl", KL(softmax at w* || softmax) per example.
        **options: Of `posterior`: beta, batch_size, parts.

    Returns:
        The posterior; its data are ``{"inputs", "targets"}``.

    Raises:
        ArgumentError: As `posterior`, or the KL divergence is asked of one output, of which it is 0.
    """
    kind = one_of("kind", kind, ("mse", "kl"))
    data = {"inputs": inputs, "targets": _jitted(exact_products(apply))(params, inputs)}
    if kind == "kl" and data["targets"].shape[-1] == 1:
        rule = "be `mse` where there is one output"
        raise argument_error("kind", rule, "is `kl`, which is 0 whatever that output is")
    return posterior(_behaviour(apply, kind), params, data, start_loss=0.0, **options)


@lru_cache(maxsize=64)
def _behaviour(apply: Callable[[Any, Any], Any], kind: str) -> Losses:
    """One function object for one network and kind, so that programs are compiled once."""
    import jax
    import jax.numpy as jnp

    def squared(params, data):
        gap = apply(params, data["inputs"]) - data["targets"]
        return (gap**2).reshape(len(gap), -1).sum(-1)

    def divergence(params, data):
        said = jax.nn.log_softmax(data["targets"])
        each = jnp.exp(said) * (said - jax.nn.log_softmax(apply(params, data["inputs"])))
        return each.reshape(len(each), -1).sum(-1)

    return squared if kind == "mse" else divergence


@lru_cache(maxsize=64)
def _jitted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same compiled function for the same function, which is faster from the first call on."""
    import jax

    return jax.jit(function)


def flattened(params: Any) -> np.ndarray:
    """All leaves one after another, shape (d,), as `jax.flatten_util.ravel_pytree` but in NumPy: nothing is compiled."""
    import jax

    leaves = [np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(params)]
    return jax.dtypes.canonicalize_dtype(np.result_type(*leaves)).type(np.concatenate(leaves))


def _betas(beta: Any, n: int) -> np.ndarray:
    if beta is None:
        if n < 3:
            rule = "be given where there are fewer than three examples"
            raise argument_error("beta", rule, "is not")
        beta = n / np.log(n)
    values: Sequence[float] = np.atleast_1d(np.asarray(beta, float)).tolist()
    return np.array([real("beta", value, above=0) for value in values])


def _masks(parts: Mapping[str, Any], params: Any, dimension: int) -> dict[str, np.ndarray]:
    import jax

    found = {}
    for name, part in parts.items():
        if not isinstance(part, np.ndarray) or part.shape != (dimension,):
            try:
                part = jax.tree.map(lambda m, p: np.broadcast_to(m, np.shape(p)), part, params)
            except (ValueError, TypeError):
                rule = f"be like the parameters or have shape ({dimension},)"
                raise argument_error(f"parts[{name!r}]", rule, "is not") from None
            part = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(part)])
        mask = np.asarray(part, float)
        if not np.isin(mask, (0, 1)).all() or not mask.any():
            raise argument_error(f"parts[{name!r}]", "hold zeros and some ones", "does not")
        found[name] = mask
    return found
