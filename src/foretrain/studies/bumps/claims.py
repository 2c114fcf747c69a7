"""What the thread says of bumps, of competition and of where components end, and whether it is so."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.plans.grid import Grid
from foretrain.quantities import competition
from foretrain.quantities.allowed import ALWAYS, POSITIVE, around
from foretrain.quantities.cell import Cell
from foretrain.quantities.measured import PerSeed
from foretrain.studies.bumps import cells
from foretrain.studies.bumps.cells import STABLE, bumps, calm, first_and_bumps, mean, proportion
from foretrain.studies.bumps.full_rank_claims import CLAIMS as FULL_RANK_CLAIMS
from foretrain.studies.bumps.prediction_claims import CLAIMS as PREDICTION_CLAIMS
from foretrain.theory.first_target import random_mixture
from foretrain.training.factorization import THREAD

CLOSE = 0.8  # alignment of a component that is primarily one target: cosines of .9

RATES: dict[str, Any] = {"along": ("relative_rate",), **STABLE}
STARTS: dict[str, Any] = {"along": ("init_scale", "relative_rate"), **STABLE}
ALL: dict[str, Any] = {"along": ("optimizer", "init_scale", "relative_rate"), **STABLE}


def _sides(cell: Cell | Grid, **wanted) -> Any:
    """Bumps per component of descent and of Adam, per seed, with a note; None if one of them is not in the grid."""
    if not {"sgd", "adam"} <= set(cell.values("optimizer")):
        return None
    sgd, adam = (calm(cell, optimizer=name, **wanted) for name in ("sgd", "adam"))
    note = f"Adam at {cells.rates(adam)}, descent at {cells.rates(sgd)}."
    return mean(sgd, bumps), mean(adam, bumps), note


def _adam_more(cell, **wanted):
    found = _sides(cell, **wanted)
    return found and PerSeed(found[1] - found[0], found[2])


OPTIMIZERS: dict[str, Any] = {"along": ("optimizer", "relative_rate"), **STABLE}
MORE: dict[str, Any] = {
    "inside": POSITIVE,
    "why": "More, or fewer, by whatever the seeds establish.",
    "note": "Bumps per component, Adam minus descent, paired by seed.",
    **OPTIMIZERS,
}


def adam_more_bumps_full_rank(cell):
    found = _sides(cell) if cell.parameters.rank >= cell.parameters.dimension else None
    return found and PerSeed(found[int(found[1].mean() > found[0].mean())], found[2])


def varies_by_seed(cell):
    # With less than a bump in twenty components the variance over the squared mean says only that bumps are rare.
    samples = [found for found in map(bumps, calm(cell, relative_rate=1.0)) if found.mean() >= 0.05]
    deviations = [(found / found.mean() - 1) ** 2 for found in samples]
    return np.mean(deviations, 0) if samples else None


def one_target(cell):
    close = lambda one: (cells.per_component(one, "final_alignment") >= CLOSE).mean(1)  # noqa: E731
    return proportion(cells.of_rank(cell, 2, 10), close)


def _as_mixed(cell):
    rank = cell.parameters.rank
    return around(random_mixture(rank, CLOSE), 0.1) if rank == 2 else (-np.inf, 0.01)


def _changes(cell, name):
    """Whether the second component's target changes when its starting overlaps do, at most of the stable rates."""

    def changed(one):
        own, other = (cells.per_component(one, name, partner)[:, 1] for partner in cells.PAIR)
        return (own != other).astype(float)

    share = mean(cells.of_rank(cell, 2), changed)
    return None if share is None else np.where(np.isfinite(share), share > 0.5, np.nan)


SYMMETRY: dict[str, Any] = {
    "near": 1,
    "inside": ALWAYS,
    "why": "Nine in ten: overlaps that are nearly equal may be overtaken.",
    "statistic": "fraction",
    "of": cells.PAIR,
    "note": "Fraction of pairs of runs in which the second component's target changes when its overlaps do.",
    **STARTS,
}


START: dict[str, Any] = {
    "source": cells.OURS,
    "note": "Fraction of components whose first target is that of the largest |a.x + b.y| at the start.",
    **RATES,
}


def which_target_start(cell):
    def as_predicted(one):
        found = cells.per_component(one, "first_target")
        predicted = one.theory["first_target"].transpose("seed", "component").values
        return (found == predicted[:, : found.shape[1]]).mean(1)

    return proportion(cells.of_rank(cell, 2), as_predicted)


def bumps_need_competition(cell):
    of = cells.of_rank(cell, 2, 10)
    if of is None:
        return None
    shares = mean(of, lambda one: competition.shares_first_target(first_and_bumps(one)[0]).mean(1))
    found = proportion(of, lambda one: competition.sharing_of_bumped(*first_and_bumps(one)))
    return PerSeed(found, f"Of all components {np.nanmean(shares):.2f} do." if of else "")


def _excess(cell, rank):
    of = cells.of_rank(cell, rank)
    return mean(of, lambda one: competition.excess_sharing_of_bumped(*first_and_bumps(one)))


EXCESS: dict[str, Any] = {
    "corrects": "bumps-need-competition",
    "note": "Fraction that shared, of all components with a bump minus of all components; spread over runs to first order.",
    **STARTS,
}


BACKED: dict[str, Any] = {
    "note": "Fraction of targets first aligned with by two or more components, on which one of these at least has a bump.",
    **RATES,
}


def competition_makes_bumps(cell):
    backed = lambda one: competition.backed_off(*first_and_bumps(one, bumps="first_target_bumps"))  # noqa: E731
    return proportion(cells.of_rank(cell, 2, 10), backed)


def competition_within(cell):
    of = cells.of_rank(cell, 10)
    return mean(of, lambda one: competition.extra_bumps_of_sharing(*first_and_bumps(one)))


_one_target = claim(
    "one-target",
    "Usually each component grows primarily towards one target.",
    one_target,
    source=THREAD,
    inside=(0.75, np.inf),
    why="Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four.",
    note="Fraction of components with final alignment of .8 or more.",
    **ALL,
)
_which_target_start = claim(
    "which-target-start",
    "A component first aligns with the target on which its growing overlap is largest at the start.",
    which_target_start,
    near=1,
    inside=(0.9, np.inf),
    why="Nine in ten: overlaps that are nearly equal may be overtaken while they are small.",
    **START,
    rank="headline",
)
_competition_makes_bumps = claim(
    "competition-makes-bumps",
    "If two components grow towards the same target, one of them has to back off.",
    competition_makes_bumps,
    source=THREAD,
    near=1,
    inside=(0.9, np.inf),
    why='"Has to": nine targets in ten.',
    **BACKED,
    rank="headline",
)
_competition_matched = claim(
    "competition-matched",
    "Two components that first align with one target have a bump, and two that do not have none.",
    lambda c: mean(cells.of_rank(c, 2), lambda one: np.subtract(*cells.matched_bumps(one))),
    source=THREAD,
    near=1,
    inside=(0.5, np.inf),
    why="The conjecture is one bump more in every pair; half of that is most of the difference.",
    of=cells.PAIR,
    note="Bumps of a run with a shared first target minus those of its partner without, the second component's "
    "overlaps with the two targets exchanged; pairs in which that decides, rank two.",
    **STARTS,
)


CLAIMS = [
    *FULL_RANK_CLAIMS,
    *PREDICTION_CLAIMS,
    claim(
        "adam-more-bumps",
        "Adam makes more bumps than gradient descent.",
        lambda c: _adam_more(c),
        source=THREAD,
        **MORE,
        rank="headline",
    ),
    claim(
        "adam-more-bumps.full-rank",
        "At full rank hardly a component has a bump under Adam or under gradient descent.",
        adam_more_bumps_full_rank,
        source=cells.OURS,
        inside=(-np.inf, 0.1),
        why="Hardly: one component in ten.",
        corrects="adam-more-bumps",
        note="The larger of the two means of bumps.",
        **OPTIMIZERS,
    ),
    claim(
        "adam-more-bumps-reference",
        "At the reference rates Adam makes more bumps than gradient descent.",
        lambda c: _adam_more(c, relative_rate=1.0),
        source=THREAD,
        **MORE,
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
        lambda c: proportion(cells.of_rank(c, 2), lambda one: np.where(bumps(one) > 0, 1.0, 0.0)),
        source=THREAD,
        inside=(0.25, 0.75),
        why="Between a quarter of the runs and three quarters.",
        note="Fraction of runs with a bump.",
        **STARTS,
    ),
    _one_target,
    _one_target.corrected(
        "At rank two and more a component is as close to a target as a uniformly random orthogonal mixture of all "
        "targets.",
        source=cells.OURS,
        near=lambda cell: random_mixture(cell.parameters.rank, CLOSE),
        inside=_as_mixed,
        why="Two targets: one component in ten more or fewer. Many targets: next to none, as the mixture has.",
    ),
    claim(
        "which-target",
        "With its starting overlaps exchanged, a component ends on the other of two targets.",
        lambda c: _changes(c, "final_target"),
        source=THREAD,
        **SYMMETRY,
    ),
    _which_target_start,
    _which_target_start.corrected(
        "Under Adam the start decides more often than chance with which target a component first aligns.",
        inside=(0.625, np.inf),
        why="Nearer to three in four than to chance, one half.",
        where=lambda cell: cell.parameters.optimizer.startswith("adam"),
        rank="detail",
    ),
    claim(
        "bumps-need-competition",
        "Bumps occur where two components first align with one target.",
        bumps_need_competition,
        source=THREAD,
        near=1,
        inside=(0.9, np.inf),
        why='"Is a sign of": nine bumps in ten.',
        note="Fraction of components with a bump that shared their first target.",
        **STARTS,
    ),
    claim(
        "bumps-need-competition.corrected",
        "At rank two components with a bump share their first target more often than all components do, but not "
        "always.",
        lambda c: _excess(c, 2),
        source=cells.OURS,
        inside=(1e-9, 0.4),
        why="Half of all components share: always would be .5 more.",
        **EXCESS,
    ),
    _competition_makes_bumps,
    _competition_makes_bumps.corrected(
        "If two components grow from small starts towards the same target, one of them usually backs off.",
        source=cells.OURS,
        inside=(0.5, np.inf),
        why="Usually: more often than not.",
        where=cells.starts_small,
        rank="headline",
    ),
    _competition_matched,
    _competition_matched.corrected(
        "A shared first target adds about half a bump per pair of components.",
        source=cells.OURS,
        near=0.5,
        inside=(0.25, 0.75),
        why="Half a bump, by half of that.",
    ),
    claim(
        "competition-within",
        "At rank ten components that share their first target have more bumps than components that do not.",
        competition_within,
        source=THREAD,
        inside=POSITIVE,
        why="More: any positive difference.",
        note="Bumps per component, sharing minus not, within a run.",
        **STARTS,
    ),
]
