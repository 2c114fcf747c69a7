"""What others compute of a start to tell when it groks: the norm of weights, and how the tangent kernel fits the labels.

Liu, Michaud & Tegmark (2023): a start of larger norm generalises later. Kumar et al. (2024): so does one whose tangent kernel
is less aligned with the labels. Beside them the RQI of the start; all are without a unit of time.
"""

import numpy as np

from foretrain.theory.parallelograms import rqi
from foretrain.training.embedding import Toy, operation
from foretrain.training.embedding_start import decoder_of, shapes


def of_start(p: Toy, given: dict) -> dict[str, float]:
    """All three, of the inputs of a run of sums of embeddings."""
    task = operation(p)
    weights = [given[name] for name in shapes(p, task) if name != "targets"]
    return {
        "start_norm": float(np.sqrt(sum((part**2).sum() for part in weights))),
        "start_rqi": float(rqi(given["embedding"], task, p.parallelogram_tolerance)),
        "kernel_alignment": kernel_alignment(p, given),
    }


def kernel_alignment(p: Toy, given: dict) -> float:
    """Centred alignment of the tangent kernel, mean over outputs, with that of the targets, on the training set; -1 to 1."""
    kept = given["training"] > 0
    targets = given["targets"][operation(p).labels[kept]]
    kernel, wanted = (
        part - part.mean(0) - part.mean(1, keepdims=True) + part.mean()
        for part in (tangent_kernel(p, given)[np.ix_(kept, kept)], targets @ targets.T)
    )
    size = np.sqrt((kernel**2).sum() * (wanted**2).sum())
    return float((kernel * wanted).sum() / size) if size else 0.0


def tangent_kernel(p: Toy, given: dict) -> np.ndarray:
    """Tangent kernel of embeddings and decoder together, mean over outputs, (sample, sample)."""
    task, (w1, b1, w2, b2, w3, _) = operation(p), decoder_of(given)
    shown = np.eye(task.symbols)[task.samples].sum(1)  # (sample, symbol)
    joined = shown @ given["embedding"]
    one = np.tanh(joined @ w1 + b1)
    two = np.tanh(one @ w2 + b2)
    total = two @ two.T + 1
    below = 0.0
    for column in w3.T:
        back = column * (1 - two**2)
        first = (back @ w2.T) * (1 - one**2)
        start = first @ w1.T
        below += (back @ back.T) * (one @ one.T + 1)
        below += (first @ first.T) * (joined @ joined.T + 1) + (start @ start.T) * (shown @ shown.T)
    return total + below / w3.shape[1]
