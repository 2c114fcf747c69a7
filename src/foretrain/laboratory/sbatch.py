"""A SLURM script that runs the shards of a sweep as tasks of an array."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from foretrain.errors import argument_error, integer

_CORES = 4  # of a task, each with one worker


def sbatch_script(
    study: str,  # name of the study, for the name of the job
    config: Path,  # the sweep's TOML file
    folder: Path,  # folder of the results, on a file system that all nodes share
    shards: int,  # number of array tasks, at least 1
    # Further arguments of ``foretrain sweep``, such as ``("--keep-state", "end")``.
    options: Sequence[str] = (),
) -> str:
    """Return the text of a SLURM array script with one task per shard, to be submitted with ``sbatch``.

    Time, memory and partition are the user's to set. The logs go beside the folder, or into the nearest parent that exists:
    SLURM makes no folders for them.
    Raises `ArgumentError` where `shards` is less than 1, or SLURM has no way to write the name of the log.
    """
    shards = integer("shards", shards, minimum=1)
    config, folder = Path(config).resolve(), Path(folder).resolve()
    sweep = shlex.join(["foretrain", "sweep", str(config), "--out", str(folder), *options])
    return f"""#!/bin/bash
#SBATCH --job-name=foretrain-{study}
#SBATCH --array=1-{shards}
#SBATCH --cpus-per-task={_CORES}
#SBATCH --mem-per-cpu=2G
#SBATCH --time=24:00:00
#SBATCH --output={_log_name(folder)}
#SBATCH --requeue
# A task that is stopped or lost can be submitted again: it goes on where it was.
# Whichever task finishes last folds, judges and writes the page; `foretrain report` does it again.
{sweep} --shard ${{SLURM_ARRAY_TASK_ID}}/{shards} --workers {_CORES} --quiet
"""


def _log_name(folder: Path) -> str:
    """The log of an array task beside the folder, quoted as SLURM reads it."""
    path = str(next(parent for parent in folder.parents if parent.is_dir()) / folder.name)
    # A backslash in a file name makes SLURM take %A and %a literally, and a directive ends with its line.
    if "\\" in path or "\n" in path:
        raise argument_error("out", "have no backslash and no line break for SLURM", f"is {path!r}")
    path = path.replace("%", "%%").replace('"', '\\"')
    return f'"{path}.slurm-%A-%a.log"'
