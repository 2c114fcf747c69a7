"""A sweep in words, before it runs."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from foretrain.engine.dispatch import make_groups
from foretrain.engine.estimate import Estimate, estimate
from foretrain.laboratory import folder as home
from foretrain.laboratory.labelled import theory_of
from foretrain.plans.author import words
from foretrain.plans.grid import Grid
from foretrain.plans.place import asking
from foretrain.plans.plan import Plan, Run, runs, variants
from foretrain.results.journal import scan
from foretrain.results.manifest import check_writable, claim_folder
from foretrain.words import say, span

_CONCLUDE_S = 2.3  # seconds of one core: to import what judges and draws, to judge and to draw what every page shows
_FIGURE_S = 0.25  # seconds of a figure of the study's own


def describe(plan: Plan, folder: Path, workers: int | None = None) -> str:
    """A sweep in words: axes, networks, runs, those found done, programs to compile, steps, seconds, memory.

    The folder of its results need not be there; what a run refuses is refused here, too. `workers` are those asked for.

    Cost: that of `foretrain.engine.estimate.estimate`; nothing is trained.
    """
    if folder.exists():
        plan = home.joined(claim_folder(folder), plan)
    else:
        check_writable(next(place for place in folder.parents if place.exists()), "out")
    journal = set(scan(folder).identities) if folder.exists() else set()
    wanted = list(runs(plan))
    left = [run for run in wanted if run.identity not in journal]
    groups = make_groups(left, plan.study.estimate)
    axes = "".join(f"\n    {name}: {span(values)}" for name, values in plan.axes.items())
    rows = {
        "folder": folder,
        "preset": plan.preset,
        "axes": axes or "none",
        "seeds": plan.seeds,
        "networks": ", ".join(name or "its own" for name in variants(plan)),
        "runs": f"{len(wanted)}, of which {len(wanted) - len(left)} are found done",
    }
    if plan.study.trains:
        rows["programs"] = f"{len(groups)} to compile"
        rows["steps"] = f"about {sum(group.steps for group in groups):.2g} in all"
    if left:
        say("One run of each kind is tried first.")
        whole = outlook(plan, left, workers)
        rows |= {"time": whole.time} | ({"memory": whole.memory} if whole.worker else {})
    lines = "".join(f"\n  {name:<12}{text}" for name, text in rows.items())
    return re.sub(" +\n", "\n", f"{plan.study.name}: {plan.study.card.summary}{lines}")


def outlook(plan: Plan, left: Sequence[Run], workers: int | None = None) -> Estimate:
    """Estimate the time and memory of the runs of a plan that are left, from a trial of them and of their theory.

    Raises `StudyError` where the theory raises, and what `foretrain.engine.estimate.estimate` raises.
    """
    cells, seconds = [*Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed).cells()], []
    for cell in (cells[0], cells[-1]) if plan.study.predicts else ():
        began = time.process_time()
        with words(plan.study), asking("predict"):
            theory_of(plan.study, cell)
        seconds.append(time.process_time() - began)
    predict_s = seconds[0] + (len(cells) - 1) * seconds[-1] if seconds else 0.0
    draw_s = _FIGURE_S * len(plan.study.figures or ())
    return estimate(plan, left, workers=workers, conclude_s=_CONCLUDE_S + draw_s + predict_s)
