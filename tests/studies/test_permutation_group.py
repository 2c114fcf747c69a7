import numpy as np
import pytest

import foretrain
from foretrain.studies.permutation_group import claims, study, theory
from foretrain.tasks.groups import permutation_matrices
from foretrain.theory import parallelograms
from foretrain.training.embedding import operation


def test_all_that_is_deduced_holds_for_true_matrices_and_grows_with_the_samples():
    share = theory.implied_shares("symmetric", 6, False)
    assert (np.diff(share, axis=0) >= 0).all()
    assert (share[-1] == 1).all()
    assert (share[0] == 0).all()
    task = operation(study.Parameters())
    assert len(share) == len(task.samples)
    assert parallelograms.parallelograms_of_matrices(permutation_matrices(3), task).all()
    # One half is crossed at 17 samples of 36.
    assert 16 <= theory.predict(study.Parameters(), None)["deduction_size"] <= 18


def test_a_third_parallelogram_of_another_label_needs_three_where_the_group_does_not_commute():
    task = operation(study.Parameters())
    count = len(parallelograms.parallelograms(task)[0])
    label = task.labels[parallelograms.parallelograms(task)[1][:, 0]]
    random = np.random.default_rng(0)
    pairs = np.array(
        [np.isin(np.arange(count), random.choice(count, 2, False)) for _ in range(300)]
    )

    def of_another_label(chosen):
        more = parallelograms.deduced(task, chosen) & ~chosen
        return sum(
            not set(label[new]) <= set(label[old]) for new, old in zip(more, chosen, strict=True)
        )

    assert of_another_label(pairs) == 0
    # E_i E_j = E_m E_n says E_m^-1 E_i = E_n E_j^-1: four quotients in a square, of which three are given.
    i, j, m, n = parallelograms.parallelograms(task)[0].T
    quotient = {}
    for k in range(count):
        quotient.setdefault((m[k], i[k]), {})[(n[k], j[k])] = k
    squares = [
        [one[a], one[b], two[a], two[b]]
        for one in quotient.values()
        for two in quotient.values()
        if one is not two
        for a in one
        for b in one
        if a != b and a in two and b in two
    ]
    assert squares
    for square in squares[:20]:
        chosen = np.isin(np.arange(count), square[:3])
        assert parallelograms.deduced(task, chosen)[square[3]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "group",
    [
        {"operation": "dihedral", "symbols": 8, "embedding_dim": 2, "training_size": [20, 40, 60]},
        {
            "operation": "cyclic",
            "symbols": 5,
            "ordered": True,
            "embedding_dim": 2,
            "training_size": [8, 14, 20],
        },
    ],
)
def test_other_groups_are_options(tmp_path, group):
    result = foretrain.run(
        "permutation-group",
        **group,
        hidden_width=8,
        steps=20,
        observe_every=10,
        seeds=3,
        workers=0,
        out=tmp_path / "a",
        quiet=True,
    )
    claimed = {claim.id for claim in result.claims}
    assert {"lower-bound", "deduced-only", "grows"} <= claimed
    assert ("transition" in claimed) == (group["symbols"] <= 6)
    assert "hexagon" not in claimed
    assert (tmp_path / "a" / "figures" / "fractions.png").exists()


def test_corners_of_a_hexagon_in_two_components():
    angle = np.pi / 3 * np.arange(6)
    flat = np.stack([3 * np.cos(angle), np.sin(angle)], axis=1)
    turned = flat @ np.linalg.qr(np.random.default_rng(1).standard_normal((9, 2)))[0].T + 5
    place = claims.plane(turned)
    assert np.abs(place @ place.T - flat @ flat.T).max() < 1e-12
    assert claims.convex(place)
    assert not claims.convex(place * np.array([1, 1, 1, 1, 1, 0.1])[:, None])
    assert not claims.convex(np.zeros((6, 2)))
