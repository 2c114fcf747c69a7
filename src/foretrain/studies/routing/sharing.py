"""What the paper says of layers and representations: how much domains share, and where that tends for small weights."""

from dataclasses import replace
from functools import partial

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.study import at_end, crossing_time, sentence
from foretrain.theory.race import hidden_weight_at, routing_factors
from foretrain.training.routing import ITEMS

from . import theory
from .study import SMALLER, task

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/theory/routing.md"
ours = partial(sentence, source=OURS)
EYE = "Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show."


def items(cell) -> bool:
    return cell.parameters.data == "hierarchy"


def same_maps(cell) -> bool:
    """Whether all routes ask for one map, as in the paper."""
    return cell.parameters.disagreement == 0


def raced(cell) -> bool:
    """Whether the network starts from weights for which the race has a closed form."""
    known = np.isfinite(cell.theory["loss"].values).all()
    return cell.parameters.init_law == "orthogonal" and bool(known)


def compared(cell) -> bool:
    """Whether there are several domains of the same items and maps."""
    return items(cell) and same_maps(cell) and cell.parameters.domains > 1


def foretold(cell) -> bool:
    """Whether it is predicted how alike they become, and how far layers grow."""
    return compared(cell) and raced(cell)


def _final(data, layer):
    return at_end(data["singular_values"]).sel(layer=layer).transpose("seed", "mode").values


def _ratio(data) -> np.ndarray:
    return _final(data, "hidden") / _final(data, "encoders")


RATIO = {"predicted": 1, "at_end": True}


@sentence(
    "Singular values of the hidden matrix are sqrt(M) times those of encoders and decoders.",
    source=PAPER + "eqs. (49)-(51), Fig. 4f",
    allowed=(0.95, 1.05),
    why="The paper calls it a factor for long training; 5% is what its figure can show.",
    note="Mean over modes of the measured ratio over sqrt(M).",
    **RATIO,
)
def ratio(cell):
    if not items(cell) or not same_maps(cell):
        return None
    return (_ratio(cell.simulation) / np.sqrt(cell.parameters.domains)).mean(1)


def _of_root(cell) -> float:
    """By how much the predicted ratio stays below sqrt(M), mean over modes."""
    return float(np.abs(1 - _ratio(cell.theory) / np.sqrt(cell.parameters.domains)).mean())


@ours(
    "The ratio stays below sqrt(M) by what the start leaves in the layers and each domain makes of its own part of it.",
    allowed=lambda cell: around(1, _of_root(cell) / 4),
    why="A quarter of what separates the prediction from sqrt(M): less than what the parts of single domains add to it where "
    "not all routes are trained.",
    note="Mean over modes of the measured ratio over the predicted one.",
    corrects="ratio",
    **RATIO,
)
def ratio_corrected(cell):
    return (_ratio(cell.simulation) / _ratio(cell.theory)).mean(1) if foretold(cell) else None


@ours(
    "At all times the ratio is that of the race: encoders are as long as it says when the hidden matrix is as large.",
    predicted=0,
    allowed=lambda cell: (
        -np.inf,
        2 / (cell.parameters.domains * np.sqrt(cell.parameters.hidden_width)),
    ),
    why="Drawn vectors overlap by 1/sqrt(N_h) more or less, in one part of M of an encoder's squared length: half of it in "
    "its length. Four times that: the largest of many steps.",
    note="Largest relative deviation of the ratio at equal hidden singular value, over all steps, largest mode.",
    at_end=True,
)
def ratio_always(cell):
    if not foretold(cell):
        return None
    values = cell.simulation["singular_values"].isel(mode=0).transpose("seed", "step", "layer")
    grown, found = theory.growth(cell.parameters, cell.seed(0)), []
    for encoder, hidden, _ in np.moveaxis(values.values, 2, 1):
        expected = np.interp(hidden, *grown)
        gaps = np.abs(expected / encoder - 1)
        found.append(
            gaps[np.isfinite(gaps)].max(initial=0) if np.isfinite(hidden[:2]).all() else np.nan
        )
    return np.array(found)


def _decoupled_end(cell) -> np.ndarray:
    """End of B2 from a decoupled start, shape (mode,): the root of B2 (B2^2 + C) = M S/D."""
    p, data = cell.parameters, task(cell.parameters, cell.seed(0))
    conserved = (p.domains - 1) * p.init_scale**2
    gain = data.singular_values / data.variances
    return hidden_weight_at(gain, conserved, routing_factors(p.domains))


@ours(
    "Final singular values of the hidden matrix are those of the race from wide random weights.",
    predicted=0,
    allowed=lambda cell: (
        -np.inf,
        float(np.abs(_final(cell.theory, "hidden") / _decoupled_end(cell) - 1).max()) / 2,
    ),
    why="Half of what separates the end from wide random weights from that of decoupled ones, B2 (B2^2 + C) = M S/D.",
    note="Largest relative deviation over modes.",
    at_end=True,
)
def end_point(cell):
    if not foretold(cell):
        return None
    end, predicted = (_final(data, "hidden") for data in (cell.simulation, cell.theory))
    return np.abs(end / predicted - 1).max(1)


def _alike(data, which) -> np.ndarray:
    """Mean cosine across domains of the same item (0) or of different items (1), shape (seed,)."""
    return cross_domain_similarity(data["similarity"].transpose("seed", ...).values, ITEMS)[which]


SHARED = {
    "note": "Mean cosine between first-hidden-layer activity for the same item in different domains.",
    "at_end": True,
}


@sentence(
    "Each item has the same representation in whatever domain it arrives.",
    source=PAPER + "section 4.1, Fig. 4g",
    predicted=1,
    allowed=(0.95, np.inf),
    why=EYE,
    **SHARED,
)
def shared(cell):
    return _alike(cell.simulation, 0) if compared(cell) else None


def _foreseen(cell, which) -> float:
    return float(_alike(cell.theory, which).mean())


@ours(
    "An item's representations differ across domains by what each domain makes of its own part of the start.",
    predicted=lambda cell: _foreseen(cell, 0),
    allowed=lambda cell: around(_foreseen(cell, 0), (1 - _foreseen(cell, 0)) / 4),
    why="A quarter of what is predicted to be missing to a cosine of 1.",
    corrects="shared",
    **SHARED,
)
def shared_corrected(cell):
    return _alike(cell.simulation, 0) if foretold(cell) else None


@ours(
    "Different items are as alike across domains as V B1^2 V^T says.",
    predicted=lambda cell: _foreseen(cell, 1),
    allowed=lambda cell: around(_foreseen(cell, 1), 0.05),
    why="A cosine within .05 of its prediction, as for the same item.",
    note="Mean cosine between first-hidden-layer activity for different items in different domains.",
    at_end=True,
)
def shared_structure(cell):
    return _alike(cell.simulation, 1) if foretold(cell) else None


def _exponent(large, small) -> np.ndarray:
    """The power of the initial scale with which something positive vanishes, from two scales; nan where it is not positive."""
    with np.errstate(invalid="ignore", divide="ignore"):
        fallen = np.where((large > 0) & (small > 0), large / small, np.nan)
    return np.asarray(np.log(fallen) / np.log(SMALLER))


def _at_both(cell, missing) -> float:
    """The exponent that the race has for what `missing` reads off a prediction of the end."""
    p, seed = cell.parameters, cell.seed(0)
    ends = [replace(p, init_scale=p.init_scale / by, steps=by * p.steps) for by in (1, SMALLER)]
    return float(
        _exponent(*(missing(theory.predict(one, np.array([0, one.steps]), seed)) for one in ends))
    )


def _apart(found) -> np.ndarray:
    return np.array(1 - cross_domain_similarity(found["similarity"], ITEMS)[0])


def _short(found) -> np.ndarray:
    domains = len(found["similarity"]) // ITEMS
    ends = found["singular_values"][-1]
    return np.array(1 - (ends[1] / ends[0]).mean() / np.sqrt(domains))


LIMIT = {
    "of": ("", "small-init"),
    "at_end": True,
    "why": "The next order is in the prediction, and the random start is one draw at both scales. Powers a quarter apart are "
    "told apart; what does not vanish has the power 0.",
}


@ours(
    "In the limit of small weights all domains share one representation: the missing cosine vanishes as the square of the "
    "scale.",
    predicted=lambda cell: _at_both(cell, _apart),
    allowed=lambda cell: around(_at_both(cell, _apart), 0.25),
    note=f"Power of the scale with which 1 - cosine vanishes between init_scale and a {SMALLER}th of it, same draws.",
    **LIMIT,
)
def shared_limit(cell):
    return _exponents(cell, "", "small-init") if foretold(cell) else None


def _exponents(cell, large, small) -> np.ndarray:
    runs = [cell.network(name) for name in (large, small)]
    both = min(data.sizes["seed"] for data in runs)
    apart = (1 - _alike(data, 0)[:both] for data in runs)
    return _exponent(*apart)


@ours(
    "In the limit of small weights layers stand in the ratio sqrt(M): what is missing vanishes as the square of the scale.",
    predicted=lambda cell: _at_both(cell, _short),
    allowed=lambda cell: around(_at_both(cell, _short), 0.25),
    note=f"Power of the scale with which 1 - ratio/sqrt(M), mean over modes, vanishes down to a {SMALLER}th of init_scale.",
    **LIMIT,
)
def ratio_limit(cell):
    if not foretold(cell):
        return None
    root, runs = np.sqrt(cell.parameters.domains), (cell.simulation, cell.variants["small-init"])
    both = runs[1].sizes["seed"]
    return _exponent(*(1 - _ratio(data).mean(1)[:both] / root for data in runs))


@sentence(
    "Each item has the same representation in whatever domain it arrives, from the Xavier start that the text names.",
    source=PAPER + "section 4.1, appendix",
    predicted=1,
    allowed=(0.95, np.inf),
    of="xavier",
    why=EYE,
    **SHARED,
)
def shared_xavier(cell):
    return _alike(cell.variants["xavier"], 0) if compared(cell) else None


@ours(
    "From a Xavier start, too, all domains share one representation in the limit of small weights alone: the missing cosine "
    "vanishes as the square of the scale.",
    predicted=2,
    allowed=(1.75, 2.25),
    corrects="shared-xavier",
    **{**LIMIT, "of": ("xavier", "xavier-small")},
)
def shared_xavier_corrected(cell):
    return _exponents(cell, "xavier", "xavier-small") if compared(cell) else None


def _split(step, between) -> tuple[float, float, float]:
    """How alike the halves of the domains become at most, in the end, and at which step half of the difference is lost."""
    peak = int(np.argmax(between))
    top, end = between[peak], between[-1]
    lost = crossing_time(step[peak:], -between[peak:], -(top + end) / 2)
    return float(top), float(end), float(lost)


def _foreseen_split(cell) -> tuple[float, float, float]:
    p, found = cell.parameters, cell.theory["split_between"]
    found = found.isel(seed=0, missing_dims="ignore").values
    return _split(np.arange(found.size) * p.observe_every, found)


def _splits(cell) -> np.ndarray | None:
    """`_split` of every run whose routes disagree, shape (seed, 3); None where there are none."""
    if not items(cell) or cell.parameters.domains == 1:
        return None
    data = cell.variants["disagreeing"]
    rows = data["alike_between"].transpose("seed", "step").values
    unknown = (np.nan,) * 3
    return np.array(
        [_split(data["step"].values, row) if np.isfinite(row).all() else unknown for row in rows]
    )


DISAGREE = "Routes between two halves of the domains ask for 1/2, those within for 3/2 of the map; every route is trained. "
SPLIT = {"of": "disagreeing", "at_end": True}


@ours(
    "Routes that disagree share at first: until the second part of their map is learned both halves of the domains are alike.",
    predicted=lambda cell: _foreseen_split(cell)[0],
    allowed=lambda cell: around(_foreseen_split(cell)[0], 0.05),
    why="A cosine within .05 of its prediction, as for routes that agree.",
    note=DISAGREE + "Largest mean cosine of one item between the halves.",
    **SPLIT,
)
def split_first(cell):
    found = _splits(cell)
    return None if found is None else found[:, 0]


@ours(
    "Sharing splits when the second part of the map over domains is learned, as if it were alone: later by the ratio of the "
    "singular values of the map over domains.",
    predicted=1,
    allowed=lambda cell: around(1, 1 / np.sqrt(cell.parameters.hidden_width)),
    why="The vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of one part by about half of "
    "that; the split is that of one part in one mode, hence twice that.",
    note=DISAGREE
    + "Measured over predicted time at which the cosine between the halves has lost half of what it loses.",
    **SPLIT,
)
def split_time(cell):
    found = _splits(cell)
    return None if found is None else found[:, 2] / _foreseen_split(cell)[2]


@ours(
    "After the split the halves are as alike as the lengths of the two parts say.",
    predicted=lambda cell: _foreseen_split(cell)[1],
    allowed=lambda cell: around(_foreseen_split(cell)[1], 0.05),
    why="A cosine within .05 of its prediction, as for routes that agree.",
    note=DISAGREE + "Mean cosine of one item between the halves at the end.",
    **SPLIT,
)
def split_alike(cell):
    found = _splits(cell)
    return None if found is None else found[:, 1]
