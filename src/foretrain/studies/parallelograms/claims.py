"""Claims on parallelograms and accuracy; for the definitions see ``docs/theory/grokking.md``."""

import numpy as np

from foretrain.quantities.allowed import MOST, POSITIVE, SOME
from foretrain.quantities.frequency import frequency_shares
from foretrain.quantities.rank_correlation import rank_correlation
from foretrain.study import Exact, claim, skip_if
from foretrain.tasks.groups import training_sets
from foretrain.theory.grokking.parallelograms import fraction, ideal, implied, parallelograms_of
from foretrain.training.embedding import SLACK, accuracy, fractions, operation

PAPER = "Liu et al. (2022), "
ALONG = {"along": "training_size"}
HEADLINE = {"rank": "headline", **ALONG}
LATTICE = {"source": PAPER + "appendix E, Figs 11, 12", **ALONG}
BETTER = {"inside": POSITIVE, "why": "A difference that the seeds establish.", **ALONG}


def accuracy_gap(c, network=""):
    """Return the accuracy of a network less that which its parallelograms predict."""
    return accuracy(c, network) - c[network].end.predicted_accuracy


def above_ideal(c, above=0.0):
    """Return by how much the best run beats the ideal model, in accuracy or RQI, with more than this fraction of samples."""
    gaps = accuracy(c) - c.ideal_accuracy, c.end.rqi - c.ideal_rqi
    kept = [gap.where(fractions(c) > above, drop=True) for gap in gaps]
    skip_if(not kept[0].size, "no training set is so large")
    worst = [max(float(gap.max(skipna=False)), 0) for gap in kept]
    lucky = [int((gap > SLACK).sum()) for gap in kept]
    note = f"In accuracy {worst[0]:.3f}, {lucky[0]} runs; in RQI {worst[1]:.3f}, {lucky[1]} runs; of {kept[0].size}."
    return Exact(np.max(worst), note)


def undetermined(c):
    """Return why networks may have what no data say: these leave a tenth of the parallelograms open; else ""."""
    task = operation(c.p)
    least = min(n for n in c.values("training_size") if n > 20 / 55 * len(task.samples))
    share = fraction(ideal(task, training_sets(task, least, 200, np.random.default_rng(0)))).mean()
    return "" if share > 0.9 else f"{least} samples leave {1 - share:.0%} of parallelograms open"


def four(c, network):
    """Return the parallelograms that four numbers have at the end, and those that these imply, both bool (seed, 3)."""
    task = operation(type(c.p)(symbols=4, training_size=10))
    place = c[network].end.embedding.isel(training_size=0).transpose("seed", "symbol", "coordinate")
    own = parallelograms_of(place.values[:, :4], task, c.p.parallelogram_tolerance)
    return own, implied(task, own)


def order_told(c, similarity):
    """Return the rank correlation over training sizes of RQI and accuracy in the plane, less means over seeds, (seed,)."""
    both = c["plane"].end[similarity], accuracy(c, "plane")
    return rank_correlation(*((x - x.mean("seed")).transpose("seed", ...) for x in both))


def circle(c):
    """Return the largest share of the variance of the embeddings that one frequency has, with the dim seed."""
    place = c["circle"].end.embedding.isel(training_size=0)
    shares = frequency_shares(place.transpose("seed", "symbol", "coordinate").values)
    return place.seed.copy(data=shares.max(1))


CIRCLE_SHARE = (0.8, 1)
CLAIMS = [
    claim(
        "predicted-accuracy",
        "The accuracy that a representation predicts is the accuracy of the network.",
        lambda c: abs(accuracy_gap(c)).mean("training_size"),
        source=PAPER + "section 3.1, Fig. 3c",
        near=0,
        inside=lambda c: (0, 1 / operation(c.p).outcomes),
        why="Samples that no parallelogram reaches are answered by chance, one right in as many as there are labels.",
        note="Mean over training sizes of |predicted - real accuracy|, all samples counted.",
        **HEADLINE,
    ),
    *claim(
        "ideal",
        "No network is more accurate, or has more parallelograms, than the ideal model.",
        above_ideal,
        source=PAPER + "appendix E, eqs. (16), (17)",
        at_most=SLACK,
        why="A bound; rounding of shares.",
        note="Largest excess.",
        **HEADLINE,
    ).and_corrected(
        "With more than 20 of 55 samples no network is more accurate, or has more parallelograms, than the ideal model.",
        quantity=lambda c: above_ideal(c, 20 / 55),
        domain=undetermined,
        near=0,
        source="docs/studies/parallelograms.md",
    ),
    claim(
        "on-lattice",
        "A representation has all parallelograms that follow from those it has: it lies on the lattice.",
        lambda c: np.all([np.equal(*four(c, name)) for name in ("slow", "fast")], (0, 2)),
        near=1,
        inside=MOST,
        why="In most pairs of a slow and a fast run: two within delta imply a third only within twice that.",
        rank="control",
        **LATTICE,
    ),
    claim(
        "whole-lattice",
        "With every sample trained, networks still end in all five representations of four numbers.",
        lambda c: (
            5 - len({tuple(row) for network in ("slow", "fast") for row in four(c, network)[1]})
        ),
        at_most=0,
        domain=lambda c: "fewer than 40 runs may miss one of five" if c.seeds < 20 else "",
        why="A count.",
        note="Representations not found.",
        **LATTICE,
    ),
    claim(
        "slow-is-better",
        "A slow decoder makes better representations than a fast one.",
        lambda c: four(c, "slow")[0].mean(1) - four(c, "fast")[0].mean(1),
        note="RQI of four numbers with all ten samples, slow minus ten times as fast, same start.",
        source=LATTICE["source"],
        rank="headline",
        **BETTER,
    ),
    claim(
        "too-restrictive",
        "In the plane the accuracy of networks is above what their parallelograms predict.",
        lambda c: accuracy_gap(c, "plane").mean("training_size"),
        source=PAPER + "appendix D",
        note="Mean over training sizes of real - predicted accuracy.",
        **BETTER,
    ),
    *claim(
        "after-decoder",
        "In the plane, at a given training size, the RQI after the decoder tells the accuracy of a network better than the "
        "RQI of its embeddings.",
        lambda c: order_told(c, "decoder_rqi") - order_told(c, "rqi"),
        source=PAPER + "section 3.2",
        note="Rank correlation of RQI and accuracy, each less its mean over seeds, less that of the RQI of embeddings.",
        where=lambda c: len(c.values("training_size")) > 2,
        **BETTER,
    ).and_corrected(
        "In the plane, at a given training size, the RQI after the decoder tells the accuracy of a network as well as the RQI "
        "of its embeddings, to .2 of rank correlation.",
        near=0,
        inside=(-0.2, 0.2),
        source="docs/studies/parallelograms.md",
        why="A similarity that tells nothing of accuracy misses all of the rank correlation of RQI.",
    ),
    *claim(
        "circle",
        "Embeddings of addition modulo p lie on a circle.",
        circle,
        source=PAPER + "Fig. 2d",
        near=1,
        inside=CIRCLE_SHARE,
        within=(0, 1),
        why="Eleven random points in the plane have so much of their variance in one frequency once in 10,000 times.",
        note="Largest share of variance in one frequency.",
        **HEADLINE,
    ).and_corrected(
        "Some networks of addition modulo p put their embeddings on a circle, and others do not.",
        quantity=lambda c: circle(c) >= min(CIRCLE_SHARE),
        near=0.5,
        inside=SOME,
        statistic="fraction",
        within=None,
        source="docs/studies/parallelograms.md",
        why="Neither is rarer than one in ten; random points lie so once in 10,000 times.",
        note="Share of networks with that share of variance in one frequency.",
    ),
]
