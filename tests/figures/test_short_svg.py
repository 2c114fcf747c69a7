"""An SVG in fewer characters is the same picture, and a figure of many curves stays small."""

import numpy as np
import pytest

from foretrain.figures import Drawing, save
from foretrain.figures.short_svg import short_svg, straight
from foretrain.figures.style import panels, style, theory_line

RANDOM = np.random.default_rng(0)
X = np.linspace(0, 100, 300)
CURVES = {
    "falls and stays": np.stack([X, 80 / (1 + np.exp((X - 20) / 0.5))], 1),
    "waves": np.stack([X, 30 * np.sin(X / 5)], 1),
    "turns back": np.concatenate([np.stack([X, 0 * X], 1), np.stack([X[::-1], 0.01 * X], 1)]),
    "random": RANDOM.normal(size=(300, 2)),
    "one place": np.ones((300, 2)),
}


def distance(point, line):
    """From a point to the nearest place of a line through places of shape (place, 2)."""
    start, along = line[:-1], np.diff(line, axis=0)
    length = np.maximum((along**2).sum(1), 1e-300)
    share = np.clip(((point - start) * along).sum(1) / length, 0, 1)
    return np.hypot(*(start + share[:, None] * along - point).T).min()


@pytest.mark.parametrize("name", CURVES)
def test_every_point_that_is_left_out_lies_on_the_line_that_is_left(name):
    points = CURVES[name]
    kept = straight(points, 0.05)
    assert kept[0] == 0
    assert kept[-1] == len(points) - 1
    assert max(distance(point, points[kept]) for point in points) <= 0.05
    most = {"falls and stays": 60, "waves": 200, "turns back": 9, "random": 300, "one place": 2}
    assert len(kept) <= most[name]


def test_coordinates_have_two_digits_and_nothing_else_is_touched():
    text = '<g>\n  <path d="M 1.23456 2 \nL 3.005 -4.5678 \nz\n" style="stroke-width: 0.123456"/>\n   <use x="1.99999" y="0.5"'
    text += ' transform="translate(1.23456 7) scale(0.015625)"/>\n</g>'
    short = '<g>\n<path d="M1.23 2L3 -4.57z" style="stroke-width: 0.123456"/>\n<use x="2" y="0.5"'
    assert short_svg(text) == short + ' transform="translate(1.23 7) scale(0.015625)"/>\n</g>'
    curve = '<path d="M 0.123456 1 Q 1.23456 2 3 4.567 "/>'
    assert short_svg(curve) == '<path d="M0.12 1Q1.23 2 3 4.57"/>'


def test_a_figure_of_many_curves_takes_few_bytes(tmp_path):
    with style():
        figure, axes = panels(2, 2, height=7)
        for ax in axes.ravel():
            for at in range(5):
                rise = 1 / (1 + np.exp(-(X - 20 * at) / 3))
                ax.plot(X, rise, **theory_line())
                ax.fill_between(X, rise - 0.1, rise + 0.1)
    path = save({"many": Drawing(figure, "Many", "")}, tmp_path)["many"]
    # 20 curves of 300 points with their bands; with every point in full they take 400,000 bytes.
    assert path.stat().st_size < 80_000
