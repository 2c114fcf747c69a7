"""Learning coefficients lambda_Z(beta) = beta E_beta[L - L*] of any network, by sampling around its parameters.

Twice the coefficient is the effective number of parameters at the scale eps = lambda_Z/beta of the loss; a sweep over beta is
that number as a curve over scale. Estimates are biased in the step e of the sampler and in the pull gamma that keeps chains
local, and the two can cancel: on a quadratic with P_i = beta h_i + gamma, full batch, SGLD gives

    1/2 sum_i beta h_i / [P_i (1 - e P_i/4)],      stable iff e < 4/P_max.

So both are told, and taken out to first order, unless `richardson=False`. A `Coefficient` says in a line whether it is to be
trusted.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.degeneracy import curvature, samplers
from foretrain.degeneracy.chains import mean_of
from foretrain.degeneracy.posterior import Losses, Posterior
from foretrain.degeneracy.samplers import Lanes
from foretrain.errors import argument_error, integer, one_of, real

PILOT = 100  # steps of the first run
SHARE = (
    0.1  # of the largest stable step: a bias of 10% where curvature is largest, of less elsewhere
)
# What a trustworthy estimate has at least or at most.
RHAT, EFFECTIVE, STEP_SHARE, SHIFT, SHORTAGE = 1.05, 100, 0.25, 0.1, 0.1


def discrete_quadratic(curvatures, beta: float, pull: float, step: float) -> float:
    """What SGLD on all data gives of 1/2 sum h_i w_i^2 with steps of e: 1/2 sum beta h_i / [P_i (1 - e P_i/4)].

    Args:
        curvatures: h, at least 0.
        beta: Inverse temperature.
        pull: gamma.
        step: e.

    Returns:
        The stationary value; inf where e >= 4/P_max.
    """
    h = np.asarray(curvatures, float)
    steep = beta * h + pull
    if step >= 4 / steep.max():
        return np.inf
    return float(0.5 * (beta * h / (np.where(h > 0, steep, 1) * (1 - step * steep / 4))).sum())


@dataclass(frozen=True)
class Coefficient:
    """Estimates for every part and inverse temperature.

    Attributes:
        parts: Names of what moves.
        beta: Shape (beta,).
        dimension: Parameters that move, shape (part,).
        value: lambda_Z, shape (part, beta); extrapolated to e = gamma = 0 if so asked.
        error: Its standard error, shape (part, beta).
        chains: That of each chain, shape (part, beta, chain); nan for a chain that does not count.
        rhat: R-hat of the loss, shape (part, beta).
        effective: Effective number of draws of all chains, shape (part, beta).
        step: e, shape (part, beta).
        bound: 4/P_max at w* and along the chains, beyond which e is not stable, shape (part, beta).
        pull: gamma.
        step_shift: What the estimate loses if e goes to 0, shape (part, beta); nan if it was not extrapolated.
        pull_shift: What it gains if gamma goes to 0, likewise.
        sampler: Name.
        draws: Of each chain, warm-up left out.
    """

    parts: tuple[str, ...]
    beta: np.ndarray
    dimension: np.ndarray
    value: np.ndarray
    error: np.ndarray
    chains: np.ndarray
    rhat: np.ndarray
    effective: np.ndarray
    step: np.ndarray
    bound: np.ndarray
    pull: float
    step_shift: np.ndarray
    pull_shift: np.ndarray
    sampler: str
    draws: int

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
        if self.sampler not in samplers.EXACT and self.step[at] > STEP_SHARE * self.bound[at]:
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
        """One line: the estimate and whether it is to be trusted, with reasons if it is not."""
        at, doubts = (part, beta), self.doubts(part, beta)
        said = f"{self.value[at]:.4g} ± {self.error[at]:.2g} at beta = {self.beta[beta]:.4g}"
        return f"{said}: " + (
            "not trustworthy: " + "; ".join(doubts) + "." if doubts else "trustworthy."
        )


def learning_coefficient(
    posterior: Posterior,
    *,
    sampler: str = "sgld",
    chains: int = 4,
    draws: int = 1000,
    warm_up: int | None = None,
    steps: int = 1,
    step: float | None = None,
    share: float = SHARE,
    pull: float = 1.0,
    preconditioned: bool = False,
    richardson: bool = True,
    seed: int = 0,
    together: bool = True,
) -> Coefficient:
    """lambda_Z(beta) for every part and every beta of the posterior, all of them and all chains in one program.

    For a reference on the same posterior use "nuts", up to some 10^4 parameters, not another setting of the same sampler.

    Args:
        posterior: See `foretrain.degeneracy.posterior`.
        sampler: "sgld", "sghmc", "sgnht"; "mala" or "nuts" on all data, as a reference. See `foretrain.degeneracy.samplers`.
        chains: Of each setting.
        draws: Of each chain.
        warm_up: Draws before those that count; as many again by default.
        steps: Of the sampler between draws.
        step: e, for all settings; by default `share` of the bound 4/P_max at w*, at places of typical loss, and at the ends of
            a short first run, whichever is smallest.
        share: Of the bound.
        pull: gamma >= 0, of the localisation: a prior of deviation gamma^(-1/2) around w*. Without it flat directions have no
            end.
        preconditioned: RMSprop's preconditioner: noise and drift of each parameter are scaled by the root mean square of its
            drift along the first run, and stay so, which leaves the density as it is. `step` is then in those units.
        richardson: Run each setting with e/2 and with gamma/2, too, from the same noise, and extrapolate both away. Of
            samplers that are exact gamma alone.
        seed: Of all draws.
        together: Lanes side by side; else one after the other, in less memory and for wide networks in less time.

    Returns:
        The coefficients. Memory: d numbers for each lane, some 20 of them for curvature; cost: a gradient for each step.

    Raises:
        ArgumentError: An argument is out of range, or the step is above the bound.
    """
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    sampler = one_of("sampler", sampler, samplers.SAMPLERS)
    chains, draws = integer("chains", chains, minimum=1), integer("draws", draws, minimum=4)
    warm_up = draws if warm_up is None else integer("warm_up", warm_up, minimum=0)
    steps, pull = integer("steps", steps, minimum=1), real("pull", pull, minimum=0)
    if sampler in samplers.EXACT and posterior.batch_size is not None:
        raise argument_error("sampler", "be one for minibatches", f"is {sampler!r}, on all data")
    names, masks = tuple(posterior.parts), np.stack(list(posterior.parts.values()))
    shape = (len(names), len(posterior.beta))
    centre = ravel_pytree(posterior.params)[0]
    scale = np.repeat(masks, shape[1], axis=0)
    beta = np.tile(posterior.beta, shape[0])

    # Of the first run one chain for each setting.
    most = _largest(posterior, jnp.asarray(masks, centre.dtype), centre)
    steepest = beta * np.repeat(most, shape[1]) + pull
    if step is not None:
        step = real("step", step, above=0)
        _refuse(step, 4 / steepest.max())
    else:
        typical = _typical(posterior, beta, pull, scale, centre)
        steepest = np.maximum(steepest, typical)
    first = np.full(beta.size, step) if step is not None else share * 4 / steepest
    lanes = _lanes(beta, pull, first, scale, 1, centre.dtype)
    if step is None or preconditioned:
        scale, along = _pilot(posterior, lanes, seed, preconditioned, pull)
        steepest = along if preconditioned else np.maximum(steepest, along)
    e = first if step is not None else share * 4 / steepest

    kinds = [(1.0, 1.0)]
    if richardson:
        kinds += [(1.0 if sampler in samplers.EXACT else 0.5, 1.0), (1.0, 0.5 if pull else 1.0)]
    lanes = _lanes(
        np.tile(beta, len(kinds)),
        np.concatenate([np.full(beta.size, pull * by) for _, by in kinds]),
        np.concatenate([e * by for by, _ in kinds]),
        np.tile(scale, (len(kinds), 1)),
        chains,
        centre.dtype,
    )
    loss, states = _sample(posterior, sampler, lanes, seed, chains, draws, warm_up, steps, together)
    ends = samplers.places(posterior, lanes, states)[:: max(chains, 1)][: beta.size]
    ends = jnp.where(jnp.isfinite(ends).all(1, keepdims=True), ends, centre)
    moved = beta * curvature.largest(posterior, ends, lanes.scale[::chains][: beta.size]) + pull
    steepest = np.maximum(steepest, np.where(np.isfinite(moved), moved, 0))

    excess = (loss - posterior.start_loss).reshape(len(kinds), beta.size, chains, draws)
    found = [[mean_of(one * b) for one, b in zip(kind, beta, strict=True)] for kind in excess]
    return _coefficient(
        posterior, names, masks, shape, found, e, 4 / steepest, pull, sampler, draws, excess, beta
    )


def _coefficient(
    posterior, names, masks, shape, found, e, bound, pull, sampler, draws, excess, beta
) -> Coefficient:
    def grid(name: str, kind: int = 0) -> np.ndarray:
        return np.array([getattr(one, name) for one in found[kind]]).reshape(shape)

    value, error = grid("value"), grid("error")
    step_shift = pull_shift = np.full(shape, np.nan)
    if len(found) > 1:
        step_shift, pull_shift = (2 * (grid("value", kind) - value) for kind in (1, 2))
        value = value + step_shift + pull_shift
        error = np.sqrt(9 * error**2 + 4 * grid("error", 1) ** 2 + 4 * grid("error", 2) ** 2)
        error = np.minimum(error, _paired_error(excess, beta).reshape(shape))
    means = excess[0].mean(-1) * beta[:, None]
    return Coefficient(
        parts=names,
        beta=posterior.beta,
        dimension=masks.sum(1).astype(int),
        value=value,
        error=error,
        chains=np.where(np.isfinite(means), means, np.nan).reshape(*shape, -1),
        rhat=grid("rhat"),
        effective=grid("effective"),
        step=e.reshape(shape),
        bound=bound.reshape(shape),
        pull=pull,
        step_shift=step_shift,
        pull_shift=pull_shift,
        sampler=sampler,
        draws=draws,
    )


def _paired_error(excess: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Standard error of the extrapolation from its spread over chains, which were driven by the same noise; inf for few."""
    whole = (2 * excess[1] + 2 * excess[2] - 3 * excess[0]) * beta[:, None, None]
    found = [mean_of(one) for one in whole]
    return np.array([one.error if one.finite.sum() >= 2 else np.inf for one in found])


def _refuse(step: float, bound: float) -> None:
    if step >= bound:
        raise argument_error(
            "step", f"be below {bound:.4g}, the bound 4/P_max", f"is {step:.4g}", "Try a tenth of the bound."
        )  # fmt: skip


def _lanes(beta, pull, step, scale, chains: int, dtype) -> Lanes:
    pull = np.broadcast_to(pull, np.shape(beta))
    return Lanes(*(samplers.repeated(one, chains, dtype) for one in (beta, pull, step, scale)))


def _largest(posterior: Posterior, masks: Any, centre: Any) -> np.ndarray:
    """Largest curvature of the mean loss at w*, of every part, at least 0; shape (part,)."""
    places = np.broadcast_to(np.asarray(centre), masks.shape)
    return np.maximum(curvature.largest(posterior, places, masks), 0)


def _typical(posterior: Posterior, beta, pull: float, scale, centre) -> np.ndarray:
    """P_max where a random displacement of w* costs as much as there are parameters, halved; for losses flat at w*.

    The displacement is the largest on a grid of lengths that costs at most d/2 in beta L or in the localisation.
    """
    import jax
    import jax.numpy as jnp

    lengths = 2.0 ** -np.arange(0, 24)
    lengths = lengths / np.sqrt(pull) if pull > 0 else 1e3 * lengths
    direction = jax.random.normal(jax.random.key(1), centre.shape, centre.dtype)
    costs = _costs(posterior.losses)
    found = []
    for b, s in zip(beta, scale, strict=True):
        along = direction * jnp.asarray(s, centre.dtype)
        tried = centre + jnp.asarray(lengths, centre.dtype)[:, None] * along
        excess = b * (
            np.asarray(costs(tried, posterior.params, posterior.data)) - posterior.start_loss
        )
        fits = np.isfinite(excess) & (excess <= s.astype(bool).sum() / 2)
        found.append(tried[int(np.argmax(fits))] if fits.any() else centre)
    places = jnp.stack(found)
    return beta * curvature.largest(posterior, places, jnp.asarray(scale, centre.dtype)) + pull


@lru_cache(maxsize=64)
def _costs(losses: Losses):
    """Jitted mean losses at many places, one after the other."""
    import jax
    from jax.flatten_util import ravel_pytree

    def run(places, params, data):
        unravel = ravel_pytree(params)[1]
        return jax.lax.map(lambda w: losses(unravel(w), data).mean(), places)

    return jax.jit(run)


@lru_cache(maxsize=64)
def _slope(losses: Losses):
    """Flat gradient of the mean loss, as something to emit."""
    import jax
    from jax.flatten_util import ravel_pytree

    return lambda params, data: ravel_pytree(jax.grad(lambda p: losses(p, data).mean())(params))[0]


def _pilot(posterior, lanes: Lanes, seed: int, preconditioned: bool, pull: float):
    """Scales and largest curvature there and at the ends of a short run of SGLD, one chain for each setting."""
    import jax.numpy as jnp

    keys = samplers.keys_of(seed + 1, 1, lanes.beta.size)
    states = samplers.start(posterior, "sgld", lanes, keys)
    emit = _slope(posterior.losses) if preconditioned else None
    states, _, slopes = samplers.advance(posterior, "sgld", lanes, states, keys, PILOT, emit=emit)
    scale = lanes.scale
    if preconditioned:
        drift = lanes.beta[:, None] * jnp.sqrt((slopes[:, PILOT // 2 :] ** 2).mean(1))
        scale = jnp.where(scale == 0, 0, (jnp.sqrt(pull) + drift + 1e-12) ** -0.5)
        scale = scale / scale.max(1, keepdims=True)
    ends = samplers.places(posterior, lanes, states)
    found = curvature.largest(posterior, ends, scale)
    return np.asarray(scale), np.asarray(lanes.beta) * found + pull


def _sample(posterior, sampler, lanes, seed, chains, draws, warm_up, steps, together):
    """Losses, float64, shape (lane, draw), and the last states."""
    keys = samplers.keys_of(seed, chains, lanes.beta.size // chains)
    states, loss = samplers.start(posterior, sampler, lanes, keys), None
    for number, size in enumerate((warm_up, draws)):
        if size:
            now = samplers.later(keys, number)
            states, loss, _ = samplers.advance(
                posterior, sampler, lanes, states, now, size, steps, together=together
            )
    return np.asarray(loss, np.float64), states
