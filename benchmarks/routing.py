"""Cost of training from statistics beside training on samples, and the share of the machine that a step uses.

Run with ``python benchmarks/routing.py`` on an idle machine; it pins itself to one core. Ratios are measured side by
side in one process, each the median of five.
"""

import time

from foretrain.engine.cores import pin_to_one_core

pin_to_one_core()

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.networks import routing as network
from foretrain.tasks.effective_samples import compress
from foretrain.tasks.masks import circulant

REPEATS = 5
SAMPLES = (100, 1_000, 10_000, 100_000)
DOMAINS, PIXELS, SQUARE = 40, 784, 2048  # of the step, and of the product it is held against


def per_sample_loss(weights, inputs, targets, trained_pairs):
    """The loss in the paper's convention, route by route and sample by sample; inputs are (input_domain, sample, ...)."""
    second = jnp.einsum("gh,ihd,isd->isg", weights.hidden, weights.encoders, inputs)
    error = targets[:, None] - jnp.einsum("jog,isg->ijso", weights.decoders, second)
    return network.mean_over(trained_pairs, 0.5 * (error**2).sum(-1).mean(-1))


def median_seconds(function, *arguments) -> float:
    """Median wall time of a jitted call, compilation excluded."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def statistics_against_samples():
    """Step time and final weights of both routes, by number of samples."""
    domains, trained, hidden, inputs, outputs, steps, rate = 4, 2, 64, 64, 10, 10, 0.01
    pairs = jnp.asarray(circulant(domains, trained), jnp.float32)
    weights = network.random_weights(
        jax.random.key(0), domains, hidden, inputs, outputs, 0.3, law="orthogonal"
    )

    def descend(slope):
        move = lambda _, w: jax.tree.map(lambda a, g: a + rate * g, w, slope(w))  # noqa: E731
        return lambda w: jax.lax.fori_loop(0, steps, move, w)

    print(
        "\nRouting, M = 4, K = 2, width 64, 64 inputs, 10 outputs; milliseconds per step of full-batch descent\n"
    )
    print(
        "| samples | per sample | from statistics | ratio | compressing, once | difference of weights |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    for samples in SAMPLES:
        random = np.random.default_rng(0)
        x = random.normal(size=(samples, inputs)).astype(np.float32)
        y = x @ random.normal(size=(inputs, outputs)).astype(np.float32) / 8
        began = time.perf_counter()
        packed = compress(x, y)
        packing = time.perf_counter() - began
        effective = [jnp.asarray(a[None], jnp.float32) for a in (packed.inputs, packed.targets)]
        stacked = [jnp.broadcast_to(a, (domains, *a.shape)) for a in (x, y)]
        loss = lambda w, s=stacked: per_sample_loss(w, *s, pairs)  # noqa: E731
        plain = jax.jit(descend(lambda w, f=loss: jax.tree.map(jnp.negative, jax.grad(f)(w))))
        quick = jax.jit(descend(lambda w, e=effective: network.negative_gradient(w, *e, pairs)))
        slow, fast = (median_seconds(f, weights) / steps * 1e3 for f in (plain, quick))
        gap = max(
            float(jnp.abs(a - b).max()) for a, b in zip(plain(weights), quick(weights), strict=True)
        )
        print(
            f"| {samples:,} | {slow:.2f} | {fast:.3f} | {slow / fast:.0f} | {packing * 1e3:.0f} | {gap:.0e} |"
        )


def share_of_the_machine():
    """Multiply-adds of a step at the size of the image figures, against the measured rate of a matrix product."""
    domains, hidden, inputs, outputs = DOMAINS, 128, PIXELS, 10
    random = np.random.default_rng(0)
    weights = network.random_weights(
        jax.random.key(0), domains, hidden, inputs, outputs, 0.1, law="gaussian"
    )
    x = jnp.asarray(random.normal(size=(domains, inputs, inputs)), jnp.float32)
    y = jnp.asarray(random.normal(size=(domains, outputs, inputs)), jnp.float32)
    pairs = jnp.asarray(circulant(domains, min(10, domains)), jnp.float32)
    step = jax.jit(lambda w: network.negative_gradient(w, x, y, pairs))
    flops = jax.jit(lambda w: network.negative_gradient(w, x, y, pairs)).lower(weights).compile()
    counted = flops.cost_analysis()["flops"]
    a = jnp.asarray(random.normal(size=(SQUARE, SQUARE)), jnp.float32)
    product = median_seconds(jax.jit(jnp.matmul), a, a)
    peak = 2 * SQUARE**3 / product
    seconds = median_seconds(step, weights)
    print(f"\nA step at M = {domains}, K = 10, width 128, {inputs} inputs, float32, one core\n")
    print("| | |\n|---|---:|")
    print(f"| step | {seconds * 1e3:.0f} ms |")
    print(f"| counted by XLA | {counted / 1e9:.1f} GFLOP |")
    print(f"| reached | {counted / seconds / 1e9:.0f} GFLOP/s |")
    print(f"| product of two {SQUARE} x {SQUARE} matrices | {peak / 1e9:.0f} GFLOP/s |")
    print(f"| share | {counted / seconds / peak:.0%} |")


if __name__ == "__main__":
    statistics_against_samples()
    share_of_the_machine()
