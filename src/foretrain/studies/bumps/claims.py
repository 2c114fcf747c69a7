"""Claims of the thread on bumps, competition and final targets, and predictions of the flow from the start."""

import numpy as np

from foretrain.quantities import allowed
from foretrain.quantities.bumps import backed_off, bumps_of_pairs
from foretrain.quantities.cell import Cell
from foretrain.quantities.curves import mean_of_known
from foretrain.quantities.learning_curves.steps import plateau_strengths
from foretrain.study import DIVERGED, PerSeed, claim, skip_if
from foretrain.theory.factorization.first_target import random_mixture
from foretrain.training.factorization import THREAD, learning_rate

OURS = "docs/studies/bumps.md"
CLOSE = 0.8  # alignment of a component that is primarily one target: cosines of .9
MEMORY = 10  # steps that Adam remembers, 1/(1 - beta_1)
FAST = 5.0  # relative rate of Adam from which its loss stops falling and oscillates
CHANCE = "alignments are as large by chance as what counts as a bump"
STABLE = {"among": "runs at stable learning rates"}
PAIR = ("", "exchanged")  # the study's own network, and its partner with overlaps exchanged
RATES = {"along": "relative_rate", **STABLE}
STARTS = {"along": ("init_scale", "relative_rate"), **STABLE}
ALL = {"along": ("optimizer", "init_scale", "relative_rate"), **STABLE}
SHARE = {"within": (0, 1)}
NINE_IN_TEN = {"near": 1, "inside": (0.9, np.inf), "rank": "headline", **SHARE, **RATES}


def stable(c):
    """Return True where no run diverged and half of the runs leave at most a percent of the loss and hardly rise again."""
    curves = c.relative_loss.transpose("seed", "step").values
    started = np.isfinite(curves[:, 0])
    diverged = (c.outcome.values == DIVERGED).any()
    return bool(started.any() and not diverged) and is_stable(curves[started])


def is_stable(losses, end: float = 0.01, rise: float = 0.1) -> bool:
    """Return True where no loss curve rises to its end, and their medians end low and rise little above what was reached.

    A condition on the end alone would let Adam pass, whose loss comes down and jumps up again above the stable range.
    Curves have shape (run, time), in units of the loss of a network that has learned nothing, nan after a run's end.
    """
    ends = [row[np.isfinite(row)][-1:] for row in losses]
    if not all(last.size and last[0] < row[0] for last, row in zip(ends, losses, strict=True)):
        return False
    rises = np.nanmax(losses - np.fmin.accumulate(losses, axis=1), axis=1)
    return bool(np.median(ends) <= end and np.median(rises) <= rise)


def stable_cells(c, **wanted):
    """Return the cells along the axes that are left in which training was stable and parameters are these."""
    return [
        cell
        for cell in map(Cell, c.cells())
        if all(getattr(cell.p, name) == value for name, value in wanted.items()) and stable(cell)
    ]


def per_component(c, name, network=""):
    """Return a variable of a network or of "theory", shape (seed, component), without padding to other cells' components."""
    values = c[network][name].transpose("seed", "component").values
    return values[:, : 2 if network == "exchanged" else c.p.components or c.p.rank]


def bumps(c):
    """Return bumps per component that is followed, shape (seed,)."""
    return per_component(c, "component_bumps").mean(1)


def matched_bumps(c):
    """Return the bumps of the run that shares a first target and of its partner without; nan where that decides nothing."""
    names = ("first_target", "component_bumps")
    return bumps_of_pairs(*(per_component(c, name, network) for network in PAIR for name in names))


def mean(cells, measure):
    """Return the mean over cells of a measure that gives one number per seed; nan where no cell gives one."""
    return mean_of_known(np.asarray([measure(cell) for cell in cells] or [[np.nan]], float))


def share(measure):
    """Return the quantity "mean over stable cells of a share of components or runs"."""
    return lambda c: mean(stable_cells(c), measure)


def rank(*ranks):
    return lambda c: c.p.rank in ranks


def full(optimizer, small=None):
    """Return the cells of full rank with this optimizer; of small starts alone, or of others, where `small` says so."""

    def where(c):
        of_scale = small is None or (c.p.init_scale < 1) == small
        return c.p.rank >= c.p.dimension and c.p.optimizer == optimizer and of_scale

    return where


def strengths(c, floor=0.0):
    """Return the strength of each run's strongest plateau above a share of its first loss, shape (seed,)."""
    return plateau_strengths(c.step.values, c.loss.transpose("seed", "step").values, floor=floor)


def adam_more(c):
    skip_if(not {"sgd", "adam"} <= set(c.values("optimizer")), "one optimizer is not in the grid")
    sgd, adam = (stable_cells(c, optimizer=name) for name in ("sgd", "adam"))
    rates = [
        ", ".join(dict.fromkeys(f"{cell.p.relative_rate:g}" for cell in cells)) or "none"
        for cells in (adam, sgd)
    ]
    note = f"Adam at relative rates {rates[0]}, descent at relative rates {rates[1]}."
    return PerSeed(mean(adam, bumps) - mean(sgd, bumps), note)


def varies_by_seed(c):
    # With less than a bump in twenty components the variance over the squared mean says only that bumps are rare.
    counts = map(bumps, stable_cells(c, relative_rate=1.0))
    samples = [count for count in counts if count.mean() >= 0.05]
    skip_if(not samples, "there are hardly any bumps")
    return np.mean([(count / count.mean() - 1) ** 2 for count in samples], 0)


def agreement(name, predicted):
    """Return the quantity "share of components of which theory says the same", of a variable and its prediction."""
    return lambda c: (per_component(c, name) == per_component(c, predicted, "theory")).mean(1)


def first_as_of_signs(c):
    """Return the share of first targets that descent by signs has as well, at rates at which Adam forgets soon enough."""
    cells = [
        cell for cell in stable_cells(c) if MEMORY * learning_rate(cell.p) <= cell.p.dimension**-0.5
    ]
    skip_if(not cells, "no learning rate is small enough")
    return np.mean([agreement("first_target", "first_target_of_signs")(cell) for cell in cells], 0)


def bumps_as_predicted(c):
    predicted = per_component(c, "predicted_bumps", "theory") > 0
    return (predicted == (per_component(c, "component_bumps") > 0)).mean(1)


CLAIMS = [
    claim(
        "adam-more-bumps",
        "Adam makes more bumps than gradient descent.",
        adam_more,
        source=THREAD,
        inside=allowed.POSITIVE,
        why="More, or fewer, by whatever the seeds establish.",
        along=("optimizer", "relative_rate"),
        note="Bumps per component, Adam minus descent, paired by seed.",
        rank="headline",
        **STABLE,
    ),
    claim(
        "varies-by-seed",
        "The number of bumps varies significantly by random seed.",
        varies_by_seed,
        source=THREAD,
        inside=(0.0625, np.inf),
        why="Significantly: a standard deviation of at least a quarter of the mean.",
        note="Variance over seeds of bumps per component over its squared mean, at the reference rates, where there are "
        ".05 or more.",
        **ALL,
    ),
    claim(
        "common-at-rank-2",
        "At rank two bumps are relatively common, though not in all runs.",
        share(lambda c: np.where(bumps(c) > 0, 1.0, 0.0)),
        source=THREAD,
        inside=(0.25, 0.75),
        why="Between a quarter of the runs and three quarters.",
        where=rank(2),
        note="Fraction of runs with a bump.",
        **SHARE,
        **STARTS,
    ),
    *claim(
        "one-target",
        "Usually each component grows primarily towards one target.",
        share(lambda c: (per_component(c, "final_alignment") >= CLOSE).mean(1)),
        source=THREAD,
        inside=(0.75, np.inf),
        why="Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four.",
        where=rank(2, 10),
        note="Fraction of components with final alignment of .8 or more.",
        **SHARE,
        **ALL,
    ).and_corrected(
        "At rank two and more a component is as close to a target as a uniformly random orthogonal mixture of all targets.",
        source=OURS,
        near=lambda c: random_mixture(c.p.rank, CLOSE),
        inside=lambda c: (
            allowed.around(random_mixture(2, CLOSE), 0.1) if c.p.rank == 2 else (-np.inf, 0.01)
        ),
        why="Two targets: one component in ten more or fewer. Many targets: next to none, as the mixture has.",
    ),
    *claim(
        "which-target-start",
        "A component first aligns with the target on which its growing overlap is largest at the start.",
        share(agreement("first_target", "first_target")),
        source=OURS,
        why="Nine in ten: overlaps that are nearly equal may be overtaken while they are small.",
        where=rank(2),
        note="Fraction of components whose first target is that of the largest |a.x + b.y| at the start.",
        **NINE_IN_TEN,
    ).and_corrected(
        "Under Adam a component first aligns with the target of descent by signs, which is Adam without memory, from the "
        "same start.",
        quantity=first_as_of_signs,
        inside=(0.75, np.inf),
        why="Half way from chance, one of two targets, to all: where two overlaps are nearly equal, what Adam remembers may "
        "decide.",
        where=lambda c: c.p.rank == 2 and c.p.optimizer == "adam",
        note="Fraction of components with the first target of descent by signs, over the learning rates at which the "
        f"{MEMORY} steps that Adam remembers move a vector by no more than its target's length.",
    ),
    claim(
        "bumps-predicted",
        "The flow from a run's own start predicts which components have a bump.",
        share(bumps_as_predicted),
        source="docs/theory/s-curves.md",
        why="Nine in ten: maxima that stand out by about .1 may be missed, or found.",
        where=lambda c: c.p.optimizer.startswith("sgd") and c.p.rank in (2, 10),
        note="Fraction of components of which it is rightly said whether they have a bump.",
        **NINE_IN_TEN,
    ),
    *claim(
        "competition-makes-bumps",
        "If two components grow towards the same target, one of them has to back off.",
        share(
            lambda c: backed_off(
                per_component(c, "first_target"), per_component(c, "first_target_bumps")
            )
        ),
        source=THREAD,
        why='"Has to": nine targets in ten.',
        where=rank(2, 10),
        note="Fraction of targets first aligned with by two or more components, on which one of these at least has a bump.",
        **NINE_IN_TEN,
    ).and_corrected(
        "If two components grow from small starts towards the same target, one of them usually backs off.",
        source=OURS,
        inside=(0.5, np.inf),
        why="Usually: more often than not.",
        where=lambda c: c.p.init_scale < 1 and c.p.rank in (2, 10),
    ),
    *claim(
        "competition-matched",
        "Two components that first align with one target have a bump, and two that do not have none.",
        lambda c: mean(stable_cells(c), lambda cell: np.subtract(*matched_bumps(cell))),
        source=THREAD,
        near=1,
        inside=(0.5, np.inf),
        why="The conjecture is one bump more in every pair; half of that is most of the difference.",
        of=PAIR,
        where=rank(2),
        note="Bumps of a run with a shared first target minus those of its partner without, the second component's "
        "overlaps with the two targets exchanged; pairs in which that decides, rank two.",
        **STARTS,
    ).and_corrected(
        "A shared first target adds about half a bump per pair of components.",
        source=OURS,
        near=0.5,
        inside=(0.25, 0.75),
        why="Half a bump, by half of that.",
    ),
    *claim(
        "low-rank-needed",
        "At full rank gradient descent has no plateau.",
        lambda c: allowed.over_settings(strengths(c)) if stable(c) else None,
        where=full("sgd"),
        **allowed.by_settings(THREAD, allowed.NOT_FOUND, **STABLE),
    ).and_corrected(
        "From starts smaller than the target descent has a plateau at full rank, too.",
        where=full("sgd", small=True),
        domain=lambda c: "the plateau is too weak" * (c.p.init_scale**2 > 0.04 * c.p.target_scale),
        **allowed.by_settings(OURS, allowed.FOUND),
    ),
    *claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        lambda c: allowed.over_settings(strengths(c)),
        where=full("adam"),
        **allowed.by_settings(THREAD, allowed.FOUND),
    ).and_corrected(
        "From a start of the target's size Adam has no plateau at full rank above a tenth of the loss.",
        quantity=lambda c: allowed.over_settings(strengths(c, 0.1)),
        where=full("adam", small=False),
        **allowed.by_settings(OURS, allowed.NOT_FOUND),
    ),
    *claim(
        "adam-full-rank-bumps",
        "The plateau of Adam at full rank is a period in which many bumps form.",
        bumps,
        source=THREAD,
        inside=(0.5, np.inf),
        why="A lot: a bump for every second component.",
        where=full("adam"),
        note="Bumps per component at full rank under Adam.",
    ).and_corrected(
        "At full rank hardly a component has a bump under Adam in runs whose loss does not jump up again.",
        source=OURS,
        inside=(-np.inf, 0.1),
        why="Next to nothing is less than one component in ten.",
        where=lambda c: full("adam")(c) and c.p.relative_rate <= FAST,
        domain=lambda c: CHANCE * bool(c.p.prominence <= 2 * np.log(c.p.rank) / c.p.rank),
    ),
]
