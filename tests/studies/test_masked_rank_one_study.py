import numpy as np
import pytest

from foretrain.streams import Seed
from foretrain.studies.masked_rank_one import study
from foretrain.studies.masked_rank_one.study import pair_ends, predict
from foretrain.tasks import masks as routing
from foretrain.theory.factorization import masked_rank_one as model
from foretrain.theory.factorization.masked_rank_one_escape import (
    blow_up_time,
    early_flow,
    weights_at,
)

SMALL = {"domains": 5, "trained_fraction": 0.5}


def test_a_seed_is_the_same_start_rescaled_and_a_nested_mask():
    one = study.inputs(study.Parameters(**SMALL, init_scale=1e-3), Seed(0, 4))
    other = study.inputs(study.Parameters(**SMALL, init_scale=1e-6), Seed(0, 4))
    for name in ("left_start", "right_start", "scale_start"):
        np.testing.assert_allclose(one[name], 1e3 * other[name], rtol=1e-15)
    more = study.inputs(study.Parameters(domains=5, trained_fraction=0.8), Seed(0, 4))
    assert (one["trained_pairs"] <= more["trained_pairs"]).all()
    assert more["trained_pairs"].sum() == 20
    assert not np.array_equal(
        one["left_start"], study.inputs(study.Parameters(**SMALL), Seed(1, 4))["left_start"]
    )


def test_sparse_masks_are_rectangular_and_of_every_kind():
    parts, idle = set(), 0
    for seed in range(60):
        drawn = study.draw(study.Parameters(mask="sparse"), Seed(0, seed))
        assert drawn.trained_pairs.shape == (10, 15)
        assert (drawn.left.size, drawn.right.size) == (10, 15)
        rows, columns = routing.components(drawn.trained_pairs)
        trained = np.concatenate([drawn.trained_pairs.any(1), drawn.trained_pairs.any(0)])
        labels = np.concatenate([rows, columns])
        parts.add(np.unique(labels[trained]).size)
        idle += not trained.all()
        told = pair_ends(10, 1e-2, Seed(0, seed))
        np.testing.assert_array_equal(told["within"], (rows[:, None] == columns) & ~told["idle"])
    assert {1, 2, 3, 4} <= parts
    assert 10 < idle <= 60


def test_the_closed_form_at_s_is_where_the_whole_flow_is_while_small():
    drawn = study.draw(study.Parameters(**SMALL), Seed(0, 1))
    sigma = 1e-6
    start = sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale
    early = early_flow(start, drawn.trained_pairs)
    times = np.linspace(0, 0.9 * blow_up_time(early), 4000)
    left, right, scale = model.flow(start, times, drawn.trained_pairs)
    progress = np.concatenate([[0], np.cumsum((scale[1:] + scale[:-1]) / 2 * np.diff(times))])
    for place in (1000, 2500, 3999):
        u, v, s = weights_at(early, progress[place], scale[place])
        # S by trapezoids: second order, 1e-6 of weights that change by factors of ten over 4000 points.
        np.testing.assert_allclose(u, left[place], rtol=1e-4, atol=1e-4 * sigma)
        np.testing.assert_allclose(v, right[place], rtol=1e-4, atol=1e-4 * sigma)
        assert s == pytest.approx(scale[place], rel=1e-4)


def test_predictions_scale_as_they_must():
    for number in range(3):
        seed = Seed(0, number)
        one = predict(study.Parameters(**SMALL, init_scale=1e-2), np.arange(3), seed)
        other = predict(study.Parameters(**SMALL, init_scale=1e-5), np.arange(3), seed)
        assert 1e3 * one.pop("blow_up_time") == pytest.approx(other.pop("blow_up_time"), rel=1e-12)
        assert one == other
        values = np.linalg.svd(
            study.draw(study.Parameters(**SMALL), seed).trained_pairs, compute_uv=False
        )
        assert one["alignment_exponent"] == pytest.approx(1 - values[1] / values[0])


def test_masks_are_connected():
    assert routing.is_connected(study.draw(study.Parameters(), Seed(0, 0)).trained_pairs)
