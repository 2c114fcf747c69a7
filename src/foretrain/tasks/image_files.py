"""Images and features read from files: MNIST (IDX), CIFAR-10 (binary), arrays of features; nothing is downloaded.

The files lie in the folder that the environment variable ``FORETRAIN_DATA_DIR`` names. All formats are plain numbers: nothing
that is read can execute. ``docs/data.md`` says which files go where. What they hold is part of the identity of the runs that
read them, see `files`.
"""

import gzip
import hashlib
import io
import math
import os
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from foretrain.errors import argument_error
from foretrain.tasks.array_files import PACKED, read_npy, read_npz
from foretrain.tasks.data_files import VARIABLE, DataFile
from foretrain.tasks.images import LabelledImages, checked, digits, split

_MNIST = {
    part: (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte") for part in ("train", "t10k")
}
_CIFAR = {
    "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
    "test": ("test_batch.bin",),
}
_CIFAR_PLACES = ("", "cifar10/", "cifar-10-batches-bin/", "cifar10/cifar-10-batches-bin/")
_KINDS = {
    "mnist": (_MNIST, ("", "mnist/", "MNIST/raw/"), ("", ".gz")),
    "cifar10": (_CIFAR, _CIFAR_PLACES, ("",)),
}
_RECORD = 1 + 3 * 32 * 32  # bytes of one CIFAR-10 image: label, then red, green, blue
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MOST_AXES = 8

# Of the files as they have always been distributed; other copies may be packed otherwise and be sound.
_MD5 = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}


def load(
    data: str, heldout_fraction: float, generator: np.random.Generator, features_file: str = ""
) -> LabelledImages:
    """Images or features by name: "digits", "mnist", "cifar10", or "features" from `features_file`."""
    split = heldout_fraction, generator
    if data == "digits":
        return digits(*split)
    if data == "features":
        return features(features_file, *split)
    return {"mnist": mnist, "cifar10": cifar10}[data](*split)


def files(data: str, features_file: str = "") -> list[DataFile]:
    """The files that `load` reads for data of that name: none for "digits"; those that are absent are among them."""
    if data == "features":
        path = Path(features_file)
        named = [path] if path.suffix == ".npz" else [path, _labels_beside(path)]
        return [DataFile(str(name)) for name in named]
    return [file for part in _files(data).values() for file in part] if data in _KINDS else []


def _files(data) -> dict[str, list[DataFile]]:
    """Part to its files, each with all paths at which it may lie."""
    parts, places, suffixes = _KINDS[data]

    def of_name(name):
        first, *others = [f"{place}{name}{suffix}" for place in places for suffix in suffixes]
        return DataFile(first, tuple(others), optional=True)

    return {part: [of_name(name) for name in names] for part, names in parts.items()}


def _labels_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}-labels.npy")


def mnist(heldout_fraction: float, generator: np.random.Generator) -> LabelledImages:
    """MNIST from its IDX files, gzipped or not, in the folder of data, or in ``mnist`` or ``MNIST/raw`` below it.

    A fraction is held out where only one of the two pairs (train, t10k) is there. With both, the train pair is trained on
    and the t10k pair held out.

    Images are (sample, 28, 28), float32 in [0, 1]. No pair, or a file that is not what its name says, raises `ArgumentError`.
    """
    parts = {}
    for part, files in _files("mnist").items():
        path, labels_path = (file.path for file in files)
        if path and labels_path:
            images, labels = read_idx(path), read_idx(labels_path)
            if images.shape != (*labels.shape, 28, 28) or images.dtype != np.uint8:
                raise _not_as_named(
                    path,
                    f"holds {images.dtype} of shape {images.shape} beside labels of shape {labels.shape}, "
                    "not bytes of shape (image, 28, 28)",
                )
            parts[part] = checked(images.astype(np.float32) / 255, labels, classes=10)
    if not parts:
        raise _none("mnist", [f"{name}[.gz]" for names in _MNIST.values() for name in names])
    return _labelled(parts.get("train"), parts.get("t10k"), heldout_fraction, generator, 10)


def cifar10(heldout_fraction: float, generator: np.random.Generator) -> LabelledImages:
    """CIFAR-10 from its binary version (``data_batch_1.bin`` to ``data_batch_5.bin``, ``test_batch.bin``).

    The files lie in the folder of data, or in ``cifar10`` or ``cifar-10-batches-bin`` below it. A fraction is held out where
    the test batch, or every training batch, is absent.

    Images are (sample, 32, 32, 3), float32 in [0, 1], red, green, blue. No batch, or a file that is not a whole number of
    records with labels below 10, raises `ArgumentError`.
    """
    parts = {}
    for part, files in _files("cifar10").items():
        batches = [_read_cifar(path) for file in files if (path := file.path)]
        if batches:
            parts[part] = tuple(np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    if not parts:
        raise _none("cifar10", ["data_batch_1.bin to data_batch_5.bin", "test_batch.bin"])
    return _labelled(parts.get("train"), parts.get("test"), heldout_fraction, generator, 10)


def features(
    path: str | Path, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """Features of labelled samples, made elsewhere: any array of shape (sample, feature).

    Args:
        path: An ``.npz`` with arrays ``features`` and ``labels``, and ``heldout_features`` and ``heldout_labels`` if the split
            is given; or an ``.npy`` with the features beside ``<name>-labels.npy``. Pickled objects are refused.
        heldout_fraction: Fraction held out where the file gives no split.

    Features are (sample, feature), float32 or float64. A missing, truncated or pickled file raises `StoreError`, arrays that
    `foretrain.tasks.images.checked` refuses `ArgumentError`.
    """
    path = Path(path)
    names = [file.path or file.name for file in files("features", str(path))]
    if len(names) == 1:
        arrays = read_npz(names[0])
    else:
        arrays = {"features": read_npy(names[0]), "labels": read_npy(names[1])}
    train = _checked_features(path, arrays, "")
    heldout = _checked_features(path, arrays, "heldout_") if "heldout_features" in arrays else None
    if heldout is not None and heldout[0].shape[1] != train[0].shape[1]:
        raise _not_as_named(
            path, f"has {heldout[0].shape[1]} held-out features, {train[0].shape[1]} others"
        )
    largest = max(int(part[1].max(initial=0)) for part in (train, heldout) if part is not None)
    return _labelled(train, heldout, heldout_fraction, generator, largest + 1)


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
            with gzip.open(io.BytesIO(raw)) as unpacked:
                return _idx(path, unpacked, PACKED * len(raw))
        except (OSError, EOFError, zlib.error) as error:
            raise _not_as_named(path, f"cannot be unpacked ({error})") from None
    return _idx(path, io.BytesIO(raw), len(raw))


def _idx(path, file, most: int) -> np.ndarray:
    """The array in an open IDX file that can hold so many bytes at most."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _IDX_TYPES:
        raise _not_as_named(path, "is no IDX file")
    dtype, axes = np.dtype(_IDX_TYPES[start[2]]), start[3]
    sizes = file.read(4 * axes)
    shape = tuple(int(size) for size in np.frombuffer(sizes[: len(sizes) // 4 * 4], ">u4"))
    if len(shape) != axes or not 1 <= axes <= _MOST_AXES:
        raise _not_as_named(path, f"has {axes} axes, of which {len(shape)} are given")
    if 0 in shape:
        raise _not_as_named(path, f"holds nothing, its shape is {shape}")
    head, claimed = 4 + 4 * axes, dtype.itemsize * math.prod(shape)
    if claimed > most:
        raise _not_as_named(path, f"claims {head + claimed} bytes, more than it can hold")
    content = file.read(claimed + 1)
    if len(content) != claimed:
        length = f"{head + len(content)}" if len(content) < claimed else "more"
        raise _not_as_named(path, f"has {length} bytes instead of {head + claimed}")
    return np.frombuffer(content, dtype).reshape(shape)


def _none(data, files) -> Exception:
    """The error where none of the data's files is there."""
    folder = os.environ.get(VARIABLE, "")
    where = f"Put {', '.join(files)} into a folder and name it by --data-dir or {VARIABLE}."
    got = f"{folder} has none" if folder else "is not given"
    return argument_error("data_dir", f"name the folder with the {data} files", got, where)


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


def _checked_features(path, arrays, prefix):
    names = f"{prefix}features", f"{prefix}labels"
    for name in names:
        if name not in arrays:
            raise _not_as_named(path, f"holds no array `{name}`")
    if arrays[names[0]].ndim != 2:
        raise argument_error(names[0], "have 2 axes", f"has shape {arrays[names[0]].shape}")
    values, labels = (arrays[name] for name in names)
    return checked(values, labels, name=names[0], labels_name=names[1])


def _labelled(train, heldout, heldout_fraction, generator, classes) -> LabelledImages:
    """The given split where both parts are there, else a random split of the one that is."""
    (images, labels), *others = [part for part in (train, heldout) if part is not None]
    if not others:
        return replace(split(images, labels, heldout_fraction, generator), classes=classes)
    ((heldout_images, heldout_labels),) = others
    return LabelledImages(images, labels, heldout_images, heldout_labels, classes)


def _not_as_named(path, got):
    return argument_error("data", "be sound files", f"{Path(path).name} {got}")
