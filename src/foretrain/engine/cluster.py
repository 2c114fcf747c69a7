"""Sweeps beyond one machine: dask.distributed as a driver of shards.

A shard is a fixed part of a plan's runs. Every shard locks itself, journals into the shared folder and resumes by itself,
so that nothing here has to know how far one came: a shard that is lost is simply run again.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foretrain.engine.sweep import Execution, execute
from foretrain.errors import ForetrainError, not_installed
from foretrain.lazy import distributed
from foretrain.plans import catalogue
from foretrain.plans.plan import Plan, plan_from_dict
from foretrain.results.decode import line
from foretrain.results.lock import LockedError

_CONNECT_S = 6.0  # a scheduler that lives answers within milliseconds
_LOCK_WAIT_S = 120.0  # in which a shard whose client was killed ends its task, or is left to it


def run_shard(plan: dict, folder: str, shard: tuple[int, int], options: dict) -> Execution:
    """Run shard (i, n) of a plan, as `Plan.as_dict` gives it, with one worker; wait while another process holds the shard."""
    # The process that sent the plan has named its study.
    own_plan = plan_from_dict(plan, catalogue.load(plan["where"] or plan["study"]))
    patience = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return execute(own_plan, Path(folder), workers=1, shard=shard, **options)
        except LockedError:
            if time.monotonic() > patience:
                raise
            time.sleep(1.0)


def connected(scheduler: str, timeout: float = _CONNECT_S) -> "distributed.Client":
    """A client of a dask scheduler, to be closed by the caller (it is a context manager).

    Raises:
        ForetrainError: the package is missing, or no scheduler answers within the time (and at most 1 s more).
    """
    try:
        connect = distributed.Client
    except ImportError:
        raise not_installed("A scheduler", "dask.distributed", "distributed") from None
    reason = _refusal(scheduler, timeout)
    if reason is None:
        try:
            return connect(scheduler, timeout=timeout, set_as_default=False)
        except Exception as error:
            reason = line(error) or type(error).__name__
    raise ForetrainError(
        f"Argument `scheduler` must be the address of a running scheduler, but {scheduler} does not answer ({reason})."
    )


def _refusal(scheduler: str, timeout: float) -> str | None:
    """Reason why an address is none of a scheduler, or None if it is one.

    A `Client` that cannot connect leaves threads and tracebacks behind, so that the address is asked first: on a thread of its
    own, since the caller may be inside an event loop, and one that may stay behind in a slow look-up.
    """
    outcome: list[str | None] = []
    silent = f"silent for {timeout:g} s"

    def ask() -> None:
        try:
            asyncio.run(asyncio.wait_for(_greet(scheduler, timeout), timeout + 0.5))
            outcome.append(None)
        except Exception as error:  # any bytes are read as anything, even as an array of exabytes
            late = isinstance(error, TimeoutError)
            outcome.append(line(error) or (silent if late else type(error).__name__))

    thread = threading.Thread(target=ask, name="foretrain-scheduler", daemon=True)
    thread.start()
    thread.join(timeout + 1.0)
    return outcome[0] if outcome else silent


async def _greet(scheduler: str, timeout: float) -> None:
    """Ask an address who it is; raises whatever goes wrong, and ValueError if it is no scheduler."""
    # An unknown name fails here at once instead of being tried again.
    distributed.comm.addressing.resolve_address(scheduler)
    secrets = distributed.Security().get_connection_args("client")
    async with distributed.rpc(scheduler, timeout=timeout, connection_args=secrets) as remote:
        identity: Any = await remote.identity()
    if "workers" not in identity:
        raise ValueError(f"it is a {identity.get('type')}, not a scheduler")


def execute_on(
    client: "distributed.Client",
    plan: Plan,
    folder: Path,  # folder of the results, at the same path on all machines
    *,
    tell: Callable[[int, int], None],  # called with the number of shards done and of all shards
    **options,  # further options of `foretrain.engine.sweep.execute`, such as `checkpoint_every`
) -> list[Execution]:
    """Run a plan in four shards for each thread of a dask.distributed cluster whose workers share the folder.

    A task on a lost worker is tried again up to five times; a shard that fails for good is a `ForetrainError`.
    """
    threads = sum(dict(client.nthreads()).values())  # type: ignore[call-overload]  # no coroutine: the client is synchronous
    parts = max(1, 4 * threads)
    where = plan.as_dict(), str(folder.resolve())
    futures = [
        client.submit(run_shard, *where, (part, parts), options, pure=False, retries=5)
        for part in range(1, parts + 1)
    ]
    done = []
    for future in distributed.as_completed(futures, loop=client.loop):
        try:
            done.append(future.result())
        except Exception as error:
            raise ForetrainError(f"A shard failed on the cluster: {error}") from error
        tell(len(done), parts)
    return done
