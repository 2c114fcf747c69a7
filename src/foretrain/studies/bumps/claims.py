"""Claims of the thread on bumps, on competition and on where components end, and what the flow from the start predicts."""

import numpy as np

from foretrain.quantities import competition
from foretrain.quantities.allowed import (
    FOUND,
    NOT_FOUND,
    POSITIVE,
    around,
    by_settings,
    over_settings,
)
from foretrain.quantities.learning_curves.steps import plateau_strengths
from foretrain.study import NotApplicable, PerSeed, claim
from foretrain.theory.factorization.first_target import random_mixture
from foretrain.training.factorization import THREAD, learning_rate

from .cells import (
    PAIR,
    STABLE,
    bumps,
    calm,
    first_and_bumps,
    matched_bumps,
    mean,
    per_component,
    proportion,
    stable,
)

OURS = "docs/studies/bumps.md"
CLOSE = 0.8  # alignment of a component that is primarily one target: cosines of .9
MEMORY = 10  # steps that Adam remembers, 1/(1 - beta_1)
FAST = 5.0  # relative rate of Adam from which its loss stops falling and oscillates
RATES = {"along": "relative_rate", **STABLE}
STARTS = {"along": ("init_scale", "relative_rate"), **STABLE}
ALL = {"along": ("optimizer", "init_scale", "relative_rate"), **STABLE}
NINE_IN_TEN = {"near": 1, "inside": (0.9, np.inf), "rank": "headline", **RATES}


def rank(*ranks):
    return lambda c: c.p.rank in ranks


def full(optimizer, small=None):
    """Return the cells of full rank with this optimizer, those of small starts alone or of others where asked for."""

    def where(c):
        of_scale = small is None or (c.p.init_scale < 1) == small
        return c.p.rank >= c.p.dimension and c.p.optimizer == optimizer and of_scale

    return where


def strengths(c, floor=0.0):
    """Return the strength of each run's strongest plateau above a share of its first loss, shape (seed,)."""
    return plateau_strengths(c.step.values, c.loss.transpose("seed", "step").values, floor=floor)


def adam_more(c):
    if not {"sgd", "adam"} <= set(c.values("optimizer")):
        raise NotApplicable("one of the two optimizers is not in the grid")
    sgd, adam = (calm(c, optimizer=name) for name in ("sgd", "adam"))
    rates = [
        ", ".join(dict.fromkeys(f"{one.p.relative_rate:g}" for one in cells)) or "none"
        for cells in (adam, sgd)
    ]
    note = f"Adam at relative rates {rates[0]}, descent at relative rates {rates[1]}."
    return PerSeed(mean(adam, bumps) - mean(sgd, bumps), note)


def varies_by_seed(c):
    # With less than a bump in twenty components the variance over the squared mean says only that bumps are rare.
    samples = [one for one in map(bumps, calm(c, relative_rate=1.0)) if one.mean() >= 0.05]
    if not samples:
        raise NotApplicable("there are hardly any bumps")
    return np.mean([(one / one.mean() - 1) ** 2 for one in samples], 0)


def first_as_predicted(one):
    first, predicted = (per_component(one, "first_target", of) for of in ("", "theory"))
    return (first == predicted).mean(1)


def first_as_of_signs(c):
    """Return the share of first targets that descent by signs has, too, at rates at which Adam forgets soon enough."""
    short = [one for one in calm(c) if MEMORY * learning_rate(one.p) <= one.p.dimension**-0.5]
    if not short:
        raise NotApplicable("no learning rate is small enough")
    pairs = [
        [per_component(one, *of) for of in (("first_target",), ("first_target_of_signs", "theory"))]
        for one in short
    ]
    return np.mean([(first == signs).mean(1) for first, signs in pairs], 0)


def bumps_as_predicted(one):
    predicted = per_component(one, "predicted_bumps", "theory") > 0
    return (predicted == (per_component(one, "component_bumps") > 0)).mean(1)


CLAIMS = [
    claim(
        "adam-more-bumps",
        "Adam makes more bumps than gradient descent.",
        adam_more,
        source=THREAD,
        inside=POSITIVE,
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
        proportion(lambda one: np.where(bumps(one) > 0, 1.0, 0.0)),
        source=THREAD,
        inside=(0.25, 0.75),
        why="Between a quarter of the runs and three quarters.",
        where=rank(2),
        note="Fraction of runs with a bump.",
        **STARTS,
    ),
    *claim(
        "one-target",
        "Usually each component grows primarily towards one target.",
        proportion(lambda one: (per_component(one, "final_alignment") >= CLOSE).mean(1)),
        source=THREAD,
        inside=(0.75, np.inf),
        why="Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four.",
        where=rank(2, 10),
        note="Fraction of components with final alignment of .8 or more.",
        **ALL,
    ).and_corrected(
        "At rank two and more a component is as close to a target as a uniformly random orthogonal mixture of all targets.",
        source=OURS,
        near=lambda c: random_mixture(c.p.rank, CLOSE),
        inside=lambda c: (
            around(random_mixture(2, CLOSE), 0.1) if c.p.rank == 2 else (-np.inf, 0.01)
        ),
        why="Two targets: one component in ten more or fewer. Many targets: next to none, as the mixture has.",
    ),
    *claim(
        "which-target-start",
        "A component first aligns with the target on which its growing overlap is largest at the start.",
        proportion(first_as_predicted),
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
        proportion(bumps_as_predicted),
        source="docs/theory/s-curves.md",
        why="Nine in ten: maxima that stand out by about .1 may be missed, or found.",
        where=lambda c: c.p.optimizer.startswith("sgd") and c.p.rank in (2, 10),
        note="Fraction of components of which it is rightly said whether they have a bump.",
        **NINE_IN_TEN,
    ),
    *claim(
        "competition-makes-bumps",
        "If two components grow towards the same target, one of them has to back off.",
        proportion(
            lambda one: competition.backed_off(*first_and_bumps(one, bumps="first_target_bumps"))
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
        lambda c: mean(calm(c), lambda one: np.subtract(*matched_bumps(one))),
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
        lambda c: over_settings(strengths(c)) if stable(c) else None,
        where=full("sgd"),
        **by_settings(THREAD, NOT_FOUND, **STABLE),
    ).and_corrected(
        "From starts smaller than the target descent has a plateau at full rank, too.",
        where=full("sgd", small=True),
        **by_settings(OURS, FOUND),
    ),
    *claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        lambda c: over_settings(strengths(c)),
        where=full("adam"),
        **by_settings(THREAD, FOUND),
    ).and_corrected(
        "From a start of the target's size Adam has no plateau at full rank above a tenth of the loss.",
        quantity=lambda c: over_settings(strengths(c, 0.1)),
        where=full("adam", small=False),
        **by_settings(OURS, NOT_FOUND),
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
    ),
]
