"""Question, parameters, networks, claims and figures of a study, before anything is run.

Files of theory and figures are read as text and not imported, so that the answer comes at once.
"""

import ast
import math
from pathlib import Path
from typing import Any

from foretrain.claims.sentence import Sentence
from foretrain.plans.author import loaded
from foretrain.plans.parameters import rules
from foretrain.plans.plan import make_plan, runs, variant_seeds, variants
from foretrain.plans.study import Study
from foretrain.provenance.sources import source
from foretrain.words import count, fold, interval, number


class Info(dict[str, Any]):
    """Facts of a study by name; printed as text."""

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = 80) -> str:
        """The same in words, in lines of at most `width` columns."""
        return _text(self, width)


def info(study: str | Path | Study) -> Info:
    """All that can be known of a study without a run, as plain values that JSON can hold.

    Keys are ``study``, ``question``, ``source``, ``cost`` (on two idle cores, in words of the author), ``references``,
    ``presets`` (to what each sets), ``axes``, ``seeds``, ``networks`` (name to seeds), ``runs`` and ``steps`` of the default
    size, ``parameters`` (name to ``meaning``, ``default``, ``choices``), ``claims`` (``id``, ``sentence``, ``allowed`` with
    None for an open end, ``why``, ``source``, ``corrects``), ``figures`` (names of its own) and ``draws``, in a sentence.

    Cost: milliseconds, a quarter of a second for the seeds that headlines need.

    Raises:
        ArgumentError: there is no such study.
        StudyError: its file cannot be read.

    Example:
        >>> import foretrain
        >>> foretrain.info("one-mode")["presets"]["paper"]["steps"]
        20000
    """
    known = loaded(study, ("study", "claims"))
    plan = make_plan(known, {}, yes=True)
    wanted = list(runs(plan))
    fields = known.Parameters.__dataclass_fields__
    content = {
        "study": known.name,
        "where": known.where,
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
        "predicts": _binds(known, "theory", "predict"),
        "parameters": {
            n: {"meaning": rule.words, "default": fields[n].default, "choices": [*rule.choices]}
            for n, rule in rules(known.Parameters).items()
        },
        "claims": [_claim(sentence) for sentence in known.sentences],
        "figures": _figures(known),
        "draws": _draws(known),
    }
    return Info(content)


def _claim(sentence: Sentence) -> dict[str, Any]:
    ends = () if callable(sentence.inside) else sentence.inside
    allowed = [end if math.isfinite(end) else None for end in ends] or None
    others = {name: getattr(sentence, name) for name in ("id", "why", "source", "corrects")}
    return {**others, "sentence": sentence.statement, "allowed": allowed}


def _file(study: Study, role: str) -> Path | None:
    file = study.files.get(role) or study.files.get("study")
    return Path(file) if file else None


def _binds(study: Study, role: str, name: str) -> bool:
    file = _file(study, role)
    return name in (source(file).statements if file else study.part("study") or ())


def _figures(study: Study) -> list[str]:
    file = _file(study, "figures")
    if file is None:
        return list((study.part("study") or {}).get("FIGURES", ()))
    return [
        key.value
        for node in ast.parse(file.read_bytes()).body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and ast.unparse(node.targets[0]) == "FIGURES"
        for key in node.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _draws(study: Study) -> str:
    """Say what is drawn: the first line of the file of figures, or what every study gets."""
    if "figures" in study.files:
        text = Path(study.files["figures"]).read_bytes()
        return (ast.get_docstring(ast.parse(text)) or "Figures of its own.").splitlines()[0]
    if _binds(study, "figures", "FIGURES"):
        return "Figures of its own."
    return "Every variable that theory and simulation share, dashed over solid."


def _text(facts: Info, width: int) -> str:
    def wrapped(text, indent):
        return fold(text, width, " " * indent, " " * indent)

    lines = [f"{facts['study']}", wrapped(facts["question"], 2), ""]
    axes = (f"{name} ({count(len(values), 'value')})" for name, values in facts["axes"].items())
    variants = [name for name in facts["networks"] if name != "main"]
    size = f"{count(facts['runs'], 'run')} of {count(facts['seeds'], 'seed')}"
    trial = f"foretrain run {facts['where'] or facts['study']} --explain tells it here, by a trial"
    rows = {
        "source": facts["source"],
        "cost": facts["cost"] and f"about {facts['cost']} on two idle cores; {trial}",
        "size": size + (f", axes {', '.join(axes)}" if facts["axes"] else ""),
        "networks": f"its own, {', '.join(variants)}" if variants else "",
        "theory": "predicts" if facts["predicts"] else "none",
        "presets": ", ".join(facts["presets"]),
        "figures": ", ".join(facts["figures"]) or facts["draws"],
    }
    for name, text in rows.items():
        if text:
            lines.append(fold(text, width, f"  {name:<10}", " " * 12))
    number_of = count(len(facts["claims"]), "claim")
    lines += ["", f"{number_of}, with what is allowed where that is fixed"]
    for claim in facts["claims"]:
        allowed = f" Allowed: {interval(*claim['allowed'])}." if claim["allowed"] else ""
        lines += [f"  {claim['id']}", wrapped(f"{claim['sentence']}{allowed}", 6)]
    needs = facts.get("needs", ())
    lines += ["", *(fold(line, width, "", "    ") for line in needs)] if needs else []
    lines += ["", "Parameters (default)"]
    for name, rule in facts["parameters"].items():
        default = rule["default"]
        shown = default if isinstance(default, str) else number(default)
        options = f" ({', '.join(rule['choices'])})" if rule["choices"] else ""
        lines.append(f"  --{name.replace('_', '-')} ({shown or 'none'})")
        lines.append(wrapped(f"{rule['meaning']}{options}", 6))
    return "\n".join(lines)
