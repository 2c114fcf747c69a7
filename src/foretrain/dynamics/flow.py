"""Gradient flow in equal steps; `foretrain.dynamics.adaptive` and `foretrain.dynamics.chebyshev` choose their own."""

import diffrax


def fixed_step(velocity, position, inputs, step_size):
    """One step of Tsit5 (order 5) of the autonomous flow ``position' = velocity(position, inputs)``.

    `step_size` is continuous time. Costs 6 evaluations of `velocity`.
    """
    term = diffrax.ODETerm(lambda t, y, args: velocity(y, args))
    solver = diffrax.Tsit5()
    state = solver.init(term, 0.0, step_size, position, inputs)
    later, *_ = solver.step(term, 0.0, step_size, position, inputs, state, made_jump=True)
    return later
