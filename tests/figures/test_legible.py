"""Troubles that the test of every figure finds, on figures made up here."""

import pytest
from legible import troubles

from foretrain.figures.style import panels, style, theory_line


def figure(x="x", y="y", look=None, legend=False, turned=0):
    """A line in a panel with these names, its ticks in words that would meet, were they not turned."""
    drawn, ax = panels()
    ax.plot([0, 1, 2, 3], [0, 1, 2, 3], **(look or {}), label="line")
    ax.set(xlabel=x, ylabel=y)
    if legend:
        drawn.legend(loc="outside lower center")
    if turned is not None:
        words = ["a word for a tick that is far too long"] * 4 if turned else ["a", "b", "c", "d"]
        ax.set_xticks(range(4), words, rotation=turned, ha="right" if turned else "center")
    return drawn


@pytest.mark.parametrize(
    ("options", "complaints"),
    [
        ({}, []),
        ({"y": ""}, ["axis y of panel 1 has no name"]),
        ({"x": "", "turned": None}, ["axis x of panel 1 has no name"]),
        ({"x": ""}, []),  # words at the ticks name themselves
        ({"look": theory_line()}, ["nothing says what is drawn -- in panel 1"]),
        ({"look": theory_line(), "legend": True}, []),
        ({"turned": 35}, []),
    ],
)
def test_what_has_no_name_or_is_not_explained_is_found(options, complaints):
    with style():
        assert troubles(figure(**options)) == complaints
