"""Draw the house from the imports of its rooms: ``python docs/draw_house.py`` writes docs/images/house.svg.

A room stands above all rooms that it imports. An arrow leads to an imported room; imports that other arrows imply are not
drawn.
"""

import ast
from pathlib import Path

import networkx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "foretrain"
PICTURE = ROOT / "docs" / "images" / "house.svg"
GROUND = "ground floor"
WIDTH, ROW, BOX = 1000, 74, 30  # of the picture, from floor to floor, height of a room


def rooms() -> networkx.DiGraph:
    """Graph of the rooms: an edge from every room to every other room that it imports."""
    graph = networkx.DiGraph()
    for path in sorted(PACKAGE.rglob("*.py")):
        importer = _room(path.relative_to(PACKAGE).with_suffix("").parts[0])
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if importer is None or not (module or "").startswith("foretrain"):
                continue
            names = [alias.name for alias in node.names] if module == "foretrain" else [module[10:]]
            for name in names:
                imported = _room(name.partition(".")[0])
                if imported not in (None, importer):
                    graph.add_edge(importer, imported)
    return graph


def _room(name: str) -> str | None:
    if name.startswith("__"):
        return None
    if (PACKAGE / name).is_dir() or name in ("cli", "study"):
        return name
    return GROUND


def picture() -> str:
    """The picture as SVG; the same text for the same imports."""
    graph = rooms()
    shown = networkx.transitive_reduction(graph)
    level: dict[str, int] = {}
    for room in reversed(list(networkx.lexicographical_topological_sort(graph))):
        level[room] = 1 + max((level[other] for other in graph[room]), default=-1)
    floors = [sorted(r for r in level if level[r] == n) for n in range(max(level.values()) + 1)]
    place: dict[str, tuple[float, float]] = {}
    for number, floor in enumerate(floors):
        # Rooms stand near the middle of the rooms that they import, so that few arrows cross.
        floor.sort(key=lambda room: (_middle(place, shown[room]), room))
        for index, room in enumerate(floor):
            x = WIDTH * (index + 0.5 + 0.18 * (number % 2)) / (len(floor) + 0.18)
            place[room] = x, ROW * (len(floors) - 1 - number) + BOX
    height = ROW * (len(floors) - 1) + 2 * BOX
    lines = [_arrow(place[a], place[b]) for a, b in sorted(shown.edges)]
    boxes = [_box(room, *place[room]) for room in sorted(place)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>The rooms of foretrain and what they import</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            '<g stroke="#8a8a8a" stroke-width="1.2" fill="none">',
            *lines,
            '</g><g font-family="sans-serif" font-size="15" text-anchor="middle">',
            *boxes,
            "</g></svg>\n",
        )
    )


def _middle(place, others):
    return sum(place[other][0] for other in others) / max(len(others), 1)


def _arrow(start, end):
    (x, y), (u, v) = (start[0], start[1] + BOX / 2), (end[0], end[1] - BOX / 2)
    bend = (v - y) / 2
    head = f"M{u - 4:.0f} {v - 7:.0f}L{u:.0f} {v:.0f}L{u + 4:.0f} {v - 7:.0f}"
    return f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}{head}"/>'


def _box(room, x, y):
    width = 9 * len(room) + 22
    return (
        f'<rect x="{x - width / 2:.0f}" y="{y - BOX / 2:.0f}" width="{width}" height="{BOX}" rx="5" fill="#e8f1f8" '
        f'stroke="#0072b2"/><text x="{x:.0f}" y="{y + 5:.0f}">{room}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
    print(f"Written: {PICTURE}")
