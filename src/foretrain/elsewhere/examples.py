"""The examples of a user's network: an npz file of named arrays, or npy files of one array each."""

from os import PathLike

import numpy as np

from foretrain.errors import argument_error, file_argument, nearest
from foretrain.tasks.array_files import read_npy, read_npz

NAMES = ("x", "y", "x_test", "y_test")


def read_examples(
    data: str | PathLike, labels: str | PathLike | None = None
) -> dict[str, np.ndarray]:
    """Return the arrays ``x``, ``y``, ``x_test`` and ``y_test`` of files, those that are there; ``x`` always is.

    Args:
        data: An ``.npz`` file with arrays of these names, or an ``.npy`` file, which is ``x``.
        labels: An ``.npy`` file, which is ``y``, where `data` holds none.

    Raises:
        ArgumentError: There is no ``x``, an array has another name, or ``y`` is there twice.
        StoreError: A file cannot be read.
    """
    path = file_argument("data", data)
    arrays = {"x": read_npy(path)} if path.suffix.lower() == ".npy" else read_npz(path)
    for name in arrays:
        if name not in NAMES:
            raise argument_error("data", "hold known arrays", f"has `{name}`", nearest(name, NAMES))
    if "x" not in arrays:
        raise argument_error("data", "hold the array `x`", f"has {', '.join(arrays) or 'none'}")
    if labels is not None:
        if "y" in arrays:
            raise argument_error("labels", "be left out where `data` holds `y`", "is given")
        arrays["y"] = read_npy(file_argument("labels", labels))
    return arrays
