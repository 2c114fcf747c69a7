import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.theory.pathways.race import RaceFactors, descent, flow, race_factors
from foretrain.theory.pathways.race_schemes import (
    RANDOM_POLE,
    clock_at,
    decoupled_scheme,
    final_gains,
    gains,
    half_time,
    random_growth,
    random_scheme,
)

S, D = 3.4, 0.25


@pytest.mark.parametrize("start", [(0.3, 0.3), (0.3, -0.2), (0.1, 0.9), (0.2, 0.0)])
@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
def test_gain_solves_the_reduction_on_its_own_clock(start, ratio):
    scheme = decoupled_scheme(start, RaceFactors(0.1, 0.1 * ratio))
    end = 0.9 * min(scheme.pole, 40.0)
    right = lambda _, b: [0.1 * b[1] * b[0], 0.1 * ratio * b[0] ** 2]  # noqa: E731
    solution = solve_ivp(right, (0, end), start, rtol=1e-11, atol=1e-13, dense_output=True)
    for clock in np.linspace(0, end, 7):
        b1, b2 = solution.sol(clock)
        # The solver's own error, amplified towards the pole.
        assert scheme.gain(clock) == pytest.approx(b2 * b1**2, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize(
    "make", [lambda f: decoupled_scheme((0.2, 0.1), f), lambda f: random_scheme(0.2, f)]
)
def test_near_the_pole_every_start_grows_alike(make):
    factors = race_factors(12, 9)
    scheme = make(factors)
    gap = 1e-6 * scheme.pole
    # B2 = 1 / (outer (pole - u)) and B2^2 = r B1^2: corrections are of the second order of the gap.
    expected = 1 / (factors.outer * gap) ** 3 / factors.ratio
    assert scheme.gain(scheme.pole - gap) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("paths", [1, 4, 36, 144])
@pytest.mark.parametrize("start", [(0.2, 0.1), (0.1, 0.4), (1e-4, 0.3), (0.3, -0.2), (0.3, 0.0)])
def test_alone_a_scheme_is_the_flow_of_the_reduction(paths, start):
    factors = race_factors(12, paths)
    scheme, modes = [decoupled_scheme(start, factors)], (np.array([S, 2 * S]), np.array([D, D]))
    half = half_time(scheme, *modes)
    b1, b2 = flow(start, np.sort(half), *modes, factors)
    np.testing.assert_allclose(np.diag((b2 * b1**2)[::-1]), modes[0] / D / 2, rtol=1e-7)
    times = np.linspace(0, 2 * half[0], 9)
    b1, b2 = flow(start, times, *modes, factors)
    np.testing.assert_allclose(gains(scheme, times, *modes)[:, 0], b2 * b1**2, rtol=1e-4, atol=1e-6)


def test_random_growth_solves_its_riccati_equation_and_keeps_rank_one():
    idle = np.diag([0.0, 1.0])
    right = lambda _, n: (n.reshape(2, 2) @ n.reshape(2, 2) - idle).ravel()  # noqa: E731
    solution = solve_ivp(right, (0, 1.1), [0, 1, 1, 0], rtol=1e-11, atol=1e-12, dense_output=True)
    for tau in (0.0, 0.3, 0.7, 1.0, 1.1):
        n = random_growth(tau)
        assert np.allclose(n, solution.sol(tau).reshape(2, 2), rtol=1e-7, atol=1e-9)
        # n' is r/sigma^2 times v v^T for one vector v.
        rate = n @ n - idle
        assert abs(np.linalg.det(rate)) < 1e-9 * np.trace(rate) ** 2
    assert RANDOM_POLE * np.tanh(RANDOM_POLE) == pytest.approx(1, rel=1e-14)


@pytest.mark.slow
def test_mixed_race_ends_where_its_flow_ends():
    factors = [race_factors(4, 1), race_factors(4, 4), race_factors(4, 16)]
    starts = [(0.9, 0.5), (0.4, 0.3), (0.1, 0.1)]
    schemes = [decoupled_scheme(s, f) for s, f in zip(starts, factors, strict=True)]
    predicted = final_gains(schemes, S, D)
    assert predicted.sum() == pytest.approx(S / D, rel=1e-12)
    b1, b2 = (np.array(column)[:, None] for column in zip(*starts, strict=True))
    rough, fine = (
        (b2_ * b1_**2)[-1, :, 0]
        for b1_, b2_ in (
            descent((b1, b2), step, round(400 / step), np.array([S]), np.array([D]), factors)
            for step in (0.02, 0.01)
        )
    )
    # Euler is of first order: its extrapolation to step 0 is the flow.
    assert np.allclose(2 * fine - rough, predicted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("paths", "scale"), [(p, s) for p in (1, 16, 36) for s in (0.4, 0.9, 1.1, 3.0)]
)
def test_the_first_pole_wins_and_wins_all_for_small_starts(paths, scale):
    # `scale` in units of the tie, where the fully shared pathway starts at sqrt(P)/M of the modules.
    tie = paths**0.5 / 12
    shares = []
    for start in (0.1, 1e-4):
        race = [
            random_scheme(start, race_factors(12, paths)),
            random_scheme(start * tie * scale, race_factors(12, 144)),
        ]
        shares.append(final_gains(race, S, D)[1] * D / S)
    assert shares[1] == pytest.approx(float(scale > 1), abs=1e-6)


def test_refuses_what_cannot_race():
    factors = race_factors(4, 4)
    with pytest.raises(ArgumentError, match=r"`start\[0\]` must not be zero"):
        decoupled_scheme((0.0, 0.1), factors)
    still = decoupled_scheme((0.1, -0.9), RaceFactors(1.0, 1.0))
    for schemes, match in (
        ([decoupled_scheme((1.0, 1.0), factors)], "`gain` must be above that of the start"),
        ([still], "`schemes` must hold one that grows"),
        ([], "`schemes` must hold at least one"),
    ):
        with pytest.raises(ArgumentError, match=match):
            clock_at(schemes, 0.5)
