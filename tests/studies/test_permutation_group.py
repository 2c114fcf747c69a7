import itertools

import numpy as np
import pytest
from made_up import check, grid, runs

import foretrain
from foretrain.plans import catalogue
from foretrain.studies.permutation_group import claims, study
from foretrain.tasks.groups import permutation_matrices
from foretrain.theory.grokking import parallelograms
from foretrain.training.embedding import operation

STUDY = catalogue.load("permutation-group")
SIZES, SEEDS = (9, 12, 15, 18, 21, 24, 27, 30, 33), 8
AXES = {"training_size": SIZES}
HEXAGON = np.exp(1j * np.pi / 3 * np.arange(6))


def build(*, gap=0.1, bound=1.0, shrink=False, start=18, order="turns", star=False):
    """Representations that grow with the training size, and are learned from 18 samples on.

    `gap`: Real less predicted accuracy; `bound`: What can be deduced, relative to what is there; `shrink`: More
    samples make worse representations, and these later; `start`: First size at which the RQI and the accuracy are
    reached; `order`: Even and odd elements take turns around the middle, or are on two sides of it; `star`: Half of
    the six elements stay inside the triangle of the others.
    """
    size = np.array(SIZES, float)[:, None]
    whole = np.ones((len(SIZES), SEEDS))
    jitter = 1e-3 * np.random.default_rng(0).random(whole.shape)
    rising = (size - 9) / 24 * 0.95 + 0.04 + jitter
    rqi = (1.04 - rising) if shrink else rising
    learned = (size >= start) & (whole > 0)
    rqi = np.where(learned & (start < 40), np.maximum(rqi, 0.96 + rqi / 100), np.minimum(rqi, 0.9))
    steps = np.where(learned, 1000 * (size if shrink else 40 - size) + jitter, np.nan)
    accuracy = 0.5 + rising / 2.5
    place = {"turns": (0, 1, 3, 2, 4, 5), "sides": (0, 5, 4, 1, 2, 3)}[order]
    shape = (HEXAGON * np.where(np.arange(6) % 2, 0.3 if star else 1, 1))[list(place)]
    embedding = np.zeros((6, 9))
    embedding[:, 0], embedding[:, 4] = 2 * shape.real, shape.imag
    curve = lambda values: (values * whole)[..., None]  # noqa: E731
    own = {
        "train_accuracy": curve(accuracy),
        "validation_accuracy": curve(accuracy),
        "predicted_accuracy": curve(accuracy - gap),
        "rqi": curve(rqi),
        "ideal_rqi": bound * rqi,
        "rqi_step": steps,
        "validation_step": steps,
        "embedding": np.broadcast_to(embedding, (len(SIZES), SEEDS, 1, 6, 9)),
    }
    theory = runs(AXES, 0, {"deduction_size": np.full(len(SIZES), 17.0)}, outcome=None)
    return grid(STUDY.Parameters(), AXES, SEEDS, {"": own, "theory": theory}, step=np.array([0]))


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "lower-bound": {"gap": -0.1},
        "deduced-only": {"bound": 0.9},
        "sooner": {"shrink": True, "start": 9},
        "transition": {"start": 99},
        "transition.corrected": {"start": 9},
        "transition-best": {"start": 99},
        "hexagon": {"star": True},
        "hexagon.corrected": {"order": "sides"},
    }
    check("permutation-group", build, spoilt)


@pytest.mark.slow
def test_all_that_is_deduced_holds_for_true_matrices_and_grows_with_the_samples():
    share = study.implied_shares("symmetric", 6, False)
    assert (np.diff(share, axis=0) >= 0).all()
    assert (share[-1] == 1).all()
    assert (share[0] == 0).all()
    task = operation(study.Parameters())
    assert len(share) == len(task.samples)
    left, right = permutation_matrices(3)[task.samples.T]
    first, second = (left @ right)[parallelograms.parallelograms(task)[1].T]
    np.testing.assert_array_equal(first, second)
    # One half is crossed at 17 samples of 36.
    assert 16 <= study.predict(study.Parameters(), None)["deduction_size"] <= 18


def test_three_sides_of_a_square_of_quotients_deduce_the_fourth_where_the_group_does_not_commute():
    task = operation(study.Parameters())
    # E_i E_j = E_m E_n says E_m^-1 E_i = E_n E_j^-1: two quotients of the one kind and two of the other make a square.
    symbols = parallelograms.parallelograms(task)[0].tolist()
    known = {((m, i), (n, j)): k for k, (i, j, m, n) in enumerate(symbols)}
    squares = [
        (known[a, x], known[b, x], known[a, y], known[b, y])
        for (a, x), (b, y) in itertools.combinations(known, 2)
        if a != b and x != y and {(a, y), (b, x)} <= known.keys()
    ]
    assert squares
    for *three, fourth in squares[:20]:
        assert parallelograms.deduced(task, np.isin(np.arange(len(symbols)), three))[fourth]


DIHEDRAL = {"operation": "dihedral", "symbols": 8, "training_size": [20, 40, 60]}
ORDERED = {"operation": "cyclic", "symbols": 5, "ordered": True, "training_size": [8, 14, 20]}


@pytest.mark.slow
@pytest.mark.parametrize("group", [DIHEDRAL, ORDERED])
def test_other_groups_are_options(tmp_path, group):
    small = {"embedding_dim": 2, "hidden_width": 8, "steps": 20, "observe_every": 10, "seeds": 3}
    out = tmp_path / "a"
    result = foretrain.run("permutation-group", **group, **small, workers=0, out=out, quiet=True)
    claimed = {claim.id for claim in result.claims}
    assert {"lower-bound", "deduced-only", "sooner"} <= claimed
    assert ("transition" in claimed) == (group["symbols"] <= 6)
    assert "hexagon" not in claimed
    assert (out / "figures" / "fractions.svg").exists()


def test_corners_of_a_hexagon_in_two_components():
    angle = np.pi / 3 * np.arange(6)
    flat = np.stack([3 * np.cos(angle), np.sin(angle)], axis=1)
    turned = flat @ np.linalg.qr(np.random.default_rng(1).standard_normal((9, 2)))[0].T + 5
    place = claims.plane(turned)
    assert np.abs(place @ place.T - flat @ flat.T).max() < 1e-12
    assert claims.convex(place)
    assert not claims.convex(place * np.array([1, 1, 1, 1, 1, 0.1])[:, None])
    assert not claims.convex(np.zeros((6, 2)))
