"""The S-curve study: rates, symmetries, exact limits, and a small run from end to end."""

import dataclasses

import numpy as np
import pytest
from riding import trained

from foretrain.networks.factorization import Factors
from foretrain.plans.study import traced
from foretrain.quantities.bumps import bumps_per_component
from foretrain.streams import Seed
from foretrain.studies.s_curves import study
from foretrain.studies.s_curves.study import Parameters
from foretrain.training import factorization

SMALL = Parameters(dimension=12, rank=2, steps=120, observe_every=1, precision="float64")


def draw(p, seed):
    return factorization.draw(p, Seed(0, seed))


def train(p, factors):
    """Finished runs of the study's program from given (target, start) pairs, in order."""
    inputs = (traced(p) | factorization.inputs_from(p, *pair) for pair in factors)
    return trained(factorization.program(p), p, inputs)


def rotated(factors, left, right):
    return Factors(left @ factors.left, right @ factors.right)


@pytest.mark.slow
def test_rotating_target_and_start_together_or_relabelling_components_changes_nothing_else():
    drawn = [draw(SMALL, seed) for seed in range(3)]
    turns = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 12, 12)))[0]
    turned = [tuple(rotated(factors, *turns) for factors in pair) for pair in drawn]
    swapped = [(t, Factors(s.left[:, ::-1], s.right[:, ::-1])) for t, s in drawn]
    alike = zip(*(train(SMALL, some) for some in (drawn, turned, swapped)), strict=True)
    for one, other, third in alike:
        # float64, 120 steps.
        np.testing.assert_allclose(one.curves["loss"], other.curves["loss"], rtol=1e-9)
        for name in ("component_bumps", "first_target"):
            np.testing.assert_array_equal(one.finals[name], other.finals[name])
        bumps = third.finals["component_bumps"][::-1]
        np.testing.assert_array_equal(one.finals["component_bumps"], bumps)


@pytest.mark.slow
def test_bumps_counted_while_training_are_those_of_the_whole_record():
    parameters = dataclasses.replace(SMALL, optimizer="sgd", steps=200)
    drawn = [draw(parameters, seed) for seed in range(8)]
    counted = [run.finals["component_bumps"] for run in train(parameters, drawn)]
    rate = factorization.learning_rate(parameters)
    for (target, start), found in zip(drawn, counted, strict=True):
        (a, b), (x, y) = target, start
        record = [_aligned(x, y, a, b)]
        for _ in range(parameters.steps):
            error = a @ b.T - x @ y.T
            x, y = x + 2 * rate * error @ y, y + 2 * rate * error.T @ x
            record.append(_aligned(x, y, a, b))
        np.testing.assert_array_equal(found, bumps_per_component(np.array(record)))
    assert sum(found.sum() for found in counted) > 0


def _aligned(x, y, a, b):
    unit = lambda matrix: matrix / np.linalg.norm(matrix, axis=0)  # noqa: E731
    return (unit(a).T @ unit(x)) * (unit(b).T @ unit(y))


@pytest.mark.slow
def test_small_logits_make_cross_entropy_the_squared_error():
    squared = Parameters(dimension=60, rank=2, steps=60, observe_every=10)
    crossed = dataclasses.replace(squared, loss_function="cross_entropy")
    drawn = [draw(squared, seed) for seed in range(3)]
    for one, other in zip(train(squared, drawn), train(crossed, drawn), strict=True):
        # Centring removes one of 3600 directions, logits of order 1/60 make corrections of that order.
        gap = np.abs(one.curves["relative_loss"] - other.curves["relative_loss"])
        assert gap.max() < 0.05 * one.curves["relative_loss"][0]


@pytest.mark.slow
def test_a_scaled_target_of_descent_is_the_same_problem_in_other_units():
    one = dataclasses.replace(SMALL, steps=60)
    four = dataclasses.replace(one, target_scale=4.0, init_scale=2.0)
    drawn = [[draw(p, seed) for seed in range(3)] for p in (one, four)]
    for small, large in zip(train(one, drawn[0]), train(four, drawn[1]), strict=True):
        # Weights twice as large fit a target four times as large in steps four times as small: exact up to rounding.
        relative = large.curves["relative_loss"]
        np.testing.assert_allclose(small.curves["relative_loss"], relative, rtol=1e-9)


@pytest.mark.slow
def test_weight_decay_ends_at_the_soft_threshold_of_the_singular_values():
    parameters = dataclasses.replace(
        SMALL, rank=3, components=2, optimizer="sgd_decay", weight_decay=0.4, steps=4000
    )
    drawn = draw(parameters, 0)
    (run,) = train(parameters, [drawn])
    expected = study.end_of_decay(parameters, Seed(0, 0))
    assert run.curves["loss"][-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("name", "decay"), [("sgd", 0), ("adam", 0), ("adamw", 0.3)])
def test_only_optimizers_with_decay_are_given_one(name, decay):
    parameters = Parameters(optimizer=name, weight_decay=0.3)
    assert factorization.weight_decay(parameters) == decay
