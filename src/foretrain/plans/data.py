"""Files of data that runs read: found before the first run, so that what they hold is part of every run's identity."""

from collections.abc import Iterable, Mapping
from typing import Any

from foretrain.errors import FolderError
from foretrain.plans.study import Study
from foretrain.streams import Seed
from foretrain.tasks.data_files import DataFile


def read_by(
    study: Study,
    networks: Iterable[tuple[Any, int]],  # parameters of a network, and its number of seeds
    root_seed: int,
) -> dict[str, DataFile]:
    """Name to file of all data that some runs of a study read.

    Cost: one call of the study's ``reads`` for each network, or for each run where it takes a seed.
    """
    if not study.reads_data:
        return {}
    return {
        file.name: file
        for parameters, seeds in networks
        for number in range(seeds if study.reads_by_seed else 1)
        for file in study.reads(parameters, Seed(root_seed, number))
    }


def part_of_identity(
    study: Study, parameters: Any, seed: Seed, known: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return what a run's data add to the identity of the run; empty if the run reads no data."""
    digests = [known.get(file.name, "") for file in study.reads(parameters, seed)]
    return {"data": digests} if any(digests) else {}


def refuse_changed(files: Iterable[DataFile], known: Mapping[str, str]) -> None:
    """Raise `FolderError` where a file is not there any more, or holds something else than it did."""
    for file in files:
        then, now = known.get(file.name, ""), file.digest if file.path else ""
        if then == now:
            continue
        what = f"holds something else now ({_short(then)}; now {_short(now)})"
        what = what if now and then else "is not there" if then else "was not there then"
        raise FolderError(
            f"The runs read the file of data `{file.name}`, which {what}. Try FORETRAIN_DATA_DIR with the folder of the files "
            "as they were. What is in the folder can be shown and opened as it is."
        )


def refuse_other(
    names: Iterable[str], stored: Mapping[str, str], requested: Mapping[str, str]
) -> None:
    """Raise `FolderError` where runs of a folder, which read these files, had other data than those that are asked for."""
    for name in names:
        if stored.get(name) != (now := requested.get(name, stored.get(name))):
            raise FolderError(
                f"Argument `out` must be a folder of runs of the same data, but `{name}` was another file then "
                f"({_short(stored.get(name, ''))}; now {_short(now or '')}). Try another folder, or the file as it was."
            )


def _short(digest: str) -> str:
    return digest[:12] or "unknown"
