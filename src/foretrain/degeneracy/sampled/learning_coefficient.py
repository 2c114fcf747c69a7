"""Learning coefficients lambda_Z(beta) = beta E_beta[L - L*] of any network, by sampling around its parameters.

Twice the coefficient is the effective number of parameters at the scale eps = lambda_Z/beta of the loss; a sweep over beta is
that number as a curve over scale. Estimates are biased in the step e of the sampler and in the pull gamma that keeps chains
local, and the two can cancel: on a quadratic with P_i = beta h_i + gamma, full batch, SGLD gives

    1/2 sum_i beta h_i / [P_i (1 - e P_i/4)],      stable iff e < 4/P_max.

Both are taken out to first order, unless `richardson=False`. That says little where P changes along a chain, as around
singular points: unless a step is given it is halved until e and e/2 differ by less than the estimate's own error. A
`Coefficient` says in a line whether it is to be trusted.

A control variate takes out scatter. By parts E[u . B grad U] = tr B for every matrix B and U = beta L + gamma |w - w*|^2/2, u
= w - w*, so that beta L - (u . B grad U - tr B)/2 has the mean of beta L; with B = beta H (beta H + gamma)^-1, H the Hessian
at w*, it does not scatter and has no bias of the step where L is quadratic. Both means are right only once chains have come
round: `Coefficient.virial`, E[u . grad U] over the number of parameters, is then 1.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.degeneracy.sampled import curvature, samplers
from foretrain.degeneracy.sampled.chains import mean_of
from foretrain.degeneracy.sampled.coefficient import SHIFT, STEP_SHARE, Coefficient
from foretrain.degeneracy.sampled.posterior import Losses, Posterior
from foretrain.errors import argument_error, integer, one_of, real

PILOT = 100  # draws of the first run
SHARE = 0.1  # of the largest stable step, to begin with
HALVINGS = 5  # of the step, at most
CLOSE = 0.01  # relative difference of what e and e/2 say that is not worth another half
BATCHES = 20  # of a chain, whose means fit how much of the control variate is taken out
CONTROLLED = 400  # parameters up to which there is a control variate, its size squared per lane
LOOKED_AT = 4  # chains of a setting at whose ends curvature is measured
WILD = 10.0  # beta times excess loss, for each parameter, of which half is expected: a chain beyond has been thrown out


def learning_coefficient(
    posterior: Posterior,
    *,
    sampler: str | None = None,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int | None = None,
    steps: int = 1,
    step: float | None = None,
    share: float = SHARE,
    pull: float = 1.0,
    preconditioned: bool = False,
    units: Any = None,
    richardson: bool = True,
    controlled: bool = True,
    halvings: int = HALVINGS,
    seed: int = 0,
    together: bool = True,
) -> Coefficient:
    """lambda_Z(beta) for every part and every beta of the posterior, all of them and all chains in one program.

    Args:
        sampler: "sgld", "baoab", "sghmc", "sgnht"; "mala" or "nuts" on all data, as a reference. See
            `foretrain.degeneracy.sampled.samplers`. "baoab" by default on all data, whose bias is least; "sgld" with
            minibatches, whose noise heats it least.
        warm_up: Draws before those that count; as many again by default. Of "mala" and "nuts" they fit the step.
        steps: Of the sampler between draws.
        step: e, for all settings. By default `share` of the bound 4/P_max at w*, at places of typical loss, and at the ends of
            chains after a short first run, whichever is smallest (chains that are thrown out of that run start anew with a
            quarter of the step); and halved from there, for each setting, as long as a chain
            is lost, e is above a quarter (with momentum, half) of the bound at the ends of chains, or e and e/2 give values
            that differ by more than the estimate's standard error or a tenth, and by more than a hundredth.
        share: Of the bound, for the step that is taken by default.
        pull: gamma >= 0, of the localisation: a prior of deviation gamma^(-1/2) around w*. Without it flat directions have no
            end.
        preconditioned: RMSprop's preconditioner: noise and drift of each parameter are scaled by the root mean square of its
            drift along the first run, and stay so, which leaves the density as it is. `step` is then in those units.
        units: S of each parameter, shape (d,), above 0 and at most 1, where it is known how lengths differ: noise and drift
            are scaled by it, which leaves the density as it is.
        richardson: Run each setting with e/2 and with gamma/2, too, from the same noise, and extrapolate both away. Of
            samplers that are exact gamma alone.
        controlled: True if the control variate takes scatter out, of up to `CONTROLLED` parameters.
        halvings: How often a step may be halved; none without `richardson`, which is what tells.
        together: Lanes side by side; else one after the other, in less memory and for wide networks in less time.

    Memory: d numbers for each lane, some 20 of them for curvature. Cost: a gradient for each step of each lane, three lanes
    for a chain with `richardson`; each halving costs `draws` of all of them again (`Coefficient.gradients` is the sum). A
    step above the bound raises `ArgumentError`.
    """
    sampler = default_sampler(posterior, sampler)
    exact = sampler in samplers.EXACT
    chains, draws = integer("chains", chains, minimum=1), integer("draws", draws, minimum=4)
    warm_up = draws if warm_up is None else integer("warm_up", warm_up, minimum=0)
    halvings = integer("halvings", halvings, minimum=0)
    steps, pull = integer("steps", steps, minimum=1), real("pull", pull, minimum=0)
    if exact and posterior.batch_size is not None:
        raise argument_error("sampler", "be one for minibatches", f"is {sampler!r}, on all data")
    if exact and warm_up == 0:
        raise argument_error(
            "warm_up", f"be at least 1 for {sampler!r}, whose step it fits", "is 0"
        )
    if units is not None:
        units = np.asarray(units, float)
        if units.shape != (posterior.dimension,) or not ((units > 0) & (units <= 1)).all():
            rule = f"have shape ({posterior.dimension},) and lie above 0 and at most at 1"
            raise argument_error("units", rule, f"has shape {units.shape}")
        parts = {name: mask * units for name, mask in posterior.parts.items()}
        posterior = replace(posterior, parts=parts)
    names, masks = tuple(posterior.parts), np.stack(list(posterior.parts.values()))
    shape = (len(names), len(posterior.beta))
    scale, beta = np.repeat(masks, shape[1], axis=0), np.tile(posterior.beta, shape[0])
    # What runs: shares of e and of gamma. What is exact has no use for e/2.
    kinds = [(1.0, 1.0)] + [(0.5, 1.0)] * (richardson and not exact) + [(1.0, 0.5)] * richardson
    order = [0, 0, 1] if richardson and exact else list(range(len(kinds)))
    spent = 0

    def lanes(e, learn=0.0):
        steps_, pulls = np.array(kinds).T
        return samplers.lanes_of(
            np.tile(beta, len(kinds)),
            np.repeat(pull * pulls, beta.size),
            np.concatenate([e * by for by in steps_]),
            np.tile(scale, (len(kinds), 1)),
            chains,
            posterior.flat.dtype,
            learn,
            control,
        )

    def sample(now, states, number, count):
        nonlocal spent
        spent += now.beta.size * count * steps
        keys = samplers.keys_of(seed, chains, beta.size * len(kinds), number)
        states, draw, _ = samplers.advance(
            posterior, sampler, now, states, keys, count, steps, together=together,
            capacity=max(draws, warm_up),
        )  # fmt: skip
        return states, samplers.Draw(*(np.asarray(one, np.float64) for one in draw))

    def thrown_out(loss):
        """Lanes with a last loss that none has where it should be, (kind, setting, chain); of minibatches lost ones."""
        most = WILD if posterior.batch_size is None else np.inf
        excess = (loss[:, -1] - posterior.start_loss).reshape(len(kinds), beta.size, chains)
        with np.errstate(invalid="ignore"):
            return ~(excess * (beta / scale.astype(bool).sum(1))[:, None] < most)

    def along(now, states, wild):
        """P_max at the ends of the first chains of every setting, of those that count; of a given step of one."""
        ends = samplers.places(posterior, now, states).reshape(len(kinds), beta.size, chains, -1)[0]
        found = np.zeros(beta.size)
        for chain in range(min(chains, LOOKED_AT if step is None else 1)):
            there = np.isfinite(ends[:, chain]).all(-1) & ~wild[0, :, chain]
            at = np.where(there[:, None], ends[:, chain], posterior.flat)
            steep = beta * curvature.largest(posterior, at, scale, products=8) + pull
            found = np.maximum(found, np.where(there & np.isfinite(steep), steep, 0))
        return found

    steepest = curvature.at_start(posterior, pull)
    if step is not None:
        e = np.full(beta.size, checked_step(step, 4 / steepest.max()))
    else:
        steepest = curvature.bound(posterior, pull, steepest)
        e = share * 4 / steepest
    if preconditioned:
        scale, steepest = _preconditioner(posterior, beta, pull, e, scale, seed)
        e = e if step is not None else share * 4 / steepest
    control = None
    if controlled and posterior.dimension <= CONTROLLED:
        hessian = curvature.hessian(posterior)
        settings = list(zip(beta, scale, strict=True))
        control = np.array(
            [_control(hessian, *one, pull * by) for _, by in kinds for one in settings]
        )
    now = lanes(e)
    states = samplers.start(posterior, sampler, now)
    if step is None and not exact:
        for trial in range(halvings + 1):
            states, draw = sample(now, states, -1 - trial, min(PILOT, max(draws, warm_up)))
            wild = thrown_out(draw.loss)
            steepest = np.maximum(steepest, along(now, states, wild))
            e = np.where(wild.any((0, 2)), e / 4, np.minimum(e, share * 4 / steepest))
            now = lanes(e)
            states = _restarted(posterior, sampler, now, states, wild.ravel())
            if not wild.any():
                break
    if warm_up:
        now = lanes(e, learn=1.0)
        states, draw = sample(now, states, 1, warm_up)
        if step is None and not exact:
            states = _restarted(posterior, sampler, now, states, thrown_out(draw.loss).ravel())
    plain, terms, virial = np.full((3, len(kinds), beta.size, chains, draws), np.nan)
    halved, running = np.zeros(beta.size, int), np.ones(beta.size, bool)
    halving = 0
    while True:
        now = lanes(e)
        states, draw = sample(now, states, 2 + halving, draws)
        wild = thrown_out(draw.loss)
        for kept, fresh in zip((plain, virial, terms), draw, strict=True):
            kept[:, running] = fresh.reshape(kept.shape)[:, running]
        excess = _controlled(plain - posterior.start_loss, terms / (2 * beta[:, None, None]))
        if step is not None or exact or not richardson or halving == halvings:
            break
        steepest = np.maximum(steepest, along(now, states, wild))
        running &= ~_settled(excess, beta) | (e > STEP_SHARE[sampler] * 4 / steepest)
        if not running.any():
            break
        halved, e = halved + running, np.where(running, e / 2, e)
        states = _restarted(posterior, sampler, lanes(e), states, wild.ravel())
        halving += 1
    steepest = np.maximum(steepest, along(now, states, wild))

    excess = excess[order]
    found = [[mean_of(one * b) for one, b in zip(kind, beta, strict=True)] for kind in excess]
    uncontrolled = [mean_of(one) for one in plain[0]]
    moving = scale.astype(bool).sum(1)
    stationary = [mean_of(one / many) for one, many in zip(virial[0], moving, strict=True)]

    def grid(name: str, kind: int = 0) -> np.ndarray:
        return np.array([getattr(one, name) for one in found[kind]]).reshape(shape)

    value, error = grid("value"), grid("error")
    step_shift, pull_shift = np.full(shape, 0.0 if exact else np.nan), np.full(shape, np.nan)
    if richardson:
        step_shift, pull_shift = (2 * (grid("value", kind) - value) for kind in (1, 2))
        value, error = (one.reshape(shape) for one in _extrapolated(excess, beta))
    means = excess[0].mean(-1) * beta[:, None]
    return Coefficient(
        parts=names,
        beta=posterior.beta,
        dimension=(masks != 0).sum(1),
        value=value,
        error=error,
        chains=np.where(np.isfinite(means), means, np.nan).reshape(*shape, -1),
        rhat=np.array([one.rhat for one in uncontrolled]).reshape(shape),
        effective=np.array([one.effective for one in uncontrolled]).reshape(shape),
        virial=np.array([one.value for one in stationary]).reshape(shape),
        virial_error=np.array([one.error for one in stationary]).reshape(shape),
        step=e.reshape(shape),
        bound=(4 / steepest).reshape(shape),
        pull=pull,
        step_shift=step_shift,
        pull_shift=pull_shift,
        sampler=("rmsprop-" if preconditioned else "") + sampler,
        draws=draws,
        halved=halved.reshape(shape),
        gradients=spent,
    )


def _control(hessian, beta: float, scale: np.ndarray, pull: float) -> np.ndarray:
    """B = beta H (beta H + gamma)^-1 in the coordinates of chains, shape (d, d), 0 where parameters do not move."""
    moving = np.flatnonzero(scale)
    at = np.ix_(moving, moving)
    steep = beta * scale[moving, None] * hessian[at] * scale[moving]
    least = 1e-12 * steep.max(initial=0) + np.finfo(float).tiny
    made = np.zeros_like(hessian)
    made[at] = np.linalg.solve(steep + np.diag(pull * scale[moving] ** 2 + least), steep).T
    return made


def _controlled(excess: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Losses less c times terms of mean 0, (kind, setting, chain, draw), c in [0, 1] of each setting fitted to batch means.

    A quadratic loss has c = 1. Where the Hessian at w* says little of what the loss does further away c is nearer to 0.
    """
    size = excess.shape[-1] // BATCHES
    if not size or not terms.any():
        return excess
    finite, means = np.isfinite(excess + terms).all(-1, keepdims=True), []
    for one in (excess, terms):
        of = np.where(finite, one, 0)[..., : size * BATCHES]
        of = of.reshape(*one.shape[:-1], BATCHES, size).mean(-1)
        means.append(of - of.mean(-1, keepdims=True))
    both, own = (means[0] * means[1]).sum((0, 2, 3)), (means[1] ** 2).sum((0, 2, 3))
    fitted = np.clip(both / np.where(own > 0, own, 1), 0, 1)
    return excess - fitted[:, None, None] * terms


def _extrapolated(excess: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and standard error of each setting at e = gamma = 0, to first order, from losses of (kind, setting, chain, draw).

    Chains driven by the same noise are combined draw by draw: the error is that of the mean of the combination, whatever is
    common to the kinds. Where no chain is finite in all of them, kinds are taken to be independent.
    """
    values, errors = [], []
    for one, half, loose in np.moveaxis(excess, 1, 0) * beta[:, None, None, None]:
        with np.errstate(invalid="ignore"):
            found = mean_of(2 * half + 2 * loose - 3 * one)
        value, error = found.value, found.error
        if not found.finite.any():
            kinds = [mean_of(part) for part in (one, half, loose)]
            value = 2 * kinds[1].value + 2 * kinds[2].value - 3 * kinds[0].value
            error = np.hypot(3 * kinds[0].error, 2 * np.hypot(kinds[1].error, kinds[2].error))
        values.append(value)
        errors.append(error)
    return np.array(values), np.array(errors)


def _settled(excess: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """True where e/2 and e give the same value, shape (setting,): within the standard error of the estimate, or a hundredth.

    An error that is large itself excuses no more than a tenth. Lost chains settle nothing.
    """
    value, error = _extrapolated(excess, beta)
    size = np.maximum(np.abs(value), 0.5)
    full, half = excess[:2].mean((2, 3)) * beta
    allowed = np.clip(error, CLOSE * size, SHIFT * size)
    with np.errstate(invalid="ignore"):
        return np.isfinite(full + half) & (np.abs(half - full) <= allowed)


def _restarted(posterior, sampler, lanes, states, lost):
    """The same states; of lanes that are lost those at w*."""
    import jax

    if not lost.any():
        return states
    fresh = samplers.start(posterior, sampler, lanes)
    pick = lambda new, old: np.where(lost.reshape(-1, *[1] * (np.ndim(old) - 1)), new, old)  # noqa: E731
    return jax.device_put(jax.tree.map(pick, fresh, states))


def default_sampler(posterior: Posterior, sampler: str | None) -> str:
    """Return the sampler, checked; for None "baoab" on all data and "sgld" with minibatches."""
    if sampler is None:
        return "baoab" if posterior.batch_size is None else "sgld"
    return one_of("sampler", sampler, samplers.SAMPLERS)


def checked_step(step: float, bound: float) -> float:
    """Return the step e; raise `ArgumentError` unless it is positive and below the bound 4/P_max."""
    step = real("step", step, above=0)
    if step >= bound:
        raise argument_error(
            "step", f"be below {bound:.4g}, the bound 4/P_max", f"is {step:.4g}", "Try a tenth of the bound."
        )  # fmt: skip
    return step


def _preconditioner(posterior, beta, pull: float, e, scale, seed: int):
    """Scales by the drift of a short run of SGLD, one chain for each setting, and P_max in those units at its ends."""
    lanes = samplers.lanes_of(beta, pull, e, scale, 1, posterior.flat.dtype)
    states, keys = samplers.start(posterior, "sgld", lanes), samplers.keys_of(seed, 1, beta.size)
    slope = _slope(posterior.losses)
    states, _, slopes = samplers.advance(posterior, "sgld", lanes, states, keys, PILOT, emit=slope)
    drift = beta[:, None] * np.sqrt((np.asarray(slopes)[:, PILOT // 2 :] ** 2).mean(1))
    scale = np.where(scale == 0, 0, (np.sqrt(pull) + drift + 1e-12) ** -0.5)
    scale = scale / scale.max(1, keepdims=True)
    ends = samplers.places(posterior, lanes, states)
    return scale, beta * curvature.largest(posterior, ends, scale) + pull


@lru_cache(maxsize=64)
def _slope(losses: Losses):
    """Flat gradient of the mean loss, as something to emit."""
    import jax
    from jax.flatten_util import ravel_pytree

    return lambda params, data: ravel_pytree(jax.grad(lambda p: losses(p, data).mean())(params))[0]
