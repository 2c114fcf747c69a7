"""An `Analysis` as tables, text, HTML and an xarray Dataset."""

import html as markup
import math
from typing import TYPE_CHECKING

import numpy as np

from foretrain.degeneracy.counts.transformer_freedom import SOURCES
from foretrain.degeneracy.noise_scale import SCALES
from foretrain.words import duration, fold, laid, number

if TYPE_CHECKING:
    from foretrain.analyze.analysis import Analysis
    from foretrain.analyze.trajectory import Trajectory

Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # heading, names of columns, rows
_LOSSES = {"mse": "squared error", "kl": "divergence of the softmax, in nats"}


def text(found: "Analysis", width: float = math.inf) -> str:
    """The tables and what is doubted, in lines of at most `width` columns."""
    lines = []
    for heading, head, rows in tables(found):
        table = laid([head, *rows], range(len(head)), width - 2)
        lines += ["", heading, *(f"  {line}" for line in table if line)]
    for heading, said in (("Witnesses", differences(found)), ("Trust", trust(found))):
        lines += ["", heading, *(f"  {line}" for line in said)] if said else []
    return "\n".join(
        fold(line, int(width), "", "    ") if len(line) > width else line for line in lines[1:]
    )


def html(found: "Analysis | Trajectory") -> str:
    """The same for a notebook."""
    return f"<pre>{markup.escape(str(found))}</pre>"


def trajectory_text(found: "Trajectory", width: float = math.inf) -> str:
    """Tables of moments, and what changes when."""
    lines = []
    for heading, head, rows in moments(found):
        table = laid([head, *rows], range(len(head)), width)
        lines += [heading, *(line for line in table if line), ""]
    lines += found.changes()
    if found.doubts:
        lines += ["", "Trust", *(f"  {line}" for line in found.doubts)]
    return "\n".join(
        fold(line, int(width), "", "    ") if len(line) > width else line for line in lines
    )


def moments(found: "Trajectory") -> list[Table]:
    """Loss and effective parameters of every moment; where they were counted free directions by source, blocks, modules."""
    head = ("moment", "loss", *(f"N at {number(float(scale), 3)}" for scale in found.scales))
    each = zip(found.moments, found.distance, found.effective, found.error, strict=True)
    rows = [
        (
            f"{moment:g}",
            number(float(loss), 4),
            *(_with_error(*one) for one in zip(values, errors, strict=True)),
        )
        for moment, loss, values, errors in each
    ]
    heading = f"Effective parameters N of {found.parameters:,}, noise scale {found.source}"
    counts, numbers = found.by_source(), found.numbers()
    total = {"all": [str(one) for one in found.counts]} if counts else {}
    columns = {
        name: [f"{one:,}" for one in values] for name, values in (counts | numbers).items()
    } | total
    second = [
        (f"{moment:g}", *each)
        for moment, *each in zip(found.moments, *columns.values(), strict=True)
    ]
    tables = [(heading, head, rows)]
    if columns:
        what = "Free directions that change nothing at all, by source" if counts else "Modules"
        tables.append((what, ("moment", *columns), second))
    return tables


def differences(found: "Analysis") -> list[str]:
    """Lines on what separates curvature, counting and sampling, and on what limits all of them."""
    lines, (value, _) = [], found.costs.effective(found.eps)
    if value > 0.9 * found.answers:
        lines.append(f"The {found.answers:,} answers are the limit: more examples may tell more.")
    if found.sampled is None:
        return lines
    for at in np.flatnonzero(found.sampled.trusted):
        eps, sampled = float(found.sampled.eps[at]), float(found.sampled.value[at])
        value, error = found.costs.effective(eps)
        if abs(sampled - value) > 3 * np.hypot(error, found.sampled.error[at]):
            how = "flatter" if sampled < value else "steeper"
            both = f"{number(sampled, 3)} where curvature says {number(float(value), 3)}"
            lines.append(
                f"At {number(eps, 3)} sampling finds {both}: away from the weights the loss is {how} than at them."
            )
        else:
            lines.append(f"At {number(eps, 3)} sampling and curvature agree within their errors.")
    return lines


def trust(found: "Analysis") -> list[str]:
    """Lines on what is not to be trusted; one line where nothing is doubted."""
    chains = "nothing was sampled" if found.sampled is None else "chains agree with each other"
    return found.doubts or [f"No check failed: ranks have enough data, {chains}."]


def tables(found: "Analysis") -> list[Table]:
    """Everything in tables: heading, names of columns, rows of texts."""
    made = [("The network", ("", ""), _network(found)), _witnesses(found)]
    if found.transformer is not None:
        made.append(_by_source(found.transformer))
    if found.freedom is not None:
        made += _sections(found.freedom)
    if found.wiring is not None:
        made += _modules(found.wiring, layer_names(found))
    rows = [(name, duration(value)) for name, value in found.seconds.items()]
    return [
        *made,
        ("Time and memory", ("", ""), [*rows, ("most memory", f"{found.memory:.0f} MB")]),
    ]


def _network(found):
    rows = [
        ("parameters", f"{found.parameters:,}"),
        ("examples x outputs", f"{found.answers:,}"),
        ("loss", _LOSSES[found.loss]),
        ("noise scale", f"{number(found.eps)}, {found.source}"),
    ]
    if found.widths is not None:
        rows.insert(1, ("layers", " - ".join(map(str, found.widths))))
    counts = found.exact or found.transformer
    if counts is not None:
        rows.append(("free directions", f"{counts}"))
        if (counts.unattributed or 0) >= 0 and counts.spectrum is not None:
            rows.append(("of these not attributed", f"{counts.unattributed:,}"))
    elif found.jacobian is not None:
        rows.append(("rank of the Jacobian", f"{found.jacobian}"))
    return rows


def _witnesses(found) -> Table:
    """Effective parameters at three scales: by curvature, by counting, by sampling."""
    rows = []
    for scale in SCALES:
        eps = scale * found.eps
        value, error = found.costs.effective(eps)
        count, off = found.costs.above(eps)
        sampled = _of_samples(found.sampled, eps)
        rows.append((number(eps, 3), _with_error(value, error), _with_error(count, off), sampled))
    head = ("noise scale", "by curvature", "costs above it", "by sampling")
    return "Effective parameters", head, rows


def _with_error(value, error):
    shown = f"{value:,.0f}" if value >= 100 else number(float(value), 3)
    return shown if error == 0 else f"{shown} ± {number(float(error), 2)}"


def _of_samples(sampled, eps):
    """What chains say, where that is trusted."""
    if sampled is None:
        return "not sampled"
    at = int(np.argmin(abs(np.log(np.asarray(sampled.eps) / eps))))
    if not sampled.trusted[at]:
        word = "trusted" if np.isfinite(sampled.value[at]) else "sampled"
        return f"not {word}: see Trust"
    return _with_error(float(sampled.value[at]), float(sampled.error[at]))


def _sections(freedom) -> list[Table]:
    head = (
        "section",
        "parameters",
        "activations",
        "Jacobians",
        "synchronised",
        "conditional",
        "left",
    )
    rows = [
        (f"{at + 1}", f"{one.parameters:,}", *(f"{n:,}" for n in (
            one.activations, one.jacobians, one.synchronized, one.conditional,
            one.parameters - one.counted)))
        for at, one in freedom.sections.items()
    ]  # fmt: skip
    by_source = ("Free directions at the scale, by section and source: an estimate", head, rows)
    rows = [
        (f"{at + 1}", str(len(block.neurons)), _short(block.neurons), str(block.dimension))
        for at, one in freedom.sections.items()
        for block in one.blocks
        if len(block.neurons) > 1
    ]
    head = ("layer", "neurons", "which", "span")
    return [by_source, ("Synchronised blocks", head, (rows or [("none", "", "", "")])[:50])]


def _short(neurons):
    words = ", ".join(str(one) for one in neurons[:12])
    return words + (", ..." if len(neurons) > 12 else "")


def _by_source(found) -> Table:
    names = [source.replace("_", " and ") for source in SOURCES]
    parts = [(f"{at + 1}", one) for at, one in enumerate(found.sections, 1)]
    rows = [
        (name, *(f"{one[source]:,}" if source in one else "-" for source in SOURCES))
        for name, one in [*parts, ("none", found.whole), ("all", found.by_source())]
    ]
    return "Free directions, by section and source", ("section", *names), rows


def layer_names(found: "Analysis") -> list[str]:
    """Names of the layers of the interaction graph; that of the divergence ends in the roots of twice the probabilities."""
    assert found.wiring is not None
    many = len(found.wiring.graph.sizes)
    last = ["logits", "roots of 2p"] if found.loss == "kl" else ["output"]
    return ["input", *(f"layer {at}" for at in range(1, many - len(last))), *last]


def _modules(wiring, names) -> list[Table]:
    modules = wiring.modules.by_layer(wiring.graph.sizes)
    head = ("module", *names)
    rows = [
        (f"{k + 1}", *(str(int((one == k).sum())) for one in modules))
        for k in range(wiring.modules.modules)
    ]
    rows.append(("in none", *(str(int((one < 0).sum())) for one in modules)))
    rows.append(("all directions kept", *(str(size) for size in wiring.graph.sizes)))
    how = [
        ("cut between modules, sum of ln(w/eps^(1/2))", number(wiring.modules.cut)),
        (f"modularity at resolution {number(wiring.modules.resolution, 3)}", number(wiring.modules.modularity)),
        (f"of {len(wiring.chance)} rewired graphs", f"{number(float(wiring.chance.mean()))}, at most "
         f"{number(float(wiring.chance.max()))}"),
    ]  # fmt: skip
    return [
        ("Modules of the interaction graph, directions of each layer", head, rows),
        ("How modular it is", ("", ""), how),
    ]


def dataset(found: "Analysis"):
    """Effective parameters over `noise_scale` by curvature and counting, over `sampled_scale` by sampling, with errors."""
    import xarray as xr

    scales = found.scales
    data = {}
    for name, pair in (
        ("by_curvature", found.costs.effective(scales)),
        ("costs_above", found.costs.above(scales)),
    ):
        data[name], data[f"{name}_error"] = (("noise_scale", one) for one in pair)
    coords = {"noise_scale": scales}
    if found.sampled is not None:
        coords["sampled_scale"] = np.asarray(found.sampled.eps)
        data["by_sampling"] = ("sampled_scale", found.sampled.value)
        data["by_sampling_error"] = ("sampled_scale", found.sampled.error)
        data["trusted"] = ("sampled_scale", found.sampled.trusted)
    if found.jacobian is not None:
        data["cost"] = ("direction", found.jacobian.costs)
    names = ("parameters", "examples", "answers", "loss", "eps", "source")
    return xr.Dataset(data, coords, {name: getattr(found, name) for name in names})
