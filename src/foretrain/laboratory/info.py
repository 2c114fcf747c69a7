"""What a study asks, takes, trains, claims and draws, told before anything is run."""

import math
from pathlib import Path
from typing import Any

from foretrain.plans.author import loaded
from foretrain.plans.parameters import rules
from foretrain.plans.plan import make_plan, runs, variant_seeds, variants
from foretrain.plans.study import Study
from foretrain.words import count, fold, interval, number


def info(study: str | Path | Study) -> dict[str, Any]:
    """All that can be known of a study without a run, as plain values that JSON can hold.

    Keys are ``study``, ``question``, ``source``, ``cost``, ``references``, ``presets`` (to what each sets), ``axes``,
    ``seeds``, ``networks`` (name to seeds), ``runs`` and ``steps`` of the default size, ``parameters`` (name to ``meaning``,
    ``default``, ``choices``), ``claims`` (``id``, ``sentence``, ``allowed`` with None for an open end, ``why``, ``source``,
    ``corrects``), ``figures`` (name to the ids of the claims that are judged by what it shows) and ``draws``, in a sentence.

    Raises:
        ArgumentError: there is no such study.
        StudyError: its file cannot be read.
    """
    known = loaded(study)
    plan = make_plan(known, {}, yes=True)
    wanted = list(runs(plan))
    fields = known.Parameters.__dataclass_fields__
    return {
        "study": known.name,
        "question": known.card.summary,
        "source": known.card.source,
        "cost": known.card.cost,
        "references": list(known.card.references),
        "presets": {name: dict(values) for name, values in known.presets.items()},
        "axes": {name: list(values) for name, values in plan.axes.items()},
        "seeds": plan.seeds,
        "networks": {name or "main": variant_seeds(plan, name) for name in variants(plan)},
        "runs": len(wanted),
        "steps": sum(known.estimate(run.parameters) for run in wanted),
        "predicts": known.predicts,
        "parameters": {
            name: {
                "meaning": rule.meaning,
                "default": fields[name].default,
                "choices": list(rule.choices),
            }
            for name, rule in rules(known.Parameters).items()
        },
        "claims": [
            {
                "id": said.id,
                "sentence": said.statement,
                "allowed": None
                if callable(said.inside)
                else [end if math.isfinite(end) else None for end in said.inside],
                "why": said.why,
                "source": said.source,
                "corrects": said.corrects,
            }
            for said in known.sentences
        ],
        "figures": {name: list(ids) for name, ids in known.shows.items()},
        "draws": _draws(known),
    }


def _draws(study: Study) -> str:
    """What is drawn: the first line of the file of figures, or what every study gets."""
    own = study.part("figures")
    if own is None and "draw" in (study.part("study") or ()):
        return "Figures of its own."
    if own is None:
        return "Every variable that theory and simulation share, dashed over solid."
    return (own.get("__doc__") or "Figures of its own.").splitlines()[0]


def told(found: dict[str, Any], width: int = 80) -> str:
    """What `info` found, in words, in so many columns."""

    def wrapped(text, indent):
        return fold(text, width, " " * indent, " " * indent)

    lines = [f"{found['study']}", wrapped(found["question"], 2), ""]
    of_axes = ", ".join(
        f"{name} ({count(len(values), 'value')})" for name, values in found["axes"].items()
    )
    beside = [name for name in found["networks"] if name != "main"]
    facts = {
        "source": found["source"],
        "cost": f"about {found['cost']} on two cores" if found["cost"] else "",
        "size": f"{count(found['runs'], 'run')} of {count(found['seeds'], 'seed')}"
        + (f", axes {of_axes}" if of_axes else ""),
        "networks": f"its own, {', '.join(beside)}" if beside else "",
        "theory": "predicts" if found["predicts"] else "none",
        "presets": ", ".join(found["presets"]),
        "figures": ", ".join(found["figures"]) or found["draws"],
    }
    for name, text in facts.items():
        if text:
            lines.append(fold(text, width, f"  {name:<10}", " " * 12))
    lines += [
        "",
        f"{count(len(found['claims']), 'claim')}, with what is allowed where that is fixed",
    ]
    for said in found["claims"]:
        allowed = f" Allowed: {interval(*said['allowed'])}." if said["allowed"] else ""
        lines += [f"  {said['id']}", wrapped(f"{said['sentence']}{allowed}", 6)]
    lines += ["", "Parameters (default)"]
    for name, rule in found["parameters"].items():
        default = rule["default"]
        shown = default if isinstance(default, str) else number(default)
        options = f" ({', '.join(rule['choices'])})" if rule["choices"] else ""
        lines.append(f"  --{name.replace('_', '-')} ({shown or 'none'})")
        lines.append(wrapped(f"{rule['meaning']}{options}", 6))
    return "\n".join(lines)
