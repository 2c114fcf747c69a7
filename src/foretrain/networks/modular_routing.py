"""Routing through modules: the gating schemes of the pathway race, alone or several in one network.

M domains are cut into M/g groups of g = sqrt(P) on either side. The module of input group a and output group b carries
the P routes between them through a hidden matrix of its own. By default it also owns its encoders and decoders; with
shared ones an input has one encoder and an output one decoder, used by all its modules. All routes are trained:

    L = 1/M^2 sum_ij 1/2 |Y - sum_parts W_ij X|_F^2

in the paper's convention. Starts are drawn on the host, in NumPy. Source: Saxe, Sodhani & Lewallen (2022), Fig. 5a.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.errors import argument_error, integer
from foretrain.networks.routing_start import orthogonal_stack


class Modules(NamedTuple):
    """Weights of one gating scheme; an axis is 1 where all modules along it share.

    Encoders are (output_group or 1, input_group, input of the group, hidden, input), hidden matrices (output_group,
    input_group, hidden, hidden), decoders (output_group, input_group or 1, output of the group, output, hidden).
    """

    encoders: jax.Array | np.ndarray
    hidden: jax.Array | np.ndarray
    decoders: jax.Array | np.ndarray


def groups(domains: int, paths: int) -> tuple[int, int]:
    """Number of groups of domains and domains in each, for P routes per module."""
    domains = integer("domains", domains, minimum=1)
    size = round(integer("paths", paths, minimum=1) ** 0.5)
    if size**2 != paths or domains % size:
        admissible = [g**2 for g in range(1, domains + 1) if domains % g == 0]
        listed = ", ".join(map(str, admissible))
        rule = f"be the square of a divisor of `domains` = {domains} ({listed})"
        raise argument_error("paths", rule, f"is {paths}")
    return domains // size, size


def random_modules(
    generator: np.random.Generator,
    domains: int,
    paths: int,
    hidden_width: int,
    input_size: int,
    output_size: int,
    *,
    shared_encoders: bool = False,
) -> Modules:
    """Draw a start at scale 1, all singular values of every matrix 1, float64 NumPy arrays.

    Cost: one QR per matrix, M^2/P of them hidden.
    """
    count, size = groups(domains, paths)
    copies = 1 if shared_encoders else count
    draw = lambda number, *shape: orthogonal_stack(generator, number, *shape)  # noqa: E731
    hidden = draw(count**2, hidden_width, hidden_width)
    encoders = draw(copies * domains, hidden_width, input_size)
    decoders = draw(copies * domains, output_size, hidden_width)
    return Modules(
        encoders.reshape(copies, count, size, hidden_width, input_size),
        hidden.reshape(count, count, hidden_width, hidden_width),
        decoders.reshape(count, copies, size, output_size, hidden_width),
    )


def decoupled_modules(
    generator: np.random.Generator,
    output_modes: np.ndarray,
    input_modes: np.ndarray,
    domains: int,
    paths: int,
    hidden_width: int,
    *,
    shared_encoders: bool = False,
) -> Modules:
    """A start on the decoupled submanifold (9) with all strengths 1, each module in frames of its own.

    Modules are for `paths` P of the M^2 routes. Float64 NumPy arrays; `hidden_width` is at least the number of modes. With
    `shared_encoders` modules share the frame of what they share.
    """
    count, size = groups(domains, paths)
    modes = input_modes.shape[1]
    copies = 1 if shared_encoders else count
    first, second = (
        orthogonal_stack(generator, count * copies, hidden_width, modes) for _ in range(2)
    )
    first = first.reshape(copies, count, hidden_width, modes)
    second = second.reshape(count, copies, hidden_width, modes)
    every = (count, count, hidden_width, modes)
    hidden = np.broadcast_to(second, every) @ np.swapaxes(np.broadcast_to(first, every), 2, 3)
    encoders = (first @ input_modes.T)[:, :, None]
    decoders = (output_modes @ np.swapaxes(second, 2, 3))[:, :, None]
    return Modules(np.repeat(encoders, size, axis=2), hidden, np.repeat(decoders, size, axis=2))


def outputs(modules: Modules, inputs) -> jax.Array:
    """Output of every route for inputs of shape (input, sample), shape (output_domain, input_domain, output, sample)."""
    count = modules.hidden.shape[0]
    first = jnp.einsum("baihd,de->bahie", modules.encoders, inputs)
    size, samples = first.shape[3:]
    second = jnp.asarray(modules.hidden) @ first.reshape(*first.shape[:3], -1)
    decoders = jnp.asarray(modules.decoders)
    flat = decoders.reshape(*decoders.shape[:2], -1, decoders.shape[-1])
    out = (flat @ second).reshape(count, count, size, -1, size, samples)
    return out.transpose(0, 2, 1, 4, 3, 5).reshape(count * size, count * size, -1, samples)


def loss(parts: tuple[Modules, ...], inputs, targets) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    """Mean over all routes of 1/2 |Y - sum of the parts' outputs|_F^2, and the outputs of every part."""
    each = tuple(outputs(part, inputs) for part in parts)
    error = targets - sum(each)
    return 0.5 * (error**2).sum((2, 3)).mean(), each


def strengths(each, output_modes, probe):
    """u^T W v of every part, route and mode, shape (part, output_domain, input_domain, mode).

    `each` are outputs of every part, as `loss` gives them; `probe` makes V of the effective samples, (effective, mode).
    """
    return jnp.stack([jnp.einsum("jioe,om,em->jim", out, output_modes, probe) for out in each])


def outer_power(part: Modules, output_modes, input_modes):
    """Product of the lengths of the encoder and the decoder vectors of every mode, mean over modules, shape (mode,).

    The vectors are what the domains of a module have in common of W1 v and W3^T u: the mean leaves out what their starts
    do not share.
    """
    first = (part.encoders @ input_modes).mean(2)
    third = jnp.einsum("bajoh,om->bahm", part.decoders, output_modes) / part.decoders.shape[2]
    return _length(first) * _length(third)


def _length(vectors):
    return jnp.sqrt((vectors**2).sum(2)).mean((0, 1))
