"""Claims about learning coefficients of networks of equal function, modular or entangled."""

import numpy as np

from foretrain.quantities.allowed import POSITIVE, around
from foretrain.study import Exact, NotApplicable, PerSeed, claim

from .study import IN, OUT, SOURCE

PAGE = "docs/studies/entangled-networks.md"
CONJECTURE = SOURCE + ", the core claim"
# Entangled and modular, of one function and one architecture.
PAIRS = {
    "rotated": ("rotated", "blocks"),
    "cancelling": ("across", "idle"),
    "cancelling, rectified": ("across rectified", "idle rectified"),
    "shared": ("once", "twice"),
    "trained": ("whole", "apart"),
}
DERIVED = tuple(pair for pair in PAIRS if pair != "trained")
SMOOTH = "The mean over sizes and seeds scatters by less than a tenth; a quarter is far from any other whole number."
ROUGH = "Each run of linear or rectified networks is off by up to a parameter; the mean over sizes and seeds by a third."
ALL = {"along": ("network", "units")}


def of(data, name):
    """Twice the learning coefficient of a network, of runs or of the theory."""
    if name not in data.learning_coefficient["network"].values:
        raise NotApplicable(f"the network `{name}` was not sampled")
    return 2 * data.learning_coefficient.sel(network=name, drop=True)


def more(c, pair):
    """Effective parameters that the entangled network has beyond the modular one, with dims ``units`` and ``seed``."""
    entangled, modular = PAIRS[pair]
    return of(c, entangled) - of(c, modular)


def over_units(values):
    """Mean over sizes, per seed."""
    return values.mean("units", skipna=False)


def lower(c):
    """Fraction of pairs and sizes in which the modular network has fewer effective parameters, by one or more."""
    wins = {pair: more(c, pair).mean("seed") >= 1 for pair in PAIRS}
    counts = ", ".join(f"{pair} {int(win.sum())} of {win.size}" for pair, win in wins.items())
    return Exact(float(np.mean([win.values for win in wins.values()])), f"Lower: {counts}.")


def as_derived_pairs(c):
    """Fraction of derived pairs and sizes whose mean difference is as derived within one."""
    gaps = [
        more(c, pair).mean("seed", skipna=False) - more(c.of("theory"), pair) for pair in DERIVED
    ]
    return Exact(float(np.mean([np.abs(gap.values) < 1 for gap in gaps])))


def worst_derived(c):
    """Largest relative distance of means over seeds from the derived coefficients."""
    limit = c.theory.learning_coefficient
    gap = abs(c.learning_coefficient.mean("seed", skipna=False) / limit - 1).where(
        limit.notnull(), 0
    )
    largest = gap.max("units", skipna=False)
    name = str(largest["network"].values[int(largest.argmax("network", skipna=False))])
    return Exact(float(largest.max(skipna=False)), f"Of {name}.")


def function_gap(c):
    """Distances from the function of the pair, of networks that training did not miss."""
    gaps = c.function_gap.values
    reached = gaps[np.isfinite(gaps)]
    return Exact(float(reached.max()), f"{gaps.size - reached.size} trained ones never came to it.")


def trained(c):
    """Mean over the sizes that were fitted of the trained pair's difference, per seed."""
    gap = more(c, "trained")
    return PerSeed(gap.mean("units"), f"{int(gap.isnull().sum())} pairs left out.")


_lower = claim(
    "modular-is-lower",
    "Of two networks of equal function the modular one has the lower learning coefficient.",
    lower,
    near=1,
    inside=(0.8, 1),
    rank="headline",
    source=CONJECTURE,
    why="A tendency. Fraction of five kinds of pairs and three sizes in which it is lower by a parameter or more.",
    **ALL,
)
_trained = claim(
    "trained-apart",
    "Trained to one function from one start, networks whose modules were held apart have fewer effective parameters than "
    "networks of which all weights were trained.",
    trained,
    inside=POSITIVE,
    rank="headline",
    source=CONJECTURE,
    among="networks that came to the function",
    why="A difference that the seeds establish, of the mean over sizes.",
    **ALL,
)
CLAIMS = [
    claim(
        "one-function",
        "Two networks that are compared have one function.",
        function_gap,
        near=0,
        inside=(0, 1e-5),
        rank="control",
        source=PAGE,
        why="Constructed networks have it but for rounding, 1e-15; training counts from a mean square of 1e-10 on.",
        **ALL,
    ),
    _lower,
    claim(
        "modular-is-lower.corrected",
        "The modular network's coefficient is lower where the entangled one does more than its function asks, higher where "
        "modules do twice what could be done once, and equal where a rotation makes one of the other.",
        as_derived_pairs,
        corrects="modular-is-lower",
        near=1,
        inside=(1, 1),
        rank="headline",
        source=PAGE,
        why="Fraction of four kinds of pairs and three sizes: mean differences, whole numbers, are as derived within one.",
        **ALL,
    ),
    claim(
        "as-derived",
        "Sampled learning coefficients are the derived ones, at every size and kind of network that was not trained.",
        worst_derived,
        near=0,
        inside=(0, 0.05),
        rank="headline",
        source=PAGE,
        why="Largest relative distance of means over seeds: temperatures are finite, chains scatter by one or two per cent.",
        **ALL,
    ),
    claim(
        "rotation",
        "Rotating the neurons of two linear modules into each other leaves the learning coefficient as it is.",
        lambda c: over_units(more(c, "rotated")),
        near=0,
        inside=around(0, 0.75),
        rank="control",
        source=PAGE,
        why=ROUGH
        + " A change of coordinates that keeps the loss keeps the coefficient: an exact null.",
        **ALL,
    ),
    claim(
        "cancelling",
        "Two neurons whose paths across modules cancel have inputs + outputs effective parameters; idle, they have twice the "
        "outputs.",
        lambda c: over_units(more(c, "cancelling")),
        near=IN - OUT,
        inside=around(IN - OUT, 0.25),
        source=PAGE,
        why=SMOOTH,
        note="Parameters beyond those of the network in which the two neurons idle.",
        **ALL,
    ),
    claim(
        "within-as-across",
        "A pair of neurons that cancels costs as much within a module as across both: idle neurons are cheap, not modularity.",
        lambda c: over_units(of(c, "across") - of(c, "within")),
        near=0,
        inside=around(0, 0.25),
        source=PAGE,
        why=SMOOTH,
        **ALL,
    ),
    claim(
        "shared-once",
        "Modules that each compute a feature of the same inputs have inputs - outputs more effective parameters, per feature, "
        "than the network that computes it once.",
        lambda c: over_units(-more(c, "shared") / c.axis("units")),
        near=IN - OUT,
        inside=around(IN - OUT, 0.25),
        source=PAGE,
        why=SMOOTH,
        **ALL,
    ),
    claim(
        "beyond-rank",
        "Where neurons idle the rank of the Jacobian falls short of the effective parameters by twice the outputs.",
        lambda c: over_units(of(c, "idle") - c.exact_rank.sel(network="idle", drop=True)),
        near=2 * OUT,
        inside=around(2 * OUT, 0.25),
        source=PAGE,
        why=SMOOTH,
        **ALL,
    ),
    _trained,
    _trained.corrected(
        "Trained to one function from one start, networks with modules held apart and networks of which all weights were "
        "trained have equally many effective parameters, of 20 to 52.",
        inside=(-1.5, 1.5),
        source=PAGE,
        why="The size of the interval was chosen after six seeds, whose mean was known to half a parameter.",
    ),
]
