"""What is claimed of learning coefficients: of networks of equal function, modular or entangled, and of constrained losses."""

from functools import partial

import numpy as np

from foretrain.quantities.allowed import POSITIVE, around
from foretrain.quantities.measured import largest
from foretrain.study import Exact, PerSeed, sentence

from .entangled import IN, OUT, limits
from .study import ACTIVATIONS, ENTANGLED, PARTS, SAMPLED, SOURCE, UNITS

PAGE = "docs/studies/modules.md"
CONJECTURE = SOURCE.rpartition(".")[0] + ", the core claim"
AXES = ("strength", "mediators")  # one run serves all cells


def planted(cell):
    """Whether the study's own networks are planted modules, beside which all others are variants."""
    return cell.parameters.kind == "planted"


said = partial(sentence, over=AXES, of="entangled", where=planted)
split = partial(sentence, over=AXES, of="held", where=planted)
MEDIATORS = SAMPLED["mediators"]
# Entangled and modular, of one function and one architecture.
PAIRS = {
    "rotated": ("rotated", "blocks"),
    "cancelling": ("across", "idle"),
    "cancelling, rectified": ("across rectified", "idle rectified"),
    "shared": ("once", "twice"),
    "trained": ("whole", "apart"),
}
SMOOTH = "Where tanh is bent chains scatter by less than a hundredth; a quarter is far from any other whole number."
ROUGH = "Each chain of linear or rectified networks is off by up to a parameter; the mean over sizes and seeds by a third."


def one(cell, variant):
    """Runs of a variant, which are the same in all cells."""
    data = cell.variants[variant]
    return data.isel({axis: 0 for axis in AXES if axis in data.dims})


def of_kind(cell, kind, name="sampled_parameters"):
    """A number for each seed and size, (seed, units), of one kind of network."""
    found = one(cell, "entangled")[name].transpose("seed", "realisation", "module_units").values
    return found[:, ENTANGLED.index(kind)]


def more(cell, pair):
    """Effective parameters that the entangled network has beyond the modular one, (seed, units)."""
    entangled, modular = PAIRS[pair]
    return of_kind(cell, entangled) - of_kind(cell, modular)


def derived(kind):
    """What is known of each size, (units,)."""
    return np.array([limits(h)[ENTANGLED.index(kind)] for h in UNITS])


@said(
    "Networks that are compared have one function.",
    source=PAGE,
    predicted=0,
    allowed=(0, 1e-5),
    why="Those that are made have it but for rounding, 1e-15; training ends at a mean square of 1e-10.",
)
def one_function(cell):
    gaps = one(cell, "entangled")["function_gap"].values
    reached = gaps[np.isfinite(gaps)]
    return largest(reached, f"{gaps.size - reached.size} trained ones never came to it.")


@said(
    "Of two networks of equal function the modular one has the lower learning coefficient.",
    source=CONJECTURE,
    predicted=1,
    allowed=(0.8, 1),
    why="A tendency. Share of five kinds of pairs at three sizes in which it is lower by a parameter or more; by chance half.",
)
def modular_is_lower(cell):
    lower = {pair: np.nanmean(more(cell, pair), 0) >= 1 for pair in PAIRS}
    counts = ", ".join(f"{pair} {found.sum()} of {found.size}" for pair, found in lower.items())
    return Exact(float(np.concatenate([*lower.values()]).mean()), f"Lower: {counts}.")


@said(
    "It is lower where the entangled network does more than its function asks, higher where modules do twice what could be "
    "done once, and the same where a rotation makes one of the other.",
    source=PAGE,
    corrects="modular-is-lower",
    predicted=1,
    allowed=(1, 1),
    why="A share of four kinds of pairs at three sizes: their mean differences, whole numbers, are as derived within one.",
)
def modular_is_lower_corrected(cell):
    right = []
    for pair, (entangled, modular) in PAIRS.items():
        if pair != "trained":
            gap = more(cell, pair).mean(0) - (derived(entangled) - derived(modular))
            right.append(np.abs(gap) < 1)
    return Exact(float(np.concatenate(right).mean()))


@said(
    "Sampled learning coefficients are those derived, at every size and kind of network that was not trained.",
    source=PAGE,
    predicted=0,
    allowed=(0, 0.05),
    why="Largest relative distance of means over seeds: temperatures are finite, chains scatter by one or two in a hundred.",
)
def as_derived(cell):
    known = {kind: derived(kind) for kind in ENTANGLED if np.isfinite(derived(kind)).all()}
    gaps = {k: np.abs(of_kind(cell, k).mean(0) / value - 1).max() for k, value in known.items()}
    worst = max(gaps, key=lambda kind: gaps[kind])
    return Exact(float(gaps[worst]), f"Of {worst}.")


def differs(pair, statement, id, why, predicted=0.0, reach=0.75):
    """By how many effective parameters the entangled network of a pair differs from the modular one."""

    def gap(cell):
        return more(cell, pair).mean(1)

    note = "Parameters beyond those of the network in which they idle." if predicted else ""
    given = {"predicted": predicted, "allowed": around(predicted, reach), "note": note}
    return said(statement, source=PAGE, why=why, id=id, **given)(gap)


def pair_costs(rectified):
    """What two neurons that cancel have beyond two that idle."""
    names = [f"{kind} rectified" if rectified else kind for kind in ("across", "idle")]
    return float((derived(names[0]) - derived(names[1])).mean())


rotation = differs(
    "rotated",
    "Rotating the neurons of two linear modules into each other leaves the learning coefficient as it is.",
    "rotation",
    ROUGH + " A change of coordinates that keeps the loss keeps the coefficient: an exact null.",
)
cancelling = differs(
    "cancelling",
    "Two neurons whose paths across modules cancel have inputs + outputs effective parameters, and twice the outputs idle.",
    "cancelling",
    SMOOTH,
    pair_costs(False),
    0.25,
)
cancelling_rectified = differs(
    "cancelling, rectified",
    "Rectified neurons that cancel have one less, for their scale.",
    "cancelling-rectified",
    ROUGH,
    pair_costs(True),
    1.0,
)


@said(
    "A pair that cancels costs as much within a module as across both: what idle neurons save is not modularity.",
    source=PAGE,
    predicted=0,
    allowed=(-0.25, 0.25),
    why=SMOOTH,
)
def within_as_across(cell):
    return (of_kind(cell, "across") - of_kind(cell, "within")).mean(1)


@said(
    "Modules that each compute a feature of the same inputs have inputs - outputs more effective parameters, for every such "
    "feature, than the network that computes it once.",
    source=PAGE,
    predicted=IN - OUT,
    allowed=(IN - OUT - 0.25, IN - OUT + 0.25),
    why=SMOOTH,
)
def shared_once(cell):
    return (-more(cell, "shared") / np.array(UNITS)).mean(1)


@said(
    "The rank of the Jacobian is not all that counts: where neurons idle it falls short by what they cost.",
    source=PAGE,
    predicted=float((derived("idle") - 2 * np.array(UNITS) * (IN + OUT)).mean()),
    allowed=(3.75, 4.25),
    why=SMOOTH,
)
def beyond_rank(cell):
    return (of_kind(cell, "idle") - of_kind(cell, "idle", "exact_rank")).mean(1)


@said(
    "Trained to one function from one start, networks whose modules were held apart have fewer effective parameters than "
    "those of which all was trained.",
    source=CONJECTURE,
    among="networks that came to the function",
    allowed=POSITIVE,
    why="A difference that the seeds establish, of the mean over sizes.",
)
def trained_apart(cell):
    gaps = more(cell, "trained")
    there = np.isfinite(gaps)
    sums = np.where(there, gaps, 0).sum(1) / np.maximum(there.sum(1), 1)
    return PerSeed(np.where(there.any(1), sums, np.nan), f"{(~there).sum()} pairs left out.")


trained_apart_corrected = trained_apart.corrected(
    "They have equally many, within one and a half of 20 to 52.",
    source=PAGE,
    allowed=(-1.5, 1.5),
    why="The size of the interval was chosen after six seeds, whose mean was known to half a parameter.",
)


def part(cell, activation, *names):
    """Numbers for each seed of parts of the loss of modules that interact."""
    found = one(cell, "held")["constrained_parameters"]
    found = found.transpose("seed", "nonlinearity", "loss_part").values
    return [found[:, ACTIVATIONS.index(activation), PARTS.index(name)] for name in names]


def surplus(cell, activation):
    """Of the constrained loss of M1 and that of M2, beyond the loss of both."""
    first, second, both = part(cell, activation, "first, held", "second", "both")
    return first + second - both


@split(
    "Sampled learning coefficients of modules that share nothing add.",
    source=SOURCE + ".1",
    predicted=0,
    allowed=(-0.75, 0.75),
    why="Exact at every temperature, as the loss is a sum; mean over activations, of which only rectified ones scatter.",
)
def sampled_additive(cell):
    found = [
        part(cell, activation, "both, apart", "first", "second, apart")
        for activation in ACTIVATIONS
    ]
    return np.mean([both - first - second for both, first, second in found], 0)


@split(
    "Keeping mediating variables adds one to twice the sampled coefficient of M1 for each, where units are rectified.",
    source=SOURCE + ".3, before (34)",
    predicted=1,
    allowed=(0.5, 1.5),
    why="Half a parameter; chains scatter by one, half of it for each of two variables.",
)
def sampled_one_each(cell):
    kept, free = part(cell, "relu", "first, held", "first")
    return (kept - free) / MEDIATORS


@split(
    "Sampled coefficients of M1 with its mediating variables held and of M2 add to that of both, weights between them held.",
    source=SOURCE + ".2",
    predicted=0,
    allowed=(-0.5, 0.5),
    why="Half a parameter, where by symmetries of rectifiers it would be two.",
)
def sampled_constrained_sum(cell):
    return surplus(cell, "relu")


sampled_constrained_sum_corrected = sampled_constrained_sum.corrected(
    "Sampled, too, the sum is too large by one for each of two mediating variables that are rectified.",
    source=PAGE,
    allowed=(MEDIATORS - 1, MEDIATORS + 1),
    why="Chains of the network scatter by one.",
)


@split(
    "Sampled, too, it is too large by every affine change of the mediating variables where modules are linear.",
    source=PAGE,
    predicted=MEDIATORS * (MEDIATORS + 1),
    allowed=(MEDIATORS * (MEDIATORS + 1) - 1, MEDIATORS * (MEDIATORS + 1) + 1),
    why="One parameter, what chains of a network scatter.",
)
def sampled_linear_sum(cell):
    return surplus(cell, "identity")


@split(
    "Sampled, too, it is the effective parameters of both where units are of tanh.",
    source=PAGE,
    predicted=0,
    allowed=(-0.25, 0.25),
    why=SMOOTH,
)
def sampled_smooth_sum(cell):
    return surplus(cell, "tanh")
