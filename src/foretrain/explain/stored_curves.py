"""Curves of corners on disk, each by a hash of all that makes it: what is stored is not trained again."""

import hashlib
import io
import json
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.dynamics import descent
from foretrain.errors import StoreError
from foretrain.explain import corners
from foretrain.explain.own_network import Training
from foretrain.results.files import refused, write_atomic
from foretrain.tasks.array_files import read_npz

FOLDER = "corners"


class CurveStore:
    """A folder of curves of one training.

    Args:
        folder: Where they lie, see `store_folder`.
        training, starts, rows, at: As of `foretrain.explain.simulated.Simulator`.
        program: File of the program that makes them.

    A hash holds the compiled text of the network's loss and gradient, so that a change of its code is another training; data,
    starts, minibatches, rates and every option; the files of this package that train; and JAX's version.
    """

    def __init__(
        self,
        folder: Path,
        training: Training,
        starts: Any,
        rows: np.ndarray,
        at: np.ndarray,
        program: str,
    ):
        import jax

        self.folder = folder
        self.identity = hashlib.sha256()
        for file in (program, corners.__file__, descent.__file__):
            self.identity.update(Path(file).read_bytes())
        options = training.optimizer, training.momentum, training.weight_decay, jax.__version__
        self.identity.update(json.dumps([*options, str(jax.tree.structure(starts))]).encode())
        self.identity.update(gradient_program(training, starts).as_text().encode())
        given = training.x, training.y, training.x_test, training.y_test, training.rates, rows, at
        for one in (*given, *jax.tree.leaves(starts)):
            array = np.asarray([] if one is None else one)
            self.identity.update(f"{array.dtype}{array.shape}".encode())
            self.identity.update(np.ascontiguousarray(array).tobytes())
        self.tree = jax.tree.structure(starts)

    def read(self, asked: Hashable) -> tuple[np.ndarray, np.ndarray | None, Any] | None:
        """Training and test losses, and the last weights, or None of each that was not stored; None where nothing is."""
        import jax

        path = self._path(asked)
        try:
            found = read_npz(path) if path.exists() else None
        except StoreError:
            return None  # half a disk's file is trained again
        if found is None or "train" not in found:
            return None
        leaves = [found[f"weight{k}"] for k in range(len(found)) if f"weight{k}" in found]
        weights = jax.tree.unflatten(self.tree, leaves) if leaves else None
        return found["train"], found.get("test"), weights

    def write(
        self, asked: Hashable, train: np.ndarray, test: np.ndarray | None, weights: Any
    ) -> None:
        """Store curves, and weights unless they are None.

        Raises:
            FolderError: The disk refuses them.
        """
        import jax

        arrays: dict[str, Any] = {"train": train} | ({} if test is None else {"test": test})
        arrays |= {f"weight{k}": leaf for k, leaf in enumerate(jax.tree.leaves(weights))}
        content = io.BytesIO()
        np.savez(content, **arrays)
        write_atomic(self._path(asked), content.getvalue())
        self._path(asked).with_suffix(".taken").unlink(missing_ok=True)

    def take(self, asked: Hashable, other: int | None) -> bool:
        """Say that this process trains a corner; False if the process of number `other` has said so before.

        Raises:
            FolderError: The disk refuses it.
        """
        path = self._path(asked)
        sign = path.with_suffix(".taken")
        if path.exists():
            return True
        if other is not None and sign.exists() and sign.read_text("utf-8") == str(other):
            return False
        write_atomic(sign, str(os.getpid()).encode())
        return True

    def _path(self, asked):
        own = self.identity.copy()
        own.update(repr(asked).encode())
        return self.folder / f"{own.hexdigest()[:32]}.npz"


def store_folder(out: Path) -> Path:
    """The folder of curves in a folder of results, made if need be.

    Raises:
        FolderError: It cannot be made.
    """
    folder = Path(out) / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(folder, error) from error
    return folder


def gradient_program(training: Training, starts: Any, examples: int | None = None) -> Any:
    """The lowered program of one start's loss and gradient on so many examples, by default all."""
    import jax

    number = len(training.x) if examples is None else examples

    def shape(array, size):
        return jax.ShapeDtypeStruct((size, *array.shape[1:]), array.dtype)

    def loss(w, x, y):
        return training.loss(training.apply(w, x), y)

    with jax.enable_x64(True):
        weights = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), starts
        )
        program = jax.jit(jax.value_and_grad(loss))
        return program.lower(weights, shape(training.x, number), shape(training.y, number))
