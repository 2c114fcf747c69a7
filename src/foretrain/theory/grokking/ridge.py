"""Ridge regression along descent, in closed form: the times of fitting, and the start that only weight decay forgets.

Descent of |X w - y|²/(2n) + lambda |w|²/2 multiplies every component of w - w_ridge in the eigenbasis of X'X/n by a factor
of its own, 1 - eta (s + lambda). Where the data say nothing, s = 0, a start is forgotten at the rate lambda. See
``docs/theory/ridge-grokking.md``.
"""

from dataclasses import dataclass

import numpy as np

_BLOCK = 256  # steps looked at together: what fits the cache


@dataclass(frozen=True)
class Descent:
    """Descent of ridge regression, by components in the eigenbasis of the data.

    Attributes:
        curvature: Eigenvalues s of X'X/n, shape (d,).
        null: Where the data say nothing, s = 0; shape (d,), bool.
        start, limit, teacher, fitted: Weights at the start, in the end (with decay), of the teacher, and of least squares;
            shape (d,). In the null space limit and fitted are 0.
        factor: 1 - eta (s + lambda), by which a step multiplies w - limit; shape (d,).
        unfitted: Squared error that no weights remove, per sample.
    """

    curvature: np.ndarray
    null: np.ndarray
    start: np.ndarray
    limit: np.ndarray
    teacher: np.ndarray
    fitted: np.ndarray
    factor: np.ndarray
    unfitted: float

    def errors(self, step) -> tuple[np.ndarray, np.ndarray]:
        """Training error |X w - y|²/n and validation error |w - w*|² after so many steps, both of the shape of `step`."""
        step = np.asarray(step)[..., None]
        there = step * np.log(np.maximum(abs(self.factor), 1e-300)) > -750  # else 0, found slowly
        return self._errors(np.power(self.factor, step, where=there, out=np.zeros(there.shape)))

    def _errors(self, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both errors where `left`, shape (..., d), is left of every component of w_0 - limit."""
        weights = self.limit + left * (self.start - self.limit)
        training = (weights - self.fitted) ** 2 @ self.curvature + self.unfitted
        return training, ((weights - self.teacher) ** 2).sum(-1)

    def first_steps(self, thresholds: tuple[float, float], most: int) -> np.ndarray:
        """First step at which each error is at most its threshold, shape (2,); inf if that takes more than `most`."""
        first = np.full(2, np.inf)
        left = self.factor ** np.arange(min(_BLOCK, most + 1))[:, None]
        for begin in range(0, most + 1, _BLOCK):
            block = self._errors(left[: most + 1 - begin] * self.factor**begin)
            for which, (error, threshold) in enumerate(zip(block, thresholds, strict=True)):
                if np.isinf(first[which]) and (error <= threshold).any():
                    first[which] = begin + (error <= threshold).argmax()
            if np.isfinite(first).all():
                break
        return first

    def forgetting(self, threshold: float) -> float:
        """Steps until the error of the null space alone, |u w_0 - w*|² there with u = (1 - eta lambda)^k, is `threshold`.

        A real number; 0 if it is no more than that at the start, inf if it never is, nan where a step of decay overshoots.
        """
        start, teacher = self.start[self.null], self.teacher[self.null]
        length, overlap = start @ start, start @ teacher
        above = teacher @ teacher - threshold
        if length - 2 * overlap + above <= 0:
            return 0.0
        root = overlap**2 - length * above
        left = (overlap + np.sqrt(root)) / length if root >= 0 and length > 0 else np.inf
        pace = self.factor[self.null][0] if self.null.any() else 1.0
        if pace <= 0:
            return np.nan
        return float(np.log(left) / np.log(pace)) if 0 < left < 1 and pace < 1 else np.inf

    def generalisation(self, threshold: float) -> tuple[float, float, float]:
        """The delay law for the step at which the validation error is `threshold`, between bounds that are rigorous.

        The lower bound, in which the span of the data is free of error; the law, in which it has its final error; the upper
        bound, in which it has what is left of the start at the lower bound. The first whole step lies between the bounds or
        is the next one after the upper; they need |`factor`| <= 1. inf where the error never gets there.
        """
        covered = ~self.null
        bias = ((self.limit - self.teacher)[covered] ** 2).sum()
        low = self.forgetting(threshold)
        if np.isinf(low):
            return low, low, low
        if np.abs(self.factor).max() > 1:  # descent diverges
            return np.nan, np.nan, np.nan
        left = np.abs((self.start - self.limit)[covered]) * np.abs(self.factor[covered]) ** low
        rest = (left**2 + 2 * left * np.abs((self.limit - self.teacher)[covered])).sum()
        return low, self.forgetting(threshold - bias), self.forgetting(threshold - bias - rest)


def descent(
    start: np.ndarray,
    learning_rate: float,
    data: np.ndarray,
    targets: np.ndarray,
    teacher: np.ndarray,
    weight_decay: float,
) -> Descent:
    """Descent of |X w - y|²/(2n) + decay |w|²/2 from `start` (d,), X (n, d) being the data.

    Validation inputs are isotropic, so that the error is |w - w*|², w* (d,) being the teacher.
    """
    n, d = data.shape
    left, singular, right = np.linalg.svd(data, full_matrices=True)
    rank = int((singular > singular[0] * max(n, d) * np.finfo(float).eps).sum())
    null = np.arange(d) >= rank
    curvature, projected, fitted = np.zeros(d), left.T @ targets, np.zeros(d)
    curvature[:rank] = singular[:rank] ** 2 / n
    fitted[:rank] = projected[:rank] / singular[:rank]
    shrinkage = np.where(null, 0, curvature / np.where(null, 1, curvature + weight_decay))
    return Descent(
        curvature=curvature,
        null=null,
        start=right @ start,
        limit=shrinkage * fitted,
        teacher=right @ teacher,
        fitted=fitted,
        factor=1 - learning_rate * (curvature + weight_decay),
        unfitted=float((projected[rank:] ** 2).sum() / n),
    )


def typical_generalisation(
    fraction: float, init_scale: float, threshold: float, weight_decay: float
) -> float:
    """Time at which the typical run generalises, ln(g sigma²/(threshold - g))/(2 lambda) with g = 1 - n/d.

    For a teacher of length 1 and a start of length sigma, both in random directions, and a decay far below the curvature of
    the data: the null space then holds a fraction g of both, and nothing else is wrong.

    n/d < 1 is `fraction`, `threshold` that of |w - w*|². In step × learning rate; inf where `threshold` <= g, or without
    decay, and 0 where the start is no worse than that.
    """
    hidden = 1 - fraction
    if hidden * (1 + init_scale**2) <= threshold:
        return 0.0
    if threshold <= hidden or weight_decay == 0:
        return np.inf
    return float(np.log(hidden * init_scale**2 / (threshold - hidden)) / (2 * weight_decay))


def room(bounds: np.ndarray, steps: int) -> float | np.ndarray:
    """Largest distance of the whole step of generalisation from the law, relative to the law.

    Lower bound, law and upper bound are those of `Descent.generalisation`, (3,) or (3, run); the upper one must lie within the
    steps of a run. The wider side, shape () or (run,); nan where a bound is infinite, too late, or not above zero.
    """
    known = (bounds[2] + 2 < steps) & (bounds[0] > 0)
    low, law, high = np.where(known, bounds, np.nan)
    return np.maximum(high + 1 - law, law - low) / law
