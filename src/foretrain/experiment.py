"""From a plan to a page: train, fold, predict, judge, store, draw. What the command line and Python both call."""

import itertools
import shlex
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import xarray as xr

from foretrain import references, studies
from foretrain.claims import Claim
from foretrain.dynamics.program import OUTCOMES
from foretrain.errors import FolderError, argument_error, integer, real
from foretrain.results.folding import MISSING, Layout, fold
from foretrain.results.manifest import claim_folder, read_manifest
from foretrain.results.result import Result, open_result
from foretrain.results.store import write_tree
from foretrain.results.summary import read_summary, versions, write_summary
from foretrain.studies.labelled import LabelledRuns
from foretrain.studies.parameters import cells, rules
from foretrain.studies.plan import (
    Plan,
    grid,
    make_plan,
    merge,
    plan_from_dict,
    variant_seeds,
    variants,
)
from foretrain.vocabulary import annotate

MOST_RUNS = 10**7


def run(
    study: str,
    *,
    preset: str = "quick",
    seeds: int | None = None,
    root_seed: int = 0,
    out: str | Path | None = None,
    workers: int | None = None,
    checkpoint_every: float = 60.0,
    shard: str | None = None,
    yes: bool = False,
    quiet: bool = False,
    **parameters,
) -> Result | None:
    """Run a study: train what is not yet trained, predict, judge its claims and write the page.

    Args:
        study: Name of a study, see ``foretrain list``.
        preset: "quick", the study's defaults, or another of its presets.
        seeds: Number of seeds.
        root_seed: Root of all random streams.
        out: Folder of the results; by default ``runs/<study>-<hash>``. A folder that holds part of the same
            configuration is continued, a finished one only read.
        workers: Number of processes, each pinned to one core; by default one per core. 0 runs in this process.
        checkpoint_every: Seconds between checkpoints of runs in flight.
        shard: "i/n": run only the i-th of n parts of the grid.
        yes: Start even if the grid has more than ten million runs.
        quiet: Show no progress.
        **parameters: Parameters of the study; several values (a list or tuple) make an axis.

    Returns:
        The result, or None where other shards of the grid are still missing.

    Raises:
        ArgumentError: a parameter breaks its rule.
        FolderError: the folder holds something else, is locked or cannot be written.
    """
    plan = make_plan(study, parameters, seeds=seeds, root_seed=root_seed, preset=preset)
    return conduct(
        plan,
        out,
        workers=workers,
        checkpoint_every=checkpoint_every,
        shard=shard,
        yes=yes,
        quiet=quiet,
    )


def sweep(config: str | Path, *, out: str | Path | None = None, **options) -> Result | None:
    """Run the grid that a TOML file describes; `options` are those of `run`.

    The file names a ``study`` and may hold ``preset``, ``seeds``, ``root_seed`` and ``out``, a table ``[parameters]``
    of fixed values, and a table ``[axes]`` whose entries are lists, or ``{from, to, number, scale = "linear" | "log"}``.
    """
    fields = _read_toml(Path(config))
    known = {"study", "preset", "seeds", "root_seed", "out", "parameters", "axes"}
    _known_keys(fields, known, config)
    if "study" not in fields:
        raise argument_error("config", "name a `study`", f"{config} does not")
    values = dict(fields.get("parameters", {}))
    for name, axis in fields.get("axes", {}).items():
        values[name] = _axis(name, axis)
    plan = make_plan(
        fields["study"],
        values,
        seeds=fields.get("seeds"),
        root_seed=fields.get("root_seed", 0),
        preset=fields.get("preset", "quick"),
    )
    return conduct(plan, out or fields.get("out"), **options)


def read_config(path: Path, study: str) -> dict:
    """Parameters of a study from a flat TOML file, with ``seeds`` among them if it is there."""
    module = studies.load(study)
    fields = _read_toml(path)
    _known_keys(fields, {"seeds", *rules(module.Parameters)}, path)
    return fields


def _read_toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise argument_error("config", "be a TOML file", f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise argument_error(
            "config", "be a TOML file", f"{path} cannot be read: {error}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise argument_error("config", "be valid TOML", f"{path} is not: {error}") from None


def _known_keys(fields, known, path):
    from foretrain.errors import nearest

    for name in fields:
        if name not in known:
            raise argument_error(
                "config", "hold known entries", f"{path} holds `{name}`", nearest(name, known)
            )


def _axis(name: str, axis) -> list:
    if isinstance(axis, list):
        return axis
    if not isinstance(axis, dict) or not {"from", "to", "number"} <= set(axis):
        raise argument_error(name, "be a list, or {from, to, number, scale}", f"is {axis!r}")
    number = integer(f"{name}.number", axis["number"], minimum=1)
    scale = axis.get("scale", "linear")
    if scale == "log":
        ends = [real(f"{name}.{end}", axis[end], above=0) for end in ("from", "to")]
        values = np.geomspace(*ends, number)
    elif scale == "linear":
        values = np.linspace(
            real(f"{name}.from", axis["from"]), real(f"{name}.to", axis["to"]), number
        )
    else:
        raise argument_error(f"{name}.scale", "be one of `linear`, `log`", f"is {scale!r}")
    # Twelve digits: an axis is read by people and selected by value.
    return [float(f"{value:.12g}") for value in values]


def conduct(
    plan: Plan,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    checkpoint_every: float = 60.0,
    shard: str | None = None,
    yes: bool = False,
    quiet: bool = False,
) -> Result | None:
    """Run a plan in a folder and conclude it; see `run`."""
    from foretrain.dynamics.sweep import execute

    total = int(np.prod(plan.shape, dtype=float)) * plan.seeds
    if total > MOST_RUNS and not yes:
        raise argument_error(
            "axes", f"make at most {MOST_RUNS:,} runs", f"make {total:,}", "Try --yes."
        )
    part = _shard(shard)
    folder = claim_folder(Path(out) if out else Path("runs") / f"{plan.study}-{plan.hash}")
    stored = read_manifest(folder)
    if stored is not None:
        plan = merge(plan_from_dict(stored["plan"]), plan)
    began = time.perf_counter()
    execution = execute(
        plan,
        folder,
        workers=workers,
        checkpoint_every=real("checkpoint_every", checkpoint_every, above=0),
        shard=part,
        quiet=quiet,
    )
    if execution.ran == 0 and _finished(folder, plan):
        return open_result(folder)
    if execution.missing:
        return None
    return conclude(folder, plan, execution, time.perf_counter() - began)


def _finished(folder: Path, plan: Plan) -> bool:
    if not (folder / "summary.json").exists() or not (folder / "results.zarr").exists():
        return False
    return read_summary(folder).get("hash") == plan.hash


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    try:
        part, parts = (int(number) for number in text.split("/"))
    except ValueError:
        raise argument_error("shard", "be i/n, such as 2/8", f"is `{text}`") from None
    integer("shard", parts, minimum=1)
    return integer("shard", part, minimum=1, maximum=parts), parts


def conclude(folder: Path, plan: Plan, execution, wall_time_s: float) -> Result:
    """Fold what was run, predict, judge, and write store, summary, figures and page."""
    module = studies.load(plan.study)
    runs = labelled(folder, plan)
    claims = module.claims(runs)
    attrs = {
        "schema": 1,
        "study": plan.study,
        "config": plan.as_dict()["parameters"],
        "axes": plan.as_dict()["axes"],
        "hash": plan.hash,
        "seeds": plan.seeds,
        "root_seed": plan.root_seed,
        "versions": versions(),
        "device": execution.device,
    }
    write_tree(folder, _tree(runs), claims, attrs)
    entry = studies.entry(plan.study)
    summary = {
        **attrs,
        "summary": entry.summary,
        "source": entry.source,
        "meanings": {name: rule.meaning for name, rule in rules(module.Parameters).items()},
        "wall_time_s": wall_time_s,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": _outcomes(runs),
        "failures": list(execution.failures),
        "claims": [claim.as_dict() for claim in claims],
        "command": command(plan),
        "citations": references.bibtex(module.REFERENCES).split("\n\n"),
    }
    write_summary(folder, summary)
    result = open_result(folder)
    write_page(result)
    return result


def labelled(folder: Path, plan: Plan) -> LabelledRuns:
    """Fold the journal of a folder into labelled runs and put the theory beside them."""
    module = studies.load(plan.study)
    cell_list = dict(cells(plan.parameters, plan.axes))
    coordinates = getattr(module, "coordinates", None)

    def of_cell(index, step):
        return coordinates(cell_list[index], step)

    folded = {}
    for variant in variants(plan):
        layout = Layout(
            axes=plan.axes,
            seeds=variant_seeds(plan, variant),
            places=((place, run.identity) for place, run in grid(plan, variant)),
            outcomes=OUTCOMES,
            coordinates=of_cell if coordinates else None,
        )
        folded[variant] = fold(folder, layout)
    simulation = folded.pop("")
    return LabelledRuns(
        plan.parameters,
        plan.axes,
        plan.seeds,
        plan.root_seed,
        simulation,
        folded,
        predictions(plan),
    )


def predictions(plan: Plan) -> xr.Dataset:
    """The theory of every cell of a plan, along its axes; empty if the study predicts nothing pointwise."""
    module = studies.load(plan.study)
    if not hasattr(module, "predict"):
        return xr.Dataset()
    parts = {
        index: module.predict(cell, plan.root_seed, plan.seeds)
        for index, cell in cells(plan.parameters, plan.axes)
    }
    for position in reversed(range(len(plan.axes))):
        name = list(plan.axes)[position]
        label = xr.DataArray(list(plan.axes[name]), dims=name, name=name)
        heads = itertools.product(*(range(size) for size in plan.shape[:position]))
        parts = {
            head: xr.concat(
                [parts[(*head, i)] for i in range(plan.shape[position])], label, join="outer"
            )
            for head in heads
        }
    return annotate(parts[()])


def _tree(runs: LabelledRuns) -> xr.DataTree:
    groups = {"/simulation": runs.simulation, "/theory": runs.theory}
    groups |= {f"/simulation/{name}": data for name, data in runs.variants.items()}
    return xr.DataTree.from_dict(groups)


def _outcomes(runs: LabelledRuns) -> dict[str, int]:
    codes = np.concatenate(
        [data["outcome"].values.ravel() for data in (runs.simulation, *runs.variants.values())]
    )
    names = {MISSING: "missing", **dict(enumerate(OUTCOMES))}
    found, counts = np.unique(codes, return_counts=True)
    return {names[int(code)]: int(count) for code, count in zip(found, counts, strict=True)}


def command(plan: Plan) -> str:
    """The command line that makes the results of a plan."""
    module = studies.load(plan.study)
    words = ["foretrain", "run", plan.study]
    defaults = module.Parameters()
    for name in rules(module.Parameters):
        values = plan.axes.get(name, (getattr(plan.parameters, name),))
        if values != (getattr(defaults, name),):
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    words += ["--seeds", str(plan.seeds)]
    if plan.root_seed:
        words += ["--root-seed", str(plan.root_seed)]
    return shlex.join(words)


def write_page(result: Result) -> Path:
    """Draw the figures of a result into ``figures/`` and write ``report.html``."""
    from foretrain import figures
    from foretrain.report.page import PageFigure, write

    drawings = figures.draw(result.tree)
    paths = figures.save(drawings, result.path / "figures")
    shown = [
        PageFigure(name, drawing.title, drawing.caption, paths[name].read_text(encoding="utf-8"))
        for name, drawing in drawings.items()
    ]
    return write(result.path, read_summary(result.path), shown)


def rebuild(folder: Path) -> Result:
    """Fold, judge and draw again from what a folder holds, without training."""
    stored = read_manifest(Path(folder))
    if stored is None:
        if (Path(folder) / "results.zarr").exists():
            result = open_result(folder)
            write_page(result)
            return result
        raise FolderError(f"Argument `folder` must hold results, but {folder} holds none.")
    from foretrain.dynamics.sweep import Execution

    summary = read_summary(Path(folder)) if (Path(folder) / "summary.json").exists() else {}
    execution = Execution(
        device=summary.get("device", ""), failures=tuple(summary.get("failures", ()))
    )
    plan = plan_from_dict(stored["plan"])
    return conclude(Path(folder), plan, execution, summary.get("wall_time_s", 0.0))


def failed_claims(claims: list[Claim]) -> list[Claim]:
    """Claims that ``--check`` looks at and that fail: a claim that has a corrected form is judged by that."""
    corrected = {
        claim.id.removesuffix(".corrected") for claim in claims if claim.id.endswith(".corrected")
    }
    return [claim for claim in claims if claim.verdict == "fails" and claim.id not in corrected]
