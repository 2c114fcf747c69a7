import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.tasks.domains import hierarchy_task
from foretrain.tasks.masks import circulant, random_rows
from foretrain.theory.pathways import race_parts

S, D = np.array([3.4, 1.6, 0.75]), np.full(3, 0.25)
TIMES = np.array([0.0, 5.0, 12.0, 30.0, np.inf])


def race(outputs=4, domains=7, scale=0.2, times=TIMES):
    return race_parts.from_random(scale, times, circulant(domains, outputs), S, D)


def test_starts_with_all_singular_values_at_the_scale_and_ends_at_the_solution():
    result = race()
    np.testing.assert_allclose(result.gain[0], 0, atol=1e-12)
    for layer in (result.outer, result.hidden):
        np.testing.assert_allclose(layer[0], 0.2, rtol=1e-6)
    np.testing.assert_allclose(result.cosine[0], 0, atol=1e-6)
    np.testing.assert_allclose(result.gain[-1], S / D, rtol=1e-12)
    assert race_parts.race_loss(result.gain, S, D, 0.5)[-1] == pytest.approx(0.25)


def test_where_all_routes_are_trained_the_parts_of_single_domains_stay_as_drawn():
    result = race(outputs=7)
    np.testing.assert_allclose((1 - result.cosine) * result.outer**2, 0.04, rtol=1e-9)
    # Far from the start the conserved quantity of the whole network: M B1^2 - B2^2 = (M - 1) sigma^2, but for what the
    # second direction of the hidden matrix has lost.
    left = 7 * result.outer[-1] ** 2 - result.hidden[-1] ** 2
    np.testing.assert_allclose(left, 6 * 0.04, rtol=0.2)


def of_maps(maps, times=TIMES, scale=0.2):
    return race_parts.parts_of_maps(scale, times, maps, S, D)


def test_equal_maps_have_one_part_which_is_the_race():
    parts, result = of_maps(np.ones((7, 7))), race(outputs=7)
    np.testing.assert_allclose(parts.gain[:, 0], result.gain, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(parts.gain[:, 1:], 0, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(parts.power.sum(1) / 7), result.outer, rtol=1e-6)
    expected = race_parts.race_loss(result.gain, S, D, 0.0)
    np.testing.assert_allclose(
        race_parts.parts_loss(parts, np.ones((7, 7)), S, D), expected, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_a_part_is_learned_as_if_it_were_alone_at_its_share_of_the_map(share):
    sign = np.array([1, 1, 1, -1, -1, -1])
    parts = of_maps(1 + share * np.outer(sign, sign))
    alone = race_parts.race_gains(0.2, TIMES, 6, share * S, D)
    np.testing.assert_allclose(parts.gain[:, 1], alone, rtol=1e-6)  # a solver between
    assert (parts.gain[:, 2:] == 0).all()
    # Small weights: the second half-learning time is later by the ratio of the singular values over domains.
    late = np.linspace(0, 4000, 4001)
    halves = [
        late[
            np.argmax(
                race_parts.race_gains(1e-2, late, 6, [signal], D[:1])[:, 0] > signal / D[0] / 2
            )
        ]
        for signal in (S[0], share * S[0])
    ]
    assert halves[1] / halves[0] == pytest.approx(1 / share, rel=0.02)


def test_dot_products_are_those_of_the_parts():
    parts = race_parts.parts_of_mask(race().gain, 0.2, circulant(7, 4))
    modes = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    result = race_parts.parts_similarity(parts, modes)
    cosine, _ = cross_domain_similarity(result, 3)
    within, between = (item[-1] for item in race_parts.domain_similarity(parts, modes, 4))
    assert float(cosine) == pytest.approx((18 * within + 24 * between) / 42, rel=1e-9)
    np.testing.assert_allclose(result[:3, :3], modes * race().outer[-1] ** 2 @ modes.T, rtol=1e-6)


def test_refuses_masks_for_which_it_is_not_derived():
    pairs = random_rows(5, 2, np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="`trained_pairs` must be biregular, but is not"):
        race_parts.from_random(0.2, TIMES, pairs, S, D)


@pytest.mark.parametrize("cosine", [1.0, np.array([0.9, 0.5, 0.2, 0.0])])
def test_similarity_is_the_gram_matrix_of_what_encoders_make_of_the_items(cosine):
    task, domains, hidden = hierarchy_task((6.0, 4.0, 3.0)), 3, 40
    modes, strength = task.input_modes[0], np.array([1.5, 1.2, 0.9, 0.9])
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(hidden, hidden)))[0]
    shared, *own = np.split(frame[:, : 4 * (domains + 1)], domains + 1, axis=1)
    # Vectors of a part in common and one of their own: any two domains are at this cosine in every mode.
    encoders = [np.sqrt(cosine) * shared + np.sqrt(1 - cosine) * item for item in own]
    activity = np.concatenate([item * strength @ modes.T for item in encoders], axis=1)
    result = race_parts.similarity(modes, strength**2, cosine, domains)
    np.testing.assert_allclose(result, activity.T @ activity, atol=1e-12)


def test_small_weights_leave_what_a_network_leaves_of_which_all_planes_are_orthogonal():
    pairs, scale, rate, error = circulant(5, 3), 0.02, 0.04, np.zeros((15, 15))
    routes = np.kron(pairs.T, np.ones((3, 3))) / pairs.sum()
    hidden = scale * np.eye(30)
    encoders, decoders = hidden[:, :15], hidden[15:]
    for _ in range(25_000):
        error = decoders @ hidden @ encoders - np.kron(np.ones((5, 5)), np.diag(S / D))
        pull = rate * D[0] * routes * error
        ahead, behind = hidden @ encoders, decoders @ hidden
        hidden = hidden - decoders.T @ pull @ encoders.T
        encoders, decoders = encoders - behind.T @ pull, decoders - pull @ ahead.T
    each = (D[0] / 2 * error**2).reshape(5, 3, 5, 3).sum((1, 3)).T
    left = [(each * where).sum() / where.sum() for where in (pairs, 1 - pairs)]
    # To the first order in the scale.
    np.testing.assert_allclose(race_parts.errors_left(scale, pairs, S, D), left, rtol=0.03)
