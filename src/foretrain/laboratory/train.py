"""Training any program without a study: labelled data from functions, with lanes, resume and workers."""

import dataclasses
import keyword
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import xarray as xr

from foretrain.dynamics.program import Program
from foretrain.errors import ForetrainError, argument_error
from foretrain.laboratory.conduct import conduct, troubles
from foretrain.plans.blocks import Run
from foretrain.plans.define import define
from foretrain.plans.options import documented, only
from foretrain.plans.parameters import parameter
from foretrain.plans.plan import make_plan
from foretrain.results.summary import read_summary
from foretrain.streams import Seed
from foretrain.words import say

_OWN = ("preset", "seeds", "shard", "scheduler", "retrain", "keep")  # options that are none here


@documented(*_OWN)
def train(
    program: Program,
    axes: dict[str, Any] | None = None,
    seeds: int = 10,
    *,
    steps: int = 1000,
    observe_every: int = 10,
    precision: str = "float32",
    inputs: Callable[[Any, Seed], dict[str, Any]] | None = None,
    name: str = "program",
    **options: Any,
) -> xr.Dataset:
    """Train a program over a grid and return what it observed, labelled.

    Args:
        program: The functions of a run, see `foretrain.dynamics.program.Program`. Its inputs are the values of `axes`,
            what `inputs` draws, ``root_seed`` and ``seed``. Variables it observes are declared by
            `foretrain.vocabulary.declare`, but for ``loss``.
        axes: Name of each number to its value or to several, which make an axis. They are traced: all of them share one
            compiled program.
        seeds: Number of seeds.
        steps: Steps of a run, at most.
        observe_every: Stride in steps of what is stored.
        precision: "float32" or "float64".
        inputs: ``inputs(p, seed)``: arrays that a run gets besides, `p` holding the numbers of `axes`.
        name: A name, part of the identity of every run.
        **options: Those of a run.

    Returns:
        A dataset with dims (axes, ``seed``, ``step``, ...), as `foretrain.Result.simulation`.

    Runs in the folder that another program made, or other values, are trained again.

    Raises `ArgumentError` where an axis is neither a number nor several, or has the name of an argument, `ForetrainError`
    where every run failed.

    Example:
        >>> import foretrain
        >>> from foretrain.study import Program
        >>> decay = Program(lambda i: 1 + 0 * i["rate"], lambda i, w: w - i["rate"] * w, lambda i, w: {"loss": w**2})
        >>> axes, options = {"rate": [0.1, 0.2]}, {"precision": "float64", "workers": 0, "quiet": True}
        >>> runs = foretrain.train(decay, axes, seeds=1, steps=10, **options)
        >>> runs["loss"].isel(seed=0, step=-1).values.round(4).tolist()
        [0.1216, 0.0115]
    """
    if not isinstance(program, Program):
        raise argument_error("program", "be a Program", f"is {program!r}")
    if not isinstance(axes, Mapping | None):
        raise argument_error("axes", "give values by name", f"is {axes!r}")
    numbers = dict(axes or {})
    fields = []
    for axis, values in numbers.items():
        if not str(axis).isidentifier() or keyword.iskeyword(axis):
            raise argument_error("axes", "have names as in Python", f"has {axis!r}")
        several = isinstance(values, Iterable) and not isinstance(values, str)
        first: Any = next(iter(values), None) if several else values
        if isinstance(first, str | None) or axis in ("steps", "observe_every", "precision"):
            raise argument_error(axis, "be a number or several", f"is {values!r}")
        kind = bool if isinstance(first, bool) else float
        fields.append((axis, kind, parameter(kind(first), "an axis of the grid")))
    Parameters = dataclasses.make_dataclass("Parameters", fields, bases=(Run,), frozen=True)
    whole = dataclasses.replace(program, observe_every=None, precision=None)
    parts: dict[str, Any] = {} if inputs is None else {"inputs": inputs}
    study = define(name, Parameters=Parameters, program=lambda p: whole, **parts)
    values = {**numbers, "steps": steps, "observe_every": observe_every, "precision": precision}
    # Runs of another program of the same name and numbers are not this one's.
    chosen = dataclasses.replace(only(options, _OWN), seeds=seeds, retrain=True)
    result = conduct(make_plan(study, values, **chosen.of_plan), chosen)
    assert result is not None, "a run without shards is concluded"
    assert result.path is not None, "what was run has a folder"
    lines = troubles(result.path)
    if set(read_summary(result.path).runs) == {"failed"}:
        raise ForetrainError(lines[-1])
    for line in lines:
        say(line)
    return result.simulation
