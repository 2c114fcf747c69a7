"""The figures: labelled results in, pictures out.

The figures of the study ``pathway-race`` are in ``figures/pathway_race.py``, which defines one
function ``draw(tree) -> dict[str, Drawing]``: file name (without ending) to drawing, in the order
they are shown. It makes its figures with `foretrain.figures.style.panels` and draws what is in the
tree; it never trains, computes theory or reads files.
"""

import importlib
import importlib.util
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure

from foretrain.claims.claim import Claim
from foretrain.errors import argument_error
from foretrain.figures.style import style

_NOT_FIGURES = {"style", "cells"}


@dataclass(frozen=True)
class Drawing:
    """One figure with its words.

    Attributes:
        figure: A `matplotlib.figure.Figure`, not registered with pyplot.
        title: A few words.
        caption: What is drawn and what is seen in it, in sentences; what bands and error bars are.
    """

    figure: Figure
    title: str
    caption: str


def draw(result: xr.DataTree) -> dict[str, Drawing]:
    """Draw the figures of a result, in the common style.

    Args:
        result: A labelled result; its attrs hold the name of the study as ``study``.

    Returns:
        File name to drawing; empty if the study has no figures.

    Raises:
        ArgumentError: `result` does not name its study.
    """
    if "study" not in result.attrs:
        raise argument_error("result", "name its study in attrs['study']", "does not")
    stem = str(result.attrs["study"]).replace("-", "_")
    module = f"{__name__}.{stem}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", stem) or stem in _NOT_FIGURES:
        return {}
    if importlib.util.find_spec(module) is None:
        return {}
    with style():
        return importlib.import_module(module).draw(result)


def draw_cells(claims: Sequence[Claim], axes: dict[str, Sequence]) -> dict[str, Drawing]:
    """Draw what was measured for the claims over the axes of a grid, in the common style; see `foretrain.figures.cells`."""
    with style():
        return importlib.import_module(f"{__name__}.cells").draw(list(claims), axes)


def save(drawings: dict[str, Drawing], folder: str | Path) -> dict[str, Path]:
    """Write every drawing as ``<name>.png`` (150 dots an inch) and ``.svg``, and clear its figure.

    Equal drawings give equal SVG files: they hold neither a date nor random ids.

    Returns:
        Name to the path of the SVG.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, drawing in drawings.items():
        for ending, metadata in (("png", None), ("svg", {"Date": None})):
            data = io.BytesIO()  # drawn whole before the file is touched
            with style():
                drawing.figure.savefig(data, format=ending, dpi=150, metadata=metadata)
            (folder / f"{name}.{ending}").write_bytes(data.getvalue())
        paths[name] = folder / f"{name}.svg"
        drawing.figure.clear()
    return paths
