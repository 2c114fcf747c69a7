"""Singular values of the Jacobian of all outputs by all parameters: what directions cost, and the rank with its gap.

J has a row for each output of each of n examples, in float64. The eigenvalues of ``(1/n) J^T J`` are the costs c_i of a unit
step along each direction, of the squared distance of the outputs; for `kl`, as for cross-entropy, those of
``(1/2n) J^T (diag p - p p^T) J``, p the network's own probabilities, by rows ``(p_o / 2)^(1/2) (J_o - sum_k p_k J_k)``.

Parameters less the rank of J are what is free to first order. Rounding leaves no singular value at zero, so a rank is
exact, to double precision, only where nothing lies between `resolution`, which rounding may leave, and `GAP` times that,
both over the largest; else it is an estimate. Two ways:

- `triangle`: by QR of J itself, block after block; values are seen down to 1e-13 of the largest;
- `gram`: by J^T J, or J J^T where that is smaller; a third of the work, but squares lose half of the digits: 1e-7.

Columns that are zero on all data are free, and left out before anything is decomposed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.counts.jacobian_rows import jacobian_rows
from foretrain.degeneracy.network import Network
from foretrain.errors import TooLarge, argument_error, real
from foretrain.words import duration, memory

RESOLUTION = {"triangle": 1e-13, "gram": 1e-7}  # of singular values over the largest
GAP = 100  # times the resolution: from there on a singular value is surely none that rounding left
SECONDS, MEMORY = 60.0, 2**31  # of one core, and bytes, that a spectrum may take


@dataclass(frozen=True)
class Spectrum:
    """Singular values of a Jacobian.

    Args:
        parameters, examples, answers: Numbers of them; answers are rows of J, examples times outputs.
        values: Singular values, descending, (min(parameters, answers),).
        resolution: Of the values over the largest, which rounding may leave of a zero.
        loss: "mse" or "kl".
    """

    parameters: int
    examples: int
    answers: int
    values: np.ndarray
    resolution: float
    loss: str = "mse"

    @property
    def costs(self) -> np.ndarray:
        """c_i of a unit step along each direction, descending, (min(parameters, answers),); all others cost nothing."""
        return self.values**2 / self.examples

    @property
    def rank(self) -> int:
        """Number of values that are not zero; exact where `exact`, else an estimate."""
        least = self.resolution * GAP**0.5 * self.values.max(initial=0)
        return int((self.values > least).sum())

    @property
    def gap(self) -> tuple[float, float]:
        """The last value that counts and the first that does not, over the largest; 0 where there is none."""
        over = self.values / (self.values.max(initial=0) or 1.0)
        kept, dropped = over[: self.rank], over[self.rank :]
        return float(kept.min(initial=1)) if kept.size else 0.0, float(dropped.max(initial=0))

    @property
    def exact(self) -> bool:
        """True if no value lies between the resolution and `GAP` times that: the rank, to double precision."""
        kept, dropped = self.gap
        return dropped <= self.resolution and (kept >= GAP * self.resolution or not self.rank)

    def above(self, eps: float) -> int:
        """Number of directions along which a unit step costs more than `eps`."""
        return int((self.costs > real("eps", eps, minimum=0)).sum())

    def sure(self, eps: float) -> bool:
        """True if rounding moves no cost across `eps`."""
        costs = self.costs
        top = costs.max(initial=0)
        slack = self.resolution**2 * top + 2 * self.resolution * np.sqrt(eps * top)
        return bool((np.abs(costs - eps) > slack).all())

    def __str__(self) -> str:
        kept, dropped = self.gap
        word = "exact" if self.exact else "an estimate"
        return (
            f"rank {self.rank:,} of {self.parameters:,}, {word}: over the largest singular value the last that counts is "
            f"{kept:.1e}, the first that does not {dropped:.1e}, and rounding leaves {self.resolution:.0e}"
        )


@dataclass(frozen=True, kw_only=True)
class Freedom:
    """The amount of a network that is free, and how far that is known.

    Args:
        parameters: All of the network's.
        spectrum: Of its Jacobian on the same data, None where it was not taken.
        scale: Cost of a unit step up to which a direction is free; None for those that change nothing.
        answers: Examples times outputs, which tell no more parameters than they are; None where that is not known.
    """

    parameters: int
    spectrum: Spectrum | None = None
    scale: float | None = None
    answers: int | None = None

    def by_source(self) -> dict[str, int]:
        """Free directions by each source, over all sections; empty where none is known."""
        return {}

    @property
    def counted(self) -> int:
        """By all sources: at most what is free where there is no scale, an estimate where there is one."""
        return sum(self.by_source().values())

    @property
    def exact(self) -> bool:
        """True if `free` is the number, by the Jacobian; False if it is an estimate."""
        if self.spectrum is None:
            return False
        return self.spectrum.exact if self.scale is None else self.spectrum.sure(self.scale)

    @property
    def effective(self) -> int:
        """Parameters that are left: the Jacobian's rank, or its costs above the scale; else those not counted, or answers."""
        if self.spectrum is None:
            left = self.parameters - self.counted
            return left if self.answers is None else min(left, self.answers)
        return self.spectrum.rank if self.scale is None else self.spectrum.above(self.scale)

    @property
    def free(self) -> int:
        """Parameters less those that are left."""
        return self.parameters - self.effective

    @property
    def unattributed(self) -> int | None:
        """Free and counted by no source, None without the Jacobian; below 0 where sources estimate too many.

        They may at a scale; and where effects are near rounding, 1e-13 of the largest, which each source has in its own units.
        """
        return None if self.spectrum is None else self.free - self.counted

    def __str__(self) -> str:
        if self.exact:
            return f"{self.free:,}"
        least = self.spectrum is None and self.scale is None
        return f"{'at least' if least else 'about'} {self.free:,} (estimate)"

    def doubts(self) -> list[str]:
        """Lines on what is an estimate, and on what no source explains; empty where there is nothing to say."""
        where = "Counts" if self.scale is None else "Counts at the scale"
        if self.spectrum is None:
            return [f"{where}: {self} by their sources, no rank of the Jacobian beside them."]
        if not self.exact:
            why = self.spectrum if self.scale is None else "a cost is at it"
            return [f"{where}: {self}, {why}."]
        if not self.unattributed:
            return []
        if self.scale is None and self.unattributed > 0:
            return [f"{where}: of {self} free directions not attributed: {self.unattributed:,}."]
        return [f"{where}: {self} are free; their sources estimate {self.counted:,}."]


def jacobian_spectrum(
    network: Network | Callable[[Any, Any], Any],
    x: Any,
    params: Any = None,
    *,
    loss: str = "mse",
    seconds: float = SECONDS,
) -> Spectrum:
    """The singular values, in the best of both ways that fits.

    >>> print(jacobian_spectrum(lambda w, x: x * w[0] * w[1], np.ones((3, 1)), np.ones(2)).rank)
    1

    Args:
        network: A network; or a pure function of (params, x) in JAX, of as many rows of outputs as x has examples, each of its
            own example alone.
        x: (example, d_0); of a function any tree of arrays with examples first.
        params: Of a function: any tree of arrays of floating point.
        loss: "mse" or "kl", which reads outputs as logits.
        seconds: Of one core, by the estimate of `cost`, at most; memory is `MEMORY` at most.

    Raises:
        TooLarge: Neither way fits; the line says what both would take.

    Cost: `cost`, and two passes of J itself.
    """
    rows = jacobian_rows(network, x, params, loss)
    answers, used = rows.answers, np.ones(rows.parameters, bool)
    least = cost(rows.parameters // 3, answers).values()  # were two thirds of the columns zero
    if any(time <= seconds and needs <= MEMORY for time, needs in least):
        sums = np.sum([np.abs(rows.of(*span)).sum(0) for span in rows.spans()], axis=0)
        if not np.isfinite(sums).all():
            raise argument_error("x", "give derivatives that are finite", "gives some that are not")
        used = sums > 0
    many = int(used.sum())
    way, whole, *_ = best_way(many, answers, seconds)
    parts = (rows.of(*span)[:, used] for span in rows.spans())
    if whole:
        tall = np.concatenate(list(parts))
        parts = iter([tall if many <= answers else tall.T])
    values = np.zeros(min(rows.parameters, answers))
    if many:
        nonzero = _values(parts, way, min(many, answers))
        values[: len(nonzero)] = nonzero
    resolution = max(RESOLUTION[way], RESOLUTION["triangle"] * rows.unit / np.finfo(float).eps)
    return Spectrum(rows.parameters, rows.examples, answers, values, resolution, loss)


def cost(parameters: int, answers: int) -> dict[str, tuple[float, float]]:
    """Seconds of one core and bytes that each way takes at least, of a J of so many columns and rows."""
    small, large = sorted((parameters, answers))
    squares = 8.0 * small**2
    whole = 8.0 * small * large
    streamed = parameters <= answers
    return {
        "triangle": (
            2 * large * small**2 / 1.5e10 + small**3 / 1.5e9,
            min(3 * whole, 8 * squares) if streamed else 3 * whole,
        ),
        "gram": (
            large * small**2 / 2e10 + small**3 / 5e9,
            3 * squares + (0 if streamed else whole),
        ),
    }


def best_way(
    parameters: int, answers: int, seconds: float = SECONDS
) -> tuple[str, bool, float, float]:
    """The way, True if J is held whole, and the seconds and bytes that it takes; `TooLarge` where neither fits."""
    lines = []
    for way, (time, least) in cost(parameters, answers).items():
        if time <= seconds and least <= MEMORY:
            entries = 24.0 * parameters * answers
            whole = entries <= MEMORY or parameters > answers
            return way, whole, time, max(entries, least) if whole else least
        lines.append(f"by its {way} {duration(time)} of a core and {memory(least)}")
    raise TooLarge(
        f"The Jacobian of {answers:,} answers by {parameters:,} parameters takes {', '.join(lines)}: more than "
        f"{duration(seconds)} or {memory(MEMORY)}. Try fewer examples, or a larger `seconds`."
    )


def _values(parts, way, small):
    """Singular values of the matrix that these rows make up, `small` wide, descending."""
    if way == "gram":
        squares = sum((part.T @ part for part in parts), np.zeros((small, small)))
        return np.sqrt(np.maximum(np.linalg.eigvalsh(squares)[::-1], 0))
    kept, waiting, many = np.zeros((0, small)), [], 0
    for part in parts:
        waiting.append(part)
        many += len(part)
        if many >= 2 * small:
            kept, waiting, many = np.linalg.qr(np.concatenate([kept, *waiting]), mode="r"), [], 0
    return np.linalg.svd(np.linalg.qr(np.concatenate([kept, *waiting]), mode="r"), compute_uv=False)
