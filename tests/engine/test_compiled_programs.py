"""Programs of the studies, as XLA makes them."""

import re

import jax
import numpy as np
import pytest

from foretrain.dynamics.program import completed
from foretrain.engine.dispatch import make_groups
from foretrain.engine.kernel import known_options
from foretrain.engine.lanes import Lanes, Passenger
from foretrain.plans import catalogue
from foretrain.plans.plan import make_plan, runs

# jaxlib 0.10.2 multiplies matrices that are one number everywhere by reading past that number: what stands there is
# unknown, and nan if it happens to be.
OPERATION = re.compile(r"%(\S+) = \S+ (\w+)\(([^)]*)\)(.*)")


def products_of_a_number(text: str) -> list[str]:
    """Lines of compiled text with a matrix product in which an operand is a broadcast number."""
    result = []
    for computation in text.split("\n\n"):
        numbers = set()
        for name, operation, operands, rest in OPERATION.findall(computation):
            if operation == "broadcast" and "dimensions={}" in rest:
                numbers.add(name)
            elif operation == "dot" and numbers & set(re.findall(r"%([^\s,]+)", operands)):
                result.append(f"{name} = dot({operands})")
    return result


def kernel_of(run, study):
    """The kernel of a run's program, and the arguments of its functions for three lanes."""
    program = completed(study.program(run.parameters), run.parameters)
    inputs = {**study.inputs(run.parameters, run.seed), "root_seed": 0, "seed": 0, "max_steps": 9}
    riding = Lanes(program, study.shared(run.parameters), 3)
    riding.board([Passenger("a", inputs)])
    stacked = {n: np.stack([value] * 3) for n, value in riding._waiting[0].inputs.items()}
    return riding._kernel, stacked, riding._shared


def test_the_pattern_is_found_in_compiled_text():
    assert products_of_a_number("""%fused (p: f32[]) -> f32[4,4] {
  %p = f32[] parameter(0)
  %a = f32[4,2]{1,0} broadcast(%p), dimensions={}
  %b = f32[2,4]{1,0} parameter(1)
  ROOT %c = f32[4,4]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

%other (p: f32[4]) -> f32[4,4] {
  %a = f32[4,2]{1,0} broadcast(%p), dimensions={0}
  ROOT %c = f32[4,4]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""") == ["c = dot(%a, %b)"]


def test_options_that_xla_does_not_know_are_left_out(monkeypatch):
    from foretrain.engine import kernel

    options = {**kernel._OPTIONS["cpu"], "xla_cpu_no_such": 1}
    monkeypatch.setattr(kernel, "_OPTIONS", {"cpu": options})
    known = kernel.known_options.__wrapped__("cpu")
    assert "xla_cpu_no_such" not in known
    assert known == known_options("cpu")
    assert known_options("tpu") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
def test_no_program_multiplies_a_broadcast_number(name):
    study = catalogue.load(name)
    if study.computes:
        pytest.skip("a study that computes has no program")
    grid = list(runs(make_plan(study, {}, seeds=1)))
    for group in make_groups(grid, lambda parameters: parameters.steps):
        kernel, inputs, shared = kernel_of(grid[group.waiting[0]], study)
        with jax.enable_x64(kernel.program.precision == "float64"):
            start = kernel.start.lower(inputs, shared)
            state, outcome, _ = jax.eval_shape(kernel.start, inputs, shared)
            count = np.zeros(3, np.int32)
            item = np.int32(1)
            chunk = kernel.chunk.lower(inputs, state, count, outcome, shared, item, item)
            for lowered in (start, chunk):
                assert not products_of_a_number(lowered.compile().as_text())
