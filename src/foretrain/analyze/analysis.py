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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.degeneracy.counts.free_directions import FreeDirections, free_directions
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom, Spectrum
from foretrain.degeneracy.counts.transformer_freedom import TransformerFreedom, transformer_freedom
from foretrain.degeneracy.counts.unit_costs import UnitCosts, costs_of, slope_shift
from foretrain.degeneracy.folded import widths
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.interactions.interaction_graph import path_points
from foretrain.degeneracy.interactions.wiring import Wiring, wired
from foretrain.degeneracy.network import LOSSES, Network
from foretrain.degeneracy.noise_scale import (
    SCALES,
    asked_loss,
    checked_outputs,
    default_scale,
    doubts_of_scale,
    spread,
)
from foretrain.degeneracy.sampled.effective_parameters import SampledParameters, sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural, posterior
from foretrain.degeneracy.transformer import is_transformer
from foretrain.errors import argument_error, integer, one_of, real
from foretrain.report.answer import Finding

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
        costs: Of unit steps, and what they make of any scale.
        jacobian: Its singular values, with the rank; None where it is too large.
        sampled: Effective parameters by sampling at `SCALES` times eps; None where nothing was sampled.
        freedom, exact: Free directions by source at eps, and that change nothing at all; None where they were not counted.
        transformer: The same of a transformer, by its own sources; None for any other network.
        wiring: Basis, graph and modules; None of a pure function.
        seconds: What each part took.
        memory: The most memory of this process until then, in megabytes.
        doubts: Lines on what is not to be trusted, and why; empty where nothing is.
        label: Name of the network.
    """

    parameters: int
    examples: int
    answers: int
    widths: tuple[int, ...] | None
    loss: str
    eps: float
    source: str
    costs: UnitCosts
    jacobian: Spectrum | None
    sampled: SampledParameters | None
    freedom: FreeDirections | None
    exact: FreeDirections | None
    transformer: TransformerFreedom | None
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

        scales, sampled = self.scales, self.sampled
        data, coords = {}, {"noise_scale": scales}
        for name, (values, errors) in (
            ("by_curvature", self.costs.effective(scales)),
            ("costs_above", self.costs.above(scales)),
        ):
            data |= {name: ("noise_scale", values), f"{name}_error": ("noise_scale", errors)}
        if sampled is not None:
            coords["sampled_scale"] = np.asarray(sampled.eps)
            columns = {"by_sampling": sampled.value, "by_sampling_error": sampled.error}
            columns |= {"trusted": sampled.trusted}
            data |= {name: ("sampled_scale", values) for name, values in columns.items()}
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
        modules: How many, None for the number that surprises most.
        resolution: Of their modularity, None for that which follows from the graph; see `modularity`.
        points: Of the integral of an edge.
        seconds: Time for sampling; 0 samples nothing.
        seed: Of probes and chains.
        tell: Gets a line that says what time and memory a part will take before it begins.

    Raises:
        ArgumentError: An argument is out of range or fits no other; the data do not tell outputs apart.

    Cost: sampling takes its `seconds` or less, curvature some 20 s at 3,000 parameters and more; see the parts.
    """
    if loss is not None:
        one_of("loss", loss, LOSSES)
    seconds = real("seconds", seconds, minimum=0)
    path_points(points)
    if modules is not None:
        integer("modules", modules, minimum=1)
    function = as_function(model) if isinstance(model, Network) else model
    x, network = function.data(x), function.network
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = checked_outputs(function.check(x))
    y, loss = asked_loss(y, outputs, loss)
    flat = function.rows(x)  # as sections read it
    wide = None if network is None else layer_widths(network, flat, outputs.shape[1], loss)
    spread(outputs, loss)
    if noise_scale is None:
        noise_scale, source = default_scale(outputs, y, loss)
    eps = real("noise_scale", noise_scale, above=0)
    doubts, taken = doubts_of_scale(eps, outputs, loss), {}
    doubts += function.notes

    def timed(name, function, *arguments, **options):
        start = time.perf_counter()
        result = function(*arguments, **options)
        taken[name] = time.perf_counter() - start
        return result

    least = min(SCALES) * eps
    costs, jacobian, more = timed("curvature", costs_of, function, x, loss, least, seed, tell)
    doubts += more
    if not costs.converged(eps):
        value, error = costs.effective(eps)
        doubts.append(
            f"Curvature: {value:,.0f} effective parameters are known to {error:,.0f} only."
        )
    widest = 0 if network is None else max(widths(network, flat))
    if len(x) < widest:
        doubts.append(
            f"Counts and bases: {len(x)} examples are fewer than the {widest} activations of the widest layer, so that the "
            "data limit every rank."
        )
    exact = freedom = heads = wiring = sampled = None
    if network is not None and len(x) >= widest:
        exact, freedom, heads, more = _counted(function, flat, eps, loss, jacobian, timed)
        doubts += more
    if network is None:
        doubts += Freedom(parameters=function.size, spectrum=jacobian).doubts()
    if seconds:
        options = {"seconds": seconds, "most": outputs.size, "seed": seed}
        options["tell"] = tell or (lambda line: None)
        sampled = timed("sampling", _sampled, function, x, y, loss, eps, outputs, options)
        for scale, lines in zip(sampled.eps, sampled.doubts, strict=True):
            doubts += [f"Sampling at {scale:.3g}: {'; '.join(lines)}."] if lines else []
    if network is not None:
        options = {"loss": loss, "number": modules, "resolution": resolution, "points": points}
        options |= {"few": len(x) < widest, "timed": timed, "tell": tell}
        wiring, more = wired(network, flat, eps, **options)
        doubts += more
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
        freedom=freedom,
        exact=exact,
        transformer=heads,
        wiring=wiring,
        seconds=taken,
        memory=_peak(),
        doubts=doubts,
    )


def layer_widths(network: Network, x: np.ndarray, outputs: int, loss: str) -> tuple[int, ...]:
    """Activations of each layer, input first, of a network on rows that it reads.

    Raises:
        ArgumentError: The loss is "kl", and the last layer is not the `outputs` logits of one position.
    """
    wide = tuple(widths(network, x, folded=False))
    if loss == "kl" and wide[-1] != outputs:
        repair = "Give a function of the last position's logits alone."
        raise argument_error("loss", "be `mse` for outputs of several positions", "is `kl`", repair)
    return wide


def exact_counts(
    function: Function, x: np.ndarray, loss: str, spectrum: Spectrum | None
) -> Freedom:
    """Free directions that change nothing at all: by source where layers are known, else by the rank alone.

    Args:
        x: Rows as the layers read them, see `Function.rows`.
        loss, spectrum: That of the singular values of the Jacobian on the same data; without them nothing is exact.

    Cost: of `free_directions` or `transformer_freedom`; nothing where there are no layers, or fewer examples than activations.
    """
    network = function.network
    if network is not None and len(x) >= max(widths(network, x)):
        if is_transformer(network):
            return transformer_freedom(network, x, spectrum)
        freedom = free_directions(network, x, spectrum=spectrum, loss=loss)
        if freedom.sections:
            return freedom
    return Freedom(parameters=function.size, spectrum=spectrum)


def _counted(function, x, eps, loss, spectrum, timed):
    """Exact counts, those at the scale, those of a transformer, and doubts; None what was not counted."""
    exact = timed("free directions", exact_counts, function, x, loss, spectrum)
    if isinstance(exact, TransformerFreedom):
        doubts = ["Counts: of a transformer those that change nothing at all, none at the scale."]
        return None, None, exact, doubts + exact.doubts()
    if not isinstance(exact, FreeDirections):
        doubt = "Counts by source: no section names a weight with nothing but a bias beside it."
        return None, None, None, [doubt]
    options = {"scale": eps, "spectrum": spectrum, "loss": loss}
    part = "free directions at the scale"
    freedom = timed(part, free_directions, function.network, x, **options)
    return exact, freedom, None, [*exact.doubts(), *freedom.doubts()]


def _peak():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _sampled(function, x, y, loss, eps, outputs, options):
    """Effective parameters by sampling at `SCALES` times eps, in single precision where the scale allows."""
    import jax

    double = eps * min(SCALES) <= SINGLE * float((outputs**2).sum(1).mean())
    precision = "float64" if double else "float32"
    with arithmetic(precision):
        params = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, precision), function.params)
        x = jax.numpy.asarray(x, precision if x.dtype.kind == "f" else None)
        if y is None:
            target = behavioural(function.apply, params, x, kind=loss, beta=1.0)
        else:
            y = y if loss == "kl" else y.astype(precision)
            losses = _training(function.apply, loss)
            target = posterior(losses, params, {"x": x, "y": y}, beta=1.0)
        sampled = sampled_parameters(target, [scale * eps for scale in SCALES], **options)
    if y is None:  # their own outputs are a minimum
        return sampled
    with jax.enable_x64(True):
        slope = _slope(target, function.params)
    doubts = []
    for scale, value, lines in zip(sampled.eps, sampled.value, sampled.doubts, strict=True):
        shift = slope_shift(function.apply, function.params, x, slope, loss, float(scale))
        why = (
            f"the weights are no minimum of this loss, whose slope moves the number by {shift:.3g}"
        )
        doubts.append([*lines, why] if abs(shift) > MOVED * max(float(value), 1.0) else lines)
    return replace(sampled, doubts=doubts)


def _slope(target, params):
    """Gradient of the mean loss at these parameters, (d,), float64."""
    import jax
    from jax.flatten_util import ravel_pytree

    def double(leaf):
        return leaf.astype("float64") if jax.numpy.issubdtype(leaf.dtype, "float") else leaf

    params, data = jax.tree.map(double, (params, target.data))
    mean = lambda params: target.losses(params, data).mean()  # noqa: E731
    return np.asarray(ravel_pytree(jax.jit(jax.grad(mean))(params))[0])


@lru_cache(maxsize=64)
def _training(apply, loss):
    """The loss of every example with labels, one function object for one network."""
    import jax
    import jax.numpy as jnp

    def squared(params, data):
        return ((apply(params, data["x"]) - data["y"]) ** 2).sum(-1)

    def cross_entropy(params, data):
        logs = jax.nn.log_softmax(apply(params, data["x"]))
        return -jnp.take_along_axis(logs, data["y"][:, None], 1)[:, 0]

    return squared if loss == "mse" else cross_entropy
