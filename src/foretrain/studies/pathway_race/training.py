"""The training of study ``pathway-race``: modules, with or without full sharing, along gradient flow or by descent."""

from typing import Any

import numpy as np

from foretrain.study import Program, Seed, generator
from foretrain.training.routing import items_task

from .study import Parameters, part_factors


def part_scales(p: Parameters) -> list[float]:
    return [p.init_scale] + [p.init_scale * p.full_sharing_scale] * p.against_full_sharing


def descent_step(p: Parameters) -> float:
    """Step of plain descent: `learning_rate` over the curvature along mode 1 at the end, in the steepest part.

    At B2 = sqrt(r) B1 the error of a mode decays at 3 outer r^(1/3) times D G^(4/3).
    """
    data = items_task(p.level_weights)
    curvature = max(3 * f.outer * f.ratio ** (1 / 3) for f in part_factors(p))
    gain, variance = (data.singular_values / data.variances)[0], data.variances[0]
    return p.learning_rate / float(curvature * variance * gain ** (4 / 3))


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    from foretrain.networks.modular_routing import decoupled_modules, random_modules

    data, random = items_task(p.level_weights), generator(seed, "weights")
    x, u, v = data.inputs[0], data.output_modes, data.input_modes[0]
    scales, factors = part_scales(p), part_factors(p)
    arrays = {
        "task_inputs": x,
        "task_targets": data.targets[0],
        "output_modes": u,
        "input_modes": v,
        "probe": np.linalg.pinv(x) @ v,
        "singular_values": data.singular_values,
        "variances": data.variances,
        "outer": np.array([f.outer for f in factors]),
        "ratio": np.array([f.ratio for f in factors]),
        "scales": np.array(scales),
        "descent_step": np.float64(descent_step(p)),
        "adapt": np.float64(p.dynamics == "flow"),
    }
    schemes = [(p.paths, p.shared_encoders), (p.domains**2, False)]
    for number, (scale, (paths, shared)) in enumerate(zip(scales, schemes, strict=False)):
        size = p.domains, paths, p.hidden_width
        if p.init_law == "decoupled":
            part = decoupled_modules(random, u, v, *size, shared_encoders=shared)
        else:
            part = random_modules(random, *size, len(x), len(u), shared_encoders=shared)
        for name, weights in part._asdict().items():
            arrays[f"part{number}_{name}"] = scale * weights
    return arrays


def program(p: Parameters) -> Program:
    """Gradient flow by steps that adapt, or descent.

    An adaptive step is the smaller of `step_fraction` over the fastest growth rate of a mode, outer e (sigma + B2), and
    `learning_rate` over the curvature, with B2 and the curvature read off the strengths of all routes.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.networks import modular_routing as network

    def init(inputs):
        names = network.Modules._fields
        start = tuple(
            network.Modules(*(inputs[f"part{n}_{name}"] for name in names))
            for n in range(1 + p.against_full_sharing)
        )
        return start, jnp.zeros((), inputs["task_inputs"].dtype)

    def loss(weights, inputs):
        return network.loss(weights, inputs["task_inputs"], inputs["task_targets"])

    def strengths(each, inputs):
        return network.strengths(each, inputs["output_modes"], inputs["probe"])

    def step_size(inputs, routes):
        s, d = inputs["singular_values"], inputs["variances"]
        outer, ratio = inputs["outer"][:, None], inputs["ratio"][:, None]
        error = jnp.abs(s - d * routes.sum(0)).max((0, 1))
        strongest = jnp.abs(routes).max((1, 2))
        hidden = jnp.cbrt(ratio * strongest)
        growth = (outer * error * (inputs["scales"][:, None] + hidden)).max()
        curvature = (3 * outer * jnp.cbrt(ratio) * d * jnp.cbrt(strongest) ** 4).sum(0).max()
        adapted = jnp.minimum(inputs["step_fraction"] / growth, inputs["learning_rate"] / curvature)
        return jnp.where(inputs["adapt"] > 0, adapted, inputs["descent_step"])

    def step(inputs, state):
        weights, elapsed = state
        slope, each = jax.grad(loss, has_aux=True)(weights, inputs)
        size = step_size(inputs, strengths(each, inputs))
        return jax.tree.map(lambda w, g: w - size * g, weights, slope), elapsed + size

    def observe(inputs, state):
        weights, elapsed = state
        value, each = loss(weights, inputs)
        mean = strengths(each, inputs).mean((1, 2))
        return {"loss": value, "elapsed": elapsed, "part_strength": mean}

    def finish(inputs, state):
        weights, _ = state
        _, each = loss(weights, inputs)
        gain = strengths(each, inputs).mean((1, 2))
        both = inputs["output_modes"], inputs["input_modes"]
        outer = jnp.stack([network.outer_power(part, *both) for part in weights])
        return {"weight_ratio": gain / outer**1.5}

    return Program(init, step, observe, finish=finish)
