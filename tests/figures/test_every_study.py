"""The figures of every study, at their smallest and over two axes: nothing clipped, no text on another, all of it named."""

import dataclasses

import pytest
from legible import troubles

import foretrain
from foretrain.errors import ForetrainError
from foretrain.figures import curves, draw_cells
from foretrain.figures.style import style
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules


def numbers(study) -> list[str]:
    """Parameters that may be swept without another program, those that any study has first."""
    known, usual = rules(study.Parameters), ("init_scale", "learning_rate", "weight_decay")
    found = [
        name
        for name, rule in known.items()
        if rule.sweepable and not rule.static and name != "steps"
        if study.Parameters.__dataclass_fields__[name].default.__class__ is float
    ]
    return sorted(found, key=lambda name: (name not in usual, known[name].static))


def two_axes(study) -> dict[str, list]:
    """Two values on two of its own axes, and on parameters that it takes to be numbers where it has fewer."""
    axes = {name: list(values[:2]) for name, values in study.axes.items() if len(values) > 1}
    axes = dict(list(axes.items())[:2])
    for name in numbers(study):
        value = study.Parameters.__dataclass_fields__[name].default
        if len(axes) < 2 and name not in study.axes and value > 0:
            try:
                study.check(dataclasses.replace(study.Parameters(), **{name: 0.9 * value}))
            except ForetrainError:
                continue
            axes[name] = [value, 0.9 * value]
    return axes


@pytest.mark.slow
@pytest.mark.parametrize("over", ["nothing", "two axes"])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_figure_of_a_study_can_be_read(name, over, tmp_path):
    """Those of its own are looked at by a fixture, too; here also the default ones and that of its claims."""
    study = catalogue.load(name)
    given = {axis: values[0] for axis, values in study.axes.items()}
    if over == "two axes":
        given |= two_axes(study)
        assert sum(isinstance(values, list) for values in given.values()) == 2
    if "steps" in rules(study.Parameters):
        given["steps"] = 8 * study.Parameters.__dataclass_fields__["observe_every"].default
    result = foretrain.run(name, seeds=2, workers=1, quiet=True, out=tmp_path / "out", **given)
    drawings = curves.draw(result.grid) | draw_cells(
        list(result.claims), dict(result.config["axes"])
    )
    if (own := study.draw(result.grid)) is not None:
        drawings |= own
    with style():
        found = {name: troubles(drawing.figure) for name, drawing in drawings.items()}
    assert {name: one for name, one in found.items() if one} == {}
