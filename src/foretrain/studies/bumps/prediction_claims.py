"""Bumps predicted run by run from the start, against chance, and what contests a target against what contests nothing."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities import competition
from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.measured import PerSeed
from foretrain.studies.bumps import cells
from foretrain.studies.bumps.cells import STABLE, first_and_bumps, mean, of_rank, proportion
from foretrain.training.factorization import THREAD

THEORY = "docs/theory/s-curves.md"
RATES: dict[str, Any] = {"along": ("relative_rate",), **STABLE}
HIT = "Fraction of components of which it is rightly said whether they have a bump"


def _descends(cell) -> bool:
    return cell.parameters.optimizer.startswith("sgd")


def _followed(one, name: str) -> np.ndarray:
    """What theory says of the components, shape (seed, component)."""
    count = cells.per_component(one, "component_bumps").shape[1]
    return one.theory[name].transpose("seed", "component").values[:, :count]


def _bumped(one) -> np.ndarray:
    return cells.per_component(one, "component_bumps") > 0


def _predicted(one) -> np.ndarray:
    return _followed(one, "predicted_bumps") > 0


def _hits(one) -> np.ndarray:
    return (_predicted(one) == _bumped(one)).mean(1)


def _beyond(one) -> np.ndarray:
    """Share of hits of a run's own prediction minus that of the other runs' predictions, shape (seed,)."""
    predicted, bumped = _predicted(one), _bumped(one)
    seeds = len(bumped)
    every = (predicted[None] == bumped[:, None]).mean(2)
    others = (every.sum(1) - np.diag(every)) / max(seeds - 1, 1)
    return np.diag(every) - others if seeds > 1 else np.full(seeds, np.nan)


def _on_first(one) -> tuple:
    """First targets, and bumps on these."""
    return first_and_bumps(one, bumps="first_target_bumps")


def bumps_beyond_chance(cell):
    of = of_rank(cell, 2, 10)
    found = mean(of, _beyond)
    if found is None or not of:
        return found
    hits = np.nanmean(mean(of, _hits))
    return PerSeed(found, f"Hits {hits:.3f}, by chance {hits - np.nanmean(found):.3f}.")


def sharing_predicts_bumps(cell):
    def hits(one):
        shares = competition.shares_first_target(_followed(one, "first_target"))
        return (shares == _bumped(one)).mean(1)

    return proportion(of_rank(cell, 2, 10), hits)


def contest_beyond_chance(cell):
    of = of_rank(cell, 2, 10)
    found = mean(of, lambda one: competition.excess_of_contested(*_on_first(one)))
    if found is None or not of:
        return found
    counts = np.array([[part.sum(0) for part in competition.pairs(*_on_first(one))] for one in of])
    number, bumped = counts.sum(0)
    if not number.all():
        return found
    contested, alone = bumped / number
    return PerSeed(found, f"Of those that contest {contested:.2f} do, of the others {alone:.2f}.")


CLAIMS = [
    claim(
        "bumps-predicted",
        "The flow from a run's own start predicts which components have a bump.",
        lambda c: proportion(of_rank(c, 2, 10), _hits),
        source=THEORY,
        near=1,
        inside=(0.9, np.inf),
        why="Nine in ten: maxima that stand out by about .1 may be missed, or found.",
        where=_descends,
        note=HIT + ".",
        **RATES,
        rank="headline",
    ),
    claim(
        "bumps-beyond-chance",
        "A run's own start predicts its bumps better than the starts of other runs do.",
        bumps_beyond_chance,
        source=THEORY,
        inside=POSITIVE,
        why="Better: by whatever the seeds establish.",
        note=HIT + ", minus that with the predictions for the other seeds, which is chance.",
        **RATES,
        rank="headline",
    ),
    claim(
        "sharing-predicts-bumps",
        "A component has a bump if and only if another component grows towards the same target from the start.",
        sharing_predicts_bumps,
        source=THREAD,
        near=1,
        inside=(0.9, np.inf),
        why='"Then you get this bump": nine components in ten.',
        where=_descends,
        note=HIT + " if those have one whose largest |a.x + b.y| is on a target that they share.",
        **RATES,
    ),
    claim(
        "contest-beyond-chance",
        "Of two components that first align with one target, one gives it up more often than of two that do not share"
        " a target.",
        contest_beyond_chance,
        source=cells.OURS,
        inside=POSITIVE,
        why="More often: by whatever the seeds establish.",
        note="Share of pairs of which one at least has a bump on its own first target, contesting minus not.",
        **RATES,
    ),
]
