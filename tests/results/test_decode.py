"""Whatever stands in a file of a folder of results, reading it ends in a value or in one line that names the file.

Valid files are mutated: bits flipped, ends cut, values of another type put in, entries left out; where a checksum would
notice, it is made to fit again, as somebody could who writes such a file on purpose.
"""

import json
import shutil
from pathlib import Path

import pytest
from altered_files import HEADER, MANIFEST, PLAN, Told, fit, little_memory, mutated
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.errors import FolderError, StoreError
from foretrain.results import decode, metadata
from foretrain.results.result import open_result
from foretrain.results.summary import parse

KEPT = Path(__file__).parent.parent / "fixtures" / "store-v2"
SUMMARY, ROOT, NODE = (
    json.loads((KEPT / name).read_bytes())
    for name in ("summary.json", "results.zarr/zarr.json", "results.zarr/simulation/loss/zarr.json")
)
SUMMARY |= {"config": PLAN["parameters"], "axes": PLAN["axes"], "looks": MANIFEST["looks"]}
SUMMARY |= {"failures": {"ab": "it broke"}, "citations": ["saxe2022"]}
SHA = {"simulation/zarr.json": "ab", "simulation/loss/zarr.json": "cd"}
ROOT["attributes"] |= {"config": json.dumps(PLAN), "metadata_sha256": SHA}
ROOT["attributes"]["label_names"] = {"/": [], "/simulation": ["seed"]}
HOLDER = {"host": "a", "pid": 12, "started": "34", "boot": "b", "namespace": "pid:[1]"}


def named(function):
    """The function of a content and a path, whose ValueError becomes a line that names the path, as in the store's own."""

    def decoder(content, path):
        try:
            return function(content, path)
        except StoreError:
            raise
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{path}: {decode.line(error)}") from error

    return decoder


# Kind of file: a valid content, and what decodes it.
KINDS = {
    "manifest": (MANIFEST, decode.manifest),
    "summary": (SUMMARY, parse),
    "store root": (ROOT, named(lambda text, path: metadata.attributes(json.loads(text), path))),
    "array": (NODE, named(lambda content, path: metadata.node(content))),
    "configuration": (
        PLAN,
        lambda text, path: metadata.config(text.decode("utf-8", "replace"), path),
    ),
    "segment header": (HEADER, lambda content, path: decode.segment_header(content, 1)),
    "lock": (HOLDER, lambda text, path: decode.decoded(decode.HOLDER, text, path, "a lock")),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100)
@given(data=st.data())
def test_whatever_is_in_a_file_is_decoded_or_named(kind, data):
    content, function = KINDS[kind]
    assert function(json.dumps(content).encode(), "the-file.json") is not None
    mutant = data.draw(mutated(content))
    with Told("It " if kind == "segment header" else "the-file.json"):
        function(mutant, "the-file.json")


ODD = {
    "manifest": [
        {"plan": []},
        {"plan": {**PLAN, "seeds": "ten"}},
        {"plan": {**PLAN, "seeds": 10**9}},
        {"plan": {**PLAN, "seeds": 10**6, "axes": {"a": [1] * 1000}}},
        {"plan": {**PLAN, "axes": {"a": []}}},
        {"plan": {**PLAN, "parameters": {"a": {"b": 1}}}},
        {"plan": {**PLAN, "root_seed": -1}},
        {"plan": {**PLAN, "where": "a\0b"}},
        {"plan": {key: PLAN[key] for key in PLAN if key != "study"}},
        {"lanes": {"default": 0}},
        {"lanes": {"default": 10**9}},
        {"lanes": [5]},
        {"looks": [3]},
        {"versions": {"python": 3}},
    ],
    "summary": [
        {"claims": [3]},
        {"claims": [{"id": "few-outputs"}]},
        {"config": []},
        {"axes": {"a": 3}},
        {"runs": {"exploded": 3}},
        {"runs": {"converged": -3}},
        {"seeds": 10**9},
        {"wall_time_s": "long"},
        {"citations": "a"},
        {"looks": [{"at": "now"}]},
    ],
}
TEXTS = {
    "manifest": ["", '{"plan": {"stu', "[1]", "{}", '{"name": "Web app"}', "[" * 10**5],
    "summary": ["", "[]", '{"study": "a"}', '{"claims": [], "citations": []}'],
}
NEWER = {
    "manifest": [{"schema": 3}, {"plan": {**PLAN, "schema": 3}}],
    "summary": [{"schema": 3, "claims": "blue"}],
    "store root": [{"attributes": {"schema": 3}}],
}
SAYS = {
    r"is (truncated or )?not a [^\n]*$": ODD,
    "is (truncated|not a)": TEXTS,
    r"was written with schema 3[^\n]*$": NEWER,
}


@pytest.mark.parametrize(
    ("says", "kind", "odd"),
    [(s, kind, odd) for s, table in SAYS.items() for kind in table for odd in table[kind]],
)
def test_a_file_that_is_truncated_foreign_out_of_bounds_or_newer_is_one_line_that_names_it(
    says, kind, odd
):
    content, function = KINDS[kind]
    text = odd if isinstance(odd, str) else json.dumps({**content, **odd})
    with pytest.raises(StoreError, match=rf"^the-file\.json {says}"):
        function(text.encode(), "the-file.json")


@pytest.mark.parametrize("kind", KINDS)
@given(content=st.binary(max_size=60))
def test_any_bytes_are_named(kind, content):
    with pytest.raises(StoreError):
        KINDS[kind][1](content, "the-file.json")


@pytest.mark.slow
@settings(max_examples=10)
@given(data=st.data())
def test_a_store_written_on_purpose_is_opened_or_named(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("folder")
    shutil.copytree(KEPT / "results.zarr", folder / "results.zarr")
    store = folder / "results.zarr"
    names = ["simulation", "simulation/loss", "simulation/outcome", "claims/id", "claims/allowed"]
    path = store / data.draw(st.sampled_from(["", *names])) / "zarr.json"
    path.write_bytes(data.draw(mutated(json.loads(path.read_bytes()))))
    if path.parent != store:
        fit(store)
    with Told(str(folder), (StoreError, FolderError)):
        result = open_result(folder)
        assert repr(result.config)
        assert len(result.claims) >= 0


LONG = 200_000
LARGE = {
    "lists in what is not known": json.dumps({**MANIFEST, "new": [[]] * LONG}),
    "lists for parameters": json.dumps({**MANIFEST, "plan": {**PLAN, "parameters": [[]] * LONG}}),
    "lists for a parameter": json.dumps(
        {**MANIFEST, "plan": {**PLAN, "parameters": {"a": [[]] * LONG}}}
    ),
    "one long text": json.dumps({**MANIFEST, "history": ["a" * LONG]}),
    "a long axis": json.dumps({**MANIFEST, "plan": {**PLAN, "axes": {"a": [0.125] * LONG}}}),
    "deep": json.dumps(MANIFEST)[:-1] + ', "new": ' + "[" * LONG,
    "deeper mappings": json.dumps(MANIFEST)[:-1] + ', "new": ' + '{"a":' * LONG,
}


@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE)
def test_a_manifest_takes_no_more_than_ten_times_its_size(content):
    content = content.encode()
    with little_memory(content):
        try:
            decode.manifest(content, "manifest.json")
        except StoreError:
            pass
