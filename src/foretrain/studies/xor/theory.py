"""What the reduction predicts of networks that learn exclusive-or, from derived starts and from fitted ones."""

from dataclasses import replace

import numpy as np

from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.xor.gatings import agreement, candidates
from foretrain.studies.xor.study import Parameters, decoupled_strength
from foretrain.studies.xor.training import start_weights
from foretrain.tasks.logic import xor
from foretrain.theory.deep_linear import mode_strength
from foretrain.theory.rectified_start import sort_rectified_units
from foretrain.vocabulary import DIVERGED

SINGULAR_VALUE, VARIANCE = np.sqrt(2) / 4, 0.5  # of every pathway, appendix A.1
_FITTED = np.geomspace(1e-3, 10, 201)  # starts that are tried, in units of N_h sigma_0^2


def loss_of(strengths: np.ndarray) -> np.ndarray:
    """Loss of four pathways of strengths of shape (..., 4): eq. (22), each with its own a."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a descent that diverged
        terms = 1 / 8 - SINGULAR_VALUE * strengths + VARIANCE / 2 * strengths**2
        return terms.sum(-1)


def descend(start: np.ndarray, p: Parameters) -> np.ndarray:
    """Descent of the reduction: a of balanced pathways that start at `start`, of any shape, at the stored steps.

    Returns:
        Shape (step, ...). A descent that diverges holds values that are not finite from then on.
    """
    weight, rate = np.sqrt(start), p.learning_rate
    strengths = [weight**2]
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(1, p.steps + 1):
            weight = weight + rate * weight * (SINGULAR_VALUE - VARIANCE * weight**2)
            if step % p.observe_every == 0:
                strengths.append(weight**2)
    return np.array(strengths)


def closed_form(times: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Eqs. (21)-(23): loss at times of shape (time,) from starts of shape (start,), shape (time, start)."""
    values = np.full(len(start), SINGULAR_VALUE)
    strengths = mode_strength(times, values, start, input_variances=VARIANCE)
    return loss_of(np.repeat(strengths[..., None], 4, axis=-1))


def rectified_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every example's pathway in a ReLU network that starts with these small weights, shape (example,)."""
    examples, amplitude = sort_rectified_units(weights["in1"], weights["out1"][0])
    own = (examples[:, None] == xor(1).inputs["x"][None]).all(-1)
    return (own * amplitude[:, None] ** 2).sum(0)


def gated_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every pathway of a gated network that starts with these small weights, shape (example,)."""
    data = xor(1)
    directions = data.targets["y"] * data.inputs["x"] / np.sqrt(2)
    growing = [
        (weights[f"in{k + 1}"] @ directions[k] + weights[f"out{k + 1}"][0]) / 2 for k in range(4)
    ]
    return (np.array(growing) ** 2).sum(1)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """A seed's loss and strengths from the start derived from its own initial weights; nothing is fitted.

    The network's own prediction is that of `p.network`; beside it stand the gated network, the closed form from the
    decoupled start, and the candidate gatings.
    """
    gated = own = gated_strengths(start_weights(replace(p, network="gated"), seed))
    if p.network == "relu":
        own = rectified_strengths(start_weights(p, seed))
    strengths = descend(np.array([own, gated]), p)
    decoupled = np.array([decoupled_strength(p) ** 2])
    return {
        "loss": loss_of(strengths[:, 0]),
        "example_strength": strengths[:, 0],
        "start_strength": own,
        "gated_start_strength": gated,
        "gated_loss": loss_of(strengths[:, 1]),
        "closed_form_loss": closed_form(step * p.learning_rate, decoupled)[:, 0],
        **candidates(decoupled_strength(p)),
    }


class Fits:
    """Loss curves of one pathway strength shared by all examples, for a range of starts."""

    def __init__(self, p: Parameters):
        self.starts = _FITTED * (p.hidden_width * p.init_scale**2)
        step = np.arange(0, p.steps + 1, p.observe_every)
        self.flow = closed_form(step * p.learning_rate, self.starts)
        self.descent = loss_of(np.repeat(descend(self.starts, p)[..., None], 4, -1))

    def best(self, curves: np.ndarray, loss: np.ndarray) -> float:
        """The start whose curve lies closest to a loss of shape (step,), in mean absolute deviation; nan for one not finite.

        Between neighbouring starts, 4.7% apart, the deviation is interpolated by a parabola in the logarithm.
        """
        if loss.size < 2 or not np.isfinite(loss).all():
            return np.nan
        curves = np.where(np.isfinite(curves), curves, np.finfo(np.float32).max)
        deviation = np.abs(curves[: loss.size] - loss[:, None]).mean(0) ** 2
        at = int(np.clip(deviation.argmin(), 1, len(self.starts) - 2))
        left, middle, right = deviation[at - 1 : at + 2]
        curvature = left - 2 * middle + right
        shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
        spacing = np.log(self.starts[1] / self.starts[0])
        return float(self.starts[at] * np.exp(np.clip(shift, -1, 1) * spacing))


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Fitted a_0 of every seed, by the closed form and by descent of the reduction; nan for a seed that diverged.

    Beside it how far a ReLU network's gates agree with each gating, and, fitted by descent: the loss of the gated network,
    and the loss predicted from the derived start, for comparison.
    """
    p, fits, run = cell.parameters, Fits(cell.parameters), cell.simulation
    own, gated = _losses(run), _losses(cell.variants["gated"])
    derived = cell.by_seed("loss").transpose("seed", "step").values
    closed = np.array([fits.best(fits.flow, loss) for loss in own])
    curves = np.full((cell.seeds, run.sizes["step"]), np.nan)
    known = np.isfinite(closed)
    curves[known] = closed_form(run["step"].values * p.learning_rate, closed[known]).T
    found = {
        "fitted_strength": closed,
        "fitted_descent_strength": [fits.best(fits.descent, loss) for loss in own],
        "fitted_gated_strength": [fits.best(fits.descent, loss) for loss in gated],
        "derived_descent_strength": [fits.best(fits.descent, loss) for loss in derived],
        "fitted_closed_form_loss": curves,
    }
    if p.network == "relu":
        seeds = range(cell.seeds)
        found["gating_agreement"] = [agreement(run.isel(seed=number)) for number in seeds]
    return {name: np.array(values) for name, values in found.items()}


def _losses(data) -> list[np.ndarray]:
    """Loss of every run as far as it went; empty for one that diverged."""
    whole = data["outcome"].transpose("seed").values != DIVERGED
    rows = data["loss"].transpose("seed", "step").values
    return [row[np.isfinite(row) & kept] for row, kept in zip(rows, whole, strict=True)]
