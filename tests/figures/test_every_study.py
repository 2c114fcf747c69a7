"""The figures of every study, at their smallest and over two axes: nothing clipped, no text on another, all of it named."""

import dataclasses

import pytest
from legible import troubles

import foretrain
from foretrain.errors import ForetrainError
from foretrain.figures import cells, curves
from foretrain.figures.style import style
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules


def numbers(study) -> list[str]:
    """Parameters that may be swept without another program, those that any study has first."""
    known, usual = rules(study.Parameters), ("init_scale", "learning_rate", "weight_decay")
    outcome = [
        name
        for name, rule in known.items()
        if rule.sweepable and not rule.static and name != "steps"
        if study.Parameters.__dataclass_fields__[name].default.__class__ is float
    ]
    return sorted(outcome, key=lambda name: (name not in usual, known[name].static))


def two_axes(study) -> dict[str, list]:
    """Two values on two of its own axes, and on parameters that it takes to be numbers where it has fewer."""
    axes = {name: list(values[:2]) for name, values in study.axes.items() if len(values) > 1}
    axes = dict(list(axes.items())[:2])
    for name in numbers(study):
        value = study.Parameters.__dataclass_fields__[name].default
        other = round(0.9 * value, 15) or 0.01
        if len(axes) < 2 and name not in study.axes:
            try:
                study.check(dataclasses.replace(study.Parameters(), **{name: other}))
            except ForetrainError:
                continue
            axes[name] = [value, other]
    return axes


@pytest.mark.slow
@pytest.mark.parametrize("over", ["nothing", "two axes"])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_figure_of_a_study_can_be_read(name, over, tmp_path, monkeypatch):
    """A fixture looks at those of its own; the default ones and that of its claims are looked at here."""
    monkeypatch.setattr("foretrain.laboratory.conclude.write_page", lambda *_, **__: None)
    study = catalogue.load(name)
    options = {axis: values[0] for axis, values in study.axes.items()}
    if over == "two axes":
        options |= two_axes(study)
        assert sum(isinstance(values, list) for values in options.values()) == 2
    if {"steps", "observe_every"} <= rules(study.Parameters).keys():
        options["steps"] = 8 * study.Parameters.__dataclass_fields__["observe_every"].default
    result = foretrain.run(name, seeds=2, workers=1, quiet=True, out=tmp_path / "out", **options)
    axes = {name: list(values) for name, values in result.grid.axes.items()}
    drawings = cells.draw_cells(list(result.claims), axes)
    if study.figures is None:
        drawings |= curves.draw(result.grid)
    with style():
        outcome = {name: troubles(drawing.figure) for name, drawing in drawings.items()}
    assert {name: item for name, item in outcome.items() if item} == {}
