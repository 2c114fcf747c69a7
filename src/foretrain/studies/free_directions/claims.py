"""Claims on free directions; the corrected forms are derived in ``docs/studies/free-directions.md``."""

import numpy as np

from foretrain.study import Exact, PerSeed, claim

from .study import SAMPLED, SCALES, SOURCE, SOURCES

PAPER = {"source": SOURCE + ", section 3"}
OURS = {"source": "docs/studies/free-directions.md"}
SHARE = {"near": 1, "within": (0, 1)}
ALL = SHARE | {"inside": (0.97, 1)}
NONE = {"near": 0, "inside": (0, 0)}
DECADE = "A fraction of networks and scales. A factor of ten is of order eps: N_eff at a tenth and at ten times it are bounds."
TENTH = (
    "No term s²/(s² + eps) falls by more than to a tenth in a decade of the scale: were fewer enough, N_eff at ten times the "
    "scale would be too many as well."
)


def counted(c, sources=SOURCES):
    return c.counted.sel(free_source=list(sources)).sum("free_source")


def fraction(directions, expected):
    """Return the fraction of the networks that have just as many."""
    return (directions == expected).mean("network")


def worst(gap):
    """Return the largest gap by size over all networks, and in how many it is above and below 0."""
    above, below = float((gap > 0).mean()), float((gap < 0).mean())
    note = f"Above 0 in {above:.1%} of all networks, below in {below:.1%}."
    return Exact(float(abs(gap).max()), note, gap.size)


def within(values, exact):
    """Return the fraction of networks and scales at which values lie between N_eff at ten times the scale and at a tenth."""
    inside = (values >= exact.shift(noise_scale=-1)) & (values <= exact.shift(noise_scale=1))
    return inside.isel(noise_scale=slice(1, -1)).mean(("noise_scale", "network"))


def most(values, exact):
    """Return the number that is kept over N_eff, both summed over networks, at the scale where that is largest."""
    more = float((values > exact).mean())
    ratio = (values.sum("network") / exact.sum("network")).max("noise_scale")
    return PerSeed(ratio, f"In {more:.1%} of networks and scales more are needed.")


def decades(c):
    runs = c["sampled"]
    smooth = runs.smooth.mean("network").transpose("seed", "noise_scale").values
    sampled = runs.sampled.mean("network").transpose("seed", "sampled_scale").values
    places = np.append(np.log10(SCALES), np.log10(SCALES[-1]) + 1)
    farther = []
    for curve, values in zip(smooth, sampled, strict=True):
        beyond = np.append(curve, 2 * curve[-1] - curve[-2])  # straight on for a decade
        off = np.interp(-values, -beyond, places) - np.log10(SAMPLED)
        farther.append(off[np.abs(off).argmax()])
    return np.array(farther)


def power(c):
    runs = c["approximate"]
    loss, shift = (np.log(runs[name].mean("network")) for name in ("mixing_loss", "disagreement"))
    shift = shift - shift.mean("flipped_share")
    return (shift * loss).sum("flipped_share") / (shift**2).sum("flipped_share")


def forgotten(c):
    """Return the relative gap of weights along directions of zero variance from their law, with and without decay."""
    weights = c["decay"].null_weight
    rate = (weights.decayed == "with") * c.p.learning_rate * c.p.weight_decay
    return weights / (1 - rate) ** weights["update"].astype(float) - 1


CLAIMS = [
    *claim(
        "accounted",
        "Dependent activations, null Jacobians and synchronised neurons account for all that is free: they are as many as the "
        "exact Jacobian lacks in rank.",
        lambda c: fraction(counted(c, SOURCES[:3]), c.deficit),
        rank="headline",
        why="A fraction of networks; of a few in a hundred a neuron is on for too few examples to tell.",
        **ALL,
        **PAPER,
    ).and_corrected(
        "With directions that are free only where neurons are read, all that is free is counted in networks of several "
        "hidden layers.",
        quantity=lambda c: fraction(counted(c), c.deficit),
        why="Exact but where readers take back each other's changes, or three layers do: a few of a hundred networks.",
        where=lambda c: c.p.kind in ("deep", "deeper"),
        **ALL,
        **OURS,
    ),
    *claim(
        "squares",
        "A block of synchronised neurons frees s squared directions beyond dependent activations, s the dimension that its "
        "preactivations span.",
        lambda c: worst(c.counted_by_squares - c.deficit),
        where=lambda c: c.p.kind == "synchronized",
        why="A fact of each network: a single direction more or fewer breaks it.",
        **NONE,
        **PAPER,
    ).and_corrected(
        "A block of synchronised neurons frees s directions for each of its neurons.",
        quantity=lambda c: worst(counted(c) - c.deficit),
        near=0,
        **OURS,
    ),
    *claim(
        "enough",
        "As the scale goes to 0, N_eff parameters of the sparsified network suffice, and no fewer.",
        lambda c: worst(c.parameters_left - c.parameter_count + c.deficit),
        why="Parameters left beyond or short of the rank of the Jacobian: a single one breaks it.",
        **NONE,
        **PAPER,
    ).and_corrected(
        "There is a basis in which one interaction at least is absent for each direction that dependent activations or "
        "synchronised neurons leave free.",
        quantity=lambda c: worst(
            (
                c.parameters_left - c.parameter_count + counted(c, ("activations", "synchronized"))
            ).clip(0)
        ),
        source=SOURCE + ", section 4",
        why="Parameters left beyond those not counted, at most: a single one too many breaks it.",
        **NONE,
    ),
    *claim(
        "by-roots",
        "At noise scale eps singular values of activations and of Jacobians below its root do not count: that leaves "
        "N_eff(eps).",
        lambda c: within(c.counted_by_roots, c.effective),
        inside=(0.9, 1),
        why=DECADE,
        **SHARE,
        **PAPER,
    ).and_corrected(
        "A pair of directions counts where the product of the squared singular values is at least eps: that leaves "
        "N_eff(eps).",
        quantity=lambda c: within(c.counted_at_scale, c.effective),
        near=1,
        why=DECADE + " Activations and Jacobians are taken to be independent.",
        **OURS,
    ),
    *claim(
        "enough-at-scale",
        "At any scale N_eff(eps) parameters of the sparsified network suffice for a loss below eps.",
        lambda c: most(c.left_at_scale, c.effective),
        near=1,
        inside=(0.1, 1),
        rank="headline",
        why="At the scale where it is largest, what is left over N_eff(eps), both summed. " + TENTH,
        **PAPER,
    ).and_corrected(
        "At any scale N_eff(eps) interactions between directions of the interaction basis suffice; the basis is not counted.",
        quantity=lambda c: most(c.edges_at_scale, c.effective),
        near=1,
        why="At the scale where it is largest, edges that must be kept over N_eff(eps), both summed. "
        + TENTH,
        **OURS,
    ),
    *claim(
        "heads",
        "Each attention head that shares its pattern with a head before it frees twice the square of its width.",
        lambda c: worst(c["heads"].free_of_heads - 2 * c["heads"].heads_alike),
        why="Beyond what each head has free alone, over the square. A fact of each network: one direction breaks it.",
        **NONE,
        **PAPER,
    ).and_corrected(
        "Each pair of attention heads of one pattern frees twice the square of their width.",
        quantity=lambda c: worst(c["heads"].free_of_heads - 2 * c["heads"].pairs_alike),
        near=0,
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
        **PAPER,
    ),
    claim(
        "rise-power",
        "Where gates agree but for a fraction of the data, mixing a block costs a loss in proportion to their disagreement.",
        power,
        near=1,
        inside=(0.8, 1.2),
        why="The power of the loss in the measure over two decades; were the loss to go as its root or its square, .5 or 2.",
        **PAPER,
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
        **PAPER,
    ),
]
