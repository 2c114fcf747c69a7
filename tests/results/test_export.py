import errno
import importlib.util
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from foretrain.errors import ArgumentError, FolderError, ForetrainError
from foretrain.results import export as export_module
from foretrain.results.export import export_folder as export
from foretrain.results.result import make_tree, open_result
from foretrain.results.store import begin_tree

FOLDER = Path(__file__).parent.parent / "fixtures/store-v2"
RESULT = open_result(FOLDER)


def test_netcdf_holds_the_same_groups_and_values(tmp_path):
    pytest.importorskip("h5netcdf")
    pytest.importorskip("h5py")
    (path,) = export(FOLDER, "netcdf", tmp_path / "out" / "result.nc")
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        assert set(tree.children) == set(RESULT.tree.children)
        xr.testing.assert_equal(tree["simulation"].to_dataset().load(), RESULT.simulation)
        assert tree["claims"]["statement"].values.tolist() == [c.statement for c in RESULT.claims]
        assert tree.attrs["config"] == RESULT.tree.attrs["config"]
    assert os.listdir(path.parent) == ["result.nc"]


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_tables_are_long_one_for_each_set_of_dims(tmp_path, fmt):
    pytest.importorskip("pyarrow")
    paths = export(FOLDER, fmt, tmp_path / "tables")
    runs = ("learning_rate-seed-step", "learning_rate-seed")
    names = {f"{group}.{dims}" for group in ("simulation", "variants.single") for dims in runs}
    names |= {"theory.learning_rate-step", "claims.claim", "claims.claim-bound"}
    assert {path.name for path in paths} == {f"{name}.{fmt}" for name in names}
    frames = {p.stem: getattr(pd, f"read_{fmt}")(p) for p in paths}
    curves = frames["simulation.learning_rate-seed-step"]
    assert set(curves) == {"learning_rate", "seed", "step", "time", "loss"}
    assert len(curves) == int(np.isfinite(RESULT.simulation.loss).sum())
    for row in curves.itertuples():
        labels = {name: getattr(row, name) for name in ("learning_rate", "seed", "step")}
        stored = RESULT.simulation.sel(labels)
        # a float32 printed in decimal is the same float32
        assert np.float32(row.loss) == stored.loss
        assert row.time == stored.time
    assert list(frames["claims.claim"]["verdict"]) == ["holds", "holds"]
    assert len(frames["simulation.learning_rate-seed"]) == 6


@pytest.mark.parametrize(("fmt", "package"), [("netcdf", "h5netcdf"), ("parquet", "pyarrow")])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, fmt, package):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ForetrainError, match=rf"needs {package}.*foretrain\[export\]"):
        export(FOLDER, fmt, tmp_path / "x")


def test_an_unknown_format_is_named_and_nothing_overwritten(tmp_path):
    with pytest.raises(ArgumentError, match="`to` must be one of `netcdf`, `csv`, `parquet`"):
        export(FOLDER, "netcfd", tmp_path / "x")
    with pytest.raises(FolderError, match="exists and is not overwritten"):
        export(FOLDER, "csv", tmp_path)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export_module.os, "rename", full)
    with pytest.raises(FolderError, match="is full"):
        export(FOLDER, "csv", tmp_path / "tables")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_labels_that_differ_from_cell_to_cell_are_a_column_beside_their_position(tmp_path, fmt):
    pytest.importorskip("pyarrow")
    names = np.array([["m0", ""], ["m0", "m1"]], np.dtypes.StringDType())
    simulation = xr.Dataset(
        {
            "pair": (("width", "seed", "step", "mode"), np.arange(8.0).reshape(2, 1, 2, 2)),
            "last": (("width", "seed", "mode"), np.array([[[0.0, np.nan]], [[2.0, 3.0]]])),
        },
        {"width": [1, 2], "step": [0, 10], "mode": (("width", "mode"), names)},
    )
    simulation["pair"][0, :, :, 1] = np.nan
    begin_tree(tmp_path, make_tree(simulation=simulation))()
    export(tmp_path, fmt, tmp_path / "tables")
    read = pd.read_csv if fmt == "csv" else pd.read_parquet
    table = read(tmp_path / "tables" / f"simulation.width-seed-step-mode.{fmt}")
    rows = table[["width", "step", "mode", "mode_position", "pair"]].values.tolist()
    assert rows[:2] == [[1, 0, "m0", 0, 0.0], [1, 10, "m0", 0, 2.0]]
    assert rows[2:4] == [[2, 0, "m0", 0, 4.0], [2, 0, "m1", 1, 5.0]]
    assert rows[4:] == [[2, 10, "m0", 0, 6.0], [2, 10, "m1", 1, 7.0]]
    assert (tmp_path / "tables" / f"simulation.width-seed-mode.{fmt}").exists()
