"""Sweeps beyond one machine: a SLURM script of shards, and dask.distributed as a driver of the same shards.

A shard is a fixed part of a plan's runs. Every shard locks itself, journals into the shared folder and resumes by itself,
so that nothing here has to know how far one came: a shard that is lost is simply run again.
"""

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from foretrain.dynamics.sweep import check_shard, execute
from foretrain.errors import ForetrainError, integer
from foretrain.plans.plan import Plan, plan_from_dict
from foretrain.results.lock import LockedError

_CONNECT_S = 8.0  # a scheduler that lives answers within milliseconds
_LOCK_WAIT_S = (
    120.0  # a shard whose client was killed ends its task within this time or is left to it
)


def sbatch_script(study: str, config: Path, folder: Path, shards: int, cores: int = 4) -> str:
    """A SLURM array script with one task per shard.

    Args:
        study: Name of the study, for the name of the job.
        config: The sweep's TOML file.
        folder: Folder of the results, on a file system that all nodes share.
        shards: Number of array tasks, at least 1.
        cores: Cores of a task, each with one worker.

    Returns:
        The text of the script, to be submitted with ``sbatch``. Time, memory and partition are the user's to set.
    """
    shards, cores = integer("shards", shards, minimum=1), integer("cores", cores, minimum=1)
    config, folder = Path(config).resolve(), Path(folder).resolve()
    sweep = shlex.join(["foretrain", "sweep", str(config), "--out", str(folder)])
    return "\n".join(
        [
            "#!/bin/bash",
            f"#SBATCH --job-name=foretrain-{study}",
            f"#SBATCH --array=1-{shards}",
            f"#SBATCH --cpus-per-task={cores}",
            "#SBATCH --mem-per-cpu=2G",
            "#SBATCH --time=24:00:00",
            f"#SBATCH --output={folder}.slurm-%A-%a.log",
            "#SBATCH --requeue",
            "# A task that is stopped or lost can be submitted again: it goes on where it was.",
            "# Whichever task finishes last folds, judges and writes the page; `foretrain report` does it again.",
            f"{sweep} --shard ${{SLURM_ARRAY_TASK_ID}}/{shards} --workers {cores} --quiet",
            "",
        ]
    )


def run_shard(plan: dict, folder: str, shard: tuple[int, int], options: dict) -> dict:
    """Run one shard with one worker; what a task of the cluster does. Waits while another process holds the shard.

    Args:
        plan: The plan, as `Plan.as_dict` gives it.
        folder: Folder of the results.
        shard: (i, n).
        options: Further options of `foretrain.dynamics.sweep.execute`.

    Returns:
        Number of runs ``found`` and ``ran``, the ``device``, and the ``failures``.
    """
    patience = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            done = execute(
                plan_from_dict(plan),
                Path(folder),
                workers=1,
                shard=check_shard(shard),
                **options,
            )
        except LockedError:
            if time.monotonic() > patience:
                raise
            time.sleep(1.0)
            continue
        return {
            "found": done.found,
            "ran": done.ran,
            "device": done.device,
            "failures": done.failures,
        }


def execute_on(
    scheduler: str,
    plan: Plan,
    folder: Path,
    *,
    shards: int | None = None,
    tell: Callable[[int, int], None] | None = None,
    **options,
) -> list[dict]:
    """Run every shard of a plan on a dask.distributed cluster whose workers share the folder.

    Args:
        scheduler: Address, such as ``tcp://10.0.0.1:8786``.
        plan: What to run.
        folder: Folder of the results, at the same path on all machines.
        shards: Number of parts, by default four per thread of the cluster. The same number resumes the same shards.
        tell: Called with the number of shards done and of all shards.
        **options: Further options of `foretrain.dynamics.sweep.execute`, such as `checkpoint_every`.

    Returns:
        What `run_shard` returned, for every shard. A task on a lost worker is tried again up to five times.

    Raises:
        ForetrainError: the package is missing, the scheduler does not answer within 8 s, or a shard failed for good.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ForetrainError(
            "A scheduler needs dask.distributed, which is not installed. "
            'Try `python -m pip install "foretrain[distributed]"`.'
        ) from None
    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ForetrainError(
            f"Argument `scheduler` must be the address of a running scheduler, but {scheduler} does not answer "
            f"({reason})."
        ) from None
    with client:
        threads = sum(client.nthreads().values())
        parts = integer("shards", shards or max(1, 4 * threads), minimum=1)
        futures = [
            client.submit(
                run_shard,
                plan.as_dict(),
                str(Path(folder).resolve()),
                (part, parts),
                options,
                pure=False,
                retries=5,
            )
            for part in range(1, parts + 1)
        ]
        done = []
        for future in as_completed(futures, loop=client.loop):
            try:
                done.append(future.result())
            except Exception as error:
                raise ForetrainError(f"A shard failed on the cluster: {error}") from error
            if tell is not None:
                tell(len(done), parts)
    return done
