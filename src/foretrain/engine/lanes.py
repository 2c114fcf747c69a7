"""Many runs at once: a queue of runs and a fixed number of lanes in one jitted program.

A run rides in a lane until it is done. The lane then freezes, the run is harvested with its reason, and the next one takes the
lane, without another compilation. Lanes nobody rides in are padded; their number never changes. The bits of a run depend on
its own inputs only: not on its lane, its neighbours, the order of the queue or where the chunks are cut. Another number of
lanes may round differently, since XLA then cuts its loops differently; a folder therefore keeps the number it began with.

A run is observed at step 0 and every `observe_every` steps. Its `max_steps` is rounded up to a whole stride. A state or
an observation that is not finite ends it as diverged at that step, so neither may hold infinities on purpose.
"""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.arithmetic import arithmetic, float_type
from foretrain.dynamics.program import RUNNING, Completed
from foretrain.engine.checkpoint import InFlight
from foretrain.engine.kernel import Kernel, refill, take
from foretrain.engine.sizes import shapes_of, size
from foretrain.errors import integer
from foretrain.results.segment import FinishedRun
from foretrain.vocabulary import STATE

FEWEST = 3  # lanes; XLA compiles one or two into another program
_CHUNK_S = 0.5  # the longest chunk, so that a finished run leaves within 5 s with its worker's other duties
_RECORD_BYTES = 2 * 2**20  # observations kept on the device during a chunk
_MOST_ROWS = 512
_FINISH_WIDTH = 8


@dataclass(frozen=True)
class Passenger:
    """A run that is ready to ride."""

    identity: str  # identity of the run
    # Inputs of the program, without the shared ones; ``root_seed``, ``seed`` and ``max_steps`` among them.
    inputs: dict[str, Any]
    checkpoint: InFlight | None = None  # where to go on from, or None to begin


@dataclass
class _Seat:
    """A run and what was observed of it so far, in pieces of shape (observation, ...)."""

    identity: str
    pieces: list[dict[str, np.ndarray]] = field(default_factory=list)

    def curves(self) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([piece[name] for piece in self.pieces]) for name in self.pieces[0]
        }


class Lanes:
    """A fixed number of lanes of one program; fewer than three are refused with an `ArgumentError`.

    `shared` holds the inputs common to all runs. Of `strides_paid`, which counts idle and frozen lanes too, the runs have used
    `strides_done`: the ratio is the occupancy.

    Cost: five compilations, at the first `advance`. Memory on the device is that of `bytes_per_lane` for every lane.
    """

    def __init__(self, program: Completed, shared: dict[str, Any], lanes: int):
        self.lanes = integer("lanes", lanes, minimum=FEWEST)
        self.program = program
        self.strides_done = self.strides_paid = 0
        self._wide = program.precision == "float64"
        with arithmetic(self.program.precision):
            self._shared = jax.device_put({k: self._cast(v) for k, v in shared.items()})
        self._waiting: deque[Passenger] = deque()
        # Inputs and initial states on the device, and the rows of them that wait for a lane, as (row, seat, step).
        self._pool: Any = None
        self._ready: deque[tuple[int, _Seat, int]] = deque()
        self._seats: list[_Seat | None] = [None] * self.lanes
        self._kernel: Any = None  # a Kernel, once there is a run to compile it for
        self._stride_s = self._overhead_s = 0.0
        self._limit = 1

    @property
    def waiting(self) -> int:
        """Number of runs that wait for a lane."""
        return len(self._waiting) + len(self._ready)

    @property
    def riding(self) -> int:
        """Number of lanes with a run in them."""
        return sum(seat is not None for seat in self._seats)

    @property
    def busy(self) -> bool:
        """True if a run rides or waits."""
        return bool(self.waiting or self.riding)

    def board(self, passengers: Iterable[Passenger]) -> None:
        """Add runs to the end of the queue, up to the first whose inputs have other names, shapes or dtypes: a ValueError."""
        with arithmetic(self.program.precision):
            for passenger in passengers:
                inputs = {name: self._cast(value) for name, value in passenger.inputs.items()}
                for name in ("root_seed", "seed"):
                    inputs[name] = np.asarray(inputs[name], np.uint32)
                inputs["max_steps"] = np.asarray(inputs["max_steps"], np.int32)
                self._check(inputs)
                checkpoint = passenger.checkpoint if self._fits(passenger.checkpoint) else None
                self._waiting.append(Passenger(passenger.identity, inputs, checkpoint))

    def advance(self) -> list[FinishedRun]:
        """Fill the free lanes, move all lanes on by one chunk of at most half a second, and return what is done."""
        began = time.perf_counter()
        with arithmetic(self.program.precision):
            finished = self._fill()
            if self.riding:
                before = time.perf_counter()
                rows, record = self._run_chunk()
                chunk_s = time.perf_counter() - before
                finished += self._harvest(rows, record)
                self._learn(rows.max(), chunk_s, time.perf_counter() - began - chunk_s)
        return finished

    def in_flight(self) -> list[InFlight]:
        """Every run in a lane, to be gone on with later; those that wait are not included."""
        if not self.riding:
            return []
        with arithmetic(self.program.precision):
            leaves = [
                np.asarray(_data(leaf)) for leaf in jax.tree.leaves(take(self._state, self._every))
            ]
        return [
            InFlight(
                seat.identity,
                int(self._step[lane]),
                tuple(np.array(leaf[lane]) for leaf in leaves),
                seat.curves(),
            )
            for lane, seat in enumerate(self._seats)
            if seat is not None
        ]

    def _cast(self, value):
        array = np.asarray(value)
        if array.dtype.kind == "f":
            return array.astype(float_type(self.program.precision))
        return array if self._wide else array.astype(jax.dtypes.canonicalize_dtype(array.dtype))

    def _check(self, inputs):
        shapes = {name: (value.shape, value.dtype) for name, value in inputs.items()}
        if self._kernel is None:
            self._open(inputs, shapes)
        elif shapes != self._shapes:
            known = self._shapes
            name = next(n for n in {**shapes, **known} if shapes.get(n) != known.get(n))
            raise ValueError(
                f"Input `{name}` must have the same shape and dtype in all runs of one static signature, "
                f"but is {shapes.get(name)} after {known.get(name)}."
            )

    def _fits(self, checkpoint):
        """Return True if the checkpoint has the shapes of this program's state; another is not used."""
        if checkpoint is None:
            return False
        state = [jax.eval_shape(_data, leaf) for leaf in jax.tree.leaves(self._state_shape)]
        rows = checkpoint.step // self.program.observe_every + 1
        curves = {n: ((rows, *x.shape), x.dtype) for n, x in self._observed_shape.items()}
        stored = {name: (curve.shape, curve.dtype) for name, curve in checkpoint.curves.items()}
        leaves = [(leaf.shape, leaf.dtype) for leaf in checkpoint.state]
        return [(leaf.shape, leaf.dtype) for leaf in state] == leaves and curves == stored

    def _open(self, inputs, shapes):
        self._state_shape, self._observed_shape = shapes_of(self.program, inputs, self._shared)
        rows = _RECORD_BYTES // max(1, size(self._observed_shape) * self.lanes)
        rows = int(np.clip(rows, 1, _MOST_ROWS))
        self._kernel, self._shapes = Kernel(self.program, rows), shapes
        self._every = np.arange(self.lanes)
        self._step = np.zeros(self.lanes, np.int32)
        self._outcome = np.full(self.lanes, -1, np.int8)
        self._inputs = self._state = None

    def _fill(self) -> list[FinishedRun]:
        """Give every free lane a waiting run; returns the runs that ended before their first step."""
        finished = []
        free = [lane for lane, seat in enumerate(self._seats) if seat is None]
        while free and self.waiting:
            if not self._ready:
                finished += self._fill_pool()
                continue
            source = np.full(self.lanes, -1, np.int32)
            while free and self._ready:
                lane = free.pop()
                row, seat, step = self._ready.popleft()
                source[lane], self._seats[lane] = row, seat
                self._step[lane], self._outcome[lane] = step, RUNNING
            if self._state is None:
                # Lanes nobody rides in hold a copy of some run's start, which is as good as any padding.
                self._inputs, self._state = take(self._pool, self._every)
            riders = (self._inputs, self._state)
            self._inputs, self._state = refill(riders, self._pool, source)
        return finished

    def _fill_pool(self) -> list[FinishedRun]:
        """Make initial states for up to `lanes` waiting runs; returns those that are done at step 0."""
        restored = self._waiting[0].checkpoint is not None
        group: list[Passenger] = []
        while self._waiting and len(group) < self.lanes:
            if (self._waiting[0].checkpoint is not None) != restored:
                break
            group.append(self._waiting.popleft())
        padded = group + [group[0]] * (self.lanes - len(group))
        names = group[0].inputs
        inputs = jax.device_put({n: np.stack([p.inputs[n] for p in padded]) for n in names})
        if restored:
            leaves, tree = jax.tree.flatten(self._state_shape)
            saved: list[Any] = [run.checkpoint for run in padded]
            states = zip(*(run.state for run in saved), strict=True)
            stacked = [
                _like(leaf, np.stack(values)) for leaf, values in zip(leaves, states, strict=True)
            ]
            self._pool = inputs, jax.tree.unflatten(tree, stacked)
            for row, run in enumerate(saved[: len(group)]):
                self._ready.append((row, _Seat(run.identity, [run.curves]), run.step))
            return []
        state, outcome, observed = self._kernel.start(inputs, self._shared)
        outcome, observed = np.asarray(outcome), jax.tree.map(np.asarray, observed)
        self._pool, ended = (inputs, state), []
        for row, run in enumerate(group):
            seat = _Seat(run.identity, [{n: v[row : row + 1].copy() for n, v in observed.items()}])
            if outcome[row] == RUNNING:
                self._ready.append((row, seat, 0))
            else:
                ended.append((row, seat, 0, outcome[row]))
        return self._finished(self._pool, ended)

    def _run_chunk(self):
        """Move the lanes on; returns the strides each has done, shape (lane,), and the observations."""
        allowance = np.iinfo(np.int32).max
        if self.waiting and self._stride_s:
            # Stopping costs the overhead, going on costs the frozen lanes: stop where the two are equal.
            allowance = int(min(allowance, self._overhead_s / self._stride_s * self.lanes))
        self._state, step, outcome, row, record = self._kernel.chunk(
            self._inputs,
            self._state,
            self._step,
            self._outcome,
            self._shared,
            np.int32(self._limit),
            np.int32(allowance),
        )
        step, outcome, row = np.array(step), np.array(outcome), int(row)
        strides = (step - self._step) // self.program.observe_every
        self._step, self._outcome = step, outcome
        self.strides_done += int(strides.sum())
        # In turn, a lane that does not move takes no time.
        self.strides_paid += int(strides.sum()) if self._kernel.in_turn else row * self.lanes
        return strides, jax.tree.map(np.asarray, record)

    def _harvest(self, strides, record) -> list[FinishedRun]:
        ended = []
        for lane, seat in enumerate(self._seats):
            if seat is None:
                continue
            rows = strides[lane]
            if rows:
                seat.pieces.append({n: v[:rows, lane].copy() for n, v in record.items()})
            if self._outcome[lane] != RUNNING:
                ended.append((lane, seat, self._step[lane], self._outcome[lane]))
                self._seats[lane] = None
        return self._finished((self._inputs, self._state), ended)

    def _finished(self, riders, ended) -> list[FinishedRun]:
        """Finish the runs of `ended`, each (lane, seat, step, outcome), in equal batches."""
        width = min(self.lanes, _FINISH_WIDTH)
        done = []
        for start in range(0, len(ended), width):
            batch = ended[start : start + width]
            lanes = np.full(width, batch[0][0], np.int32)
            lanes[: len(batch)] = [lane for lane, *_ in batch]
            finals = jax.tree.map(np.asarray, self._kernel.finish(*riders, self._shared, lanes))
            for row, (_, seat, step, outcome) in enumerate(batch):
                curves = seat.curves()
                count = len(next(iter(curves.values()))) if curves else 0
                done.append(
                    FinishedRun(
                        identity=seat.identity,
                        outcome=int(outcome),
                        steps_taken=int(step),
                        steps=np.arange(count, dtype=np.int64) * self.program.observe_every,
                        curves=curves,
                        finals={name: np.array(value[row]) for name, value in finals.items()},
                    )
                )
        return done

    def _learn(self, rows, chunk_s, overhead_s):
        """Choose the most strides of the next chunk from what the last one took."""
        stride_s = chunk_s / max(1, rows)
        # The first chunk compiles; what it took says nothing.
        if self.strides_paid > self.lanes * rows:
            self._stride_s = stride_s if not self._stride_s else min(stride_s, 2 * self._stride_s)
            self._overhead_s = overhead_s
            aim = max(1, int(_CHUNK_S / max(stride_s, 1e-9)))
            self._limit = min(aim, 4 * self._limit, self._kernel.rows)


def _data(leaf):
    """A leaf of a state, of a random key its data."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def _like(shape, array: Any):
    """`array` as a device array of the dtype of `shape`, which may be that of a random key."""
    if not jnp.issubdtype(shape.dtype, jax.dtypes.prng_key):
        return jax.device_put(array)
    generators = []  # of a random key of which only the shape is at hand
    jax.eval_shape(lambda random: generators.append(jax.random.key_impl(random)), shape)
    return jax.random.wrap_key_data(array, impl=generators[0])


def with_snapshots(program: Completed, keep_state: str) -> Completed:
    """Return a program that stores its state, too: at the "end" of a run, at "all" observations, or not at all ("no").

    A leaf of the state is stored as ``state_<path>``, such as ``state_0_encoders`` for the field ``encoders`` of the first
    entry of a tuple; what an optimiser remembers is among them. Nothing else about a run changes, nor does its identity.
    """
    name = {"end": "finish", "all": "observe"}.get(keep_state)
    if name is None:
        return program
    plain = getattr(program, name)
    return replace(program, **{name: lambda inputs, s: {**plain(inputs, s), **_named(s)}})


def _named(state):
    """Leaves of the state by name."""
    paths = jax.tree_util.tree_leaves_with_path(state)
    names = (jax.tree_util.keystr(path, simple=True, separator="_") for path, _ in paths)
    return {f"{STATE}{name}": _data(leaf) for name, (_, leaf) in zip(names, paths, strict=True)}
