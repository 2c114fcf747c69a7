"""The coordinate check: powers of the width with which a network's layers move, beside those that its parametrisation has."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.errors import ForetrainError, argument_error, integer, one_of
from foretrain.explain.best_rate import best_rates, rates_argument, slope_error
from foretrain.explain.layer_outputs import layer_outputs
from foretrain.explain.own_network import batches, described, starts, whole_number
from foretrain.explain.parametrisations import EXPONENTS
from foretrain.explain.simulated import plain_run

NEAR = 0.25  # exponents of parametrisations are halves: a slope nearer than this is nearest to the declared one
OUTPUT, RATE = "the network's output", "the best rate"


@dataclass(frozen=True)
class Slope:
    """A power of the width.

    Attributes:
        name: Names of the layer's weights, `OUTPUT` or `RATE`.
        exponent: That of the declared parametrisation.
        slope: Slope of the logarithm of the size over that of the width, its 95% interval over starts; that of the best rate
            wider by what the grid of rates rounds.
        sizes: Median over starts of the size at every width: for a layer, the RMS of its change over its RMS at the start; of
            the output, the RMS of its change; or the best rate itself.
        verdict: ``agrees``, ``grows`` (faster than declared), ``shrinks`` (likewise) or ``inconclusive``.
    """

    name: str
    exponent: float
    slope: Interval
    sizes: tuple[float, ...]
    verdict: str


@dataclass(frozen=True)
class CoordinateCheck:
    """Slopes of layers and of the output, after so many steps from so many starts."""

    parametrisation: str
    widths: tuple[int, ...]
    starts: int
    steps: int
    slopes: tuple[Slope, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return asdict(self)


def coordinate_check(
    apply: Callable,
    init: Callable[[Any, int], Any],
    x,
    y,
    *,
    widths: Sequence[int | str],
    parametrisation: str,
    rates: Sequence[float | str] | None = None,
    seeds: int | str = 16,
    tell: Callable[[str], object] | None = None,
    **described_by: Any,
) -> CoordinateCheck:
    """Compare with a declared parametrisation by which power of the width layers and output change.

    With several rates also by which power of the width the best of them goes.

    Args:
        apply: ``apply(weights, x)``, which reads the width off the weights.
        init: ``init(key, width)``.
        x, y: As of `foretrain.explain.explain.explain`.
        widths: At least three, growing.
        parametrisation: ``standard``, ``ntk`` or ``mup``.
        rates: At least five, growing; see `foretrain.explain.best_rate.best_rates`.
        seeds: Number of starts, at least two.
        tell: Called with a line after every width.
        **described_by: As of `foretrain.explain.own_network.described`.

    Raises:
        ArgumentError: An argument breaks its rule.
        ForetrainError: A function raises, a network diverges, a layer's size is zero at the start, or the best rate is at an
            end of `rates`.

    Cost: a gradient for every width, start and step; with `rates` for every rate, too.
    """
    import jax

    declared = EXPONENTS[one_of("parametrisation", parametrisation, tuple(EXPONENTS))]
    ordered = tuple(integer("widths", whole_number(one), minimum=1) for one in widths)
    if len(ordered) < 3 or list(ordered) != sorted(set(ordered)):
        raise argument_error("widths", "be at least three growing numbers", f"is {[*ordered]}")
    many = integer("seeds", whole_number(seeds), minimum=2, maximum=1000)
    if str(described_by.get("optimizer", "")).startswith("adam") and parametrisation != "mup":
        rule, got = "be mup for Adam", f"is {parametrisation}"
        raise argument_error("parametrisation", rule, got, "Or use the optimizer `sgd`.")
    grid = None if rates is None else rates_argument(rates)
    measured, best = [], []
    steps = 0
    with jax.enable_x64(True):
        for width in ordered:
            training = described(apply, lambda key, n=width: init(key, n), x, y, **described_by)
            steps = 1 if parametrisation == "standard" else training.steps
            measured.append(_measured(training, many, steps, width))
            if grid is not None:
                best.append(best_rates(training, many, grid, width))
            if tell is not None:
                tell(f"Width {width}: {len(measured)} of {len(ordered)}")
    kinds = _kinds([one[0] for one in measured])
    sizes = {name: np.stack([one[1][name] for one in measured]) for name in (*kinds, OUTPUT)}
    kinds |= {OUTPUT: "output"}
    slopes = [_slope(name, declared[kind], ordered, sizes[name]) for name, kind in kinds.items()]
    if grid is not None:
        rounded = slope_error(grid, ordered)
        slopes.append(_slope(RATE, declared["rate"], ordered, np.stack(best), rounded))
    return CoordinateCheck(parametrisation, ordered, many, steps, tuple(slopes))


def _measured(training, many, steps, width):
    """Fans of every layer, and the RMS of every change, shape (start,)."""
    import jax

    drawn, rows = starts(training, many), batches(training, many)
    fans = {}

    def run(start, rows):
        end, _ = plain_run(training, start, rows[:steps], training.learning_rates[:steps])
        here, there = (layer_outputs(training.apply, w, training.x) for w in (start, end))
        fans.update({name: one[1:] for name, one in here.items()})
        change = {
            name: _rms(there[name].outputs - one.outputs) / _rms(one.outputs)
            for name, one in here.items()
        }
        outputs = training.apply(end, training.x) - training.apply(start, training.x)
        return change | {OUTPUT: _rms(outputs)}

    sizes = jax.tree.map(np.asarray, jax.jit(jax.vmap(run))(drawn, rows))
    if not np.isfinite(sizes[OUTPUT]).all():
        raise ForetrainError(
            f"The network of width {width} diverges: try a smaller `learning_rate`."
        )
    return fans, sizes


def _rms(values):
    return ((values**2).mean()) ** 0.5


def _kinds(fans):
    """Kind of every layer, by which of its fans grow with the width; the readout is left to the network's output."""
    kinds = {}
    for name, narrow in fans[0].items():
        grows = [wide > small for small, wide in zip(narrow, fans[-1][name], strict=True)]
        if grows[1]:
            kinds[name] = "hidden" if grows[0] else "first"
    if not kinds:
        raise ForetrainError("No layer grows with the width: Function `init` must use `width`.")
    return kinds


def _slope(name, exponent, widths, sizes, rounded=0.0):
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ForetrainError(
            f"The size of {name} has no logarithm: it is zero at the start, or does not move."
        )
    slopes = np.polyfit(np.log(widths), np.log(sizes), 1)[0]
    found = interval(slopes)
    found = replace(found, low=found.low - rounded, high=found.high + rounded)
    low, high = found.low - exponent, found.high - exponent
    if -NEAR < low and high < NEAR:
        verdict = "agrees"
    elif low > NEAR or high < -NEAR:
        verdict = "grows" if low > NEAR else "shrinks"
    else:
        verdict = "inconclusive"
    return Slope(name, exponent, found, tuple(map(float, np.median(sizes, axis=1))), verdict)
