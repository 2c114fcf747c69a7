"""The grid that claims and figures read: labelled runs of the networks and their theory, whole or cut into cells."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.claim import Scalar
from foretrain.errors import ForetrainError
from foretrain.quantities.learning_curves.settling import unsettled
from foretrain.streams import Seed
from foretrain.vocabulary import DIVERGED, FAILED, MISSING, OUT_OF_STEPS
from foretrain.words import cell_words

_ROUND_STEPS = [factor * 10**power for power in range(10) for factor in (1, 2, 5)]
_LOST = {MISSING: "missing", DIVERGED: "diverged", FAILED: "failed"}


class WithheldError(ForetrainError, TypeError):
    """The allowed interval or the prediction of a sentence depends on the runs."""


class _Withheld:
    """Stands for what was trained where only what is known before may be looked at."""

    def __getattr__(self, name):
        raise WithheldError(
            "What a sentence allows and predicts, and where, is fixed before the run: it cannot look at what was trained."
        )

    def __getitem__(self, name):
        return self.refused


@dataclass(frozen=True)
class Grid:
    """All that was run and predicted for a plan, or a part of it.

    Attributes:
        parameters: The study's ``Parameters``, every axis that is left at its first value.
        axes: Name of each axis that is left to its values; dims of the datasets in this order, before ``seed``.
        seeds: Number of seeds of the study's own network.
        root_seed: Root of the random streams.
        simulation: Runs of the study's own network.
        variants: Runs of the networks trained beside it, by name.
        theory: The predictions, with the dims of `simulation` (and ``seed`` where they differ by seed).
        fits: Constants fitted to the runs, and curves made with them.
        cell: Name of each axis that was cut to its value here.
    """

    parameters: Any
    axes: dict[str, tuple] = field(default_factory=dict)
    seeds: int = 1
    root_seed: int = 0
    simulation: Any = field(default_factory=xr.Dataset)
    variants: Any = field(default_factory=dict)
    theory: Any = field(default_factory=xr.Dataset)
    fits: Any = field(default_factory=xr.Dataset)
    cell: dict[str, Scalar] = field(default_factory=dict)

    def cells(self, keep: Collection[str] = ()) -> Iterator["Grid"]:
        """Every cell of the grid, the last axis fastest. Axes named in `keep` are not cut: they stay dims of the runs."""
        cut = {name: values for name, values in self.axes.items() if name not in keep}
        if not cut:
            yield self
            return
        for index in np.ndindex(*(len(values) for values in cut.values())):
            yield self._at(dict(zip(cut, index, strict=True)))

    def at(self, chosen: Mapping[str, Scalar]) -> "Grid":
        """The cell at these values of axes, and at the first value of every other axis."""
        places = {
            name: values.index(chosen[name]) if name in chosen else 0
            for name, values in self.axes.items()
        }
        return self._at(places) if places else self

    def _at(self, places: dict[str, int]) -> "Grid":
        chosen = {name: self.axes[name][place] for name, place in places.items()}
        return self._mapped(
            lambda data: _trimmed(data.isel(places, missing_dims="ignore")),
            parameters=dataclasses.replace(self.parameters, **chosen),
            axes={name: values for name, values in self.axes.items() if name not in places},
            cell={**self.cell, **chosen},
        )

    def _mapped(self, change, **fields) -> "Grid":
        return dataclasses.replace(
            self,
            simulation=change(self.simulation),
            variants=_Changed(self.variants, change),
            theory=change(self.theory),
            fits=change(self.fits),
            **fields,
        )

    def along(self, *axes: str) -> "Grid":
        """The grid with exactly these axes as first dims of every variable, of length one where they are not swept.

        Numbers ascend along an axis, text stays in its order. Axes that are swept and not named must have been cut.
        """
        left = [name for name in self.axes if name not in axes]
        if left:
            raise ValueError(f"Axes {left} must be cut before the grid is laid along {list(axes)}.")
        if not axes:
            return self
        values = {name: self.values(name) for name in axes}

        def laid(data):
            if not data.data_vars:
                return data
            for name in axes:
                if name not in data.dims:
                    data = data.drop_vars(name, errors="ignore").expand_dims({name: values[name]})
                elif list(data[name].values) != list(values[name]):
                    data = data.sel({name: list(values[name])})
            return data.transpose(*axes, "seed", ..., missing_dims="ignore")

        return self._mapped(laid, axes=values)

    def values(self, name: str) -> tuple:
        """Values of a parameter in the grid, one where it is not swept; numbers ascend, text stays in its order."""
        values = self.axes.get(name, (getattr(self.parameters, name),))
        return values if isinstance(values[0], str) else tuple(sorted(values))

    def first(self, keep: Collection[str] = ()) -> tuple["Grid", str]:
        """The part at the first value of every axis but `keep`, laid along these, with words for a caption ("" if none)."""
        cell = next(self.cells(keep)).along(*keep)
        chosen = {name: cell.cell[name] for name in self.axes if name in cell.cell}
        return cell, f" Drawn at {cell_words(chosen)}." if chosen else ""

    def by_seed(self, name: str) -> xr.DataArray:
        """A predicted or fitted variable with a dim ``seed``, repeated over it where it does not differ by seed."""
        values = self.fits[name] if name in self.fits else self.theory[name]
        return values if "seed" in values.dims else values.expand_dims(seed=self.seeds)

    def seed(self, number: int) -> Seed:
        """The seed of that number, for draws."""
        return Seed(self.root_seed, number)

    def ends(self) -> dict[str, tuple[Scalar, Scalar]]:
        """Name of each axis that is left to its first and last value."""
        return {name: (values[0], values[-1]) for name, values in self.axes.items()}

    def blind(self) -> "Grid":
        """The grid without what was trained: parameters, axes and theory only."""
        hidden = _Withheld()
        return dataclasses.replace(self, simulation=hidden, variants=hidden, fits=hidden)

    def network(self, name: str) -> Any:
        """Runs of the study's own network (""), or of a variant; empty if there is none in this cell."""
        return self.simulation if not name else self.variants.get(name, xr.Dataset())

    def lost(self, networks: Collection[str], *, diverged: bool = True) -> str:
        """Say which runs of these networks are missing, failed or, with `diverged`, diverged; "" if none are."""
        codes = tuple(code for code in _LOST if diverged or code != DIVERGED)
        return self._first_text(_lost, networks, codes)

    def unfinished(self, networks: Collection[str]) -> str:
        """Say which runs of these networks were cut off before they had settled; "" if none were."""
        return self._first_text(_unfinished, networks)

    @cached_property
    def _texts(self) -> dict[tuple, str]:
        return {}

    def _first_text(self, function: Callable[..., str], networks: Collection[str], *codes) -> str:
        """Return the first text that a function gives of a network; a cache of the function would keep the grid alive."""
        for name in networks:
            key = function, name, *codes
            if key not in self._texts:
                self._texts[key] = function(self, name, *codes)
            if self._texts[key]:
                return self._texts[key]
        return ""

    def equal_seeds(self, networks: Collection[str]) -> bool:
        """Return whether several seeds of one of these networks have the same loss, bit by bit: they are then one run."""
        return any(_equal(self.network(name)) for name in networks)


class _Changed(Mapping):
    """Runs of networks by name, each changed when it is first asked for: most that look at a cell read one or two of many."""

    def __init__(self, runs: Mapping[str, xr.Dataset], change: Callable):
        self._runs, self._change, self._done = runs, change, {}

    def __getitem__(self, name):
        if name not in self._done:
            self._done[name] = self._change(self._runs[name])
        return self._done[name]

    def __iter__(self):
        return iter(self._runs)

    def __len__(self):
        return len(self._runs)


def _trimmed(data: xr.Dataset) -> xr.Dataset:
    """The data without what is padding along a dim in all cells that are left, see `foretrain.results.labels.lengths`."""
    reached = {dim: f"{dim}_length" for dim in data.dims if f"{dim}_length" in data.variables}
    if not reached:
        return data
    data = data.isel({dim: slice(int(data[name].max())) for dim, name in reached.items()})
    return data.drop_vars([name for name in reached.values() if not data[name].dims])


def _lost(grid: Grid, network: str, codes: tuple[int, ...]) -> str:
    if network and network not in grid.variants:
        return f"no network `{network}` was trained"
    data = grid.network(network)
    if "outcome" not in data:
        return ""
    outcomes = data["outcome"].values
    counts = {_LOST[code]: int((outcomes == code).sum()) for code in codes}
    return ", ".join(f"{n} of {outcomes.size} runs {word}" for word, n in counts.items() if n)


def _unfinished(grid: Grid, network: str) -> str:
    """Say how many runs were cut off while still learning, with a number of steps to try; "" if none were."""
    data, steps = grid.network(network), getattr(grid.parameters, "steps", 0)
    if "outcome" not in data or "loss" not in data:
        return ""
    cut_off = data["outcome"].values == OUT_OF_STEPS
    if not cut_off.any():
        return ""
    loss = data["loss"].transpose(*data["outcome"].dims, "step").values
    number = int((unsettled(loss) & cut_off).sum())
    if not number:
        return ""
    # The next of 1, 2, 5, 10, ... that is at least twice as many steps.
    more = next((n for n in _ROUND_STEPS if n >= 2 * steps), 0) if steps else 0
    repair = f"; try --steps {more}" if more else ""
    return f"not finished: {number} of {cut_off.size} runs cut off while still learning{repair}"


def _equal(data: xr.Dataset) -> bool:
    if "loss" not in data or data.sizes.get("seed", 1) < 2 or data.sizes.get("step", 0) == 0:
        return False
    loss = data["loss"].transpose("seed", ...).values
    same = all(np.array_equal(row, loss[0], equal_nan=True) for row in loss[1:])
    return same and bool(np.isfinite(loss).any())
