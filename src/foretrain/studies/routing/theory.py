"""What is predicted of a routing network: the race from wide random weights, and the reduction from decoupled ones."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.study import Seed
from foretrain.tasks.masks import is_biregular, is_connected
from foretrain.theory.race_parts import (
    FromRandom,
    domain_similarity,
    from_random,
    parts_loss,
    parts_of_maps,
    parts_of_mask,
    parts_similarity,
    race_loss,
    similarity,
)
from foretrain.theory.race_planes import part_flow, part_planes
from foretrain.theory.race_routes import descent
from foretrain.training.routing import first_half, maps, mask, paper_rate

from .study import Parameters, task, variants
from .training import start


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """What a run of this seed is to do, at these numbers of steps, and the reduction from the decoupled start beside it.

    The run itself is predicted from orthogonal weights and biregular masks, in closed form, and from decoupled weights, by
    the reduction; for other starts there is no theory, and nan stands for it. Layers also follow the run's own start.
    """
    found = _of_run(p, seed, step)
    if p.data == "hierarchy":
        found = {**found, **_split(p, seed), "start_singular_values": own_layers(p, seed, step)}
    return found


def own_layers(p: Parameters, seed: Seed, step: np.ndarray) -> np.ndarray:
    """Singular values by the race from a run's own start, shape (step, layer, mode); nan where it does not apply."""
    data, pairs = task(p, seed), mask(p, seed)
    modes = data.singular_values, data.variances
    narrow = 2 * len(modes[0]) > p.hidden_width  # two planes of a mode need as many directions
    if p.init_law != "orthogonal" or p.disagreement or narrow or not is_biregular(pairs):
        return np.full((len(step), 3, len(modes[0])), np.nan)
    drawn = start(p, seed)
    first = np.einsum("ihd,idm->ihm", drawn.encoders, data.input_modes)
    last = np.einsum("joh,om->jhm", drawn.decoders, data.output_modes)
    own = part_planes(first, drawn.hidden, last, pairs)
    return part_flow(own, _time(p, data, step), *modes).singular_values


def _of_run(p, seed, step):
    reduction = _reduction(_of_seed(p, seed), _drawn(p, seed))
    if p.disagreement:
        reduction = {name: np.full_like(values, np.nan) for name, values in reduction.items()}
    if p.init_law == "decoupled":
        return reduction
    own = ("loss", "untrained_error", "singular_values", "mode_strength", "similarity")
    own += ("alike_within", "alike_between")
    found = {name: np.full_like(reduction[name], np.nan) for name in own if name in reduction}
    race, data, pairs = random_start(p, seed, step), task(p, seed), mask(p, seed)
    parts = None
    if race is not None:
        loss = race_loss(race.gain, data.singular_values, data.variances, data.unexplained_power)
        layers = (race.outer, race.hidden, race.outer)
        found |= {"loss": loss, "mode_strength": race.gain, "singular_values": np.stack(layers, 1)}
        if is_connected(pairs):
            found["untrained_error"] = loss if p.trained_outputs < p.domains else 0 * loss
        parts = parts_of_mask(race.gain, p.init_scale, pairs)
    elif p.disagreement and p.init_law == "orthogonal" and pairs.all():
        routes, modes = maps(p.domains, p.disagreement), (data.singular_values, data.variances)
        parts = parts_of_maps(p.init_scale, _time(p, data, step), routes, *modes)
        loss = parts_loss(parts, routes, *modes)
        found |= {"loss": loss, "untrained_error": 0 * loss}
    if parts is not None and "similarity" in reduction:
        found["similarity"] = parts_similarity(parts, data.input_modes[0])
        within, between = domain_similarity(parts, data.input_modes[0], first_half(p.domains))
        found |= {"alike_within": within, "alike_between": between}
    return {**reduction, **found}


def _split(p, seed):
    """How alike domains are where routes disagree, along the steps of the variant that has such routes."""
    given = {name: value for name, value in variants(p)["disagreeing"].items() if name != "seeds"}
    return _course(_of_seed(replace(p, **given), seed), Seed(seed.root, 0))


@lru_cache(maxsize=64)
def _course(p, seed):
    found = _of_run(p, seed, np.arange(0, p.steps + 1, p.observe_every))
    return {f"split_{name}": found[f"alike_{name}"] for name in ("within", "between")}


def random_start(p: Parameters, seed: Seed, step: np.ndarray) -> FromRandom | None:
    """The race of a seed's network from wide random weights; None where the closed form does not apply."""
    pairs = mask(p, seed)
    if p.init_law != "orthogonal" or p.disagreement or not is_biregular(pairs):
        return None
    return _race(_of_seed(p, seed), _drawn(p, seed), tuple(step))


def growth(p: Parameters, seed: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Largest singular value of the hidden matrix, ascending, and that of an encoder beside it, along the race.

    Raises:
        ValueError: there is no closed form.
    """
    race = random_start(p, seed, np.arange(p.steps + 1))
    if race is None:
        raise ValueError("There is no closed form for this start.")
    return race.hidden.max(1), race.outer.max(1)


@lru_cache(maxsize=64)
def _race(p, seed, step):
    data = task(p, seed)
    modes = data.singular_values, data.variances
    return from_random(p.init_scale, _time(p, data, np.array(step)), mask(p, seed), *modes)


def _time(p, data, step):
    """Numbers of steps in the paper's time."""
    return step * paper_rate(p, data.targets.shape[1])


def _drawn(p, seed):
    """The seed, or the first one where all seeds have the same mask and data."""
    return Seed(seed.root, 0) if p.data == "hierarchy" and p.mask == "circulant" else seed


def _of_seed(p, seed):
    """The parameters without what a prediction does not depend on."""
    return replace(p, precision="float64", loss_tolerance=0.0, hidden_width=64)


@lru_cache(maxsize=64)
def _reduction(p, seed):
    """The reduction, by Euler with the run's own step, every mode and layer starting at `init_scale`."""
    pairs, data = mask(p, seed), task(p, seed)
    run = descent(
        p.init_scale,
        paper_rate(p, data.targets.shape[1]),
        p.steps,
        data.singular_values,
        data.variances,
        pairs,
        every=p.observe_every,
    )
    error = run.pair_error() + data.unexplained_power / 2
    mean = lambda values, weight: (values * weight).sum((1, 2)) / max(weight.sum(), 1)  # noqa: E731
    layers = np.stack((run.encoders.mean(1), run.hidden, run.decoders.mean(1)), 1)
    loss = mean(error, pairs)
    found = {
        "loss": loss,
        "untrained_error": mean(error, 1 - pairs),
        "singular_values": layers,
        "mode_strength": (run.route_strength() * pairs[:, :, None]).sum((1, 2)) / pairs.sum(),
        "reduction_loss": loss,
        "reduction_singular_values": layers,
    }
    if p.data == "hierarchy":
        found["similarity"] = similarity(data.input_modes[0], layers[-1, 0] ** 2, 1.0, p.domains)
        found["alike_within"] = np.full(len(loss), float(p.domains > 2))
        found["alike_between"] = np.full(len(loss), float(p.domains > 1))
    return found
