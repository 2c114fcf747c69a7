"""Whatever stands in a file of a folder of results, reading it ends in a value or in one line that names the file.

Valid files are mutated: bits flipped, ends cut, values of another type put in, entries left out; where a checksum would
notice, it is made to fit again, as somebody could who writes such a file on purpose.
"""

import copy
import hashlib
import io
import json
import shutil
import tracemalloc
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.engine import checkpoint
from foretrain.errors import FolderError, ForetrainError, StoreError
from foretrain.results import arrays, decode, journal
from foretrain.results import store as store_module
from foretrain.results.folding import Layout, fold
from foretrain.results.journal import FinishedRun, Writer, scan
from foretrain.results.manifest import read_manifest
from foretrain.results.result import open_result
from foretrain.results.summary import read_summary
from foretrain.vocabulary import OUTCOMES

PLAN = {
    "schema": 2,
    "study": "routing",
    "parameters": {"domains": 7, "init_scale": 0.1, "mask": "circulant", "level_weights": [1, 2]},
    "axes": {"init_scale": [0.1, 0.2], "mask": ["band", "circulant"]},
    "seeds": 10,
    "root_seed": 0,
    "where": "./mine.py",
}
MANIFEST = {
    "schema": 2,
    "plan": PLAN,
    "versions": {"python": "3.11"},
    "lanes": {"default": 5},
    "seal": {"predicts": "ab12", "claims": {"a": ["b", "c"]}},
    "looks": [{"seeds": 10, "hash": "0a", "at": "2026-01-01", "seal": {"judges": "b"}}],
    "history": ["2 runs were kept"],
}
CLAIM = {
    "id": "zero-shot",
    "statement": "A statement.",
    "source": "eq. (1)",
    "predicted": None,
    "measured": 0.5,
    "uncertainty": [0.4, None],
    "allowed": [None, 1.0],
    "verdict": "holds",
    "seeds": 10,
    "cell": {"init_scale": 0.1},
    "along": {"rank": [1, 3]},
}
SUMMARY = {
    "schema": 2,
    "study": "routing",
    "config": PLAN["parameters"],
    "axes": PLAN["axes"],
    "seeds": 10,
    "runs": {"converged": 9, "failed": 1},
    "failures": {"ab": "it broke"},
    "claims": [CLAIM, {**CLAIM, "id": "b"}],
    "looks": MANIFEST["looks"],
    "citations": ["saxe2022"],
}
ROOT = {
    "attributes": {
        "schema": 2,
        "config": json.dumps(PLAN),
        "hash": "abc",
        "seeds": 10,
        "root_seed": 0,
        "versions": "{}",
        "device": "cpu",
        "label_names": {"/": [], "/simulation": ["seed"]},
        "metadata_sha256": {"simulation/zarr.json": "ab", "simulation/loss/zarr.json": "cd"},
        "root_sha256": "ef",
    },
    "zarr_format": 3,
    "node_type": "group",
}
NODE = {
    "shape": [10, 126],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10, 126]}},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    "attributes": {"units": "1"},
    "node_type": "array",
}
HEADER = {"format": 1, "notes": {"0": "a note"}, "code": "ab12"}
HOLDER = {"host": "a", "pid": 12, "started": "34", "boot": "b", "namespace": "pid:[1]"}


def root_of(content, path):
    try:
        return decode.store_attributes(decode.store_root(content), path)
    except ValueError as error:  # which the store puts into its own line
        raise StoreError(f"{path}: {decode.line(error)}") from error


def node_of(content, path):
    try:
        return decode.store_node(content)
    except ValueError as error:
        raise StoreError(f"{path}: {decode.line(error)}") from error


# Kind of file: a valid content, and what decodes it.
KINDS = {
    "manifest": (MANIFEST, decode.manifest),
    "summary": (SUMMARY, decode.summary),
    "store root": (ROOT, root_of),
    "array": (NODE, node_of),
    "configuration": (
        PLAN,
        lambda content, path: decode.config(content.decode("utf-8", "replace"), path),
    ),
    "segment header": (HEADER, lambda content, path: decode.segment_header(content, 1)),
    "lock": (HOLDER, decode.holder),
}
DEEP = "<deep>"
ODD = st.sampled_from(
    [
        *(None, True, False, -1, 0, 1, 7, 10**9, 10**12, 10**30, -(10**30), 0.5, 1e308),
        *("", "text", "é\n\0", "1", "a" * 2000, DEEP),
        *([], {}, [[]], [1, 2, 3], {"a": {}}, [{}], {"": 1}),
    ]
)


def places(value, path=()):
    """The path of every value within a JSON value."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from places(one, (*path, key))


@st.composite
def mutated(draw, content):
    """The bytes of a JSON value in which up to three entries are replaced, left out or added, then bits are flipped."""
    whole = [copy.deepcopy(content)]
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from([(0, *path) for path in places(whole[0])]))
        parent = whole
        for key in path[:-1]:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "leave out", "add"]))
        if change == "replace" or len(path) == 1:
            parent[path[-1]] = copy.deepcopy(draw(ODD))
        elif change == "leave out":
            del parent[path[-1]]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(["schema", "plan", "new", "tolerance"]))] = copy.deepcopy(
                draw(ODD)
            )
        else:
            parent.append(copy.deepcopy(draw(ODD)))
    text = json.dumps(whole[0], ensure_ascii=draw(st.booleans()))
    depth = draw(st.sampled_from([10, 5000]))
    text = text.replace(json.dumps(DEEP), "[" * depth + "]" * depth)
    return draw(torn(text.encode()))


@st.composite
def torn(draw, content):
    """The bytes with a few of them flipped, or without their end."""
    found = bytearray(content)
    for _ in range(draw(st.integers(0, 2))):
        if found:
            found[draw(st.integers(0, len(found) - 1))] ^= 1 << draw(st.integers(0, 7))
    if draw(st.integers(0, 9)) == 0:
        del found[draw(st.integers(0, len(found))) :]
    return bytes(found)


@contextmanager
def little_memory(content):
    """Nothing larger than ten times the content may be allocated, but for what any decoding takes."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(content) + 500_000


class Told:
    """Whether a block ended in one line of foretrain's that names `name`."""

    def __init__(self, name, kinds=StoreError):
        self.name, self.kinds, self.said = name, kinds, False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.said = isinstance(error, self.kinds)
        if self.said:
            line = str(error)
            assert self.name in line
            assert "\n" not in line
            assert len(line) < 1000
        return self.said


@pytest.mark.parametrize("kind", KINDS)
def test_a_valid_file_is_decoded(kind):
    content, function = KINDS[kind]
    assert function(json.dumps(content).encode(), "the-file.json") is not None


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300)
@given(data=st.data())
def test_whatever_is_in_a_file_is_decoded_or_named(kind, data):
    content, function = KINDS[kind]
    mutant = data.draw(mutated(content))
    with Told("It " if kind == "segment header" else "the-file.json"):
        function(mutant, "the-file.json")


@pytest.mark.parametrize("kind", KINDS)
@given(content=st.binary(max_size=60))
def test_any_bytes_are_named(kind, content):
    with pytest.raises(StoreError):
        KINDS[kind][1](content, "the-file.json")


@settings(max_examples=30)
@given(manifest=mutated(MANIFEST), summary=mutated(SUMMARY))
def test_reading_a_folder_ends_in_a_value_or_a_line(tmp_path_factory, manifest, summary):
    folder = tmp_path_factory.mktemp("folder")
    (folder / "manifest.json").write_bytes(manifest)
    (folder / "summary.json").write_bytes(summary)
    for read in (read_manifest, read_summary):
        with Told(str(folder), (StoreError, FolderError)):
            read(folder)


KEPT = Path(__file__).parent.parent / "fixtures" / "store-v2"


def fit(store):
    """Make the checksums of a store fit what somebody has written into its metadata."""
    root = json.loads((store / "zarr.json").read_text())
    seal = root["attributes"]["metadata_sha256"]
    for name in seal:
        seal[name] = hashlib.sha256((store / name).read_bytes()).hexdigest()
    root["attributes"]["root_sha256"] = store_module._digest_of_root(root)
    (store / "zarr.json").write_text(json.dumps(root))


@settings(max_examples=25)
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
    for strict in (True, False):
        with Told(str(folder), (StoreError, FolderError)):
            result = open_result(folder, strict=strict)
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


# Segments and checkpoints


def finished(number):
    draw = np.random.default_rng(number)
    count = 1 + number
    return FinishedRun(
        identity=f"{number:032x}",
        outcome=1 + number,
        steps_taken=10 * number,
        steps=10 * np.arange(count),
        curves={"loss": draw.normal(size=count).astype(np.float32)},
        finals={"singular_values": draw.normal(size=2)},
        note="a note" if number else "",
    )


RUNS = [finished(number) for number in range(3)]
IN_FLIGHT = [
    checkpoint.InFlight(f"{n}", n, (np.ones(3), np.arange(2)), {"loss": np.arange(1.0 + n)})
    for n in range(3)
]


def members(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def sealed(found, comment=True):
    """An npz file of these arrays; the checksum of a segment is made to fit."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, **found)
    return (
        reseal(buffer.getvalue()[:-2] + (64).to_bytes(2, "little"))
        if comment
        else buffer.getvalue()
    )


def reseal(content):
    return content + hashlib.sha256(content).hexdigest().encode()


@pytest.fixture(scope="module")
def segment(tmp_path_factory):
    return Writer(tmp_path_factory.mktemp("a"), "w", "code").append(RUNS).read_bytes()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return checkpoint.write(tmp_path_factory.mktemp("b"), "w", IN_FLIGHT).read_bytes()


@st.composite
def mutated_members(draw, found):
    """Arrays of which up to two are changed in dtype, shape or values, left out or doubled."""
    found = dict(found)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(found)))
        values = found[name]
        change = draw(st.sampled_from(["dtype", "shape", "value", "leave out", "cut", "rename"]))
        if change == "dtype":
            kind = draw(st.sampled_from(["f8", ">i8", "i4", "U3", "O", "S3", "M8[s]", "V4", "c16"]))
            values = np.zeros(values.shape, kind)
        elif change == "shape":
            values = values[None] if draw(st.booleans()) else values[..., None]
        elif change == "value" and values.size and values.dtype.kind in "iuf":
            values = values.copy()
            odd = draw(st.sampled_from([-1, 0, 1, 6, 127, 2**40, 2**62, -(2**62)]))
            with np.errstate(all="ignore"):
                place = draw(st.integers(0, values.size - 1))
                values.ravel()[place] = np.array(odd).astype(values.dtype)
        elif change == "cut":
            values = values[: draw(st.integers(0, len(values)))] if values.ndim else values
        elif change == "rename":
            other = draw(
                st.sampled_from(["loss", "curves/", "curves/a", "finals/loss/index", "x/y"])
            )
            found[other] = values
        if change == "leave out":
            del found[name]
        else:
            found[name] = values
    return found


def check_segment(content, folder):
    """Reading the segment gives runs or damage, alike in every way of reading it."""
    with little_memory(content), Told("It ") as told:
        journal.parse("w.npz", content)
    valid = not told.said
    (folder / "journal").mkdir(exist_ok=True)
    (folder / "journal" / "w.npz").write_bytes(content)
    found = scan(folder)
    assert bool(found.damaged) != valid
    assert bool(found.identities) == valid
    assert {run.identity for run in journal.read(folder)} == set(found.identities)
    layout = Layout({}, 3, [((n,), run.identity) for n, run in enumerate(RUNS)], OUTCOMES)
    with Told("", ForetrainError):  # of variables that are not declared, or have other dims
        fold(folder, layout, memory=1e6)


@settings(max_examples=150)
@given(data=st.data())
def test_a_segment_written_on_purpose_is_read_or_named(segment, tmp_path_factory, data):
    content = sealed(data.draw(mutated_members(members(segment))))
    check_segment(content, tmp_path_factory.mktemp("folder"))


@settings(max_examples=300)
@given(data=st.data())
def test_a_segment_with_flipped_bits_whose_checksum_fits_is_read_or_named(
    segment, tmp_path_factory, data
):
    content = reseal(data.draw(torn(segment[:-64])))
    check_segment(content, tmp_path_factory.mktemp("folder"))


@settings(max_examples=100)
@given(data=st.data())
def test_a_segment_with_another_header_is_read_or_named(segment, tmp_path_factory, data):
    header = data.draw(mutated(HEADER))
    content = sealed({**members(segment), "header": np.frombuffer(header, np.uint8)})
    check_segment(content, tmp_path_factory.mktemp("folder"))


@pytest.mark.parametrize(
    "shape",
    ["(1000000000000,)", "(3000000000, 0)", "(99999999999999999999,)", "(-1,)", "(1e3,)", "(3"],
)
def test_an_array_that_claims_to_be_large_takes_no_memory(shape):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    content = buffer.getvalue()
    header = content[10:-24].decode().rstrip()
    header = header.replace("(3,)", shape).ljust(len(content) - 34 - 1) + "\n"
    content = content[:8] + len(header).to_bytes(2, "little") + header.encode() + content[-24:]
    with little_memory(content), pytest.raises(ValueError, match="a member"):
        arrays.array(content)


def test_a_header_that_is_slow_to_match_or_would_be_evaluated_is_refused_at_once():
    for text in ("1" * 60_000, "1, " * 20_000, "(" * 60_000, "-" * 60_000):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({text}".encode()
        content = arrays.MAGIC + len(header).to_bytes(2, "little") + header
        with pytest.raises(ValueError, match="another header"):
            arrays.array(content)


def compressed(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def read_checkpoint(content, folder):
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "checkpoints" / "w.npz").write_bytes(content)
    with little_memory(content):
        found = checkpoint.read(folder, "w.npz", ["0", "1", "2"])
        assert set(checkpoint.find(folder).values()) <= {"w.npz"}
    assert all(run.step >= 0 for run in found.values())
    return found


def test_a_whole_checkpoint_is_read(saved, tmp_path):
    found = read_checkpoint(saved, tmp_path)
    for run in IN_FLIGHT:
        back = found[run.identity]
        assert back.step == run.step
        for leaf, expected in zip(back.state, run.state, strict=True):
            np.testing.assert_array_equal(leaf, expected)
        np.testing.assert_array_equal(back.curves["loss"], run.curves["loss"])
    assert checkpoint.find(tmp_path) == dict.fromkeys("012", "w.npz")


@settings(max_examples=300)
@given(data=st.data())
def test_a_checkpoint_with_flipped_bits_is_not_used_or_as_it_was(saved, tmp_path_factory, data):
    found = read_checkpoint(data.draw(torn(saved)), tmp_path_factory.mktemp("folder"))
    for run in found.values():
        expected = IN_FLIGHT[int(run.identity)]
        np.testing.assert_array_equal(run.state[0], expected.state[0])
        np.testing.assert_array_equal(run.curves["loss"], expected.curves["loss"])


@settings(max_examples=150)
@given(data=st.data())
def test_a_checkpoint_written_on_purpose_is_read_or_not_used(saved, tmp_path_factory, data):
    content = sealed(data.draw(mutated_members(members(saved))), comment=False)
    read_checkpoint(content, tmp_path_factory.mktemp("folder"))


def test_a_compressed_checkpoint_is_not_used(saved, tmp_path):
    assert read_checkpoint(compressed(saved), tmp_path) == {}
    assert checkpoint.find(tmp_path) == {}
