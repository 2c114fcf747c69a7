"""What is claimed of grokking in a transformer; "never" is a step of its own, infinity."""

from functools import cache
from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import MOST
from foretrain.quantities.frequency import frequency_shares, principal_axes
from foretrain.quantities.measured import PerSeed
from foretrain.training.embedding import PHASES

PAPER = "Liu et al. (2022), "
PAGE = "docs/studies/modular-transformer.md"
MAP = ("decoder_learning_rate", "decoder_decay")
GROKKING = PHASES.index("grokking")
MAJORITY = "In most runs: ten that all agree show a share of at least .69, six .54."


def planar(cell):
    """Whether these are transformers whose embeddings have two principal axes."""
    p = cell.parameters
    return p.architecture == "transformer" and min(p.embedding_dim, p.symbols - 1) >= 2


LATE: dict[str, Any] = {
    "along": MAP,
    "among": "runs that memorised first and generalised later; a seed's value is the mean over such cells of the map",
    "where": planar,
}


def in_the_map(cell, measure):
    """Per seed the mean of ``measure(data)``, (seed,), over the cells of the map in which it generalised after it fitted."""
    found = []
    for data in (one.simulation for one in cell.cells()):
        late = (data["train_step"] < data["validation_step"]).values
        found.append(np.where(late, measure(data), np.nan) if late.any() else late * np.nan)
    return mean(np.array(found), np.isfinite(found), 0)


def mean(values, which, axis):
    """Mean of some values along an axis, nan where there are none."""
    count = which.sum(axis)
    return np.where(count > 0, np.where(which, values, 0).sum(axis) / np.maximum(count, 1), np.nan)


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


def circles_at_the_end(cell):
    def strongest(data):
        return np.sort(frequency_shares(start_and_end(data)[1]), axis=-1)[:, -3:].sum(-1)

    return in_the_map(cell, strongest)


def nothing_when_fitted(cell):
    def beside_chance(data):
        early = snapshots(data, data["train_step"].values)
        return circle(early)[0] / chance(*early.shape[1:])

    return in_the_map(cell, beside_chance)


def entropy_peaks(cell):
    def peak(data):
        dimension = data["effective_dimension"].transpose("seed", "step").values
        steps = data["step"].values[np.argmax(np.nan_to_num(dimension), axis=1)]
        return steps / data["validation_step"].values

    return in_the_map(cell, peak)


def entropy_falls(cell):
    def left(data):
        dimension = data["effective_dimension"].transpose("seed", "step").values
        end = np.isfinite(dimension).sum(1) - 1
        when = np.searchsorted(data["step"].values, np.nan_to_num(data["validation_step"].values))
        seed = np.arange(len(dimension))
        return dimension[seed, end] / dimension[seed, np.minimum(when, end)]

    return in_the_map(cell, left)


def structure_at_the_start(cell):
    units = (cell.parameters.symbols - 1) / 2
    return in_the_map(cell, lambda data: units * told(*start_and_end(data)))


def structure_of_this_start(cell):
    def beyond_others(data):
        start, end = start_and_end(data)
        others = np.empty(len(start))
        for seed, moved in enumerate(end - start):
            rest = np.delete(start, seed, axis=0)
            others[seed] = told(rest, rest + moved).mean()
        return told(start, end) - others

    return in_the_map(cell, beyond_others)


def start_and_end(data):
    """Embeddings at the start and at the end, (seed, symbol, coordinate) each."""
    return [snapshots(data, np.full(data.sizes["seed"], step)) for step in (0, np.inf)]


def told(start, end):
    """Share of the final frequency in starts on the axes of their ends, (seed,)."""
    return in_plane(start, end)[np.arange(len(start)), circle(end)[1]]


def projected(data, of):
    """Validation accuracy on axes of the end, the snapshot or none, (seed, snapshot, rank)."""
    return data["projected_accuracy"].sel(axes_of=of).transpose("seed", "snapshot", "rank").values


def final_axes_are_better(cell):
    def gap(data):
        step = data["snapshot_step"].transpose("seed", "snapshot").values
        first, last = (data[f"{name}_step"].values[:, None] for name in ("train", "validation"))
        found = (projected(data, "final") - projected(data, "current")).mean(2)
        return mean(found, (step >= first) & (step <= last), 1)

    return in_the_map(cell, gap)


def few_axes(cell):
    p = cell.parameters
    axes = min(p.symbols - 1, p.embedding_dim)

    def fewest(data):
        last = np.isfinite(data["snapshot_step"].transpose("seed", "snapshot").values).sum(1) - 1
        enough = projected(data, "final")[np.arange(len(last)), last] >= p.accuracy_threshold
        return np.where(enough.any(1), data["rank"].values[enough.argmax(1)], axes) / axes

    return in_the_map(cell, fewest)


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


def forgetting(cell):
    rates, decays = (np.array(cell.values(name)) for name in MAP)
    steps = cell.simulation["validation_step"].transpose(*MAP, "seed").values
    product = rates[:, None] * decays
    kept = np.isfinite(steps).all(2) & (product > 0)
    if len(np.unique(product[kept].round(12))) < 3:
        return None
    times = ", ".join(
        f"{product[place] * np.median(steps[place]):.2g} ({rates[place[0]]:g} x {decays[place[1]]:g})"
        for place in zip(*np.nonzero(kept), strict=True)
    )
    x = np.log(product[kept])
    x = x - x.mean()
    slope = x @ np.log(np.maximum(steps[kept], 1)) / (x @ x)
    return PerSeed(slope, f"Rate x decay x median step: {times}.")


def beside(cell):
    """Whether dropout, and embeddings that decay, were trained in this cell."""
    p = cell.parameters
    return compared(cell) and p.decoder_decay == p.compared_decay


def compared(cell):
    """Whether other networks were trained at this rate."""
    p = cell.parameters
    return p.compared and p.decoder_learning_rate == p.compared_rate


def dropout_removes_delay(cell):
    if "dropout" not in cell.variants:
        return None
    which = cell.simulation["phase"].values == GROKKING
    found = cell.variants["dropout"]["phase"].values[which] == PHASES.index("comprehension")
    return found if found.size >= 2 else None


def embeddings_may_decay(cell):
    if "decaying" not in cell.variants:
        return None
    with_decay, without = (
        data["validation_step"].values for data in (cell.variants["decaying"], cell.simulation)
    )
    return with_decay / without


def helped(cell, name=""):
    """Per seed whether some decay makes a network generalise at least twice as soon as none does; None without two decays."""
    decays = np.array(cell.values("decoder_decay"))
    data = cell.network(name)
    if not data.data_vars or decays[0] or len(decays) < 2:
        return None
    steps = data["validation_step"].transpose("decoder_decay", "seed").values
    steps = np.where(np.isnan(steps), np.inf, steps)
    best = steps[1:].min(0)
    counted = ", ".join(
        f"decay {decay:g}: {np.isfinite(row).sum()} of {row.size}, median {_median(row)}"
        for decay, row in zip(decays, steps, strict=True)
    )
    return PerSeed(np.isfinite(best) & (steps[0] >= 2 * best), f"Generalised at {counted}.")


def _median(steps):
    middle = np.sort(steps)[len(steps) // 2]
    return f"{middle:g}" if np.isfinite(middle) else "never"


def _decay(id, words, of="", helps=True):
    """A sentence on whether decay of the decoder makes a network generalise sooner."""
    return claim(
        id,
        words,
        lambda c: helped(c, of),
        source=PAPER + "section 4.2",
        along="decoder_decay",
        inside=MOST if helps else (0, 0.5),
        why=MAJORITY,
        of=of,
        where=compared if of else None,
        note="Share of seeds in which some decay halves the steps to generalisation, or gives any.",
    )


_WIDTH = "The embedding dimension makes the difference: in a "
DECAY = "A certain amount of decay of the decoder speeds generalisation up."
decay_helps = _decay("decay-helps", DECAY)
decay_in_the_toy = _decay(
    "decay-in-the-toy", "In the toy model of one dimension it does not.", "toy", helps=False
)
decay_in_the_wide_toy = _decay(
    "decay-in-the-wide-toy", _WIDTH + "toy model of many dimensions decay helps.", "wide_toy"
)
decay_in_few_dimensions = _decay(
    "decay-in-few-dimensions",
    _WIDTH + "transformer of few dimensions decay does not help.",
    "narrow",
    helps=False,
)


_entropy_peaks = claim(
    "entropy-peaks",
    "The entropy of the embeddings rises until generalisation, and falls afterwards.",
    entropy_peaks,
    source=PAPER + "Fig. 7, left",
    near=1,
    inside=(0.67, 1.5),
    why="The peak is flat: half a step of a logarithmic scale either way.",
    **LATE,
    note="Step of the largest entropy over step of generalisation.",
    rank="headline",
)


CLAIMS = [
    decay_helps,
    decay_in_the_toy,
    decay_in_the_wide_toy,
    decay_in_few_dimensions,
    claim(
        "circle-at-the-end",
        "Generalisation comes with embeddings that form a circle on their first two principal axes.",
        lambda c: in_the_map(c, lambda data: circle(start_and_end(data)[1])[0]),
        source=PAPER + "Fig. 1",
        near=1,
        inside=(0.8, 1),
        why="A regular polygon has all variance of its plane at one frequency; a fifth is left for what else the axes "
        "catch.",
        **LATE,
        note="Largest share of a frequency at the end.",
        rank="headline",
    ),
    claim(
        "circle-at-the-end.corrected",
        "At the end most of the variance of the embeddings is at three frequencies: several circles, not one.",
        circles_at_the_end,
        source=PAGE,
        near=1,
        inside=(0.5, 1),
        why="Most is more than half; three of (p - 1)/2 equal shares are a third at p = 19.",
        **{**LATE, "where": lambda cell: planar(cell) and cell.parameters.symbols >= 13},
        corrects="circle-at-the-end",
        note="Share of the three strongest frequencies, over all coordinates.",
        rank="headline",
    ),
    claim(
        "nothing-when-fitted",
        "When the training set is fitted the first two principal axes of the embeddings show no structure.",
        nothing_when_fitted,
        source=PAPER + "section 4.2",
        near=1,
        inside=(0.5, 1.5),
        why="In units of what normal embeddings give; a circle would have three times as much or more.",
        **LATE,
    ),
    _entropy_peaks,
    _entropy_peaks.corrected(
        "The entropy of the embeddings rises and falls, and falls long before generalisation.",
        inside=(0, 0.67),
        source=PAGE,
        why="Below what the peak at generalisation would be allowed.",
        rank="headline",
    ),
    claim(
        "entropy-falls",
        "After generalisation the effective dimension of the embeddings goes down.",
        entropy_falls,
        source=PAPER + "Fig. 7, left",
        inside=(0, 0.9),
        why="By a tenth at least where training goes on as long again.",
        **{**LATE, "where": lambda cell: planar(cell) and cell.parameters.further > 0},
        note="Effective dimension at the end over that at generalisation.",
    ),
    claim(
        "structure-at-the-start",
        "Initial embeddings on the final two axes already show structure.",
        structure_at_the_start,
        source=PAPER + "Fig. 21",
        inside=(1.5, np.inf),
        why="In units of 2/(p - 1), the exact mean of axes that know nothing of the start. A seed's chance varies by "
        "about .65.",
        **LATE,
        note="Share of the final frequency.",
    ),
    claim(
        "structure-of-this-start",
        "Initial embeddings on the final two axes show more structure than other starts would with the same "
        "displacement: what is learned follows this start.",
        structure_of_this_start,
        source=PAGE,
        inside=(0, 1),
        why="Above zero. The end is the start plus what was learned, so that its axes know of any start.",
        **LATE,
        note="Share of the final frequency minus the mean of that of all other seeds' starts, each with this one's "
        "displacement.",
    ),
    claim(
        "final-axes-are-better",
        "On the final principal axes a network answers better than on as many axes of largest variance at the moment.",
        final_axes_are_better,
        source=PAPER + "Fig. 22",
        inside=(0.0, 1),
        why="Better is above zero. Mean over ranks, and over snapshots from fitting to generalisation.",
        **LATE,
        note="Difference of validation accuracies.",
    ),
    claim(
        "few-axes",
        "Half of the principal axes are enough for accuracy at the end.",
        few_axes,
        source=PAPER + "Fig. 22",
        inside=(0, 0.5),
        why="The paper says the first few.",
        **LATE,
        note="Fewest final axes with the accuracy wanted, over all; 1 where none of those looked at is enough.",
    ),
    claim(
        "borders",
        "In the map of rates and decays grokking borders memorisation rather than comprehension.",
        borders,
        source=PAPER + "abstract and Fig. 7, right",
        inside=MOST,
        why="More than half of the borders that grokking has with either. Where the delay that counts as grokking is more"
        " than a twentieth of the budget, that limit alone draws the map.",
        along=MAP,
        where=lambda cell: cell.parameters.steps >= 20 * cell.parameters.delay,
        among="maps in which grokking borders either",
        note="Share of the borders between neighbouring cells.",
    ),
    claim(
        "forgetting",
        "The step of generalisation goes as one over rate times decay of the decoder: the time in which decay forgets"
        " the start.",
        forgetting,
        source=PAGE,
        near=-1,
        inside=(-1.25, -0.75),
        why="A quarter for the time that Adam takes to fit, which neither sets alone; were it decay or rate alone, a map "
        "of equal ranges of both would give about -1/2.",
        along=MAP,
        among="cells in which every seed generalised",
        note="Slope of logarithms.",
    ),
    claim(
        "dropout-removes-delay",
        "With dropout networks that grok without it comprehend: the delay is gone.",
        dropout_removes_delay,
        source=PAPER + "section 4.2",
        inside=MOST,
        why=MAJORITY,
        of=("", "dropout"),
        where=beside,
        among="runs that grok without",
        note="Share of them that comprehend.",
        rank="headline",
    ),
    claim(
        "embeddings-may-decay",
        "Decay of embeddings of .01, as in the paper's code, does not change when networks generalise.",
        embeddings_may_decay,
        source=PAGE,
        near=1,
        inside=(0.75, 1.33),
        why="Until then it shrinks them by rate x decay x step, a fifth at rate .01 and step 2,000.",
        of=("", "decaying"),
        where=beside,
        among="runs that generalise with and without",
        note="Steps with over steps without.",
        rank="control",
    ),
]
