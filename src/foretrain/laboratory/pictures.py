"""Pictures that a folder of results holds, with their words: shown where the study that drew them is not run.

``figures/words.json`` holds name, title, caption and what is drawn of every picture, in the order of the page. Of a picture
the PNG is taken: an SVG may hold scripts, and the folder may come from anybody.
"""

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from foretrain.errors import StoreError
from foretrain.figures import Drawing
from foretrain.figures.style import WIDTH, panels, style
from foretrain.provenance.reading import read_file
from foretrain.results.decode import decoded
from foretrain.results.files import disk_errors, json_bytes, write_atomic

FOLDER, FILE = "figures", "words.json"
CLAIMS = "claims"  # the figure of the claims, which is drawn from the summary
_MOST = 2**24  # bytes of a picture, and of all words; dots of a picture


class Words(Struct, frozen=True):
    """The words of a picture."""

    # Never a path out of the folder.
    name: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^./\\\x00][^/\\\x00]*$")]
    title: str = ""
    caption: str = ""
    reads: tuple[str, ...] = ()  # variables that are drawn


class _Held(Struct):
    figures: Annotated[tuple[Words, ...], Meta(max_length=1000)]


_HELD = msgspec.json.Decoder(_Held)


def write_words(folder: Path, drawings: Mapping[str, Drawing]) -> None:
    """Write the words of pictures that stand in a folder of results; raises `FolderError` where the disk refuses them."""
    rows = [
        asdict(Words(name, drawing.title, drawing.caption, tuple(sorted(drawing.reads))))
        for name, drawing in drawings.items()
    ]
    with disk_errors(folder / FOLDER):  # there is none where every figure raised
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    write_atomic(folder / FOLDER / FILE, json_bytes({"figures": rows}))


def read_words(folder: Path) -> dict[str, Words]:
    """Name to words of the pictures that a folder has; {} where an earlier foretrain wrote none, or they are damaged."""
    place = folder / FOLDER
    try:
        content = read_file(place / FILE, _MOST)
        figures = decoded(_HELD, content, place / FILE, "the words of pictures").figures
    except (OSError, StoreError):
        return {}
    return {figure.name: figure for figure in figures if read_png(folder, figure.name)}


def read_png(folder: Path, name: str) -> bytes:
    """A picture of a folder; b"" where there is none that can be shown."""
    try:
        content = read_file(folder / FOLDER / f"{name}.png", _MOST)
    except (OSError, StoreError):
        return b""
    return content if 0 < (size := _size(content))[0] * size[1] <= _MOST else b""


def _size(png: bytes) -> tuple[int, int]:
    """Width and height in dots; (0, 0) of what is no PNG."""
    if png[:8] != b"\x89PNG\r\n\x1a\n" or png[12:16] != b"IHDR" or len(png) < 24:
        return 0, 0
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def as_svg(png: bytes) -> str:
    """An SVG that holds a picture and nothing else."""
    width, height = _size(png)
    image = base64.b64encode(png).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{image}"/></svg>'
    )


def drawing(folder: Path, words: Words) -> Drawing:
    """A stored picture as a figure of matplotlib; raises `StoreError` where it is damaged."""
    from matplotlib.image import imread

    png = read_png(folder, words.name)
    try:
        with style():
            width, height = _size(png)
            figure, ax = panels(height=WIDTH * height / width)
            ax.imshow(imread(io.BytesIO(png)))
            ax.set_axis_off()
    except Exception as error:  # of many kinds: whatever the reader of pictures meets
        path = folder / FOLDER / f"{words.name}.png"
        raise StoreError(f"{path} is damaged and is not shown: {error}") from error
    return Drawing(figure, words.title, words.caption, frozenset(words.reads))
