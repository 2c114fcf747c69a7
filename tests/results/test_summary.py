import json
import math
import subprocess
import sys
from dataclasses import fields, replace
from typing import get_args

import msgspec
import pytest
from made_claims import sample

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError
from foretrain.results import decode
from foretrain.results.summary import Summary, read_summary, write_summary
from foretrain.vocabulary import OUTCOMES

SUMMARY = Summary(
    study="routing",
    config={"domains": 7, "init_scale": 0.2},
    axes={"init_scale": (0.1, 0.2)},
    runs={"converged": 9, "failed": 1},
    failures={"abc": "the worker died three times"},
    claims=(
        sample(
            allowed=(0, math.inf),
            cell={"init_scale": 0.1, "mask": "circulant", "biases": True},
            left_out=1,
            along={"rank": (1, 3)},
        ),
        sample("infinite", math.inf, (-math.inf, 5), predicted=1.0),
    ),
    preset="quick",
    codes={"ab": 9, "": 1},
    problems=("Sentence `b` raised.",),
    looks=({"seeds": 3, "at": "2026-01-01", "hash": "0a", "seal": {"judges": "b"}},),
    remarks=("Reworded: b.",),
    history=("2 runs were kept.",),
    citations=("saxe2022",),
)


def test_what_is_written_is_read(tmp_path):
    write_summary(tmp_path, SUMMARY)
    # predicted is nan, which equals nothing, so the texts are compared
    assert repr(read_summary(tmp_path)) == repr(SUMMARY).replace("(0.1, 0.2)", "[0.1, 0.2]")


def test_it_is_plain_json_with_infinities_as_null_and_text_as_utf_8_can_hold_it(tmp_path):
    path = write_summary(tmp_path, replace(SUMMARY, failures={"a": "no file \udcff"}))
    assert read_summary(tmp_path).failures == {"a": "no file ?"}
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content["claims"][0]["allowed"] == [0.0, None]
    assert list(content)[:4] == ["schema", "study", "summary", "source"]


def test_what_is_read_is_what_a_summary_is():
    assert {item.name for item in msgspec.structs.fields(decode.StoredClaim)} == {
        item.name for item in fields(Claim)
    }
    assert get_args(decode.Outcome) == ("missing", *OUTCOMES)


def test_no_summary_is_named(tmp_path):
    with pytest.raises(FolderError, match=r"`folder` must hold results, but .* holds none"):
        read_summary(tmp_path)
    with pytest.raises(FolderError, match="does not exist"):
        read_summary(tmp_path / "nothing")


def test_versions_are_found_without_importing_what_has_them():
    code = (
        "import sys; from foretrain.results.summary import versions; print(*list(versions())[:2],"
        "{'jax', 'diffrax', 'optax', 'zarr'} & set(sys.modules))"
    )
    words = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert words == "python foretrain set()\n"
