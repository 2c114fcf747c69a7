"""The benchmark that compares sampled learning coefficients with NUTS."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from foretrain.degeneracy.sampled import coefficient
from foretrain.theory.reduced_rank import coefficient_at

NUTS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "nuts.py"))
Distance, small_networks = NUTS["Distance"], NUTS["small_networks"]
MADE = [
    Distance("a", "sgld", 1, 2.2, 0.1, 2.0, 0.0, True, 1),
    Distance("a", "baoab", 1, 2.0, 0.3, 2.0, 0.4, True, 0),
    Distance("a", "sgld", 10, 1.0, 0.1, 2.0, 0.0, False, 3),
    Distance("a", "baoab", 10, 1.8, 0.1, 2.0, 0.0, True, 0),
]


def test_distances_are_relative_and_in_standard_errors():
    assert MADE[0].relative == pytest.approx(0.1)
    assert MADE[0].in_errors == pytest.approx(2)
    found = NUTS["summary"](MADE)
    np.testing.assert_allclose(found["sgld"], (0.1, 0.1, 0.5))
    np.testing.assert_allclose(found["baoab"], (0.05, 0.1, np.nan))
    lines = NUTS["table"](MADE).splitlines()
    assert lines[2] == "| a | 2.00 ± 0.00 | 1 | +10%, +2.0 | +0%, +0.0 |"
    assert lines[3] == "| a | 2.00 ± 0.00 | 10 | (-50%, -10.0) | -10%, -2.0 |"


def test_networks_are_singular_where_it_is_planned():
    """Effective parameters in the limit: ranks of Jacobians of what is regular; no more than parameters."""
    made = small_networks()
    assert len(made) == 9
    sizes = {name: p.dimension for name, p in made.items()}
    assert sizes["linear 3-2-3 at zero"] == 12
    assert sizes["relu 8-16-4 with 4 in use"] == 8 * 16 + 16 + 16 * 4 + 4
    wide = made["tanh 2-5-1 with 2 in use"].params
    assert (np.asarray(wide[0][0][2:]) == 0).all()
    assert (np.asarray(wide[1][0][:, 2:]) == 0).all()
    twice = made["relu 3-6-2, units twice"].params[0][0]
    np.testing.assert_array_equal(twice[:3], twice[3:])


@pytest.mark.slow
def test_trusted_estimates_are_as_near_to_nuts_as_verdicts_say():
    """And NUTS is right where the value is known at this beta."""
    name, other = "linear 3-2-3 at zero", "relu 3-6-2, units twice"
    made = {key: p for key, p in small_networks().items() if key in (name, other)}
    rows = NUTS["distances"](made, ("baoab", "sghmc"), lengths=(10,))
    # |V U x|^2 in the mean over white inputs is |V U|^2.
    exact = 2 * coefficient_at((3, 2, 3), 500.0, 0.5) - coefficient_at((3, 2, 3), 500.0)
    assert abs(rows[0].reference - exact) < 4 * rows[0].reference_error
    assert rows[0].reference_error < 0.04 * exact
    trusted = [row for row in rows if row.trusted]
    assert len(trusted) >= 3
    for row in trusted:
        assert abs(row.in_errors) < 4
        assert abs(row.relative) <= 1.5 * coefficient.DISTANCES[row.sampler][1]
