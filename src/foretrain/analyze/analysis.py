"""All measures of one network at one noise scale: how much of it is free, where, and what is left.

The noise scale eps is the loss below which a difference does not count. Three witnesses say how many parameters are not free
at it, in the same units: curvature, sum c/(c + eps) over the costs c of unit steps; counting, the number of costs above eps;
and sampling, 2 beta E[L - L*] at beta = 1/(2 eps) with a Gaussian prior of unit width around the weights. On a quadratic the
first and the last are equal. The parts are in their own files; here they share a network, data and a scale, and each says
how far it is to be trusted.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.degeneracy import noise_scale as scaling
from foretrain.degeneracy.counts import jacobian_spectrum, unit_costs
from foretrain.degeneracy.counts.free_directions import FreeDirections, free_directions
from foretrain.degeneracy.counts.transformer_freedom import transformer_freedom
from foretrain.degeneracy.folded import BUDGET, widths
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.interaction_graph import path_points
from foretrain.degeneracy.interactions.wiring import Wiring, wired
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.noise_scale import SCALES
from foretrain.degeneracy.sampled.effective_parameters import SampledParameters, sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural
from foretrain.degeneracy.transformer import is_transformer
from foretrain.errors import TooLarge, argument_error, integer, real
from foretrain.report.answer import Finding
from foretrain.words import duration, memory

# Of the outputs' mean square: a scale from which on single precision resolves the loss.
SINGLE = 1e-8
MOVED = 0.02  # share of N that a slope at the weights may move
REACH = 100.0  # of the noise scale, to either side, that the curve of curvature is drawn


@dataclass(frozen=True, repr=False)
class Analysis(Finding):
    """Results of `analyze`.

    Args:
        parameters, examples, answers: Numbers of them; answers are examples times outputs.
        widths: Activations of each layer, input first; None of a pure function.
        loss: "mse" or "kl"; with labels the squared error and the cross-entropy.
        eps, source: Noise scale, and where it comes from, in words.
        costs, jacobian: Of unit steps; and its singular values, None where it is too large.
        sampled: Effective parameters by sampling at `SCALES` times eps; None where nothing was sampled.
        exact: Free directions that change nothing at all, by source; None where they were not counted.
        freedom: The same at eps; None of a transformer, too.
        wiring: Basis, graph and modules; None of a pure function.
        seconds, memory: What each part took; and the most megabytes of this process until then.
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
    costs: unit_costs.UnitCosts
    jacobian: jacobian_spectrum.Spectrum | None
    sampled: SampledParameters | None
    exact: jacobian_spectrum.Freedom | None
    freedom: FreeDirections | None
    wiring: Wiring | None
    seconds: dict[str, float]
    memory: float
    doubts: list[str] = field(default_factory=list)
    label: str = "the network"

    @property
    def scales(self) -> np.ndarray:
        """Noise scales at which effective parameters are drawn, (41,): eps in the middle, two decades to either side."""
        return self.eps * np.geomspace(1 / REACH, REACH, 41)

    def dataset(self):
        """Return witnesses and costs as an xarray Dataset with dims `noise_scale`, `sampled_scale` and `direction`."""
        import xarray as xr

        data, coords, sampled = {}, {"noise_scale": self.scales}, self.sampled
        for name, of in (("by_curvature", self.costs.effective), ("costs_above", self.costs.above)):
            for column, values in zip((name, f"{name}_error"), of(self.scales), strict=True):
                data[column] = "noise_scale", values
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
    seconds: float = 60.0,
    seed: int = 0,
    tell: Callable[[str], object] | None = None,
) -> Analysis:
    """Analyse a network on data.

    Args:
        model: Sections, of which all is analysed; or a pure function, of which curvature and sampling need no more.
        x: Inputs, (example, ...).
        noise_scale: Eps of the loss; None takes it from the data, see `foretrain.degeneracy.noise_scale.default_scale`.
        y: Labels, (example,) whole numbers or (example, output) targets: the loss is that of training. None takes the
            network's own outputs: the loss is how far others are from them.
        source: Where a noise scale that is given comes from, in words.
        loss: "mse" or "kl"; by default "kl" with whole numbers as labels, else "mse".
        modules, resolution: How many, and of what resolution; None for those that follow from the graph, see `modularity`.
        points: Of the integral of an edge.
        seconds: Time for sampling; 0 samples nothing.
        seed: Of probes and chains.
        tell: Gets lines on time and memory, of all of it and of each part, before it begins.

    Raises:
        ArgumentError: An argument is out of range or fits no other; the data do not tell outputs apart.

    Cost: sampling takes its `seconds` or less, curvature some 20 s at 3,000 parameters and more; see the parts.
    """
    seconds = real("seconds", seconds, minimum=0)
    path_points(points)
    if modules is not None:
        integer("modules", modules, minimum=1)
    function = as_function(model) if isinstance(model, Network) else model
    x, network = function.data(x), function.network
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = scaling.checked_outputs(function.check(x))
    y, loss = scaling.asked_loss(y, outputs, loss)
    flat = function.rows(x)  # as sections read it
    wide = layer_widths(function, flat, outputs.shape[1], loss)
    eps, source, doubts = scaling.chosen_scale(noise_scale, source, outputs, y, loss)
    doubts += function.notes
    if tell:
        for line in outlook(function, x, wide, seconds):
            tell(line)
    begun, taken = time.perf_counter(), {}

    def ended(part):
        taken[part] = time.perf_counter() - begun - sum(taken.values())

    options = {"seed": seed, "tell": tell}
    costs, jacobian, more = unit_costs.costs_of(function, x, loss, min(SCALES) * eps, **options)
    doubts += more
    ended("curvature")
    if not costs.converged(eps):
        value, error = costs.effective(eps)
        known = f"{value:,.0f} effective parameters are known to {error:,.0f} only"
        doubts.append(f"Curvature: {known}.")
    widest = 0 if network is None else max(widths(network, flat))
    few = len(x) < widest
    if few:
        doubts.append(
            f"Counts and bases: {len(x)} examples are fewer than the {widest} activations of the widest layer, so that the "
            "data limit every rank."
        )
    exact = freedom = wiring = sampled = None
    counted = exact_counts(function, flat, loss, jacobian)
    if network is None:
        doubts += counted.doubts()
    elif counted.by_source():
        exact = counted
        if isinstance(exact, FreeDirections):
            freedom = free_directions(network, flat, eps, jacobian, loss=loss)
            doubts += exact.doubts() + freedom.doubts()
        else:
            none = "Counts: of a transformer those that change nothing at all, none at the scale."
            doubts += [none, *exact.doubts()]
        ended("free directions")
    elif not few:
        why = "no section names a weight with nothing but a bias beside it"
        doubts.append(f"Counts by source: {why}.")
    if seconds:
        options |= {"seconds": seconds, "most": outputs.size}
        sampled = _sampled(function, x, y, loss, eps, outputs, options)
        for scale, lines in zip(sampled.eps, sampled.doubts, strict=True):
            doubts += [f"Sampling at {scale:.3g}: {'; '.join(lines)}."] if lines else []
        ended("sampling")
    if network is not None:
        options = {"number": modules, "resolution": resolution, "points": points, "tell": tell}
        wiring, more = wired(network, flat, eps, loss=loss, few=few, **options)
        doubts += more
        ended("basis, graph and modules")
    return Analysis(
        parameters=function.size,
        examples=len(x),
        answers=outputs.size,
        widths=wide,
        loss=loss,
        eps=eps,
        source=source,
        costs=costs,
        jacobian=jacobian,
        sampled=sampled,
        exact=exact,
        freedom=freedom,
        wiring=wiring,
        seconds=taken,
        memory=_peak() / 2**20,
        doubts=doubts,
    )


def outlook(
    function: Function, x: np.ndarray, wide: Sequence[int] | None, seconds: float, moments: int = 1
) -> Iterator[str]:
    """Lines on time and memory, from a trial of the outputs and from what the parts cost; sampling takes its time at most."""
    begun = time.process_time()
    answers, d = function.outputs(x).size, function.size
    each = time.process_time() - begun
    try:
        *_, curvature, size = jacobian_spectrum.best_way(d, answers, unit_costs.EXACT)
    except TooLarge:
        curvature = 1 + unit_costs.PROBES * min(unit_costs.STEPS, d) * each
        size = 8 * d * unit_costs.STEPS + unit_costs.ROOM
    parts = {"take the curvature": moments * curvature}
    if wide is not None:
        work = len(x) * sum(below**2 * above for below, above in pairwise(wide))
        parts["count and wire"] = moments * (0.005 * sum(wide) + work / 2e9)
        size = max(size, BUDGET)
    if seconds:
        parts["sample at most"] = 5 + seconds
    parts["draw"] = 1.5
    whole, *each = (
        duration(float(f"{part:.2g}")) for part in (sum(parts.values()), *parts.values())
    )
    words = ", ".join(f"{part} to {name}" for name, part in zip(parts, each, strict=True))
    yield f"Time: about {whole} on 1 idle core: {words}, by a trial of the outputs."
    yield f"Memory: at most {memory(size + _peak() + 1e8)}."


def _peak():
    """Bytes of memory that this process took at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def layer_widths(
    function: Function, x: np.ndarray, outputs: int, loss: str
) -> tuple[int, ...] | None:
    """Activations of each layer, input first, on rows that it reads; None without layers.

    Raises:
        ArgumentError: The loss is "kl", and the last layer is not the `outputs` logits of one position.
    """
    if function.network is None:
        return None
    wide = tuple(widths(function.network, x, folded=False))
    if loss == "kl" and wide[-1] != outputs:
        repair = "Give a function of the last position's logits alone."
        raise argument_error("loss", "be `mse` for outputs of several positions", "is `kl`", repair)
    return wide


def exact_counts(
    function: Function, x: np.ndarray, loss: str, spectrum: jacobian_spectrum.Spectrum | None
) -> jacobian_spectrum.Freedom:
    """Free directions that change nothing at all: by source where layers are known, and no fewer examples than activations.

    Rows x are those of `Function.rows`; without the spectrum of the Jacobian, which is of the loss, nothing is exact.
    """
    network = function.network
    if network is not None and len(x) >= max(widths(network, x)):
        if is_transformer(network):
            return transformer_freedom(network, x, spectrum)
        freedom = free_directions(network, x, spectrum=spectrum, loss=loss)
        if freedom.sections:
            return freedom
    return jacobian_spectrum.Freedom(parameters=function.size, spectrum=spectrum)


def _sampled(function, x, y, loss, eps, outputs, options):
    """Effective parameters by sampling at `SCALES` times eps, in single precision where the scale allows."""
    import jax

    double = eps * min(SCALES) <= SINGLE * float((outputs**2).sum(1).mean())
    precision = "float64" if double else "float32"
    with arithmetic(precision):
        cast = lambda leaf: jax.numpy.asarray(leaf, precision if leaf.dtype.kind == "f" else None)  # noqa: E731
        params, data, targets = jax.tree.map(cast, (function.params, x, y))
        target = behavioural(function.apply, params, data, kind=loss, targets=targets, beta=1.0)
        sampled = sampled_parameters(target, [scale * eps for scale in SCALES], **options)
    if y is None:  # their own outputs are a minimum
        return sampled
    doubts = []
    for scale, value, lines in zip(sampled.eps, sampled.value, sampled.doubts, strict=True):
        shift = unit_costs.slope_shift(function.apply, function.params, x, y, loss, float(scale))
        why = (
            f"the weights are no minimum of this loss, whose slope moves the number by {shift:.3g}"
        )
        doubts.append([*lines, why] if abs(shift) > MOVED * max(float(value), 1.0) else lines)
    return replace(sampled, doubts=doubts)
