"""The training of study ``routing``: random or decoupled start, and descent or flow from statistics."""

from typing import Any

import numpy as np

from foretrain.networks.routing_start import Weights, decoupled_start, random_start
from foretrain.study import Program, Seed, float_type, generator
from foretrain.tasks.domains import Task
from foretrain.training.routing import first_half, item_ends, maps, mask, paper_rate

from .study import Parameters, task


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    data = task(p, seed)
    return {
        **{f"task_{name}": value for name, value in data._asdict().items()},
        "trained_pairs": mask(p, seed).astype(float),
        "maps": maps(p.domains, p.disagreement),
        **{f"start_{name}": value for name, value in start(p, seed)._asdict().items()},
        "rate": np.float64(paper_rate(p, data.targets.shape[1])),
    }


def start(p: Parameters, seed: Seed) -> Weights:
    """Return the start of one run, drawn here so that theory knows it."""
    data, random = task(p, seed), generator(seed, "weights")
    size = p.domains, p.hidden_width
    if p.init_law == "decoupled":
        drawn = decoupled_start(random, *size, data.input_modes, data.output_modes)
    else:
        ends = data.inputs.shape[1], data.output_modes.shape[0]
        drawn = random_start(random, *size, *ends, p.init_law)
    return Weights(*(p.init_scale * matrices for matrices in drawn))


def program(p: Parameters) -> Program:
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.adaptive import fixed_step
    from foretrain.dynamics.direction import gradient_gap
    from foretrain.networks import routing as network

    dtype = float_type(p.precision)

    def init(inputs):
        weights = Weights(*(inputs[f"start_{name}"].astype(dtype) for name in Weights._fields))
        loss = lambda w: network.mean_over(inputs["trained_pairs"], errors(w, inputs))  # noqa: E731
        slope = jax.tree.map(jnp.negative, jax.grad(loss)(weights))
        return weights, network.conserved(weights), gradient_gap(velocity(weights, inputs), slope)

    def velocity(weights, inputs):
        task = _unpack(inputs)
        return network.negative_gradient(
            weights, task.inputs, task.targets, inputs["trained_pairs"], inputs["maps"]
        )

    def step(inputs, state):
        weights, *kept = state
        if p.dynamics == "flow":
            return fixed_step(velocity, weights, inputs, inputs["rate"]), *kept
        slope = velocity(weights, inputs)
        return jax.tree.map(lambda w, g: w + inputs["rate"] * g, weights, slope), *kept

    def errors(weights, inputs):
        task = _unpack(inputs)
        error = network.pair_errors(weights, task.inputs, task.targets, inputs["maps"])
        return error + jnp.broadcast_to(task.residual, (p.domains,))[:, None]

    def observe(inputs, state):
        weights, start, _ = state
        task, trained = _unpack(inputs), inputs["trained_pairs"]
        error = errors(weights, inputs)
        whole = network.in_modes(weights, task.output_modes, task.input_modes)
        observed = {
            "loss": network.mean_over(trained, error),
            "untrained_error": network.mean_over(1 - trained, error),
            "singular_values": network.singular_values(weights, whole.shape[-1]),
            "mode_strength": network.mode_strength(whole, trained),
            "off_diagonal_mass": network.off_diagonal_mass(whole, trained, task.singular_values),
            "conserved_drift": network.drift(weights, start),
        }
        if p.data == "hierarchy":
            within, between = network.alike(weights.encoders, first_half(p.domains))
            observed |= {"alike_within": within, "alike_between": between}
        else:
            _, error = _heldout(weights, task)
            observed["heldout_error"] = network.mean_over(trained, error)
            observed["heldout_untrained_error"] = network.mean_over(1 - trained, error)
        return observed

    def _heldout(weights, task):
        result = network.outputs(weights, jnp.swapaxes(task.heldout_inputs, 1, 2))
        error = 0.5 * ((result - task.heldout_targets.T) ** 2).sum(2).mean(-1)
        return result, error

    def finish(inputs, state):
        weights, _, gap = state
        task = _unpack(inputs)
        finals = {
            "pair_error": errors(weights, inputs),
            "trained_pairs": inputs["trained_pairs"],
            "gradient_gap": gap,
            "mode_singular_value": task.singular_values,
            "mode_variance": task.variances,
            "mode_optimum": task.optimum,
        }
        if p.data == "digits":
            result, _ = _heldout(weights, task)
            right = result.argmax(2) == task.heldout_targets.argmax(1)
            return {**finals, "heldout_accuracy": right.mean(-1).astype(dtype)}
        return {**finals, **item_ends(weights)}

    return Program(init, step, observe, finish=finish)


def _unpack(inputs) -> Task:
    return Task(*(inputs[f"task_{name}"] for name in Task._fields))
