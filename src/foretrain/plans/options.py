"""The options of a run, said once: for `foretrain.run`, `sweep` and `train`, for the command line, and for scripts."""

import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from foretrain.errors import argument_error

_Function = TypeVar("_Function", bound=Callable)


def _option(default: Any, meaning: str, kind: type = str) -> Any:
    return field(default=default, metadata={"meaning": meaning, "kind": kind})


@dataclass(frozen=True)
class Options:
    """Options with which a grid is made and run. ``--help`` and ``help`` show the meaning of each field."""

    preset: str = _option("quick", "quick, the study's defaults, or another of its presets")
    seeds: int | None = _option(None, "number of seeds; by default that of the preset", int)
    root_seed: int = _option(0, "root of all random streams; default 0", int)
    yes: bool = _option(False, "start even if the grid has more than ten million runs", bool)
    out: str | Path | None = _option(
        None,
        "folder of the results, by default runs/<study>-<hash>, whatever the number of seeds; one that holds a part of the "
        "same grid is continued, a finished one only read; by default runs that a folder beside it holds are taken from there",
        Path,
    )
    workers: int | None = _option(
        None, "processes, each on one core; by default one per core, 0 runs in this process", int
    )
    on: str | None = _option(
        None,
        "cpu or gpu; by default the cores, and a GPU beside them for those runs that a short trial finds faster there",
    )
    checkpoint_every: float = _option(
        60.0, "seconds between checkpoints of the runs under way; default 60", float
    )
    shard: str | tuple[int, int] | None = _option(
        None, "i/n: only the i-th of n parts, for many machines on one folder"
    )
    scheduler: str | None = _option(
        None, "address of a dask scheduler whose workers run the grid and share the folder"
    )
    keep_state: str = _option(
        "no",
        "store the whole state of every run too (parameters, and memory of the optimizer): no (default), end (at its end) or "
        "all (at all observations); runs that the folder holds stay as they are",
    )
    retry_failed: bool = _option(False, "train runs again that failed before", bool)
    retrain: bool = _option(False, "train runs again that other code has made", bool)
    keep: bool = _option(False, "add to runs that other code has made; the page says so", bool)
    data_dir: str | Path | None = _option(
        None, "folder of real data, for studies that read some; the results remember it", Path
    )
    quiet: bool = _option(False, "show no progress and no table", bool)

    @property
    def of_plan(self) -> dict[str, Any]:
        """Those that decide which runs there are, for `foretrain.plans.plan.make_plan`."""
        return {name: getattr(self, name) for name in (*OF_GRID, "yes")}


FIELDS = {item.name: item for item in dataclasses.fields(Options)}
OF_GRID = ("preset", "seeds", "root_seed")  # the file of a sweep says these itself


def split(arguments: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Return the options among some named arguments, and the other arguments."""
    options = Options(**{name: value for name, value in arguments.items() if name in FIELDS})
    return options, {name: value for name, value in arguments.items() if name not in FIELDS}


def only(arguments: Mapping[str, Any], refused: Collection[str] = OF_GRID) -> Options:
    """Return named arguments as options; raises `ArgumentError` for one that is refused or is no option."""
    options, others = split(arguments)
    for name in (*others, *(name for name in arguments if name in refused)):
        raise argument_error(name, "be an option of a run that is taken here", "is not")
    return options


def words(options: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the words of the command line for those of these options that differ from their defaults."""
    line = []
    for name in names:
        value = options[name]
        if value != FIELDS[name].default:
            line.append(f"--{name.replace('_', '-')}")
            line += [] if value is True else [str(value)]
    return line


def documented(*without: str) -> Callable[[_Function], _Function]:
    """Return a decorator that shows the options, but those named, in the signature and the docstring of a function.

    The function takes them as ``**options``, or among the ``**parameters`` of a study. Its docstring
    has the line "**options: Those of a run.", which they replace.
    """
    fields = {name: item for name, item in FIELDS.items() if name not in without}

    def decorate(function: _Function) -> _Function:
        own = list(inspect.signature(function).parameters.values())
        rest = own.pop()
        own += [
            inspect.Parameter(name, rest.KEYWORD_ONLY, default=item.default, annotation=item.type)
            for name, item in fields.items()
        ]
        own += [rest] if rest.name == "parameters" else []
        function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        lines = (f"{name}: {item.metadata['meaning']}." for name, item in fields.items())
        first, rest = " " * 8, " " * 12
        listed = "\n".join(
            textwrap.fill(line, 120, initial_indent=first, subsequent_indent=rest) for line in lines
        )
        function.__doc__ = (function.__doc__ or "").replace(
            "        **options: Those of a run.", listed
        )
        return function

    return decorate
