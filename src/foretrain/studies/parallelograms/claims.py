"""What is claimed of parallelograms and accuracy; for the definitions see ``docs/theory/grokking.md``."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import MOST, POSITIVE
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.trajectory import at_end
from foretrain.theory import parallelograms
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import (
    SLACK,
    better_with_size,
    by_size,
    ends,
    swept_sizes,
    told_by_decoder,
)

PAPER = "Liu et al. (2022), "
OURS = "docs/studies/parallelograms.md"
LUCKY = 20 / 55  # share of samples up to which luck beats the ideal model, as others have seen
ALONG: dict[str, Any] = {"along": "training_size"}


def predicted_accuracy(cell):
    end = ends(cell.simulation, cell.parameters)
    return by_size(abs(end["predicted_accuracy"] - end["accuracy"])).mean(0)


def above_ideal(cell, name, above=0.0):
    """By how much the best run beats the ideal model, of all with more than this share of samples; None if there are none."""
    end = ends(cell.simulation, cell.parameters)
    few = np.array(cell.values("training_size")) <= above * len(operation(cell.parameters).samples)
    if few.all():
        return None
    gap = by_size(end[name] - end[f"ideal_{name}"])[~few]
    worst = np.array(cell.values("training_size"))[~few][gap.max(1).argmax()]
    lucky = int((gap > SLACK).any(1).sum())
    note = f"Largest excess, at {worst} samples; {int((gap > SLACK).sum())} of {gap.size} runs, at {lucky} sizes."
    return Exact(max(float(gap.max()), 0), note)


BOUND: dict[str, Any] = {
    "near": 0,
    "inside": (0, SLACK),
    "why": "A bound; rounding of shares.",
    **ALONG,
}


grows = better_with_size(PAPER + "Fig. 3b")


def four(cell, name):
    """Which parallelograms of four numbers are there at the end, bool (seed, 3); None where they were not trained."""
    if name not in cell.variants:
        return None
    task = operation(type(cell.parameters)(symbols=4, training_size=10))
    p, data = cell.parameters, at_end(cell.variants[name])["embedding"]
    data = data.isel(training_size=0).transpose("seed", "symbol", "coordinate")
    return parallelograms.parallelograms_of(
        data.values[:, :4], task, p.parallelogram_tolerance
    ), task


LATTICE: dict[str, Any] = {**ALONG, "source": PAPER + "appendix E, Figs 11, 12"}


def on_lattice(cell):
    if not (found := [both for name in ("slow", "fast") if (both := four(cell, name))]):
        return None
    closed = [(parallelograms.implied(task, held) == held).all(1) for held, task in found]
    return np.logical_and.reduce(closed)


def whole_lattice(cell):
    if not (found := [both for name in ("slow", "fast") if (both := four(cell, name))]):
        return None
    kinds = {tuple(row) for held, task in found for row in parallelograms.implied(task, held)}
    return Exact(5 - len(kinds), f"Representations not found, by {len(found[0][0])} seeds of each.")


def slow_is_better(cell):
    slow, fast = four(cell, "slow"), four(cell, "fast")
    return slow[0].mean(1) - fast[0].mean(1) if slow and fast else None


def too_restrictive(cell):
    if "plane" not in cell.variants:
        return None
    end = ends(cell.variants["plane"], cell.parameters)
    return by_size(end["accuracy"] - end["predicted_accuracy"]).mean(0)


def after_decoder(cell):
    if "plane" not in cell.variants or swept_sizes(cell) is None:
        return None
    return told_by_decoder(ends(cell.variants["plane"], cell.parameters))


def shares(embedding) -> np.ndarray:
    """Share of the variance of points in the plane, (..., symbol, 2), in frequency nu and -nu, nu = 1, 2, ...; (..., nu)."""
    spectrum = np.abs(np.fft.fft(embedding[..., 0] + 1j * embedding[..., 1])) ** 2
    half = np.arange(1, spectrum.shape[-1] // 2 + 1)
    both = spectrum[..., half] + np.where(2 * half == spectrum.shape[-1], 0, spectrum[..., -half])
    return both / spectrum[..., 1:].sum(-1, keepdims=True)


def circles(cell):
    """Runs of addition modulo p in the plane at their end, the same for every training size; None without any."""
    if "circle" not in cell.variants:
        return None
    return at_end(cell.variants["circle"].isel(training_size=0))


def circle(cell):
    if (end := circles(cell)) is None:
        return None
    place = end["embedding"].transpose("seed", "symbol", "coordinate").values
    right = int((end["validation_accuracy"].values >= cell.parameters.accuracy_threshold).sum())
    note = f"Largest share of variance in one frequency; {right} of {len(place)} runs generalise."
    return PerSeed(shares(place).max(1), note)


CLAIMS = [
    grows,
    claim(
        "predicted-accuracy",
        "The accuracy that a representation predicts is the accuracy of the network.",
        predicted_accuracy,
        source=PAPER + "section 3.1, Fig. 3c",
        near=0,
        inside=lambda cell: (0, 1 / operation(cell.parameters).outcomes),
        why="Samples that no parallelogram reaches are answered by chance: at most one in as many as there are labels is "
        "right.",
        note="Mean over training sizes of |predicted - real accuracy|, all samples counted.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "ideal-accuracy",
        "No network is more accurate than the ideal model.",
        lambda c: above_ideal(c, "accuracy"),
        source=PAPER + "appendix E, eq. (17)",
        **BOUND,
        rank="headline",
    ),
    claim(
        "ideal-rqi",
        "No network has more parallelograms than the ideal model.",
        lambda c: above_ideal(c, "rqi"),
        source=PAPER + "appendix E, eq. (16)",
        **BOUND,
        rank="headline",
    ),
    claim(
        "ideal-accuracy.corrected",
        "With more than 20 of 55 samples no network is more accurate than the ideal model.",
        lambda c: above_ideal(c, "accuracy", LUCKY),
        source=OURS,
        corrects="ideal-accuracy",
        **BOUND,
    ),
    claim(
        "ideal-rqi.corrected",
        "With more than 20 of 55 samples no network has more parallelograms than the ideal model.",
        lambda c: above_ideal(c, "rqi", LUCKY),
        source=OURS,
        corrects="ideal-rqi",
        **BOUND,
    ),
    claim(
        "on-lattice",
        "A representation has all parallelograms that follow from those it has: it lies on the lattice.",
        on_lattice,
        of=("slow", "fast"),
        near=1,
        inside=MOST,
        why="In most pairs of a slow and a fast run: two within delta imply a third only within twice that.",
        **LATTICE,
        rank="control",
    ),
    claim(
        "whole-lattice",
        "With every sample trained, networks still end in all five representations of four numbers.",
        whole_lattice,
        of=("slow", "fast"),
        near=0,
        inside=(0, 0),
        why="A count.",
        **LATTICE,
    ),
    claim(
        "slow-is-better",
        "A slow decoder makes better representations than a fast one.",
        slow_is_better,
        of=("slow", "fast"),
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="RQI of four numbers with all ten samples, slow minus ten times as fast, same start.",
        **LATTICE,
        rank="headline",
    ),
    claim(
        "too-restrictive",
        "In the plane the accuracy of networks is above what their parallelograms predict.",
        too_restrictive,
        source=PAPER + "appendix D",
        of="plane",
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Mean over training sizes of real - predicted accuracy.",
        **ALONG,
    ),
    claim(
        "after-decoder",
        "In the plane validation accuracy goes with the parallelograms after the decoder rather than with those "
        "before it.",
        after_decoder,
        source=PAPER + "appendix D; " + OURS,
        of="plane",
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        **ALONG,
    ),
    claim(
        "circle",
        "Embeddings of addition modulo p lie on a circle.",
        circle,
        source=PAPER + "Fig. 2d",
        near=1,
        inside=(0.8, 1),
        why="Eleven random points in the plane have so much of their variance in one frequency once in 10,000 times.",
        of="circle",
        **ALONG,
        rank="headline",
    ),
]
