"""The precision in which JAX computes."""

import jax
import jax.numpy as jnp
import pytest

from foretrain.arithmetic import arithmetic, exact_products, float_type
from foretrain.dynamics.program import Completed
from foretrain.engine.lanes import Lanes, Passenger


def products(precision):
    """Precisions of the products in the compiled chunk of a program of that precision."""
    program = Completed(
        init=lambda inputs: jnp.ones((4, 4), float_type(precision)),
        step=lambda inputs, state: state @ state / 4,
        observe=lambda inputs, state: {"loss": state.sum()},
        done=lambda inputs, state, observed: jnp.int8(0),
        finish=lambda inputs, state: {},
        observe_every=1,
        precision=precision,
    )
    lanes = Lanes(program, {}, 3)
    lanes.board([Passenger("a", {"root_seed": 0, "seed": 0, "max_steps": 2})])
    with arithmetic(precision):
        state = jax.vmap(lambda _: program.init({}))(jnp.zeros(3))
        item = jax.jit(jax.vmap(lambda stored: program.step({}, stored))).lower(state).as_text()
    finished = [run for _ in range(3) for run in lanes.advance()]
    assert finished[0].curves["loss"].dtype == float_type(precision)
    return item


@pytest.mark.parametrize("precision", ["float32", "float64", "tf32"])
def test_products_are_rounded_to_less_than_their_type_only_where_tf32_is_asked_for(precision):
    assert ("HIGHEST" in products(precision)) is (precision != "tf32")


def test_the_context_leaves_the_callers_arithmetic_as_it_was():
    before = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision
    with arithmetic("float64"):
        assert jnp.ones(1).dtype == "float64"
    assert (jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision) == before


def test_slopes_of_a_function_with_exact_products_are_exact_too():
    function = exact_products(lambda a, b: (jnp.tanh(a @ b) ** 2).sum())
    text = jax.jit(jax.grad(function)).lower(jnp.ones((4, 4)), jnp.ones((4, 4))).as_text()
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) >= 2
    assert all("HIGHEST" in line for line in products)
    assert exact_products(function) is exact_products(function)
