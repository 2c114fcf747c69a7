"""A grid that notes which variables are read from it, so that a claim finds the figure that draws what it judges.

Variables are noted as ``loss`` of the study's own network, ``flow/loss`` of a variant, ``theory/loss``, ``fits/loss``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import xarray as xr

from foretrain.quantities.cell import FITS, THEORY

_READS: set[str] = set()


@cache
def _kind(network: str) -> type:
    """Return a kind of dataset that notes what is read of it; selections and reductions of it are of that kind, too."""

    class Watched(xr.Dataset):
        __slots__ = ()

        def __getitem__(self, key) -> Any:
            for name in [key] if isinstance(key, str) else key if isinstance(key, list) else []:
                if name in self.data_vars:
                    _READS.add(f"{network}/{name}" if network else name)
            return super().__getitem__(key)

    return Watched


def _watch(data: xr.Dataset, network: str) -> xr.Dataset:
    every = _kind(network)({**data.variables}, attrs=data.attrs)
    return every.set_coords([*data.coords])


def newly_read() -> set[str]:
    """Return the variables of watched grids that were read since the last call."""
    variables = set(_READS)
    _READS.clear()
    return variables


@contextmanager
def watched(grid: Any) -> Iterator[Any]:
    """Give the grid with datasets that note which variables are read; `newly_read` returns the names of these."""
    _READS.clear()
    yield replace(
        grid,
        simulation=_watch(grid.simulation, ""),
        variants={name: _watch(data, name) for name, data in grid.variants.items()},
        theory=_watch(grid.theory, THEORY),
        fits=_watch(grid.fits, FITS),
    )
    _READS.clear()
