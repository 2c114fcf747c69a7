"""How a run of the study ``image-routing`` is trained: by gradient flow from statistics, or from minibatches."""

import jax
import jax.numpy as jnp

from foretrain.dynamics import chebyshev
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.networks import image_routing as network
from foretrain.networks.routing import mean_over
from foretrain.streams import key
from foretrain.studies.image_routing import study


def flow(p: study.Parameters) -> Program:
    """Gradient flow of the linear network with squared error, from statistics; a step is one attempt of its solver."""

    def velocity(weights, inputs):
        statistics = (inputs["scales"], inputs["targets"])
        return network.negative_gradient(weights, *statistics, inputs["trained_pairs"])

    def init(inputs):
        weights = _draw(p, inputs, inputs["scales"].shape[-1], inputs["targets"].shape[-2])
        return chebyshev.start(velocity, weights, inputs)

    def step(inputs, state):
        return chebyshev.attempt(velocity, state, inputs, inputs["solver_tolerance"], p.stages)

    def observe(inputs, state):
        trained, weights = inputs["trained_pairs"], state.position
        excess = network.excess_errors(weights, inputs["scales"], inputs["targets"])
        loss = excess + jnp.broadcast_to(inputs["residual"], (p.domains,))[:, None]
        power = 0.5 * (inputs["targets"] ** 2).sum((1, 2)).mean()
        return {
            "loss": mean_over(trained, loss),
            "untrained_loss": mean_over(1 - trained, loss),
            "excess_loss": mean_over(trained, excess) / power,
            "flow_time": state.time,
            **_accuracies(trained, _heldout(inputs, weights, None, 1.0, p.loss)[1]),
        }

    def done(inputs, state, observed):
        learned = observed["excess_loss"] <= inputs["excess_tolerance"]
        ended = learned | (observed["flow_time"] >= inputs["duration"])
        return jnp.where(ended, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        accuracy = _heldout(inputs, state.position, None, 1.0, p.loss)[1]
        return {"heldout_accuracy": accuracy, "trained_pairs": inputs["trained_pairs"]}

    return Program(init, step, observe, done, finish, p.observe_every, p.precision)


def minibatch(p: study.Parameters) -> Program:
    """Descent with momentum on minibatches that all routes share."""
    classes = study.domain_data(p)[0].classes

    def init(inputs):
        weights = _draw(p, inputs, inputs["inputs"].shape[-1], classes)
        trained = (weights, network.zero_biases(weights) if p.biases else None)
        random = key(inputs["root_seed"], inputs["seed"], "batch")
        return trained, jax.tree.map(jnp.zeros_like, trained), random, jnp.zeros((), jnp.int32)

    def step(inputs, state):
        trained, speed, random, number = state
        samples = inputs["labels"].shape[0]
        # Drawn with replacement: a batch is a function of its number, so that no order of an epoch has to be kept.
        chosen = jax.random.randint(jax.random.fold_in(random, number), (p.batch_size,), 0, samples)
        slope = jax.grad(network.minibatch_loss)(
            trained,
            inputs["inputs"][:, chosen],
            inputs.get("maps"),
            inputs["labels"][chosen],
            inputs["trained_pairs"],
            inputs["negative_slope"],
            p.loss,
        )
        speed = jax.tree.map(lambda v, g: inputs["momentum"] * v + g, speed, slope)
        trained = jax.tree.map(lambda w, v: w - inputs["learning_rate"] * v, trained, speed)
        return trained, speed, random, number + 1

    def observe(inputs, state):
        network_now, pairs = state[0], inputs["trained_pairs"]
        some = slice(p.evaluation_samples)
        slope, maps = inputs["negative_slope"], inputs.get("maps")
        images_now, labels = inputs["inputs"][:, some], inputs["labels"][some]
        losses, _ = network.evaluate(*network_now, images_now, maps, labels, slope, p.loss)
        _, accuracy = _heldout(inputs, *network_now, slope, p.loss)
        rate = inputs["learning_rate"] / (1 - inputs["momentum"])
        return {
            "loss": mean_over(pairs, losses),
            "untrained_loss": mean_over(1 - pairs, losses),
            "flow_time": state[3] * rate,
            **_accuracies(pairs, accuracy),
        }

    def done(inputs, state, observed):
        return jnp.int8(RUNNING)

    def finish(inputs, state):
        _, accuracy = _heldout(inputs, *state[0], inputs["negative_slope"], p.loss)
        return {"heldout_accuracy": accuracy, "trained_pairs": inputs["trained_pairs"]}

    return Program(init, step, observe, done, finish, p.observe_every, p.precision)


def _draw(p, inputs, input_size, classes):
    random = key(inputs["root_seed"], inputs["seed"], "weights")
    size = (p.domains, p.hidden_width, input_size, classes)
    dtype = jnp.dtype(p.precision)
    return network.random_weights(random, *size, inputs["gain"], law=p.init_law, dtype=dtype)


def _heldout(inputs, weights, biases, slope, loss):
    images_held, labels = inputs["heldout_inputs"], inputs["heldout_labels"]
    return network.evaluate(weights, biases, images_held, inputs.get("maps"), labels, slope, loss)


def _accuracies(trained, accuracy):
    return {
        "trained_accuracy": mean_over(trained, accuracy),
        "untrained_accuracy": mean_over(1 - trained, accuracy),
    }
