"""Predictions of the four-number reduction for the rank-one study."""

import numpy as np

from foretrain.theory.factorization import rank_one as reduction
from foretrain.theory.factorization.rank_one import FIELDS
from foretrain.theory.factorization.rank_one_plateau import plateau, plateau_estimate

from .study import inputs


def predict(p, step, seed):
    return from_start(p, reduction.reduce(**inputs(p, seed)))


def from_start(p, start):
    """Descent of the four numbers at the run's own step, and the plateau that the start gives."""
    path = reduction.descent(start, p.learning_rate, p.steps, p.weight_decay, every=p.observe_every)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        signal, decay = reduction.gradient_terms(path, p.weight_decay)
        norms = np.sqrt(path.squared_norm_x * path.squared_norm_y)
        curves = {
            "loss": reduction.loss(path),
            **{name: getattr(path, name) for name in FIELDS},
            "alignment": path.overlap_x * path.overlap_y / norms,
            "signal": signal,
            "decay": decay,
        }
    # A run that diverges is cut where its numbers stop being finite; so is its prediction.
    finite = np.logical_and.reduce([np.isfinite(curve) for curve in curves.values()])
    exact = plateau(start, weight_decay=p.weight_decay)
    estimate = plateau_estimate(start, weight_decay=p.weight_decay)
    times = {
        "plateau_length": exact.length,
        "plateau_end": exact.end,
        "plateau_estimate": estimate.length,
    }
    return {
        **{name: np.where(finite, curve, np.nan) for name, curve in curves.items()},
        **{name: np.where(np.isfinite(time), time, np.nan) for name, time in times.items()},
    }
