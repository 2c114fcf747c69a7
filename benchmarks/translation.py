"""Translation at the note's size: runs a minute by the study's flow, and by descent with the largest stable fixed step.

python benchmarks/translation.py [hidden width] [languages] [words]

One core. Both go through the same lanes and the same gradient to the same loss. Descent gets its step as a gift from the
flow, which has followed the curvature: 1.9 over the largest curvature met, once for every run by itself, which nobody
could know beforehand, and once for all runs together. Runs that end as stuck are left out of the comparison; how long
they take is told first, with the rule that ends them and without it, in which they use up their steps.
"""

import sys
import time
from dataclasses import replace

from foretrain.engine.cores import pin_to_one_core

pin_to_one_core(0)

import numpy as np  # noqa: E402

from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Program, completed  # noqa: E402
from foretrain.engine.lanes import Lanes, Passenger  # noqa: E402
from foretrain.plans.study import traced  # noqa: E402
from foretrain.streams import Seed  # noqa: E402
from foretrain.studies.translation import study as study  # noqa: E402

LANES, MOST = 8, 20_000
SCALES, FRACTIONS, SEEDS = (0.1, 0.03, 0.01), (0.15, 0.3, 0.5, 0.9), 2


def with_curvature(program):
    """The study's program that also stores the largest curvature met."""
    import jax.numpy as jnp

    def init(inputs):
        state = program.init(inputs)
        return state, state[0].curvature

    def step(inputs, stored):
        state = program.step(inputs, stored[0])
        return state, jnp.maximum(stored[1], state[0].curvature)

    return replace(
        program,
        init=init,
        step=step,
        observe=lambda inputs, stored: program.observe(inputs, stored[0]),
        done=lambda inputs, stored, seen: program.done(inputs, stored[0], seen),
        finish=lambda inputs, stored: {
            "curvature": stored[1],
            "pair_error": program.finish(inputs, stored[0])["pair_error"],
        },
    )


def never_stuck(program):
    """The same program that goes on until it converges or its steps are used up."""
    import jax.numpy as jnp

    def done(inputs, stored, seen):
        result = program.done(inputs, stored, seen)
        return jnp.where(result == STALLED, RUNNING, result).astype(jnp.int8)

    return replace(program, done=done)


def descent(parameters, program):
    """Gradient descent with the step ``inputs["rate"]`` on the same loss."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import translation as network
    from foretrain.networks.routing import mean_over

    def step(inputs, weights):
        slope = network.negative_gradient(weights, inputs["trained_pairs"])
        return jax.tree.map(lambda w, g: w + inputs["rate"] * g, weights, slope)

    def observe(inputs, weights):
        errors = network.pair_errors(network.maps(weights))
        return {"loss": mean_over(inputs["trained_pairs"], errors)}

    def done(inputs, weights, seen):
        reached = seen["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, weights):
        return {"pair_error": network.pair_errors(network.maps(weights))}

    own = Program(lambda inputs: program.init(inputs)[0].position, step, observe, done, finish)
    return completed(own, parameters)


def ride(program, fed, steps):
    """All runs through fresh lanes, once to compile and once timed: finished runs by name, and seconds."""
    lanes = Lanes(program, {}, LANES)
    for timed in (False, True):
        began = time.perf_counter()
        lanes.board(
            Passenger(name, {**inputs, "max_steps": np.int32(steps if timed else 40)})
            for name, inputs in fed.items()
        )
        done = []
        while lanes.busy:
            done += lanes.advance()
    return {run.identity: run for run in done}, time.perf_counter() - began


def main(width=32, languages=10, words=32):
    """Measure and print."""
    base = study.Parameters(languages=languages, words=words, hidden_width=width)
    fed = {}
    for scale in SCALES:
        for fraction in FRACTIONS:
            for seed in range(SEEDS):
                cell = replace(base, init_scale=scale, trained_fraction=fraction)
                inputs = traced(cell) | study.inputs(cell, Seed(0, seed))
                inputs |= {"root_seed": np.uint32(0), "seed": np.uint32(seed)}
                fed[f"{scale}/{fraction}/{seed}"] = inputs
    program = completed(study.program(base), base)
    runs, _ = ride(with_curvature(program), fed, base.steps)
    done = {name: run for name, run in runs.items() if run.outcome == CONVERGED}
    print(f"L = {languages}, D = {words}, H = {width}: {len(done)} of {len(runs)} runs converge")
    stored = {name: fed[name] for name, run in runs.items() if run.outcome == STALLED}
    for text, ends in (("end as stuck", program), ("without that end", never_stuck(program))):
        later, seconds = ride(with_curvature(ends), stored, base.steps)
        steps = sum(run.steps_taken for run in later.values())
        print(f"{len(stored)} stuck runs, {text}: {steps} steps, {seconds:.1f} s", flush=True)
    rest = {name: inputs for name, inputs in fed.items() if name in done}
    runs, seconds = ride(with_curvature(program), rest, base.steps)
    report("flow, adaptive", runs, seconds, base.stages + 1, runs)
    own = {name: 1.9 / float(run.finals["curvature"]) for name, run in runs.items()}
    for text, rate in (
        ("descent, own largest step", own),
        ("descent, one step for all", dict.fromkeys(own, min(own.values()))),
    ):
        options = {name: {**rest[name], "rate": np.float64(rate[name])} for name in rest}
        later, seconds = ride(descent(base, program), options, MOST)
        report(text, later, seconds, 1, runs)


def report(text, runs, seconds, each, reference):
    """One line; the last number is the fraction of pairs that both methods judge alike, right or wrong."""
    ended = sum(run.outcome == CONVERGED for run in runs.values())
    gradients = each * np.median([run.steps_taken for run in runs.values()])
    alike = np.mean(
        [
            (run.finals["pair_error"] < 0.1) == (reference[name].finals["pair_error"] < 0.1)
            for name, run in runs.items()
        ]
    )
    print(
        f"{text:26} {60 * ended / seconds:8.0f} runs/min  {gradients:6.0f} gradients a run (median)  "
        f"{ended}/{len(runs)} converge  {alike:.1%} of pairs alike",
        flush=True,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
