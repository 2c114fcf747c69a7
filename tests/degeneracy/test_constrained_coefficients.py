"""Two modules, of which the second reads one hidden unit of the first: sampled coefficients beside what is counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.degeneracy.coefficient import discrete_quadratic
from foretrain.degeneracy.learning_coefficient import learning_coefficient
from foretrain.degeneracy.posterior import posterior

N, BETA = 100, 1e5


def forward(params, x, activation):
    """Outputs of both modules, (n, 2) each, and the mediating variable, (n,)."""
    one, two = params
    hidden = activation(x[:, :2] @ one["w"].T + one["b"])
    mediator = hidden[:, 0]
    into = jnp.asarray(x[:, 2:] @ two["w"].T + two["b"])
    other = activation(into.at[:, 0].add(0.7 * mediator))
    return hidden @ one["v"].T + one["c"], other @ two["v"].T + two["c"], mediator


def losses_of(activation):
    def residuals(params, data):
        first, second, mediator = forward(params, data["x"], activation)
        gaps = first - data["first"], second - data["second"], mediator - data["mediator"]
        return [gaps[0], gaps[1], gaps[2][:, None]]

    def whole(params, data):
        return sum((gap**2).sum(-1) for gap in residuals(params, data)[:2])

    def constrained(params, data):
        """L_1 and the mediating variable held: (31)."""
        gaps = residuals(params, data)
        return (gaps[0] ** 2).sum(-1) + (gaps[2] ** 2).sum(-1)

    return residuals, whole, constrained


def module(random, units):
    draw = random.standard_normal
    made = {"w": draw((units, 2)), "b": 0.5 * draw(units), "v": draw((2, units)), "c": draw(2)}
    return {name: leaf.astype(np.float32) for name, leaf in made.items()}


def counted(residuals, params, data, rows, moves):
    """Effective parameters at the minimum: eigenvalues of (2/n) J^T J that are not zero."""
    with jax.enable_x64(True):
        params, data = jax.tree.map(lambda leaf: jnp.asarray(leaf, "float64"), (params, data))
        slopes = jax.jacobian(lambda p: [gap.ravel() for gap in residuals(p, data)])(params)
        columns = [
            [np.reshape(leaf, (len(leaf), -1)) for at in moves for leaf in jax.tree.leaves(slopes[row][at])]
            for row in rows
        ]  # fmt: skip
    whole = np.concatenate([np.concatenate(one, 1) for one in columns])
    values = np.linalg.eigvalsh(2 / N * whole.T @ whole)
    return values[values > 1e-9 * values[-1]]


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "undone"), [(jnp.tanh, 0), (jax.nn.relu, 1)])
def test_constrained_losses_have_the_coefficients_that_are_counted(activation, undone):
    """2 lambda(L_2) + 2 lambda(L_1,C) is the count of the whole; of rectified modules one more, whose scale M2 undoes."""
    random = np.random.default_rng(5)
    params = (module(random, 3), module(random, 3))
    x = random.standard_normal((N, 4)).astype(np.float32)
    first, second, mediator = forward(params, x, activation)
    data = {"x": x, "first": first, "second": second, "mediator": mediator}
    residuals, whole, constrained = losses_of(activation)

    def moving(*modules):
        return tuple(
            jax.tree.map(lambda leaf, at=at: np.full(leaf.shape, at in modules), params[at])
            for at in (0, 1)
        )

    effective, errors, counts = [], [], []
    for losses, moves, rows in (
        (constrained, (0,), (0, 2)),
        (whole, (1,), (1,)),
        (whole, (0, 1), (0, 1)),
    ):
        p = posterior(losses, params, data, beta=BETA, parts={"moving": moving(*moves)})
        found = learning_coefficient(
            p, chains=16, draws=4000, steps=4, share=0.05, richardson=False
        )
        h = counted(residuals, params, data, rows, moves)
        effective.append(found.effective_parameters[0, 0])
        errors.append(2 * found.error[0, 0])
        counts.append(len(h))
        assert found.rhat[0, 0] < 1.05
        # At this beta the weakest direction counts by all but a hundredth.
        assert 2 * discrete_quadratic(h, BETA, 1.0, 0.0) > len(h) - 0.03
        assert abs(effective[-1] - counts[-1]) < 4 * errors[-1] + 0.15
    assert counts[0] + counts[1] - counts[2] == undone
    excess = effective[0] + effective[1] - effective[2]
    assert np.linalg.norm(errors) < 0.35
    assert abs(excess - undone) < 0.5
