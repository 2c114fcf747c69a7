import math
from dataclasses import replace

import jax
import numpy as np
import pytest
from lane_programs import cubic, passenger
from riding import ride
from toy_sweep import run_bits

from foretrain.dynamics.program import CONVERGED, DIVERGED, OUT_OF_STEPS, STALLED
from foretrain.engine import checkpoint
from foretrain.engine.lanes import Lanes, with_snapshots
from foretrain.errors import ArgumentError

PRECISIONS = ["float32", "float64"]


def mixed(count=12):
    """Runs of unequal lengths and ends: every fourth diverges, every fifth converges, one does not move."""
    runs = [passenger(number, max_steps=5 * (1 + number * 7 % 11)) for number in range(count)]
    for number in range(0, count, 4):
        runs[number] = passenger(number, growth=-1e4, max_steps=200)
    for number in range(2, count, 5):
        runs[number] = passenger(number, growth=2.0, tolerance=0.05, max_steps=400)
    runs[3] = passenger(3, rate=0.0)
    return runs


_ridings = {}


def lanes_of(precision, lanes=4):
    if (precision, lanes) not in _ridings:
        _ridings[precision, lanes] = Lanes(cubic(precision), {}, lanes)
    return _ridings[precision, lanes]


def travel(queue, precision, lanes=4):
    """Run a queue in lanes that have carried other runs before, which spares the compilation and must not matter."""
    riding = lanes_of(precision, lanes)
    assert not riding.busy
    riding.board(queue)
    return by_identity(advanced(riding))


def advanced(riding, chunks=math.inf, limit=None):
    """Return the runs that are done after some chunks, by default after all, each of at most `limit` strides."""
    finished = []
    while riding.busy and chunks > 0:
        riding._limit = limit or riding._limit
        finished += riding.advance()
        chunks -= 1
    return finished


def by_identity(finished):
    return {run.identity: run for run in finished}


def assert_all_same(first, other):
    """Fail unless the runs are equal to the bit, nan included."""
    assert first.keys() == other.keys()
    for identity, run in first.items():
        mine, theirs = run_bits(run), run_bits(other[identity])
        assert [name for name in mine | theirs if mine.get(name) != theirs.get(name)] == []


@pytest.fixture(scope="module", params=PRECISIONS)
def reference(request):
    """Precision, and the mixed runs in four lanes in their order."""
    return request.param, by_identity(ride(cubic(request.param), mixed(), {}, 4))


def test_every_run_ends_once_with_its_reason(reference):
    _, runs = reference
    outcomes = [runs[run.identity].outcome for run in mixed()]
    assert outcomes[0] == outcomes[4] == outcomes[8] == DIVERGED
    assert outcomes[2] == outcomes[7] == CONVERGED
    assert outcomes[3] == STALLED
    assert outcomes[1] == outcomes[5] == outcomes[11] == OUT_OF_STEPS


def test_a_run_is_observed_from_step_0_to_its_last_at_every_stride_and_in_its_final_state(
    reference,
):
    precision, runs = reference
    for run in runs.values():
        np.testing.assert_array_equal(run.steps, np.arange(0, run.steps_taken + 1, 5))
        assert run.curves["singular"].shape == (len(run.steps), 4)
        assert run.curves["loss"].dtype == run.finals["weights"].dtype == np.dtype(precision)
    finite = {name: np.isfinite(run.curves["loss"]) for name, run in runs.items()}
    for identity, run in runs.items():
        # A diverged run ends at the first observation that is not finite, and keeps it.
        assert finite[identity][:-1].all()
        assert finite[identity][-1] == (run.outcome != DIVERGED)
        if run.outcome != DIVERGED:
            singular = np.linalg.svd(run.finals["weights"], compute_uv=False)
            np.testing.assert_allclose(run.curves["singular"][-1], singular, rtol=1e-5)


@pytest.mark.parametrize(("order", "lanes"), [(-1, 4), (1, 3), (1, 7)])
def test_bits_of_these_small_products_do_not_depend_on_the_order_and_agree_at_other_numbers_of_lanes(
    reference, order, lanes
):
    precision, runs = reference
    assert_all_same(runs, travel(mixed()[::order], precision, lanes))


def test_bits_do_not_depend_on_where_the_chunks_are_cut(reference):
    precision, runs = reference
    riding = lanes_of(precision)
    riding.board(mixed())
    assert_all_same(runs, by_identity(advanced(riding, limit=1)))


def test_bits_do_not_depend_on_the_neighbours(reference):
    precision, runs = reference
    company = [passenger(100 + n, rate=np.nan, max_steps=10) for n in range(6)]
    company += [passenger(200 + n, scale=1e3, max_steps=1000) for n in range(3)]
    mine = mixed()
    queue = [company.pop() if company and n % 2 else mine.pop(0) for n in range(2 * len(company))]
    finished = travel(queue + mine + company, precision)
    assert_all_same(runs, {identity: finished[identity] for identity in runs})


def test_bits_do_not_depend_on_a_checkpoint_on_the_way(reference, tmp_path):
    precision, runs = reference
    riding = Lanes(cubic(precision), {}, 4)
    riding.board(mixed())
    finished = advanced(riding, 3, limit=1)
    saved = riding.in_flight()
    assert saved
    assert all(run.step > 0 for run in saved)
    checkpoint.write(tmp_path, "w", saved)
    restored = checkpoint.read(tmp_path, {run.identity: "w.npz" for run in saved})
    left = [run for run in mixed() if run.identity not in by_identity(finished)]
    left = [replace(run, checkpoint=restored.get(run.identity)) for run in left]
    assert_all_same(runs, {**by_identity(finished), **travel(left[::-1], precision, 7)})


def test_a_checkpoint_of_another_shape_is_not_used(reference):
    precision, _ = reference
    (other,) = set(PRECISIONS) - {precision}
    riding = lanes_of(other)
    riding.board([passenger(1)])
    advanced(riding, 1, limit=1)
    (foreign,) = riding.in_flight()
    advanced(riding)
    fresh = travel([passenger(1)], precision)
    assert_all_same(fresh, travel([replace(passenger(1), checkpoint=foreign)], precision))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_float64_run_is_double_throughout_and_leaves_the_caller_as_it_was(precision):
    before = jax.config.jax_enable_x64
    (run,) = travel([passenger(0)], precision).values()
    assert jax.config.jax_enable_x64 == before
    weights = run.finals["weights"]
    assert weights.dtype == np.dtype(precision)
    # A double that had passed through single precision would survive the round trip.
    survives = (weights.astype(np.float32).astype(weights.dtype) == weights).all()
    assert survives == (precision == "float32")


def test_each_function_is_compiled_once_however_often_lanes_are_refilled():
    riding = Lanes(cubic(), {}, 3)
    riding.board(mixed(24))
    advanced(riding)
    kernel = riding._kernel
    assert [f._cache_size() for f in (kernel.start, kernel.chunk, kernel.finish)] == [1, 1, 1]


def test_shared_inputs_reach_every_lane_without_being_copied():
    scaled = replace(
        cubic(),
        observe=lambda inputs, state: {"loss": inputs["table"].sum() * inputs["scale"]},
        done=lambda inputs, state, observed: np.int8(0),
    )
    queue = [passenger(n, scale=n + 1.0) for n in range(4)]
    runs = by_identity(ride(scaled, queue, {"table": np.ones(8)}, 3))
    assert [runs[item.identity].curves["loss"][0] for item in queue] == [8, 16, 24, 32]


def test_runs_without_steps_or_with_a_start_that_is_not_finite_end_at_step_0():
    runs = [passenger(0, max_steps=0), passenger(1, scale=np.inf), passenger(2, max_steps=7)]
    done = travel(runs, "float32")
    ends = [(done[run.identity].outcome, done[run.identity].steps_taken) for run in runs]
    # Seven steps are rounded up to two strides of five.
    assert ends == [(OUT_OF_STEPS, 0), (DIVERGED, 0), (OUT_OF_STEPS, 10)]


@pytest.mark.slow
def test_lanes_stay_full_when_lengths_differ_a_hundredfold():
    lengths = 10 ** np.random.default_rng(0).uniform(2, 4, 200)
    queue = [passenger(n, max_steps=int(-x)) for n, x in enumerate(sorted(-lengths))]
    riding = lanes_of("float32", 7)
    done, paid = riding.strides_done, riding.strides_paid
    travel(queue, "float32", 7)
    assert (riding.strides_done - done) / (riding.strides_paid - paid) > 0.85


def test_inputs_of_another_shape_are_named_and_fewer_than_three_lanes_refused():
    with pytest.raises(ArgumentError, match="`lanes` must be at least 3, but is 2"):
        Lanes(cubic(), {}, 2)
    riding = Lanes(cubic(), {}, 3)
    riding.board([passenger(0)])
    odd = replace(passenger(1), inputs={**passenger(1).inputs, "rate": np.zeros(2)})
    with pytest.raises(ValueError, match="Input `rate` must have the same shape"):
        riding.board([odd])


def test_a_program_without_curves_or_finals_can_ride():
    bare = replace(
        cubic(),
        observe=lambda inputs, state: {},
        done=lambda inputs, state, observed: np.int8(0),
        finish=lambda inputs, state: {},
    )
    (run,) = ride(bare, [passenger(0, max_steps=5)], {}, 3)
    assert (run.steps_taken, run.curves, run.finals) == (5, {}, {})


def corner(inputs, state):
    return {"corner": state["weights"][0, 0]}


def test_what_falls_out_of_a_step_is_kept_every_step_and_changes_nothing_else():
    plain = cubic()
    watched = replace(plain, every_step=corner)
    fine = replace(plain, observe_every=1, observe=lambda i, s: plain.observe(i, s) | corner(i, s))
    runs = [passenger(number, max_steps=5 * (number + 1)) for number in range(6)]
    ours, theirs, each = (by_identity(ride(p, runs, {}, 4)) for p in (watched, plain, fine))
    for name, run in ours.items():
        assert run.steps_taken == theirs[name].steps_taken
        np.testing.assert_array_equal(run.curves["loss"], theirs[name].curves["loss"])
        result, expected = run.curves["corner"], each[name].curves["corner"][1:]
        assert result.shape == (len(run.steps), plain.observe_every)
        assert np.isnan(result[0]).all()
        np.testing.assert_allclose(result[1:].ravel(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("keep_state", ["end", "all"])
def test_snapshots_hold_the_state_and_change_nothing_else(keep_state):
    plain = by_identity(ride(cubic(), mixed(5), {}, 4))
    for run in ride(with_snapshots(cubic(), keep_state), mixed(5), {}, 4):
        other = plain[run.identity]
        np.testing.assert_array_equal(run.curves["loss"], other.curves["loss"])
        if keep_state == "end":
            last = run.finals["state_weights"]
        else:
            assert len(run.curves["state_weights"]) == len(run.steps)
            last = run.curves["state_weights"][-1]
            assert run.curves["state_random"].dtype == np.uint32
        np.testing.assert_array_equal(last, other.finals["weights"])


@pytest.mark.slow
def test_lanes_that_move_in_turn_do_the_same_to_the_bit_at_any_number_and_pay_for_no_frozen_one():
    program = replace(cubic("float64"), in_turn=True, every_step=corner)
    neighbour = by_identity(ride(cubic("float64"), mixed(), {}, 4))
    riding = Lanes(program, {}, 3)
    riding.board(mixed())
    finished = advanced(riding)
    ours = by_identity(finished)
    assert riding.strides_paid == riding.strides_done == sum(len(r.steps) - 1 for r in finished)
    assert_all_same(ours, by_identity(ride(program, mixed()[::-1], {}, 5)))
    for name, run in ours.items():
        other = neighbour[name]
        assert (run.outcome, run.steps_taken) == (other.outcome, other.steps_taken)
        fine = np.isfinite(other.curves["loss"])
        np.testing.assert_allclose(run.curves["loss"][fine], other.curves["loss"][fine], rtol=1e-9)
        assert run.curves["corner"].shape == (len(run.steps), program.observe_every)
    assert len({run.outcome for run in finished}) == 4
