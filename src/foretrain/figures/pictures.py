"""Pictures that a folder of results holds: shown where the study that drew them is not run.

The folder may come from anybody, and an SVG may hold scripts: it is shown as an image, where browsers run and fetch nothing.
"""

import base64
import re
from pathlib import Path

from foretrain.errors import StoreError
from foretrain.provenance.reading import read_file

FOLDER = "figures"
_MOST = 2**24  # bytes of a picture
_MOST_PICTURES = 1000
_HEAD = 2000  # bytes in which the size stands
_SIZE = re.compile(rb'<svg [^>]*viewBox="0 0 (\d{1,4}(?:\.\d+)?) (\d{1,4}(?:\.\d+)?)"')


def stored(folder: Path) -> dict[str, str]:
    """Return name to SVG of the pictures in a folder of results, each with one as an image and nothing else in it; by name."""
    paths = sorted((folder / FOLDER).glob("*.svg"))[:_MOST_PICTURES]
    pictures = {path.stem: _as_image(path) for path in paths}
    return {name: svg for name, svg in pictures.items() if svg}


def _as_image(path: Path) -> str:
    """Return an SVG that holds another as an image; "" where there is none that can be shown."""
    try:
        content = read_file(path, _MOST)
    except (OSError, StoreError):
        return ""
    if (size := _SIZE.search(content[:_HEAD])) is None:
        return ""
    width, height = (number.decode() for number in size.groups())
    image = base64.b64encode(content).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}pt" height="{height}pt">'
        f'<image width="{width}" height="{height}" href="data:image/svg+xml;base64,{image}"/></svg>'
    )
