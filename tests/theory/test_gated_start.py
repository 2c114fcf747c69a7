import numpy as np
import pytest

from foretrain.tasks.logic import xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import (
    decoupled_start,
    decoupled_weights,
    grown_start,
    hidden_frames,
)
from foretrain.theory.gated.reduction import find_reduction
from foretrain.theory.pathways.exclusive_or import gated_strengths

UNITS = 5
REDUCTION = find_reduction(gather_statistics(xor(UNITS)))


@pytest.fixture
def weights():
    random = np.random.default_rng(0)
    return {
        f"{side}{k}": random.standard_normal((UNITS, 2) if side == "in" else (1, UNITS))
        for k in (1, 2, 3, 4)
        for side in ("in", "out")
    }


def test_decoupled_weights_are_where_they_grow_from():
    state = decoupled_start(0.3, REDUCTION)
    frames = hidden_frames(REDUCTION, np.random.default_rng(1))
    found = grown_start(decoupled_weights(state, frames, REDUCTION), REDUCTION)
    np.testing.assert_allclose(found, state, atol=1e-15)


def test_both_edges_of_a_pathway_start_alike_and_are_what_exclusive_or_says(weights):
    found = dict(
        zip([e.name for e in REDUCTION.graph.edges], grown_start(weights, REDUCTION), strict=True)
    )
    for k, strength in enumerate(gated_strengths(weights), 1):
        np.testing.assert_array_equal(found[f"in{k}"], found[f"out{k}"])
        assert (found[f"in{k}"] * found[f"out{k}"]).sum() == pytest.approx(strength)
