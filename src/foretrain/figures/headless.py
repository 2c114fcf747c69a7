"""Matplotlib for files, whatever ``MPLBACKEND`` says: a backend that is not installed would make its import raise."""

import contextlib
import os
import sys


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

from matplotlib import rc_context as rc_context  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvasAgg  # noqa: E402
from matplotlib.collections import Collection as Collection  # noqa: E402
from matplotlib.collections import PathCollection as PathCollection  # noqa: E402
from matplotlib.collections import QuadMesh as QuadMesh  # noqa: E402
from matplotlib.figure import Figure as Figure  # noqa: E402
from matplotlib.lines import Line2D as Line2D  # noqa: E402
