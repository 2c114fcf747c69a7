"""The best learning rate of a network of every width, from networks trained at several rates."""

from collections.abc import Sequence

import numpy as np

from foretrain.errors import ForetrainError, argument_error, real
from foretrain.explain.own_network import Training, batches, starts
from foretrain.explain.simulated import plain_run

_FEWEST = 5  # rates: a lowest loss among them has two neighbours on both sides


def rates_argument(rates: Sequence[float | str]) -> np.ndarray:
    """The rates that are to be tried, in a grid; refuses fewer than five and such as do not grow."""
    grid = np.array([real("rates", one, above=0) for one in rates])
    if len(grid) < _FEWEST or not (np.diff(grid) > 0).all():
        rule = f"be at least {_FEWEST} growing numbers"
        raise argument_error("rates", rule, f"is {grid.tolist()}")
    return grid


def best_rates(training: Training, many: int, grid: np.ndarray, width: int) -> np.ndarray:
    """The rate of the lowest loss from every start, shape (start,).

    The loss is the mean training loss over the last tenth of the steps; it counts as that at the start where it is larger or
    diverges. The rate is that of the vertex of a parabola in log loss and log rate, through the lowest loss and its two
    neighbours.

    Args:
        training: The network of this width; a schedule's largest rate becomes that of the grid.
        many: Number of starts.
        grid: As of `rates_argument`.
        width: Units, for what is raised.

    Raises:
        ForetrainError: The lowest loss is at an end of the grid, from more than a tenth of the starts.

    Cost: a gradient for every rate, start and step.
    """
    import jax

    drawn, rows = starts(training, many), batches(training, many)
    shape = training.learning_rates / training.learning_rates.max()
    last = max(1, training.steps // 10)

    @jax.jit
    def losses(rate):
        def one(start, seen):
            curve = plain_run(training, start, seen, rate * shape)[1]
            return curve[0], curve[-last:].mean()

        return jax.vmap(one)(drawn, rows)

    first, ends = np.array([losses(rate) for rate in grid]).transpose(1, 2, 0)  # (start, rate)
    ends = np.where(np.isfinite(ends), np.minimum(ends, first), first)
    lowest = ends.argmin(axis=1)
    for end, word in ((0, "smaller"), (len(grid) - 1, "larger")):
        if (lowest == end).mean() > 0.1:
            raise ForetrainError(
                f"The best rate of width {width} is {grid[end]:.3g}, an end of the grid: add {word} `rates`."
            )
    logs = np.log(grid)
    return np.exp([_vertex(logs, np.log(one), at) for one, at in zip(ends, lowest, strict=True)])


def slope_error(grid: np.ndarray, widths: Sequence[int]) -> float:
    """Half the 95% interval that the grid's rounding of every width's best rate leaves for the power of the width.

    Rounding to steps of h has the variance h² / 12, and the slope through points x that of a point over the sum of
    (x - mean x)².
    """
    gap, at = np.diff(np.log(grid)).max(), np.log(widths)
    return float(1.96 * gap / np.sqrt(12 * ((at - at.mean()) ** 2).sum()))


def _vertex(at, losses, lowest):
    """Where a parabola through the lowest loss and its neighbours is lowest; at an end of the grid that end."""
    if lowest in (0, len(at) - 1):
        return at[lowest]
    near = slice(lowest - 1, lowest + 2)
    square, linear, _ = np.polyfit(at[near] - at[lowest], losses[near], 2)
    return at[lowest] - (linear / (2 * square) if square > 0 else 0.0)
