"""Do `foretrain.analyze` and its sampler count right at the k-gons of a toy model of superposition?

Six features, one of them on, uniform on [0, 1], go through two units and back: ReLU(W' W x + b), trained on the squared
distance from x. The columns of W form a regular polygon of k corners; the others are dead, at zero with a bias below zero
(Chen et al. 2023, arXiv 2310.06301). By hand: answers to its own feature tell length and bias of a column, those to a
neighbour's the angle between the two, and k angles make one turn. 3k - 1 of 18 parameters count, twice the coefficient.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

import foretrain
from foretrain import study
from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters

EPS, PULL = 1e-6, 400.0  # a prior of width .05: dead columns stay dead, and no two change places
X = np.concatenate([np.outer((np.arange(40) + 0.5) / 40, axis) for axis in np.eye(6)])


def apply(params, x):
    """Outputs of the model."""
    return jax.nn.relu(x @ params["W"].T @ params["W"] + params["b"])


def losses(params, data):
    """Squared distance of outputs at inputs from targets, `data` being both."""
    return ((apply(params, data[0]) - data[1]) ** 2).sum(1)


def loss(params):
    """Mean squared distance from all inputs, integrated by hand where no bias is above zero."""
    slope, bias, own = params["W"].T @ params["W"], params["b"][:, None], jnp.eye(6)
    opens = jnp.where(slope > 0, jnp.clip(-bias / jnp.where(slope > 0, slope, 1), 0, 1), 1)
    cubic, square = (slope - own) ** 2 / 3, (slope - own) * bias
    terms = cubic * (1 - opens**3) + square * (1 - opens**2) + bias**2 * (1 - opens)
    return (terms + own * opens**3 / 3).sum() / 6


def polygon(k, mean=loss):
    """Parameters of the polygon of k corners, its length and bias such that a mean loss is least."""

    def shape(numbers):
        corners = numbers[0] * np.exp(2j * np.pi * np.arange(k) / k)
        weight = np.pad([corners.real, corners.imag], [(0, 0), (0, 6 - k)])
        return {"W": weight, "b": np.where(np.arange(6) < k, numbers[1], -1.0)}

    run = jax.jit(mean)
    with jax.enable_x64(True):
        least = minimize(lambda n: run(shape(n)), (1.2, -0.4), method="Nelder-Mead", tol=1e-14)
    return shape(least.x)


def curvature(params):
    """Second derivatives of `loss`, (18, 18): W by rows, then b."""
    with jax.enable_x64(True):
        flat, tree = ravel_pytree(params)
        return np.asarray(jax.hessian(lambda w: loss(tree(w)))(flat))


def main(gradients=1_500_000):
    """Print a table."""
    print("| k | by hand | Hessian | analyze | sampled | sampled, training |\n" + "|--:" * 6 + "|")
    for k in (6, 5):
        own, trained = polygon(k), polygon(k, lambda w: losses(w, (X, X)).mean())
        rank = (np.linalg.eigvalsh(curvature(own)) > 1e-6).sum()
        counted = foretrain.analyze(apply, own, X, noise_scale=EPS, seconds=0)
        cells = [k, 3 * k - 1, rank, counted.jacobian.rank]
        for params, targets in ((own, np.asarray(apply(own, X))), (trained, X)):
            with jax.enable_x64(True):
                around = study.posterior(losses, params, (X, targets), beta=1.0, pull=PULL)
                n = sampled_parameters(around, [EPS], gradients=gradients)
            cells.append(f"{n.value[0]:.2f} ± {n.error[0]:.2f}" + " refused" * (not n.trusted[0]))
        print("|", " | ".join(map(str, cells)), "|")


if __name__ == "__main__":
    main()
