"""The curves of two results laid over each other, as numbers for a page; see `foretrain.figures.live`."""

from collections.abc import Sequence


def overlaid(first: dict, second: dict, names: Sequence[str]) -> dict | None:
    """The curves of two results as those of one, their lines named; along axes that both have with equal values.

    Cells of the second are those with the same labels on common axes; along others its first value is shown.
    """
    variables = {variable["name"]: place for place, variable in enumerate(second["variables"])}
    pairs = [
        (place, variables[variable["name"]])
        for place, variable in enumerate(first["variables"])
        if variable["name"] in variables
    ]
    axes, cells = dict(second["axes"]), {}
    for key, cell in first["cells"].items():
        spot = [int(part) for part in key.split(",")] if key else []
        labels = {name: values[n] for (name, values), n in zip(first["axes"], spot, strict=True)}
        if any(name in axes and label not in axes[name] for name, label in labels.items()):
            continue
        place = [axes[name].index(labels[name]) if name in labels else 0 for name in axes]
        if other := second["cells"].get(",".join(map(str, place))):
            cells[key] = _joined(cell, other, pairs)
    if not (pairs and cells):
        return None
    joined = []
    for pair in pairs:
        both = [side["variables"][at] for side, at in zip((first, second), pair, strict=True)]
        lines = [
            f"{name} {words}".strip()
            for name, variable in zip(names, both, strict=True)
            for words in variable["lines"]
        ]
        joined.append({**both[0], "lines": lines})
    return {"axes": first["axes"], "variables": joined, "cells": cells, "joined": True}


def _joined(first, second, pairs):
    """Two cells on the union of their times; a curve is None where it has no value of its own."""
    union = sorted({*first["x"], *second["x"]})

    def spread(cell, curve):
        runs = {kind: dict(zip(cell["x"], run, strict=True)) for kind, run in curve.items()}
        return {kind: [run.get(x) for x in union] for kind, run in runs.items()}

    curves = [
        [
            spread(cell, {kind: run for kind, run in curve.items() if kind != "seeds"})
            for cell, at in zip((first, second), pair, strict=True)
            for curve in cell["curves"][at]
        ]
        for pair in pairs
    ]
    return {"xlabel": first["xlabel"], "x": union, "curves": curves}
