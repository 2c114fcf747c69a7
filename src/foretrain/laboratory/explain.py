"""A sweep in words, before it runs."""

from pathlib import Path

from foretrain.engine.dispatch import Group, make_groups
from foretrain.engine.places import usual_workers
from foretrain.laboratory import folder as home
from foretrain.laboratory.foreseen import seconds_here
from foretrain.machine import usable_cores
from foretrain.plans.plan import Plan, Run, make_plan, runs, variants
from foretrain.plans.study import Study
from foretrain.results.journal import scan
from foretrain.words import count, duration, memory, span


def explain(plan: Plan, folder: Path) -> str:
    """A sweep in words: axes, networks, runs, those found done, programs to compile, steps, seconds, memory.

    Args:
        plan: The plan.
        folder: Folder of its results, which need not be there.

    Cost: as `foretrain.engine.footprint.footprint`, seconds at most; nothing is trained.
    """
    if folder.exists():
        plan = home.joined(folder, plan)
    held = set(scan(folder).identities) if folder.exists() else set()
    wanted = list(runs(plan))
    left = [run for run in wanted if run.identity not in held]
    groups = make_groups(left, plan.study.estimate)
    axes = [f"    {name}: {span(values)}" for name, values in plan.axes.items()]
    work = (
        f"  programs    {len(groups)} to compile",
        f"  steps       about {sum(group.steps for group in groups):.2g} in all",
    )
    networks = ", ".join(name or "its own" for name in variants(plan))
    return "\n".join(
        [
            f"{plan.study.name}: {plan.study.card.summary}",
            f"  folder      {folder}",
            f"  preset      {plan.preset}",
            "  axes" + ("" if axes else "        none"),
            *axes,
            f"  seeds       {plan.seeds}",
            f"  networks    {networks}",
            f"  runs        {len(wanted)}, of which {len(wanted) - len(left)} are found done",
            *(work if plan.study.trains else ()),
            *_seconds(plan.study, left),
            *_memory(plan.study, left, groups),
            f"  sentences   {len(plan.study.sentences)}",
        ]
    )


def _seconds(study: Study, left: list[Run]) -> list[str]:
    """How long the runs that are left will take here, by their steps and the cost of the default size, in a line."""
    usual = sum(study.estimate(run.parameters) for run in runs(make_plan(study, {}, yes=True)))
    whole = seconds_here(study.card.cost)
    if not (left and usual and whole):
        return []
    taken = whole * sum(study.estimate(run.parameters) for run in left) / usual
    return [
        f"  time        about {duration(float(f'{taken:.2g}'))} here, if a step costs as much as by default"
    ]


def _memory(study: Study, left: list[Run], groups: list[Group]) -> list[str]:
    """The most memory that the runs that are left will take, in a line; none where nothing is to be trained."""
    if not (left and study.trains):
        return []
    from foretrain.engine.footprint import footprint

    workers = usual_workers(len(left), usable_cores())
    taken = footprint(study, left, groups, workers)
    total = taken.here + workers * taken.worker
    each = (
        f"{memory(taken.worker)}{' for each' if workers > 1 else ''} of {count(workers, 'worker')}"
    )
    return [
        f"  memory      at most {memory(total)}: {each}, {memory(taken.here)} to judge and draw"
    ]
