"""A cell as quantities read it: stored variables by name, alike for runs, variants and theory.

A *quantity* is a function of a `Cell` that gives one value per seed, or a curve per seed::

    lambda c: c.end.within / c.start.within        # the study's own network, last over first observation
    lambda c: c["flow"].conserved_drift            # a network trained beside it
    lambda c: c.loss - c.theory.loss               # the prediction

A claim judges a quantity and a panel of a figure draws it. Where a network was not trained or a variable was not stored in
a configuration, the quantity does not apply, and the machine knows so without being told.
"""

from typing import Any

import numpy as np
import xarray as xr

from foretrain.errors import nearest
from foretrain.quantities.measured import NotApplicable
from foretrain.quantities.trajectory import at_end
from foretrain.vocabulary import VocabularyError, lookup

THEORY, FITS = "theory", "fits"


class Runs:
    """Labelled runs of one network, or the theory of them: a variable by its name, ``runs.loss`` or ``runs["loss"]``.

    Everything else is that of the `xarray.Dataset`, such as ``runs.sizes``, ``runs.isel(...)``, ``"loss" in runs``.
    """

    def __init__(self, data: Any, network: str = "", reads: set[str] | None = None, at: str = ""):
        self._data, self._network, self._at = data, network, at
        self._reads = set() if reads is None else reads

    @property
    def start(self) -> "Runs":
        """The same variables at the first observation, without ``step``."""
        return Runs(self._data, self._network, self._reads, "start")

    @property
    def end(self) -> "Runs":
        """The same variables at the last observation of each run, without ``step``; nan for a run without any."""
        return Runs(self._data, self._network, self._reads, "end")

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            names = list(key)
            self._reads.update(self._read(name) for name in names)
            return self._placed(self._data[names])
        if key not in self._data:
            raise self._absent(key)
        self._reads.add(self._read(key))
        return self._placed(self._data[key])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._data:
            return self[name]
        try:
            return getattr(self._data, name)
        except AttributeError:
            raise self._absent(name) from None

    def _read(self, name: str) -> str:
        return f"{self._network}/{name}" if self._network else name

    def _absent(self, name: str) -> Exception:
        try:
            lookup(name)
        except VocabularyError:
            known = [str(variable) for variable in self._data.variables]
            return AttributeError(f"There is no variable `{name}`. {nearest(name, known)}".rstrip())
        return NotApplicable(f"`{self._read(name)}` is not stored here")

    def _placed(self, values: Any) -> Any:
        if not self._at or "step" not in values.dims:
            return values
        return at_end(values) if self._at == "end" else values.isel(step=0, drop=True)


class Cell:
    """A part of a grid, read by the names of its variables; see the module.

    Attributes:
        grid: The `foretrain.plans.grid.Grid`; what has no name here is looked up there, such as ``c.seeds``, ``c.seed(n)``,
            and then among the runs of the study's own network, such as ``c.loss``, ``c.start`` and ``c.end``.
        p: Parameters of the cell.
        reads: Variables that were read so far, such as ``"loss"``, ``"flow/loss"``, ``"theory/loss"``.
    """

    def __init__(self, grid: Any, network: str = ""):
        self.grid, self.reads = getattr(grid, "grid", grid), set()
        self.p, self._network = self.grid.parameters, network

    @property
    def simulation(self) -> Runs:
        """Runs of the study's own network, or of the network in whose place the cell is read (`of`)."""
        return self[self._network]

    @property
    def variants(self) -> dict[str, Runs]:
        """Runs of the networks trained beside it, by name."""
        return {name: self[name] for name in self.grid.variants}

    @property
    def theory(self) -> Runs:
        """The predictions."""
        return Runs(self.grid.theory, THEORY, self.reads)

    @property
    def fits(self) -> Runs:
        """Constants fitted to the runs, and curves made with them."""
        return Runs(self.grid.fits, FITS, self.reads)

    def __getitem__(self, network: str) -> Runs:
        """Runs of a network trained beside the study's own; ``""`` is the study's own."""
        if network == THEORY:
            return self.theory
        if network and network not in self.grid.variants:
            raise NotApplicable(f"no network `{network}` was trained")
        return Runs(self.grid.network(network), network, self.reads)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "grid":
            raise AttributeError(name)
        grid = self.grid
        return getattr(grid, name) if hasattr(grid, name) else getattr(self.simulation, name)

    def of(self, network: str) -> "Cell":
        """The same cell with another network, or ``"theory"``, in place of the study's own: a quantity reads alike from it."""
        cell = Cell(self.grid, network)
        cell.reads = self.reads
        return cell

    def axis(self, name: str) -> xr.DataArray:
        """Values of an axis along itself, shape (name,); of length one where it is not swept."""
        values = np.asarray(self.grid.values(name))
        return xr.DataArray(values, dims=name, coords={name: values}, name=name)

    def blind(self) -> "Cell":
        """The cell without what was trained."""
        return Cell(self.grid.blind())

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks of which a variable was read; the study's own where none was."""
        runs = {name.rpartition("/")[0] for name in self.reads} - {THEORY}
        return tuple(sorted({"" if name == FITS else name for name in runs})) or ("",)
