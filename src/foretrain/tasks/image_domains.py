"""The same images in many domains, rotated or permuted, and all that a linear network can tell of them.

Pixel and label permutations are not carried out: encoders and decoders absorb them exactly, so that with i.i.d. starting
weights permuted domains are, in law, copies of the plain one. Arrays over domains then have a first axis of length 1.
"""

from typing import NamedTuple

import numpy as np

from foretrain.errors import argument_error
from foretrain.tasks import images as image_tools
from foretrain.tasks.images import LabelledImages

MOST_PIXELS = 2**14  # a matrix of that side takes 2 GiB


class Domains(NamedTuple):
    """Images in M domains.

    Attributes:
        inputs: Training images, shape (input_domain or 1, sample, pixel), float32.
        labels: Shape (sample,), int.
        heldout_inputs, heldout_labels: The same for the held-out part.
        maps: None, or the linear map from the common images to those of each domain: (input_domain, pixel, pixel), float32.
        classes: Number of classes.
    """

    inputs: np.ndarray
    labels: np.ndarray
    heldout_inputs: np.ndarray
    heldout_labels: np.ndarray
    maps: np.ndarray | None
    classes: int


class Statistics(NamedTuple):
    """Data of each domain as a linear network with squared error sees them, in the eigenbasis of its <x x^T>.

    Attributes:
        scales: Roots of the eigenvalues, largest first, shape (input_domain or 1, pixel).
        targets: <y x^T> in that basis over `scales`, shape (input_domain or 1, class, pixel); zero where `scales` is.
        residual: Error of least squares, 1/2 <|y|^2> less what it explains, shape (input_domain or 1,).
        bases: Eigenvectors as columns, shape (input_domain or 1, pixel, pixel).
    """

    scales: np.ndarray
    targets: np.ndarray
    residual: np.ndarray
    bases: np.ndarray


def divided(data: LabelledImages, domains: int, transform: str, degrees: float) -> Domains:
    """Domains made by "permutation" of pixels and labels: the plain images, gathered once; or by "rotation".

    Domain i then holds the images turned by ``degrees * i / domains``, as linear maps of the pixels: M d^2 numbers for d
    pixels. Data that are no images raise `ArgumentError`.
    """
    flat = [_rows(part)[None] for part in (data.train_images, data.heldout_images)]
    plain = Domains(flat[0], data.train_labels, flat[1], data.heldout_labels, None, data.classes)
    if transform != "rotation":
        return plain
    shape = data.train_images.shape[1:]
    if len(shape) < 2:
        rule, repair = "be `permutation` for features", "Rotate the images first."
        raise argument_error("transform", rule, "is `rotation`", repair)
    basis = np.eye(flat[0].shape[-1]).reshape(-1, *shape)
    # Row p of the turned basis is what pixel p becomes; its transpose maps images.
    maps = [_rows(image_tools.rotate(basis, degrees * i / domains)).T for i in range(domains)]
    return plain._replace(maps=np.stack(maps))


def _rows(images) -> np.ndarray:
    return image_tools.flatten(np.asarray(images)).astype(np.float32)


def statistics(data: Domains) -> Statistics:
    """Statistics of the training images of every domain, in float64.

    Cost: sample * pixel^2 once where domains share their images, then pixel^3 a domain, at most `MOST_PIXELS` pixels.
    """
    pixels = data.inputs.shape[-1]
    if pixels > MOST_PIXELS:
        rule = f"have at most {MOST_PIXELS} pixels or features for their statistics"
        raise argument_error("data", rule, f"has {pixels}", "Try --training minibatch.")
    moments = [_moments(domain, data.labels, data.classes) for domain in data.inputs]
    if data.maps is not None:
        (correlation, association), maps = moments[0], data.maps.astype(float)
        moments = ((turn @ correlation @ turn.T, association @ turn.T) for turn in maps)
    blocks = [_in_eigenbasis(*moment) for moment in moments]
    return Statistics(*(np.stack(arrays) for arrays in zip(*blocks, strict=True)))


def _moments(inputs, labels, classes):
    """<x x^T> and <y x^T>, summed in blocks so that no copy of all images is made in float64."""
    correlation, association, block = 0.0, 0.0, 4096
    for start in range(0, len(inputs), block):
        x = inputs[start : start + block].astype(float)
        one_hot = image_tools.one_hot(labels[start : start + block], classes)
        correlation = correlation + x.T @ x
        association = association + one_hot.T @ x
    return correlation / len(inputs), association / len(inputs)


def _in_eigenbasis(correlation, association):
    variances, basis = np.linalg.eigh(correlation)
    variances, basis = variances[::-1], basis[:, ::-1]
    # Below this fraction of the largest variance is rounding of images stored in float32.
    varies = variances > 1e-10 * variances[0]
    scales = np.sqrt(np.where(varies, variances, 0))
    targets = np.where(varies, association @ basis / np.where(varies, scales, 1), 0)
    residual = (1 - (targets**2).sum()) / 2  # one-hot targets have length 1
    return scales, targets, max(residual, 0.0), basis


def truncated(statistics: Statistics, share: float) -> Statistics:
    """Statistics of the images projected on the directions that hold most of them.

    Directions of smallest <x^2> are left out as long as they hold at most `share`, 0 to 1, of <|x|^2> in every domain. Exact
    for networks that are fed the projected images; the error of least squares rises by half of what the rest could have
    taught.
    """
    if share == 0:
        return statistics
    power = statistics.scales**2
    kept = power.cumsum(-1) / power.sum(-1, keepdims=True)
    number = int((kept < 1 - share).sum(-1).max()) + 1
    lost = (statistics.targets[:, :, number:] ** 2).sum((1, 2)) / 2
    return Statistics(
        statistics.scales[:, :number],
        statistics.targets[:, :, :number],
        statistics.residual + lost,
        statistics.bases[:, :, :number],
    )


def least_squares(data: Domains, statistics: Statistics, samples: int) -> tuple[float, float]:
    """Loss and held-out accuracy of the least-squares map, mean over domains: where training with squared error ends.

    At most `samples` held-out images are classified.
    """
    inputs, labels = data.heldout_inputs[:, :samples].astype(float), data.heldout_labels[:samples]
    right = []
    for domain in range(len(statistics.scales)):
        scale = statistics.scales[domain]
        inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        solution = (statistics.targets[domain] * inverse) @ statistics.bases[domain].T
        if data.maps is not None:
            solution = solution @ data.maps[domain]
        answers = inputs[domain % len(inputs)] @ solution.T
        right.append((answers.argmax(1) == labels).mean())
    return float(statistics.residual.mean()), float(np.mean(right))
