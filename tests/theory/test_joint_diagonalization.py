import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.theory.gated.joint_diagonalization import diagonal, joint_diagonalize

SPACES = {"a": 5, "b": 4, "c": 3}


def planted(seed, *, noise=0.0, values=None):
    """Matrices that are diagonal in planted frames, and the frames."""
    draw = np.random.default_rng(seed)
    frames = {n: np.linalg.qr(draw.standard_normal((w, w)))[0] for n, w in SPACES.items()}

    def matrix(row, column):
        size = min(SPACES[row], SPACES[column])
        diagonal = values[:size] if values is not None else draw.standard_normal(size)
        built_result = (frames[row][:, :size] * diagonal) @ frames[column][:, :size].T
        error = noise * draw.standard_normal(built_result.shape)
        return row, column, built_result + (error + error.T if row == column else error)

    ends = [[("a", "b"), ("b", "c"), ("a", "b")], [("a", "a"), ("c", "c")]]
    return [[matrix(*pair) for pair in family] for family in ends], frames


def off_diagonal(family, frames):
    inside = [frames[r].T @ m @ frames[c] for r, c, m in family]
    off = sum(np.sum((m * (1 - np.eye(*m.shape))) ** 2) for m in inside)
    return np.sqrt(off / sum(np.sum(m**2) for m in inside))


@given(st.integers(0, 2**32 - 1))
def test_planted_frames_are_found(seed):
    families, _ = planted(seed)
    result = joint_diagonalize(SPACES, families)
    # Rounding, amplified where a random walk matrix happens to have two close eigenvalues, and then polished.
    assert max(result.residuals) < 1e-9
    for name, frame in result.columns.items():
        has = result.carried[name]
        assert has.sum() == SPACES[name]
        np.testing.assert_allclose(frame[:, has].T @ frame[:, has], np.eye(has.sum()), atol=1e-12)
        assert not frame[:, ~has].any()
    for family, residual in zip(families, result.residuals, strict=True):
        assert residual == pytest.approx(off_diagonal(family, result.columns), abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_diagonals_that_can_be_positive_are(seed):
    families, _ = planted(seed, values=np.random.default_rng(seed).uniform(0.2, 2, size=5))
    # With one space mirrored the planted frames give negative diagonals; others still give positive ones.
    mirror = {"a": 1, "b": -1, "c": 1}
    families = [[(r, c, mirror[r] * mirror[c] * m) for r, c, m in family] for family in families]
    result = joint_diagonalize(SPACES, families)
    for matrix in families[0]:
        assert diagonal(result.columns, matrix).min() > -1e-12


@pytest.mark.slow
def test_under_noise_the_frames_are_hardly_ever_worse_than_the_planted_ones():
    worse = 0
    for seed in range(50):
        families, frames = planted(seed, noise=1e-3)
        result = joint_diagonalize(SPACES, families)
        # Off-diagonal mass of the scaled families is what is minimised, and the planted frames are one candidate.
        planted_mass = sum(off_diagonal(family, frames) ** 2 for family in families)
        worse += sum(residual**2 for residual in result.residuals) > planted_mass * 1.01
    # The search stops within about a percent of an optimum, and that can be a local one where noise joins two modes:
    # one in fifty is allowed.
    assert worse <= 1


@pytest.mark.parametrize("seed", [220, 246, 615, 885, 52, 366, 672])
def test_unlucky_coefficients_and_directions_drowned_in_noise_are_survived(seed):
    # The first four mix two modes with the first draw of coefficients; the others do if noise of a strong mode is
    # taken for the direction of a weak one. Either leaves 20 to 10,000 times the planted off-diagonal mass.
    families, frames = planted(seed, noise=1e-3)
    result = joint_diagonalize(SPACES, families)
    planted_mass = sum(off_diagonal(family, frames) ** 2 for family in families)
    assert sum(residual**2 for residual in result.residuals) <= planted_mass * 1.01


def test_components_without_connection_share_modes_in_order_of_strength():
    families = [[("a", "b", np.diag([1.0, 3.0])), ("c", "d", np.diag([0.5, 0.2]))]]
    result = joint_diagonalize(dict.fromkeys("abcd", 2), families)
    for name, order in {"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 1]}.items():
        np.testing.assert_allclose(np.abs(result.columns[name]), np.eye(2)[order], atol=1e-15)
