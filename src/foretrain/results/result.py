"""A result as it is met from Python: simulation, theory and claims with their labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.claims.table import ClaimTable
from foretrain.errors import (
    FolderError,
    argument_error,
    nearest,
    path_argument,
    refuse_optimized_python,
)
from foretrain.results import metadata
from foretrain.results.claim_data import claims_dataset, claims_from_dataset
from foretrain.results.files import unreadable
from foretrain.results.store import NAME, open_tree

_VARIANTS = "variants"


@dataclass(frozen=True, repr=False)
class Result:
    """A study that was run.

    Attributes:
        path: Folder it lies in; None if it was never written.
        tree: Groups ``/simulation``, ``/variants/<name>``, ``/theory``, ``/fits`` and ``/claims``, of which any may be
            absent.
    """

    path: Path | None
    tree: xr.DataTree

    @property
    def simulation(self) -> xr.Dataset:
        """The trained networks: swept parameters and ``seed`` are coordinates, so ``.sel(init_scale=0.1)`` works."""
        return self._group("simulation")

    @property
    def theory(self) -> xr.Dataset:
        """The prediction, under the same names as the simulation; empty if the study predicts nothing."""
        return self._group("theory")

    @property
    def fits(self) -> xr.Dataset:
        """The fits to the runs; empty if nothing was fitted."""
        return self._group("fits")

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the further networks that were trained beside the main one."""
        return tuple(self.tree[_VARIANTS].children) if _VARIANTS in self.tree.children else ()

    def variant(self, name: str) -> xr.Dataset:
        """The runs of a further network, such as the decoupled start; raises `ArgumentError` if there is none."""
        if name not in self.variants:
            known = nearest(name, self.variants) if self.variants else "It has none."
            raise argument_error("name", "name a variant of the study", f"is `{name}`", known)
        return self._group(f"{_VARIANTS}/{name}")

    @property
    def claims(self) -> ClaimTable:
        """The judged sentences, as a table."""
        if "claims" not in self.tree.children:
            return ClaimTable()
        return ClaimTable(claims_from_dataset(self._group("claims"), self._where))

    @property
    def config(self) -> dict:
        """The configuration: study, parameters, axes, seeds."""
        return metadata.config(self.tree.attrs.get("config", "{}"), self._where)

    @property
    def _where(self):
        return "the result" if self.path is None else self.path / NAME

    def _group(self, name):
        return self.tree[name].to_dataset() if f"/{name}" in self.tree.groups else xr.Dataset()

    def __repr__(self):
        lines = [f"foretrain result: {self.config.get('study', 'unnamed study')}"]
        if self.path is not None:
            lines.append(f"  folder      {self.path}")
        for name, dataset in (("simulation", self.simulation), ("theory", self.theory)):
            if dataset.data_vars:
                sizes = ", ".join(f"{dim} {length}" for dim, length in dataset.sizes.items())
                names = [str(variable) for variable in dataset.data_vars]
                if len(names) > 8:
                    names[7:] = [f"... ({len(names)} in all)"]
                lines += [f"  {name:<11} {sizes}", f"              {', '.join(names)}"]
        if self.variants:
            lines.append(f"  variants    {', '.join(self.variants)}")
        lines.append(f"  {'claims':<11} {self.claims.tally() if self.claims else 'none'}")
        return "\n".join(lines)


def make_tree(
    *,
    simulation: xr.Dataset | None = None,
    variants: dict[str, xr.Dataset] | None = None,
    theory: xr.Dataset | None = None,
    fits: xr.Dataset | None = None,
    claims: Iterable[Claim] = (),
    attrs: dict | None = None,
) -> xr.DataTree:
    """Put the parts of a result into one tree.

    Variants stand beside the simulation, not below it: they may have other seeds and steps, and groups of a tree share
    the coordinates of those above them.
    """
    others = {f"{_VARIANTS}/{name}": data for name, data in (variants or {}).items()}
    parts = {"simulation": simulation, **others, "theory": theory, "fits": fits}
    parts["claims"] = claims_dataset(claims)
    groups = {f"/{name}": data for name, data in parts.items() if data is not None}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs or {}), **groups})


def open_result(path: str | Path, *, lazy: bool = False) -> Result:
    """Open the results in a folder.

    Args:
        path: The folder of results, or the ``results.zarr`` in it.
        lazy: If True, values are read when they are used, for results larger than memory.

    Raises:
        ArgumentError: `path` is no path.
        FolderError: there are no results.
        StoreError: the store is truncated, altered or not foretrain's.
    """
    refuse_optimized_python()
    folder = path_argument("path", path)
    if folder.name == NAME:
        folder = folder.parent
    try:
        there, holds = folder.exists(), (folder / NAME).exists()
    except OSError as error:
        raise unreadable(folder, error) from error
    if not there:
        raise FolderError(f"There is no folder {folder}.")
    if not holds:
        raise FolderError(f"{folder} holds no results of foretrain: there is no {NAME} in it.")
    return Result(folder, open_tree(folder / NAME, lazy=lazy))
