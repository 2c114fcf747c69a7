"""Pictures of what a routing network does with every pair of an input and an output domain."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from foretrain.figures import Drawing, finished
from foretrain.figures.style import SEQUENTIAL, panels


def block_map(
    ax: Any, values: np.ndarray, domains: int, framed=None, *, parted: bool = False, **look
) -> AxesImage:
    """Draw a picture of blocks, with numbered domains along both sides.

    Args:
        ax: Where to draw.
        values: Shape (domains x height of a block, domains x width of a block).
        domains: Number along either side.
        framed: Frame the blocks at which this is above 0, shape (domains, domains).
        parted: Part the blocks by white lines.
        **look: For `Axes.imshow`.
    """
    height, width = (size // domains for size in values.shape)
    image = ax.imshow(values, **{"cmap": SEQUENTIAL, **look})
    shown = np.arange(0, domains, max(1, domains // 10))
    ax.set_xticks((shown + 0.5) * width - 0.5, shown + 1)
    ax.set_yticks((shown + 0.5) * height - 0.5, shown + 1)
    for edge in range(1, domains if parted else 0):
        ax.axhline(edge * height - 0.5, color="white", linewidth=0.5)
        ax.axvline(edge * width - 0.5, color="white", linewidth=0.5)
    for row, column in np.argwhere(np.asarray([[0]] if framed is None else framed) > 0):
        corner = column * width - 0.5, row * height - 0.5
        frame = Rectangle(corner, width, height, fill=False, edgecolor="black", linewidth=1.2)
        ax.add_patch(frame)
    return image


def output_map(ax: Any, run: Any, **look) -> AxesImage:
    """Draw the outputs of one run on every route, rows output domains and their features, trained routes framed."""
    outputs = run["outputs"].transpose("output_domain", "feature", "input_domain", "item").values
    domains, features = outputs.shape[:2]
    values = outputs.reshape(domains * features, -1)
    trained = run["trained_pairs"].transpose("output_domain", "input_domain").values
    return block_map(ax, values, domains, trained, aspect="auto", **look)


def draw_accuracy(runs: xr.Dataset, where: str) -> Drawing:
    """Draw the held-out accuracy of every route, mean over seeds; `where` ends the caption."""
    figure, ax = panels(height=5)
    accuracy, trained = (
        runs[name].transpose("seed", "output_domain", "input_domain").values
        for name in ("heldout_accuracy", "trained_pairs")
    )
    domains = accuracy.shape[1]
    framed = trained[0] if domains <= 40 else None  # more frames would hide what they frame
    image = block_map(ax, accuracy.mean(0), domains, framed, vmin=0, vmax=1)
    ax.set(xlabel="Input domain", ylabel="Output domain")
    figure.colorbar(image, label="Held-out accuracy")
    return finished(
        figure,
        "Accuracy on every route",
        "Fraction of held-out images classified right on every route at the end, mean over seeds. Framed routes (of at "
        "most 40 domains) were trained (with random masks: in the first seed)." + where,
    )
