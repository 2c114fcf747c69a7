"""Whether bumps come from competition for a target. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.claims.claim import judge as judge_seeds
from foretrain.measures import competition
from foretrain.studies.bumps.cells_claims import OURS, mean, per_component, select, values
from foretrain.training.thread_claims import ALWAYS, POSITIVE, THREAD


def judge(cells) -> list[Claim]:
    """The sentences on competition, over the stable cells given."""
    claims = []
    for rank in (2, 10):
        for name in values(cells, "optimiser"):
            of = select(cells, rank=rank, optimiser=name)
            if of:
                claims += _shared(of, rank, f"[rank={rank}, optimiser={name}]")
    for name in values(cells, "optimiser"):
        where = f"[optimiser={name}]"
        claims += _matched(select(cells, rank=2, optimiser=name), where)
        claims += _within(select(cells, rank=10, optimiser=name), where)
    return claims


def _first(cell) -> np.ndarray:
    return per_component(cell, "first_target")


def _bumps(cell) -> np.ndarray:
    return per_component(cell, "component_bumps")


def _of_bumped(cell) -> np.ndarray:
    return competition.sharing_of_bumped(_first(cell), _bumps(cell))


def _excess(cell) -> np.ndarray:
    return competition.excess_sharing_of_bumped(_first(cell), _bumps(cell))


def _of_all(cell) -> np.ndarray:
    return competition.shares_first_target(_first(cell)).mean(1)


def _shared(cells, rank, where) -> list[Claim]:
    backed = mean(cells, lambda cell: competition.backed_off(_first(cell), _bumps(cell)))
    contested = "Fraction of targets first aligned with by two or more components, of which one at least has a bump."
    return [
        judge_seeds(
            f"bumps-need-competition{where}",
            "Bumps occur where two components first align with one target.",
            THREAD,
            mean(cells, _of_bumped),
            # "Is a sign of": nine bumps in ten.
            ALWAYS,
            predicted=1,
            note="Fraction of components with a bump that shared their first target; of all components "
            f"{np.nanmean(mean(cells, _of_all)):.2f} do.",
        ),
        judge_seeds(
            f"bumps-need-competition.corrected{where}",
            "Components with a bump share their first target more often than all do, but by far not always."
            if rank == 2
            else "Components with a bump share their first target little more often than all components do.",
            OURS,
            mean(cells, _excess),
            # Half of all components share: always would be .5 more. Little: less than a third of that.
            (1e-9, 0.4) if rank == 2 else (-0.15, 0.15),
            note="Fraction that shared, of all components with a bump minus of all components; spread over runs to "
            "first order.",
        ),
        judge_seeds(
            f"competition-makes-bumps{where}",
            "If two components grow towards the same target, one of them has to back off.",
            THREAD,
            backed,
            # "Has to": nine targets in ten.
            ALWAYS,
            predicted=1,
            note=contested,
        ),
        judge_seeds(
            f"competition-makes-bumps.corrected{where}",
            "If two components grow towards the same target, one of them usually backs off.",
            OURS,
            backed,
            # Usually: three targets in four.
            (0.75, 1),
            note=contested,
        ),
    ]


def _matched(cells, where) -> list[Claim]:
    cells = [cell for cell in cells if "exchanged" in cell.variants]
    if not cells:
        return []
    effect = mean(cells, _exchange_effect)
    note = (
        "Bumps of a run with a shared first target minus those of its partner without, the second component's "
        "overlaps with the two targets exchanged; pairs in which that decides, rank two."
    )
    return [
        judge_seeds(
            f"competition-matched{where}",
            "Whether two components first align with one target makes the difference between bump and no bump.",
            THREAD,
            effect,
            # The conjecture is one bump more in every pair; half of that is most of the difference.
            (0.5, np.inf),
            predicted=1,
            note=note,
        ),
        judge_seeds(
            f"competition-matched.corrected{where}",
            "Sharing a first target makes about half a bump more per pair.",
            OURS,
            effect,
            # Half a bump, by half of that.
            (0.25, 0.75),
            note=note,
        ),
    ]


def _exchange_effect(cell) -> np.ndarray:
    partner = (
        per_component(cell, name, "exchanged") for name in ("first_target", "component_bumps")
    )
    sharing, apart = competition.matched_bumps(_first(cell), _bumps(cell), *partner)
    return sharing - apart


def _within(cells, where) -> list[Claim]:
    if not cells:
        return []
    effect = lambda cell: competition.extra_bumps_of_sharing(_first(cell), _bumps(cell))  # noqa: E731
    return [
        judge_seeds(
            f"competition-within{where}",
            "At rank ten, too, components that share their first target have more bumps than those that do not.",
            THREAD,
            mean(cells, effect),
            # "More": any positive difference.
            POSITIVE,
            note="Bumps per component, sharing minus not, within a run.",
        )
    ]
