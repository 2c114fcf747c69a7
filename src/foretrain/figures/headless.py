"""Matplotlib for files, whatever ``MPLBACKEND`` says: a backend that is not installed would make its import raise."""

import contextlib
import io
import os
import sys
from typing import Any


def _import() -> None:
    chosen = None if "matplotlib" in sys.modules else os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib
    finally:
        if chosen is not None:
            os.environ["MPLBACKEND"] = chosen
    if chosen:  # a session's own choice stays where it can be met
        with contextlib.suppress(ValueError):
            matplotlib.rcParams["backend"] = chosen


_import()

from matplotlib.backends.backend_mixed import MixedModeRenderer  # noqa: E402
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG  # noqa: E402
from matplotlib.collections import PathCollection as PathCollection  # noqa: E402
from matplotlib.collections import QuadMesh as QuadMesh  # noqa: E402
from matplotlib.figure import Figure as Figure  # noqa: E402
from matplotlib.lines import Line2D as Line2D  # noqa: E402


def as_svg(figure: Figure, dots: int = 300) -> str:
    """Draw a figure as SVG, laid out by what draws it: so every text is measured once; pictures have so many dots an inch."""
    text, (width, height) = io.StringIO(), figure.get_size_inches()
    figure.dpi = 72
    vectors = RendererSVG(72 * width, 72 * height, text, image_dpi=dots, metadata={"Date": None})
    pen: Any = MixedModeRenderer(figure, width, height, dots, vectors)
    canvas: Any = FigureCanvasSVG(figure)
    canvas.get_renderer = lambda: pen
    figure.draw(pen)
    pen.finalize()
    return text.getvalue()
