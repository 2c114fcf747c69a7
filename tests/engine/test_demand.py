"""Memory that inputs and products take, foretold: against what is exact, and refused before it is taken."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics.program import Completed
from foretrain.engine.demand import continued, foretold_bytes, refuse_too_large
from foretrain.engine.sizes import bytes_per_lane
from foretrain.errors import TooLarge
from foretrain.plans import catalogue
from foretrain.plans.parameters import parameter
from foretrain.streams import Seed


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_a_constant_and_a_power_are_continued_exactly(power):
    shares = [0.001, 0.002, 0.004]
    values = [7 + 5 * share**power for share in shares]
    assert continued(shares, values) == pytest.approx(12, rel=1e-6)
    assert continued(shares, [7, 7, 7]) == 7


@dataclass(frozen=True)
class Sizes:
    """A table of `rows` by `columns`, or a square one."""

    rows: int = parameter(10, "rows", minimum=1)
    columns: int = parameter(10, "columns", minimum=1)
    steps: int = parameter(10**9, "no size")


def study(inputs):
    return SimpleNamespace(inputs=inputs, check=lambda p: None)


@pytest.mark.parametrize(
    ("p", "exact"),
    [
        # One doubled table stands beside the drawn one.
        (Sizes(rows=10**6, columns=30), 2 * 8 * 30 * 10**6),
        (Sizes(rows=10**6, columns=10**6), 2 * 8 * 10**12),
    ],
)
def test_what_inputs_hold_while_they_are_made_is_foretold_by_smaller_ones(p, exact):

    def inputs(p, seed):
        drawn = np.ones((p.rows, p.columns))
        return {"x": 2 * drawn}

    made = study(inputs)
    assert foretold_bytes(made, p, Seed(0, 0)) == pytest.approx(exact, rel=0.02)
    refuse_too_large(made, p, Seed(0, 0), workers=2, free=2.1 * exact)
    message = r"The inputs of a run would take about .*B while .* smaller sizes than rows = 1000000"
    with pytest.raises(TooLarge, match=message):
        refuse_too_large(made, p, Seed(0, 0), workers=2, free=1.9 * exact)


def test_nothing_is_made_where_no_size_is_large_and_nothing_refused_where_smaller_inputs_cannot_be():
    def raises(p, seed):
        raise ValueError("of one size only")

    refuse_too_large(study(raises), Sizes(rows=20_000), Seed(0, 0), workers=1, free=0)
    assert foretold_bytes(study(raises), Sizes(rows=10**6), Seed(0, 0)) == 0


def test_a_label_of_a_thousand_million_outputs_is_foretold_to_take_tens_of_gigabytes():
    known = catalogue.load("adiabatic-limit")
    p = replace(known.Parameters(), output_dim=10**9, samples=6, dimension=4)
    # Map and label are drawn, and then divided.
    assert foretold_bytes(known, p, Seed(0, 0)) == pytest.approx(2 * 8e9 * (4 + 1), rel=0.02)


def test_the_largest_product_of_a_step_is_counted_unless_lanes_move_in_turn():
    program = Completed(
        init=lambda inputs: inputs["w"],
        step=lambda inputs, w: w - (inputs["x"].T @ (inputs["x"] @ w)),
        observe=lambda inputs, w: {},
        done=lambda inputs, w, observed: np.int8(0),
        finish=lambda inputs, w: {},
        observe_every=1,
        precision="float32",
    )
    inputs = {"x": jnp.zeros((1000, 3)), "w": jnp.zeros((3, 50))}
    product = 4 * (1000 * 3 + 3 * 50 + 1000 * 50)
    beside = bytes_per_lane(program, inputs, {}, 5)
    assert beside - bytes_per_lane(replace(program, in_turn=True), inputs, {}, 5) == product
