import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import images
from foretrain.tasks.domains import digits_task


def test_digits_are_split_without_overlap_or_loss():
    data = images.digits(0.2, np.random.default_rng(0))
    assert data.train_images.shape == (1438, 8, 8)
    assert data.heldout_images.shape == (359, 8, 8)
    assert data.classes == 10
    assert data.train_images.min() == 0
    assert data.train_images.max() == 1


def test_rotation_by_half_a_turn_twice_is_the_image_again():
    image = np.random.default_rng(0).random((2, 8, 8))
    turned = images.rotate(image, 180)
    np.testing.assert_allclose(turned, image[:, ::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(images.rotate(turned, 180), image, atol=1e-12)


def test_pixel_permutation_is_the_same_for_all_images():
    image = np.arange(128.0).reshape(2, 8, 8)
    shuffled = images.flatten(images.permute_pixels(image, np.random.default_rng(1)))
    assert sorted(shuffled[0]) == sorted(image[0].ravel())
    np.testing.assert_array_equal(shuffled[1] - shuffled[0], 64)


@pytest.mark.parametrize(
    ("shape", "labels", "match"),
    [
        ((4, 2, 2), np.zeros(3), r"`labels` must be as long as `images` \(4\), but has length 3"),
        ((4,), np.zeros(4), "`images` must have at least 2 axes"),
        ((4, 2, 2), [0, 1, -1, 0], "`labels` must hold whole numbers from 0"),
        ((0, 2, 2), [], "`images` must hold at least one image of at least"),
        ((4, 0), np.zeros(4), "`images` must hold at least one image of at least"),
    ],
)
def test_images_and_labels_that_do_not_fit_are_refused(shape, labels, match):
    with pytest.raises(ArgumentError, match=match):
        images.split(np.ones(shape), labels, 0.5, np.random.default_rng(0))


def test_neither_part_of_a_split_is_empty_unless_nothing_is_to_be_held_out():
    def parts(count, fraction):
        data = images.split(np.ones((count, 3)), np.zeros(count), fraction, np.random.default_rng())
        return len(data.train_images), len(data.heldout_images)

    assert parts(1, 0.0) == (1, 0)
    assert parts(2, 0.5) == (1, 1)
    assert parts(10, 0.05 + 1e-9) == (9, 1)
    for count, fraction, got in ((1, 0.2, "held out"), (2, 0.2, "held out"), (1, 0.9, "left")):
        with pytest.raises(ArgumentError, match=f"`heldout_fraction` must leave .* none is {got}"):
            parts(count, fraction)


def test_one_hot_rows_take_no_square_of_the_number_of_classes():
    rows = images.one_hot([10**6, 0], 10**6 + 1)  # a square of that side would take 8 TB
    assert rows.shape == (2, 10**6 + 1)
    assert rows[0, -1] == rows[1, 0] == rows.sum() / 2 == 1


@pytest.mark.parametrize("transform", ["permutation", "rotation"])
def test_whitened_digits_have_unit_variance_in_every_mode(transform):
    task = digits_task(3, transform, "whitened", 0.2, np.random.default_rng(0))
    np.testing.assert_allclose(task.variances, 1, atol=1e-6)
    np.testing.assert_allclose(task.optimum, task.singular_values, rtol=1e-6)
