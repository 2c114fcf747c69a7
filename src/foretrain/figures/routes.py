"""Pieces of the figures of routing networks."""

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle


def block_ticks(axes: Any, domains: int, size: int, which: str = "xy") -> None:
    """Number the domains along axes of a picture in which each has `size` pixels, and part them by white lines."""
    centres = (np.arange(domains) + 0.5) * size - 0.5
    shown = np.arange(0, domains, max(1, domains // 10))
    for name in which:
        getattr(axes, f"set_{name}ticks")(centres[shown], shown + 1)


def frame_trained(axes: Any, trained: np.ndarray, width: int = 1, height: int = 1) -> None:
    """Frame the trained routes in a picture whose rows are output domains and whose columns are input domains.

    Args:
        axes: The axes of the picture.
        trained: T, shape (input_domain, output_domain).
        width: Pixels of an input domain.
        height: Pixels of an output domain.
    """
    for source, output in np.argwhere(np.asarray(trained) > 0):
        corner = (source * width - 0.5, output * height - 0.5)
        axes.add_patch(
            Rectangle(corner, width, height, fill=False, edgecolor="black", linewidth=1.2)
        )


def routes_of(outputs: Any) -> np.ndarray:
    """Outputs of one run as a picture, shape (output_domain x feature, input_domain x item)."""
    values = outputs.transpose("output_domain", "feature", "input_domain", "item").values
    return values.reshape(values.shape[0] * values.shape[1], -1)
