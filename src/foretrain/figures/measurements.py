"""The figure of a study that computes on the host and declares none: every measured variable in a panel of its own."""

import numpy as np
import xarray as xr

from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Runs
from foretrain.quantities.curves import axis_label
from foretrain.quantities.panels import SCALES, FigureRow, Panel, figure, panel
from foretrain.vocabulary import FAILED, MISSING, STATE, in_order

_PANELS = 6
_OF_EVERY_RUN = ("outcome", "steps_taken")


def measurements(grid: Grid) -> FigureRow | None:
    """Declare the figure of the measured variables with at most one dim of their own; None where there is none.

    The variables that theory predicts come first, then the others in the order of their declaration; at most six are drawn.
    """
    data = grid.simulation
    known = {name: _panel(grid, name) for name in in_order(map(str, data.data_vars))}
    known = {name: variable for name, variable in known.items() if variable is not None}
    if not (chosen := sorted(known, key=lambda name: name not in grid.theory)[:_PANELS]):
        return None
    words = [f"{known[name].label}: {data[name].attrs.get('description', '')}" for name in chosen]
    seen = "Mean over seeds in a band of its 95% interval; points: single runs"
    seen += "; dashed: theory." if grid.theory.data_vars.keys() & chosen else "."
    left = f" Of {len(known)} variables {_PANELS} are drawn." if len(known) > _PANELS else ""
    panels, height = (known[name] for name in chosen), 3 * -(-len(chosen) // 2) + 0.6
    caption = f"{seen}{left} {' '.join(words)}"
    return figure("Measurements", caption, *panels, columns=2, height=height)


def _panel(grid: Grid, name: str) -> Panel | None:
    """Declare the panel of a variable; None where it is no measurement, or has several dims of its own."""
    array = grid.simulation[name]
    own = [dim for dim in array.dims if dim not in (*grid.axes, "seed") and array.sizes[dim] > 1]
    known = name not in _OF_EVERY_RUN and not name.startswith(STATE) and "step" not in array.dims
    if not known or len(own) > 1 or array.dtype.kind not in "fiub":
        return None
    swept = [axis for axis, values in grid.axes.items() if len(values) > 1]
    numeric = [axis for axis in swept if not isinstance(grid.axes[axis][0], str)]
    x = str(([*own, *numeric, *swept] or [""])[0])
    values = array.values[np.isfinite(array.values)]
    # Logarithmic where all is positive and spans decades; a zero within rounding has no place on such an ordinate.
    across = x in numeric and max(grid.axes[x]) >= 10 * min(grid.axes[x]) > 0
    up = bool(values.size) and 1e3 * values.min() < values.max() < 1e12 * values.min()
    return panel(
        lambda c: _known(c.simulation, name),
        x=x,
        by=next((axis for axis in swept if axis != x), None),
        scale=SCALES[across + 2 * up],
        label=axis_label(array),
        points=not own,
        theory=name in grid.theory,
        statistic="fraction" if array.dtype == bool else "mean",
        ylim=(-0.06, 1.06) if array.dtype == bool else None,
    )


def _known(runs: Runs, name: str) -> xr.DataArray:
    """Return a variable, nan where a run was lost: whole numbers and booleans have no nan of their own."""
    outcome = runs.get("outcome")
    return runs[name] if outcome is None else runs[name].where(~outcome.isin((MISSING, FAILED)))
