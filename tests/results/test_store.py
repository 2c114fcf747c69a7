import errno
import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from altered_files import fit, flip, little_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from numcodecs.zstd import Zstd

from foretrain.errors import FolderError, StoreError
from foretrain.results import store as store_module
from foretrain.results.decode import SCHEMA
from foretrain.results.store import NAME, begin_tree, chunk_shape, open_tree


def make_tree(seed=0):
    draw = np.random.default_rng(seed)
    simulation = xr.Dataset(
        {
            "loss": (("scale", "seed", "step"), draw.normal(size=(2, 3, 4)).astype(np.float32)),
            "count": (("scale", "seed"), draw.integers(9, size=(2, 3)), {"padding": -1}),
            "flag": ("seed", np.array([True, False, True])),
            "empty": (("scale", "none"), np.zeros((2, 0))),
        },
        coords={
            "scale": [0.1, 0.2],
            "law": ("scale", np.array(["xavier", "κ"], np.dtypes.StringDType())),
            "seed": [0, 1, 2],
            "step": 10 * np.arange(4),
            "time": (("scale", "step"), draw.normal(size=(2, 4))),
        },
        attrs={"title": "a title"},
    )
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"schema": SCHEMA, "hash": "abc"}),
            "simulation": simulation,
            "claims": xr.Dataset({"ends": ("bound", [-np.inf, np.inf]), "none": ((), np.nan)}),
        }
    )


@pytest.fixture
def store(tmp_path):
    return begin_tree(tmp_path, make_tree())()


def all_bytes(store):
    return {
        path.relative_to(store): path.read_bytes() for path in store.rglob("*") if path.is_file()
    }


numbers = st.sampled_from(["f4", "f8", "i1", "i4", "i8", "u4", "?", "c16"])


@st.composite
def trees(draw):
    datasets = {}
    for group in ("simulation", "theory"):
        lengths = {"seed": draw(st.integers(0, 3)), "mode": draw(st.integers(1, 3))}
        variables = {}
        for name in ("a", "b", "c"):
            dims = tuple(draw(st.sets(st.sampled_from(["seed", "mode"]))))
            bits = draw(st.binary(min_size=144, max_size=144))
            dtype, shape = np.dtype(draw(numbers)), tuple(lengths[dim] for dim in dims)
            values = np.frombuffer(bits, np.uint8)
            values = values % 2 == 1 if dtype.kind == "b" else np.frombuffer(bits, dtype)
            variables[name] = (dims, values[: int(np.prod(shape))].reshape(shape))
        words = draw(
            st.lists(st.text(max_size=4), min_size=lengths["mode"], max_size=lengths["mode"])
        )
        labels = np.array(words, np.dtypes.StringDType())
        attrs = draw(st.dictionaries(st.text(min_size=1, max_size=3), st.integers() | st.text()))
        datasets[group] = xr.Dataset(variables, {"word": ("mode", labels)}, attrs)
    return xr.DataTree.from_dict(datasets)


@settings(max_examples=15)
@given(trees())
def test_any_tree_is_loaded_as_it_was_stored_to_the_bit(tmp_path_factory, tree):
    loaded = open_tree(begin_tree(tmp_path_factory.mktemp("store"), tree)())
    xr.testing.assert_identical(loaded, tree)
    for node in tree.subtree:
        for name, variable in node.to_dataset().variables.items():
            other = loaded[node.path].to_dataset().variables[name]
            assert variable.dtype == other.dtype
            if variable.dtype.kind != "T":  # a nan keeps its payload
                assert variable.values.tobytes() == other.values.tobytes()


def test_a_group_too_large_for_memory_is_written_as_a_small_one_and_xarray_reads_both(
    store, tmp_path, monkeypatch
):
    monkeypatch.setattr(store_module, "_MOST_IN_MEMORY", 0)
    straight = begin_tree(tmp_path / "straight", make_tree())()
    assert all_bytes(straight) == all_bytes(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # xarray alone can read it
        tree = xr.open_datatree(straight, engine="zarr", consolidated=False, chunks=None)
        assert tree["simulation"]["law"].values.tolist() == ["xavier", "κ"]


def test_equal_trees_are_equal_stores_to_the_bit_in_whatever_order_their_parts_were_made(
    store, tmp_path_factory
):
    groups = {node.path: node.to_dataset(inherit=False) for node in make_tree().subtree}
    turned = {}
    for path, dataset in reversed(groups.items()):
        names = [*dataset.data_vars][::-1], [*dataset.coords][::-1]
        variables, coords = ({name: dataset.variables[name] for name in part} for part in names)
        turned[path] = xr.Dataset(variables, coords, dataset.attrs)
    other = begin_tree(tmp_path_factory.mktemp("turned"), xr.DataTree.from_dict(turned))()
    assert all_bytes(other) == all_bytes(store)
    different = begin_tree(tmp_path_factory.mktemp("different"), make_tree(seed=1))()
    assert all_bytes(different) != all_bytes(store)


def test_a_new_store_replaces_the_old_leaves_nothing_beside_it_and_what_was_read_as_it_was(store):
    tree = open_tree(store)
    begin_tree(store.parent, make_tree(seed=1))()
    xr.testing.assert_identical(open_tree(store), make_tree(seed=1))
    assert os.listdir(store.parent) == [NAME]
    xr.testing.assert_identical(tree, make_tree())


chunk_files = [Path("simulation", name, "c") for name in ("loss", "seed", "law")]


@pytest.mark.parametrize("array", chunk_files, ids=lambda path: path.parts[1])
def test_a_flipped_bit_in_any_chunk_is_noticed(store, array):
    chunk = next(path for path in (store / array).rglob("*") if path.is_file())
    for position in range(0, len(chunk.read_bytes()), 7):
        flip(chunk, position)
        with pytest.raises(StoreError, match=f"`{array.parent}`.*differs from its checksum"):
            open_tree(store)
        flip(chunk, position)
    open_tree(store)


def edited(name, old, new):
    """Return a function that replaces a text in a file of a store."""

    def edit(store):
        text = (store / name).read_text()
        assert old in text
        (store / name).write_text(text.replace(old, new))

    return edit


def without_a_chunk(store):
    next((store / "simulation/loss/c").rglob("*/*/0")).unlink()


def without_metadata(store):
    edited("simulation/loss/zarr.json", "float32", "float64")(store)
    (store / "simulation/count/zarr.json").unlink()


def with_a_chunk_of_four_bytes(store):
    chunk = next((store / "simulation/loss/c").rglob("*/*/0"))
    chunk.write_bytes(chunk.read_bytes()[:4])


def with_a_claim_changed(store):
    chunk = store / "claims/ends/c/0"
    flip(chunk, len(chunk.read_bytes()) // 2)


def with_an_array_more(store):
    shutil.copytree(store / "simulation/loss", store / "simulation/extra")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_a_chunk, r"`simulation/loss` \(1 of 1 chunks are missing\)"),
        (without_metadata, r"`simulation/.* and 1 more\. Try foretrain report"),
        (edited("simulation/zarr.json", "a title", "another"), "`simulation` "),
        (edited("zarr.json", '"abc"', '"abd"'), r"`/` \(its attributes differ from their check"),
        (with_a_chunk_of_four_bytes, r"`simulation/loss` \(a chunk differs from its checksum"),
        (with_a_claim_changed, r"`claims/ends` \(a chunk differs from its checksum"),
        (with_an_array_more, r"`simulation/extra` \(it is not in the list"),
    ],
)
def test_damage_is_named(store, damage, message):
    damage(store)
    with pytest.raises(StoreError, match=f"truncated or altered: {message}"):
        open_tree(store, lazy=True)


def test_a_store_of_another_program_or_none_is_named(tmp_path):
    with pytest.raises(FolderError, match="There are no results at"):
        open_tree(tmp_path / NAME)
    xr.Dataset({"x": 1}).to_zarr(tmp_path / NAME, zarr_format=3, consolidated=False)
    with pytest.raises(StoreError, match="is not a store of foretrain, but of another program"):
        open_tree(tmp_path / NAME)


@pytest.mark.parametrize(
    "odd",
    [
        {"schema": "1"},
        {"config": {"study": "a"}},
        {"seeds": 10**9},
        {"root_seed": -1},
        {"label_names": {"/": "seed"}},
        {"metadata_sha256": {"a\0/zarr.json": "b"}},
        {"metadata_sha256": {"a/c/0": "b"}},
        {"metadata_sha256": {"/etc/zarr.json": "b"}},
        {"metadata_sha256": {"../claims/zarr.json": "b"}},
        *("", '{"attributes', "[" * 10**5, '{"a":' * 10**5, "[]", "3", '"a"', "null", None),
    ],
)
def test_a_root_of_other_types_torn_too_deep_or_gone_is_one_line_that_names_the_store(store, odd):
    path = store / "zarr.json"
    root = json.loads(path.read_text())
    if isinstance(odd, dict):
        root["attributes"] |= odd
        root["attributes"]["root_sha256"] = store_module._digest_of_root(root)
        odd = json.dumps(root)
    path.unlink() if odd is None else path.write_text(odd)
    with pytest.raises(StoreError, match=r"^[^\n]*results\.zarr is [^\n]*not a store[^\n]*$"):
        open_tree(store)


@pytest.mark.parametrize(
    "odd",
    [
        {"shape": [10**12, 3, 4]},
        {"shape": [-2, 3, 4]},
        {"shape": [2, 3]},
        {"data_type": "object"},
        {"codecs": [{"name": "numcodecs.pickle"}]},
        {"codecs": [{"name": "zstd"}, {"name": "bytes"}, {"name": "zstd"}]},
        {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}},
        {"chunk_grid": {"configuration": {"chunk_shape": [0, 3, 4]}}},
        {"chunk_grid": {"configuration": {"chunk_shape": [10**7, 3, 4]}}},
        {"node_type": "other"},
    ],
)
def test_an_array_that_nobody_writes_is_damaged_whatever_its_checksum(store, odd):
    path = store / "simulation/loss/zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **odd}))
    fit(store)
    with pytest.raises(StoreError, match=r"^[^\n]*altered: `simulation/loss`[^\n]*$"):
        open_tree(store)


@pytest.mark.parametrize("array", ["loss", "law"])
def test_a_chunk_that_decodes_to_more_than_its_array_is_not_decoded(store, array):
    (file,) = (path for path in (store / "simulation" / array / "c").rglob("*") if path.is_file())
    file.write_bytes(Zstd().encode((2**27).to_bytes(4, "little") + bytes(60 * 2**20)) + b"0000")
    with little_memory(bytes(10**7)), pytest.raises(StoreError, match=r"a chunk (is|holds)"):
        open_tree(store)


def test_a_store_larger_than_memory_is_not_read_unless_lazily(store, monkeypatch):
    monkeypatch.setattr(store_module, "physical_memory", lambda: 100.0)
    message = r"^[^\n]*results\.zarr cannot be read: its values need .*lazy[^\n]*$"
    with pytest.raises(StoreError, match=message):
        open_tree(store)
    xr.testing.assert_identical(open_tree(store, lazy=True).load(), make_tree())


def test_a_full_disk_leaves_the_old_store_and_a_writer_killed_between_its_renames_costs_nothing(
    store, monkeypatch
):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store_module.os, "fsync", full)
        with pytest.raises(FolderError, match="is full"):
            begin_tree(store.parent, make_tree(seed=1))()
    xr.testing.assert_identical(open_tree(store), make_tree())
    assert os.listdir(store.parent) == [NAME]
    os.rename(store, store.parent / f".{NAME}.0123.old.tmp")
    (store.parent / f".{NAME}.0123.new.tmp").mkdir()
    begin_tree(store.parent, make_tree(seed=1))()
    xr.testing.assert_identical(open_tree(store), make_tree(seed=1))
    assert os.listdir(store.parent) == [NAME]


def test_large_arrays_are_cut_into_chunks_of_4_to_8_megabytes_along_the_first_axes():
    assert chunk_shape((), 8) == ()
    assert chunk_shape((2, 0), 8) == (2, 1)
    assert chunk_shape((3, 4), 4) == (3, 4)
    for shape, itemsize in [((10**6,), 8), ((1000, 10, 1000), 4), ((7, 3, 10**7), 4)]:
        chunk = chunk_shape(shape, itemsize)
        assert 4e6 <= np.prod(chunk) * itemsize <= 2**23
        assert all(c <= n for c, n in zip(chunk, shape, strict=True))


def test_several_chunks_are_stored_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "_CHUNK_BYTES", 64)
    values = np.arange(100.0).reshape(4, 25)
    store = begin_tree(tmp_path, xr.DataTree(xr.Dataset({"x": (("a", "b"), values)})))()
    assert len([path for path in store.glob("x/c/*/*")]) == 16
    np.testing.assert_array_equal(open_tree(store)["x"], values)
    (store / "x/c/2/1").unlink()
    with pytest.raises(StoreError, match="1 of 16 chunks are missing"):
        open_tree(store)
