"""Bumps per component, cell by cell of a grid, as a table to print."""

import numpy as np
import xarray as xr

from foretrain.claims.claim import bootstrap_interval
from foretrain.measures.stability import is_stable

_ROWS, _COLUMN = ("rank", "init_scale", "optimiser"), "relative_rate"


def bumps_table(data: xr.Dataset) -> str:
    """Mean bumps per component with its 95% bootstrap interval over seeds, as a Markdown table.

    Args:
        data: ``simulation`` of a result of the study ``bumps``, swept over ``relative_rate`` and any
            of ``rank``, ``init_scale`` and ``optimiser``, and over nothing else.

    Returns:
        A row per rank, start scale and optimiser, a column per learning rate. A dagger marks cells
        in which training was not stable; a dash those of which no run has finished.
    """
    rows = [name for name in _ROWS if name in data.dims]
    rates = data[_COLUMN].values
    lines = [
        "| " + " | ".join([*rows, *(f"rate {rate:g}" for rate in rates)]) + " |",
        "|---" * (len(rows) + len(rates)) + "|",
    ]
    order = [*rows, _COLUMN, "seed", ...]
    counts = data["component_bumps"].transpose(*order).values
    losses = data["relative_loss"].transpose(*order).values
    for place in np.ndindex(counts.shape[: len(rows)]):
        names = [_plain(data[name].values[i]) for name, i in zip(rows, place, strict=True)]
        cells = [_cell(*pair) for pair in zip(counts[place], losses[place], strict=True)]
        lines.append("| " + " | ".join([*names, *cells]) + " |")
    return "\n".join(lines)


def _cell(counts, losses) -> str:
    known = np.isfinite(counts)
    samples = np.where(known, counts, 0).sum(1)[known.any(1)] / known.sum(1)[known.any(1)]
    if samples.size < 2:
        return "-"
    low, high = bootstrap_interval(samples)
    mark = "" if is_stable(losses) else " †"
    return f"{samples.mean():.2f} ({low:.2f} .. {high:.2f}){mark}"


def _plain(value) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)
