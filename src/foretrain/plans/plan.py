"""A plan: which runs a study, its parameters, its axes and its seeds amount to, and when two plans fit one folder."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from foretrain.errors import (
    ArgumentError,
    FolderError,
    StoreError,
    argument_error,
    integer,
    one_of,
)
from foretrain.plans import catalogue
from foretrain.plans.parameters import cells, hashed, rules, split_axes

SCHEMA = 1
MOST_RUNS = 10**7
_ENTRIES = {
    "schema": int,
    "study": str,
    "parameters": dict,
    "axes": dict,
    "seeds": int,
    "root_seed": int,
}


@dataclass(frozen=True)
class Run:
    """One training, known by what it is.

    Attributes:
        identity: Hash (32 hex digits) of study, parameters, root seed and seed: equal runs have equal identity, in
            whatever plan and at whatever place of a grid they stand.
        parameters: The study's ``Parameters`` of this run.
        seed: Seed number, from 0.
    """

    identity: str
    parameters: Any
    seed: int


@dataclass(frozen=True)
class Plan:
    """A grid of runs of one study.

    Attributes:
        study: Name of the study.
        parameters: ``Parameters`` with every axis at its first value.
        axes: Field name to its values, in the order in which they become dims.
        seeds: Number of seeds, 0 .. seeds-1, run in every cell.
        root_seed: Root of all random streams.
    """

    study: str
    parameters: Any
    axes: dict[str, tuple] = field(default_factory=dict)
    seeds: int = 10
    root_seed: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(len(values) for values in self.axes.values())

    def as_dict(self) -> dict:
        """The plan as JSON-ready values; `plan_from_dict` is the inverse. Cosmetic parameters are left out."""
        return {
            "schema": SCHEMA,
            "study": self.study,
            "parameters": hashed(self.parameters),
            "axes": {name: list(values) for name, values in self.axes.items()},
            "seeds": self.seeds,
            "root_seed": self.root_seed,
        }

    @property
    def hash(self) -> str:
        """Hash (12 hex digits) of all that changes a result."""
        return _digest(self.as_dict())[:12]


def make_plan(
    study: str,
    values: dict,
    *,
    seeds: int | None = None,
    root_seed: int = 0,
    preset: str = "quick",
    yes: bool = False,
) -> Plan:
    """Build a checked plan.

    Args:
        study: Name of a study.
        values: Parameter name to a value, or to several, which make an axis. They take precedence over the preset.
        seeds: Number of seeds; by default what the preset or the study says.
        root_seed: Root of all random streams, a non-negative int below 2**31.
        preset: "quick" (the study's defaults) or another of the study's presets.
        yes: Allow more than ten million runs.

    Raises:
        ArgumentError: an unknown study, preset or parameter, a value that breaks a rule in some cell of the grid, or
            too many runs.
    """
    module = catalogue.load(study)
    presets = {"quick": {}, **module.PRESETS}
    given = {**presets[one_of("preset", preset, list(presets))], **values}
    merged = dict(getattr(module, "AXES", {}))
    for (name, value), defaults in getattr(module, "CONDITIONAL_DEFAULTS", {}).items():
        if given.get(name) == value:
            merged.update(defaults)
    merged.update(given)
    preset_seeds = merged.pop("seeds", getattr(module, "SEEDS", 10))
    parameters, axes = split_axes(module.Parameters, merged)
    plan = Plan(
        study,
        parameters,
        axes,
        integer("seeds", preset_seeds if seeds is None else seeds, minimum=1, maximum=10**7),
        integer("root_seed", root_seed, minimum=0, maximum=2**31 - 1),
    )
    check_size(plan.shape, plan.seeds, yes)
    if hasattr(module, "check"):
        for _, cell in cells(parameters, axes):
            module.check(cell)
    return plan


def check_size(plan_shape: tuple[int, ...], seeds: int, yes: bool) -> None:
    """Raise `ArgumentError` if a grid of that shape, times `seeds`, is above `MOST_RUNS` and `yes` was not said."""
    total = math.prod(plan_shape) * seeds
    if total > MOST_RUNS and not yes:
        raise argument_error(
            "axes", f"make at most {MOST_RUNS:,} runs", f"make {total:,}", "Try --yes."
        )


def plan_from_dict(fields: dict) -> Plan:
    """The plan that `Plan.as_dict` wrote.

    Raises:
        StoreError: it was written by a newer foretrain, lacks an entry, or holds what no plan holds.
    """
    _check_entries(fields)
    if fields["schema"] > SCHEMA:
        raise StoreError(
            f"The folder was written with schema {fields['schema']}, but this foretrain knows up to {SCHEMA}. "
            "Try a newer foretrain."
        )
    try:
        module = catalogue.load(fields["study"])
        parameters, _ = split_axes(module.Parameters, fields["parameters"])
        _, axes = split_axes(module.Parameters, fields["axes"])
        return Plan(
            fields["study"],
            parameters,
            axes,
            integer("seeds", fields["seeds"], minimum=1),
            integer("root_seed", fields["root_seed"], minimum=0),
        )
    except ArgumentError as error:
        raise StoreError(f"The plan in the folder's manifest cannot be used: {error}") from error


def _check_entries(fields) -> None:
    """Raise `StoreError` unless `fields` has every entry of a plan in its type."""
    altered = "The folder's manifest is altered or not foretrain's: its plan"
    if not isinstance(fields, dict):
        raise StoreError(f"{altered} is no JSON object.")
    missing = [f"`{name}`" for name in _ENTRIES if name not in fields]
    if missing:
        raise StoreError(f"{altered} lacks {', '.join(missing)}.")
    for name, kind in _ENTRIES.items():
        if not isinstance(fields[name], kind):
            raise StoreError(f"{altered} holds a wrong `{name}`.")


def variants(plan: Plan) -> list[str]:
    """Names of the networks trained in any cell: "" is the study's own, others are kept beside it."""
    if not hasattr(catalogue.load(plan.study), "variants"):
        return [""]
    return list(dict.fromkeys(name for *_, overrides in _cell_variants(plan) for name in overrides))


def variant_seeds(plan: Plan, variant: str) -> int:
    """Number of seeds that a variant is run for, in the cell where it has most."""
    if not variant:
        return plan.seeds
    most = max(
        overrides[variant].get("seeds", plan.seeds)
        for *_, overrides in _cell_variants(plan)
        if variant in overrides
    )
    return min(plan.seeds, most)


def grid(plan: Plan, variant: str = "") -> Iterator[tuple[tuple[int, ...], Run]]:
    """Every run of a variant with its place (index per axis, then seed), in grid order.

    Cells that lack the variant have no runs of it.
    """
    for index, cell, overrides in _cell_variants(plan):
        if variant not in overrides:
            continue
        changes = dict(overrides[variant])
        seeds = min(plan.seeds, changes.pop("seeds", plan.seeds))
        parameters = dataclasses.replace(cell, **changes)
        content = {
            "study": plan.study,
            "parameters": hashed(parameters),
            "root_seed": plan.root_seed,
        }
        prefix = json.dumps(content, sort_keys=True)
        for seed in range(seeds):
            identity = hashlib.sha256(f"{prefix}#{seed}".encode()).hexdigest()[:32]
            yield (*index, seed), Run(identity, parameters, seed)


def runs(plan: Plan) -> Iterator[Run]:
    """Every distinct run of the plan, all variants, each once."""
    seen = set()
    for variant in variants(plan):
        for _, run in grid(plan, variant):
            if run.identity not in seen:
                seen.add(run.identity)
                yield run


def join(stored: dict, asked: Plan) -> Plan:
    """The plan of a folder whose manifest holds the plan `stored`, after `asked` was asked of it; see `merge`."""
    _check_entries(stored)
    if stored["study"] != asked.study:
        raise FolderError(
            f"Argument `out` must be a folder of study `{asked.study}`, but holds study `{stored['study']}`. "
            "Try another folder."
        )
    return merge(plan_from_dict(stored), asked)


def merge(stored: Plan, asked: Plan) -> Plan:
    """The plan of a folder that holds `stored` after `asked` was asked of it.

    That is `asked` if it contains every run of `stored` (more seeds, more values of an axis), and `stored` if it
    contains every run of `asked`. Anything else would mix configurations and is refused.

    Raises:
        FolderError: naming the first thing in which the two differ.
    """
    if stored.root_seed != asked.root_seed:
        raise _conflict("root_seed", stored.root_seed, asked.root_seed)
    grows = asked.seeds >= stored.seeds
    shrinks = asked.seeds <= stored.seeds
    for name, rule in rules(type(stored.parameters)).items():
        if rule.cosmetic:
            continue
        old, new = _values(stored, name), _values(asked, name)
        grows, shrinks = grows and set(new) >= set(old), shrinks and set(new) <= set(old)
        if not (grows or shrinks):
            raise _conflict(name, old if len(old) > 1 else old[0], new if len(new) > 1 else new[0])
    return asked if grows else stored


def _values(plan: Plan, name: str) -> tuple:
    return plan.axes.get(name, (getattr(plan.parameters, name),))


def _conflict(name, old, new) -> FolderError:
    return FolderError(
        f"Argument `out` must be a folder of the same configuration, but holds `{name}` = {old} where {new} is asked. "
        "Try another folder."
    )


def _cell_variants(plan: Plan) -> Iterator[tuple[tuple[int, ...], Any, dict[str, dict]]]:
    """Every cell as (index per axis, parameters, overrides of every variant it has), "" among them."""
    further = getattr(catalogue.load(plan.study), "variants", lambda cell: {})
    for index, cell in cells(plan.parameters, plan.axes):
        yield index, cell, {"": {}, **further(cell)}


def _digest(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
