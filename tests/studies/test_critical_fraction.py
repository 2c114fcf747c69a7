from dataclasses import replace

import numpy as np
import pytest
from made_up import check, grid

import foretrain
from foretrain.streams import Seed
from foretrain.studies.critical_fraction import claims, study
from foretrain.theory.grokking import parallelograms

SEEDS, SIZES = 16, (10, 16, 20, 24, 30, 40, 50)
AXES = {"training_size": SIZES}
SIZE = np.array(SIZES, float)[:, None]
RANDOM = np.random.default_rng(0)
EASE = np.exp(0.3 * RANDOM.standard_normal(SEEDS))  # of a seed, at all sizes
NOISE = np.exp(0.01 * RANDOM.standard_normal((len(SIZES), SEEDS)))


def line(direction):
    """Embeddings on a line at the second of two steps, direction of shape (seed,)."""
    place = direction[:, None, None, None] * np.arange(10.0)[:, None] * np.array([[[0.0]], [[1.0]]])
    return np.broadcast_to(place, (len(SIZES), SEEDS, 2, 10, 1))


def build(
    enough=22, network=1.0, ranks=EASE, slower=1.0, rate_ranks=EASE, last=EASE, flow=1.0, **changed
):
    """Networks that learn in the steps that theory says, from so many samples on.

    `enough`: Samples from which on networks learn; `network`: Factor of their steps; `ranks`: Factor of the steps of
    each seed; `slower`: Factor of the steps of 1 / lambda_3; `rate_ranks`: Factor of the steps of 1 / lambda_3 of
    each seed; `last`: Order of the seeds, of which the last two never learn from 24 samples; `flow`: Direction of the
    flow, relative to that of the networks; `**changed`: Parameters, and other variables of the networks.
    """
    unique = (SIZE > 22) & np.ones(SEEDS, bool)
    typical = 600 * (SIZE / 40) ** -2.0
    learned = (SIZE > enough) & ~((SIZE == 24) & (last > np.sort(last)[-3]))
    direction = RANDOM.choice([-1.0, 1.0], SEEDS)
    p = study.Parameters(symbols=changed.pop("symbols", 10))
    variables = {
        "rqi_step": np.where(learned, network * typical * ranks * NOISE, np.nan),
        "lambda_3": np.where(unique, 1e3 / typical, 0),
        "ideal_rqi": np.where(unique, 1.0, 0.5),
        "embedding": line(direction),
        **changed,
    }
    predicted = {
        "theory_step": np.where(unique, slower * typical * rate_ranks, np.inf),
        "adam_step": typical * EASE,
        "flow_embedding": line(flow * direction),
        "unique_probability": unique.astype(float),
    }
    return grid(p, AXES, SEEDS, {"": variables, "theory": predicted}, step=np.array([0, 100]))


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "half-unique": {"symbols": 6},
        "learned-from": {"enough": 35},
        "always-above": {"enough": 35},
        "rate-grows": {"lambda_3": np.where(SIZE > 22, 1 / SIZE, 0) * np.ones(SEEDS)},
        "theory-steps": {"slower": 0.3},
        "theory-steps.corrected": {"network": 3.0},
        "ranking": {"rate_ranks": 1 / EASE},
        "ranking.corrected": {"ranks": 1 / EASE},
        "who-learns": {"last": 1 / EASE},
        "direction": {"flow": -1.0},
    }
    check("critical-fraction", build, spoilt, drawn=False)


def test_seeds_that_were_looked_at_are_those_of_one_root_only():
    whole = build()
    assert np.arange(SEEDS)[claims.unseen_seeds(whole)].tolist() == list(range(6, 16))
    assert np.arange(SEEDS)[claims.unseen_seeds(replace(whole, root_seed=1))].size == SEEDS


@pytest.mark.slow
def test_theory_says_never_where_the_training_set_leaves_freedom_and_flows_from_the_start(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(study, "ADAM_STEPS", 500)
    options = {"symbols": 4, "training_size": (6, 8, 9), "hidden_width": 16, "steps": 200}
    options |= {"embedding_learning_rate": 3e-3, "decoder_learning_rate": 3e-3}
    options |= {"observe_every": 50, "seeds": 12, "quiet": True, "workers": 0}
    result = foretrain.run("critical-fraction", **options, out=tmp_path / "a")
    (exact,) = (claim for claim in result.claims if claim.id == "rate-grows")
    assert exact.verdict == "holds"
    free = (result.simulation["lambda_3"] == 0).values
    assert {*free.ravel()} == {False, True}
    for name in ("theory_step", "flow_step"):
        np.testing.assert_array_equal(np.isinf(result.theory[name].values), free)
    assert (result.theory["unique_probability"].diff("training_size") > 0).all()
    start = result.simulation["embedding"].isel(step=0).transpose(..., "symbol", "coordinate")
    flow = result.theory["flow_embedding"].isel(step=0).transpose(*start.dims)
    np.testing.assert_allclose(flow, parallelograms.normalised(start.values), atol=1e-5)


def test_half_of_the_sets_are_unique_between_22_and_23_of_55_samples():
    sizes = study.critical_sizes("addition", 10)
    assert (sizes <= 22).mean() < 0.5 < (sizes <= 23).mean()


@pytest.mark.parametrize(
    "changed",
    [
        {"embedding_learning_rate": 0.0},
        {"symbols": 6, "operation": "symmetric", "training_size": 24, "embedding_dim": 3},
    ],
)
def test_nothing_is_predicted_of_embeddings_that_do_not_move_or_of_matrices(changed):
    assert study.predict(study.Parameters(**changed), np.arange(2), Seed(0, 0)) == {}
