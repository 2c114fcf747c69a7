"""From a plan to a page: train, fold, predict, judge, store, draw. What the command line and Python both call."""

import itertools
import math
import shlex
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import xarray as xr

from foretrain import references
from foretrain.dynamics.program import FAILED, OUTCOMES
from foretrain.engine.cluster import connected, execute_on
from foretrain.engine.progress import terminal_progress
from foretrain.engine.sweep import check_options, check_shard, execute
from foretrain.errors import FolderError, StoreError, TooLarge, argument_error
from foretrain.laboratory import folder as folder_plan
from foretrain.plans import catalogue
from foretrain.plans.config import read_sweep
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import cells, rules
from foretrain.plans.plan import (
    Plan,
    grid,
    make_plan,
    plan_from_dict,
    runs,
    variant_seeds,
    variants,
)
from foretrain.results.folding import MISSING, Layout, fold
from foretrain.results.journal import scan
from foretrain.results.lock import patient_lock
from foretrain.results.manifest import claim_folder, read_manifest
from foretrain.results.result import Result, make_tree, open_result
from foretrain.results.store import attributes, write_tree
from foretrain.results.summary import (
    Summary,
    count_outcomes,
    read_summary,
    versions,
    write_summary,
)
from foretrain.vocabulary import annotate

_MANY_CELLS = 200  # from here on judging them takes long enough to be announced


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
    scheduler: str | None = None,
    keep_state: str = "no",
    retry_failed: bool = False,
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
        scheduler: Address of a dask scheduler whose workers run the grid and share the folder.
        keep_state: Whether the whole state of every run (its parameters, and what the optimiser remembers) is stored as
            well: "no", at the "end", or at "all" observations. Runs found in the folder stay as they are.
        retry_failed: Train runs again that failed before, say for want of memory.
        yes: Start even if the grid has more than ten million runs.
        quiet: Show no progress.
        **parameters: Parameters of the study; several values (a list or tuple) make an axis.

    Returns:
        The result, or None where other shards of the grid are still missing.

    Raises:
        ArgumentError: a parameter breaks its rule.
        FolderError: the folder holds something else, is locked or cannot be written.
    """
    plan = make_plan(study, parameters, seeds=seeds, root_seed=root_seed, preset=preset, yes=yes)
    return conduct(
        plan,
        out,
        workers=workers,
        checkpoint_every=checkpoint_every,
        shard=shard,
        scheduler=scheduler,
        keep_state=keep_state,
        retry_failed=retry_failed,
        quiet=quiet,
    )


def sweep(
    config: str | Path, *, out: str | Path | None = None, yes: bool = False, **options
) -> Result | None:
    """Run the grid that a TOML file describes, see `foretrain.plans.config.read_sweep`; `options` are those of `run`."""
    plan, folder = read_sweep(config, yes)
    return conduct(plan, out or folder, **options)


def folder_of(plan: Plan, out: str | Path | None) -> Path:
    """Folder of the results of a plan: `out`, or ``runs/<study>-<hash>``."""
    return Path(out) if out else Path("runs") / f"{plan.study}-{plan.hash}"


def conduct(
    plan: Plan,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    checkpoint_every: float = 60.0,
    shard: str | None = None,
    scheduler: str | None = None,
    keep_state: str = "no",
    retry_failed: bool = False,
    quiet: bool = False,
) -> Result | None:
    """Run a plan in a folder and conclude it; see `run`."""
    part = _shard(shard)
    check_options(workers=workers, checkpoint_every=checkpoint_every, keep_state=keep_state)
    folder = claim_folder(folder_of(plan, out))
    plan = folder_plan.joined(folder, plan)
    if _finished(folder, plan) and not (retry_failed and FAILED in scan(folder).outcomes):
        return open_result(folder)
    options = {
        "checkpoint_every": checkpoint_every,
        "keep_state": keep_state,
        "retry_failed": retry_failed,
    }
    if scheduler is not None:
        began = time.monotonic()
        with connected(scheduler) as client:
            folder_plan.record(folder, plan)
            shards = execute_on(client, plan, folder, **options)
        device = next((shard["device"] for shard in shards if shard["device"]), "")
        return conclude(folder, plan, device, time.monotonic() - began)
    before: list[dict | None] = []
    try:
        execution = execute(
            plan,
            folder,
            workers=workers,
            shard=part,
            **options,
            claimed=lambda: before.append(folder_plan.record(folder, plan)),
            progress=None if quiet else terminal_progress(),
        )
    except TooLarge:
        folder_plan.take_back(folder, plan, before[0])
        raise
    if not quiet and execution.found:
        print(
            f"{execution.found} runs were found done, {execution.ran} were added.", file=sys.stderr
        )
    if part[1] > 1 and _missing(folder, plan):
        return None
    if not quiet and math.prod(plan.shape) > _MANY_CELLS:
        print(f"Judging {math.prod(plan.shape)} cells and drawing.", file=sys.stderr)
    return conclude(folder, plan, execution.device, execution.wall_time_s)


def _finished(folder: Path, plan: Plan) -> bool:
    made = all((folder / name).exists() for name in ("summary.json", "results.zarr", "report.html"))
    if not made or (before := _summary(folder)) is None or before.hash != plan.hash:
        return False
    return not _missing(folder, plan)


def _summary(folder: Path) -> Summary | None:
    """The summary of a folder; None if there is none, or a damaged one, which is written anew from the journal."""
    try:
        return read_summary(folder) if (folder / "summary.json").exists() else None
    except StoreError:
        return None


def _missing(folder: Path, plan: Plan) -> int:
    held = set(scan(folder).identities)
    return sum(run.identity not in held for run in runs(plan))


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    try:
        part, parts = (int(number) for number in str(text).split("/"))
    except ValueError:
        raise argument_error("shard", "be i/n, such as 2/8", f"is `{text}`") from None
    return check_shard((part, parts))


def conclude(folder: Path, plan: Plan, device: str, wall_time_s: float) -> Result:
    """Fold what was run, predict, judge, and write store, summary, figures and page."""
    module = catalogue.load(plan.study)
    done = labelled(folder, plan)
    # Where every run of a network failed there is nothing to judge: the reasons are what the user needs to see.
    measured = all(_any_run(data) for data in (done.simulation, *done.variants.values()))
    claims = module.claims(done) if measured else []
    attrs = attributes(
        config=plan.as_dict(),
        hash=plan.hash,
        seeds=plan.seeds,
        root_seed=plan.root_seed,
        versions=versions(),
        device=device,
    )
    tree = make_tree(
        simulation=done.simulation,
        variants=done.variants,
        theory=done.theory,
        claims=claims,
        attrs=attrs,
    )
    with patient_lock(folder, "fold", 600):
        write_tree(folder, tree)
    entry, fields = catalogue.entry(plan.study), plan.as_dict()
    counts = Counter()
    for data in (done.simulation, *done.variants.values()):
        counts.update(count_outcomes(data))
    before = _summary(folder)
    before = before.wall_time_s if before else 0.0
    write_summary(
        folder,
        Summary(
            study=plan.study,
            summary=entry.summary,
            source=entry.source,
            config=fields["parameters"],
            axes=plan.axes,
            hash=plan.hash,
            seeds=plan.seeds,
            root_seed=plan.root_seed,
            versions=versions(),
            device=device,
            wall_time_s=round(before + wall_time_s, 1),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            runs=dict(counts),
            failures=scan(folder).notes,
            claims=tuple(claims),
            command=command(plan),
            citations=tuple(module.REFERENCES),
        ),
    )
    result = open_result(folder)
    write_page(result)
    return result


def _any_run(data: xr.Dataset) -> bool:
    return bool(np.isin(data["outcome"].values, (MISSING, FAILED), invert=True).any())


def labelled(folder: Path, plan: Plan) -> LabelledRuns:
    """Fold the journal of a folder into labelled runs and put the theory beside them."""
    module = catalogue.load(plan.study)
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
    done = LabelledRuns(
        plan.parameters,
        plan.axes,
        plan.seeds,
        plan.root_seed,
        simulation,
        folded,
        xr.Dataset(),
    )
    return replace(done, theory=predictions(plan, done))


def predictions(plan: Plan, done: LabelledRuns) -> xr.Dataset:
    """The theory of every cell of a plan, along its axes; empty if the study predicts nothing pointwise."""
    module = catalogue.load(plan.study)
    if not hasattr(module, "predict"):
        return xr.Dataset()
    parts = {}
    for (index, parameters), (_, cell) in zip(
        cells(plan.parameters, plan.axes), done.cells(), strict=True
    ):
        parts[index] = module.predict(parameters, plan.root_seed, plan.seeds)
        if hasattr(module, "fit") and _any_run(cell.simulation):
            cell = replace(cell, theory=parts[index])
            parts[index] = xr.merge(
                [parts[index], module.fit(cell)], join="outer", compat="no_conflicts"
            )
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


def command(plan: Plan) -> str:
    """The command line that makes the results of a plan."""
    module = catalogue.load(plan.study)
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

    summary = read_summary(result.path)
    module = catalogue.load(summary.study)
    tree = result.tree.copy(deep=False)
    tree.attrs = {**tree.attrs, "study": summary.study, "axes": summary.axes}
    drawings = figures.draw(tree) if _any_run(result.simulation) else {}
    drawings |= figures.draw_cells(summary.claims, summary.axes)
    paths = figures.save(drawings, result.path / "figures")
    shown = [
        PageFigure(name, drawing.title, drawing.caption, paths[name].read_text(encoding="utf-8"))
        for name, drawing in drawings.items()
    ]
    fields = {
        **asdict(summary),
        "claims": [claim.as_dict() for claim in summary.claims],
        "failures": [f"Run {name}: {reason}" for name, reason in summary.failures.items()],
        "citations": references.bibtex(summary.citations).split("\n\n"),
        "meanings": {name: rule.meaning for name, rule in rules(module.Parameters).items()},
    }
    return write(result.path, fields, shown)


def rebuild(folder: str | Path) -> Result:
    """Fold, judge and draw again from what a folder holds, without training.

    Raises:
        FolderError: the folder holds neither a journal with its manifest nor results.
    """
    folder = Path(folder)
    stored = read_manifest(folder)
    if stored is None or "plan" not in stored:
        if not (folder / "results.zarr").exists():
            raise FolderError(f"Argument `folder` must hold results, but {folder} holds none.")
        result = open_result(folder)
        write_page(result)
        return result
    before = _summary(folder)
    device = before.device if before else ""
    return conclude(folder, plan_from_dict(stored["plan"]), device, 0.0)
