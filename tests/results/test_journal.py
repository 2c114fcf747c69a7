import errno
import os

import numpy as np
import pytest
from altered_files import flip
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import FolderError
from foretrain.results import files
from foretrain.results.journal import Writer, forget, scan, segments
from foretrain.results.segment import FinishedRun, runs_of


def make_run(number, observations=3, *, width=2, dtype=np.float32, note=""):
    values = np.random.default_rng(number)
    return FinishedRun(
        identity=f"{number:032x}",
        outcome=1 + number % 4,
        steps_taken=10 * (observations - 1),
        steps=10 * np.arange(observations),
        curves={
            "loss": values.normal(size=observations).astype(dtype),
            "singular_values": values.normal(size=(observations, width)).astype(dtype),
        },
        finals={"final_loss": np.array(values.normal(), dtype)},
        note=note,
    )


def assert_same_run(run, other):
    for name in ("identity", "outcome", "steps_taken", "note"):
        assert getattr(run, name) == getattr(other, name)
    np.testing.assert_array_equal(run.steps, other.steps)
    for stored, expected in ((run.curves, other.curves), (run.finals, other.finals)):
        assert set(stored) == set(expected)
        for name in stored:
            mine, theirs = stored[name], np.asarray(expected[name])
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            assert mine.tobytes() == theirs.tobytes()


def read(folder):
    return [run for segment in segments(folder) for run in runs_of(segment)]


def segment_names(folder):
    return sorted(os.listdir(folder / "journal"))


arrays = st.sampled_from([np.float32, np.float64, np.int32, np.bool_])


@st.composite
def finished_runs(draw):
    """Runs of one segment: ragged, with variables missing here and there, infinite and undefined values."""
    dtypes = {name: draw(arrays) for name in ("a", "b")}
    runs = []
    for number in range(draw(st.integers(1, 4))):
        observations = draw(st.integers(0, 3))
        seed = np.random.default_rng(draw(st.integers(0, 2**32)))
        special = np.array([np.nan, -np.nan, np.inf, -0.0, 1.5])

        def values(shape, name, seed=seed, special=special):
            with np.errstate(invalid="ignore"):
                return seed.choice(special, size=shape).astype(dtypes[name])

        curves, finals = {}, {}
        if draw(st.booleans()):
            curves["a"] = values((observations, draw(st.integers(0, 2))), "a")
        if draw(st.booleans()):
            finals["b"] = values((draw(st.integers(0, 2)),), "b")
        outcome, taken = draw(st.integers(0, 5)), draw(st.integers(0, 2**40))
        steps, note = np.arange(observations), draw(st.text(max_size=5))
        runs.append(FinishedRun(f"run{number}", outcome, taken, steps, curves, finals, note))
    return runs


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@given(finished_runs())
def test_any_runs_are_read_back_to_the_bit(tmp_path_factory, runs):
    folder = tmp_path_factory.mktemp("journal")
    Writer(folder, "w").append(runs)
    for run, expected in zip(read(folder), runs, strict=True):
        assert_same_run(run, expected)


def test_mixed_precision_takes_the_wider_type_and_keeps_values(tmp_path):
    runs = [make_run(0, dtype=np.float32), make_run(1, 5, dtype=np.float64)]
    path = Writer(tmp_path, "w").append(runs)
    with np.load(path, allow_pickle=False) as members:  # a plain npz file
        assert all(members[name].dtype.kind in "biufcS" for name in members.files)
    first, second = read(tmp_path)
    assert first.curves["loss"].dtype == np.float64
    np.testing.assert_array_equal(first.curves["loss"], runs[0].curves["loss"])
    np.testing.assert_array_equal(second.curves["loss"], runs[1].curves["loss"])


def test_scan_lists_each_run_once_of_the_first_segment_by_name_with_outcome_and_note(tmp_path):
    Writer(tmp_path, "z").append([make_run(1, note="later by name"), make_run(2)])
    Writer(tmp_path, "w").append([make_run(0), make_run(1, note="worker died three times")])
    result = scan(tmp_path)
    assert result.identities == [f"{n:032x}" for n in (0, 1, 2)]
    np.testing.assert_array_equal(result.outcomes, [1, 2, 3])
    assert result.notes == {f"{1:032x}": "worker died three times"}
    assert result.damaged == {}


def test_a_second_writer_of_the_same_name_goes_on_counting(tmp_path):
    Writer(tmp_path, "w").append([make_run(0)])
    Writer(tmp_path, "w-1").append([make_run(1)])
    Writer(tmp_path, "w").append([make_run(2)])
    assert segment_names(tmp_path) == ["w-00000001.npz", "w-00000002.npz", "w-1-00000001.npz"]
    assert len(scan(tmp_path).identities) == 3


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.99])
def test_of_a_torn_segment_only_its_own_runs_are_missing(tmp_path, fraction):
    writer = Writer(tmp_path, "w")
    writer.append([make_run(0)])
    torn = writer.append([make_run(1), make_run(2)])
    writer.append([make_run(3, note="no file \udcff")])
    content = torn.read_bytes()
    torn.write_bytes(content[: int(fraction * len(content))])
    result = scan(tmp_path)
    assert result.identities == [f"{n:032x}" for n in (0, 3)]
    assert result.notes == {f"{3:032x}": "no file ?"}  # as UTF-8 can hold it
    assert list(result.damaged) == [torn.name]
    assert "torn, altered" in result.damaged[torn.name]
    assert [run.identity for run in read(tmp_path)] == result.identities


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_any_flipped_bit_is_noticed(tmp_path, stride):
    path = Writer(tmp_path, "w").append([make_run(0)])
    # Headers, data, the zip directory and the checksum itself.
    for position in [*range(0, path.stat().st_size, stride), -1]:
        flip(path, position)
        assert list(scan(tmp_path).damaged) == [path.name], position
        flip(path, position)
    assert scan(tmp_path).damaged == {}


def test_a_foreign_file_is_listed_and_does_no_harm(tmp_path):
    Writer(tmp_path, "w").append([make_run(0)])
    np.savez(tmp_path / "journal" / "mine.npz", weights=np.zeros(3))
    (tmp_path / "journal" / "empty.npz").touch()
    os.truncate(Writer(tmp_path, "endless").append([make_run(1)]), 2**42)  # takes no space
    (tmp_path / "journal" / "folder.npz").mkdir()
    (tmp_path / "journal" / "notes.txt").write_text("not looked at")
    result = scan(tmp_path)
    assert result.identities == [f"{0:032x}"]
    assert set(result.damaged) == {"mine.npz", "empty.npz", "endless-00000001.npz", "folder.npz"}


def test_left_overs_of_a_killed_writer_are_not_read_and_are_removed_by_the_next(tmp_path):
    Writer(tmp_path, "w").append([make_run(0)])
    left_over = tmp_path / "journal" / ".w-00000002.npz.123-abc.tmp"
    left_over.write_bytes(b"half a segm")
    other = tmp_path / "journal" / ".v-00000002.npz.123-abc.tmp"
    other.write_bytes(b"of another writer that may live")
    assert scan(tmp_path).damaged == {}
    Writer(tmp_path, "w")
    assert not left_over.exists()
    assert other.exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "write"])
def test_a_full_disk_leaves_no_part_of_the_segment_and_says_so(tmp_path, monkeypatch, number, call):
    writer = Writer(tmp_path, "w")
    writer.append([make_run(0)])

    def full(*arguments):
        raise OSError(number, os.strerror(number))

    # A view of the content stands where writing begins.
    place, name = (files.os, "fsync") if call == "fsync" else (files, "memoryview")
    with monkeypatch.context() as patch:
        patch.setattr(place, name, full, raising=False)
        with pytest.raises(FolderError, match=r"^The disk that holds .* is full\.[^\n]*$"):
            writer.append([make_run(1)])
    assert segment_names(tmp_path) == ["w-00000001.npz"]
    writer.append([make_run(1)])
    assert len(scan(tmp_path).identities) == 2


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([FinishedRun("a", 1, 0, np.arange(2), {"loss": np.zeros(3)})], "must have 2 observations"),
        (
            [
                FinishedRun("a", 1, 0, np.arange(0), {}, {"x": np.zeros(1)}),
                FinishedRun("b", 1, 0, np.arange(0), {}, {"x": np.zeros((1, 1))}),
            ],
            "same number of axes",
        ),
        ([FinishedRun("a", 1, 0, np.arange(0), {}, {"x": np.array(["s"])})], "must hold numbers"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_writing(tmp_path, runs, message):
    with pytest.raises(ValueError, match=message):
        Writer(tmp_path, "w").append(runs)
    assert segment_names(tmp_path) == []


def test_every_run_carries_the_hash_of_the_code_and_the_backend_that_made_it(tmp_path):
    Writer(tmp_path, "a", "first", "gpu").append([make_run(0), make_run(1)])
    Writer(tmp_path, "b").append([make_run(2)])
    Writer(tmp_path, "c", "second", "cpu").append([make_run(1), make_run(3)])
    result = scan(tmp_path)
    assert result.backends == {"gpu": 2, "": 1, "cpu": 1}
    assert result.codes == {"first": 2, "": 1, "second": 1}
    assert list(result.makers.values()) == ["first", "first", "", "second"]
    forget(tmp_path, {f"{0:032x}"})
    assert scan(tmp_path).codes == {"first": 1, "": 1, "second": 1}
    assert scan(tmp_path).backends == {"gpu": 1, "": 1, "cpu": 1}
