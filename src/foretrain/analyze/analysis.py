"""All measures of one network at one noise scale: how much of it is free, where, and what is left.

The noise scale eps is the loss below which a difference does not count. Three witnesses say how many parameters are not free
at it, in the same units: curvature, sum c/(c + eps) over the costs c of unit steps; counting, the number of costs above eps;
and sampling, 2 beta E[L - L*] at beta = 1/(2 eps) with a Gaussian prior of unit width around the weights. On a quadratic the
first and the last are equal. The parts are in their own files; here they share a network, data and a scale.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.analyze.parts import kept
from foretrain.arithmetic import arithmetic
from foretrain.degeneracy import noise_scale as scaling
from foretrain.degeneracy.counts import jacobian_spectrum, unit_costs
from foretrain.degeneracy.counts.free_directions import FreeDirections, free_directions
from foretrain.degeneracy.counts.sources import sources
from foretrain.degeneracy.folded import BUDGET, widths
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.interaction_graph import path_points
from foretrain.degeneracy.interactions.wiring import Wiring, wired
from foretrain.degeneracy.network import Network, is_perceptron
from foretrain.degeneracy.noise_scale import SCALES
from foretrain.degeneracy.sampled.effective_parameters import SampledParameters, sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural
from foretrain.errors import TooLarge, argument_error, integer, real
from foretrain.lazy import jax, xr
from foretrain.machine import peak_memory
from foretrain.report.answer import Finding
from foretrain.words import duration, memory

SINGLE = 1e-8  # of the outputs' mean square: from there on single precision resolves the loss
# Of one core, by which seconds become gradients: operations and bytes in a second, and seconds of a gradient without any.
OPERATIONS, BYTES, CALL = 2e11, 5e10, 3e-7
MOVED = 0.02  # share of N that a slope at the weights may move


@dataclass(frozen=True, repr=False)
class Analysis(Finding):
    """Results of `analyze`.

    Args:
        parameters, examples, answers: Numbers of them; answers are examples times outputs.
        widths: Activations of each layer, input first; None of a pure function.
        loss: "mse" or "kl"; with labels the squared error and the cross-entropy.
        eps, source: Noise scale, and where it comes from, in words.
        costs, jacobian: Of unit steps, None before; and its singular values, None where it is too large.
        sampled: Effective parameters by sampling at `SCALES` times eps; None where nothing was sampled.
        exact: Free directions that change nothing at all, by source where that is known; None before they are counted.
        freedom: The same at eps; None of a transformer, too.
        wiring: Basis, graph and modules; None of a pure function.
        doubts: Lines on what is not to be trusted, and why.
        label: Name of the network.
    """

    parameters: int
    examples: int
    answers: int
    widths: tuple[int, ...] | None
    loss: str
    eps: float
    source: str
    costs: Any = None
    jacobian: jacobian_spectrum.Spectrum | None = None
    sampled: SampledParameters | None = None
    exact: jacobian_spectrum.Freedom | None = None
    freedom: FreeDirections | None = None
    wiring: Wiring | None = None
    doubts: list[str] = field(default_factory=list)
    label: str = "the network"

    @property
    def scales(self) -> np.ndarray:
        """Noise scales at which effective parameters are drawn, (41,): eps in the middle, two decades to either side."""
        return self.eps * np.geomspace(0.01, 100, 41)

    def dataset(self):
        """Return witnesses and costs as an xarray Dataset with dims `noise_scale`, `sampled_scale` and `direction`."""
        data, coords, sampled = {}, {"noise_scale": self.scales}, self.sampled
        for name, of in (("by_curvature", self.costs.effective), ("costs_above", self.costs.above)):
            data[name], data[f"{name}_error"] = (("noise_scale", each) for each in of(self.scales))
        if sampled is not None:
            coords["sampled_scale"] = sampled.eps
            data["by_sampling"] = "sampled_scale", sampled.value
            data["by_sampling_error"] = "sampled_scale", sampled.error
            data["trusted"] = "sampled_scale", sampled.trusted
        if self.jacobian is not None:
            data["cost"] = ("direction", self.jacobian.costs)
        names = ("parameters", "examples", "answers", "loss", "eps", "source")
        return xr.Dataset(data, coords, {name: getattr(self, name) for name in names})


def analyze(
    model: Network | Function,
    x: np.ndarray,
    noise_scale: float | None = None,
    *,
    y: Any = None,
    source: str = "as given",
    loss: str | None = None,
    modules: int | None = None,
    resolution: float | None = None,
    points: int = 5,
    gradients: int | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    wiring: bool = True,
    tell: Callable[[str], object] | None = None,
    keep: Callable[[Analysis], object] | None = None,
    parts: Path | None = None,
) -> Analysis:
    """Analyse a network on data.

    Args:
        model, x: Sections, or a pure function, of which curvature and sampling need no more; and inputs, (example, ...).
        noise_scale: Eps of the loss; None takes it from the data, see `foretrain.degeneracy.noise_scale.default_scale`.
        y: Labels, (example,) whole numbers or (example, output) targets: the loss is that of training. None takes the
            network's own outputs: the loss is how far others are from them.
        source: Where a noise scale that is given comes from, in words.
        loss: "mse" or "kl"; by default "kl" with whole numbers as labels, else "mse".
        modules, resolution, points: Number of modules and their resolution, None for what follows from the graph, see
            `modularity`; and points of the integral of an edge.
        gradients: Of all data, that sampling may take; 0 samples nothing. None for as many as `seconds` have by the
            operations of one, of a core that is always the same: neither load nor machine changes what comes out.
        seconds, seed: Of that core, 0 samples nothing; and of probes and chains.
        wiring: False to leave counts at the scale, basis, graph and modules out.
        tell, keep: Get lines on time and memory before it begins; and what is known after every part.
        parts: File in which finished parts are kept, and found again.

    Raises:
        ArgumentError: An argument is out of range or fits no other; the data do not tell outputs apart.

    Cost: sampling takes its `gradients` or less, curvature some 20 s at 3,000 parameters and more; see the parts.
    """
    seconds = real("seconds", seconds, minimum=0)
    path_points(points)
    for name, value, least in (("gradients", gradients, 0), ("modules", modules, 1)):
        if value is not None:
            integer(name, value, minimum=least)
    function = as_function(model) if isinstance(model, Network) else model
    x, network = function.data(x), function.network
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = scaling.checked_outputs(function.check(x))
    y, loss = scaling.asked_loss(y, outputs, loss)
    flat = function.rows(x)  # as sections read it
    wide = None if network is None else tuple(widths(network, flat, folded=False))
    if wide is not None and loss == "kl" and wide[-1] != outputs.shape[1]:
        repair = "Give a function of the last position's logits alone."
        raise argument_error("loss", "be `mse` for outputs of several positions", "is `kl`", repair)
    eps, source, doubts = scaling.chosen_scale(noise_scale, source, outputs, y, loss)
    doubts += function.notes
    if gradients is None:
        gradients = int(seconds / gradient_seconds(function, x, loss)) if seconds else 0
    seconds_of = outlook(tell, function, x, gradients) if tell else {}
    analysis = Analysis(function.size, len(x), outputs.size, wide, loss, eps, source, doubts=doubts)
    doubts_of: dict[str, list] = {"curvature": [], "free directions": []}  # shown in this order

    def part(name, fields, source, make, *of):
        """Return the analysis with the fields of a part, and its doubts, which ``make(*of)`` returns behind them."""
        *values, doubts_of[name] = kept(parts, name, source, lambda: make(*of))
        values = [*values, sum(doubts_of.values(), doubts)]
        known = replace(analysis, **dict(zip((*fields, "doubts"), values, strict=True)))
        if keep:
            keep(known)
        return known

    # What each part depends on, beside the parts before it.
    inputs, fields = (function.params, x, y, outputs, loss, eps, seed), ("costs", "jacobian")
    options = {"number": modules, "resolution": resolution, "points": points}
    make = lambda: network and wired(network, flat, eps, loss=loss, **options)  # noqa: E731
    wires = ("basis, graph and modules", ("wiring",), (inputs, options), make)
    soon = seconds_of.get("count and wire", np.inf) < seconds_of.get("take the curvature", 0)
    if network is not None and wiring and soon:
        analysis = part(*wires)
    analysis = part("curvature", fields, inputs, unit_costs.costs_of, function, x, loss, eps, seed)
    of = function, x, flat, eps if wiring else None, loss, analysis.jacobian
    analysis = part("free directions", ("exact", "freedom"), inputs, _counted, *of)
    if network is not None and wiring and not soon:
        analysis = part(*wires)
    if gradients:
        options = {"gradients": gradients, "seed": seed, "tell": tell}
        of = function, x, y, loss, eps, outputs, options
        analysis = part("sampling", ("sampled",), (inputs, gradients), _sampled, *of)
    return analysis


def gradient_seconds(function: Function, x: np.ndarray, loss: str) -> float:
    """Seconds of a core that a gradient of all data takes, by its operations alone: of the same network always the same."""
    target = behavioural(function.apply, function.params, x, kind=loss, beta=1.0)
    run = jax.jit(jax.grad(lambda params, data: target.losses(params, data).mean()))
    costs: Any = run.lower(target.params, target.data).cost_analysis()
    return CALL + costs["flops"] / OPERATIONS + costs["bytes accessed"] / BYTES


def outlook(tell, function: Function, x: np.ndarray, gradients=0, wiring=True, moments=1) -> dict:
    """Tell time and memory, from a trial of the outputs and what the parts cost, and return the seconds of each part."""
    begun = time.process_time()
    answers, d, network = function.outputs(x).size, function.size, function.network
    each = time.process_time() - begun
    try:
        *_, curvature, size = jacobian_spectrum.best_way(d, answers, unit_costs.EXACT)
        sorting = curvature + 1e-9 * d**3  # the Jacobian again, and decompositions of its columns
    except TooLarge:
        sorting, curvature = 0, 1 + unit_costs.PROBES * min(unit_costs.STEPS, d) * each
        size = 8 * d * unit_costs.STEPS + unit_costs.ROOM
    parts = {"take the curvature": moments * curvature}
    if sorting and not (network and is_perceptron(network)):
        parts["count by source"] = moments * sorting
    if network is not None and wiring:
        wide = widths(network, function.rows(x), folded=False)
        work = len(x) * sum(below**2 * above for below, above in pairwise(wide))
        parts["count and wire"] = moments * (0.005 * sum(wide) + work / 2e9)
        size = max(size, BUDGET)
    if gradients:
        parts["sample at most"] = 5 + gradients * gradient_seconds(function, x, "mse")
    parts["draw"] = 1.5
    shown = lambda seconds: duration(float(f"{seconds:.2g}"))  # noqa: E731
    words = ", ".join(f"{shown(part)} to {name}" for name, part in parts.items())
    whole = shown(sum(parts.values()))
    tell(f"Time: about {whole} on 1 idle core: {words}, by a trial of the outputs.")
    tell(f"Memory: at most {memory(size + peak_memory() + 1e8)}.")
    return parts


def _counted(function, x, rows, eps, loss, spectrum):
    """Free directions that change nothing at all, by source where that can be said; those at eps, or None; and doubts."""
    network = function.network
    exact = jacobian_spectrum.Freedom(parameters=function.size, spectrum=spectrum)
    layered, gram = network and is_perceptron(network), jacobian_spectrum.RESOLUTION["gram"]
    if spectrum is not None and spectrum.resolution < gram and not layered:
        exact = sources(function, x, spectrum)
    if network is None:
        return exact, None, exact.doubts()
    widest = max(widths(network, rows))
    if len(rows) < widest:
        line = f"{len(rows)} examples are fewer than the {widest} activations of the widest layer"
        return exact, None, [f"Counts and bases: {line}, so that the data limit every rank."]
    if not exact.by_source():
        exact = free_directions(network, rows, spectrum=spectrum, loss=loss)
    at_scale = free_directions(network, rows, eps, spectrum, loss=loss) if eps else None
    if at_scale is None or not at_scale.sections:
        return exact, None, exact.doubts()
    return exact, at_scale, exact.doubts() + at_scale.doubts()


def _sampled(function, x, y, loss, eps, outputs, options):
    """Effective parameters by sampling at `SCALES` times eps, in single precision where the scale allows; and doubts."""
    double = eps * min(SCALES) <= SINGLE * float((outputs**2).sum(1).mean())
    precision = "float64" if double else "float32"
    with arithmetic(precision):
        cast = lambda leaf: jax.numpy.asarray(leaf, precision if leaf.dtype.kind == "f" else None)  # noqa: E731
        params, data, targets = jax.tree.map(cast, (function.params, x, y))
        target = behavioural(function.apply, params, data, kind=loss, targets=targets, beta=1.0)
        sampled = sampled_parameters(target, [scale * eps for scale in SCALES], **options)
    if y is not None:  # their own outputs are a minimum
        doubts = []
        for scale, value, lines in zip(sampled.eps, sampled.value, sampled.doubts, strict=True):
            of = function.apply, function.params, x, y, loss
            shift = unit_costs.slope_shift(*of, float(scale)) if np.isfinite(value) else 0.0
            why = f"the weights are no minimum of this loss, whose slope moves the number by {shift:.3g}"
            doubts.append([*lines, why] if abs(shift) > MOVED * max(float(value), 1.0) else lines)
        sampled = replace(sampled, doubts=doubts)
    pairs = zip(sampled.eps, sampled.doubts, strict=True)
    return sampled, [f"Sampling at {at:.3g}: {'; '.join(lines)}." for at, lines in pairs if lines]
