from dataclasses import replace

import numpy as np
import pytest

from foretrain.streams import Seed
from foretrain.studies.connectivity import study
from foretrain.theory.connectivity import connection_probability


def test_masks_are_drawn_anew_for_every_number_of_pairs():
    few, more = (study.mask(study.Parameters(trained_count=n), Seed(0, 0)) for n in (12, 14))
    assert (few.sum(), more.sum()) == (12, 14)
    assert (few > more).any()
    wide = study.Parameters(trained_count=12, hidden_width=4, init_scale=1.0)
    np.testing.assert_array_equal(few, study.mask(wide, Seed(0, 0)))


def test_predicted_connection_is_as_frequent_as_its_exact_probability():
    p = study.Parameters(languages=5, trained_count=12)
    found = [study.predict(p, np.zeros(1), Seed(0, seed)) for seed in range(400)]
    chance = found[0]["connection_probability"]
    assert chance == connection_probability(5, 12, diagonal=False)
    # Four standard errors of a fraction of 400.
    error = np.sqrt(chance * (1 - chance) / 400)
    assert np.mean([one["connected"] for one in found]) == pytest.approx(chance, abs=4 * error)


def test_masks_too_large_for_the_exact_count_are_estimated():
    p = study.Parameters(languages=20, trained_count=70)
    chance = study.predict(p, np.zeros(1), Seed(0, 0))["connection_probability"]
    assert 0 < chance < 1


def test_masks_of_other_shapes():
    p = study.Parameters(hidden_width=8, init_scale=0.01, trained_count=10)
    for name, outputs in (("sparse", 24), ("rectangular", 4)):
        changes = dict(study.variants(p)[name])
        assert changes.pop("seeds") == 5
        cell = replace(p, **changes)
        trained = study.mask(cell, Seed(0, 1))
        assert trained.sum() == cell.trained_count
        assert (trained.any(0) <= (np.arange(cell.languages) < outputs)).all()
        assert cell.init_scale == pytest.approx(1e-3)
    assert study.variants(replace(p, hidden_width=4)) == {}
    predicted = study.predict(replace(p, output_languages=4), np.zeros(1), Seed(0, 0))
    assert np.isnan(predicted["connection_probability"])
