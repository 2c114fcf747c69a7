import jax
import numpy as np
import pytest
from made_up import changed, check, grid, runs, verdicts

from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.streams import Seed
from foretrain.studies.entangled_networks import chains, measurement, study

AXES, SEEDS = study.AXES, 8


def limit(name, units):
    return study.limits(units).get(name, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("units", AXES["units"])
def test_networks_of_equal_function_have_it_and_the_rank_of_their_symmetries(units):
    # Neurons that idle: their Jacobian is zero, and reduced-rank regression of rank zero counts their outgoing weights.
    idle = {"idle": 2, "idle rectified": 2, "once": units}
    for name in study.NETWORKS:
        result = measurement.measure(study.Parameters(network=name, units=units), Seed(0, 0))
        assert not result["function_gap"] > 1e-5
        if name in study.limits(units):
            assert limit(name, units) - result["exact_rank"] == idle.get(name, 0) * study.OUT


def test_of_the_trained_pair_nothing_crosses_in_one():
    pair = measurement.network("apart", 2, Seed(0, 1))
    assert pair is not None
    activation, own, out, *_ = pair
    module = np.array([0, 0, 1, 1, 0, 1])
    assert activation == "tanh"
    assert not own[module[:, None] != np.arange(6) // 3].any()
    assert not out[np.arange(2)[:, None] != module].any()
    assert own.any(1).all()


def test_chains_start_at_the_network_and_see_its_function():
    for name in ("idle", "rotated", "across rectified"):
        around = chains.posterior(study.Parameters(network=name, units=1), Seed(0, 0))
        assert around.start_loss < 1e-9
        _, own, out, *_ = measurement.network(name, 1, Seed(0, 0))
        assert around.moving.sum() == own.size + out.size


@pytest.mark.slow
@pytest.mark.parametrize("network", ["twice", "once"])
def test_features_that_are_computed_twice_have_the_derived_number(network):
    with jax.enable_x64(True):
        around = chains.posterior(study.Parameters(network=network, units=1), Seed(0, 0))
        values = sampled_parameters(around, gradients=600_000, until_trusted=False)
    assert abs(values.value[0] - limit(network, 1)) < 4 * values.error[0] < 2


def build(gap=1e-6, **moved):
    """Coefficients as derived, but for scatter and for what is moved by the name of the network."""
    random = np.random.default_rng(2)
    known = np.array([[limit(name, units) for units in AXES["units"]] for name in AXES["network"]])
    values = np.where(np.isnan(known), 50, known)[..., None]
    values = random.normal(values, 0.02, (*known.shape, SEEDS))
    values[study.NETWORKS.index("whole")] += 1
    for name, by in moved.items():
        values[study.NETWORKS.index(name.replace("_", " "))] += by
    idle = np.array([name in ("idle", "idle rectified") for name in study.NETWORKS])
    own = {
        "learning_coefficient": values / 2,
        "exact_rank": (known - 4 * idle[:, None])[..., None],
        "function_gap": gap,
        "trusted": np.ones(values.shape, bool),
    }
    theory = runs(AXES, 0, {"learning_coefficient": known / 2}, outcome=None)
    return grid(study.Parameters(), AXES, SEEDS, {"": own, "theory": theory})


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "one-function": {"gap": 1e-3},
        "modular-is-lower": {},
        "modular-is-lower.corrected": {"rotated": 2},
        "as-derived": {"within": 3},
        "within-as-across": {"within": -0.5},
        "beyond-rank": {"idle": -4},
        "trained-apart": {"apart": 2},
        "trained-apart.corrected": {"whole": 3},
    }
    as_conjectured = {"modular-is-lower": {"rotated": 2, "once": 20, "whole": 2}}
    check("entangled-networks", build, spoilt, as_conjectured)


def test_sampling_that_is_not_trusted_says_nothing_where_no_coefficient_is_derived():
    claims = verdicts("entangled-networks", changed(build(), "trusted", np.zeros_like))
    closed = {id for id, (claim, *_) in claims.items() if claim.verdict != "inconclusive"}
    assert {*claims} - closed == {"trained-apart", "trained-apart.corrected", "modular-is-lower"}
