"""Figures of a result from Python; the result is that of the smallest study."""

import html

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened") / "run"
    foretrain.run("one-mode", out=folder, seeds=2, workers=0, quiet=True)
    return foretrain.open(folder)


def lines(figure):
    return [np.asarray(line.get_xydata()) for ax in figure.axes for line in ax.get_lines()]


def test_every_figure_has_a_name_and_a_title_and_can_be_drawn(result):
    assert result.figures
    for name, title in result.figures.items():
        assert title
        assert result.plot(name).axes
    assert len(lines(result.plot())) == len(lines(result.plot(next(iter(result.figures)))))


@pytest.mark.slow
def test_a_figure_on_given_axes_shows_what_it_shows_on_its_own(result):
    whole, (left, right) = plt.subplots(1, 2)
    name = next(iter(result.figures))
    alone, neighbour = lines(result.plot(name)), lines(result.plot(name, ax=right))
    assert left in whole.axes
    assert right not in whole.axes
    assert len(alone) == len(neighbour)
    for item, other in zip(alone, neighbour, strict=True):
        np.testing.assert_array_equal(item, other)
    assert result.plot("loss", ax=left).axes
    whole.canvas.draw()
    plt.close(whole)


def test_a_name_or_axes_that_cannot_be_drawn_are_refused_in_one_line(result):
    with pytest.raises(ArgumentError, match=r"`name` must name a figure or .*, but is `los`"):
        result.plot("los")
    with pytest.raises(ArgumentError, match=r"`ax` must be axes made by `subplots`"):
        result.plot("loss", ax=3)
    with pytest.raises(ArgumentError, match=r"made by `subplots`"):
        result.plot("loss", ax=plt.figure().add_axes((0, 0, 1, 1)))


def test_a_notebook_shows_the_verdicts_and_unfolds_the_rest(result):
    page = html.unescape(result._repr_html_())
    assert result.claims.tally() in page
    assert page.count("<details") >= 3
    assert all(claim.statement in page for claim in result.claims)
    assert len(repr(result)) < 1000
