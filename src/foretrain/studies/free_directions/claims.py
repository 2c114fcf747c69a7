"""Claims on free directions; the corrected forms are derived in ``docs/studies/free-directions.md``."""

import numpy as np

from foretrain.study import Exact, PerSeed, claim

from .study import SAMPLED, SCALES, SOURCE, SOURCES

SAID = {"source": SOURCE + ", section 3"}
OURS = {"source": "docs/studies/free-directions.md"}
ALL = {"near": 1, "inside": (0.97, 1)}
FACT = {"near": 1, "inside": (0.99, 1), "why": "A fraction of networks, and a fact of each."}
NONE = {"near": 0, "inside": (0, 0)}
FEW = (
    "A fraction of networks; in a few of a hundred a neuron may be on for too few examples to tell."
)
DECADE = "A fraction of networks and scales. A factor of ten is of order eps: N_eff at a tenth and at ten times it are bounds."
TENTH = (
    "No term s²/(s² + eps) falls by more than to a tenth in a decade of the scale: were fewer enough, N_eff at ten times the "
    "scale would be too many as well."
)


def among(*kinds):
    """Condition that networks are of these kinds."""
    return lambda c: c.p.kind in kinds


def counted(c, sources=SOURCES):
    """Directions counted by these sources."""
    return c.counted.sel(free_source=list(sources)).sum("free_source")


def fraction(found, expected):
    """Fraction of the networks that have just as many."""
    return (found == expected).mean("network")


def excess(gap):
    """Largest gap above 0 over all networks."""
    above, below = float((gap > 0).mean()), float((gap < 0).mean())
    note = f"The largest of all networks; above 0 in {above:.1%} of them, below in {below:.1%}."
    return Exact(max(0.0, float(gap.max())), note, gap.size)


def left_over(c):
    """Parameters left of the sparsified network beyond the rank of its Jacobian."""
    return c.parameters_left - c.parameter_count + c.deficit


def within(values, exact):
    """Fraction of networks and scales at which values lie between N_eff at ten times the scale and at a tenth."""
    inside = (values >= exact.shift(noise_scale=-1)) & (values <= exact.shift(noise_scale=1))
    return inside.isel(noise_scale=slice(1, -1)).mean(("noise_scale", "network"))


def ratio(values, exact):
    """Number that is kept over N_eff, both summed over networks, at every scale."""
    return values.sum("network") / exact.sum("network")


def tenfold(values, exact):
    """Fewest that are kept over N_eff at ten times the scale, at the scale where that is smallest."""
    later = exact.sum("network").shift(noise_scale=-1)
    return (values.sum("network") / later).min("noise_scale")


def edges(c):
    """Edges of the interaction basis that must be kept over N_eff, at the scale where that is largest."""
    more = float((c.edges_at_scale > c.effective).mean())
    values = ratio(c.edges_at_scale, c.effective).max("noise_scale")
    return PerSeed(values, f"In {more:.1%} of networks and scales more are needed.")


def decades(c):
    """Decades between a scale and that at which the smoothed count is as sampled, of two scales the farther."""
    runs = c["sampled"]
    smooth = runs.smooth.mean("network").transpose("seed", "noise_scale").values
    sampled = runs.sampled.mean("network").transpose("seed", "sampled_scale").values
    places = np.append(np.log10(SCALES), np.log10(SCALES[-1]) + 1)
    worst = []
    for curve, values in zip(smooth, sampled, strict=True):
        beyond = np.append(curve, 2 * curve[-1] - curve[-2])  # straight on for a decade
        off = np.interp(-values, -beyond, places) - np.log10(SAMPLED)
        worst.append(off[np.abs(off).argmax()])
    return np.array(worst)


def power(c):
    """Power of the loss of a mixed block in the disagreement of its gates."""
    runs = c["approximate"]
    loss, apart = (
        np.log(one.mean("network").transpose("seed", "flipped_share").values)
        for one in (runs.mixing_loss, runs.disagreement)
    )
    return np.array([np.polyfit(x, y, 1)[0] for x, y in zip(apart, loss, strict=True)])


def passed_on(c):
    """Loss as one neuron passes on another over that by the gates, both summed."""
    loss, gates = (
        one.sum(("network", "flipped_share"))
        for one in (c["approximate"].transfer_loss, c["approximate"].transfer)
    )
    return loss / gates


def forgotten(c):
    """Relative gap of weights along directions of zero variance from their law, with and without decay."""
    weights = c["decay"].null_weight
    rate = (weights.decayed == "with") * c.p.learning_rate * c.p.weight_decay
    return weights / (1 - rate) ** weights["update"].astype(float) - 1


def off_data(c):
    """Return ln of the change of answers off the data, with decay over without, over that of the weights squared."""
    change = c["decay"].off_distribution.isel(update=-1)
    last = float(c["decay"]["update"][-1])
    law = 2 * last * np.log(1 - c.p.learning_rate * c.p.weight_decay)
    return np.log(change.sel(decayed="with") / change.sel(decayed="without")) / law


_accounted = claim(
    "accounted",
    "Dependent activations, null Jacobians and synchronised neurons account for all that is free: they are as many as the "
    "exact Jacobian lacks in rank.",
    lambda c: fraction(counted(c, SOURCES[:3]), c.deficit),
    rank="headline",
    why=FEW,
    **ALL,
    **SAID,
)
_squares = claim(
    "squares",
    "A block of synchronised neurons frees s squared directions beyond dependent activations, s the dimension that its "
    "preactivations span.",
    lambda c: fraction(c.counted_by_squares, c.deficit),
    where=among("synchronized"),
    **FACT,
    **SAID,
)
_by_roots = claim(
    "by-roots",
    "At noise scale eps singular values of activations and of Jacobians below its root do not count: that leaves N_eff(eps).",
    lambda c: within(c.counted_by_roots, c.effective),
    near=1,
    inside=(0.9, 1),
    why=DECADE,
    **SAID,
)
_enough_at_scale = claim(
    "enough-at-scale",
    "At any scale N_eff(eps) parameters of the sparsified network suffice for a loss below eps.",
    lambda c: ratio(c.left_at_scale, c.effective).max("noise_scale"),
    near=1,
    inside=(0.1, 1),
    rank="headline",
    why="At the scale where it is largest, what is left over N_eff(eps), both summed. " + TENTH,
    **SAID,
)
CLAIMS = [
    _accounted,
    _accounted.corrected(
        "With directions that are free only where neurons are read, all that is free is counted in networks of several "
        "hidden layers.",
        quantity=lambda c: fraction(counted(c), c.deficit),
        why="Exact but where readers take back each other's changes, or three layers do: a few of a hundred networks.",
        where=among("deep", "deeper"),
        **ALL,
        **OURS,
    ),
    claim(
        "counted-is-free",
        "Every direction that one of the four sources counts is free.",
        lambda c: excess(counted(c) - c.deficit),
        rank="control",
        why="At most: a single direction too many breaks it.",
        **NONE,
        **OURS,
    ),
    _squares,
    _squares.corrected(
        "A block of synchronised neurons frees s directions for each of its neurons.",
        quantity=lambda c: fraction(counted(c), c.deficit),
        near=1,
        **OURS,
    ),
    claim(
        "sparse",
        "There is a basis in which one interaction at least is absent for each direction that dependent activations or "
        "synchronised neurons leave free.",
        lambda c: excess(
            c.parameters_left - c.parameter_count + counted(c, ("activations", "synchronized"))
        ),
        source=SOURCE + ", section 4",
        why="Parameters left beyond those not counted, at most: a single one too many breaks it.",
        **NONE,
    ),
    claim(
        "old-gates",
        "In the sparse basis the network answers as before, if each new node keeps the gates of the block it came from.",
        lambda c: c.sparsified_gap,
        exact=True,
        near=0,
        inside=(0, 1e-8),
        rank="control",
        why="Exact but for rounding, times the condition of the blocks that are inverted.",
        note="Largest difference over the largest answer.",
        **OURS,
    ),
    _by_roots,
    _by_roots.corrected(
        "A pair of directions counts where the product of the squared singular values is at least eps: that leaves "
        "N_eff(eps).",
        quantity=lambda c: within(c.counted_at_scale, c.effective),
        near=1,
        why=DECADE + " Activations and Jacobians are taken to be independent.",
        **OURS,
    ),
    claim(
        "enough",
        "As the scale goes to 0, N_eff parameters of the sparsified network suffice.",
        lambda c: excess(left_over(c)),
        why="Parameters left beyond the rank of the Jacobian, at most: a single one too many breaks it.",
        **NONE,
        **SAID,
    ),
    claim(
        "needed",
        "As the scale goes to 0, no fewer than N_eff parameters of the sparsified network suffice.",
        lambda c: excess(-left_over(c)),
        why="Parameters left short of the rank of the Jacobian, at most: a single one too few breaks it.",
        **NONE,
        **SAID,
    ),
    _enough_at_scale,
    _enough_at_scale.corrected(
        "At any scale N_eff(eps) interactions between directions of the interaction basis suffice; the basis is not counted.",
        quantity=edges,
        near=1,
        why="At the scale where it is largest, the edges that must be kept over N_eff(eps), both summed. "
        + TENTH,
        **OURS,
    ),
    claim(
        "needed-at-scale",
        "At any scale no fewer parameters of the sparsified network suffice than N_eff at ten times the scale.",
        lambda c: tenfold(c.left_at_scale, c.effective),
        inside=(1, np.inf),
        why="At the scale where it is smallest, what is left over N_eff(10 eps), both summed: the scale is meant within a "
        "decade.",
        **OURS,
    ),
    claim(
        "edges-needed-at-scale",
        "At any scale no fewer edges of the interaction basis suffice than N_eff at ten times the scale.",
        lambda c: tenfold(c.edges_at_scale, c.effective),
        inside=(1, np.inf),
        why="At the scale where it is smallest, the edges that must be kept over N_eff(10 eps), both summed.",
        **OURS,
    ),
    claim(
        "weights-at-scale",
        "At no scale do N_eff(eps) weights between neurons suffice, without a basis.",
        lambda c: ratio(c.weights_at_scale, c.effective).min("noise_scale"),
        inside=(1, np.inf),
        rank="control",
        why="At the scale where it is smallest, the weights that must be kept over N_eff(eps), both summed over networks.",
        **OURS,
    ),
    claim(
        "by-volume",
        "Twice the learning coefficient counts the squared singular values of the Jacobian above the scale.",
        decades,
        near=0,
        inside=(-1, 1),
        rank="headline",
        why="Decades between the scale and that at which the smoothed count is as sampled, the farther of two scales: O(eps).",
        **SAID,
    ),
    claim(
        "rise-power",
        "Where gates agree but for a fraction of the data, mixing a block costs a loss in proportion to their disagreement.",
        power,
        near=1,
        inside=(0.8, 1.2),
        why="The power of the loss in the measure over two decades; were the loss to go as its root or its square, .5 or 2.",
        **SAID,
    ),
    claim(
        "transfer-size",
        "As one neuron passes on a hundredth of another, the loss is the squared outgoing weights of the one times the "
        "disagreement by the preactivations of the other.",
        passed_on,
        near=1,
        inside=(0.95, 1.05),
        why="Up to examples on which the change turns a gate, about one in a hundred.",
        **OURS,
    ),
    claim(
        "forgotten",
        "Weight decay drives weights on directions of zero variance to zero, and nothing else does.",
        forgotten,
        exact=True,
        near=0,
        inside=(0, 1e-9),
        rank="headline",
        why="No gradient reaches them: (1 - learning rate x decay)^t with decay, 1 without, but for rounding.",
        note="Largest relative difference over both trainings.",
        **SAID,
    ),
    claim(
        "off-data",
        "With weight decay, what the network answers off its data comes to depend on its data alone, as the square of the "
        "weights along directions of zero variance.",
        off_data,
        near=1,
        inside=(0.8, 1.2),
        why="The logarithm of the change by a step along directions of zero variance, against that without decay, over that "
        "of (1 - learning rate x decay)^2t; a decade is left for how else the two networks differ.",
        **OURS,
    ),
    claim(
        "fitted",
        "Networks trained with and without weight decay both fit their data.",
        lambda c: c["decay"].fit.isel(update=-1).max("decayed"),
        near=0,
        inside=(0, 0.01),
        rank="control",
        why="The larger of their losses at the end over that at the start; with all weights gone nothing would be seen.",
        **OURS,
    ),
]
