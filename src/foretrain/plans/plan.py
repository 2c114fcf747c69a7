"""A plan: which runs a study, its parameters, its axes and its seeds amount to, and when two plans fit one folder."""

import dataclasses
import hashlib
import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foretrain.errors import (
    ArgumentError,
    FolderError,
    StoreError,
    UnknownStudyError,
    argument_error,
    integer,
    nearest,
    one_of,
)
from foretrain.plans import catalogue
from foretrain.plans.data import part_of_identity, read_by, refuse_other
from foretrain.plans.named_before import is_known, remember
from foretrain.plans.parameters import cells, check_precision, rules, split_axes
from foretrain.plans.study import Study
from foretrain.streams import Seed
from foretrain.tasks.data_files import DataFile
from foretrain.vocabulary import DIMS

SCHEMA = 2
MOST_RUNS = 10**7
OWN = "own"  # the scale of a plan that is no preset


@dataclass(frozen=True)
class Run:
    """One training, known by what it is."""

    # Hash (32 hex digits) of study, its revision, parameters, root seed, seed and the files of data that it reads: equal
    # runs have equal identity, in whatever plan and at whatever place of a grid they stand.
    identity: str
    parameters: Any  # the study's ``Parameters`` of this run
    seed: Seed  # root and number of its seed


@dataclass(frozen=True)
class Plan:
    """A grid of runs of one study."""

    study: Study  # the study
    parameters: Any  # ``Parameters`` with every axis at its first value
    # Field name to its values, in the order in which they become dims.
    axes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    seeds: int = 10  # number of seeds, 0 .. seeds-1, run in every cell.
    root_seed: int = 0  # root of all random streams
    preset: str = OWN  # the preset it is, with at least its seeds; "own" if it is none
    # Name of each file of data that its runs read to its digest; "" of a file that is not there.
    data: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(len(values) for values in self.axes.values())

    def as_dict(self) -> dict:
        """The plan as JSON-ready values; `plan_from_dict` is the inverse."""
        return {**self._content(), "preset": self.preset, "where": self.study.where}

    def _content(self) -> dict:
        return {
            "schema": SCHEMA,
            "study": self.study.name,
            "revision": self.study.revision,
            "parameters": dataclasses.asdict(self.parameters),
            "axes": {name: list(values) for name, values in self.axes.items()},
            "seeds": self.seeds,
            "root_seed": self.root_seed,
            **({"data": self.data} if self.data else {}),
        }

    @property
    def hash(self) -> str:
        """Hash (12 hex digits) of all that changes a result."""
        return _hash(self._content())

    @property
    def grid_hash(self) -> str:
        """Hash (12 hex digits) of the plan without its number of seeds: more seeds are more of the same."""
        return _hash({name: value for name, value in self._content().items() if name != "seeds"})


def _hash(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def make_plan(
    study: str | Path | Study,
    values: dict,
    *,
    seeds: int | None = None,
    root_seed: int = 0,
    preset: str = "quick",
    yes: bool = False,
) -> Plan:
    """Build a checked plan.

    Args:
        study: Name of a study, path of one of one's own, or a `Study`.
        values: Parameter name to a value, or to several, which make an axis. They take precedence over the preset.
        seeds: Number of seeds; by default what the preset or the study says.
        root_seed: Root of all random streams, a non-negative int below 2**31.
        preset: "quick" (the study's defaults) or another of the study's presets.
        yes: Allow more than ten million runs.

    Raises:
        ArgumentError: an unknown study, preset or parameter, a value that breaks a rule in some cell of the grid, or
            too many runs.
    """
    known = catalogue.load(study)
    remember(known)
    catalogue.refuse_borrowed_name(known)
    chosen = known.presets[one_of("preset", preset, list(known.presets))]
    parameters, axes, preset_seeds = laid_out(known, {**chosen, **values})
    for name in axes:
        if name in DIMS or name in ("loss", "outcome", "steps_taken"):
            got = "is that of a variable or dim of the results"
            raise argument_error(name, "have a name of its own to be an axis", got)
    check_precision(parameters, axes)
    plan = Plan(
        known,
        parameters,
        axes,
        integer("seeds", preset_seeds if seeds is None else seeds, minimum=1, maximum=10**7),
        integer("root_seed", root_seed, minimum=0, maximum=2**31 - 1),
    )
    total = math.prod(plan.shape) * plan.seeds
    if total > MOST_RUNS and not yes:
        rule = f"make at most {MOST_RUNS:,} runs"
        raise argument_error("axes", rule, f"make {total:,}", "Try --yes.")
    for _, cell in cells(parameters, axes):
        if known.trains and cell.observe_every > max(cell.steps, 1):
            rule = f"be at most `steps` = {cell.steps}"
            raise argument_error("observe_every", rule, f"is {cell.observe_every}")
        known.check(cell)
    digests = {name: file.digest for name, file in files(plan).items()}
    return dataclasses.replace(plan, preset=_preset_of(plan), data=digests)


def files(plan: Plan) -> dict[str, DataFile]:
    """Name to file of all data that the runs of a plan read; raises `StudyError` where the study cannot say which."""
    return read_by(
        plan.study, ((p, n) for v in variants(plan) for _, p, n in _of(plan, v)), plan.root_seed
    )


def laid_out(study: Study, arguments: dict) -> tuple[Any, dict[str, tuple[Any, ...]], int]:
    """Parameters, axes and default seeds, once the study's axes and conditional defaults have been filled in."""
    merged: dict = dict(study.axes)
    for (name, value), defaults in study.conditional_defaults.items():
        if isinstance(arguments.get(name), str | int | float) and arguments[name] == value:
            merged.update(defaults)
    # None stands for a parameter's default, which may be an axis or depend on a choice.
    merged |= {n: v for n, v in arguments.items() if v is not None or n not in merged}
    seeds = integer("seeds", merged.pop("seeds", study.seeds), minimum=1, maximum=10**7)
    return *split_axes(study.Parameters, merged), seeds


def _preset_of(plan: Plan) -> str:
    """The last preset whose parameters and axes are those of the plan, with no fewer seeds; "own" if none is."""
    preset = OWN
    for name, values in plan.study.presets.items():
        parameters, axes, seeds = laid_out(plan.study, values)
        if parameters == plan.parameters and axes == plan.axes and plan.seeds >= seeds:
            preset = name
    return preset


def plan_from_dict(fields: Mapping[str, Any], study: Study | None = None) -> Plan:
    """The plan that `Plan.as_dict` wrote.

    Raises:
        FolderError: the study is not to be found, or has no longer a parameter that the plan holds.
        StoreError: it holds what no plan of the study holds.
    """
    try:
        known = study or _study_of(fields)
        if study is None and known.where:  # its file may have another name by now
            known = known.named(fields["study"])
        if known.name != fields["study"]:
            raise argument_error("study", f"be `{fields['study']}`", f"is `{known.name}`")
        for name in {**fields["parameters"], **fields["axes"]}:
            if name not in rules(known.Parameters):
                raise FolderError(
                    f"The folder was made with a parameter `{name}`, which the study `{known.name}` has no longer. "
                    f"{nearest(name, rules(known.Parameters))} Call it `{name}` again, or run the study into another "
                    f"folder. {_SHOWN}"
                )
        parameters, _ = split_axes(known.Parameters, fields["parameters"])
        _, axes = split_axes(known.Parameters, fields["axes"])
        return Plan(
            known,
            parameters,
            axes,
            integer("seeds", fields["seeds"], minimum=1, maximum=10**7),
            integer("root_seed", fields["root_seed"], minimum=0, maximum=2**31 - 1),
            str(fields.get("preset", OWN)),
            dict(fields.get("data", {})),
        )
    except ArgumentError as error:
        raise StoreError(f"The plan in the folder's manifest cannot be used: {error}") from error


def refuse_other_runs(stored: Mapping[str, Any], study: Study, folder: Path) -> None:
    """Refuse to read a folder's runs by a study whose runs are other ones now, none of which the folder could hold.

    Raises:
        FolderError: the study has another revision, or a parameter more.
    """
    revision = stored.get("revision", study.revision)
    new = [name for name in rules(study.Parameters) if name not in stored["parameters"]]
    if revision == study.revision and not new:
        return
    why = f"are of revision {revision} of the study `{study.name}`, which is at {study.revision}"
    if revision == study.revision:
        names = ", ".join(f"`{name}`" for name in new)
        why = f"were made before the study `{study.name}` had the parameter {names}"
    raise FolderError(
        f"The runs in {folder} {why}, and stay as they are. foretrain show and foretrain.open read them; train anew with "
        "foretrain run and another folder as --out."
    )


def variants(plan: Plan) -> list[str]:
    """Names of the networks trained in any cell: "" is the study's own, others are kept beside it."""
    return list(dict.fromkeys(name for *_, overrides in _cell_variants(plan) for name in overrides))


def variant_seeds(plan: Plan, variant: str) -> int:
    """Number of seeds that a variant is run for, in the cell where it has most."""
    return max(seeds for *_, seeds in _of(plan, variant))


def grid(plan: Plan, variant: str = "") -> Iterator[tuple[tuple[int, ...], Run]]:
    """Every run of a variant with its place (index per axis, then seed), in grid order.

    Cells that lack the variant have no runs of it.
    """
    for index, parameters, seeds in _of(plan, variant):
        content = {
            "study": plan.study.name,
            "revision": plan.study.revision,
            "parameters": dataclasses.asdict(parameters),
            "root_seed": plan.root_seed,
        }
        prefix = json.dumps(content, sort_keys=True)
        for seed in (Seed(plan.root_seed, number) for number in range(seeds)):
            if plan.data:
                read = part_of_identity(plan.study, parameters, seed, plan.data)
                prefix = json.dumps({**content, **read}, sort_keys=True)
            identity = hashlib.sha256(f"{prefix}#{seed.number}".encode()).hexdigest()[:32]
            yield (*index, seed.number), Run(identity, parameters, seed)


def _of(plan: Plan, variant: str) -> Iterator[tuple[tuple[int, ...], Any, int]]:
    """Index, parameters and number of seeds of a variant in every cell that has it."""
    for index, cell, overrides in _cell_variants(plan):
        if variant in overrides:
            changes = dict(overrides[variant])
            seeds = min(plan.seeds, changes.pop("seeds", plan.seeds))
            yield index, dataclasses.replace(cell, **changes), seeds


def runs(plan: Plan) -> Iterator[Run]:
    """Every distinct run of the plan, all variants, each once."""
    visited = set()
    for variant in variants(plan):
        for _, run in grid(plan, variant):
            if run.identity not in visited:
                visited.add(run.identity)
                yield run


def join(stored: Mapping[str, Any], requested: Plan) -> Plan:
    """The plan of a folder whose manifest holds the plan `stored`, after `requested` was asked of it; see `merge`.

    A study at the place that the folder remembers keeps the name that its runs have there, whatever it is called now.
    """
    if requested.study.where and requested.study.where == stored.get("where"):
        requested = dataclasses.replace(requested, study=requested.study.named(stored["study"]))
    if stored["study"] != requested.study.name:
        repair = "Try another folder."
        if requested.study.where:
            where = shlex.quote(requested.study.where)
            repair = f"Try another folder, or, if its name is new, foretrain report with this folder and --study {where}."
        raise FolderError(
            f"Argument `out` must be a folder of study `{requested.study.name}`, but holds study `{stored['study']}`. {repair}"
        )
    return merge(plan_from_dict(stored, requested.study), requested)


def merge(stored: Plan, requested: Plan) -> Plan:
    """The plan of a folder that holds `stored` after `requested` was asked of it.

    That is `requested` if it contains every run of `stored` (more seeds, more values of an axis), and `stored` if it
    contains every run of `requested`. Anything else would mix configurations and is refused.

    Raises:
        FolderError: naming the first thing in which the two differ.
    """
    if stored.root_seed != requested.root_seed:
        raise _conflict("root_seed", stored.root_seed, requested.root_seed)
    grows = requested.seeds >= stored.seeds
    shrinks = requested.seeds <= stored.seeds
    for name in rules(type(stored.parameters)):
        old, new = values_of(stored, name), values_of(requested, name)
        grows, shrinks = grows and set(new) >= set(old), shrinks and set(new) <= set(old)
        if not (grows or shrinks):
            old, new = (some if len(some) > 1 else next(iter(some)) for some in (old, new))
            raise _conflict(name, old, new)
    refuse_other(files(stored), stored.data, requested.data)
    return requested if grows else stored


def values_of(plan: Plan, name: str) -> tuple[Any, ...]:
    """Values of a parameter in a plan: those of its axis, or the one."""
    return plan.axes.get(name, (getattr(plan.parameters, name),))


def _conflict(name, old, new) -> FolderError:
    return FolderError(
        f"Argument `out` must be a folder of the same configuration, but holds `{name}` = {old} where {new} is asked. "
        "Try another folder."
    )


def _cell_variants(plan: Plan) -> Iterator[tuple[tuple[int, ...], Any, dict[str, dict]]]:
    """Every cell as (index per axis, parameters, overrides of every variant it has), "" among them."""
    for index, cell in cells(plan.parameters, plan.axes):
        yield index, cell, {"": {}, **plan.study.variants(cell)}


_SHOWN = "What is in the folder can be shown and opened as it is."


def _study_of(fields: Mapping[str, Any]) -> Study:
    name, where = fields["study"], fields.get("where")
    if where and not Path(where).exists():
        raise UnknownStudyError(
            f"The study of this folder is not at {where} any more. Try foretrain report with --study and the place where it "
            f"is now, whatever its name. {_SHOWN}"
        )
    if not where and name not in catalogue.names():
        raise UnknownStudyError(
            f"The study `{name}` of this folder is none of the catalogue: it was made in Python, or by a package that is not "
            f"installed. Try foretrain.rebuild(folder, study) in Python with the study itself. {_SHOWN}"
        )
    known = catalogue.load(where or name)
    if where and not is_known(known):
        raise UnknownStudyError(
            f"Opening a result runs no code: the study of this folder, {where}, has not been named by you on this machine as "
            f"it is now. Look at it, then try foretrain report with --study {where}. {_SHOWN}"
        )
    return known
