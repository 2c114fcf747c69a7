"""How alike a network represents the same and different items across domains."""

import numpy as np


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


def cross_domain_similarity(similarity, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine similarity of representations across domains, of the same item and of different items.

    Args:
        similarity: Dot products of representations, shape (..., sample, sample), samples ordered by domain, then item.
        items: Number of items per domain.

    Returns:
        (within, between), shape (...) each: the mean over pairs of different domains of the cosine between
        representations of the same item, and of different items. Equal representations in all domains give within = 1.
    """
    cosine = _cosine(similarity)
    samples = cosine.shape[-1]
    domain, item = np.divmod(np.arange(samples), items)
    across = domain[:, None] != domain[None]
    same = item[:, None] == item[None]
    mean = lambda mask: np.asarray(cosine[..., mask].mean(-1))  # noqa: E731
    return mean(across & same), mean(across & ~same)


def _cosine(similarity):
    similarity = np.asarray(similarity, float)
    norm = np.sqrt(np.diagonal(similarity, axis1=-2, axis2=-1))
    return similarity / (norm[..., :, None] * norm[..., None, :])
