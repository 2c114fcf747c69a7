"""Predictions for a routing network: the race from wide random weights, and the reduction from decoupled ones."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.study import Seed
from foretrain.tasks.masks import is_biregular, is_connected
from foretrain.theory.pathways import race_parts
from foretrain.theory.pathways.race_planes import part_flow, part_planes
from foretrain.theory.pathways.race_routes import descent
from foretrain.training.routing import first_half, maps, mask, paper_rate

from .study import Parameters, task, variants
from .training import start

_OF_REDUCTION = ("reduction_loss", "reduction_singular_values")


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict a run of this seed at these numbers of steps, with the reduction from the decoupled start beside it.

    Orthogonal weights and biregular masks have a closed form, decoupled weights the reduction; nan stands for all others.
    """
    same = p.data == "hierarchy" and p.mask == "circulant"  # all seeds have one mask and data
    run = of_run(p, Seed(seed.root, 0) if same else seed, tuple(step))
    if p.data != "hierarchy":
        return run
    changes = {name: value for name, value in variants(p)["disagreeing"].items() if name != "seeds"}
    split = _alike(_of_seed(replace(p, **changes)), Seed(seed.root, 0))
    return {**run, **split, "start_singular_values": own_layers(p, seed, step)}


def explore(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict the race alone, but from decoupled weights the reduction."""
    short = p if p.init_law == "decoupled" else replace(p, steps=p.observe_every)
    run = of_run(short, seed, tuple(step))
    return {n: a for n, a in run.items() if len(a) == len(step) or n == "similarity"}


def own_layers(p: Parameters, seed: Seed, step: np.ndarray) -> np.ndarray:
    """Singular values by the race from a run's own start, shape (step, layer, mode); nan where it does not apply."""
    data, pairs = task(p, seed), mask(p, seed)
    modes = data.singular_values, data.variances
    narrow = 2 * len(modes[0]) > p.hidden_width  # two planes of a mode need as many directions
    if p.disagreement or narrow or not _has_race(p, pairs):
        return np.full((len(step), 3, len(modes[0])), np.nan)
    drawn = start(p, seed)
    first = np.einsum("ihd,idm->ihm", drawn.encoders, data.input_modes)
    last = np.einsum("joh,om->jhm", drawn.decoders, data.output_modes)
    own = part_planes(first, drawn.hidden, last, pairs)
    return part_flow(own, step * paper_rate(p, data.targets.shape[1]), *modes)


@lru_cache(maxsize=64)
def of_run(p, seed, step):
    """Return the reduction for decoupled starts, the race for others, nan where there is neither."""
    reduction = _reduction(_of_seed(p), seed)
    unknown = {name: np.full_like(values, np.nan) for name, values in reduction.items()}
    if p.disagreement:
        reduction = unknown
    if p.init_law == "decoupled":
        return reduction
    predicted = unknown | {name: reduction[name] for name in _OF_REDUCTION}
    data, pairs = task(p, seed), mask(p, seed)
    modes = data.singular_values, data.variances
    time = np.array(step) * paper_rate(p, data.targets.shape[1])
    if not _has_race(p, pairs) or (p.disagreement and not pairs.all()):
        return predicted
    if p.disagreement:
        routes = maps(p.domains, p.disagreement)
        parts = race_parts.parts_of_maps(p.init_scale, time, routes, *modes)
        loss = race_parts.parts_loss(parts, routes, *modes)
        predicted |= {"loss": loss, "untrained_error": 0 * loss}
    else:
        race = race_parts.from_random(p.init_scale, time, pairs, *modes)
        loss = race_parts.race_loss(race.gain, *modes, data.unexplained_power)
        layers = np.stack((race.outer, race.hidden, race.outer), 1)
        predicted |= {"loss": loss, "mode_strength": race.gain, "singular_values": layers}
        if is_connected(pairs):
            predicted["untrained_error"] = loss if p.trained_outputs < p.domains else 0 * loss
        parts = race_parts.parts_of_mask(race.gain, p.init_scale, pairs)
    if "similarity" in predicted:
        predicted["similarity"] = race_parts.parts_similarity(parts, data.input_modes[0])
        halves = parts, data.input_modes[0], first_half(p.domains)
        within, between = race_parts.domain_similarity(*halves)
        predicted |= {"alike_within": within, "alike_between": between}
    return predicted


@lru_cache(maxsize=64)
def _alike(p, seed):
    run = of_run(p, seed, tuple(range(0, p.steps + 1, p.observe_every)))
    return {f"split_{name}": run[f"alike_{name}"] for name in ("within", "between")}


def _has_race(p, pairs) -> bool:
    return p.init_law == "orthogonal" and is_biregular(pairs)


def _of_seed(p):
    """Return the parameters without those on which no prediction depends."""
    return replace(p, precision="float64", loss_tolerance=0.0, hidden_width=64)


@lru_cache(maxsize=64)
def _reduction(p, seed):
    """Return the reduction, by Euler with the run's own step, every mode and layer starting at `init_scale`."""
    pairs, data = mask(p, seed), task(p, seed)
    modes, rate = (data.singular_values, data.variances), paper_rate(p, data.targets.shape[1])
    run = descent(p.init_scale, rate, p.steps, *modes, pairs, every=p.observe_every)
    error = run.pair_error() + data.unexplained_power / 2
    mean = lambda values, weight: (values * weight).sum((1, 2)) / max(weight.sum(), 1)  # noqa: E731
    layers = np.stack((run.encoders.mean(1), run.hidden, run.decoders.mean(1)), 1)
    loss = mean(error, pairs)
    predicted = {
        "loss": loss,
        "untrained_error": mean(error, 1 - pairs),
        "singular_values": layers,
        "mode_strength": (run.route_strength() * pairs[:, :, None]).sum((1, 2)) / pairs.sum(),
        "reduction_loss": loss,
        "reduction_singular_values": layers,
    }
    if p.data == "hierarchy":
        ends = data.input_modes[0], layers[-1, 0] ** 2
        predicted["similarity"] = race_parts.similarity(*ends, 1.0, p.domains)
        predicted["alike_within"] = np.full(len(loss), float(p.domains > 2))
        predicted["alike_between"] = np.full(len(loss), float(p.domains > 1))
    return predicted
