import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.networks import modular_routing
from foretrain.tasks.domains import hierarchy_task
from foretrain.theory.pathways.race import authors_time_scale, descent, race_factors

TASK = hierarchy_task((6.0, 4.0, 3.0))
INPUTS, TARGETS = TASK.inputs[0], TASK.targets[0]
M, WIDTH = 4, 9


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("paths", [1, 4, 16])
def test_outputs_are_the_products_along_each_route(x64, paths, shared):
    size, random = (len(INPUTS), len(TARGETS)), np.random.default_rng(0)
    modules = modular_routing.random_modules(random, M, paths, WIDTH, *size, shared_encoders=shared)
    result = np.asarray(modular_routing.outputs(modules, INPUTS))
    count, size = modular_routing.groups(M, paths)
    for j, i in np.ndindex(M, M):
        b, a = j // size, i // size
        encoder = modules.encoders[b if not shared else 0, a, i % size]
        decoder = modules.decoders[b, a if not shared else 0, j % size]
        expected = decoder @ modules.hidden[b, a] @ encoder @ INPUTS
        assert np.allclose(result[j, i], expected, rtol=0, atol=1e-12)
    assert modules.hidden.shape[:2] == (count, count)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domains", "schemes", "convention"),
    [
        (4, [(4, True, 5), (1, False, 4), (4, False, 3)], "paper"),
        (6, [(4, False, 5), (36, False, 3)], "authors"),
        (5, [(1, True, 3), (25, False, 4)], "paper"),
    ],
)
def test_descent_from_decoupled_weights_is_euler_of_the_mixed_reduction(
    domains, schemes, convention
):
    import jax

    factors = [race_factors(domains, p, shared_encoders=shared) for p, shared, _ in schemes]
    scales = np.array([[tenths / 10] for *_, tenths in schemes])
    # A third of what is stable at the end, where a scheme alone has curvature 24 outer r^(1/3).
    step = 0.7 / (24 * sum(item.outer * item.ratio ** (1 / 3) for item in factors))
    steps, random = 200, np.random.default_rng(1)
    features = len(TARGETS)

    def objective(parts):
        value, each = modular_routing.loss(parts, INPUTS, TARGETS)
        if convention == "paper":
            return value
        # Sum over routes of the mean over items and features: samples carry the mean over items.
        return ((TARGETS - sum(each)) ** 2).sum() / features

    rate = step
    if convention == "authors":
        rate = step / authors_time_scale(domains, domains, features)
    u, v = TASK.output_modes, TASK.input_modes[0]
    parts = []
    for (paths, shared, _), scale in zip(schemes, scales, strict=True):
        part = modular_routing.decoupled_modules(
            random, u, v, domains, paths, WIDTH, shared_encoders=shared
        )
        parts.append(modular_routing.Modules(*(scale * weights for weights in part)))
    b1, b2 = descent((scales, scales), step, steps, TASK.singular_values, TASK.variances, factors)
    expected, worst = b2 * b1**2, 0.0
    with jax.enable_x64(True):
        parts = jax.tree.map(jax.numpy.asarray, tuple(parts))
        move = jax.jit(lambda p: jax.tree.map(lambda w, g: w - rate * g, p, jax.grad(objective)(p)))
        for number in range(steps + 1):
            if number % 50 == 0:
                each = modular_routing.loss(parts, INPUTS, TARGETS)[1]
                probe = np.linalg.pinv(INPUTS) @ v
                for part, out in enumerate(each):
                    strength = np.einsum("jioe,om,em->jim", out, u, probe)
                    worst = max(worst, np.abs(strength - expected[number, part]).max())
            parts = move(parts)
    # Rounding of float64 over hundreds of steps; a race won or lost has taken place by then.
    assert worst < 1e-12 * np.abs(expected).max()
    assert np.abs(expected[-1].sum(0) - expected[0].sum(0)).max() > 1


def test_refuses_modules_that_do_not_fit():
    with pytest.raises(ArgumentError, match=r"square of a divisor of `domains` = 4 \(1, 4, 16\)"):
        modular_routing.groups(4, 9)
