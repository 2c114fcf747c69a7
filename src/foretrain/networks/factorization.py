r"""A low-rank matrix learned by a product of two factors: the toy model of S-curves.

Target C = A B^T = sum_i a_i b_i^T with r unit components, learner Z = X Y^T with k components, both
n x n. Two losses: the squared error ||C - Z||_F^2 (no 1/2), and the cross-entropy of the flattened
matrices read as logits. `foretrain.networks.factorization_rows` has the gradients of both, in the layout that trains fast.

`foretrain.networks.factorization_start` draws targets and starts on the host; all here is JAX on one run.
"""

import jax
import jax.numpy as jnp

from foretrain.errors import one_of
from foretrain.networks.factorization_start import Factors

LOSSES = ("mse", "cross_entropy")


def loss(kind: str, factors: Factors, target: Factors):
    """The loss of that kind ("mse" or "cross_entropy"), in the form that is accurate near zero."""
    one_of("kind", kind, LOSSES)
    return mse_loss(factors, target) if kind == "mse" else cross_entropy_loss(factors, target)


def mse_loss(factors: Factors, target: Factors):
    """||C - X Y^T||_F^2 from the n x n difference; O(n^2 (k + r)).

    Accurate down to the square of rounding times |C|^2.
    """
    difference = target.left @ target.right.T - factors.left @ factors.right.T
    return jnp.sum(difference**2)


def mse_parts(factors: Factors, target: Factors) -> tuple[Factors, Factors]:
    """Signal and decay of the squared error: -gradient = signal - decay; O(n k (k + r)).

    -grad_X = 2 A (B^T Y) - 2 X (Y^T Y), and the same for Y: the target pulls, the learner's own Z pushes away.
    """
    (x, y), (a, b) = factors, target
    signal = Factors(2 * a @ (b.T @ y), 2 * b @ (a.T @ x))
    return signal, Factors(2 * x @ (y.T @ y), 2 * y @ (x.T @ x))


def cross_entropy_loss(factors: Factors, target: Factors):
    r"""-sum P log Q minus the entropy of P, for flattened C and Z as logits; O(n^2 (k + r)).

    P and Q are the softmax of C and of Z over all n^2 entries. This is the divergence of Q from P:
    >= 0, and 0 exactly where Z = C plus one constant for all entries. The textbook form loses it in
    rounding where logits are small (they are of order 1/n), so near zero it is evaluated as

    $$ \log \Big( 1 + \sum P \, (e^{-d} - 1 + d) \Big), \qquad d = C - Z - \sum P (C - Z), $$

    and elsewhere, with s = log P - log Q, as sum P (e^-s - 1 + s): both are the same number, since P
    and Q sum to one, as a sum of terms >= 0.
    """
    logits, own = target.left @ target.right.T, factors.left @ factors.right.T
    probabilities = _softmax(logits)
    shift = logits - own
    shift = shift - jnp.sum(probabilities * shift)
    near = jnp.log1p(jnp.sum(probabilities * _exponential_remainder(jnp.clip(shift, -1.0, 1.0))))
    far = jnp.sum(_divergence_terms(logits, own))
    return jnp.where(jnp.max(jnp.abs(shift)) <= 1.0, near, far)


def _softmax(logits):
    return jax.nn.softmax(logits.ravel()).reshape(logits.shape)


def _exponential_remainder(values):
    """e^-d - 1 + d without cancellation: by its series for |d| < .05, else as written."""
    small = jnp.abs(values) < 0.05
    near = jnp.where(small, values, 0.0)
    # d^2/2 (1 - d/3 (1 - d/4 (..))): the first term left out is below 1e-14 of the value.
    series = jnp.ones_like(values)
    for order in range(8, 2, -1):
        series = 1 - near / order * series
    return jnp.where(small, near**2 / 2 * series, jnp.expm1(-values) + values)


def _divergence_terms(logits, own):
    """P (e^-s - 1 + s), entry by entry, each >= 0; where Q is more than e times P, as Q - P + P s."""
    own_log = jax.nn.log_softmax(own.ravel())
    probabilities, learned = jax.nn.softmax(logits.ravel()), jnp.exp(own_log)
    surprise = jax.nn.log_softmax(logits.ravel()) - own_log
    likely = probabilities * _exponential_remainder(jnp.maximum(surprise, -1.0))
    return jnp.where(surprise < -1.0, learned - probabilities + probabilities * surprise, likely)
