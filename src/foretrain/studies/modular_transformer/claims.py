"""What is claimed of grokking in a transformer; "never" is a step of its own, infinity."""

from functools import cache

import numpy as np

from foretrain.claims.sentence import PerSeed, sentence
from foretrain.measures.frequency import frequency_shares, principal_axes
from foretrain.training.embedding import PHASES

PAPER = "Liu et al. (2022), "
PAGE = "docs/studies/modular-transformer.md"
MAP = ("decoder_learning_rate", "decoder_decay")
MOST = "In most runs: six that all agree show a share of at least .54."
GROKKING = PHASES.index("grokking")
AMONG = "runs that memorised first and generalised later"


def grokked(cell):
    """Runs that fitted before they generalised, (seed,); None where fewer than two did."""
    data = cell.simulation
    which = data["train_step"].values < data["validation_step"].values
    return which if which.sum() >= 2 and cell.parameters.architecture == "transformer" else None


def snapshots(data, at):
    """Embeddings at the last snapshot not after a step, (seed, symbol, coordinate); `at` is (seed,)."""
    steps = data["snapshot_step"].transpose("seed", "snapshot").values
    every = data["snapshot_embedding"].transpose("seed", "snapshot", "symbol", "coordinate").values
    place = np.maximum((steps <= np.asarray(at)[:, None]).sum(1) - 1, 0)
    return every[np.arange(len(every)), place]


def circle(embedding):
    """Largest share of one frequency in the plane of the two principal axes, and that frequency's place, (...,) each."""
    shares = in_plane(embedding, embedding)
    return shares.max(-1), np.argmax(np.nan_to_num(shares), axis=-1)


def in_plane(embedding, of):
    """Shares of the frequencies in an embedding's projection on the two principal axes of another, (..., frequency)."""
    axes = principal_axes(of, 2)
    return frequency_shares(embedding @ axes.swapaxes(-1, -2))


@cache
def chance(symbols, dim, draws=400):
    """What `circle` gives for embeddings drawn from a normal law, mean."""
    drawn = np.random.default_rng(0).standard_normal((draws, symbols, dim))
    return float(circle(drawn)[0].mean())


def never_late(steps):
    """Steps with infinity for never."""
    return np.where(np.isnan(steps), np.inf, steps)


@sentence(
    "Generalisation comes with embeddings that form a circle on their first two principal axes.",
    source=PAPER + "Fig. 1",
    predicted=1,
    allowed=(0.8, 1),
    why="A regular polygon has all variance of its plane at one frequency; a fifth is left for what else the axes catch.",
    among=AMONG,
    note="Largest share of a frequency at the end.",
)
def circle_at_the_end(cell):
    which = grokked(cell)
    if which is None or cell.parameters.embedding_dim < 2:
        return None
    end = snapshots(cell.simulation, np.full(which.size, np.inf))
    return np.where(which, circle(end)[0], np.nan)


@sentence(
    "At the end most of the variance of the embeddings is at three frequencies: several circles, not one.",
    source=PAGE,
    predicted=1,
    allowed=(0.5, 1),
    why="Most is more than half; three of (p - 1)/2 equal shares are a third at p = 19.",
    among=AMONG,
    corrects="circle-at-the-end",
    note="Share of the three strongest frequencies, over all coordinates.",
)
def circles_at_the_end(cell):
    which = grokked(cell)
    if which is None or cell.parameters.symbols < 13:
        return None
    end = snapshots(cell.simulation, np.full(which.size, np.inf))
    return np.where(which, np.sort(frequency_shares(end), axis=-1)[:, -3:].sum(-1), np.nan)


@sentence(
    "When the training set is fitted no structure is seen on the first two principal axes.",
    source=PAPER + "section 4.2",
    predicted=1,
    allowed=(0.5, 1.5),
    why="In units of what normal embeddings give; a circle would have three times as much or more.",
    among=AMONG,
)
def nothing_when_fitted(cell):
    which = grokked(cell)
    if which is None or cell.parameters.embedding_dim < 2:
        return None
    early = snapshots(cell.simulation, cell.simulation["train_step"].values)
    found = circle(early)[0] / chance(*early.shape[1:])
    return np.where(which, found, np.nan)


@sentence(
    "The entropy of the embeddings rises until generalisation, and falls afterwards.",
    source=PAPER + "Fig. 7, left",
    predicted=1,
    allowed=(0.67, 1.5),
    why="The peak is flat: half a step of a logarithmic scale either way.",
    among=AMONG,
    note="Step of the largest entropy over step of generalisation.",
)
def entropy_peaks(cell):
    which = grokked(cell)
    if which is None:
        return None
    data = cell.simulation
    dimension = data["effective_dimension"].transpose("seed", "step").values
    peak = data["step"].values[np.argmax(np.nan_to_num(dimension), axis=1)]
    return np.where(which, peak / data["validation_step"].values, np.nan)


entropy_peaks_corrected = entropy_peaks.corrected(
    "The entropy rises and falls, and falls long before generalisation.",
    allowed=(0, 0.67),
    source=PAGE,
    why="Below what the peak at generalisation would be allowed.",
)


@sentence(
    "After generalisation the effective dimension goes down.",
    source=PAPER + "Fig. 7, left",
    allowed=(0, 0.9),
    why="By a tenth at least where training goes on as long again.",
    among=AMONG,
    note="Effective dimension at the end over that at generalisation.",
)
def entropy_falls(cell):
    which = grokked(cell)
    if which is None or cell.parameters.further == 0:
        return None
    data = cell.simulation
    steps = data["step"].values
    dimension = data["effective_dimension"].transpose("seed", "step").values
    end = np.isfinite(dimension).sum(1) - 1
    when = np.searchsorted(steps, np.nan_to_num(data["validation_step"].values))
    seed = np.arange(len(dimension))
    ratio = dimension[seed, end] / dimension[seed, np.minimum(when, end)]
    return np.where(which, ratio, np.nan)


@sentence(
    "Initial embeddings on the final two axes already show structure.",
    source=PAPER + "Fig. 21",
    allowed=(1.5, np.inf),
    why="In units of 2/(p - 1), the exact mean of axes that know nothing of the start. A seed's chance varies by about .65.",
    among=AMONG,
    note="Share of the final frequency.",
)
def structure_at_the_start(cell):
    which = grokked(cell)
    if which is None or cell.parameters.embedding_dim < 2:
        return None
    return np.where(which, told(*_start_and_end(cell)), np.nan) * (cell.parameters.symbols - 1) / 2


@sentence(
    "It shows more of it than other starts would with the same displacement: what is learned follows this start.",
    source=PAGE,
    allowed=(0, 1),
    why="Above zero. The end is the start plus what was learned, so that its axes know of any start.",
    among=AMONG,
    note="Share of the final frequency minus the mean of that of all other seeds' starts, each with this one's displacement.",
)
def structure_of_this_start(cell):
    which = grokked(cell)
    if which is None or cell.parameters.embedding_dim < 2:
        return None
    start, end = _start_and_end(cell)
    moved = end - start
    others = np.empty(len(start))
    for seed in range(len(start)):
        rest = np.delete(start, seed, axis=0)
        others[seed] = told(rest, rest + moved[seed]).mean()
    return np.where(which, told(start, end) - others, np.nan)


def _start_and_end(cell):
    """Embeddings at the start and at the end, (seed, symbol, coordinate) each."""
    count = cell.simulation.sizes["seed"]
    return [snapshots(cell.simulation, np.full(count, step)) for step in (0, np.inf)]


def told(start, end):
    """Share of the final frequency in starts on the axes of their ends, (seed,)."""
    return in_plane(start, end)[np.arange(len(start)), circle(end)[1]]


def _projected(cell, of):
    """Validation accuracy on axes of the end, the snapshot or none, (seed, snapshot, rank), and between which snapshots."""
    data = cell.simulation
    accuracy = data["projected_accuracy"].sel(axes_of=of)
    step = data["snapshot_step"].transpose("seed", "snapshot").values
    first, last = (data[f"{name}_step"].values[:, None] for name in ("train", "validation"))
    return accuracy.transpose("seed", "snapshot", "rank").values, (step >= first) & (step <= last)


@sentence(
    "On the final axes a network answers better than on as many axes of largest variance of the moment.",
    source=PAPER + "Fig. 22",
    allowed=(0.0, 1),
    why="Better is above zero. Mean over ranks, and over snapshots from fitting to generalisation.",
    among=AMONG,
    note="Difference of validation accuracies.",
)
def final_axes_are_better(cell):
    which = grokked(cell)
    if which is None:
        return None
    final, between = _projected(cell, "final")
    gap = (final - _projected(cell, "current")[0]).mean(2)
    return np.where(which, _mean(gap, between), np.nan)


@sentence(
    "Half of the principal axes are enough for accuracy at the end.",
    source=PAPER + "Fig. 22",
    allowed=(0, 0.5),
    why="The paper says the first few.",
    among=AMONG,
    note="Fewest final axes with the accuracy wanted, over all; 1 where none of those looked at is enough.",
)
def few_axes(cell):
    which = grokked(cell)
    if which is None:
        return None
    p, data = cell.parameters, cell.simulation
    accuracy = _projected(cell, "final")[0]
    last = np.isfinite(data["snapshot_step"].transpose("seed", "snapshot").values).sum(1) - 1
    enough = accuracy[np.arange(len(accuracy)), last] >= p.accuracy_threshold
    all_axes = min(p.symbols - 1, p.embedding_dim)
    fewest = np.where(enough.any(1), data["rank"].values[enough.argmax(1)], all_axes)
    return np.where(which, fewest / all_axes, np.nan)


def _mean(values, which):
    count = which.sum(1)
    total = np.where(which, np.nan_to_num(values), 0).sum(1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@sentence(
    "In the map of rates and decays grokking borders memorisation rather than comprehension.",
    source=PAPER + "abstract and Fig. 7, right",
    allowed=(0.5, 1),
    why="More than half of the borders that grokking has with either.",
    over=MAP,
    among="maps in which grokking borders either",
    note="Share of the borders between neighbouring cells.",
)
def borders(cell):
    phase = cell.simulation["phase"].transpose(*MAP, "seed").values
    if min(phase.shape[:2]) < 2:
        return None
    counts = []
    for other in ("memorization", "comprehension"):
        code = PHASES.index(other)
        pairs = [
            ((a == GROKKING) & (b == code)) | ((a == code) & (b == GROKKING))
            for a, b in ((phase[1:], phase[:-1]), (phase[:, 1:], phase[:, :-1]))
        ]
        counts.append(sum(pair.sum((0, 1)) for pair in pairs))
    total = counts[0] + counts[1]
    return np.where(total > 0, counts[0] / np.maximum(total, 1), np.nan)


@sentence(
    "The step of generalisation goes as one over rate times decay of the decoder: it is what decay needs to forget the start.",
    source=PAGE,
    predicted=-1,
    allowed=(-1.25, -0.75),
    why="A quarter for the time that Adam takes to fit, which neither sets alone; were it decay or rate alone, a map of "
    "equal ranges of both would give about -1/2.",
    over=MAP,
    among="cells in which every seed generalised",
    note="Slope of logarithms.",
)
def forgetting(cell):
    rates, decays = (np.array(cell.values(name)) for name in MAP)
    steps = cell.simulation["validation_step"].transpose(*MAP, "seed").values
    product = rates[:, None] * decays
    kept = np.isfinite(steps).all(2) & (product > 0)
    if len(np.unique(product[kept].round(12))) < 3:
        return None
    x = np.log(product[kept])
    x = x - x.mean()
    return x @ np.log(np.maximum(steps[kept], 1)) / (x @ x)


@sentence(
    "With dropout networks that grok comprehend: the delay is gone.",
    source=PAPER + "section 4.2",
    allowed=(0.5, 1),
    why=MOST,
    of=("", "dropout"),
    among="runs that grok without",
    note="Share of them that comprehend.",
)
def dropout_removes_delay(cell):
    if not compared(cell, "dropout"):
        return None
    which = cell.simulation["phase"].values == GROKKING
    found = cell.variants["dropout"]["phase"].values[which] == PHASES.index("comprehension")
    return found if found.size >= 2 else None


def compared(cell, name):
    """Whether these networks were trained in this cell."""
    p = cell.parameters
    return not name or (name in cell.variants and p.decoder_learning_rate == p.compared_rate)


def helped(cell, name=""):
    """Per seed whether some decay makes a network generalise at least twice as soon as none does; None without two decays."""
    decays = np.array(cell.values("decoder_decay"))
    data = cell.network(name)
    if not compared(cell, name) or decays[0] or len(decays) < 2:
        return None
    steps = never_late(data["validation_step"].transpose("decoder_decay", "seed").values)
    best = steps[1:].min(0)
    counted = ", ".join(
        f"decay {decay:g}: {np.isfinite(row).sum()} of {row.size}, median {_median(row)}"
        for decay, row in zip(decays, steps, strict=True)
    )
    return PerSeed(np.isfinite(best) & (steps[0] >= 2 * best), f"Generalised at {counted}.")


def _median(steps):
    middle = np.sort(steps)[len(steps) // 2]
    return f"{middle:g}" if np.isfinite(middle) else "never"


_HELPS = {"source": PAPER + "section 4.2", "over": "decoder_decay", "allowed": (0.5, 1)}
_NOT = {**_HELPS, "allowed": (0, 0.5)}
_NOTE = "Share of seeds in which some decay halves the steps to generalisation, or gives any."


@sentence(
    "A certain amount of decay of the decoder speeds generalisation up.",
    why=MOST,
    note=_NOTE,
    **_HELPS,
)
def decay_helps(cell):
    return helped(cell)


@sentence("In the toy model of one dimension it does not.", why=MOST, note=_NOTE, of="toy", **_NOT)
def decay_in_the_toy(cell):
    return helped(cell, "toy")


@sentence(
    "The embedding dimension makes the difference: in a toy model of many dimensions decay helps.",
    why=MOST,
    note=_NOTE,
    of="wide_toy",
    **_HELPS,
)
def decay_in_the_wide_toy(cell):
    return helped(cell, "wide_toy")


@sentence(
    "The embedding dimension makes the difference: in a transformer of few dimensions decay does not help.",
    why=MOST,
    note=_NOTE,
    of="narrow",
    **_NOT,
)
def decay_in_few_dimensions(cell):
    return helped(cell, "narrow")
