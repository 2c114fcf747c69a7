"""What the four-number reduction predicts of the rank-one study."""

import numpy as np
import xarray as xr

from foretrain.studies.rank_one import study
from foretrain.theory import rank_one as s_curve
from foretrain.theory.rank_one import RankOneState
from foretrain.theory.rank_one_plateau import plateau, plateau_estimate


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Descent of the four numbers at the run's own step, from the start of every seed."""
    starts = [study.reduced_start(parameters, root_seed, seed) for seed in range(seeds)]
    path = s_curve.descent(
        s_curve.stack(starts),
        parameters.steps,
        parameters.learning_rate,
        parameters.weight_decay,
    )
    path = RankOneState(
        *(getattr(path, name)[:: parameters.observe_every] for name in study.FIELDS)
    )
    terms = s_curve.gradient_terms(path, parameters.weight_decay)
    with np.errstate(invalid="ignore", divide="ignore"):
        norms = np.sqrt(path.squared_norm_x * path.squared_norm_y)
        alignment = path.overlap_x * path.overlap_y / norms
    curves = {
        "loss": s_curve.loss(path),
        **{name: getattr(path, name) for name in study.FIELDS},
        "alignment": alignment,
        "signal": terms.signal_x,
        "decay": terms.decay_x,
    }
    # A run that diverges is cut where its numbers stop being finite; so is its prediction.
    finite = np.logical_and.reduce([np.isfinite(curve) for curve in curves.values()])
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: (("seed", "step"), np.where(finite, curve, np.nan).T)
        for name, curve in curves.items()
    }
    decay = parameters.weight_decay
    exact = [plateau(start, weight_decay=decay) for start in starts]
    times = {
        "plateau_length": [found.length for found in exact],
        "plateau_end": [found.end for found in exact],
        "plateau_estimate": [plateau_estimate(s, weight_decay=decay).length for s in starts],
    }
    for name, values in times.items():
        variables[name] = (("seed",), np.where(np.isfinite(values), values, np.nan))
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    coords = {"step": step, "seed": np.arange(seeds), **study.coordinates(parameters, step)}
    return xr.Dataset(variables, coords)
