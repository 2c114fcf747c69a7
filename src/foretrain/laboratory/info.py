"""Question, parameters, networks, claims and figures of a study, before anything is run.

Files of theory and figures are read as text and not imported, so that the answer comes at once.
"""

import ast
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretrain.claims.claim import HEADLINE
from foretrain.claims.sentence import Sentence
from foretrain.plans.author import loaded
from foretrain.plans.parameters import rules
from foretrain.plans.plan import make_plan, runs, variant_seeds, variants
from foretrain.plans.study import Study
from foretrain.provenance.sources import source
from foretrain.words import count, cut, fold, interval, number


class Info(dict[str, Any]):
    """Facts of a study by name; printed as text."""

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int = 80, details: bool = False) -> str:
        """The same in words, in lines of at most `width` columns; with all claims and meanings of parameters in `details`."""
        return "\n".join([*_head(self, width), *(_details if details else _brief)(self, width)])


def info(study: str | Path | Study) -> Info:
    """All that can be known of a study without a run, as plain values that JSON can hold.

    Keys are ``study``, ``question``, ``source``, ``cost`` (on two idle cores, in words of the author), ``references``,
    ``presets`` (to what each sets), ``axes``, ``seeds``, ``networks`` (name to seeds), ``runs`` and ``steps`` of the default
    size, ``parameters`` (name to ``meaning``, ``default``, ``choices``), ``claims`` (``id``, ``sentence``, ``rank``,
    ``allowed`` with None for an open end, ``why``, ``source``, ``corrects``) and ``figures`` (names of its own).

    Raises `ArgumentError` where there is no such study, `StudyError` where its file cannot be read.

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
        "predicts": "predict" in _statements(known, "theory"),
        "parameters": {
            n: {"meaning": rule.words, "default": fields[n].default, "choices": [*rule.choices]}
            for n, rule in rules(known.Parameters).items()
        },
        "claims": [_claim(sentence) for sentence in known.sentences],
        "figures": _figures(known),
    }
    return Info(content)


def _claim(sentence: Sentence) -> dict[str, Any]:
    ends = () if callable(sentence.inside) else sentence.inside
    allowed = [end if math.isfinite(end) else None for end in ends] or None
    others = {n: getattr(sentence, n) for n in ("id", "rank", "why", "source", "corrects")}
    return {**others, "sentence": sentence.statement, "allowed": allowed}


def _statements(study: Study, role: str) -> Mapping[str, Any]:
    """Return name to statements of the file of a role, or of the one file of a study; not imported, but of functions."""
    file = study.files.get(role) or study.files.get("study")
    return source(Path(file)).statements if file else study.part("study") or {}


def _figures(study: Study) -> list[str]:
    defined = _statements(study, "figures").get("FIGURES", ())
    if isinstance(defined, Mapping):  # of functions, not of a file
        return list(defined)
    return [
        key.value
        for statement in defined
        if isinstance(statement.node, ast.Assign) and isinstance(statement.node.value, ast.Dict)
        for key in statement.node.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _head(facts: Info, width: int) -> list[str]:
    """Return in lines the question of a study, its source, size, networks and cost."""
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
        "figures": ", ".join(facts["figures"]) or "what theory and simulation share",
    }
    texts = (fold(text, width, f"  {name:<10}", " " * 12) for name, text in rows.items() if text)
    return [f"{facts['study']}", fold(facts["question"], width, "  ", "  "), "", *texts]


def _brief(facts: Info, width: int) -> list[str]:
    """Return in lines the headlines of a study, the seeds that they need, and the names of its parameters."""
    claims, (by, needs) = facts["claims"], facts.get("needs", ("", {}))
    of = {claim["id"]: claim["corrects"] or claim["id"] for claim in claims}
    first = {of[claim["id"]] for claim in claims if claim["rank"] == HEADLINE} or {*of.values()}
    head = f"{count(len({*of.values()}), 'claim')}, all with -v; a run judges those that apply to it. The headlines"
    head += f", with the {by}:" if needs else ":"
    lines = ["", fold(head, width) if claims else "No claims."]
    for claim in sorted(claims, key=lambda claim: [*of].index(of[claim["id"]])):
        mark = "- " if of[claim["id"]] == claim["id"] else "  Corrected: "
        seeds = f" ({needs[claim['id']]})" if claim["id"] in needs else ""
        text = fold(mark + claim["sentence"] + seeds, width, "  ", "    ")
        lines += [text] if of[claim["id"]] in first else []
    defaults = ", ".join(_option(name, rule) for name, rule in facts["parameters"].items())
    return [*lines, "", fold(f"Parameters (default; -v: their meaning): {defaults}", width)]


def _details(facts: Info, width: int) -> list[str]:
    """Return in lines every claim of a study and every parameter."""
    head = f"{count(len(facts['claims']), 'sentence')}, with what is allowed where that is fixed"
    by, needs = facts.get("needs", ("", {}))
    lines = ["", fold(head + f"; {by}" if needs else head, width)]
    for claim in facts["claims"]:
        allowed = f" Allowed: {interval(*claim['allowed'])}." if claim["allowed"] else ""
        seeds = f" Needs {needs[claim['id']]}." if claim["id"] in needs else ""
        text = f"{claim['sentence']}{allowed}{seeds} {claim['why']} {claim['source']}"
        lines += [f"  {claim['id']}", fold(text, width, " " * 6, " " * 6)]
    lines += ["", "Parameters (default)"]
    for name, rule in facts["parameters"].items():
        options = f" ({', '.join(rule['choices'])})" if rule["choices"] else ""
        text = fold(f"{rule['meaning']}{options}", width, " " * 6, " " * 6)
        lines += [f"  {_option(name, rule)}", text]
    return lines


def _option(name: str, rule: dict[str, Any]) -> str:
    shown = rule["default"] if isinstance(rule["default"], str) else number(rule["default"])
    return f"--{name.replace('_', '-')} ({cut(shown) or 'none'})"
