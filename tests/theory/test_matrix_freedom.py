import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import groups
from foretrain.theory import parallelograms
from foretrain.theory.matrix_freedom import matrix_freedom, product_slopes

S3 = groups.symmetric(3)
NATURAL = groups.permutation_matrices(3)


def sets(size, draws, seed=0):
    return groups.training_sets(S3, size, draws, np.random.default_rng(seed))


def test_slopes_are_those_of_finite_differences():
    step = np.random.default_rng(0).normal(size=NATURAL.shape)
    left, right = S3.samples.T

    def products(size):
        moved = NATURAL + size * step
        return (moved[left] @ moved[right]).reshape(36, 9)

    expected = products(0.5) - products(-0.5)  # exact for a quadratic
    np.testing.assert_allclose(product_slopes(S3, NATURAL) @ step.ravel(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("operation", "matrices", "free"),
    [
        (S3, NATURAL, 9),
        (groups.symmetric(4), groups.permutation_matrices(4), 16),
    ],
)
def test_all_samples_leave_the_square_of_the_dimension(operation, matrices, free):
    count, holds = matrix_freedom(operation, np.ones(len(operation.samples), bool), matrices)
    assert count == free
    assert holds.all()


def test_freedom_is_counted_as_the_nullity_of_all_equations():
    first, second = parallelograms.parallelograms(S3)[1].T
    slopes = product_slopes(S3, NATURAL)
    training = sets(11, 8)
    counts, holds = matrix_freedom(S3, training.reshape(2, 4, 36), NATURAL)
    assert counts.shape == (2, 4)
    for known, count, held in zip(training, counts.ravel(), holds.reshape(8, 90), strict=True):
        chosen = known[first] & known[second]
        rows = (slopes[first] - slopes[second])[chosen].reshape(-1, 54)
        rank = np.linalg.matrix_rank(rows)
        assert count == 54 - rank
        for k in range(0, 90, 7):
            more = np.concatenate([rows, slopes[first[k]] - slopes[second[k]]])
            assert held[k] == (np.linalg.matrix_rank(more) == rank)


def test_freedom_does_not_hang_on_the_unit_of_slopes(monkeypatch):
    training = sets(11, 4)
    expected = matrix_freedom(S3, training, NATURAL)
    for unit in (1e-7, 1e7):
        monkeypatch.setattr(
            "foretrain.theory.matrix_freedom.product_slopes",
            lambda *given, unit=unit: unit * product_slopes(*given),
        )
        for one, other in zip(matrix_freedom(S3, training, NATURAL), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_deduced_holds_along_all_free_directions():
    gained = 0
    for size in (8, 12, 16, 20):
        training = sets(size, 15, seed=size)
        count, holds = matrix_freedom(S3, training, NATURAL)
        deduced = parallelograms.ideal(S3, training)
        assert (deduced <= holds).all()
        gained += (holds & ~deduced).sum()
        assert (count >= 9).all()
        assert (holds.all(-1) == (count == 9)).all()
    assert gained > 0


def test_the_count_is_unique_at_a_third_of_s3_and_deduction_reaches_all_at_a_half():
    draws = 300
    counted = [(matrix_freedom(S3, sets(n, draws), NATURAL)[0] == 9).mean() for n in (11, 14)]
    reached = [parallelograms.ideal(S3, sets(n, draws)).all(-1).mean() for n in (16, 18)]
    error = 4 * 0.5 / np.sqrt(draws)  # what stands there with 500 draws: .20 and .76, .19 and .73
    np.testing.assert_allclose(counted, [0.20, 0.76], atol=error)
    np.testing.assert_allclose(reached, [0.19, 0.73], atol=error)


@pytest.mark.parametrize("seed", range(3))
def test_two_products_imply_none_of_a_third_label(seed):
    """Their equations are independent, so that there are matrices that obey two and not the third."""
    first, second = parallelograms.parallelograms(S3)[1].T
    slopes = product_slopes(S3, NATURAL)
    rows = slopes[first] - slopes[second]
    label = S3.labels[first]
    random = np.random.default_rng(seed)
    tried = 0
    while tried < 60:
        chosen = random.choice(90, 3, replace=False)
        if len(set(label[chosen])) < 3:
            continue
        pair = np.linalg.matrix_rank(rows[chosen[:2]].reshape(-1, 54))
        three = np.linalg.matrix_rank(rows[chosen].reshape(-1, 54))
        assert three > pair
        tried += 1


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        (np.ones((5, 3, 3)), "be 6 square matrices"),
        (np.random.default_rng(0).normal(size=(6, 3, 3)), "represent the operation"),
        (np.full((6, 3, 3), np.nan), "hold finite numbers"),
    ],
)
def test_what_is_no_representation_is_refused(matrices, words):
    with pytest.raises(ArgumentError, match=words):
        matrix_freedom(S3, np.ones(36, bool), matrices)
