import importlib.metadata
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from foretrain.claims.claim import judge
from foretrain.errors import FolderError, StoreError
from foretrain.results.summary import (
    Summary,
    count_outcomes,
    read_summary,
    versions,
    write_summary,
)

SUMMARY = Summary(
    study="routing",
    config={"domains": 7, "init_scale": 0.2},
    axes={"init_scale": (0.1, 0.2)},
    runs={"converged": 9, "failed": 1},
    failures={"abc": "the worker died three times"},
    claims=(judge("a", "A statement.", "eq. (1)", [1.0, 1.1], (0, math.inf)),),
    citations=("saxe2022",),
)


def test_what_is_written_is_read(tmp_path):
    write_summary(tmp_path, SUMMARY)
    back = read_summary(tmp_path)
    # predicted is nan, which equals nothing, so the texts are compared
    assert repr(back) == repr(SUMMARY).replace("(0.1, 0.2)", "[0.1, 0.2]")


def test_it_is_plain_json_with_infinities_as_null(tmp_path):
    path = write_summary(tmp_path, SUMMARY)
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content["claims"][0]["tolerance"] == [0.0, None]
    assert list(content)[:3] == ["study", "summary", "source"]


def test_what_a_newer_version_added_is_left_out(tmp_path):
    path = write_summary(tmp_path, SUMMARY)
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    assert read_summary(tmp_path).study == "routing"


@pytest.mark.parametrize("text", ["", "[]", '{"study": "a"}', '{"claims": [], "citations": []}'])
def test_a_truncated_or_foreign_summary_is_named(tmp_path, text):
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(StoreError, match=r"summary\.json is truncated or not a summary"):
        read_summary(tmp_path)


def test_no_summary_is_named(tmp_path):
    with pytest.raises(FolderError, match=r"Cannot read .*summary\.json: No such file"):
        read_summary(tmp_path)


def test_versions_are_those_installed_and_import_nothing():
    found = versions()
    assert found["numpy"] == np.__version__
    assert found["xarray"] == xr.__version__
    assert list(found)[:2] == ["python", "foretrain"]
    # summary itself needs xarray; jax and diffrax must stay unloaded
    code = (
        "import sys; from foretrain.results.summary import versions; versions();"
        "print({'jax', 'diffrax', 'optax', 'zarr'} & set(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"


def test_a_package_that_is_not_there_is_said_not_to_be(monkeypatch):
    def missing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert versions()["jax"] == "not installed"


def test_outcomes_are_counted_by_name():
    attrs = {"flag_values": [-1, 0, 1], "flag_meanings": "missing running converged"}
    dataset = xr.Dataset({"outcome": (("a", "seed"), np.array([[1, 1], [-1, 1]], np.int8), attrs)})
    assert count_outcomes(dataset) == {"missing": 1, "converged": 3}
