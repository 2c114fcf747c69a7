"""The labelled results on disk: one tree of datasets as a Zarr store that notices when it is damaged.

The store is Zarr format 3. Every chunk carries a CRC-32C, every metadata file is listed in the root's attributes with
its SHA-256, and a chunk that is gone is missed, where Zarr alone would read it as nan. Nothing in it depends on when it
was written, so that equal results are equal files.
"""

import collections
import contextlib
import errno
import hashlib
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import xarray as xr

from foretrain.errors import FolderError, StoreError
from foretrain.lazy import zarr
from foretrain.machine import physical_memory
from foretrain.provenance.reading import read_file
from foretrain.results import metadata
from foretrain.results.decode import SCHEMA, line
from foretrain.results.files import refused, sync, unreadable
from foretrain.results.metadata import ArrayNode
from foretrain.results.root import STORE as NAME

_METADATA = "zarr.json"
_SEAL, _ROOT_SEAL, _LABELS = "metadata_sha256", "root_sha256", "label_names"
_CHUNK_BYTES = metadata.MOST_CHUNK
_SYNCS = 16  # files that wait for the disk at once
_MOST_IN_MEMORY = 2**28  # bytes of a group that is built in memory before it is written


def attributes(
    *, config: dict, hash: str, seeds: int, root_seed: int, versions: dict, device: str
) -> dict:
    """Attributes of the tree's root; what is nested is kept as JSON text, which every format can hold."""
    return {
        "schema": SCHEMA,
        "config": json.dumps(config, sort_keys=True),
        "hash": hash,
        "seeds": seeds,
        "root_seed": root_seed,
        "versions": json.dumps(versions, sort_keys=True),
        "device": device,
    }


def begin_tree(folder: Path, tree: xr.DataTree) -> Callable[[], Path]:
    """Build the store of a tree, ``results.zarr`` of a folder, beside the old one; the function returned puts it in its place.

    Groups hold variables of numbers, booleans and strings, attributes what JSON knows. The function waits for the disk, and
    returns the path; it may run in another thread. Both raise `FolderError` where the disk is full or refuses it: an older
    store stays.

    Cost: about 10 ms per variable, and the compression of the values (some 300 MB/s).
    """
    store, mark = Path(folder) / NAME, uuid.uuid4().hex[:8]
    new, old = (store.with_name(f".{NAME}.{mark}.{age}.tmp") for age in ("new", "old"))

    @contextlib.contextmanager
    def whole_or_as_it_was():
        try:
            yield
        except BaseException as error:
            shutil.rmtree(new, ignore_errors=True)
            if old.exists() and not store.exists():
                os.rename(old, store)
            if isinstance(error, OSError):
                raise refused(store, error) from error
            raise

    def finish():
        with whole_or_as_it_was():
            # Many at once: what waits for the disk together is written together.
            with ThreadPoolExecutor(_SYNCS) as pool:
                collections.deque(pool.map(sync, [*new.rglob("*"), new]), 0)
            if store.exists():
                os.rename(store, old)
            os.rename(new, store)
            sync(store.parent)
        shutil.rmtree(old, ignore_errors=True)
        return store

    with whole_or_as_it_was():
        _remove_left_overs(store.parent)
        for node in tree.subtree:
            _build_group(new, node.path, node.to_dataset(inherit=False).drop_encoding())
        _seal(new, tree)
    return finish


def open_tree(path: Path, *, lazy: bool = False) -> xr.DataTree:
    """Open a store.

    Args:
        path: The store, usually ``<folder>/results.zarr``.
        lazy: If True, values but claims are read when they are used; an altered chunk raises Zarr's own `ValueError` then.
            The store must stay as it is; by default it is read and checked as a whole, and may be replaced afterwards.

    Raises:
        FolderError: there is nothing at `path`.
        StoreError: it is not a store of foretrain, was written by a newer one, or is truncated or altered.
    """
    store = Path(path)
    seal, damaged = _inspect(store, lazy)
    if not damaged:
        try:
            tree = _open(store)
            if lazy and "claims" in tree.children:
                tree["claims"].load()
            return tree if lazy else tree.load()
        except MemoryError:
            raise _unreadable(store, "its values do not fit into memory") from None
        except Exception as error:  # whatever a decoder makes of altered bytes
            damaged = _altered(store, seal)
            if not damaged:
                raise _unreadable(store, line(error)) from error
    first, reason = next(iter(damaged.items()))
    more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
    raise StoreError(
        f"{store} is truncated or altered: `{first}` ({reason}){more}. "
        "Try foretrain report, which makes it anew from the journal."
    )


def _unreadable(store, reason):
    return StoreError(f"{store} cannot be read: {reason}.")


def _build_group(path, group, dataset):
    """Write one group, built in memory first where it is small: Zarr takes some threads for every file that it writes."""
    files: dict[str, Any] = {}
    # Chunks that hold only padding are written too, so that a chunk that is not there is known to be lost.
    how = {"mode": "a", "zarr_format": 3, "consolidated": False, "write_empty_chunks": True}
    store = zarr.storage.MemoryStore(files) if dataset.nbytes < _MOST_IN_MEMORY else path
    dataset.to_zarr(store, group=group, encoding=_encoding(dataset), **how)
    for name, content in files.items():
        file = path / name
        # The groups that hold this one are there already, with attributes of their own.
        if file.name != _METADATA or not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.to_bytes())


def _encoding(dataset):
    codecs, encoding = (zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()), {}
    for name, variable in dataset.variables.items():
        size = variable.dtype.itemsize if variable.dtype.kind in "biufc" else metadata.STRING_BYTES
        encoding[name] = {"compressors": codecs, "chunks": chunk_shape(variable.shape, size)}
    return encoding


def chunk_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Cut an array into chunks of at most 8 MB, whole along as many of the last axes as fit."""
    lengths, room = [], max(1, _CHUNK_BYTES // itemsize)
    for length in reversed(shape):
        lengths.insert(0, max(1, min(length, room)))
        room = max(1, room // max(1, length))
    return tuple(lengths)


def _seal(path, tree):
    """List every metadata file in the root's attributes, and the root itself.

    The names of labels go with them: Zarr knows a label only by the variables that use it, one of which may be lost.
    """
    digests = {
        file.relative_to(path).as_posix(): _sha256(file.read_bytes())
        for file in sorted(path.rglob(_METADATA))
        if file.parent != path
    }
    root = json.loads((path / _METADATA).read_bytes())
    root["attributes"][_SEAL] = digests
    root["attributes"][_LABELS] = {
        node.path: sorted(node.to_dataset(inherit=False).coords)
        for node in sorted(tree.subtree, key=lambda node: node.path)
    }
    root["attributes"][_ROOT_SEAL] = _digest_of_root(root)
    (path / _METADATA).write_text(json.dumps(root, indent=1))


def _digest_of_root(root):
    attributes = {k: v for k, v in root["attributes"].items() if k != _ROOT_SEAL}
    return _sha256(json.dumps({**root, "attributes": attributes}, sort_keys=True).encode())


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


def _inspect(store, lazy) -> tuple[dict[str, str], dict[str, str]]:
    """The checksums of the metadata by file, and what is damaged as far as can be told without reading values."""
    if not os.path.exists(store):
        raise FolderError(f"There are no results at {store}.")
    root = _read_root(store)
    attributes = metadata.attributes(root, store)
    seal, damaged, needed = attributes.metadata_sha256, {}, 0
    if _digest_of_root(root) != attributes.root_sha256:
        damaged["/"] = "its attributes differ from their checksum"
    for file in store.glob(f"*/**/{_METADATA}"):
        if file.relative_to(store).as_posix() not in seal:
            damaged[file.parent.relative_to(store).as_posix()] = "it is not in the list of the root"
    for name, digest in seal.items():
        node = name.removesuffix(f"/{_METADATA}")
        try:
            content = read_file(store / name, metadata.MOST_FILE)
        except (OSError, StoreError):
            damaged[node] = "its metadata is missing"
            continue
        if digest != _sha256(content):
            damaged[node] = "its metadata differs from its checksum"
            continue
        try:
            array = metadata.node(content)
        except ValueError:
            damaged[node] = "its metadata cannot be read"
            continue
        if isinstance(array, ArrayNode):
            needed += array.bytes
            if reason := _damage(store / node, array):
                damaged[node] = reason
    limit = physical_memory()
    if needed > limit and not damaged and not lazy:
        sizes = f"{needed / 1e9:.2g} GB of memory, but {limit / 1e9:.2g} GB are there"
        raise _unreadable(store, f"its values need {sizes}; try `lazy=True`")
    return seal, damaged


def _read_root(store) -> Any:
    try:
        return json.loads(read_file(store / _METADATA, metadata.MOST_FILE))
    except PermissionError as error:
        raise unreadable(store, error) from error
    except (ValueError, OSError, RecursionError) as error:
        reason = f"its {_METADATA} cannot be read ({line(error)})"
        raise StoreError(
            f"{store} is truncated, altered or not a store of foretrain: {reason}."
        ) from error


def _damage(folder, array: ArrayNode) -> str:
    """Say what is wrong with the chunks of an array, as far as their names, sizes and headers tell; "" if nothing is."""
    missing = array.chunks
    for path in (folder / "c", *folder.glob("c/**/*")):
        if path.is_dir():
            continue
        try:
            metadata.check_chunk(path, array)
            missing -= 1
        except FileNotFoundError:
            continue
        except OSError as error:  # whoever reads the values says what, but for what never ends
            missing -= 1
            if error.errno == errno.EINVAL:
                return str(error.strerror)
        except ValueError as error:
            return line(error)
    return f"{missing} of {array.chunks} chunks are missing" if missing > 0 else ""


def _open(store) -> xr.DataTree:
    with warnings.catch_warnings(action="ignore"):  # in which names of files stand as they are
        how = {"engine": "zarr", "zarr_format": 3, "consolidated": False, "chunks": None}
        tree = xr.open_datatree(store, **how)
    labels = tree.attrs.get(_LABELS, {})
    for name in (_SEAL, _ROOT_SEAL, _LABELS):
        tree.attrs.pop(name, None)
    return in_order(tree, labels)


def in_order(tree: xr.DataTree, labels: Mapping[str, list[str]]) -> xr.DataTree:
    """Return a tree with its groups and names in the order of the alphabet; `labels` names the coordinates of some groups."""
    groups = {}
    for node in sorted(tree.subtree, key=lambda node: node.path):
        data = node.to_dataset(inherit=False)
        variables = {name: data.variables[name] for name in sorted(map(str, data.variables))}
        known = sorted(map(str, labels.get(node.path, data.coords)))
        coords = {name: variables.pop(name) for name in known if name in variables}
        groups[node.path] = xr.Dataset(variables, coords, data.attrs)
    return xr.DataTree.from_dict(groups)


def _altered(store, seal) -> dict[str, str]:
    damaged = {}
    for name in seal:
        node = name.removesuffix(f"/{_METADATA}")
        try:
            if isinstance(metadata.node(read_file(store / name, metadata.MOST_FILE)), ArrayNode):
                zarr.open_array(store / node, mode="r")[...]
        except Exception:  # a decoder may fail on altered bytes in any way
            damaged[node] = "a chunk differs from its checksum"
    return damaged


def _remove_left_overs(folder):
    """Remove what a killed writer left; if it was killed between its two renames, the old store comes back."""
    for path in folder.glob(f".{NAME}.*.tmp"):
        if path.name.endswith(".old.tmp") and not (folder / NAME).exists():
            with contextlib.suppress(OSError):
                os.rename(path, folder / NAME)
                continue
        shutil.rmtree(path, ignore_errors=True)
