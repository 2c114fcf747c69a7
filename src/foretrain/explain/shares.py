"""The gap between a theory and a run, taken apart: Shapley's value of every assumption that is given up.

A game gives a loss curve to every set of assumptions that are given up. Shapley's value of one of them is the mean, over all
orders of giving them up, of what it changes. The values of all add up to the gap, at every time and for every start; they
are signed and may cancel.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.explain.own_network import Training
from foretrain.explain.simulated import Corner, run_corner

# A gap below it, in the loss at the start, is not taken apart: its parts are rounding, substeps and chance.
FLOOR = 0.0025


@dataclass(frozen=True, eq=False)
class Cause:
    """One assumption and its part in the gap.

    Attributes:
        name: Of the assumption.
        values: Signed Shapley values over the loss at the start, shape (start, time).
        share: Largest size of its values over log time, over the sum of those of all causes, in percent, with its interval
            over starts; `each` the same of every start, shape (start,).
        alone: Largest change over log time where it alone is given up, over the loss at the start; mean over starts.
        last: The same where it alone is still kept.
    """

    name: str
    values: np.ndarray
    share: Interval
    each: np.ndarray
    alone: float
    last: float


@dataclass(frozen=True, eq=False)
class Shares:
    """A gap taken apart.

    Attributes:
        gap: Run minus theory over the loss at the start, shape (start, time).
        range: Largest size of the gap over log time, with its interval over starts.
        causes: One per assumption, the largest share first; none where the gap is below `FLOOR`.
        cancel: Sum of the largest sizes of all parts over that of the gap, means over starts: about 1 if nothing cancels.
    """

    gap: np.ndarray
    range: Interval
    causes: tuple[Cause, ...]
    cancel: float


def bounded(losses: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Losses over the loss at the start, and above it 2 - 1/that: at most 2, so that a curve that diverges stays comparable.

    `losses` are (start, time), `first` (start,). What is not finite is 2.
    """
    ratio = losses / first[:, None]
    ratio = np.where(np.isfinite(ratio), ratio, np.inf)
    return np.where(ratio > 1, 2 - 1 / np.maximum(ratio, 1), ratio)


def lost(losses: np.ndarray) -> np.ndarray:
    """The starts, of losses (start, time), from which a training diverges: it ends above twice the loss at its start."""
    return ~(losses[:, -1] <= 2 * losses[:, 0])


def largest_difference(losses: np.ndarray, run: np.ndarray) -> Interval:
    """Largest difference of curves from a run over log time, over its loss at the start, with its interval over starts.

    Both are (start, time); a loss above that at the start counts as `bounded` says.
    """
    first = run[:, 0]
    return interval(np.abs(bounded(losses, first) - bounded(run, first)).max(1))


def shapley(game: Mapping[frozenset, np.ndarray], players: Sequence[str]) -> dict[str, np.ndarray]:
    """Shapley's value of every player; `game` gives a number or an array to every set of players."""
    values, orders = dict.fromkeys(players, np.zeros(())), list(permutations(players))
    for order in orders:
        for at, player in enumerate(order):
            change = game[frozenset(order[: at + 1])] - game[frozenset(order[:at])]
            values[player] = values[player] + change / len(orders)
    return values


def shapley_shares(
    curves: Mapping[frozenset, np.ndarray], players: Sequence[str], first: np.ndarray
) -> Shares:
    """The gap between the curves of no player and of all, in shares.

    Args:
        curves: Losses of every set of players, shape (start, time) each.
        players: The assumptions that may be given up.
        first: Loss at the start, shape (start,).
    """
    game = {players_in: bounded(losses, first) for players_in, losses in curves.items()}
    nobody, everybody = game[frozenset()], game[frozenset(players)]
    gap = everybody - nobody
    span = interval(np.abs(gap).max(1))
    if span.measured < FLOOR:
        return Shares(gap, span, (), math.nan)
    values = shapley(game, players)
    sizes = {name: np.abs(value).max(1) for name, value in values.items()}
    whole = np.sum(list(sizes.values()), axis=0)
    causes = []
    for name in players:
        each = 100 * np.divide(sizes[name], whole, out=np.zeros_like(whole), where=whole > 0)
        alone = np.abs(game[frozenset({name})] - nobody).max(1).mean()
        last = np.abs(everybody - game[frozenset(players) - {name}]).max(1).mean()
        share = interval(each)
        share = replace(share, low=max(share.low, 0.0), high=min(share.high, 100.0))
        causes.append(Cause(name, values[name], share, each, float(alone), float(last)))
    causes.sort(key=lambda cause: -cause.share.measured)
    return Shares(gap, span, tuple(causes), float(whole.mean() / span.measured))


def gap_shares(training: Training, curves: Mapping[Corner, np.ndarray]) -> Shares:
    """The gap taken apart, by those of the assumptions that the training gives up; `curves` are losses (start, time)."""
    names = [name for name in Corner._fields if len({getattr(c, name) for c in curves}) > 1]
    game = {
        frozenset(name for name in names if getattr(corner, name)): losses
        for corner, losses in curves.items()
    }
    return shapley_shares(game, names, curves[run_corner(training)][:, 0])
