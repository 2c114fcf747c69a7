import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.studies.circulant import study
from foretrain.studies.circulant.theory import predict, weights_at
from foretrain.studies.masked_rank_one import study as toy
from foretrain.theory.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.masked_rank_one_escape import early_flow
from foretrain.theory.random_matrix import circulant_singular_values


def early(seed, sigma, width=5):
    drawn = study.draw(study.Parameters(width=width), 0, seed)
    start = sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale
    return drawn.trained_pairs, early_flow(drawn.trained_pairs, *start)


def turning(sigma=1e-3):
    """Two seeds whose linearised flow keeps the sign of s, and two that turn."""
    turns = [np.isfinite(early(seed, sigma)[1].turning_point) for seed in range(60)]
    return [*np.flatnonzero(np.logical_not(turns))[:2], *np.flatnonzero(turns)[:2]]


@pytest.mark.parametrize("seed", turning())
def test_the_linearised_flow_is_followed_to_the_level_asked_for(seed):
    trained, flow = early(seed, 1e-3)
    for level in (1e-4, 1e-2, 0.5):
        left, right, scale = weights_at(flow, trained, level)
        assert scale * left @ trained @ right == pytest.approx(level * trained.sum() / 2, rel=1e-9)
        # On the way out u, v and s are those of one start: |u|^2 - s^2 is what it was.
        drawn = study.draw(study.Parameters(), 0, seed)
        kept = 1e-6 * (drawn.left @ drawn.left - drawn.scale**2)
        assert left @ left - scale**2 == pytest.approx(kept, abs=1e-12 * (left @ left))


def test_a_start_beyond_the_level_is_returned():
    seed = next(s for s in range(60) if _product(s) > 0)
    trained, flow = early(seed, 0.5)
    left, _, scale = weights_at(flow, trained, 1e-9)
    drawn = study.draw(study.Parameters(), 0, seed)
    np.testing.assert_allclose(left, 0.5 * drawn.left, rtol=1e-12)
    assert scale == pytest.approx(0.5 * drawn.scale)


def _product(seed):
    drawn = study.draw(study.Parameters(), 0, seed)
    return drawn.scale * drawn.left @ drawn.trained_pairs @ drawn.right


@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_linearised_misalignment_falls_with_the_exponent(width):
    # Far down the third mode is gone: the exponent to three digits.
    left = []
    for sigma in (1e-40, 1e-60):
        trained, flow = early(0, sigma, width)
        u, v, _ = weights_at(flow, trained, 1e-2)
        left.append(misalignment(u, v, trained))
    if min(left) > 1e-13:
        slope = np.log(left[0] / left[1]) / np.log(1e20)
        exponent = alignment_exponent(circulant_singular_values(10, width))
        assert slope == pytest.approx(exponent, rel=1e-2)
    else:  # rounding
        assert width == 5


def test_a_start_is_shared_by_all_widths_and_scales():
    one = study.inputs(study.Parameters(width=3, init_scale=1e-2), 0, 7)
    other = study.inputs(study.Parameters(width=9, init_scale=1e-64), 0, 7)
    np.testing.assert_allclose(one["left_start"] * 1e-62, other["left_start"], rtol=1e-14)


def test_prediction_of_agreeing_signs_is_that_of_the_weights():
    theory = predict(study.Parameters(width=7, init_scale=1e-3), 0, 5)
    for seed in range(5):
        trained, flow = early(seed, 1e-3, 7)
        left, right, scale = weights_at(flow, trained, toy.STAGES[1])
        agrees = (scale * np.outer(left, right) > 0).all()
        assert bool(theory["predicted_agreement"][seed, 1]) == agrees
    # A wide band at a small scale is aligned and agrees.
    assert predict(study.Parameters(width=9, init_scale=1e-6), 0, 5)["predicted_agreement"].all()


def test_small_study_separates_stuck_runs_and_draws(tmp_path):
    result = foretrain.run(
        "circulant",
        domains=6,
        width=(2, 5),
        init_scale=(1e-1, 1e-6, 1e-8),
        seeds=6,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
    )
    claims = {claim.id: claim for claim in result.claims}
    for id in (
        "invariants",
        "gap-grows",
        "aligned-generalises",
        "zero-loss-generalises",
        "stuck-training",
        "agreeing-signs",
        "generalises[width=5]",
        "misalignment[width=5]",
        "alignment-exponent[width=5]",
    ):
        assert claims[id].verdict == "holds", claims[id]
    for name in ("misalignment", "generalisation", "alignment-and-generalisation"):
        assert (tmp_path / "run" / "figures" / f"{name}.svg").exists()


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentError, match="`width` must be at most `domains` = 10, but is 11"):
        study.check(study.Parameters(width=11))
    with pytest.raises(ArgumentError, match="`init_scale` must be at least 1e-64"):
        foretrain.run("circulant", init_scale=1e-100)
