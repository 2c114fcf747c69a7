"""A sampled learning coefficient: values, checks that decide whether it is trusted, and how far such estimates were off."""

from dataclasses import dataclass

import numpy as np

# What a trustworthy estimate has at least or at most.
RHAT, EFFECTIVE, SHIFT, SHORTAGE = 1.05, 100, 0.1, 0.1
ERRORS = 3  # standard errors by which `Coefficient.virial` may differ from 1
VIRIAL = 0.5  # what of it could be missing and not be seen
# Relative distance from NUTS on the small networks of `benchmarks/nuts.py`: the median and the largest of
# estimates that their verdict trusted, and the largest of those that it did not; of 1,000 draws, 1 and 10 steps apart.
DISTANCES = {
    "baoab": (0.03, 0.15, 0.73),
    "sgld": (0.08, 0.10, 0.65),
    "rmsprop-sgld": (0.15, 0.21, 0.72),
    "sghmc": (0.08, 0.14, 0.85),
    "sgnht": (0.03, 0.13, 3.0),
}
# Of the bound 4/P_max at the ends of chains; samplers with momentum are stable up to twice that bound.
STEP_SHARE = {"sgld": 0.25, "baoab": 0.5, "sghmc": 0.5, "sgnht": 0.5}


@dataclass(frozen=True)
class Coefficient:
    """Estimates for every part and inverse temperature.

    Attributes:
        parts: Names of what moves.
        beta, dimension: Shape (beta,); number of parameters that move, shape (part,).
        value: lambda_Z, shape (part, beta); extrapolated to e = gamma = 0 if so asked.
        error, rhat: Its standard error, and R-hat of the loss, shape (part, beta).
        chains: The value of each chain, shape (part, beta, chain); nan for a chain that does not count.
        effective: Effective number of draws of all chains, for the mean of the loss, shape (part, beta).
        virial: E[(w - w*) . grad U] over the number of parameters that move, U = beta L + gamma |w - w*|^2/2, shape
            (part, beta): by parts 1 once chains have come round, below 1 while they still spread from w*. What is missing
            are directions that do not count yet as they should, half of one at most in the coefficient for each.
        virial_error: Standard error of `virial`.
        step, bound: e, and 4/P_max at w* and along the chains, beyond which e is not stable, shape (part, beta).
        step_shift, pull_shift: Loss of the estimate if e goes to 0, and its gain if gamma does, shape (part, beta).
        draws: Of each chain, warm-up left out.
        halved: Number of times that the step was halved, shape (part, beta).
        gradients: Number, of minibatches where there are some; those for curvature left out.
    """

    parts: tuple[str, ...]
    beta: np.ndarray
    dimension: np.ndarray
    value: np.ndarray
    error: np.ndarray
    chains: np.ndarray
    rhat: np.ndarray
    effective: np.ndarray
    virial: np.ndarray
    virial_error: np.ndarray
    step: np.ndarray
    bound: np.ndarray
    pull: float
    step_shift: np.ndarray
    pull_shift: np.ndarray
    sampler: str
    draws: int
    halved: np.ndarray
    gradients: int

    @property
    def scale(self) -> np.ndarray:
        """Eps = lambda_Z/beta, the mean loss above that of w*, shape (part, beta)."""
        return self.value / self.beta

    @property
    def effective_parameters(self) -> np.ndarray:
        """2 lambda_Z, shape (part, beta); its error is twice `error`."""
        return 2 * self.value

    def doubts(self, part: int = 0, beta: int = 0) -> list[str]:
        """Why an estimate is not to be trusted; empty if it is."""
        at = (part, beta)
        value, error = self.value[at], self.error[at]
        lost = int(np.isnan(self.chains[at]).sum())
        if not np.isfinite(value):
            return ["no chain stayed finite"]
        found = [f"{lost} of {self.chains.shape[-1]} chains did not stay finite"] if lost else []
        if not self.rhat[at] < RHAT:
            found.append(f"chains disagree, R-hat {self.rhat[at]:.3f}")
        if not self.effective[at] >= EFFECTIVE:
            found.append(f"{self.effective[at]:.0f} effective draws")
        missing, known = abs(self.virial[at] - 1), ERRORS * self.virial_error[at]
        harm = missing * self.dimension[part] / 2
        if not missing <= known and not harm <= max(SHIFT * abs(value), 2 * error):
            found.append(
                f"chains have not come round, E[(w - w*) . grad U] is {self.virial[at]:.0%} of its stationary value"
            )
        elif not known < VIRIAL:
            found.append(f"E[(w - w*) . grad U] is known to {self.virial_error[at]:.0%} only")
        most = STEP_SHARE.get(self.sampler.removeprefix("rmsprop-"), np.inf)
        if self.step[at] > most * self.bound[at]:
            found.append(f"step {self.step[at] / self.bound[at]:.0%} of the bound on it")
        if not error < SHIFT * max(abs(value), 0.5):
            found.append(f"standard error {error:.2g}")
        shifts = {"step": self.step_shift[at], "localisation": self.pull_shift[at]}
        for name, shift in shifts.items():
            if np.isnan(shift):
                found.append(f"bias of the {name} not measured")
            elif abs(shift) > max(SHIFT * abs(value), 2 * error):
                found.append(f"{name} shifts it by {shift:.2g}")
        if value < -3 * error:
            found.append("it is negative: w* is no minimum")
        if value > self.dimension[part] / 2 * (1 + SHORTAGE) + 3 * error:
            found.append(f"more than {self.dimension[part]} parameters")
        return found

    def verdict(self, part: int = 0, beta: int = 0) -> str:
        """One line: the estimate, whether it is to be trusted, why not, and how far from NUTS such estimates were."""
        at, doubts = (part, beta), self.doubts(part, beta)
        said = f"{self.value[at]:.4g} ± {self.error[at]:.2g} at beta = {self.beta[beta]:.4g}"
        said += ": not trustworthy: " + "; ".join(doubts) if doubts else ": trustworthy"
        if self.sampler not in DISTANCES:
            return said + "."
        median, most, doubted = DISTANCES[self.sampler]
        if doubts:
            return f"{said}. On small networks such estimates were up to {doubted:.0%} from NUTS."
        return f"{said}. On small networks such estimates were {median:.0%} from NUTS, at most {most:.0%}."
