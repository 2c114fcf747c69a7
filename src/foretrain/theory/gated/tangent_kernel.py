r"""The lazy end: the routing network linearised in its weights at the start (its tangent kernel).

With f the outputs of all routes and J = df/dW at the start, the linearised network f + J (W - W_0) under descent with
step eta on the loss of |T| trained routes has, after n steps, the error

    e(n) = e(0) - K_t V [1 - (1 - eta Lambda/|T|)^n] Lambda^{-1} V^T e_t(0),     K = J J^T,   K_tt = V Lambda V^T

on every route, where t marks rows or columns of trained routes: training error decays exponentially and no feature is
learned (Jacot et al., 2018; Chizat et al., 2019). At weights sigma times those of scale 1 the kernel is sigma^4 and the
initial output sigma^3 times as large, so that one diagonalisation serves every scale.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, real

# Relative to the largest eigenvalue; what is below is rounding of a direction that the kernel cannot reach.
_ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class TangentKernel:
    """A diagonalised kernel at weights of scale 1; made by `tangent_kernel`.

    Attributes:
        eigenvalues: Lambda, ascending, shape (trained,), with trained = trained routes x outputs x effective samples.
        eigenvectors: V, shape (trained, trained).
        reach: K_ut V, what the eigenvectors move on untrained routes, shape (untrained, trained).
        trained, untrained: f at scale 1 and Y on the routes, shapes (2, trained) and (2, untrained).
        routes: |T| and M^2 - |T|.
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    reach: np.ndarray
    trained: np.ndarray
    untrained: np.ndarray
    routes: tuple[int, int]

    def errors(self, steps, learning_rate: float, init_scale: float):
        """Errors of the linearised network along descent.

        `steps` n are (step,), `numpy.inf` for the end of training; eta is that of the paper, below 2|T|/(sigma^4 max Lambda).
        Mean over trained and over untrained routes of 1/2 |error|^2, (step,) each, float64; zero where there are none.
        """
        steps = np.asarray(steps, float)
        rate = real("learning_rate", learning_rate, above=0) / self.routes[0]
        scale = real("init_scale", init_scale, above=0)
        values = np.where(
            self.eigenvalues > _ZERO * self.eigenvalues[-1], self.eigenvalues * scale**4, 0.0
        )
        (output, target), (far_output, far_target) = self.trained, self.untrained
        start = self.eigenvectors.T @ (target - scale**3 * output)
        factor = 1 - rate * values[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.where(
                np.isinf(steps) & (values[:, None] > 0), 0.0, np.where(factor == 1, 1.0, factor)
            )
            left = left ** np.where(np.isinf(steps), 1.0, steps)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        shift = (1 - left) * (inverse * start)[:, None]
        loss = 0.5 * ((left * start[:, None]) ** 2).sum(0) / self.routes[0]
        error = (far_target - scale**3 * far_output)[:, None]
        error = error - scale**4 * (self.reach @ shift)
        return loss, 0.5 * (error**2).sum(0) / max(self.routes[1], 1)


def kernel_matrix(encoders, hidden, decoders, inputs) -> np.ndarray:
    """K = J J^T over all routes, by the layer that moves.

    `encoders` W1 are (input_domain, hidden, input), `hidden` W2 (hidden, hidden), `decoders` W3 (output_domain, output,
    hidden), `inputs` X (input, effective) the same in every domain; K is (n, n), with n rows input_domain x output_domain x
    output x effective, in that order.
    """
    first = np.einsum("ihd,de->ihe", encoders, inputs)
    second = np.einsum("gh,ihe->ige", hidden, first)
    back = np.einsum("jog,gh->joh", decoders, hidden)
    own_input, own_output = np.eye(len(encoders)), np.eye(len(decoders))
    outputs = np.eye(decoders.shape[1])
    kernel = np.einsum(
        "jl,op,ige,kgf->ijoeklpf", own_output, outputs, second, second, optimize=True
    )
    kernel += np.einsum(
        "ik,joh,lph,de,df->ijoeklpf", own_input, back, back, inputs, inputs, optimize=True
    )
    kernel += np.einsum(
        "jog,lpg,ihe,khf->ijoeklpf", decoders, decoders, first, first, optimize=True
    )
    size = int(np.prod(kernel.shape[:4]))
    return kernel.reshape(size, size)


def tangent_kernel(encoders, hidden, decoders, inputs, targets, trained_pairs) -> TangentKernel:
    """Linearise a routing network at given weights.

    The weights are at scale 1, they and X as in `kernel_matrix`, `targets` Y (output, effective); at least one pair is
    trained. Cost: n^3 for the n outputs of all trained routes (a third of a second at n = 784).
    """
    encoders = finite_array("encoders", encoders, ndim=3).astype(float)
    hidden = finite_array("hidden", hidden, ndim=2).astype(float)
    decoders = finite_array("decoders", decoders, ndim=3).astype(float)
    inputs = finite_array("inputs", inputs, ndim=2).astype(float)
    targets = finite_array("targets", targets, ndim=2).astype(float)
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2) != 0
    if not pairs.any():
        raise argument_error("trained_pairs", "train at least one pair", "trains none")
    kernel = kernel_matrix(encoders, hidden, decoders, inputs)
    output = np.einsum("jog,gh,ihd,de->ijoe", decoders, hidden, encoders, inputs, optimize=True)
    both = np.stack([output, np.broadcast_to(targets, output.shape)]).reshape(2, -1)
    trained = np.broadcast_to(pairs[:, :, None, None], output.shape).ravel()
    values, vectors = np.linalg.eigh(kernel[np.ix_(trained, trained)])
    return TangentKernel(
        values,
        vectors,
        kernel[np.ix_(~trained, trained)] @ vectors,
        both[:, trained],
        both[:, ~trained],
        (int(pairs.sum()), int((~pairs).sum())),
    )
