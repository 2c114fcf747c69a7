"""The training of study ``image-routing``: gradient flow from statistics, or descent on minibatches."""

import functools
from typing import Any

import numpy as np

from foretrain.arithmetic import arithmetic, float_type
from foretrain.study import CONVERGED, RUNNING, Program, Seed, generator, key
from foretrain.tasks import image_domains, image_files
from foretrain.tasks.image_domains import Domains, Statistics
from foretrain.training.routing import mask

from .study import Parameters

_STAGES = (5, 10, 20, 40, 80, 160)  # a step of the flow takes the fewest that are stable


def domain_data(p: Parameters) -> tuple[Domains, Statistics | None]:
    """Images of all domains, split alike in all runs, and statistics of the whole images (None for minibatches)."""
    source = p.data, p.heldout_fraction, p.features_file
    known = tuple(file.digest for file in image_files.files(p.data, p.features_file))
    division = p.domains if p.transform == "rotation" else 1, p.transform, p.rotation_degrees
    return _domain_data(source, known, division, p.training == "statistics")


@functools.lru_cache(maxsize=2)
def _domain_data(source, known, division, with_statistics):
    data, heldout, features_file = source
    draw = generator(Seed(0, 0), "data")
    images = image_files.load(data, heldout, draw, features_file=features_file)
    domains = image_domains.divided(images, *division)
    return domains, image_domains.statistics(domains) if with_statistics else None


def truncated_statistics(p: Parameters) -> Any:
    """Return the `Statistics` that a network is trained on, without the directions left out; None for minibatches."""
    whole = domain_data(p)[1]
    return whole and image_domains.truncated(whole, p.truncation)


def shared(p: Parameters) -> dict[str, np.ndarray]:
    """Images, labels and statistics, common to all runs."""
    data, trained = domain_data(p)[0], truncated_statistics(p)
    maps, images = data.maps, data.heldout_inputs[:, : p.evaluation_samples]
    if trained is None:
        arrays = {"inputs": data.inputs, "labels": data.labels.astype(np.int32)}
    else:
        arrays = {name: getattr(trained, name) for name in ("scales", "targets", "residual")}
        if maps is None:
            images = images @ trained.bases
        else:
            maps = trained.bases.transpose(0, 2, 1).astype(np.float32) @ maps
    labels = data.heldout_labels[: p.evaluation_samples].astype(np.int32)
    arrays |= {"heldout_inputs": images, "heldout_labels": labels}
    return arrays if maps is None else {**arrays, "maps": maps}


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    return {"trained_pairs": mask(p, seed).astype(float)}


def program(p: Parameters) -> Program:
    return _flow(p) if p.training == "statistics" else _minibatch(p)


def _flow(p):
    """Gradient flow of the linear network with squared error, from statistics; a step is one attempt of its solver."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import chebyshev
    from foretrain.dynamics.direction import gradient_gap
    from foretrain.networks import image_routing as network
    from foretrain.networks.routing import conserved, drift, mean_over

    def velocity(weights, inputs):
        statistics = (inputs["scales"], inputs["targets"])
        return network.negative_gradient(weights, *statistics, inputs["trained_pairs"])

    def first(inputs):
        return _draw(p, inputs, inputs["scales"].shape[-1], inputs["targets"].shape[-2])

    def init(inputs):
        return chebyshev.start(velocity, first(inputs), inputs)

    def step(inputs, state):
        return chebyshev.attempt(velocity, state, inputs, inputs["solver_tolerance"], _STAGES)

    def excess_errors(weights, inputs):
        return network.excess_errors(weights, inputs["scales"], inputs["targets"])

    def observe(inputs, state):
        trained, excess = inputs["trained_pairs"], excess_errors(state.position, inputs)
        loss = excess + jnp.broadcast_to(inputs["residual"], (p.domains,))[:, None]
        power = 0.5 * (inputs["targets"] ** 2).sum((1, 2)).mean()
        return {
            "excess_loss": mean_over(trained, excess) / power,
            "flow_time": state.time,
            **_observed(trained, loss, _heldout(p, inputs, (state.position, None), 1.0)),
        }

    def done(inputs, state, observed):
        learned = observed["excess_loss"] <= inputs["excess_tolerance"]
        ended = learned | (observed["flow_time"] >= inputs["duration"])
        return jnp.where(ended, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        start, trained = first(inputs), inputs["trained_pairs"]
        slope = jax.grad(lambda w: mean_over(trained, excess_errors(w, inputs)))(start)
        moved = jax.tree.map(jnp.negative, velocity(start, inputs))
        return {
            "heldout_accuracy": _heldout(p, inputs, (state.position, None), 1.0),
            "trained_pairs": trained,
            "gradient_gap": gradient_gap(moved, slope),
            "imbalance_drift": drift(state.position, conserved(start)),
        }

    large = _is_large(p, truncated_statistics(p).scales.shape[-1])
    return Program(init, step, observe, done, finish, in_turn=large)


def _minibatch(p):
    """Descent with momentum on minibatches that all routes share."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.direction import gradient_gap
    from foretrain.networks import image_routing as network
    from foretrain.networks.routing import mean_over

    def first(inputs):
        weights = _draw(p, inputs, inputs["inputs"].shape[-1], domain_data(p)[0].classes)
        return weights, network.zero_biases(weights) if p.biases else None

    def init(inputs):
        trained, random = first(inputs), key(inputs["root_seed"], inputs["seed"], "batch")
        return trained, jax.tree.map(jnp.zeros_like, trained), random, jnp.zeros((), jnp.int32)

    def slope(trained, inputs, chosen):
        batch = inputs["inputs"][:, chosen], inputs.get("maps"), inputs["labels"][chosen]
        units = inputs["negative_slope"], p.loss_function
        return jax.grad(network.minibatch_loss)(trained, *batch, inputs["trained_pairs"], *units)

    def step(inputs, state):
        trained, speed, random, number = state
        samples = inputs["labels"].shape[0]
        # Drawn with replacement: a batch is a function of its number, so that no order of an epoch has to be kept.
        chosen = jax.random.randint(jax.random.fold_in(random, number), (p.batch_size,), 0, samples)
        push = slope(trained, inputs, chosen)
        speed = jax.tree.map(lambda v, g: inputs["momentum"] * v + g, speed, push)
        trained = jax.tree.map(lambda w, v: w - inputs["learning_rate"] * v, trained, speed)
        return trained, speed, random, number + 1

    def losses(trained, inputs, some):
        batch = inputs["inputs"][:, some], inputs.get("maps"), inputs["labels"][some]
        units = inputs["negative_slope"], p.loss_function
        return network.evaluate(trained[0], trained[1], *batch, *units)[0]

    def observe(inputs, state):
        accuracy = _heldout(p, inputs, state[0], inputs["negative_slope"])
        loss = losses(state[0], inputs, slice(p.evaluation_samples))
        rate = inputs["learning_rate"] / (1 - inputs["momentum"])
        return {"flow_time": state[3] * rate, **_observed(inputs["trained_pairs"], loss, accuracy)}

    def finish(inputs, state):
        start, pairs, some = first(inputs), inputs["trained_pairs"], slice(p.batch_size)
        direct = jax.grad(lambda network: mean_over(pairs, losses(network, inputs, some)))(start)
        return {
            "heldout_accuracy": _heldout(p, inputs, state[0], inputs["negative_slope"]),
            "trained_pairs": pairs,
            "gradient_gap": gradient_gap(slope(start, inputs, some), direct),
        }

    large = _is_large(p, domain_data(p)[0].inputs.shape[-1])
    return Program(init, step, observe, finish=finish, in_turn=large)


def _is_large(p, input_size) -> bool:
    """Return True where the encoders of one run fill the cache of a core, so that runs side by side gain nothing."""
    return 4 * p.domains * p.hidden_width * input_size > 2**20


def start(p: Parameters, seed: Seed):
    """The weights that a run from statistics begins with, encoders in the eigenbasis of their domain: JAX arrays."""
    trained, scale = truncated_statistics(p), float_type(p.precision).type(p.init_scale)
    root, number = np.uint32(seed.root), np.uint32(seed.number)
    inputs = {"root_seed": root, "seed": number, "init_scale": scale}
    with arithmetic(p.precision):
        return _draw(p, inputs, trained.scales.shape[-1], trained.targets.shape[-2])


def _draw(p, inputs, input_size, classes):
    from foretrain.networks import image_routing as network

    random = key(inputs["root_seed"], inputs["seed"], "weights")
    size = (p.domains, p.hidden_width, input_size, classes)
    dtype = float_type(p.precision)
    return network.random_weights(random, *size, inputs["init_scale"], law=p.init_law, dtype=dtype)


def _heldout(p, inputs, trained, slope):
    """Accuracy of every route on held-out images, shape (input_domain, output_domain)."""
    from foretrain.networks import image_routing as network

    batch = inputs["heldout_inputs"], inputs.get("maps"), inputs["heldout_labels"]
    return network.evaluate(trained[0], trained[1], *batch, slope, p.loss_function)[1]


def _observed(trained, loss, accuracy):
    """Return means of loss and accuracy over trained and over untrained routes."""
    from foretrain.networks.routing import mean_over

    return {
        "loss": mean_over(trained, loss),
        "untrained_loss": mean_over(1 - trained, loss),
        "trained_accuracy": mean_over(trained, accuracy),
        "untrained_accuracy": mean_over(1 - trained, accuracy),
    }
