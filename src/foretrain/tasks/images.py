"""Images as data: scikit-learn's bundled digits, rotations and pixel permutations, one-hot labels, splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, real, same_length

LARGEST = 1e15  # in size: the sum of the squares of 10^8 such numbers is a float32
MOST_CLASSES = 10_000


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


def checked(
    images,
    labels,
    *,
    classes: int = MOST_CLASSES,
    name: str = "images",
    labels_name: str = "labels",
) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels that a network can be trained on.

    Images are (sample, height, width), (sample, height, width, colour) or (sample, feature), labels (sample,) whole numbers
    from 0 below `classes`; `name` and `labels_name` stand in messages. Returns images in float32 if they were, else in
    float64, and int64 labels. No image, no pixel, numbers that are not finite, too large or all zero raise `ArgumentError`.
    """
    images = finite_array(name, images)
    if images.ndim < 2:
        raise argument_error(name, "have at least 2 axes", f"has shape {images.shape}")
    if not images.size:
        rule = "hold at least one image of at least one pixel"
        raise argument_error(name, rule, f"has shape {images.shape}")
    labels = finite_array(labels_name, labels, ndim=1)
    same_length(**{name: images, labels_name: labels})
    wrong = (labels < 0) | (labels >= classes) | (labels % 1 != 0)
    if wrong.any():
        rule = f"hold whole numbers from 0 to {classes - 1}"
        raise argument_error(labels_name, rule, f"holds {labels[wrong][0]:g}")
    largest = max(float(images.max()), -float(images.min()))
    if largest > LARGEST:
        rule = f"hold numbers of at most {LARGEST:g} in size"
        raise argument_error(name, rule, f"holds one of {largest:g}")
    if np.float32(largest) == 0:  # what networks see of them
        raise argument_error(name, "differ from zero", "holds zeros only")
    return images if images.dtype == np.float32 else images.astype(np.float64), labels.astype(int)


def split(
    images, labels, heldout_fraction: float, generator: np.random.Generator
) -> LabelledImages:
    """Split images at random into a training and a held-out part.

    `heldout_fraction` is 0 to 0.9; neither part may be empty unless it is 0.
    """
    images, labels = checked(images, labels)
    heldout_fraction = real("heldout_fraction", heldout_fraction, minimum=0, maximum=0.9)
    order = generator.permutation(len(images))
    cut = round(heldout_fraction * len(images))
    if heldout_fraction > 0 and not 0 < cut < len(images):
        part = "none is held out" if cut == 0 else "none is left to train on"
        got = f"of {len(images)} at {heldout_fraction:g} {part}"
        raise argument_error("heldout_fraction", "leave images in both parts", got)
    heldout, kept = order[:cut], order[cut:]
    return LabelledImages(
        images[kept], labels[kept], images[heldout], labels[heldout], int(labels.max()) + 1
    )


def digits(heldout_fraction: float, generator: np.random.Generator) -> LabelledImages:
    """The 1,797 real 8 x 8 handwritten digits that come with scikit-learn, pixels scaled to [0, 1]."""
    from sklearn.datasets import load_digits

    bundle: Any = load_digits()
    return split(bundle.images / 16.0, bundle.target, heldout_fraction, generator)


def one_hot(labels, classes: int) -> np.ndarray:
    """Labels from 0 to `classes` - 1 as one-hot rows, shape (sample, classes), float64."""
    labels = np.asarray(labels, dtype=int)
    rows = np.zeros((len(labels), integer("classes", classes, minimum=1)))
    rows[np.arange(len(labels)), labels] = 1
    return rows


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
