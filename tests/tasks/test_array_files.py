import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import StoreError
from foretrain.tasks.array_files import read_npy, read_npz


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_stored_is_read_back(tmp_path, save):
    stored = {
        "a": np.arange(6.0).reshape(2, 3),
        "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "scalar": np.array(2.5),
        "none": np.zeros((0, 3), np.float32),
        "big-endian": np.arange(3, dtype=">i4"),
        "text": np.array(["x", "yz"]),
    }
    save(tmp_path / "x.npz", **stored)
    result = read_npz(tmp_path / "x.npz")
    assert result.keys() == stored.keys()
    for name, array in stored.items():
        assert result[name].dtype == array.dtype
        np.testing.assert_array_equal(result[name], array)
        np.save(tmp_path / "x.npy", array)
        np.testing.assert_array_equal(read_npy(tmp_path / "x.npy"), array)


def npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1")


def archive(path, content, claimed=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", content)
    if claimed is not None:
        raw = bytearray(path.read_bytes())
        for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
            at = raw.index(mark) + offset
            raw[at : at + 4] = struct.pack("<I", claimed)
        path.write_bytes(raw)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (37000000, 1000), }\n"
HEADERS = [
    HUGE.replace("37000000", "-1"),
    HUGE.replace("<f8", "V0"),
    HUGE.replace("False", "None"),
    HUGE.replace("(37000000, 1000)", "(" + "1, " * 99 + ")"),
    HUGE.replace("(37000000, 1000)", f"(0, {2**62}, {2**62})"),
    HUGE.replace("37000000", "9" * 6000),
    "[" * 5000,
    "\0",
    "",
]


def test_a_header_is_not_believed_before_memory_is_taken(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(npy(HUGE) + bytes(16))
    with pytest.raises(StoreError, match="has 16 bytes where its header claims 296000000000"):
        read_npy(path)
    archive(tmp_path / "x.npz", npy(HUGE) + bytes(16))
    with pytest.raises(StoreError, match="has 16 bytes where its header claims 296000000000"):
        read_npz(tmp_path / "x.npz")
    # An archive that agrees with the header still cannot hold it.
    small = HUGE.replace("37000000", "500000")
    archive(tmp_path / "x.npz", npy(small) + bytes(16), claimed=4_000_000_000 + len(npy(small)))
    with pytest.raises(StoreError, match="bytes cannot hold the 4000000"):
        read_npz(tmp_path / "x.npz")


@pytest.mark.parametrize("header", HEADERS)
def test_garbled_headers_end_in_one_line(tmp_path, header):
    for content in (npy(header), npy(header) + bytes(8)):
        (tmp_path / "x.npy").write_bytes(content)
        archive(tmp_path / "x.npz", content)
        for read, name in ((read_npy, "x.npy"), (read_npz, "x.npz")):
            with pytest.raises(StoreError, match=f"{name}` cannot be read: ") as caught:
                read(tmp_path / name)
            assert "\n" not in str(caught.value)


@given(st.data())
def test_a_changed_byte_is_refused_or_changes_nothing_but_names(tmp_path_factory, data):
    whole = io.BytesIO()
    np.savez(whole, a=np.arange(5.0))
    raw = bytearray(whole.getvalue())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "changed.npz"
    path.write_bytes(raw)
    try:
        result = read_npz(path)
    except StoreError:
        return
    assert all((array == np.arange(5.0)).all() for array in result.values())


def test_files_that_are_not_there_or_not_files_are_named(tmp_path):
    for read in (read_npy, read_npz):
        with pytest.raises(StoreError, match="none` does not exist"):
            read(tmp_path / "none")
        with pytest.raises(StoreError, match="cannot be read: Is a directory"):
            read(tmp_path)
        with pytest.raises(StoreError, match="cannot be read"):
            read("a\0b")
