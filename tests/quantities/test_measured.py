import numpy as np

from foretrain.quantities.measured import largest


def test_the_largest_deviation_is_by_size_and_unknown_where_one_is():
    assert largest([[1.0, -3.0], [2.0, 0.0]], "Of four.").worst == 3
    assert largest([[1.0, -3.0], [2.0, 0.0]], "Of four.").note == "Of four."
    assert np.isnan(largest([]).worst)
    assert np.isnan(largest([1.0, np.nan]).worst)
