"""Pictures that a folder of results holds: shown where the study that drew them is not run.

Of a picture the PNG is taken: an SVG may hold scripts, and the folder may come from anybody.
"""

import base64
from pathlib import Path

from foretrain.errors import StoreError
from foretrain.provenance.reading import read_file

FOLDER = "figures"
_MOST = 2**24  # bytes of a picture, and its dots
_MOST_PICTURES = 1000


def stored(folder: Path) -> dict[str, str]:
    """Return name to SVG of the pictures in a folder of results, each with a PNG and nothing else in it; by name."""
    paths = sorted((folder / FOLDER).glob("*.png"))[:_MOST_PICTURES]
    pictures = {path.stem: _as_svg(path) for path in paths}
    return {name: svg for name, svg in pictures.items() if svg}


def _as_svg(path: Path) -> str:
    """Return an SVG that holds a PNG; "" where there is none that can be shown."""
    try:
        png = read_file(path, _MOST)
    except (OSError, StoreError):
        return ""
    width, height = (int.from_bytes(png[start : start + 4], "big") for start in (16, 20))
    whole = png[:8] == b"\x89PNG\r\n\x1a\n" and png[12:16] == b"IHDR"
    if not whole or not 0 < width * height <= _MOST:
        return ""
    image = base64.b64encode(png).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{image}"/></svg>'
    )
