"""Images as data: scikit-learn's bundled digits, rotations and pixel permutations, one-hot labels, splits."""

from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, real, same_length


@dataclass(frozen=True)
class LabelledImages:
    """Images with their labels, split into a training and a held-out part.

    Attributes:
        train_images: Shape (sample, height, width), (sample, height, width, colour) or (sample, feature). Pixels are
            in [0, 1]; float64, or float32 where they were read so.
        train_labels: Shape (sample,), int.
        heldout_images, heldout_labels: The same for the held-out part.
        classes: Number of classes.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    heldout_images: np.ndarray
    heldout_labels: np.ndarray
    classes: int


def split(
    images, labels, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """Split images at random into a training and a held-out part.

    Args:
        images: Shape (sample, height, width), (sample, height, width, colour) or (sample, feature), real and finite.
        labels: Shape (sample,), whole numbers from 0.
        heldout_fraction: Fraction held out, in [0, 1).
        generator: Draws the split.

    Raises:
        ArgumentError: images hold NaN, lengths differ, or a label is not a whole number from 0.
    """
    images = finite_array("images", images)
    if images.ndim < 2:
        raise argument_error("images", "have at least 2 axes", f"has shape {images.shape}")
    if images.dtype != np.float32:
        images = images.astype(np.float64)
    labels = finite_array("labels", labels, ndim=1)
    same_length(images=images, labels=labels)
    if (labels < 0).any() or (labels != labels.astype(int)).any():
        raise argument_error("labels", "hold whole numbers from 0", "does not")
    labels = labels.astype(int)
    heldout_fraction = real("heldout_fraction", heldout_fraction, minimum=0, maximum=0.9)
    order = generator.permutation(len(images))
    cut = round(heldout_fraction * len(images))
    held, kept = order[:cut], order[cut:]
    return LabelledImages(
        images[kept], labels[kept], images[held], labels[held], int(labels.max()) + 1
    )


def digits(heldout_fraction: float, generator: np.random.Generator) -> LabelledImages:
    """The 1,797 real 8 x 8 handwritten digits that come with scikit-learn, pixels scaled to [0, 1]."""
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return split(bundle.images / 16.0, bundle.target, heldout_fraction, generator)


def one_hot(labels, classes: int) -> np.ndarray:
    """Labels as one-hot rows, shape (sample, classes), float64."""
    return np.eye(integer("classes", classes, minimum=1))[np.asarray(labels, dtype=int)]


def flatten(images: np.ndarray) -> np.ndarray:
    """Images as rows of pixels, shape (sample, height * width)."""
    return images.reshape(len(images), -1)


def rotate(images: np.ndarray, degrees: float) -> np.ndarray:
    """Images turned counter-clockwise about their centre by bilinear interpolation, zero outside."""
    from scipy.ndimage import rotate as rotate_array

    if degrees % 360 == 0:
        return images.copy()
    return rotate_array(images, degrees, axes=(2, 1), reshape=False, order=1)


def permute_pixels(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Images with their pixels shuffled, all by the same permutation drawn from `generator`."""
    flat = flatten(images)
    return flat[:, generator.permutation(flat.shape[1])].reshape(images.shape)
