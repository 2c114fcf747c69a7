"""A grid that notes which variables are read from it, so that a claim finds the figure that draws what it judges."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import xarray as xr

from foretrain.plans.grid import Grid
from foretrain.quantities.cell import FITS, THEORY

_READS: set[str] = set()


@cache
def _kind(network: str) -> type:
    """Return a kind of dataset that notes what is read of it; selections and reductions of it are of that kind, too."""

    class Watched(xr.Dataset):
        __slots__ = ()

        def __getitem__(self, key):
            if isinstance(key, str) and key in self.data_vars:
                _READS.add(f"{network}/{key}" if network else key)
            return super().__getitem__(key)

    return Watched


def _watch(data: xr.Dataset, network: str) -> xr.Dataset:
    kind = _kind(network)
    return kind(dict(data.data_vars), dict(data.coords), data.attrs)


@contextmanager
def watched(grid: Grid) -> Iterator[tuple[Grid, set[str]]]:
    """Give the grid with datasets that note what is read, and the set of what was read: "loss", "flow/loss", "theory/loss"."""
    _READS.clear()
    yield (
        replace(
            grid,
            simulation=_watch(grid.simulation, ""),
            variants={name: _watch(data, name) for name, data in grid.variants.items()},
            theory=_watch(grid.theory, THEORY),
            fits=_watch(grid.fits, FITS),
        ),
        _READS,
    )
    _READS.clear()
