"""What a sweep would run, before it runs."""

from pathlib import Path

from foretrain.engine.dispatch import make_groups
from foretrain.laboratory import folder as home
from foretrain.laboratory.conduct import folder_of
from foretrain.plans.config import read_sweep
from foretrain.plans.plan import runs, variants
from foretrain.results.journal import scan
from foretrain.words import span


def explain(config: str | Path, out: str | Path | None = None, *, yes: bool = False) -> str:
    """The grid of a sweep's file in words: axes, networks, runs, those found done, programs to compile, predicted steps.

    Raises:
        ArgumentError: the file cannot be used.
    """
    plan, named = read_sweep(config, yes)
    folder = folder_of(plan, out or named)
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
            f"  sentences   {len(plan.study.sentences)}",
        ]
    )
