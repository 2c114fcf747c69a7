"""A plan: which runs a study, its parameters, its axes and its seeds amount to, and when two plans fit one folder."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from foretrain.errors import FolderError, StoreError, integer, one_of
from foretrain.plans import catalogue
from foretrain.plans.parameters import cells, hashed, rules, split_axes

SCHEMA = 1


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
    study: str, values: dict, *, seeds: int | None = None, root_seed: int = 0, preset: str = "quick"
) -> Plan:
    """Build a checked plan.

    Args:
        study: Name of a study.
        values: Parameter name to a value, or to several, which make an axis. They take precedence over the preset.
        seeds: Number of seeds; by default what the preset or the study says.
        root_seed: Root of all random streams, a non-negative int below 2**31.
        preset: "quick" (the study's defaults) or another of the study's presets.

    Raises:
        ArgumentError: an unknown study, preset or parameter, or a value that breaks a rule in some cell of the grid.
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
    if hasattr(module, "check"):
        for _, cell in cells(parameters, axes):
            module.check(cell)
    return plan


def plan_from_dict(fields: dict) -> Plan:
    """The plan that `Plan.as_dict` wrote; raises `StoreError` if it was written by a newer foretrain."""
    if fields["schema"] > SCHEMA:
        raise StoreError(
            f"The folder was written with schema {fields['schema']}, but this foretrain knows up to {SCHEMA}. "
            "Try a newer foretrain."
        )
    module = catalogue.load(fields["study"])
    parameters, _ = split_axes(module.Parameters, fields["parameters"])
    _, axes = split_axes(module.Parameters, fields["axes"])
    return Plan(fields["study"], parameters, axes, fields["seeds"], fields["root_seed"])


def variants(plan: Plan) -> list[str]:
    """Names of the networks trained in every cell: "" is the study's own, others are kept beside it."""
    return ["", *_overrides(plan, plan.parameters)]


def variant_seeds(plan: Plan, variant: str) -> int:
    """Number of seeds that a variant is run for."""
    if not variant:
        return plan.seeds
    return min(plan.seeds, _overrides(plan, plan.parameters)[variant].get("seeds", plan.seeds))


def variant_parameters(plan: Plan, variant: str, cell: Any) -> Any:
    """Parameters of a variant in a cell."""
    if not variant:
        return cell
    overrides = {k: v for k, v in _overrides(plan, cell)[variant].items() if k != "seeds"}
    return dataclasses.replace(cell, **overrides)


def grid(plan: Plan, variant: str = "") -> Iterator[tuple[tuple[int, ...], Run]]:
    """Every run of a variant with its place (index per axis, then seed), in grid order."""
    for index, cell in cells(plan.parameters, plan.axes):
        parameters = variant_parameters(plan, variant, cell)
        content = {
            "study": plan.study,
            "parameters": hashed(parameters),
            "root_seed": plan.root_seed,
        }
        prefix = json.dumps(content, sort_keys=True)
        for seed in range(variant_seeds(plan, variant)):
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


def _overrides(plan: Plan, cell: Any) -> dict[str, dict]:
    module = catalogue.load(plan.study)
    return module.variants(cell) if hasattr(module, "variants") else {}


def _digest(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
