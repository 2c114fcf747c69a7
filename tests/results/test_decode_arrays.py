"""Whatever stands in a segment or a checkpoint, reading it ends in runs or in one line, also where the checksum fits."""

import hashlib
import io
import zipfile

import numpy as np
import pytest
from altered_files import HEADER, Told, little_memory, mutated, torn
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.engine import checkpoint
from foretrain.errors import ForetrainError
from foretrain.results import arrays
from foretrain.results.folding import Layout, fold_all
from foretrain.results.journal import Writer, scan, segments
from foretrain.results.segment import FinishedRun, parse
from foretrain.vocabulary import OUTCOMES


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
    with np.load(io.BytesIO(content), allow_pickle=False) as result:
        return {name: result[name] for name in result.files}


def sealed(result, comment=True):
    """An npz file of these arrays; the checksum of a segment is made to fit."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, **result)
    content = buffer.getvalue()
    return reseal(content[:-2] + (64).to_bytes(2, "little")) if comment else content


def reseal(content):
    return content + hashlib.sha256(content).hexdigest().encode()


@pytest.fixture(scope="module")
def segment(tmp_path_factory):
    return Writer(tmp_path_factory.mktemp("a"), "w", "code").append(RUNS).read_bytes()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return checkpoint.write(tmp_path_factory.mktemp("b"), "w", IN_FLIGHT).read_bytes()


@st.composite
def mutated_members(draw, result):
    """Arrays of which up to two are changed in dtype, shape or values, left out or doubled."""
    result = dict(result)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(result)))
        values = result[name]
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
            others = ["loss", "curves/", "curves/a", "finals/loss/index", "x/y"]
            result[draw(st.sampled_from(others))] = values
        if change == "leave out":
            del result[name]
        else:
            result[name] = values
    return result


def check_segment(content, folder):
    """Reading the segment gives runs or damage, alike in every way of reading it."""
    with little_memory(content), Told("It ") as message:
        parse("w.npz", content)
    valid = not message.raised
    (folder / "journal").mkdir(exist_ok=True)
    (folder / "journal" / "w.npz").write_bytes(content)
    result = scan(folder)
    assert bool(result.damaged) != valid
    assert bool(result.identities) == valid
    assert {name for item in segments(folder) for name in item.identities} == set(result.identities)
    layout = Layout({}, 3, [((n,), run.identity) for n, run in enumerate(RUNS)], OUTCOMES)
    with Told("", ForetrainError):  # of variables that are not declared, or have other dims
        fold_all(folder, {"": layout}, memory=1e6)[""]


@pytest.mark.parametrize("altered", ["arrays", "bits", "header"])
@settings(max_examples=80)
@given(data=st.data())
def test_a_segment_whose_checksum_fits_is_read_or_named(segment, tmp_path_factory, altered, data):
    whole = members(segment)
    if altered == "bits":
        content = reseal(data.draw(torn(segment[:-64])))
    elif altered == "header":
        content = sealed({**whole, "header": np.frombuffer(data.draw(mutated(HEADER)), np.uint8)})
    else:
        content = sealed(data.draw(mutated_members(whole)))
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
        result = checkpoint.read(folder, dict.fromkeys("012", "w.npz"))
        assert set(checkpoint.find(folder).values()) <= {"w.npz"}
    assert all(run.step >= 0 for run in result.values())
    return result


def test_a_whole_checkpoint_is_read(saved, tmp_path):
    result = read_checkpoint(saved, tmp_path)
    for run in IN_FLIGHT:
        back = result[run.identity]
        assert back.step == run.step
        for leaf, expected in zip(back.state, run.state, strict=True):
            np.testing.assert_array_equal(leaf, expected)
        np.testing.assert_array_equal(back.curves["loss"], run.curves["loss"])
    assert checkpoint.find(tmp_path) == dict.fromkeys("012", "w.npz")


@settings(max_examples=100)
@given(data=st.data())
def test_a_checkpoint_with_flipped_bits_is_not_used_or_as_it_was(saved, tmp_path_factory, data):
    for run in read_checkpoint(data.draw(torn(saved)), tmp_path_factory.mktemp("folder")).values():
        expected = IN_FLIGHT[int(run.identity)]
        np.testing.assert_array_equal(run.state[0], expected.state[0])
        np.testing.assert_array_equal(run.curves["loss"], expected.curves["loss"])


@settings(max_examples=60)
@given(data=st.data())
def test_a_checkpoint_written_on_purpose_is_read_or_not_used(saved, tmp_path_factory, data):
    content = sealed(data.draw(mutated_members(members(saved))), comment=False)
    read_checkpoint(content, tmp_path_factory.mktemp("folder"))


def test_a_compressed_checkpoint_is_not_used(saved, tmp_path):
    assert read_checkpoint(compressed(saved), tmp_path) == {}
    assert checkpoint.find(tmp_path) == {}
