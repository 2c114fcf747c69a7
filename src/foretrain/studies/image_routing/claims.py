"""What the paper says of routing on images, and whether it is so."""

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.learning_time import half_fall_time
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.threshold import closing_threshold
from foretrain.quantities.trajectory import at_end
from foretrain.training.routing_claims import (
    AXES,
    by_pair,
    drawn_masks,
    trained_routes_alone,
    worst,
)

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/image-routing.md"
NEAR = 0.02
WHY_NEAR = (
    '"As good as the training performance", "near-perfect": two points of accuracy are what the '
    "figures' lines can show."
)
ALONG = {"along": AXES, "at_end": True}

# Authors' runs, M = 40, K = 10, H = 128, MNIST: init_scale -> accuracy on trained and untrained routes, test images.
_AUTHORS = {
    "permutation": {0.1: (0.914, 0.913), 1.0: (0.924, 0.650), 10.0: (0.881, 0.376)},
    "rotation": {0.1: (0.912, 0.841), 1.0: (0.924, 0.703), 10.0: (0.881, 0.388)},
}


def _ends(cell, name) -> np.ndarray:
    """Values at the end, shape (seed, K, init_scale)."""
    return at_end(cell.simulation[name]).transpose("seed", *AXES).values.astype(float)


def _untrained(cell) -> np.ndarray:
    """Accuracy on untrained routes, shape (seed, K, init_scale); nan where there are none."""
    some = np.array(cell.values("trained_outputs")) < cell.parameters.domains
    return np.where(some[:, None], _ends(cell, "untrained_accuracy"), np.nan)


def _gap(cell) -> np.ndarray:
    """Accuracy on trained less that on untrained routes, shape (seed, K, init_scale)."""
    return _ends(cell, "trained_accuracy") - _untrained(cell)


def _of(cell, name) -> float:
    return float(cell.theory[name].max())


def same_mask(cell):
    drawn = drawn_masks(cell)
    mean = (by_pair(cell, "heldout_accuracy") * drawn).sum((-2, -1)) / drawn.sum((-2, -1))
    wrong = np.abs(mean - np.moveaxis(_ends(cell, "trained_accuracy"), 0, -1))
    gaps = np.maximum(wrong, np.abs(by_pair(cell, "trained_pairs") - drawn).max((-2, -1)))
    return worst(gaps[np.isfinite(gaps)])


def trained_high(cell):
    trained, limit = _ends(cell, "trained_accuracy"), _of(cell, "least_squares_accuracy")
    known = np.isfinite(limit)
    best = limit if known or not np.isfinite(trained).any() else np.nanmax(trained)
    words = "least squares" if known else "the best cell"
    note = f"Worst cell of the grid, accuracy on held-out images less that of {words}."
    return PerSeed((trained - best).min((1, 2)), note)


def least_squares(cell):
    limit = _of(cell, "least_squares_accuracy")
    if not (np.isfinite(limit) and cell.parameters.training == "statistics"):
        return None
    return (_ends(cell, "trained_accuracy") - limit).mean((1, 2))


def least_squares_loss(cell):
    p, limit = cell.parameters, _of(cell, "least_squares_loss")
    if not (np.isfinite(limit) and p.training == "statistics" and p.duration >= 1e9):
        return None
    # One-hot targets have length 1: answering zero costs a half.
    excess = ((_ends(cell, "loss") - limit) / (0.5 - limit)).ravel()
    excess = excess[np.isfinite(excess)]
    far = np.abs(excess - p.excess_tolerance / 2)
    return Exact(float(excess[far.argmax()]) if excess.size else np.nan)


def conserved(cell):
    if cell.parameters.training != "statistics":
        return None
    return worst(cell.simulation["imbalance_drift"].values)


def truncation(cell):
    if not cell.parameters.truncation or not np.isfinite(_of(cell, "whole_accuracy")):
        return None
    lost = [f"{100 * _of(cell, f'truncated_{name}'):.1f}%" for name in ("images", "learning")]
    note = f"Accuracy of least squares on held-out images, projected less whole; left out are {lost[0]} of <|x|^2>, and "
    gap = _of(cell, "least_squares_accuracy") - _of(cell, "whole_accuracy")
    return Exact(gap, note + f"{lost[1]} of what least squares learns.")


def as_one(cell):
    p, scales, limit = cell.parameters, cell.values("init_scale"), _of(cell, "least_squares_loss")
    outputs = np.array(cell.values("trained_outputs"))
    most = np.flatnonzero((outputs >= p.domains / 2) & (outputs < p.domains))
    known = cell.theory["shared_half_time"].transpose(*AXES, "seed").values
    at = [n for n, scale in enumerate(scales) if scale <= 0.1 and np.isfinite(known[:, n]).all()]
    if not (np.isfinite(limit) and p.training == "statistics" and most.size and at):
        return None
    place = {"trained_outputs": int(most[-1]), "init_scale": at[0]}
    runs = cell.simulation[["flow_time", "loss"]].isel(place).transpose("seed", "step")
    half = [half_fall_time(time, loss, limit) for time, loss in zip(*_arrays(runs), strict=True)]
    note = f"K = {outputs[most[-1]]} of M = {p.domains}, init_scale {scales[at[0]]:g}."
    return PerSeed(np.array(half) / known[most[-1], at[0]], note)


def _arrays(data) -> list[np.ndarray]:
    return [data[name].values for name in data]


def waiting(cell):
    p, scales, limit = cell.parameters, cell.values("init_scale"), _of(cell, "least_squares_loss")
    flows = np.isfinite(limit) and p.training == "statistics"
    if not flows or len(scales) == 1 or scales[1] > 0.1:
        return None
    data = cell.simulation[["flow_time", "loss"]].isel(init_scale=[0, 1])
    data = data.transpose("seed", *AXES, "step")
    curves = zip(*(each.reshape(-1, data.sizes["step"]) for each in _arrays(data)), strict=True)
    times = np.array([half_fall_time(time, loss, limit) for time, loss in curves])
    times = np.log(times.reshape(cell.seeds, -1, 2)).mean(1)
    return (times[:, 1] - times[:, 0]) / np.log(scales[1] / scales[0])


def _threshold(cell, linear):
    p, outputs = cell.parameters, np.array(cell.values("trained_outputs"))
    if (p.negative_slope == 1) != linear or outputs.size < 3:
        return None
    scales, gap = cell.values("init_scale"), _gap(cell)
    found = [closing_threshold(outputs / p.domains, gap[:, :, n], NEAR) for n in range(len(scales))]
    listed = ", ".join(
        f"{scale:g}: {values.mean():.2f}" for scale, values in zip(scales, found, strict=True)
    )
    note = f"K/M from which untrained routes stay within {NEAR:g} of trained ones. By init_scale: {listed}."
    return PerSeed(found[0], note)


ABOUT = {"why": '"About": one tenth to either side, the spacing of the points of the figure.'}


def _quarter(cell) -> int | None:
    """Index of the K closest to M / 4, of 1 < K < M, as the paper's K = 10 of M = 40; None if there is none."""
    m, outputs = cell.parameters.domains, np.array(cell.values("trained_outputs"))
    far = np.where((outputs > 1) & (outputs < m), np.abs(outputs - m / 4), np.inf)
    return int(len(far) - 1 - far[::-1].argmin()) if np.isfinite(far).any() else None


def _at(cell, place) -> str:
    outputs, m = cell.values("trained_outputs")[place], cell.parameters.domains
    return f"K = {outputs} of M = {m}, init_scale {cell.values('init_scale')[0]:g}"


def _small_gap(cell, at):
    """How far untrained routes stay behind from the smallest start at a place along K; None where that is none."""
    if at is None:
        return None
    return PerSeed(_gap(cell)[:, at, 0], f"Difference in accuracy at {_at(cell, at)}.")


SMALL = {"near": 0, "inside": (-NEAR, NEAR), "why": WHY_NEAR}


def small_start_corrected(cell):
    m, outputs = cell.parameters.domains, np.array(cell.values("trained_outputs"))
    enough = np.flatnonzero((outputs >= m / 2) & (outputs < m))
    return _small_gap(cell, enough[0] if enough.size else None)


def large_start(cell):
    at, scales = _quarter(cell), cell.values("init_scale")
    if at is None or scales[-1] < 10 * scales[0]:
        return None
    accuracy = _untrained(cell)[:, at]
    note = f"Accuracy on untrained routes at {_at(cell, at)}, less that at {scales[-1]:g}."
    return PerSeed(accuracy[:, 0] - accuracy[:, -1], note)


def _chance(cell, times) -> float:
    return times * _of(cell, "chance_accuracy")


def _of_band(cell, outputs):
    """Accuracy on untrained routes of a circulant band from the smallest start; None where that was not run."""
    p, known = cell.parameters, cell.values("trained_outputs")
    if p.mask != "circulant" or outputs not in known or p.domains <= outputs:
        return None
    note = f"Accuracy on untrained routes, init_scale {cell.values('init_scale')[0]:g}."
    return PerSeed(_untrained(cell)[:, known.index(outputs), 0], note)


def _authors(cell, kind) -> float:
    """The authors' accuracy on trained (0) or untrained (1) routes at this start."""
    return _AUTHORS[cell.parameters.transform][cell.parameters.init_scale][kind]


def _as_authors(cell, name):
    """Accuracies at K = 10, shape (seed,); None for other networks than the authors'."""
    p, outputs = cell.parameters, cell.values("trained_outputs")
    same = (p.data, p.domains, p.hidden_width, p.loss_function, p.training, p.init_law)
    if same != ("mnist", 40, 128, "cross_entropy", "minibatch", "authors") or p.negative_slope != 1:
        return None
    if p.init_scale not in _AUTHORS[p.transform] or 10 not in outputs:
        return None
    last = at_end(cell.simulation[name]).transpose("seed", "trained_outputs").values
    return last[:, outputs.index(10)]


AUTHORS = {"source": PAPER + "authors' runs", "along": ("trained_outputs",), "at_end": True}


CLAIMS = [
    trained_routes_alone,
    claim(
        "same-mask",
        "The routes that were trained are those of the mask; accuracy on trained routes is the mean over just these.",
        same_mask,
        source=OURS,
        near=0,
        inside=(0, 1e-5),
        along=AXES,
        why="Masks are drawn again and compared: one route more or less counts one. Means of accuracies in single "
        "precision.",
        rank="control",
    ),
    claim(
        "trained-high",
        "Accuracy on trained routes is high for every number of them and every size of the start.",
        trained_high,
        source=PAPER + "section 5.1, Figs 8 and 10",
        near=0,
        inside=(-0.05, np.inf),
        why='"Reasonably good for all scales": the authors\' own fall by 4.3 points from gain 1 to 10.',
        **ALONG,
    ),
    claim(
        "least-squares",
        "Trained routes end as good as least squares.",
        least_squares,
        source=OURS,
        near=0,
        inside=(-NEAR, NEAR),
        why="What is left to learn when a run ends is a fiftieth of all there was; " + WHY_NEAR,
        note="Accuracy on held-out images less that of least squares, mean over the grid.",
        **ALONG,
    ),
    claim(
        "conserved",
        "The flow conserves Q at both hidden layers from start to end.",
        conserved,
        source=OURS,
        near=0,
        inside=(0, 0.02),
        along=AXES,
        why="A layer a tenth too fast moves the difference of two squared norms that grow alike by 1/21 of them, twice of"
        " what is allowed; exact flows move nothing, and steps of this solver some thousandths.",
        note="W2'W2 - sum W1 W1' and W2 W2' - sum W3'W3, change over |W2|^2, the worst run.",
        rank="control",
    ),
    claim(
        "truncation",
        "A linear classifier tells images apart as well after their projection on fewer directions.",
        truncation,
        source=OURS,
        near=0,
        inside=(-NEAR, NEAR),
        along=AXES,
        why=WHY_NEAR,
        rank="control",
    ),
    claim(
        "as-one",
        "From small starts a network trained on most routes is half learned when one network of three layers is, from"
        " the mean of its encoders and decoders.",
        as_one,
        source=OURS,
        near=1,
        inside=(0.9, 1.1),
        along=AXES,
        why="What domains keep of their own lags behind the mean: with half of the routes trained its largest part has "
        ".65 of the pace of the mean, of which the cube, the strength of three layers, is a quarter, divided among "
        "the directions that hidden units have. A tenth is allowed.",
        note="Ratio of the two times, nothing fitted, at the largest K < M and the smallest init_scale of which it is "
        "known.",
    ),
    claim(
        "waiting",
        "From small starts the time to learn goes as the inverse of the initial scale, as in a linear network of "
        "three layers.",
        waiting,
        source=OURS,
        near=-1,
        inside=(-1.15, -0.85),
        along=AXES,
        why="Two layers wait for the logarithm of their start (0), four for its inverse square (-2). Half of the loss is "
        "made up of several modes, of which weaker ones fall behind as starts become smaller.",
        note="Slope of the logarithms of the time to half of what can be learned against the start, two smallest starts, "
        "mean over K.",
    ),
    claim(
        "forty-percent",
        "Transfer to untrained routes becomes as good as training when about 40% of the routes are trained.",
        lambda c: _threshold(c, True),
        source=PAPER + "section 5.1, Fig. 7b-c",
        near=0.4,
        inside=(0.3, 0.5),
        **ABOUT,
        **ALONG,
        rank="headline",
    ),
    claim(
        "twenty-five-percent",
        "With leaky ReLUs transfer becomes as good as training when about 25% of the routes are trained.",
        lambda c: _threshold(c, False),
        source=PAPER + "Fig. 9",
        near=0.25,
        inside=(0.15, 0.35),
        **ABOUT,
        **ALONG,
        rank="headline",
    ),
    claim(
        "small-start",
        "From the smallest start, untrained routes are as good as trained ones.",
        lambda c: _small_gap(c, _quarter(c)),
        source=PAPER + "section 5.1, Figs 7d and 10",
        **SMALL,
        **ALONG,
        rank="headline",
    ),
    claim(
        "small-start.corrected",
        "From the smallest start, untrained routes are as good as trained ones once half of the routes are trained.",
        small_start_corrected,
        source=OURS,
        corrects="small-start",
        **SMALL,
        **ALONG,
        rank="headline",
    ),
    claim(
        "large-start",
        "Zero-shot transfer emerges only from small initial weights.",
        large_start,
        source=PAPER + "section 5.1, Figs 7d and 10",
        inside=(0.1, np.inf),
        why="The figures fall by tens of points; a tenth cannot be missed in them.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "disconnected",
        "With one trained route a domain (K = 1) no chain connects two pairs, and untrained routes answer by chance.",
        lambda c: _of_band(c, 1),
        source=OURS,
        near=lambda cell: _chance(cell, 1),
        inside=lambda cell: (_chance(cell, 0.5), _chance(cell, 1.5)),
        why="The answers of a random map: half of chance to either side bounds their mean over pairs and seeds.",
        **ALONG,
        rank="control",
    ),
    claim(
        "connected",
        "Transfer begins where the trained pairs connect all domains: at K = 2 of a band.",
        lambda c: _of_band(c, 2),
        source=OURS,
        inside=lambda cell: (_chance(cell, 1.5), 1),
        why="Above what counts as chance at K = 1.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "authors-trained",
        "Accuracy on trained routes at K = 10 of 40 is what the authors' code gives.",
        lambda c: _as_authors(c, "trained_accuracy"),
        near=lambda cell: _authors(cell, 0),
        inside=lambda cell: (_authors(cell, 0) - 0.02, _authors(cell, 0) + 0.02),
        why="Test error of 10,000 images is .3 points, the rest is for other starts.",
        **AUTHORS,
    ),
    claim(
        "authors-untrained",
        "Accuracy on untrained routes at K = 10 of 40 is what the authors' code gives.",
        lambda c: _as_authors(c, "untrained_accuracy"),
        near=lambda cell: _authors(cell, 1),
        inside=lambda cell: (_authors(cell, 1) - 0.05, _authors(cell, 1) + 0.05),
        why="Untrained routes vary more from start to start than trained ones: five points.",
        **AUTHORS,
    ),
]
