"""Effective parameters N(eps) by sampling: Hamiltonian chains from two kinds of starts, and what makes them trusted.

N(eps) = 2 beta E[L - L*] at beta = 1/(2 eps) under exp(-beta L(w) - gamma |w - w*|^2/2); half of it is the learning
coefficient lambda_Z(beta). The prior, of unit width unless the posterior says otherwise, is a part of the density; on a
quadratic N is the sum of c/(c + gamma eps), c the cost of a unit step along a direction. Metropolis takes or refuses
every trajectory, so that steps leave no bias; their length is fitted before any draw counts. What is left to go wrong is
that chains do not come round, and this is looked for:

- A quarter of the chains begin at w*, the others at draws of the prior that are cooled to beta, the farthest of many among
  them. Those that never left the neighbourhood of w*, or a basin, differ in loss or in |w - w*| from those that come from
  outside. A basin into which no draw falls is not seen.
- E[(w - w*) . grad U] = d by parts, U = beta L + gamma |w - w*|^2/2, of all parameters and of every leaf of them: chains
  that still spread have less.
- Where draws lie where the loss is quadratic the value is the curvature's.

Rounds of draws double until nothing speaks against one and nothing against the next, or all gradients are taken, or effective
draws grow so slowly that they would not do by far; the next scale has what is left. Only the last round counts: a round that
is chosen because it passed is too good by a little. Where the estimate is not to end when it is trusted (`until_trusted`
False, as in studies) there is one round. Gradients are counted, never seconds: of one seed the same comes out on every day.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.sampled import noise
from foretrain.degeneracy.sampled.chains import error_between, mean_of
from foretrain.degeneracy.sampled.hamiltonian import (
    BLOCK,
    MODES,
    SMALL,
    Draws,
    beyond,
    curvature,
    program,
    refitted,
)
from foretrain.degeneracy.sampled.posterior import Posterior
from foretrain.degeneracy.sampled.sampled_trust import Checks, doubts, growth
from foretrain.errors import integer, real
from foretrain.lazy import jax
from foretrain.words import memory as in_words

QUADRATIC = 0.3  # share of the mean loss that is not quadratic, up to which chains move in units of curvature
CHOSEN = 1.2  # of errors: a round is stated because it passed; by the bench of the study `sampled-parameters`
FROM_START = 4  # one chain in so many begins at w*
PASSES = 64  # in which chains from outside are cooled at most, so that one finds what few do
LEAST = 2000  # gradients of a chain with which a scale is begun
MEMORY = 2**32  # bytes that chains may take
HOPELESS = 3.0  # times the gradients that are left: from that need on a scale is given up
ANGLE = 2.0  # length of a trajectory at the fitted step; where the prior alone acts a turn is 2 pi


@dataclass(frozen=True)
class SampledParameters:
    """N at every scale eps, with its standard error, and what speaks against it.

    `trusted` and `doubts` (lines) are per scale, as are `checks`; where gradients are too few to begin these are None and the
    value is nan. `traces` holds 2 beta (L - L*) along the chains of the last round, thinned, (scale, chain, point), those from
    w* first; `gradients` are all that it took.
    """

    eps: np.ndarray
    value: np.ndarray
    error: np.ndarray
    doubts: list[list[str]]
    checks: list[Checks | None]
    traces: np.ndarray
    gradients: int

    @property
    def trusted(self) -> np.ndarray:
        """True where nothing speaks against the value, shape (scale,)."""
        return np.array([not lines for lines in self.doubts])


def sampled_parameters(
    posterior: Posterior,
    scales: Sequence[float] | np.ndarray | None = None,
    *,
    gradients: int,
    chains: int = 16,
    until_trusted: bool = True,
    seed: int = 0,
    tell: Callable[[str], object] | None = None,
) -> SampledParameters:
    """Sample N(eps) at every scale, larger ones first, until each is trusted or its share of the gradients is taken.

    Scales for which gradients are too few to begin are refused, with what they would take, as are those at which so few do not
    make a first round of whole trajectories, and all smaller ones; all of them where chains take more than `MEMORY`.

    Args:
        posterior: On all data, since a trajectory is taken or refused by the loss of all of them.
        scales: Eps of each, above 0; 1/(2 beta) of the posterior by default, whose beta is not read otherwise.
        gradients: Of all data, in all chains at all scales; what a scale does not need is left to the next.
        chains: Of each scale, a quarter of them from w*.
        until_trusted: True ends a scale as soon as it is trusted; False draws as long as the gradients last, a quarter of
            them before the draws that count, so that errors of several runs are alike.

    Memory: up to `MODES` vectors of parameters, and one gradient of all data for each chain; `tell` gets both.
    """
    wanted = np.atleast_1d(1 / (2 * posterior.beta) if scales is None else np.asarray(scales))
    eps = np.array([real("scales", scale, above=0) for scale in wanted.tolist()])
    integer("chains", chains, minimum=8)
    gradients = integer("gradients", gradients, minimum=1000)
    walk = _Walk(posterior, chains, seed, gradients, tell or (lambda line: None), until_trusted)
    estimates: list[Any] = [None] * len(eps)
    for number, at in enumerate(np.argsort(-eps)):
        if number < walk.fitting:
            left = walk.left / (min(len(eps), walk.fitting) - number)
            estimates[at] = walk.sample(float(eps[at]), left)
        else:
            estimates[at] = walk.refusal
    value, error, doubts, checks, traces = map(list, zip(*estimates, strict=True))
    arrays = np.array(value), np.array(error), doubts, checks, np.stack(traces)
    return SampledParameters(eps, *arrays, walk.gradients)


class _Walk:
    """Chains that go from scale to scale: those from outside on from where they were, the others anew from w*."""

    def __init__(self, posterior, chains, seed, budget, tell, until_trusted=True):
        self.posterior, self.chains, self.seed = posterior, chains, seed
        self.mask = posterior.moving.astype(posterior.flat.dtype)
        self.dimension, self.until_trusted = int(posterior.moving.sum()), until_trusted
        self.width = (1.0 if posterior.pull is None else posterior.pull) ** -0.5
        paths = jax.tree_util.tree_leaves_with_path(posterior.params)
        self.names = [jax.tree_util.keystr(path) for path, _ in paths]
        self.leaf = np.repeat(np.arange(len(paths)), [np.size(leaf) for _, leaf in paths])
        self.data = jax.device_put((posterior.params, posterior.data))
        self.run = program(posterior.losses, len(paths))
        self.calls, self.gradients, self.budget = 0, 0, budget
        random = np.random.default_rng(np.random.SeedSequence([seed & 0xFFFFFFFF, 77]))
        size = (chains - chains // FROM_START, posterior.flat.size)
        self.drawn = lambda: self.mask * random.standard_normal(size).astype(self.mask.dtype)
        self.outside, self.hot = self.drawn(), None
        d = posterior.flat.size
        none = np.zeros((d, d * (d <= SMALL)), self.mask.dtype), np.zeros(d * (d <= SMALL))
        self.modes, self.plain, self.metric, self.whole = none, none, none, False
        zero, log_step = np.zeros((chains, d), self.mask.dtype), np.full(chains, -99.0)
        once = self.run.lower(*self._arguments(zero, log_step, 1.0, 4, 4, 0.0)).compile()
        sizes, kinds = once.memory_analysis(), ("argument", "output", "temp")  # 0 where nobody says
        memory = sum(getattr(sizes, f"{kind}_size_in_bytes", 0) for kind in kinds)
        self.fitting = 0
        if memory > MEMORY:
            self.refused = (
                f"not sampled: {chains} chains, each with all {posterior.n:,} examples, take {in_words(memory)}, more "
                f"than {in_words(MEMORY)}, and Metropolis takes no minibatches; fewer examples or a part of the parameters "
                "would fit"
            )
            tell(f"Sampling: {self.refused}.")
            return
        self._go(zero, log_step, 1.0, 4, 4)  # compiled
        begun, self.gradients = time.process_time(), 0
        self._go(zero, log_step, 1.0, 4, 4)
        each = (time.process_time() - begun) / self.gradients
        affordable = int(0.2 * budget / 3)
        memory += 24 * d * min(MODES, self.dimension, affordable)
        tell(
            f"Sampling: at most {budget:,} gradients of all {posterior.n:,} examples in {chains} chains, "
            f"{budget * each:.0f} s of a core, and {in_words(memory)}."
        )
        self.fitting = int(self.left / (LEAST * chains if until_trusted else 1))  # scales
        self._lacking(LEAST * chains)
        if self.fitting:
            self.modes, self.whole = curvature(
                posterior, self.data, self.mask, self.width, affordable
            )

    @property
    def left(self) -> float:
        return max(self.budget - self.gradients, 0.0)

    @property
    def refusal(self):
        return np.nan, np.nan, [self.refused], None, np.full((self.chains, BLOCK), np.nan)

    def _lacking(self, least):
        few = f"a scale takes {least:,.0f} gradients at least"
        self.refused = f"not sampled: {few}: give more, or fewer examples, of which each takes less"

    def _arguments(self, u, log_step, beta, steps, draws, rate):
        words = noise.words(self.seed, self.chains, self.calls)
        dtype = self.mask.dtype.type
        beta = np.broadcast_to(beta, (self.chains,)).astype(dtype)
        metric = self.metric[0], self.metric[1].astype(dtype)
        numbers = words, beta, int(steps), int(draws), dtype(rate), dtype(self.width)
        return u, log_step.astype(dtype), *numbers, metric, self.mask, self.leaf, *self.data

    def _go(self, u, log_step, beta, steps, draws, rate=0.0):
        """So many draws (at most `BLOCK`) of all chains; places, logarithms of steps, and what is kept."""
        self.calls += 1
        arguments = self._arguments(u, log_step, beta, steps, draws, rate)
        u, log_step, kept = jax.block_until_ready(self.run(*arguments))
        self.gradients += self.chains * (steps + 1) * draws
        kept = Draws(*(np.asarray(part, float)[:, :draws] for part in kept))
        return u, np.asarray(log_step, float), kept

    def _length(self, log_step, budget, draws):
        """Steps of a trajectory: what it should have, or what so many gradients have for so many draws."""
        affordable = budget / (self.chains * draws)
        wanted = ANGLE / np.exp(np.median(log_step))
        return int(max(min(np.ceil(wanted), affordable), 1))

    def _cooled(self, beta, budget):
        """Places and steps at beta: chains from w*, and from outside the farthest of many and, evenly, some of the others."""
        end, took = self.gradients + budget, 0
        u, log_step = self._cooled_once(beta, budget, 4)
        inside, pool = self.chains - len(self.outside), [np.asarray(u)[-len(self.outside) :]]
        while self.until_trusted and len(pool) < PASSES and self.gradients + took < end:
            begun, self.outside, self.hot = self.gradients, self.drawn(), None
            pool.append(self._cooled_once(beta, end - begun, 1)[0][inside:])
            took = self.gradients - begun
        places = np.concatenate(pool)
        near, far = np.split(np.argsort((places**2).sum(1)), [-inside])
        even = np.linspace(0, len(near) - 1, len(self.outside) - inside).astype(int)
        return np.concatenate([u[:inside], places[np.sort(np.r_[near[even], far])]]), log_step

    def _cooled_once(self, beta, budget, draws):
        """Places and steps at beta: chains from w*, and chains from outside that are cooled on the way, by so many draws."""
        inside, end = self.chains - len(self.outside), self.gradients + budget
        u = np.concatenate([np.zeros_like(self.outside[:inside]), self.outside])
        log_step = np.log(np.full(self.chains, 0.2))
        self.metric, kept = self.plain, None
        if self.hot is None:
            for _ in range(30):  # draws of the prior with a loss that overflows begin nearer to w*
                _, _, kept = self._go(u, log_step - 99, 1.0, 1, 1)
                lost = ~np.isfinite(kept.loss[:, 0])
                if not lost.any():
                    break
                u = np.where(lost[:, None], u / 2, u)
            assert kept is not None
            typical = np.median(kept.loss[inside:]) - self.posterior.start_loss
            least = beta * np.finfo(self.mask.dtype).eps
            self.hot = float(np.clip(self.dimension / (2 * max(typical, 1e-300)), least, beta))
        betas = np.repeat([beta, self.hot], [inside, len(self.outside)])
        for rate in (1.0, 0.5, 0.2):
            u, log_step, _ = self._go(u, log_step, betas, 3, 3 * draws, rate)
        rungs = max(int(np.ceil(2 * np.log(beta / self.hot))), 1)
        for left, rung in zip(
            range(rungs, 0, -1), np.geomspace(self.hot, beta, rungs + 1)[1:], strict=True
        ):
            betas[inside:] = rung
            steps = self._length(log_step, (end - self.gradients) / left, draws)
            u, log_step, _ = self._go(u, log_step, betas, steps, draws, 0.3)
        self.hot = beta
        return u, log_step

    def _fitted(self, u, log_step, beta, budget):
        """Places after some draws that fit the steps; the steps, as they are on average, and the last draws."""
        for rate in (0.3, 0.1):
            steps = self._length(log_step, budget / 2, 12)
            u, log_step, kept = self._go(u, log_step, beta, steps, 12, rate)
        return u, log_step, kept

    def sample(self, eps, budget):
        """Value, error, doubts, checks and traces at a scale, by so many gradients."""
        beta, end = 1 / (2 * eps), self.gradients + budget
        u, log_step = self._cooled(beta, budget / 5)
        if self.modes[1].size:
            # In units of curvature at w* directions that turn away from it are slow: only where the loss stays quadratic.
            self.metric = self.modes
            begin = np.log(np.full(self.chains, 0.2))
            there, fitted, kept = self._fitted(u, begin, beta, budget / 20)
            if beyond(kept, self.posterior.start_loss) < QUADRATIC:
                u, log_step = there, fitted
            else:
                self.metric = self.plain
        u, log_step, _ = self._fitted(u, log_step, beta, budget / 10)
        if self.until_trusted:
            least = self.chains * BLOCK * (ANGLE / np.exp(np.median(log_step)) + 1)
            if least > HOPELESS * max(end - self.gradients, 0.0):  # smaller scales take more
                self.fitting = 0
                self._lacking(least)
                return self.refusal
            u, draws, judged = self._rounds(u, log_step, beta, end)
        else:
            u, draws = self._round(
                u, log_step, beta, np.inf, self.gradients + (end - self.gradients) / 4
            )
            u, draws = self._round(u, refitted(log_step, draws), beta, np.inf, end)
            judged = self._judged(draws, beta, 1.0)
        self.outside = np.asarray(u)[-len(self.outside) :]
        trace = 2 * beta * (draws.loss - self.posterior.start_loss)
        return (*judged, trace[:, np.linspace(0, trace.shape[1] - 1, BLOCK).astype(int)])

    def _rounds(self, u, log_step, beta, end):
        """Return places, the draws of the last whole round and what they say; rounds double until two are trusted."""
        last: Any = None
        judged: Any = None
        size, longest, passed = BLOCK, 0, False
        while True:
            begun = self.gradients
            u, draws = self._round(u, log_step, beta, size, end)
            count = draws.loss.shape[1]
            if count >= longest:
                longest, last, judged = count, draws, self._judged(draws, beta)
            value, error, lines, checks = judged
            took, left = self.gradients - begun, max(end - self.gradients, 0.0)
            if count < size or (not lines and (passed or 2 * took >= left)):
                break
            hopeless = growth(value, error, checks) * took
            # A shorter round is worth less than the last.
            if left < took or hopeless > HOPELESS * left:
                if hopeless > took:
                    lines.append(f"at this rate it takes {hopeless:,.0f} gradients or more")
                break
            passed = not lines
            log_step = refitted(log_step, draws)
            size *= 2
        return u, last, judged

    def _round(self, u, log_step, beta, size, end):
        """So many draws with the same steps, fewer where gradients end."""
        blocks, count = [], 0
        while True:
            left = max(end - self.gradients, 0.0)
            steps = self._length(log_step, left, 16 if not blocks else 1)
            fitting = int(left / (self.chains * steps))
            draws = int(np.clip(fitting, 4, min(BLOCK, size - count)))
            u, _, kept = self._go(u, log_step, beta, steps, draws)
            blocks.append(kept)
            count += draws
            if count >= size or fitting < (2 * draws if self.until_trusted else draws + 4):
                break
        return u, Draws(*(np.concatenate(part, 1) for part in zip(*blocks, strict=True)))

    def _judged(self, draws, beta, chosen=CHOSEN):
        """Value, error, doubts and checks."""
        excess = 2 * beta * (draws.loss - self.posterior.start_loss)
        parts = {"loss": excess, "length": draws.square}
        means = {name: mean_of(mean) for name, mean in parts.items()}
        value = means["loss"].value
        moved = draws.accepted.mean()

        def share(drift, size):
            mean = mean_of(drift / size)
            return 1 - mean.value / moved, mean.error / moved, int(size)

        sizes = np.bincount(self.leaf, self.mask, len(self.names))
        moving = [(at, name) for at, name in enumerate(self.names) if sizes[at]]
        leaves = {name: share(draws.drift[..., at], sizes[at]) for at, name in moving}
        curved = beta * self.modes[1]
        checks = Checks(
            virial=share(draws.drift.sum(-1), self.dimension),
            leaves=leaves,
            rhat=max(mean.rhat for mean in means.values()),
            between=max(_disagreement(mean) for mean in parts.values()),
            effective=means["loss"].effective,
            lengths=means["length"].effective,
            curvature=float((curved / (curved + 1)).sum()) if self.whole else np.nan,
            beyond=beyond(draws, self.posterior.start_loss),
            accepted=float(draws.accepted.mean(1).min()),
        )
        error = chosen * max(means["loss"].error, error_between(excess))
        return value, error, doubts(value, error, checks), checks


def _disagreement(values) -> float:
    """Difference of the two groups of chains in standard errors."""
    groups = np.split(values, [len(values) // FROM_START])
    errors = [max(mean_of(group).error, error_between(group)) for group in groups]
    return float(abs(groups[0].mean() - groups[1].mean()) / max(np.linalg.norm(errors), 1e-300))
