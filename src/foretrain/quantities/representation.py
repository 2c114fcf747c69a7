"""Similarity of a network's representations of the same and of different items across domains."""

from typing import Any

import numpy as np

from foretrain.lazy import xr


def domain_cosine(similarity, items: int) -> np.ndarray:
    """Cosine between the representations of one item in two domains, mean over items, for every pair of domains.

    Args:
        similarity: Dot products of representations, shape (..., sample, sample), samples ordered by domain, then item.
        items: Number of items per domain.

    Returns:
        Shape (..., domain, domain), 1 on the diagonal.
    """
    cosine = _cosine(similarity)
    domains = cosine.shape[-1] // items
    blocks = cosine.reshape(*cosine.shape[:-2], domains, items, domains, items)
    return np.einsum("...aibi->...ab", blocks) / items


def cross_domain_similarity(similarity, items: int) -> tuple[Any, Any]:
    """Return the mean cosine of representations across domains, of the same item and of different items.

    Both are means over pairs of different domains; equal representations in all domains give 1 for the same item. Arguments
    are those of `domain_cosine`, with dims ``sample`` and ``sample_other`` where they are labelled.
    """
    return xr.apply_ufunc(
        lambda values: _across_domains(_cosine(values), items),
        similarity,
        input_core_dims=[["sample", "sample_other"]],
        output_core_dims=[[], []],
    )


def _across_domains(cosine, items: int):
    domain, item = np.divmod(np.arange(cosine.shape[-1]), items)
    across, same = domain[:, None] != domain[None], item[:, None] == item[None]
    return tuple(np.asarray(cosine[..., mask].mean(-1)) for mask in (across & same, across & ~same))


def _cosine(similarity):
    similarity = np.asarray(similarity, float)
    norm = np.sqrt(np.diagonal(similarity, axis1=-2, axis2=-1))
    return similarity / (norm[..., :, None] * norm[..., None, :])
