"""Claims on routing on images; ``docs/studies/image-routing.md`` derives the predictions."""

import numpy as np

from foretrain.quantities.learning_curves.learning_time import crossing_time
from foretrain.quantities.learning_curves.threshold import closing_threshold
from foretrain.study import claim, skip_if
from foretrain.training.routing_claims import AXES, trained_routes_alone

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/image-routing.md"
NEAR = 0.02
# Authors' runs, M = 40, K = 10, H = 128, MNIST: init_scale -> accuracy on trained and untrained routes, test images.
_AUTHORS = {
    "permutation": {0.1: (0.914, 0.913), 1.0: (0.924, 0.650), 10.0: (0.881, 0.376)},
    "rotation": {0.1: (0.912, 0.841), 1.0: (0.924, 0.703), 10.0: (0.881, 0.388)},
}


def accuracy(c, routes):
    """Return the accuracy at the end on "trained" or "untrained" routes; nan where there are no such routes."""
    values = c.end[f"{routes}_accuracy"].astype(float)
    return values.where(routes == "trained" or values.trained_outputs < c.p.domains)


def gap(c):
    """Return how far accuracy on untrained routes stays behind that on trained ones."""
    return accuracy(c, "trained") - accuracy(c, "untrained")


def gap_to_best(c):
    trained, limit = accuracy(c, "trained"), float(c.theory.least_squares_accuracy.max())
    best = limit if np.isfinite(limit) else trained.fillna(-np.inf).max()
    return (trained - best).min(AXES, skipna=False)


def time_as_one(c):
    limit, known = float(c.theory.least_squares_loss.max()), c.theory.shared_half_time
    some = np.isfinite(known).all(("trained_outputs", "seed")) & (known.init_scale <= 0.1)
    place = {"trained_outputs": most_routes(c)[-1:], "init_scale": known.init_scale[some][:1]}
    if c.p.training != "statistics" or not (np.isfinite(limit) and all(map(len, place.values()))):
        return None
    runs = (c[""][name].sel(place).squeeze(AXES) for name in ("flow_time", "loss"))
    curves = zip(*(values.transpose("seed", "step").values for values in runs), strict=True)
    half = [crossing_time(time, -loss, -(loss[0] + limit) / 2) for time, loss in curves]
    return np.array(half) / known.sel(place).squeeze(AXES).values


def threshold(c):
    gaps = gap(c).isel(init_scale=0).transpose("seed", "trained_outputs")
    fractions = gaps.trained_outputs.values / c.p.domains
    return closing_threshold(fractions, gaps.values, NEAR) if fractions.size >= 3 else None


def quarter(c):
    """Return the K closest to M/4, of 1 < K < M, as the paper's K = 10 of M = 40, shape (1,) or empty."""
    outputs = c.axis("trained_outputs").values
    some = outputs[(outputs > 1) & (outputs < c.p.domains)]
    return some[np.argsort(abs(some - c.p.domains / 4) - 1e-9 * some)[:1]]


def most_routes(c):
    """Return all K of at least half of the routes, but not all routes."""
    outputs = c.axis("trained_outputs").values
    return outputs[(outputs >= c.p.domains / 2) & (outputs < c.p.domains)]


def pick(values, outputs, scale=0):
    """Return values at the first of some K, and at one start."""
    skip_if(not len(outputs), "no such number of routes was trained")
    return values.sel(trained_outputs=outputs[0]).isel(init_scale=scale)


def lost_from_large_starts(c):
    scales, untrained = c.values("init_scale"), accuracy(c, "untrained")
    if scales[-1] < 10 * scales[0]:
        return None
    return pick(untrained, quarter(c)) - pick(untrained, quarter(c), -1)


def is_authors_network(c):
    """Return whether a cell is the authors' network, at a start that they have."""
    p, own = c.p, ("mnist", 40, 128, "cross_entropy", "minibatch", "authors", 1)
    kinds = (p.data, p.domains, p.hidden_width, p.loss_function, p.training, p.init_law)
    has = 10 in c.values("trained_outputs") and p.init_scale in _AUTHORS[p.transform]
    return has and own == (*kinds, p.negative_slope)


def authors_gap(c):
    known = _AUTHORS[c.p.transform][c.p.init_scale]
    ends = [accuracy(c, routes).sel(trained_outputs=10) for routes in ("trained", "untrained")]
    gaps = (abs(end - accurate) for end, accurate in zip(ends, known, strict=True))
    return np.maximum(next(gaps) / 0.02, next(gaps) / 0.05)


ENDS = {"along": AXES, "at_end": True}
FIGURES_7_10 = {"source": PAPER + "section 5.1, Figs 7d and 10", "rank": "headline", **ENDS}
FRACTION = {
    "why": '"About": one tenth to either side, the spacing of the points of the figure.',
    "note": "K/M from which untrained routes stay within .02 of trained ones, smallest init_scale.",
    "rank": "headline",
    **ENDS,
}
CLAIMS = [
    trained_routes_alone,
    claim(
        "trained-high",
        "Accuracy on trained routes is high for every number of them and every size of the start.",
        gap_to_best,
        source=PAPER + "section 5.1, Figs 8 and 10",
        near=0,
        inside=(-0.05, np.inf),
        why='"Reasonably good for all scales": the authors\' own fall by 4.3 points from gain 1 to 10.',
        note="Worst cell of the grid, accuracy on held-out images less that of least squares (of the best cell if not known).",
        **ENDS,
    ),
    claim(
        "conserved",
        "The flow conserves Q at both hidden layers from start to end.",
        lambda c: c.imbalance_drift,
        source=OURS,
        at_most=0.02,
        along=AXES,
        why="A layer a tenth too fast moves the difference of two squared norms that grow alike by 1/21 of them, twice of"
        " what is allowed; exact flows move nothing, and steps of this solver some thousandths.",
        note="W2'W2 - sum W1 W1' and W2 W2' - sum W3'W3, change over |W2|^2, the worst run.",
        rank="control",
    ),
    claim(
        "as-one",
        "From small starts a network trained on most routes is half learned when one network of three layers is, from"
        " the mean of its encoders and decoders.",
        time_as_one,
        source=OURS,
        near=1,
        inside=(0.9, 1.1),
        along=AXES,
        why="With half of the routes the largest part that domains keep of their own has .65 of the mean's pace; its strength"
        " is a quarter, the cube, divided among the directions of hidden units. A tenth is allowed.",
        note="Ratio of the two times, nothing fitted, at the largest K < M and the smallest init_scale of which it is known.",
    ),
    claim(
        "forty-percent",
        "Transfer to untrained routes becomes as good as training when about 40% of the routes are trained.",
        threshold,
        source=PAPER + "section 5.1, Fig. 7b-c",
        near=0.4,
        inside=(0.3, 0.5),
        where=lambda c: c.p.negative_slope == 1,
        **FRACTION,
    ),
    claim(
        "twenty-five-percent",
        "With leaky ReLUs transfer becomes as good as training when about 25% of the routes are trained.",
        threshold,
        source=PAPER + "Fig. 9",
        near=0.25,
        inside=(0.15, 0.35),
        where=lambda c: c.p.negative_slope != 1,
        **FRACTION,
    ),
    *claim(
        "small-start",
        "From the smallest start, untrained routes are as good as trained ones.",
        lambda c: pick(gap(c), quarter(c)),
        near=0,
        inside=(-NEAR, NEAR),
        why='"As good as the training performance", "near-perfect": two points of accuracy are what the figures\' lines can '
        "show.",
        note="Difference in accuracy at the K nearest to M/4.",
        **FIGURES_7_10,
    ).and_corrected(
        "From the smallest start, untrained routes are as good as trained ones once half of the routes are trained.",
        quantity=lambda c: pick(gap(c), most_routes(c)),
        near=0,
        source=OURS,
        note="Difference in accuracy at the first K of at least M/2.",
    ),
    claim(
        "large-start",
        "Zero-shot transfer emerges only from small initial weights.",
        lost_from_large_starts,
        inside=(0.1, np.inf),
        why="The figures fall by tens of points; a tenth cannot be missed in them.",
        note="Accuracy on untrained routes from the smallest start less that from the largest, K nearest to M/4.",
        **FIGURES_7_10,
    ),
    claim(
        "connected",
        "Transfer begins where the trained pairs connect all domains: untrained routes answer better at K = 2 of a band than "
        "at K = 1, which joins no two pairs.",
        lambda c: pick(accuracy(c, "untrained"), (2,)) - pick(accuracy(c, "untrained"), (1,)),
        where=lambda c: (
            c.p.mask == "circulant"
            and {1, 2} <= set(c.values("trained_outputs"))
            and c.p.domains > 2
        ),
        source=OURS,
        inside=lambda c: (0.5 * float(c.theory.chance_accuracy.max()), 1),
        why="The answers of a random map scatter by half of chance at most, in the mean over pairs and seeds.",
        note="Accuracy on untrained routes at K = 2 less that at K = 1, smallest init_scale.",
        rank="headline",
        **ENDS,
    ),
    claim(
        "authors",
        "Accuracies on trained and on untrained routes at K = 10 of 40 are those of the authors' code.",
        authors_gap,
        source=PAPER + "authors' runs",
        near=0,
        inside=(0, 1),
        along="trained_outputs",
        at_end=True,
        where=is_authors_network,
        why="Two points on trained routes, for test error and other starts; five on untrained ones, which vary more.",
        note="The larger of both deviations, each over what is allowed of it.",
    ),
]
