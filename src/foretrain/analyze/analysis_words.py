"""An `Analysis` in sentences, tables, numbers and pictures."""

from functools import partial
from typing import Any

import numpy as np

from foretrain.analyze import analysis_figures as figures
from foretrain.analyze.analysis import Analysis
from foretrain.degeneracy.counts.sources import SOURCES, SourcedFreedom
from foretrain.degeneracy.noise_scale import SCALES
from foretrain.report.answer import Answer, Table
from foretrain.words import number

_LOSSES = {"mse": "squared error", "kl": "divergence of the softmax, in nats"}
PICTURES = ("effective-parameters", "chains", "graph", "over-training")  # of all answers here
_MOST = 50  # blocks of synchronised neurons in the table


def answer(analysis: Analysis) -> Answer:
    """Return what is said of an analysis."""
    sampled = analysis.sampled
    chains = "nothing was sampled" if sampled is None else "chains agree with each other"
    drawings: dict[str, Any] = dict.fromkeys(PICTURES)
    drawings["effective-parameters"] = analysis.costs and partial(figures.curve, analysis)
    if sampled is not None and np.isfinite(sampled.traces).any():
        drawings["chains"] = partial(figures.chains, sampled)
    if analysis.wiring is not None:
        drawings["graph"] = partial(figures.graph, analysis.wiring, analysis.eps, analysis.loss)
    return Answer(
        name="analysis",
        title=f"Analysis of {analysis.label}",
        head=differences(analysis),
        tables=tables(analysis),
        drawings=drawings,
        doubts=analysis.doubts or [f"No check failed: ranks have enough data, {chains}."],
        numbers=_numbers(analysis),
    )


def differences(analysis: Analysis) -> list[str]:
    """Lines on curvature, on its distance from sampling, and on the limit of both."""
    if analysis.costs is None:
        return ["The curvature is not known yet."]
    sampled, (value, error) = analysis.sampled, analysis.costs.effective(analysis.eps)
    lines = [
        f"Of {analysis.parameters:,} parameters {with_error(value, error)} are not free at the noise scale "
        f"{number(analysis.eps)} ({analysis.source}), by curvature."
    ]
    if value > 0.9 * analysis.answers:
        limit = f"The {analysis.answers:,} answers are the limit"
        lines.append(f"{limit}: more examples may tell more.")
    if sampled is None:
        return lines
    for at in np.flatnonzero(sampled.trusted):
        eps, by_chains = float(sampled.eps[at]), float(sampled.value[at])
        value, error = analysis.costs.effective(eps)
        if abs(by_chains - value) > 3 * np.hypot(error, sampled.error[at]):
            shape = "flatter" if by_chains < value else "steeper"
            both = f"{number(by_chains, 3)} where curvature says {number(float(value), 3)}"
            why = f"away from the weights the loss is {shape} than at them"
            lines.append(f"At {number(eps, 3)} sampling finds {both}: {why}.")
        else:
            lines.append(f"At {number(eps, 3)} sampling and curvature agree within their errors.")
    return lines


def tables(analysis: Analysis) -> list[Table]:
    """Tables of everything that was measured."""
    parts = [Table("The network", ("", ""), _network(analysis))]
    parts += [_witnesses(analysis)] if analysis.costs else []
    if isinstance(analysis.exact, SourcedFreedom) and _meets(analysis.exact, analysis.exact.free):
        parts.append(_places(analysis.exact.places))
    if analysis.freedom is not None:
        free = analysis.parameters - analysis.costs.above(analysis.eps)[0]
        sections, blocks = _sections(analysis.freedom)
        parts += [sections, blocks] if _meets(analysis.freedom, free) else [blocks]
    if analysis.wiring is not None:
        parts += _modules(analysis.wiring, figures.layer_names(analysis.wiring, analysis.loss))
    return parts


def with_error(value, error) -> str:
    """A number of parameters with its error, where it has one."""
    shown = f"{value:,.0f}" if value >= 100 else number(float(value), 3)
    return shown if error == 0 else f"{shown} ± {number(float(error), 2)}"


def _network(analysis):
    rows = [
        ("parameters", f"{analysis.parameters:,}"),
        ("examples x outputs", f"{analysis.answers:,}"),
        ("loss", _LOSSES[analysis.loss]),
        ("noise scale", f"{number(analysis.eps)}, {analysis.source}"),
    ]
    if analysis.widths is not None:
        rows.insert(1, ("layers", " - ".join(map(str, analysis.widths))))
    counts = analysis.exact
    if counts is not None and counts.by_source():
        rows.append(("free directions", f"{counts}"))
        if (counts.unattributed or 0) >= 0 and counts.spectrum is not None:
            rows.append(("of these not attributed", f"{counts.unattributed:,}"))
    elif analysis.jacobian is not None:
        rows.append(("rank of the Jacobian", f"{analysis.jacobian}"))
    return rows


def _witnesses(analysis):
    """Effective parameters at three scales: by curvature, by counting, by sampling."""
    rows, costs, sampled = [], analysis.costs, analysis.sampled
    for at, eps in enumerate(analysis.eps * np.array(SCALES)):
        by_chains = "not sampled"
        if sampled is not None:
            word = "trusted" if np.isfinite(sampled.value[at]) else "sampled"
            known = with_error(sampled.value[at], sampled.error[at])
            by_chains = known if sampled.trusted[at] else f"not {word}: see Trust"
        known = with_error(*costs.effective(eps)), with_error(*costs.above(eps))
        rows.append((number(float(eps), 3), *known, by_chains))
    head = ("noise scale", "by curvature", "costs above it", "by sampling")
    return Table("Effective parameters", head, rows)


def _sections(freedom):
    sources = ("activations", "Jacobians", "synchronised", "conditional")
    rows, blocks = [], []
    for at, section in freedom.sections.items():
        counts = section.activations, section.jacobians, section.synchronized, section.conditional
        rows.append((f"{at + 1}", *(f"{n:,}" for n in (section.parameters, *counts))))
    for at, block in freedom.groups[:_MOST]:
        which = ", ".join(map(str, block.neurons[:12])) + ", ..." * (len(block.neurons) > 12)
        blocks.append((f"{at + 1}", str(len(block.neurons)), which, str(block.dimension)))
    heading = "Free directions at the scale, by section and source: an estimate"
    counted = Table(heading, ("section", "parameters", *sources), rows)
    names, blocks = ("layer", "neurons", "which", "span"), blocks or [("none", "", "", "")]
    return [counted, Table("Synchronised blocks", names, blocks)]


def _meets(freedom, count):
    """True if what sources count is within a tenth of the whole."""
    return abs(freedom.counted - count) <= 0.1 * count


def _places(places):
    """Table of free directions by the place where they are and by source."""
    counts = {place: dict.fromkeys(SOURCES, 0) for place, *_ in places}
    for place, source, many in places:
        counts[place][source] += many
    rows = [(place, *(f"{n:,}" if n else "-" for n in of.values())) for place, of in counts.items()]
    return Table("Free directions, by place and source", ("parameters", *SOURCES), rows)


def _modules(wiring, names):
    modules, chance = wiring.modules, wiring.chance
    layers = modules.by_layer(wiring.graph.sizes)
    members = [(f"{k + 1}", [layer == k for layer in layers]) for k in range(modules.modules)]
    members.append(("in none", [layer < 0 for layer in layers]))
    rows = [(name, *(str(int(inside.sum())) for inside in each)) for name, each in members]
    rows.append(("all directions kept", *map(str, wiring.graph.sizes)))
    rewired = f"{number(float(chance.mean()))}, at most {number(float(chance.max()))}"
    measures = [
        ("cut between modules, sum of ln(w/eps^(1/2))", number(modules.cut)),
        (f"modularity at resolution {number(modules.resolution, 3)}", number(modules.modularity)),
        (f"of {len(chance)} rewired graphs", rewired),
        ("parts without an edge between them, at any scale", str(wiring.parts)),
    ]
    heading = "Modules of the interaction graph, directions of each layer"
    how = Table("How modular it is", ("", ""), measures)
    return [Table(heading, ("module", *names), rows), how]


def _numbers(analysis):
    """Numbers of the tables, for a program."""
    names = "parameters examples answers widths loss eps source doubts".split()
    record = {name: getattr(analysis, name) for name in names}
    scales = analysis.eps * np.array(SCALES)
    if analysis.costs is not None:
        values = scales, *analysis.costs.effective(scales), *analysis.costs.above(scales)
        heads = "noise_scale by_curvature error costs_above error_of_those".split()
        record["effective_parameters"] = dict(zip(heads, values, strict=True))
    if analysis.sampled is not None:
        fields = ("eps", "value", "error", "trusted", "doubts")
        record["sampled"] = {name: getattr(analysis.sampled, name) for name in fields}
    record["free_directions"] = {
        name: {"all": freedom.free, "is_exact": freedom.exact, "by_source": freedom.by_source()}
        for name, freedom in {"exact": analysis.exact, "at_the_scale": analysis.freedom}.items()
        if freedom is not None and freedom.by_source()
    }
    if isinstance(analysis.exact, SourcedFreedom):
        record["free_directions"]["exact"]["places"] = analysis.exact.places
    if analysis.wiring is not None:
        wiring, fields = analysis.wiring, ("modules", "cut", "resolution", "modularity")
        record["modules"] = {name: getattr(wiring.modules, name) for name in fields}
        record["modules"] |= {"of_rewired_graphs": wiring.chance, "parts": wiring.parts}
    return record
