"""Families of models of several widths on the same data, and how the criteria of the study's page rank them.

The posterior is at beta = n/(2 sigma^2) of the mean squared error, hence eps = 2 sigma^2/n for a prior of unit width.
"""

from typing import Any

import numpy as np
from scipy.optimize import least_squares

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.quantities.rank_correlation import concordance
from foretrain.study import generator
from foretrain.theory.aoyagi import deep_linear

from .curvature import effective, of_network

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 12)
SIDE, RANK = 12, 3  # of the linear map: inputs and outputs, and what there is to find
EXAMPLES, NOISE = 60, 1.0
INPUTS, UNITS = 3, 3  # of the rectified teacher
FRESH = 2000
NOISES = 1.0, 0.1  # of the teacher's deviation, between which the variance of seeds is compared
STARTS, TRIALS = 4, 80  # of damped Gauss-Newton steps; the best counts


def selection(p, seed):
    """Both families: agreement of every criterion with the loss on fresh data over widths."""
    families = [linear_family(seed), rectified_family(seed)]
    spreads = [np.median(rectified_family(seed, n)[5, WIDTHS.index(UNITS) :]) for n in NOISES]
    return {
        "rank_agreement": np.array([agreement(*family[:5]) for family in families]),
        "model_effective": np.array([family[3] for family in families]),
        "model_heldout": np.array([family[4] for family in families]),
        "spread_power": np.log(np.divide(*spreads)) / np.log(np.divide(*NOISES)) / 2,
    }


def agreement(losses, parameters, closed, measured, heldout):
    """Kendall's tau of each criterion, in the order of `CRITERIA`; `losses` are n L/sigma^2; nan of one that is not known."""
    rows = losses + np.log(EXAMPLES) * np.array([0 * losses, parameters, closed, measured])
    return [concordance(row, heldout) if np.isfinite(row).all() else np.nan for row in rows]


def linear_family(seed):
    """Two linear layers, the best of every width: least squares, cut to its largest singular values."""
    random, noise = generator(seed, "data"), generator(seed, "noise")
    left, right = (np.linalg.qr(random.standard_normal((SIDE, SIDE)))[0][:, :RANK] for _ in "ab")
    true = left * np.linspace(1.5, 0.75, RANK) @ right.T
    x = random.standard_normal((EXAMPLES, SIDE))
    y = x @ true.T + NOISE * noise.standard_normal((EXAMPLES, SIDE))
    whole = np.linalg.lstsq(x, y, rcond=None)[0].T
    columns = np.linalg.svd(x @ whole.T, full_matrices=False)[2].T
    rows = []
    for width in WIDTHS:
        best = columns[:, :width] @ columns[:, :width].T @ whole
        u, s, v = np.linalg.svd(best)
        root = s[:width] ** 0.5
        network = perceptron([root[:, None] * v[:width], u[:, :width] * root], None, "identity")
        measured = effective(of_network(network, x), [2 * NOISE**2 / EXAMPLES])[0]
        closed = 2 * deep_linear((SIDE, width, SIDE), min(width, RANK)).coefficient
        loss = ((y - x @ best.T) ** 2).sum() / NOISE**2
        heldout = ((best - true) ** 2).sum() / NOISE**2 / SIDE + 1
        rows.append((loss, 2 * SIDE * width, closed, measured, heldout, np.nan))
    return np.array(rows).T


def rectified_family(seed, share=1 / 3):
    """One rectified layer fitted to a rectified teacher of three units with noise of this share of its deviation."""
    random, noise = generator(seed, "teacher"), generator(seed, "noise")
    x = random.standard_normal((EXAMPLES + FRESH, INPUTS))
    first, last = random.standard_normal((UNITS, INPUTS)), random.choice([-1.0, 1.0], UNITS)
    truth = np.maximum(x @ first.T + 0.5 * random.standard_normal(UNITS), 0) @ last
    deviation = share * truth.std()
    y = truth[:EXAMPLES] + deviation * noise.standard_normal(EXAMPLES)
    rows = []
    for width in WIDTHS:
        fits = fitted(x[:EXAMPLES], y, width, generator(seed, f"fit {width}"), deviation**2)
        answers = np.array([answered(weights, width, x) for weights in fits])
        curvatures = of_network(built(fits[0], width), x[:EXAMPLES])
        measured = effective(curvatures, [2 * deviation**2 / EXAMPLES])[0]
        spread = answers[:, :EXAMPLES].var(0, ddof=1).mean()
        loss = ((y - answers[0, :EXAMPLES]) ** 2).sum() / deviation**2
        heldout = ((truth - answers[0])[EXAMPLES:] ** 2).mean() / deviation**2 + 1
        rows.append((loss, fits[0].size, np.nan, measured, heldout, spread))
    return np.array(rows).T


def parts(weights, width):
    """Biases, first weights and last weights of a flat vector, in the order of `jacobian`."""
    shift, first, last = np.split(weights, (width, width * (INPUTS + 1)))
    return shift, first.reshape(width, INPUTS), last


def built(weights, width):
    shift, first, last = parts(weights, width)
    return perceptron([first, last[None]], [shift, None])


def answered(weights, width, x):
    shift, first, last = parts(weights, width)
    return np.maximum(x @ first.T + shift, 0) @ last


def fitted(x, y, width, random, variance):
    """Return the fits of Levenberg and Marquardt, best first, with variance/n |w|^2, the unit prior, added to the loss."""
    deviation = variance**0.5 * np.eye(width * (INPUTS + 2))

    def residuals(w):
        return np.concatenate([answered(w, width, x) - y, deviation @ w])

    def slopes(w):
        return np.concatenate([jacobian(built(w, width), x), deviation])

    starts = (random.standard_normal(len(deviation)) / np.sqrt(INPUTS) for _ in range(STARTS))
    options: dict[str, Any] = {"jac": slopes, "method": "lm", "max_nfev": TRIALS}
    fits = [least_squares(residuals, w, **options) for w in starts]
    return [fit.x for fit in sorted(fits, key=lambda fit: fit.cost)]
