"""What the reduction predicts of networks that learn exclusive-or, from derived starts and from fitted ones."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.dynamics.program import DIVERGED
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.xor import gatings as xor_gatings_theory
from foretrain.studies.xor import study
from foretrain.tasks.logic import xor as xor_data
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.deep_linear import mode_strength
from foretrain.theory.rectified_start import sort_rectified_units
from foretrain.theory.reduced_dynamics import decoupled_start as reduced_start
from foretrain.theory.reduced_dynamics import decoupled_weights, hidden_frames
from foretrain.theory.reduction import find_reduction

SINGULAR_VALUE, VARIANCE = np.sqrt(2) / 4, 0.5  # of every pathway, appendix A.1
_FITTED = np.geomspace(1e-3, 10, 201)  # starts that are tried, in units of N_h sigma_0^2


def loss_of(strengths: np.ndarray) -> np.ndarray:
    """Loss of four pathways of strengths of shape (..., 4): eq. (22), each with its own a."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a descent that diverged
        terms = 1 / 8 - SINGULAR_VALUE * strengths + VARIANCE / 2 * strengths**2
        return terms.sum(-1)


def descend(start: np.ndarray, rate: float, steps: int, every: int) -> np.ndarray:
    """Descent of the reduction: a of balanced pathways that start at `start`, of any shape, every `every` steps.

    Returns:
        Shape (step, ...). A descent that diverges holds values that are not finite from then on.
    """
    weight = np.sqrt(start)
    strengths = [weight**2]
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(1, steps + 1):
            weight = weight + rate * weight * (SINGULAR_VALUE - VARIANCE * weight**2)
            if step % every == 0:
                strengths.append(weight**2)
    return np.array(strengths)


def closed_form(times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Eqs. (21)-(23): loss at times of shape (time,) from starts of shape (start,), shape (time, start)."""
    values = np.full(len(start), SINGULAR_VALUE)
    strengths = mode_strength(times, values, start, input_variances=VARIANCE)
    return loss_of(np.repeat(strengths[..., None], 4, axis=-1))


def decoupled_start(parameters: study.Parameters, random: np.random.Generator) -> dict:
    """Weights of the gated network on the submanifold of the reduction, edge name to array."""
    reduction = find_reduction(gather_statistics(xor_data(parameters.hidden_width)))
    state = reduced_start(reduction, study.decoupled_strength(parameters))
    return decoupled_weights(reduction, state, hidden_frames(reduction, random))


def rectified_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every example's pathway in a ReLU network that starts with these small weights, shape (example,)."""
    examples, amplitude = sort_rectified_units(weights["in1"], weights["out1"][0])
    own = (examples[:, None] == xor_data(1).inputs["x"][None]).all(-1)
    return (own * amplitude[:, None] ** 2).sum(0)


def gated_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every pathway of a gated network that starts with these small weights, shape (example,)."""
    data = xor_data(1)
    directions = data.targets["y"] * data.inputs["x"] / np.sqrt(2)
    growing = [
        (weights[f"in{k + 1}"] @ directions[k] + weights[f"out{k + 1}"][0]) / 2 for k in range(4)
    ]
    return (np.array(growing) ** 2).sum(1)


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Every seed's loss and strengths from the start derived from its own initial weights; nothing is fitted.

    The network's own prediction is that of `parameters.network`; beside it stand the gated network and the closed form
    from the decoupled start.
    """
    schedule = (parameters.learning_rate, parameters.steps, parameters.observe_every)
    gated = replace(parameters, network="gated")
    starts, gated_starts = [], []
    for seed in range(seeds):
        gated_starts.append(gated_strengths(study.start_weights(gated, root_seed, seed)))
        if parameters.network == "gated":
            starts.append(gated_starts[-1])
        else:
            starts.append(rectified_strengths(study.start_weights(parameters, root_seed, seed)))
    strengths = descend(np.array(starts), *schedule).swapaxes(0, 1)
    gated_loss = loss_of(descend(np.array(gated_starts), *schedule)).T
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    decoupled = np.array([study.decoupled_strength(parameters) ** 2])
    curves = xr.Dataset(
        {
            "loss": (("seed", "step"), loss_of(strengths)),
            "example_strength": (("seed", "step", "example"), strengths),
            "start_strength": (("seed", "example"), np.array(starts)),
            "gated_start_strength": (("seed", "example"), np.array(gated_starts)),
            "gated_loss": (("seed", "step"), gated_loss),
            "closed_form_loss": (
                "step",
                closed_form(step * parameters.learning_rate, decoupled)[:, 0],
            ),
        },
        coords={"step": step, "seed": range(seeds), **study.coordinates(parameters, step)},
    ).drop_vars("input")
    return curves.merge(xor_gatings_theory.predict(parameters))


class Fits:
    """Loss curves of one pathway strength shared by all examples, for a range of starts."""

    def __init__(self, parameters: study.Parameters):
        scale = parameters.hidden_width * parameters.init_scale**2
        self.starts = _FITTED * scale
        step = np.arange(0, parameters.steps + 1, parameters.observe_every)
        self.flow = closed_form(step * parameters.learning_rate, self.starts)
        schedule = (parameters.learning_rate, parameters.steps, parameters.observe_every)
        self.descent = loss_of(np.repeat(descend(self.starts, *schedule)[..., None], 4, -1))

    def best(self, curves: np.ndarray, loss: np.ndarray) -> float:
        """The start whose curve lies closest to a loss of shape (step,), in mean absolute deviation; nan for one not finite.

        Between neighbouring starts, 4.7% apart, the deviation is interpolated by a parabola in the logarithm.
        """
        if not np.isfinite(loss).all():
            return np.nan
        curves = np.where(np.isfinite(curves), curves, np.finfo(np.float32).max)
        deviation = np.abs(curves[: loss.size] - loss[:, None]).mean(0) ** 2
        at = int(np.clip(deviation.argmin(), 1, len(self.starts) - 2))
        left, middle, right = deviation[at - 1 : at + 2]
        curvature = left - 2 * middle + right
        shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
        spacing = np.log(self.starts[1] / self.starts[0])
        return float(self.starts[at] * np.exp(np.clip(shift, -1, 1) * spacing))


def fit(runs: LabelledRuns) -> xr.Dataset:
    """Fitted a_0 of every seed, by the closed form and by descent of the reduction; nan for a seed that diverged.

    Beside it how far a ReLU network's gates agree with each gating, and, fitted by descent: the loss predicted from the
    derived start, for comparison.
    """
    p, fits = runs.parameters, Fits(runs.parameters)
    times = runs.theory["step"].values * p.learning_rate
    fitted = []
    for seed in range(runs.seeds):
        loss = runs.simulation["loss"].isel(seed=seed).dropna("step").values
        if loss.size < 2 or int(runs.simulation["outcome"][seed]) == DIVERGED:
            start, descent, curve = np.nan, np.nan, np.full(times.size, np.nan)
        else:
            start = fits.best(fits.flow, loss)
            descent = fits.best(fits.descent, loss)
            curve = closed_form(times, np.array([start]))[:, 0]
        derived = fits.best(fits.descent, runs.theory["loss"].isel(seed=seed).values)
        fitted.append(
            xr.Dataset(
                {
                    "fitted_strength": start,
                    "fitted_descent_strength": descent,
                    "derived_descent_strength": derived,
                    "fitted_closed_form_loss": ("step", curve),
                }
            )
        )
        if p.network == "relu":
            found = xor_gatings_theory.agreement(runs.simulation.isel(seed=seed))
            fitted[-1]["gating_agreement"] = ("gating", found)
    return xr.concat(fitted, "seed")
