"""Which sampler of effective parameters gives most: trusted effective draws, on the bench of `sampled_parameters`.

    python benchmarks/sampler_choice.py                      every network, two seeds: half an hour of a core
    python benchmarks/sampler_choice.py --seeds 3 --network "w⁴ × 6" "tanh, pair"

All get the same number of gradients of all data, and are held to the known value. Beside the default of `analyze`:

- `from w*`: the same with all chains from the weights, none from outside;
- `exchange 0.5`, `1`, `2`: replica exchange. Each of eight chains is a ladder of places at inverse temperatures from one at
  which the prior holds sway up to that of the scale, so far apart in the logarithm from rung to rung; between trajectories
  neighbours of a ladder change places with the probability that leaves the density as it is. Starts, checks and thresholds
  are those of the default;
- `baoab` and `sgld` of `sampled_parameters/samplers.py`, whose steps are biased: four chains from w*, trusted as chains that
  agree and have come round are.

Gradients count, not seconds: these networks are so small that seconds are those of the calls, and gradients are what a network
of use takes. Seconds of a core are told as what they were.
"""

import argparse
import time
from collections import defaultdict
from functools import partial

import numpy as np
from sampled_parameters.bench import DEFAULT, case
from sampled_parameters.samplers import estimate
from sampled_parameters.study import around, known

from foretrain.degeneracy.sampled import effective_parameters

GRADIENTS, SPACINGS, LADDERS = 400_000, (0.5, 1.0, 2.0), 8


def from_weights(walk):
    """All chains begin at the weights."""
    walk.drawn = lambda: 0 * walk.outside
    walk.outside = walk.drawn()


def exchange(spacing, walk):
    """Chains are the coldest rungs of ladders."""
    import jax

    from foretrain.degeneracy.sampled.hamiltonian import BLOCK, Draws

    losses = walk.posterior.losses
    at = jax.vmap(lambda u, params, data: losses(_moved(params, u), data).mean(), (0, None, None))
    loss_at = jax.jit(at)
    random = np.random.default_rng(walk.seed)

    def swapped(u, betas, first):
        """Places after neighbours (rung, rung + 1) were tried, from `first` on by twos; shape (ladder, rung, d)."""
        loss = np.asarray(loss_at(u.reshape(-1, u.shape[-1]), *walk.data)).reshape(u.shape[:2])
        for rung in range(first, len(betas) - 1, 2):
            gain = (betas[rung + 1] - betas[rung]) * (loss[:, rung + 1] - loss[:, rung])
            yes = np.log(random.random(len(u))) < gain
            both = u[yes, rung : rung + 2]
            u[yes, rung : rung + 2] = both[:, ::-1]
        return u

    def sample(eps, budget):
        beta, end = 1 / (2 * eps), walk.gradients + budget
        u, log_step = walk._cooled(beta, budget / 10)  # of as many chains as there are ladders
        hot = min(walk.hottest, beta)
        rungs = max(int(np.ceil(np.log(beta / hot) / spacing)), 1) + 1
        betas = np.geomspace(hot, beta, rungs)
        whole, walk.chains = walk.chains, LADDERS * rungs
        u = np.repeat(np.asarray(u)[:, None], rungs, 1)
        log_step = np.repeat(np.asarray(log_step)[:, None], rungs, 1)
        walk.metric, every, kept, rate, number = walk.plain, np.tile(betas, LADDERS), [], 0.3, 0
        warm = walk.gradients + (end - walk.gradients) / 4
        while walk.gradients < end or len(kept) < 16:
            steps = walk._length(log_step[:, -1], max(end - walk.gradients, 0.0), 1)
            flat = u.reshape(-1, u.shape[-1])
            flat, log_step, draws = walk._go(flat, log_step.ravel(), every, steps, 1, rate)
            log_step = log_step.reshape(LADDERS, rungs)
            u = swapped(np.array(flat).reshape(u.shape), betas, number % 2)
            number += 1
            if walk.gradients > warm:
                rate = 0.0
                kept.append(
                    [part.reshape(LADDERS, rungs, *part.shape[1:])[:, -1] for part in draws]
                )
        walk.chains = whole
        draws = Draws(*(np.concatenate(part, 1) for part in zip(*kept, strict=True)))
        trace = 2 * beta * (draws.loss - walk.posterior.start_loss)
        places = np.linspace(0, trace.shape[1] - 1, BLOCK).astype(int)
        return (*walk._judged(draws, beta), trace[:, places])

    begin = walk._cooled

    def cooled(beta, budget):
        """Keeps where cooling began: the hottest rung."""
        go = walk._go

        def watched(*arguments, **options):
            if walk.hot is not None and walk.hottest is None:
                walk.hottest = walk.hot
            return go(*arguments, **options)

        walk.hottest, walk._go = None, watched
        cold = begin(beta, budget)
        walk._go = go
        return cold

    walk._cooled, walk.sample = cooled, sample


def _moved(params, u):
    from jax.flatten_util import ravel_pytree

    flat, unravel = ravel_pytree(params)
    return unravel(flat + u)


def metropolised(change, chains):
    """An estimate by the sampler of `analyze`, changed so: value, error, trusted, effective draws, gradients."""

    def run(network, eps, gradients, seed):
        original = effective_parameters._Walk

        class Changed(original):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                change(self)

        effective_parameters._Walk = Changed
        try:
            estimates = effective_parameters.sampled_parameters(
                around(network, 1.0), [eps], gradients=gradients, chains=chains, seed=seed
            )
        finally:
            effective_parameters._Walk = original
        checks = estimates.checks[0]
        effective = checks.effective if checks else 0.0
        return (
            estimates.value[0],
            estimates.error[0],
            bool(estimates.trusted[0]),
            effective,
            estimates.gradients,
        )

    return run


def biased(sampler):
    """The same by a sampler whose steps are biased."""

    def run(network, eps, gradients, seed):
        draws = gradients // 8  # four chains, half of their draws warm up
        values = estimate(around(network, 1 / (2 * eps)), sampler, draws=draws, seed=seed)
        return values.value, values.error, values.trusted, values.effective, values.gradients

    return run


SAMPLERS = {
    "default": metropolised(lambda walk: None, 16),
    "from w*": metropolised(from_weights, 16),
    **{f"exchange {at:g}": metropolised(partial(exchange, at), LADDERS) for at in SPACINGS},
    "baoab": biased("baoab"),
    "sgld": biased("sgld"),
}


def main(names, seeds, eps, gradients):
    """The table, and a line for each estimate."""
    import jax

    rows = defaultdict(list)
    with jax.enable_x64(True):
        for network in names:
            if case(network).batch:  # of all data alone
                continue
            exact, off = known(network, eps)
            for name, run in SAMPLERS.items():
                for seed in range(seeds):
                    begun = time.process_time()
                    many = int(gradients * case(network).share)
                    value, error, trusted, effective, taken = run(network, eps, many, seed)
                    spent = time.process_time() - begun
                    inside = abs(value - exact) <= 1.96 * np.hypot(error, off)
                    trap = case(network).trap
                    rows[name].append((trap, trusted, inside, effective, taken, spent))
                    print(
                        f"{network:28} {name:12} {value:8.3f} ± {error:6.3f} of {exact:8.3f} {'trusted' if trusted else '':8}"
                        f"{'inside' if inside else '':7} {effective:8.0f} draws {taken:9,} gradients {spent:6.1f} s",
                        flush=True,
                    )
    print(
        "\n| sampler | trusted | inside, of these | traps trusted | trusted effective draws, of a million gradients |"
    )
    print("|---|---:|---:|---:|---:|")
    for name, tries in rows.items():
        fair = [row for row in tries if not row[0]]
        trusted = [row for row in fair if row[1]]
        rate = 1e6 * sum(row[3] for row in trusted) / max(sum(row[4] for row in fair), 1)
        traps = [row for row in tries if row[0]]
        inside, fooled = sum(row[2] for row in trusted), sum(row[1] for row in traps)
        print(
            f"| {name} | {len(trusted)} of {len(fair)} | {inside} | {fooled} of {len(traps)} | {rate:,.0f} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", nargs="+", default=DEFAULT)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--eps", type=float, default=0.01)
    parser.add_argument("--gradients", type=int, default=GRADIENTS)
    chosen = parser.parse_args()
    main(chosen.network, chosen.seeds, chosen.eps, chosen.gradients)
