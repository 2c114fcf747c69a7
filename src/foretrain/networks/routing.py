"""The routing network: M encoders, one hidden matrix, M decoders, stacked so that all M^2 routes train in one pass.

Input domain i reaches output domain j through W3_j W2 W1_i; the gates let one encoder and one decoder through at a time.
The data of a domain come as effective samples (`foretrain.tasks.effective_samples`): X_i with X_i X_i^T = <x x^T> and
Y_i with Y_i X_i^T = <y x^T>. With trained pairs T the loss in the paper's convention is

    L = 1/|T| sum_ij T_ij 1/2 |Y_i - W3_j W2 W1_i X_i|_F^2   (+ the residual that no linear map explains).

Where routes map the same items differently, route (i, j) has the targets c_ij Y_i.

All functions see one network; vectorise with `jax.vmap`. Arrays are float32 or float64, as the weights are.
Source: Saxe, Sodhani & Lewallen (2022), section 4, whose loss is written there per example.
"""

import jax
import jax.numpy as jnp

from foretrain.networks import singular_values as small
from foretrain.networks.routing_start import Weights, orthonormal_columns
from foretrain.streams import normals


def random_weights(
    key: jax.Array,
    domains: int,
    hidden_width: int,
    input_size: int,
    output_size: int,
    init_scale,
    *,
    law: str,
    dtype=jnp.float32,
) -> Weights:
    """Draw weights by a law of `foretrain.networks.routing_start.random_start`, times `init_scale`: one draw for all."""
    shapes = (
        (domains, hidden_width, input_size),
        (1, hidden_width, hidden_width),
        (domains, output_size, hidden_width),
    )
    matrices = [_by_law(normal, law) for normal in normals(key, shapes, dtype)]
    scale = jnp.asarray(init_scale, dtype)
    return Weights(scale * matrices[0], scale * matrices[1][0], scale * matrices[2])


def _by_law(normal, law):
    if law == "orthogonal":
        return _orthogonal(normal)
    if law == "xavier":
        fans = normal.shape[1] + normal.shape[2]
        return normal * jnp.asarray((2 / fans) ** 0.5, normal.dtype)
    return normal


def _orthogonal(normal):
    """Stacked matrices with all singular values 1, uniformly distributed, from stacked normal ones."""
    wide = normal.shape[1] < normal.shape[2]
    frames = orthonormal_columns(jnp.swapaxes(normal, 1, 2) if wide else normal)
    return jnp.swapaxes(frames, 1, 2) if wide else frames


def negative_gradient(weights: Weights, inputs, targets, trained_pairs, maps=None) -> Weights:
    """-dL/dW of the loss in the paper's convention: the right side of the gradient flow.

    X and Y are (input_domain or 1, input or output, effective), maps c (input_domain, output_domain), by how much each route's
    targets are those of its input; None is 1.

    Cost: with M domains, hidden width h, inputs d, outputs o and r effective samples, M h r (3 h + 2 d) multiply-adds for
    the shared part, and for the decoders' part the lesser of 3 M^2 o h r, if the error of every route is formed, and
    M h (h + o) (3 r + 2 M), if the sums over routes are done on h x h matrices instead, which pays with many domains.
    """
    share = trained_pairs / trained_pairs.sum()
    first = jnp.einsum("ihd,ide->ihe", weights.encoders, inputs)
    second = jnp.einsum("gh,ihe->ige", weights.hidden, first)
    domains, output_size, width = weights.decoders.shape
    effective = second.shape[2]
    by_errors = 3 * domains * output_size * effective
    by_grams = (width + output_size) * (3 * effective + 2 * domains)
    through = _through_errors if by_errors < by_grams else _through_grams
    pull, decoders = through(weights.decoders, second, targets, share, maps)
    hidden = jnp.einsum("ige,ihe->gh", pull, first)
    back = jnp.einsum("gh,ige->ihe", weights.hidden, pull)
    return Weights(jnp.einsum("ihe,ide->ihd", back, inputs), hidden, decoders)


def _targets(targets, maps):
    """Targets of every route, shape (input_domain or 1, output_domain or 1, output, effective)."""
    return targets[:, None] if maps is None else maps[:, :, None, None] * targets[:, None]


def _through_errors(decoders, second, targets, share, maps):
    """Slopes at the second hidden layer, (input_domain, hidden, effective), and the decoders, from each error."""
    error = _targets(targets, maps) - jnp.einsum("jog,ige->ijoe", decoders, second)
    error = share[:, :, None, None] * error
    pull = jnp.einsum("ijoe,jog->ige", error, decoders)
    return pull, jnp.einsum("ijoe,ige->jog", error, second)


def _through_grams(decoders, second, targets, share, maps):
    """The same without forming any route's error."""
    # What reaches the second hidden layer of input i from its trained decoders.
    weights = share if maps is None else share * maps
    readout = jnp.einsum("ij,jog->iog", weights, decoders)
    gram = jnp.einsum("jog,jok->jgk", decoders, decoders)
    gram = jnp.einsum("ij,jgk->igk", share, gram)
    pull = jnp.einsum("iog,ioe->ige", readout, targets) - jnp.einsum("igk,ike->ige", gram, second)
    # What each decoder sees of its trained inputs.
    association = jnp.einsum("ioe,ige->iog", targets, second)
    power = jnp.einsum("ige,ike->igk", second, second)
    slope = jnp.einsum("ij,iog->jog", weights, association)
    return pull, slope - jnp.einsum(
        "jog,jgk->jok", decoders, jnp.einsum("ij,igk->jgk", share, power)
    )


def pair_errors(weights: Weights, inputs, targets, maps=None) -> jax.Array:
    """Error of every route without the residual, 1/2 |c_ij Y_i - W3_j W2 W1_i X_i|_F^2.

    Shape (input_domain, output_domain).
    """
    error = _targets(targets, maps) - outputs(weights, inputs)
    return 0.5 * jnp.einsum("ijoe,ijoe->ij", error, error)


def outputs(weights: Weights, inputs) -> jax.Array:
    """Output of every route, shape (input_domain, output_domain, output, effective)."""
    second = jnp.einsum("gh,ihd,ide->ige", weights.hidden, weights.encoders, inputs)
    return jnp.einsum("jog,ige->ijoe", weights.decoders, second)


def mean_over(pairs, errors) -> jax.Array:
    """Mean of `errors` (input_domain, output_domain) over the pairs marked 1; zero if there is none."""
    return (pairs * errors).sum() / jnp.maximum(pairs.sum(), 1)


def conserved(weights: Weights) -> tuple[jax.Array, jax.Array]:
    """Q at both hidden layers, shape (hidden, hidden) each, conserved by gradient flow for any data and mask.

    Q_1 = sum_i W1_i W1_i^T - W2^T W2 and Q_2 = W2 W2^T - sum_j W3_j^T W3_j. Descent of step eta lets them drift by O(eta).
    """
    incoming = jnp.einsum("ihd,ikd->hk", weights.encoders, weights.encoders)
    outgoing = jnp.einsum("jog,jok->gk", weights.decoders, weights.decoders)
    hidden = weights.hidden
    return incoming - hidden.T @ hidden, hidden @ hidden.T - outgoing


def drift(weights: Weights, start: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Change of what is `conserved` since its `start`, over the squared norm of the hidden matrix."""
    gaps = [q - q0 for q, q0 in zip(conserved(weights), start, strict=True)]
    return jnp.sqrt(sum((gap**2).sum() for gap in gaps)) / (weights.hidden**2).sum()


def in_modes(weights: Weights, output_modes, input_modes) -> jax.Array:
    """The whole map u_m^T W v_n of every route, shape (input_domain, output_domain, mode, mode).

    Args:
        input_modes: V of every domain, shape (input_domain or 1, input, mode).
    """
    own = jnp.broadcast_to(input_modes, (weights.encoders.shape[0], *input_modes.shape[1:]))
    layers = weights.decoders, weights.hidden, weights.encoders
    return jnp.einsum("jog,gh,ihd,om,idn->ijmn", *layers, output_modes, own)


def mode_strength(whole, pairs) -> jax.Array:
    """Strength u^T W v of every mode of what `in_modes` gives, mean over the pairs marked 1, shape (mode,)."""
    return (jnp.einsum("ijmm->ijm", whole) * pairs[:, :, None]).sum((0, 1)) / pairs.sum()


def off_diagonal_mass(whole, pairs, strengths) -> jax.Array:
    """Share of the squared norm of what `in_modes` gives, over the pairs marked 1, that lies off the diagonal.

    Modes of equal `strengths`, shape (mode,), descending, count as one block.
    """
    # A tolerance well above rounding and far below any gap between distinct modes of these data.
    block = jnp.abs(strengths[:, None] - strengths[None]) <= 1e-4 * strengths[0]
    mass = (whole**2).sum((2, 3))
    outside = jnp.where(block, 0, whole**2).sum((2, 3))
    return (outside * pairs).sum() / (mass * pairs).sum()


def singular_values(weights: Weights, modes: int) -> jax.Array:
    """The largest of every layer, encoders first, mean over the domains of a layer, shape (3, mode)."""
    each = [small.singular_values(matrix)[..., :modes] for matrix in weights]
    return jnp.stack([each[0].mean(0), each[1], each[2].mean(0)])


def alike(encoders, first_half: int) -> tuple[jax.Array, jax.Array]:
    """Mean cosine between the representations of one item in two domains, within and between two halves of the domains.

    W1 for one-hot items is (input_domain, hidden, item), `first_half` >= 1 the number of domains in the first half. Returns
    (within, between), scalars; 0 where there is no such pair.
    """
    unit = encoders / jnp.sqrt((encoders**2).sum(1, keepdims=True))
    domains, _, items = unit.shape
    first, second = unit[:first_half].sum(0), unit[first_half:].sum(0)
    rest = domains - first_half
    pairs = first_half * (first_half - 1) + rest * (rest - 1), first_half * rest
    within = ((first**2).sum() + (second**2).sum()) / items - domains
    between = (first * second).sum() / items
    return within / max(pairs[0], 1), between / max(pairs[1], 1)
