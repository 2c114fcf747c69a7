"""Results for other tools: netCDF, or long tables as CSV or Parquet."""

import contextlib
import importlib.util
import json
import os
import shutil
import uuid
from pathlib import Path

import xarray as xr

from foretrain.errors import FolderError, not_installed, one_of, path_argument
from foretrain.results.files import disk_errors
from foretrain.results.result import open_result

FORMATS = ("netcdf", "csv", "parquet")
_NEEDS = {"netcdf": ("h5netcdf", "h5py"), "parquet": ("pyarrow",)}


def export_folder(folder: str | Path, to: str, out: str | Path | None = None) -> list[Path]:
    """Write a folder of results for other tools.

    Args:
        folder: The folder.
        to: "netcdf": one file with the same groups; "csv" or "parquet": a folder of long tables, one per group and
            set of dims (``simulation.seed-step.csv``), with a column for each dim, label and variable. A
            dim whose labels differ from cell to cell has two: ``mode``, the label, and ``mode_position``, its place,
            from 0. Rows after the end of a run, where every variable is nan, are left out.
        out: File or folder to make; default beside the results.

    Returns:
        The files written.

    Raises:
        ArgumentError: the format is unknown, or what should be a path is none.
        ForetrainError: a package is missing.
        FolderError: there are no results, `out` exists, or the disk refuses it.

    Cost: tables are made in memory, one at a time; a long table repeats its labels in every row.
    """
    one_of("to", to, FORMATS)
    folder = path_argument("folder", folder)
    name = "results.nc" if to == "netcdf" else to
    path = folder / name if out is None else path_argument("out", out)
    for package in _NEEDS.get(to, ()):
        if importlib.util.find_spec(package) is None:
            raise not_installed(f"Export to `{to}`", package, "export")
    if path.exists():
        raise FolderError(f"{path} exists and is not overwritten. Try another name.")
    result = open_result(folder)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if to == "netcdf":
                groups = {node.path: node.to_dataset(inherit=False) for node in result.tree.subtree}
                plain = {name: _plain(dataset) for name, dataset in groups.items()}
                xr.DataTree.from_dict(plain).to_netcdf(temporary, engine="h5netcdf")
            else:
                _write_tables(result, to, temporary)
            os.rename(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # it was never made
            temporary.unlink() if to == "netcdf" else shutil.rmtree(temporary, True)
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _write_tables(result, fmt, folder):
    folder.mkdir()
    for node in result.tree.subtree:
        dataset = _plain(node.to_dataset())
        for dims in dict.fromkeys(variable.dims for variable in dataset.data_vars.values()):
            names = [name for name, v in dataset.data_vars.items() if v.dims == dims]
            part = dataset[names]  # with the labels of these dims alone
            part = part if dims else part.expand_dims("row")
            # Labels that differ from cell to cell have the name of their dim, which then counts positions.
            differing = {d: f"{d}_position" for d in dims if d in part.coords.keys() - part.indexes}
            part = part.rename_dims(differing)
            order = [differing.get(dim, dim) for dim in dims or ("row",)]
            frame = part.to_dataframe(dim_order=order)
            if "step" in dims:
                frame = frame.dropna(subset=names, how="all")
            group = node.path.strip("/").replace("/", ".")
            file = folder / f"{group}.{'-'.join(map(str, dims)) or 'scalar'}.{fmt}"
            frame = frame.reset_index()
            frame.to_csv(file, index=False) if fmt == "csv" else frame.to_parquet(file, index=False)


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Strings as Python objects and attributes without nesting, which every format can hold."""
    strings = {
        name: variable.astype(object)
        for name, variable in dataset.variables.items()
        if variable.dtype.kind in "TU"
    }
    nested = {k: json.dumps(v) for k, v in dataset.attrs.items() if isinstance(v, dict | bool)}
    coords = {name: strings.pop(name) for name in dataset.coords if name in strings}
    return dataset.drop_encoding().assign_attrs(nested).assign_coords(coords).assign(strings)
