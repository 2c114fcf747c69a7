import itertools

import pytest

from foretrain.theory.aoyagi import chosen, deep_linear


@pytest.mark.parametrize(
    ("widths", "rank", "value", "multiplicity"),
    [
        ((5, 3, 5), 0, 6.5, 2),
        ((2, 2, 2), 1, 2, 2),
        ((10, 5, 5, 10), 2, 22.5, 1),
        ((64, 64, 64, 10), 10, 320, 1),
        ((5, 4, 5), 0, 8, 1),
        ((4, 3, 8), 0, 6, 1),
        ((3, 8, 4), 0, 6, 1),
    ],
)
def test_known_values(widths, rank, value, multiplicity):
    assert deep_linear(widths, rank) == (value, multiplicity)


def reduced_rank(inputs, hidden, outputs, rank):
    """Aoyagi & Watanabe (2005), for two layers: four cases of their own."""
    m, h, n, r = inputs, hidden, outputs, rank
    if m + h < n + r:
        return (h * m - h * r + n * r) / 2, 1
    if n + h < m + r:
        return (h * n - h * r + m * r) / 2, 1
    if m + n < h + r:
        return m * n / 2, 1
    odd = (m + h + n + r) % 2
    return (-((h + r) ** 2) - m**2 - n**2 + 2 * (h + r) * (m + n) + 2 * m * n + odd) / 8, 1 + odd


def test_two_layers_are_reduced_rank_regression():
    for widths in itertools.product(range(1, 8), repeat=3):
        for rank in range(min(widths) + 1):
            assert deep_linear(widths, rank) == reduced_rank(*widths, rank), (widths, rank)


def test_one_set_of_layers_fits_and_only_one():
    for count in (2, 3, 4, 5):
        for spare in itertools.combinations_with_replacement(range(6), count):
            fits = []
            for size in range(2, count + 1):
                for inside in itertools.combinations(range(count), size):
                    kept = [spare[i] for i in inside]
                    rest = [spare[i] for i in range(count) if i not in inside]
                    l = size - 1  # noqa: E741
                    if rest and not (max(kept) < min(rest) and sum(kept) < l * min(rest)):
                        continue
                    if sum(kept) >= l * max(kept):
                        fits.append(size)
            assert fits == [chosen(list(spare))], spare


def test_layers_may_be_turned_round_and_wide_ones_cost_nothing():
    for widths in itertools.product((2, 3, 5), repeat=4):
        assert deep_linear(widths, 1) == deep_linear(widths[::-1], 1)
        parameters = sum(a * b for a, b in itertools.pairwise(widths))
        assert deep_linear(widths, 0).coefficient <= parameters / 2
    # A hidden layer that is wide enough leaves the coefficient of the map itself.
    assert deep_linear((4, 100, 3), 2) == (6.0, 1)
    assert deep_linear((4, 3), 2) == (6.0, 1)
