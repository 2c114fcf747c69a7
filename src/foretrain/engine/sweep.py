"""A sweep: every run of a plan that is not yet in the folder, done by workers, durable as soon as it is finished."""

import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from foretrain.dynamics.program import KEEP_STATE
from foretrain.engine import places
from foretrain.engine.cache import program_cache
from foretrain.engine.coordinator import Coordinator
from foretrain.engine.places import CPU, GPU
from foretrain.engine.progress import Progress
from foretrain.errors import argument_error, integer, one_of, real
from foretrain.plans.plan import Plan, runs
from foretrain.results.files import disk_errors
from foretrain.results.journal import forget, scan
from foretrain.results.lock import lock, refuse_living


@dataclass(frozen=True)
class Execution:
    """Result of `execute`."""

    stored: int  # runs that were in the folder before
    ran: int  # runs that were done now
    device: str  # what was computed on; "" if nothing was run
    backends: tuple[str, ...]  # backends of the runs that were done now
    wall_time_s: float  # seconds it took


def execute(
    plan: Plan,
    folder: Path,
    *,
    workers: int | None = None,
    on: str | None = None,
    checkpoint_every: float = 60.0,
    shard: tuple[int, int] = (1, 1),
    keep_state: str = "no",
    again: Collection[str] = (),
    claimed: Callable[[], object] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Execution:
    """Run what the folder does not hold yet of a plan, or of one shard of it.

    It can be killed at any moment and called again: finished runs are kept (those of the last second excepted), runs
    under way go on from their last checkpoint, and the result is the same to the bit. Diverged and failed runs are results too
    and raise nothing.

    Args:
        plan: What to run.
        folder: Folder of results; made if absent.
        workers: As in `foretrain.plans.options.Options`. 0 pins the calling process to one core for good.
        on: As there.
        checkpoint_every: Seconds between checkpoints of the runs under way.
        keep_state: As there.
        shard: (i, n) runs the i-th of n parts, i from 1. A run's part is fixed by the first 15 hex digits of its identity.
        again: Identities of runs that are trained again although the folder holds them.
        claimed: Called once the part of the grid is this process's own, before anything else is done.
        progress: Called from this thread with a `Progress` before the start, a few times a second, and at the end.

    Raises:
        ArgumentError: an argument is out of range.
        FolderError: the shard is in use by a living process, or the whole grid or a shard of another number of parts is; or
            the disk is full or refuses to write.
        TooLarge: three lanes or the labelled result do not fit into memory.
        ForetrainError: workers cannot start.
    """
    began = time.monotonic()
    part, parts = check_shard(shard)
    check_options(workers=workers, on=on, checkpoint_every=checkpoint_every, keep_state=keep_state)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)

    def overlaps(name: str) -> bool:
        return name.startswith("shard-") and not name.endswith(f"-of-{parts}")

    with lock(folder, "sweep" if parts == 1 else f"shard-{part}-of-{parts}"):
        refuse_living(folder, lambda name: parts > 1 if name == "sweep" else overlaps(name))
        if claimed is not None:
            claimed()
        mine = [run for run in runs(plan) if int(run.identity[:15], 16) % parts == part - 1]
        known = set(scan(folder).identities)
        if mine_again := {run.identity for run in mine if run.identity in again} & known:
            forget(folder, mine_again)
            known -= mine_again
        sweep = Coordinator(
            plan=plan,
            folder=folder,
            runs=[run for run in mine if run.identity not in known],
            total=len(mine),
            workers=workers,
            on=on,
            checkpoint_every=checkpoint_every,
            shard=(part, parts),
            keep_state=keep_state,
            tell=progress or (lambda now: None),
        )
        with program_cache() if workers == 0 and plan.study.trains else nullcontext():
            sweep.run()
    return Execution(
        stored=len(mine) - len(sweep.runs),
        ran=sum(sweep.outcomes.values()),
        device="; ".join(sweep.devices),
        backends=tuple(sorted(sweep.by_backend)),
        wall_time_s=time.monotonic() - began,
    )


def check_options(
    *, workers: int | None, on: str | None, checkpoint_every: float, keep_state: str
) -> None:
    """Refuse what `execute` cannot do with an `ArgumentError`, before a folder is touched."""
    integer("workers", 0 if workers is None else workers, minimum=0, maximum=4096)
    if on is not None:
        one_of("on", on, (CPU, GPU))
    if on == GPU and GPU not in places.backends():
        repair = "Try `nvidia-smi`, or docs.jax.dev/en/latest/installation.html (JAX on a GPU)."
        raise argument_error("on", "be cpu where JAX finds no GPU", "is gpu", repair)
    if on == GPU and workers == 0:
        raise argument_error("on", "be left out without workers", "is gpu", "Try `workers=1`.")
    real("checkpoint_every", checkpoint_every, above=0)
    one_of("keep_state", keep_state, KEEP_STATE)


def check_shard(shard: tuple[int, int]) -> tuple[int, int]:
    """Return (i, n) with 1 <= i <= n, or raise `ArgumentError`."""
    parts = integer("shard", shard[1], minimum=1, maximum=10**6)
    return integer("shard", shard[0], minimum=1, maximum=parts), parts
