"""The training of study ``routing``: random or decoupled start, descent or flow from statistics, and what is observed."""

import jax
import jax.numpy as jnp

from foretrain.dynamics.flow import fixed_step
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.networks import routing as network
from foretrain.streams import key
from foretrain.tasks.domains import Task


def program(parameters) -> Program:
    """The program of one static signature; see `foretrain.dynamics.program.Program`."""
    dtype = jnp.dtype(parameters.precision)

    def init(inputs):
        random = key(inputs["root_seed"], inputs["seed"], "weights")
        task = _unpack(inputs)
        size = (parameters.domains, parameters.hidden_width)
        scale = inputs["init_scale"]
        if parameters.init_law == "decoupled":
            weights = network.decoupled_weights(
                random, task.output_modes, task.input_modes[0], *size, scale, dtype=dtype
            )
            # Every domain starts on its own modes, which differ where the domains' inputs do.
            rotation = jnp.einsum("dm,iem->ide", task.input_modes[0], task.input_modes)
            encoders = jnp.einsum("ihd,ide->ihe", weights.encoders, rotation)
            weights = weights._replace(encoders=encoders)
        else:
            weights = network.random_weights(
                random,
                *size,
                task.inputs.shape[1],
                task.output_modes.shape[0],
                scale,
                law=parameters.init_law,
                dtype=dtype,
            )
        return weights, network.conserved(weights)

    def velocity(weights, inputs):
        task = _unpack(inputs)
        return network.negative_gradient(
            weights, task.inputs, task.targets, inputs["trained_pairs"]
        )

    def step(inputs, state):
        weights, start = state
        if parameters.dynamics == "flow":
            return fixed_step(velocity, weights, inputs, inputs["rate"]), start
        slope = velocity(weights, inputs)
        return jax.tree.map(lambda w, g: w + inputs["rate"] * g, weights, slope), start

    def observe(inputs, state):
        weights, start = state
        task, trained = _unpack(inputs), inputs["trained_pairs"]
        error = network.pair_errors(weights, task.inputs, task.targets)
        error = error + jnp.broadcast_to(task.residual, (parameters.domains,))[:, None]
        singular = lambda matrix: jnp.linalg.svd(matrix, compute_uv=False)  # noqa: E731
        modes = task.singular_values.shape[0]
        layers = [
            singular(weights.encoders)[:, :modes].mean(0),
            singular(weights.hidden)[:modes],
            singular(weights.decoders)[:, :modes].mean(0),
        ]
        whole = jnp.einsum(
            "jog,gh,ihd,om,idn->ijmn",
            weights.decoders,
            weights.hidden,
            weights.encoders,
            task.output_modes,
            jnp.broadcast_to(task.input_modes, (parameters.domains, *task.input_modes.shape[1:])),
        )
        # A tolerance well above rounding and far below any gap between distinct modes of these data.
        strengths = task.singular_values
        block = jnp.abs(strengths[:, None] - strengths[None]) <= 1e-4 * strengths[0]
        mass = (whole**2).sum((2, 3))
        outside = jnp.where(block, 0, whole**2).sum((2, 3))
        drift = [q - q0 for q, q0 in zip(network.conserved(weights), start, strict=True)]
        observed = {
            "loss": network.mean_over(trained, error),
            "untrained_error": network.mean_over(1 - trained, error),
            "singular_values": jnp.stack(layers),
            "mode_strength": (jnp.einsum("ijmm->ijm", whole) * trained[:, :, None]).sum((0, 1))
            / trained.sum(),
            "off_diagonal_mass": (outside * trained).sum() / (mass * trained).sum(),
            "conserved_drift": jnp.sqrt(sum((d**2).sum() for d in drift))
            / (weights.hidden**2).sum(),
        }
        if parameters.data == "digits":
            _, error = _heldout(weights, task)
            observed["heldout_error"] = network.mean_over(trained, error)
            observed["heldout_untrained_error"] = network.mean_over(1 - trained, error)
        return observed

    def _heldout(weights, task):
        result = network.outputs(weights, jnp.swapaxes(task.heldout_inputs, 1, 2))
        error = 0.5 * ((result - task.heldout_targets.T) ** 2).sum(2).mean(-1)
        return result, error

    def done(inputs, state, observed):
        tolerance = inputs["loss_tolerance"]
        reached = (tolerance > 0) & (observed["loss"] <= tolerance)
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        weights, _ = state
        task = _unpack(inputs)
        error = network.pair_errors(weights, task.inputs, task.targets)
        finals = {
            "pair_error": error + jnp.broadcast_to(task.residual, (parameters.domains,))[:, None],
            "trained_pairs": inputs["trained_pairs"],
            "mode_singular_value": task.singular_values,
            "mode_variance": task.variances,
            "mode_optimum": task.optimum,
        }
        if parameters.data == "digits":
            result, _ = _heldout(weights, task)
            right = result.argmax(2) == task.heldout_targets.argmax(1)
            return {**finals, "heldout_accuracy": right.mean(-1).astype(dtype)}
        items = jnp.broadcast_to(jnp.eye(task.inputs.shape[1], dtype=dtype), (1, 4, 4))
        hidden = weights.encoders.transpose(0, 2, 1).reshape(-1, parameters.hidden_width)
        return {
            **finals,
            "outputs": network.outputs(weights, items),
            "similarity": hidden @ hidden.T,
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def _unpack(inputs) -> Task:
    return Task(*(inputs[f"task_{name}"] for name in Task._fields))
