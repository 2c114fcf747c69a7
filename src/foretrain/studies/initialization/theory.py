"""Predictions at both ends of initialisation: the race from wide random weights, and the network linearised at its start."""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.quantities.representation import cross_domain_similarity
from foretrain.study import Seed
from foretrain.tasks.masks import is_biregular
from foretrain.theory.gated.tangent_kernel import TangentKernel, tangent_kernel
from foretrain.theory.pathways.race import routing_factors
from foretrain.theory.pathways.race_parts import from_random, race_gains, race_loss, similarity
from foretrain.theory.pathways.race_schemes import equal_scheme, half_time
from foretrain.training.routing import ITEMS, items_task, mask
from foretrain.training.routing_to_loss import start

from .study import Parameters


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, Any]:
    """Predict both losses, until the race has had time to learn all modes four times over; nan after that."""
    data, factors = items_task(p.level_weights), routing_factors(p.domains)
    modes = data.singular_values, data.variances
    slowest = max(
        half_time([equal_scheme(p.init_scale, factors, s / d)], s, d)
        for s, d in zip(*modes, strict=True)
    )
    horizon = math.ceil(max(4 * slowest / p.rate, 400))
    shown = step[step <= horizon]
    loss, untrained = kernel_of_seed(p, seed).errors(shown, p.rate, p.init_scale)
    gains = race_gains(p.init_scale, shown * p.rate, p.domains, *modes)
    curves = {
        "race_loss": race_loss(gains, *modes, data.unexplained_power),
        "lazy_loss": loss,
        "lazy_untrained_error": untrained,
    }
    rest = 0, step.size - shown.size
    return {
        **{name: np.pad(curve, rest, constant_values=np.nan) for name, curve in curves.items()},
        "lazy_limit": lazy_limit(p, seed),
        "race_cosine": race_cosine(p, seed),
    }


def race_cosine(p: Parameters, seed: Seed) -> float:
    """Return the mean cosine of an item's representations across domains where the race ends; nan for uneven masks."""
    pairs = mask(p, seed)
    if p.domains == 1 or not is_biregular(pairs):
        return np.nan
    data = items_task(p.level_weights)
    modes = data.singular_values, data.variances
    end = from_random(p.init_scale, np.array([1.0, np.inf]), pairs, *modes)
    dots = similarity(data.input_modes[0], end.outer[-1] ** 2, end.cosine[-1], p.domains)
    return float(cross_domain_similarity(dots, ITEMS)[0])


def lazy_limit(p: Parameters, seed: Seed) -> float:
    """Return the error on untrained routes with which the network linearised at its start ends."""
    return float(kernel_of_seed(p, seed).errors(np.array([np.inf]), p.rate, p.init_scale)[1][0])


def kernel_of_seed(p: Parameters, seed: Seed) -> TangentKernel:
    """Return the tangent kernel at a seed's draw of weights, scale 1; kept, since it serves every scale and step."""
    return _kernel(tuple((name, getattr(p, name)) for name in _IN_KERNEL), seed)


_IN_KERNEL = ("level_weights", "domains", "trained_outputs", "mask", "hidden_width")


@lru_cache(maxsize=32)
def _kernel(used, seed):
    p = Parameters(**dict(used))
    data = items_task(p.level_weights)
    return tangent_kernel(*start(p, seed), data.inputs[0], data.targets[0], mask(p, seed))
