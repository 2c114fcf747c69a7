"""Circulant masks of growing width: generalisation against alignment, down to the smallest weights."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.study import Seed, argument_error, declare, default, generator, parameter
from foretrain.tasks import masks
from foretrain.theory.factorization import masked_rank_one_escape as escape
from foretrain.theory.factorization.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.factorization.random_matrix import circulant_singular_values
from foretrain.training import masked_rank_one as flight
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES

SOURCE = "Note on shared representations, section 3, end"
COST = "50 s"
REFERENCES = ("saxe2022",)
SEEDS = 75  # the fewest, with a few to spare, that tell a fraction of one from .95
EXPLORE = ("width",)
AXES = {
    "width": (2, 3, 5, 7, 9),
    "init_scale": (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-16, 1e-32, 1e-64),
}
PRESETS = {
    "paper": {
        "width": (2, 3, 4, 5, 6, 7, 8, 9),
        "init_scale": (
            *(1, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
            *(1e-12, 1e-16, 1e-24, 1e-32, 1e-48, 1e-64),
        ),
        "seeds": 200,
    }
}
LIMIT = 1e-64  # stands for the limit of small weights
ABOVE = 1e-32  # halfway there: a limit is seen from two scales


@dataclass(frozen=True)
class Parameters(flight.Domains):
    """The flow on a circulant mask."""

    width: int = parameter(
        5,
        "number of outputs that every input is trained with, the same seen from each",
        symbol="w",
        minimum=1,
    )
    offsets: str = parameter(
        "band",
        "which outputs: consecutive ones, or others drawn anew for every seed",
        choices=("band", "drawn"),
        sweepable=False,  # variants and claims depend on it
    )
    steps: int = default(4000)
    observe_every: int = default(50)


declare(
    predicted_misalignment="Misalignment of the linearised flow at the S at which a run departs from zero.",
)
declare(
    "stage",
    kind="bool",
    predicted_agreement="Whether s u_i v_j > 0 for all pairs in the linearised flow where it reaches a stage.",
)
declare(
    kind="bool",
    drawn_agreement="Whether s u_i v_j > 0 for all pairs of the drawn circulant where half of the loss is gone in the "
    "linearised flow, at the smallest init_scale.",
    shift_agreement="The same as drawn_agreement, of the drawn shift, in which every pair is a component.",
)
declare(kind="int", drawn_components="Number of components of the drawn circulant.")

program, labels, estimate = flight.program, flight.labels, flight.estimate


def check(p: Parameters) -> None:
    if p.width > p.domains:
        raise argument_error("width", f"be at most `domains` = {p.domains}", f"is {p.width}")
    flight.check_precision(p)


def variants(p: Parameters) -> dict[str, dict]:
    """Return networks on drawn circulants, some not connected, and on shifts, from weights in the limit."""
    if p.offsets == "drawn":
        return {}
    return {
        "drawn": {"offsets": "drawn", "init_scale": LIMIT},
        "drawn_above": {"offsets": "drawn", "init_scale": ABOVE},
        "shift": {"offsets": "drawn", "init_scale": LIMIT, "width": 1},
    }


def sample(domains: int, width: int, offsets: str, seed: Seed) -> flight.Draw:
    """Draw the mask, and the unit start of one seed: the same at every width and init_scale."""
    trained = masks.circulant(domains, width)
    if offsets == "drawn":
        least = int(width == 1)  # a single offset makes a shift, which is not the identity
        chosen = least + generator(seed, "mask").permutation(domains - least)[:width]
        trained = sum(np.roll(np.eye(domains), offset, axis=1) for offset in chosen)
    return flight.Draw(np.asarray(trained, float), *flight.unit_start(domains, seed))


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    return flight.flight_inputs(sample(p.domains, p.width, p.offsets, seed), p.init_scale)


def predict(p, step, seed):
    """Predict the exponent of the mask, and agreement of signs where the linearised flow reaches a stage."""
    _, unit = unit_flow(p.domains, p.width, p.offsets, seed)
    band = p.offsets == "band"
    values = circulant_singular_values(p.domains, p.width) if band else unit.singular_values
    early = escape.rescaled(unit, p.init_scale)
    known = {
        "alignment_exponent": alignment_exponent(values),
        "predicted_agreement": [
            escape.signs_agree(escape.weights_when(early, level)) for level in STAGES
        ],
    }
    if not band:
        return known
    shift = drawn_outcome(p.domains, 1, seed)["drawn_agreement"]
    return {**known, **drawn_outcome(p.domains, p.width, seed), "shift_agreement": shift}


def fit(cell):
    """Return the misalignment of the linearised flow where each run departs from zero, nan for those that do not."""
    p, runs = cell.parameters, cell.simulation.isel(stage=DEPARTURE)
    places = zip(runs["stage_progress"].values, runs["stage_scale"].values, strict=True)
    gaps = []
    for number, place in enumerate(places):
        trained, unit = unit_flow(p.domains, p.width, p.offsets, cell.seed(number))
        left, right, _ = escape.weights_at(escape.rescaled(unit, p.init_scale), *map(float, place))
        gaps.append(misalignment(left, right, trained))
    return {"predicted_misalignment": np.array(gaps)}


@lru_cache(maxsize=100_000)
def drawn_outcome(domains, width, seed):
    """Return agreement of all signs on the drawn circulant in the limit of small weights, and its number of components."""
    trained, unit = unit_flow(domains, width, "drawn", seed)
    inputs, outputs = masks.components(trained)
    at_escape = escape.weights_when(escape.rescaled(unit, LIMIT), STAGES[ESCAPE])
    return {
        "drawn_agreement": escape.signs_agree(at_escape),
        "drawn_components": int(max(inputs.max(), outputs.max())) + 1,
    }


@lru_cache(maxsize=100_000)
def unit_flow(domains, width, offsets, seed):
    """Return the mask of a seed, and the linearised flow from the start of unit scale."""
    trained, *start = sample(domains, width, offsets, seed)
    return trained, escape.early_flow(start, trained)
