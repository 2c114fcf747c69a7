"""What is measured of a run's networks: by counting and by volumes on the host, or by chains at their parameters."""

from foretrain.study import CONVERGED, Program, generator

from . import chains, entangled, held, planted


def inputs(p, seed):
    """What was counted, or networks and coordinates for chains."""
    random, data = generator(seed, "weights"), generator(seed, "data")
    if p.kind == "planted":
        return planted.measured(p, random, data)
    return (entangled if p.kind == "entangled" else held).networks(p, random, data)


def program(p):
    """Hands on what `inputs` counted; of `entangled` and `held` networks steps are paths of chains."""
    if p.kind == "planted":
        names = planted.COUNTS + (planted.MORE if p.activation == "relu" else ())
        return counted(names)
    made = entangled if p.kind == "entangled" else held
    return chains.program(made.residuals, made.finished, made.TOLD)


def counted(names):
    """Trains nothing."""
    import jax.numpy as jnp

    return Program(
        init=lambda inputs: jnp.zeros((), jnp.int32),
        step=lambda inputs, state: state,
        observe=lambda inputs, state: {},
        done=lambda inputs, state, observed: jnp.asarray(CONVERGED, jnp.int8),
        finish=lambda inputs, state: {name: inputs[name] for name in names},
    )
