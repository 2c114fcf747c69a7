"""Weights of a run made elsewhere, stored while it was trained: what theory says of them without training anything."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.elsewhere.adapters import read_arrays
from foretrain.errors import argument_error, nearest, path_argument
from foretrain.explain.corners import corner
from foretrain.explain.kernel.kernel_recursion import Kernel, edge_share
from foretrain.explain.own_network import Training
from foretrain.streams import key
from foretrain.words import number

HEADING = "Weights of the measured run, from those of its first file"


@dataclass(frozen=True)
class Moment:
    """Weights at one step.

    Attributes:
        step: Number of steps taken.
        loss: Training loss.
        movement: Change of the kernel from the first weights, over the kernel there.
        edge: Rate times sharpness over two (1 + momentum), 1 being the edge of stability.
        off: Distance of the network's training outputs from those of the network linearised at the first weights, both at
            these weights, over the distance of the network's from those at the start; None where that is
            rounding, as at the first.
    """

    step: int
    loss: float
    movement: float
    edge: float
    off: float | None


def read_weights(training: Training, folder: str | PathLike) -> dict[int, Any]:
    """Weights by step, shaped as those that `init` makes, in float64.

    Args:
        training: The training whose weights they are.
        folder: A folder of files `.safetensors`, each with a step's number at the end of its name, such as ``step-100``. An
            array is called as its place in the tree, such as ``layers.0.weight``.

    Raises:
        ArgumentError: There are fewer than two files, or a name, a shape or a number is not as it must be.
    """
    import jax
    from jax.tree_util import keystr, tree_flatten_with_path

    paths = sorted(path_argument("weights", folder).glob("*.safetensors"))
    if len(paths) < 2:
        rule = "be a folder of at least two .safetensors files"
        raise argument_error("weights", rule, f"`{folder}` has {len(paths)}")
    with jax.enable_x64(True):
        leaves, tree = tree_flatten_with_path(training.init(key(0, 0, "weights")))
    names = {keystr(path, simple=True, separator="."): np.shape(leaf) for path, leaf in leaves}
    found = {}
    for path in paths:
        step = _step(path)
        if step in found:
            raise argument_error("weights", "hold every step once", f"has {step} twice")
        arrays = read_arrays(path)
        for name, shape in names.items():
            if name not in arrays:
                got = f"`{path.name}` does not"
                raise argument_error(
                    "weights", f"hold the array `{name}`", got, nearest(name, arrays)
                )
            if arrays[name].shape != shape:
                rule = f"have shape {shape} in `{name}`"
                raise argument_error("weights", rule, f"`{path.name}` has {arrays[name].shape}")
        for name in arrays:
            if name not in names:
                got = f"`{path.name}` has `{name}`, too"
                raise argument_error("weights", "hold only arrays of the network", got)
        own = [arrays[name].astype(float) for name in names]
        found[step] = jax.tree.unflatten(tree, own)
    return dict(sorted(found.items()))


def moments(training: Training, weights: dict[int, Any]) -> tuple[Moment, ...]:
    """The weights of every step beside the network linearised at the first ones.

    Cost: for every step a kernel, of as many gradients as there are outputs, and 24 gradients.
    """
    import jax
    import jax.numpy as jnp

    (_, start), *_ = weights.items()
    kernel = Kernel(training, start)
    linear = corner(training.apply, layers=False, gates=False)

    @jax.jit
    def read(w):
        outputs = training.apply(w, training.x)
        first = training.apply(start, training.x)
        off = ((outputs - linear(w, start, training.x)) ** 2).sum()
        moved = ((outputs - first) ** 2).sum()
        # Below, both distances are rounding: the compiler takes the first weights for constants and adds in another order.
        some = moved > 1e-24 * ((outputs**2).sum() + (first**2).sum())
        return training.loss(outputs, training.y), off, jnp.where(some, moved, 0.0)

    found = []
    for step, w in weights.items():
        with jax.enable_x64(True):
            loss, off, moved = map(float, read(w))
        rate = float(training.rates[min(step, training.steps - 1)])
        edge = edge_share(training, start, w, held=False, rate=rate)
        movement = kernel.movement(kernel.there(w))
        away = float(np.sqrt(off / moved)) if moved > 0 else None
        found.append(Moment(step, loss, movement, edge, away))
    return tuple(found)


def rows(found: tuple[Moment, ...]) -> list[tuple[str, ...]]:
    """Moments as a table, a heading first."""
    heading = ("step", "loss", "kernel moved", "rate x sharpness / 2", "off the linearised network")
    return [
        heading,
        *(
            (str(one.step), *(number(value, 3) for value in (one.loss, one.movement, one.edge)),
             "" if one.off is None else number(one.off, 2))
            for one in found
        ),
    ]  # fmt: skip


def _step(path: Path) -> int:
    numbers = re.findall(r"\d+", path.stem)
    if not numbers:
        rule = "hold files with a step's number in their names"
        raise argument_error("weights", rule, f"has `{path.name}`")
    return int(numbers[-1])
