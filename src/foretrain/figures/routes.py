"""Pictures of a routing network's answers on every pair of an input and an output domain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from foretrain.figures import Drawing, finished
from foretrain.figures.style import DIVERGING, SEQUENTIAL, panels
from foretrain.words import cell_words


def block_maps(
    axes: Any,
    pictures: Mapping[str, np.ndarray],
    domains: int,
    words: tuple[str, str, str],
    framed=None,
    *,
    parted: bool = False,
    **look,
) -> None:
    """Draw a row of pictures of blocks, with numbered domains along both sides and one bar of colours.

    `pictures` is title to values, shape (domains x height of a block, domains x width of a block), and `words` the labels of
    the bar of colours, of the abscissas and of the ordinate. Blocks at which `framed`, shape (domains, domains), is above 0
    are framed, and `parted` by white lines. `look` is for `Axes.imshow`; by default one scale, symmetric about 0 if need be.
    """
    top = max(np.nanmax(np.abs(values), initial=1e-12) for values in pictures.values())
    low = min(np.nanmin(values, initial=0) for values in pictures.values()) < -0.05 * top
    if not {"vmax", "norm"} & set(look):
        look |= {"cmap": DIVERGING if low else SEQUENTIAL, "vmin": -top if low else 0, "vmax": top}
    shown = np.arange(0, domains, max(1, domains // 10, -(-domains * len(axes) // 24)))
    for ax, (title, values) in zip(axes, pictures.items(), strict=True):
        ax.imshow(values, **{"cmap": SEQUENTIAL, **look})
        height, width = (size // domains for size in values.shape)
        ax.set_xticks((shown + 0.5) * width - 0.5, shown + 1)
        ax.set_yticks((shown + 0.5) * height - 0.5, shown + 1)
        for edge in range(1, domains if parted else 0):
            ax.axhline(edge * height - 0.5, color="white", linewidth=0.5)
            ax.axvline(edge * width - 0.5, color="white", linewidth=0.5)
        for row, column in np.argwhere(framed > 0) if framed is not None else ():
            corner = column * width - 0.5, row * height - 0.5
            ax.add_patch(Rectangle(corner, width, height, fill=False, linewidth=1.2))
        ax.set_title(title, loc="left")
        ax.set_xlabel(words[1])
    axes[0].set_ylabel(words[2])
    axes[0].figure.colorbar(axes[-1].images[0], ax=axes, label=words[0], shrink=0.8)


def output_blocks(run: Any) -> np.ndarray:
    """Return the outputs of one run as a picture of blocks, rows output domains and their features."""
    outputs = run["outputs"].transpose("output_domain", "feature", "input_domain", "item").values
    return outputs.reshape(outputs.shape[0] * outputs.shape[1], -1)


def trained_blocks(run: Any) -> np.ndarray:
    """Return the trained routes of one run, shape (output_domain, input_domain)."""
    return run["trained_pairs"].transpose("output_domain", "input_domain").values


def draw_accuracy(grid: Any, axes: tuple[str, ...] = ()) -> Drawing:
    """Draw the held-out accuracy of every route, mean over seeds, in the middle of some axes of the grid."""
    part, where = grid.first(axes)
    values = {name: part.values(name) for name in axes}
    at = {name: some[(len(some) - 1) // 2] for name, some in values.items()}
    where = (f" Drawn at {cell_words(at)}." if at else "") + where
    runs, (figure, ax) = part.simulation.sel(at), panels(height=5)
    accuracy = runs["heldout_accuracy"].transpose("seed", "output_domain", "input_domain").values
    domains = accuracy.shape[1]
    # More frames would hide the pictures below them.
    framed = trained_blocks(runs.isel(seed=0)) if domains <= 40 else None
    words = "Held-out accuracy", "Input domain", "Output domain"
    block_maps([ax], {"": accuracy.mean(0)}, domains, words, framed, vmin=0, vmax=1)
    return finished(
        figure,
        "Accuracy on every route",
        "Fraction of held-out images classified right on every route at the end, mean over seeds. Framed routes (of at "
        "most 40 domains) were trained (with random masks: in the first seed)." + where,
    )
