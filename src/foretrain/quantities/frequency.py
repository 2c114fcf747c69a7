"""Embeddings of the numbers 0..p-1, decomposed by the frequencies of p and by their principal axes."""

import numpy as np


def principal_axes(embedding, number: int) -> np.ndarray:
    """So many axes of largest variance over symbols, shape (..., axis, coordinate), orthonormal, the largest first.

    The embedding has shape (..., symbol, coordinate); one that is not finite gives axes that are not.
    """
    embedding = np.asarray(embedding, float)
    centred = embedding - embedding.mean(-2, keepdims=True)
    known = np.isfinite(centred).all((-2, -1), keepdims=True)
    axes = np.linalg.svd(np.where(known, centred, 0), full_matrices=False)[2][..., :number, :]
    return np.where(known, axes, np.nan)


def frequency_shares(embedding) -> np.ndarray:
    """Share of the variance of an embedding, shape (..., symbol, coordinate), at every frequency 1..floor(p/2), sum one.

    A regular polygon in any plane has all of it at one frequency. Independent normal embeddings have in the mean 2/(p-1)
    at each frequency below p/2, and 1/(p-1) at p/2.
    """
    spectrum = np.abs(np.fft.rfft(np.asarray(embedding, float), axis=-2)) ** 2
    power = spectrum.sum(-1)[..., 1:]
    symbols = np.asarray(embedding).shape[-2]
    if symbols % 2 == 0:
        power[..., -1] /= 2  # its own mirror, where every other frequency stands for two
    with np.errstate(invalid="ignore"):
        return power / power.sum(-1, keepdims=True)
