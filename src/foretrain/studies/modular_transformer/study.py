"""A transformer learns addition modulo p: it memorises first, and generalises when its embeddings form circles."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import MOST, tolerance
from foretrain.quantities.frequency import frequency_shares, principal_axes
from foretrain.quantities.learning_curves.slopes import power
from foretrain.study import claim, default, parameter, skip_if
from foretrain.training.phases import PHASES
from foretrain.training.transformer import Modular, axes, check, inputs, labels, program, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, section 4.2 and appendix K"
COST = "4 min"
REFERENCES = ("liu2022",)
SEEDS = 10
AXES = {"decoder_learning_rate": (0.003, 0.01), "decoder_decay": (1.0, 0.0, 0.5, 2.0)}
_WIDE = {"symbols": 31, "embedding_dim": 64, "hidden_width": 128, "snapshots": 26}
_WIDEST = {"symbols": 53, "embedding_dim": 256, "hidden_width": 256, "snapshots": 30, "layers": 2}
_LONG = {"seeds": 6, "steps": 20_000, "observe_every": 100}
_ONE = _LONG | {"decoder_learning_rate": 0.001, "decoder_decay": 1.0, "compared": False}
_CELL = {"decoder_decay": 3.0, "extension": 3.0, "embedding_learning_rate": 0.001, "seeds": 3}
_MAP = {
    "decoder_learning_rate": (0.001, 0.0003, 0.003),
    "decoder_decay": (1.0, 0.0, 0.3, 3.0, 10.0),
    "embedding_learning_rate": 0.001,
    "compared_rate": 0.001,
} | {"seeds": 6, "steps": 100_000, "observe_every": 500}
PRESETS = {"grok": _WIDE | _ONE, "paper": _WIDEST | _MAP, "paper-grok": _WIDEST | _ONE | _CELL}


@dataclass(frozen=True)
class Parameters(Modular):
    """The transformer, and the settings of the networks that are compared with it."""

    symbols: int = default(19)
    embedding_learning_rate: float = default(0.01)
    steps: int = default(4000)
    snapshots: int = default(20)
    compared: bool = parameter(True, "train dropout, few dimensions, toy models", sweepable=False)
    compared_rate: float = parameter(0.003, "the decoder's rate for them", above=0, sweepable=False)
    compared_decay: float = parameter(1.0, "the decay for dropout", minimum=0, sweepable=False)
    compared_dropout: float = parameter(
        0.3, "share that is dropped there", minimum=0, maximum=0.95, sweepable=False
    )
    compared_dim: int = parameter(
        4, "dimension of embeddings there", minimum=1, maximum=10**4, sweepable=False
    )


def variants(p):
    """Few dimensions, the toy model with one and with many; in one cell of the map dropout."""
    plain = p.architecture == "transformer" and not p.dropout
    if not (p.compared and plain and p.decoder_learning_rate == p.compared_rate):
        return {}
    toy = {"architecture": "toy", "operation": "addition", "symbols": 10, "init_scale": 0.3}
    dropout = {"dropout": p.compared_dropout}
    return {
        "narrow": {"embedding_dim": p.compared_dim, "seeds": 6},
        "toy": toy | {"embedding_dim": 1},
        "wide_toy": toy | {"seeds": 6},
        **({"dropout": dropout} if p.decoder_decay == p.compared_decay else {}),
    }


PAPER = "Liu et al. (2022), "
PAGE = "docs/studies/modular-transformer.md"
MAP = ("decoder_learning_rate", "decoder_decay")
COMPREHENSION, GROKKING, MEMORIZATION, _ = range(len(PHASES))


def planar(c):
    """Return True where transformers have embeddings with two principal axes."""
    return c.p.architecture == "transformer" and axes(c.p) >= 2


def has_comparisons(c):
    """Return True where other networks were trained at this rate."""
    return c.p.compared and c.p.decoder_learning_rate == c.p.compared_rate


LATE = {
    "along": MAP,
    "among": "runs that memorised first and generalised later; a seed's value is the mean over such cells of the map",
    "where": planar,
}
MAJORITY = {
    "inside": MOST,
    "why": "In most runs: ten that all agree show a share of at least .69, six .54.",
    "source": PAPER + "section 4.2",
}


def map_mean(c, values):
    """Return the mean over the cells of the map in which a seed generalised after it fitted, shape (seed,)."""
    return values.where(c.train_step < c.validation_step).mean(MAP)


def embedding(c, step):
    """Return the embeddings at the last snapshot not after a step, with dims symbol and coordinate."""
    place = (c.snapshot_step <= step).sum("snapshot") - 1
    return c.snapshot_embedding.isel(snapshot=place.clip(0))


def by_run(measure, *embeddings):
    """Return a measure of embeddings (..., symbol, coordinate), with the dims of the runs."""
    core = [["symbol", "coordinate"]] * len(embeddings)
    return xr.apply_ufunc(measure, *embeddings, input_core_dims=core)


def plane_shares(embedding, of):
    """Return the shares of the frequencies of an embedding on the two principal axes of another, (..., frequency)."""
    return frequency_shares(embedding @ principal_axes(of, 2).swapaxes(-1, -2))


def circle(embedding):
    """Return the largest share of one frequency in the plane of the two principal axes, shape (...,)."""
    return plane_shares(embedding, embedding).max(-1)


def final_share(start, end):
    frequency = np.nan_to_num(plane_shares(end, end)).argmax(-1)
    return np.take_along_axis(plane_shares(start, end), frequency[..., None], -1)[..., 0]


@cache
def chance(symbols, dim, draws=400):
    """Return the mean of `circle` over embeddings drawn from a normal law."""
    return float(circle(np.random.default_rng(0).standard_normal((draws, symbols, dim))).mean())


def three_circles(embedding):
    return np.sort(frequency_shares(embedding))[..., -3:].sum(-1)


def outlasts(c):
    return planar(c) and c.p.symbols >= 13 and not 0 <= c.p.extension < 1  # time for circles


def circle_delay(c):
    """Return log2 of the step of the circles over that of generalisation, the mean over the map, shape (seed,)."""
    share = by_run(three_circles, c.snapshot_embedding)
    formed = c.snapshot_step.where(share >= 0.9 * share.max("snapshot")).min("snapshot")
    return map_mean(c, np.log2(formed.clip(1) / c.validation_step))


def structure_at_the_start(c):
    share = by_run(final_share, embedding(c, 0), embedding(c, np.inf))
    return map_mean(c, share) * (c.p.symbols - 1) / 2


def final_axes_gap(c):
    accuracy, step = c.projected_accuracy.mean("rank"), c.snapshot_step
    gap = accuracy.sel(axes_of="final") - accuracy.sel(axes_of="current")
    between = (step >= c.train_step) & (step <= c.validation_step)
    return map_mean(c, gap.where(between).mean("snapshot"))


def fewest_axes(c):
    last = c.snapshot_step.notnull().sum("snapshot") - 1
    accuracy = c.projected_accuracy.sel(axes_of="final").isel(snapshot=last)
    enough = accuracy["rank"].where(accuracy >= c.p.accuracy_threshold, axes(c.p))
    return map_mean(c, enough.min("rank") / axes(c.p))


def forgetting(c):
    product = (c.axis(MAP[0]) * c.axis(MAP[1])).values
    steps = c.validation_step.values
    kept = np.isfinite(steps).all(2) & (product > 0)
    skip_if(len(np.unique(product[kept].round(12))) < 3, "fewer than three products of the two")
    return power(product[kept], np.maximum(steps[kept], 1))


def without_delay(c):
    grokked = (c.phase == GROKKING).values
    skip_if(grokked.sum() < 2, "fewer than two runs grok")
    return (c["dropout"].phase == COMPREHENSION).values[grokked]


def decay_helps(c, network=""):
    """Return True for seeds at which some decay makes a network generalise at least twice as soon as without decay."""
    decays = c.values("decoder_decay")
    skip_if(decays[0] or len(decays) < 2, "decay is not swept from zero")
    undecayed, *decayed = c[network].validation_step.fillna(np.inf).transpose("decoder_decay", ...)
    best = np.minimum.reduce(decayed)
    return np.isfinite(best) & (undecayed >= 2 * best)


CLAIMS = [
    claim(
        "decay-helps",
        "A certain amount of decay of the decoder speeds generalisation up.",
        decay_helps,
        along="decoder_decay",
        note="Share of seeds in which some decay halves the steps to generalisation, or gives any.",
        **MAJORITY,
    ),
    claim(
        "decay-and-dimension",
        "The embedding dimension makes the difference: decay helps a toy model of many dimensions, and neither that of one "
        "dimension nor a transformer of few.",
        lambda c: decay_helps(c, "wide_toy") & ~decay_helps(c, "toy") & ~decay_helps(c, "narrow"),
        along="decoder_decay",
        where=has_comparisons,
        **MAJORITY,
    ),
    *claim(
        "circle-at-the-end",
        "Generalisation comes with embeddings that form a circle on their first two principal axes.",
        lambda c: map_mean(c, by_run(circle, embedding(c, np.inf))),
        source=PAPER + "Fig. 1",
        near=1,
        inside=(0.8, 1),
        within=(0, 1),
        why="A regular polygon has all variance of its plane at one frequency; a fifth is left for the rest.",
        note="Largest share of a frequency at the end.",
        rank="headline",
        **LATE,
    ).and_corrected(
        "At the end most of the variance of the embeddings is at three frequencies: several circles, not one.",
        quantity=lambda c: map_mean(c, by_run(three_circles, embedding(c, np.inf))),
        source=PAGE,
        near=1,
        inside=(0.5, 1.0),
        why="Most is more than half; three of (p - 1)/2 equal shares are a third at p = 19.",
        note="Share of the three strongest frequencies, over all coordinates.",
        where=lambda c: planar(c) and c.p.symbols >= 13,
    ),
    *claim(
        "circles-in-time",
        "Circles are formed when the network generalises.",
        circle_delay,
        source=PAPER + "section 4.2",
        near=0,
        inside=(-0.5, 0.5),
        why="Half a doubling is between snapshots.",
        unit="doublings",
        note="log2 of the first step with nine tenths of the largest share of three frequencies, over that of generalisation.",
        **LATE | {"where": outlasts},
    ).and_corrected(
        "Circles go on to form after the network has generalised.",
        inside=(0.5, np.inf),
        source=PAGE,
    ),
    claim(
        "nothing-when-fitted",
        "When the training set is fitted the first two principal axes of the embeddings show no structure.",
        lambda c: (
            map_mean(c, by_run(circle, embedding(c, c.train_step)))
            / chance(c.p.symbols, c.p.embedding_dim)
        ),
        source=PAPER + "section 4.2",
        **tolerance(1, 0.5),
        why="In units of what normal embeddings give; a circle would have three times as much or more.",
        **LATE,
    ),
    claim(
        "entropy-peaks",
        "The entropy of the embeddings rises until generalisation, and falls afterwards.",
        lambda c: map_mean(c, c.effective_dimension.fillna(0).idxmax("step") / c.validation_step),
        source=PAPER + "Fig. 7, left",
        near=1,
        inside=(0.67, 1.5),
        why="The peak is flat: half a step of a logarithmic scale either way.",
        note="Step of the largest entropy over step of generalisation.",
        rank="headline",
        **LATE,
    ),
    claim(
        "structure-at-the-start",
        "Initial embeddings on the final two axes already show structure.",
        structure_at_the_start,
        source=PAPER + "Fig. 21",
        inside=(1.5, np.inf),
        why="In units of 2/(p - 1), the exact mean by chance, which varies by about .65 between seeds.",
        note="Share of the final frequency.",
        **LATE,
    ),
    claim(
        "final-axes-are-better",
        "On the final principal axes a network answers better than on as many axes of largest variance at the moment.",
        final_axes_gap,
        source=PAPER + "Fig. 22",
        inside=(0.0, 1),
        why="Better is above zero. Mean over ranks, and over snapshots from fitting to generalisation.",
        note="Difference of validation accuracies.",
        **LATE,
    ),
    claim(
        "few-axes",
        "Half of the principal axes are enough for accuracy at the end.",
        fewest_axes,
        source=PAPER + "Fig. 22",
        inside=(0, 0.5),
        why="The paper says the first few.",
        note="Fewest final axes with the accuracy wanted, over all; 1 where none of those looked at is enough.",
        **LATE,
    ),
    claim(
        "forgetting",
        "The step of generalisation goes as one over rate times decay of the decoder: the time in which decay forgets"
        " the start.",
        forgetting,
        source=PAGE,
        **tolerance(-1, 0.25),
        why="A quarter for the time that Adam takes to fit; were it decay or rate alone, it would be about -1/2.",
        along=MAP,
        among="cells in which every seed generalised",
        note="Slope of logarithms.",
    ),
    claim(
        "dropout-removes-delay",
        "With dropout networks that grok without it comprehend: the delay is gone.",
        without_delay,
        where=lambda c: has_comparisons(c) and c.p.decoder_decay == c.p.compared_decay,
        among="runs that grok without",
        rank="headline",
        **MAJORITY,
    ),
]
