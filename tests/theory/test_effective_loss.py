import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.tasks import groups
from foretrain.theory.grokking import effective_loss as theory
from foretrain.theory.grokking import parallelograms

TEN = groups.addition(10)


def sets(size, draws=1, seed=0):
    return groups.training_sets(TEN, size, draws, np.random.default_rng(seed))


def start(seed=0, dimensions=2, centred=False):
    embedding = np.random.default_rng(seed).uniform(-0.5, 0.5, (10, dimensions))
    return embedding - embedding.mean(0) if centred else embedding


def integrated(training, embedding, times):
    """The flow by SciPy, its slope by complex steps of the loss as it is defined."""
    quadruples = parallelograms.parallelograms(TEN)[0][parallelograms.inside(TEN, training)]
    shape, directions = embedding.shape, 1e-30j * np.eye(embedding.size)

    def slope(_, flat):
        place = flat + directions
        i, j, m, n = (place.reshape(-1, *shape)[:, k] for k in quadruples.T)
        return -(((i + j - m - n) ** 2).sum((1, 2)) / (place**2).sum(1)).imag / 1e-30

    solved = solve_ivp(
        slope, (0, times[-1]), embedding.ravel(), t_eval=times, rtol=1e-9, atol=1e-11
    )
    return solved.y.T.reshape(-1, *shape)


def test_effective_loss_by_its_definition():
    training, embedding = sets(30)[0], start()
    i, j, m, n = parallelograms.parallelograms(TEN)[0][parallelograms.inside(TEN, training)].T
    gap = embedding[i] + embedding[j] - embedding[m] - embedding[n]
    right = (gap**2).sum() / (embedding**2).sum()
    assert theory.effective_loss(embedding, TEN, training) == pytest.approx(right)


def test_exact_flow_is_the_gradient_flow():
    training, embedding = sets(25)[0], start()
    times = np.linspace(0, 0.3, 6)
    path = theory.exact_flow(embedding, times, TEN, training)
    assert np.abs(path[-1] - path[0]).max() > 0.1
    np.testing.assert_allclose(path, integrated(training, embedding, times), atol=2e-7)


def test_late_exact_flow_becomes_linear_at_the_grokking_rate():
    training, embedding = sets(40)[0], start(dimensions=1, centred=True)
    rate = float(theory.grokking_rate(TEN, training, (embedding**2).sum()))
    path = theory.exact_flow(embedding, np.array([25.0, 26.0]) / rate, TEN, training)
    bend = np.abs(np.diff(path[..., 0], 2)).max(-1)
    assert np.log(bend[0] / bend[1]) == pytest.approx(1, abs=2e-3)


def test_grokking_rate_is_exactly_zero_below_the_transition():
    for size in (3, 9, 18, 22, 26, 33):
        training = sets(size, 60, seed=size)
        rate = theory.grokking_rate(TEN, training)
        unique = parallelograms.unique_linear(TEN, training)
        assert (rate[~unique] == 0).all()
        assert (rate[unique] > 1e-6).all()
    assert np.isinf(theory.grokking_time(0.0))


def test_symbols_of_a_group_have_one_zero_rate_only():
    five = groups.cyclic(5)
    whole = np.ones(15, bool)
    values = np.linalg.eigvalsh(theory.hessian(five, whole))
    assert theory.grokking_rate(five, whole) == pytest.approx(values[1])
    assert (theory.hessian(TEN, sets(30)) == theory.hessian(TEN, sets(30), 9.0)).all()
    assert values[1] > 0.1
    path = theory.linear_flow(start()[:5], [100.0], five, whole)
    np.testing.assert_allclose(path[0] - path[0].mean(0), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.exact_flow(np.ones((9, 1)), [1.0], TEN, sets(3)), "10 symbols"),
        (lambda: theory.exact_flow(np.zeros((10, 1)), [1.0], TEN, sets(3)), "not be zero"),
        (lambda: theory.grokking_rate(TEN, np.ones(7, bool)), "each of 55 samples"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()
