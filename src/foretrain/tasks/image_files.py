"""Images and features read from files: MNIST (IDX), CIFAR-10 (binary), arrays of features; nothing is downloaded.

The files lie in a folder named by `data_dir` or by the environment variable ``FORETRAIN_DATA_DIR``. All formats are plain
numbers: nothing that is read can execute. ``docs/data.md`` says which files go where.
"""

import gzip
import hashlib
import os
import warnings
import zlib
from pathlib import Path

import numpy as np

from foretrain.errors import argument_error, finite_array, same_length
from foretrain.tasks.images import LabelledImages, split

VARIABLE = "FORETRAIN_DATA_DIR"

_MNIST = {
    part: (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte") for part in ("train", "t10k")
}
_CIFAR = {
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("test_batch.bin",),
}
_PLACES = {
    "mnist": ("", "mnist", "MNIST/raw"),
    "cifar10": ("", "cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"),
}
_RECORD = 1 + 3 * 32 * 32  # bytes of one CIFAR-10 image: label, then red, green, blue
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

# Of the files as they have always been distributed; other copies may be packed otherwise and be sound.
_MD5 = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}


def mnist(
    data_dir: str | Path | None, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """MNIST from its IDX files, gzipped or not.

    Args:
        data_dir: Folder of the files, or of a folder ``mnist`` or ``MNIST/raw`` that holds them; empty or None means the
            environment variable ``FORETRAIN_DATA_DIR``.
        heldout_fraction: Fraction held out where only one of the two pairs (train, t10k) is there. With both, the train
            pair is trained on and the t10k pair held out.
        generator: Draws the split of a single pair.

    Returns:
        Images of shape (sample, 28, 28), float32 in [0, 1].

    Raises:
        ArgumentError: no pair is there, or a file is not what its name says.
    """
    folder = _folder(
        data_dir, "mnist", [f"{name}[.gz]" for name in _MNIST["train"] + _MNIST["t10k"]]
    )
    parts = {}
    for part, names in _MNIST.items():
        paths = [_present(folder, name) for name in names]
        if None not in paths:
            images, labels = (read_idx(path) for path in paths)
            if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
                raise _not_as_named(
                    paths[0], f"has shape {images.shape} beside {labels.shape} labels"
                )
            parts[part] = images.astype(np.float32) / 255, labels.astype(int)
    return _labelled(parts.get("train"), parts.get("t10k"), heldout_fraction, generator, 10)


def cifar10(
    data_dir: str | Path | None, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """CIFAR-10 from its binary version (``data_batch_1.bin`` to ``data_batch_5.bin``, ``test_batch.bin``).

    Args:
        data_dir: As for `mnist`; folders ``cifar10`` and ``cifar-10-batches-bin`` are looked into.
        heldout_fraction: Fraction held out where the test batch, or every training batch, is absent.
        generator: Draws that split.

    Returns:
        Images of shape (sample, 32, 32, 3), float32 in [0, 1], red, green, blue.

    Raises:
        ArgumentError: no batch is there, or a file is not a whole number of records with labels below 10.
    """
    folder = _folder(
        data_dir, "cifar10", ["data_batch_1.bin to data_batch_5.bin", "test_batch.bin"]
    )
    parts = {}
    for part, names in _CIFAR.items():
        batches = [_read_cifar(path) for path in map(folder.joinpath, names) if path.is_file()]
        if batches:
            parts[part] = tuple(np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    return _labelled(parts.get("train"), parts.get("test"), heldout_fraction, generator, 10)


def features(
    path: str | Path, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """Features of labelled samples, made elsewhere: any array of shape (sample, feature).

    Args:
        path: An ``.npz`` with arrays ``features`` and ``labels``, and ``heldout_features`` and ``heldout_labels`` if the split
            is given; or an ``.npy`` with the features beside ``<name>-labels.npy``. Pickled objects are refused.
        heldout_fraction: Fraction held out where the file gives no split.
        generator: Draws that split.

    Returns:
        Features in place of images, shape (sample, feature), float32 or float64.

    Raises:
        ArgumentError: a file or an array is missing or of the wrong shape, or holds something else than finite numbers.
    """
    path = Path(path)
    if path.suffix == ".npz":
        arrays = _load(path)
    else:
        beside = path.with_name(f"{path.stem}-labels.npy")
        arrays = {"features": _load(path), "labels": _load(beside)}
    for name in ("features", "labels"):
        if name not in arrays:
            raise _not_as_named(path, f"holds no array `{name}`")
    train = _checked_features(arrays, "")
    held = _checked_features(arrays, "heldout_") if "heldout_features" in arrays else None
    if held is not None and held[0].shape[1] != train[0].shape[1]:
        raise _not_as_named(
            path, f"has {held[0].shape[1]} held-out features, {train[0].shape[1]} others"
        )
    largest = max(int(part[1].max(initial=0)) for part in (train, held) if part is not None)
    return _labelled(train, held, heldout_fraction, generator, largest + 1)


def read_idx(path: str | Path) -> np.ndarray:
    """Array in an IDX file, gzipped or not; raises `ArgumentError` if it is not one or is truncated.

    A file under the name and with the size of a known one but with other contents makes a warning.
    """
    path = Path(path)
    raw = _bytes(path)
    known = _MD5.get(path.name)
    if known is not None and hashlib.md5(raw, usedforsecurity=False).hexdigest() != known:
        warnings.warn(
            f"{path.name} is not the file usually distributed under that name.", stacklevel=2
        )
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise _not_as_named(path, f"cannot be unpacked ({error})") from None
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] not in _IDX_TYPES:
        raise _not_as_named(path, "is no IDX file")
    dtype, axes = np.dtype(_IDX_TYPES[raw[2]]), raw[3]
    start = 4 + 4 * axes
    shape = tuple(int(size) for size in np.frombuffer(raw[4:start], ">u4"))
    expected = start + dtype.itemsize * int(np.prod(shape, dtype=object))
    if len(shape) != axes or len(raw) != expected:
        raise _not_as_named(path, f"has {len(raw)} bytes instead of {expected}")
    return np.frombuffer(raw, dtype, offset=start).reshape(shape)


def _folder(data_dir, data, files) -> Path:
    """The folder that holds at least one of the data's files."""
    given = str(data_dir or os.environ.get(VARIABLE, ""))
    where = f"Put {', '.join(files)} into a folder and name it by --data-dir or {VARIABLE}."
    if not given:
        raise argument_error(
            "data_dir", f"name the folder with the {data} files", "is not given", where
        )
    wanted = _CIFAR["train"] + _CIFAR["test"] if data == "cifar10" else ()
    pairs = [[name] for name in wanted] or [list(names) for names in _MNIST.values()]
    for place in _PLACES[data]:
        folder = Path(given) / place
        if any(all(_present(folder, name) for name in names) for names in pairs):
            return folder
    raise argument_error(
        "data_dir", f"name the folder with the {data} files", f"{given} has none", where
    )


def _present(folder, name) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _bytes(path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _not_as_named(path, f"cannot be read ({error.strerror})") from None


def _read_cifar(path):
    raw = np.frombuffer(_bytes(path), np.uint8)
    if raw.size == 0 or raw.size % _RECORD:
        raise _not_as_named(path, f"has {raw.size} bytes, no whole number of records of {_RECORD}")
    records = raw.reshape(-1, _RECORD)
    if records[:, 0].max() > 9:
        raise _not_as_named(path, f"has a label {records[:, 0].max()} above 9")
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pixels.astype(np.float32) / 255, records[:, 0].astype(int)


def _load(path):
    try:
        loaded = np.load(path, allow_pickle=False)
        return dict(loaded) if path.suffix == ".npz" else loaded
    except FileNotFoundError:
        raise argument_error("data", "be given as files", f"{path} does not exist") from None
    except Exception as error:  # np.load and zipfile raise many kinds on a foreign file
        reason = " ".join(str(error).split())
        raise _not_as_named(path, f"cannot be read without pickle ({reason})") from None


def _checked_features(arrays, prefix):
    values = finite_array(f"{prefix}features", arrays[f"{prefix}features"], ndim=2)
    labels = finite_array(f"{prefix}labels", arrays.get(f"{prefix}labels", np.zeros(0)), ndim=1)
    same_length(**{f"{prefix}features": values, f"{prefix}labels": labels})
    if (labels < 0).any() or (labels != labels.astype(int)).any():
        raise argument_error(f"{prefix}labels", "hold whole numbers from 0", "does not")
    return values if values.dtype == np.float32 else values.astype(np.float64), labels.astype(int)


def _labelled(train, heldout, heldout_fraction, generator, classes) -> LabelledImages:
    """The given split where both parts are there, else a random split of the one that is."""
    if train is not None and heldout is not None:
        return LabelledImages(*train, *heldout, classes)
    data = split(*(heldout if train is None else train), heldout_fraction, generator)
    parts = (data.train_images, data.train_labels, data.heldout_images, data.heldout_labels)
    return LabelledImages(*parts, classes)


def _not_as_named(path, got):
    return argument_error("data", "be sound files", f"{Path(path).name} {got}")
