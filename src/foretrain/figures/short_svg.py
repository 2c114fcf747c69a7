"""An SVG of matplotlib in fewer characters: no points on straight lines, coordinates to a hundredth of a point, no indents."""

import re

import numpy as np

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_PLACED = re.compile(r'(?<=[ \n])(?:d|x|y)="[^"]*"|translate\([^)]*\)')
_PATH = re.compile(r'(?<=[ \n])d="([^"]*)"')
_BETWEEN = re.compile(r"\s*([MLHVCQZz])\s*")
_PIECE = re.compile(r"M([^Mz]*)(z?)")
_FEW = 20  # points of a path that are kept as they are
_OFF = 0.05  # points (1/72 inch), by which a line may pass beside a point that is left out


def short_svg(text: str) -> str:
    """Return the same picture: no line of it moves by more than 0.06 points, 1/1200 inch."""
    text = _PATH.sub(lambda match: f'd="{_path(match[1])}"', text)
    text = _PLACED.sub(lambda match: _NUMBER.sub(_rounded, match[0]), text)
    return re.sub(r"\n\s+", "\n", text)


def _rounded(match: re.Match) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _path(drawn: str) -> str:
    drawn = _BETWEEN.sub(r"\1", drawn.strip())
    if set("HVCQZ") & set(drawn) or drawn.count("L") < _FEW:
        return drawn
    return "".join(_straightened(piece[1]) + piece[2] for piece in _PIECE.finditer(drawn))


def _straightened(piece: str) -> str:
    points = piece.split("L")
    kept = straight(np.array([point.split() for point in points], float), _OFF)
    return "M" + "L".join(points[place] for place in kept)


def straight(points: np.ndarray, off: float) -> np.ndarray:
    """Return the places of the points that a line needs, by Douglas & Peucker (1973), ascending.

    Args:
        points: Shape (point, 2).
        off: The line through the points that are kept passes all others at this distance at most.

    Cost: the number of points times that of the kept ones.
    """
    kept = np.zeros(len(points), bool)
    kept[[0, -1]] = True
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        away, along = points[first + 1 : last] - points[first], points[last] - points[first]
        # The nearest place of the part of the line between its ends, not of the whole line: a curve may turn back.
        share = np.clip(away @ along / max(along @ along, 1e-300), 0, 1)
        distance = np.hypot(*(away - share[:, None] * along).T)
        if distance.max() > off:
            middle = first + 1 + int(distance.argmax())
            kept[middle] = True
            parts += [(first, middle), (middle, last)]
    return np.flatnonzero(kept)
