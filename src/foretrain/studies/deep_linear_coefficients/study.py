"""Deep linear networks: sampled learning coefficients against their closed form, and where sampling falls short."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import RUNNING, Program, Run, argument_error, declare, default, parameter
from foretrain.theory.aoyagi import deep_linear

SOURCE = "Aoyagi (2024), Theorem 1"
COST = "1 min"
REFERENCES = ("aoyagi2024", "lau2023", "bushnaq2024degeneracy")
SEEDS = 5
# Widths from inputs to outputs, and the rank of what is realised.
NETWORKS = (
    "5-3-5 r0", "5-4-5 r0", "4-3-8 r0", "3-8-4 r0", "2-2-2 r0", "3-3-3 r0", "4-4-4 r0", "5-5-5 r0", "6-2-6 r0", "8-3-4 r0",
    "4-1-3 r0", "6-1-6 r0", "2-1-2 r0", "7-5-6 r0", "2-2-2 r1", "3-3-3 r1", "4-4-4 r1", "4-4-4 r2", "5-3-5 r1", "5-3-5 r2",
    "6-4-5 r2", "8-6-4 r3", "3-8-3 r1", "3-3-3-3 r0", "4-4-4-4 r0", "5-3-4-5 r0", "2-3-4-5 r0", "3-3-3-3 r1",
    "4-4-4-4 r1", "4-4-4-4 r2", "6-3-3-6 r1", "8-4-4-8 r2", "5-2-6-4 r1", "4-2-2-4 r2",
)  # fmt: skip
AXES = {"network": NETWORKS, "beta": (1000.0, 100.0)}
PRESETS = {"paper": {"seeds": 20, "steps": 8000, "beta": (1e3, 100.0, 1e4, 1e5)}}
WIDEST, DEPTH, LEAPS = 8, 3, 8
declare(
    "step",
    sampled_coefficient="beta times the mean of the loss, over all steps after the first quarter.",
    acceptance="Mean share of proposals that were taken.",
)
declare(limit="Learning coefficient, by the closed form.")
declare(kind="int", multiplicity="Multiplicity of it, by the closed form.")


@dataclass(frozen=True)
class Parameters(Run):
    """The loss |W_L ... W_1 - its value at a map of that rank|^2 under a Gaussian prior around balanced weights."""

    network: str = parameter("5-3-5 r0", "widths, inputs first, and rank of the map, as 5-3-5 r0")
    beta: float = parameter(1000.0, "inverse temperature of the loss", above=0)
    pull: float = parameter(1.0, "gamma, precision of the prior around the weights", above=0)
    sampler: str = parameter(
        "hamiltonian",
        "paths of eight leaps, each taken or not so that no bias is left, or as many Langevin steps, all taken",
        choices=("hamiltonian", "langevin"),
        static=True,
        sweepable=False,
    )
    steps: int = default(1000)
    observe_every: int = default(100)


def parsed(network: str) -> tuple[list[int], int]:
    """Widths and rank."""
    try:
        text, rank = network.split(" r")
        widths = [int(width) for width in text.split("-")]
        found = widths, int(rank)
    except ValueError:
        raise argument_error("network", "be like 5-3-5 r0", f"is {network!r}") from None
    if not 3 <= len(widths) <= DEPTH + 1 or max(widths) > WIDEST or min(widths) < 1:
        rule = f"have 3 or {DEPTH + 1} widths from 1 to {WIDEST}"
        raise argument_error("network", rule, f"is {network!r}")
    return found


def check(p):
    """The network is well written, and its rank fits through."""
    widths, rank = parsed(p.network)
    deep_linear(widths, rank)


def variants(p):
    """Beside exact sampling, Langevin steps without correction, as long as Metropolis would still take four in five."""
    return {"langevin": {"sampler": "langevin"}} if p.sampler == "hamiltonian" else {}


def inputs(p, seed):
    """Where there are weights, and the map's balanced factors; layers that are not there are the identity."""
    widths, rank = parsed(p.network)
    there, centre = np.zeros((2, DEPTH, WIDEST, WIDEST))
    for layer in range(DEPTH):
        if layer < len(widths) - 1:
            there[layer, : widths[layer + 1], : widths[layer]] = 1
            centre[layer, range(rank), range(rank)] = 1
        else:
            centre[layer] = np.eye(WIDEST)
    return {"there": there, "centre": centre}


def program(p):
    """Chains from the weights given; steps are fitted over the first quarter, of which nothing is kept, and then stay."""
    import jax
    import jax.numpy as jnp

    paths, leaps = (1, LEAPS) if p.sampler == "hamiltonian" else (LEAPS, 1)

    def loss(inputs, place):
        def product(weights):
            return weights[2] @ weights[1] @ weights[0]

        return ((product(place) - product(inputs["centre"])) ** 2).sum()

    def energy(inputs, place):
        away = inputs["there"] * (place - inputs["centre"])
        return inputs["beta"] * loss(inputs, place) + 0.5 * inputs["pull"] * (away**2).sum()

    def slope(inputs, place):
        value, found = jax.value_and_grad(lambda w: energy(inputs, w))(place)
        return value, inputs["there"] * found

    def path(inputs, state, key, warm):
        place, value, force, size, taken = state
        first, last = jax.random.split(key)
        momentum = inputs["there"] * jax.random.normal(first, place.shape, place.dtype)

        def leap(_, now):
            w, v, f, m = now
            m = m - 0.5 * size * f
            w = w + size * m
            v, f = slope(inputs, w)
            return w, v, f, m - 0.5 * size * f

        tried = jax.lax.fori_loop(0, leaps, leap, (place, value, force, momentum))
        loss_of_energy = tried[1] - value + 0.5 * ((tried[3] ** 2).sum() - (momentum**2).sum())
        chance = jnp.exp(jnp.minimum(0.0, -jnp.nan_to_num(loss_of_energy, nan=jnp.inf)))
        accepted = jax.random.uniform(last) < chance
        if p.sampler == "langevin":
            accepted = accepted | ~warm
        kept = [
            jnp.where(accepted, new, old) for new, old in zip(tried[:3], state[:3], strict=True)
        ]
        size = jnp.where(warm, size * jnp.exp(0.1 * (chance - 0.8)), size)
        return (*kept, size, taken + accepted / paths)

    def init(inputs):
        place = inputs["centre"]
        value, force = slope(inputs, place)
        key = lab.key(inputs["root_seed"], inputs["seed"], "chain")
        size = 0.1 / jnp.sqrt(inputs["beta"] + inputs["pull"])
        zero = jnp.zeros((), place.dtype)
        return (place, value, force, size, zero), key, zero, zero

    def step(inputs, state):
        chain, key, total, count = state
        key, *keys = jax.random.split(key, paths + 1)
        count = count + 1
        warm = count <= inputs["max_steps"] / 4
        chain = (*chain[:4], jnp.where(warm, 0, chain[4]))
        for one in keys:
            chain = path(inputs, chain, one, warm)
        return chain, key, total + jnp.where(warm, 0, loss(inputs, chain[0])), count

    def observe(inputs, state):
        chain, _, total, count = state
        kept = jnp.maximum(count - jnp.floor(inputs["max_steps"] / 4), 0)
        mean = jnp.where(kept > 0, total / jnp.maximum(kept, 1), loss(inputs, chain[0]))
        taken = chain[4] / jnp.maximum(kept, 1)
        return {"sampled_coefficient": inputs["beta"] * mean, "acceptance": taken}

    return Program(init, step, observe, done=lambda inputs, state, observed: jnp.int8(RUNNING))


def predict(p, step):
    """The closed form, to first order in 1/ln(beta)."""
    widths, rank = parsed(p.network)
    found = deep_linear(widths, rank)
    return {
        "sampled_coefficient": np.full(len(step), found.coefficient),
        "limit": found.coefficient,
        "multiplicity": found.multiplicity,
    }
