"""Draws of a posterior, stored once and read many times: losses of every example, observables, parameters if wanted.

They go to a Zarr group block by block, so that memory is that of one block whatever the number of draws; `plan` says it
beforehand. What can be read off them is in `foretrain.degeneracy.susceptibility`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.degeneracy import curvature, samplers
from foretrain.degeneracy.learning_coefficient import SHARE
from foretrain.degeneracy.posterior import Posterior
from foretrain.errors import ForetrainError, TooLarge, argument_error, integer, one_of, real

Observables = Mapping[str, Callable[[Any], Any]]
PLACE, LOSSES = "place", "losses"


def gigabytes(size: float) -> str:
    """A number of bytes as text."""
    return f"{size / 1e9:.3g} GB"


@dataclass(frozen=True)
class Plan:
    """What a run of `store` takes.

    Attributes:
        memory: Bytes of one block of draws, beside data, chains and gradients.
        disk: Bytes of all, uncompressed.
        gradients: Steps of the sampler times chains.
    """

    memory: int
    disk: int
    gradients: int

    def __str__(self) -> str:
        return (
            f"{gigabytes(self.memory)} of memory, {gigabytes(self.disk)} on disk at most, "
            f"{self.gradients:,} gradients"
        )


@dataclass(frozen=True)
class Draws:
    """Stored draws of one inverse temperature.

    Attributes:
        path: Folder of the Zarr group.
        beta: Inverse temperature of the mean loss.
        pull: gamma.
        step: e.
        examples: n.
        shapes: Name of what is stored to its shape, (chain, draw, ...): `losses` (chain, draw, n), observables, and `place`
            (chain, draw, d) if kept.
        finite: Which chains stayed finite throughout, shape (chain,); only they count.
    """

    path: Path
    beta: float
    pull: float
    step: float
    examples: int
    shapes: dict[str, tuple[int, ...]]
    finite: np.ndarray

    def blocks(self, *names: str) -> Iterator[tuple[np.ndarray, ...]]:
        """Block after block of draws of the chains that count, each (chain, some draws, ...), float64."""
        import zarr

        for name in names:
            one_of("name", name, tuple(self.shapes))
        group = zarr.open_group(self.path, mode="r")
        arrays: list[Any] = [group[name] for name in names]
        length = self.shapes[names[0]][1]
        size = int(arrays[0].chunks[1])
        for begin in range(0, length, size):
            yield tuple(
                np.asarray(array[:, begin : begin + size], np.float64)[self.finite]
                for array in arrays
            )

    def whole(self, name: str) -> np.ndarray:
        """All draws of one name, of the chains that count; memory is theirs."""
        return np.concatenate([block for (block,) in self.blocks(name)], 1)


def plan(
    posterior: Posterior,
    *,
    chains: int,
    draws: int,
    block: int,
    observables: Observables | None = None,
    places: bool = False,
    warm_up: int = 0,
    steps: int = 1,
) -> Plan:
    """What `store` would take with the same arguments, without drawing anything."""
    import jax

    sizes = [posterior.n] + [posterior.dimension] * places
    for function in (observables or {}).values():
        sizes.append(math.prod(jax.eval_shape(function, posterior.params).shape))
    each = 4 * chains * sum(sizes)
    # On the device and as an array of NumPy.
    return Plan(2 * each * block, each * draws, chains * (warm_up + draws) * steps)


def store(
    posterior: Posterior,
    out: Any,
    *,
    sampler: str | None = None,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int | None = None,
    steps: int = 1,
    block: int = 50,
    step: float | None = None,
    pull: float = 1.0,
    observables: Observables | None = None,
    places: bool = False,
    memory: float = 2e9,
    seed: int = 0,
    say: Callable[[str], Any] | None = None,
) -> Draws:
    """Draw chains from w* and store them.

    Args:
        posterior: Of one beta and one part.
        out: Folder, which must not exist.
        sampler: See `foretrain.degeneracy.samplers`; by default as in `learning_coefficient`.
        chains: Number of chains.
        draws: Of each chain; at every one the losses of all n examples are taken.
        warm_up: Draws before those; as many again by default.
        steps: Of the sampler between draws.
        block: Draws in memory at once.
        step: e; by default a tenth of 4/P_max at w* or at a place of typical loss. Whether it is short enough a
            `Coefficient` of the same posterior tells.
        pull: gamma.
        observables: Name to ``f(params)``, an array.
        places: Whether parameters are stored, too.
        memory: Bytes that a block may take.
        seed: Of all draws.
        say: Told the `Plan` as a text before the first draw.

    Raises:
        ArgumentError: The posterior has several beta or parts, `out` exists, or an argument is out of range.
        TooLarge: A block needs more than `memory`.
    """
    import zarr

    if sampler is None:
        sampler = "baoab" if posterior.batch_size is None else "sgld"
    one_of("sampler", sampler, samplers.SAMPLERS)
    chains, draws = integer("chains", chains, minimum=1), integer("draws", draws, minimum=1)
    block = min(integer("block", block, minimum=1), draws)
    warm_up = draws if warm_up is None else integer("warm_up", warm_up, minimum=0)
    pull, steps = real("pull", pull, minimum=0), integer("steps", steps, minimum=1)
    if len(posterior.beta) != 1 or len(posterior.parts) != 1:
        got = f"has {len(posterior.beta)} and {len(posterior.parts)}"
        raise argument_error("posterior", "have one beta and one part", got)
    out = Path(out)
    if out.exists():
        raise argument_error("out", "be a folder that does not exist", f"is {out}, which does")
    observables = dict(observables or {})
    needs = plan(
        posterior, chains=chains, draws=draws, block=block, observables=observables, places=places,
        warm_up=warm_up, steps=steps,
    )  # fmt: skip
    if needs.memory > memory:
        raise TooLarge(
            f"A block of {block} draws needs {gigabytes(needs.memory)}, but {gigabytes(memory)} are allowed. "
            "Try a smaller `block`."
        )
    if say is not None:
        say(str(needs))

    (steepest,) = curvature.at_start(posterior, pull)
    if step is None:
        e = SHARE * 4 / curvature.bound(posterior, pull, np.array([steepest]))[0]
    else:
        e = real("step", step, above=0)
        if e >= 4 / steepest:
            rule = f"be below {4 / steepest:.4g}, the bound 4/P_max"
            raise argument_error("step", rule, f"is {e:.4g}")
    (mask,) = posterior.parts.values()
    args = (posterior.beta, pull, e, mask[None], chains, posterior.flat.dtype)
    learning, lanes = samplers.lanes_of(*args, learn=1.0), samplers.lanes_of(*args)
    states = samplers.start(posterior, sampler, lanes)
    emit = _emitted(posterior.losses, tuple(observables.items()), places)
    group, made = zarr.create_group(out), {}
    # Whole blocks, so that there is one program; of the last some draws may be left over.
    for number in range(-math.ceil(warm_up / block), math.ceil(draws / block)):
        keys = samplers.keys_of(seed, chains, 1, number + 2**20)
        now = learning if number < 0 else lanes
        states, _, kept = samplers.advance(
            posterior, sampler, now, states, keys, block, steps, emit=emit
        )
        if number < 0:
            continue
        begin = number * block
        size = min(block, draws - begin)
        for name, values in kept.items():
            values = np.asarray(values, np.float32)[:, :size]
            if name not in made:
                shape = (chains, draws, *values.shape[2:])
                made[name] = group.create_array(
                    name, shape=shape, dtype="float32", chunks=(chains, block, *values.shape[2:])
                )
            made[name][:, begin : begin + size] = values
    ends = np.asarray(samplers.places(posterior, lanes, states))
    group.attrs.update(
        beta=float(posterior.beta[0]),
        pull=float(pull),
        step=float(e),
        sampler=sampler,
        examples=posterior.n,
        finite=np.isfinite(ends).all(1).tolist(),
    )
    return open_draws(out)


def open_draws(path: Any) -> Draws:
    """Stored draws.

    Raises:
        ForetrainError: The folder holds none.
    """
    import zarr

    try:
        group = zarr.open_group(path, mode="r")
        said = dict(group.attrs)
        shapes = {name: tuple(array.shape) for name, array in group.arrays()}
        numbers = {name: float(said[name]) for name in ("beta", "pull", "step")}  # type: ignore[arg-type]
        finite, examples = np.array(said["finite"], bool), int(said["examples"])  # type: ignore[call-overload]
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise ForetrainError(f"{path} holds no draws: {error}".replace("\n", " ")) from None
    return Draws(Path(path), **numbers, examples=examples, shapes=shapes, finite=finite)


@lru_cache(maxsize=32)
def _emitted(losses, observables, places: bool):
    """One function object for the same things to keep, so that programs are compiled once."""
    from jax.flatten_util import ravel_pytree

    def emit(params, data):
        found = {LOSSES: losses(params, data)} | {name: f(params) for name, f in observables}
        return found | ({PLACE: ravel_pytree(params)[0]} if places else {})

    return emit
