"""The figure of a sweep's claims over its axes."""

import numpy as np
import pytest
from legible import troubles
from made_claims import sample

from foretrain.figures.cells import draw_cells

SCALES = [float(scale) for scale in np.geomspace(0.05, 1.2, 5)]


def claims(axes, names=("a",)):
    """One claim a name in every cell of the grid; it fails where the last axis is at its first value."""
    result = []
    for index in np.ndindex(*(len(values) for values in axes.values())):
        cell = {name: values[i] for (name, values), i in zip(axes.items(), index, strict=True)}
        value = 1.0 + index[0] + (100 if index[-1] == 0 else 0)
        for name in names:
            result.append(sample(name, [value, 1.01 * value], (-30, 50), predicted=2.0, cell=cell))
    return result


def test_one_axis_gives_a_curve_with_its_allowed_interval():
    axes = {"init_scale": SCALES}
    drawing = draw_cells(claims(axes), axes)["cells"]
    (ax,) = drawing.figure.axes
    assert ax.get_xscale() == "log"
    shown = {line.get_label(): line for line in ax.get_lines()}
    assert {"measured", "predicted", "allowed", "fails"} <= set(shown)
    np.testing.assert_allclose(shown["measured"].get_xdata(), SCALES)
    assert shown["measured"].get_ydata()[0] == pytest.approx(101.505)
    assert "95% intervals over seeds" in drawing.caption


def test_two_axes_give_a_map_and_further_ones_stay_at_their_first_value():
    axes = {"mask": ["random", "circulant"], "init_scale": SCALES, "rank": [1, 2, 3, 4]}
    drawing = draw_cells(claims(axes), axes)["cells"]
    ax = drawing.figure.axes[0]
    (mesh,) = ax.collections
    values = mesh.get_array()
    assert values.shape == (4, 5)
    np.testing.assert_allclose(values[0], 101.505)
    np.testing.assert_allclose(values[1:], 1.005)
    assert (ax.get_xlabel(), ax.get_xscale()) == ("Init scale", "log")
    assert (ax.get_ylabel(), ax.get_yscale()) == ("Rank", "linear")
    assert "(mask) are at the first value it was judged at" in drawing.caption


def test_a_claim_that_is_judged_at_some_values_only_is_drawn_at_one_of_those():
    axes = {"mask": ["random", "circulant"], "init_scale": SCALES}
    some = [claim for claim in claims(axes) if claim.cell["mask"] == "circulant"]
    (ax,) = draw_cells(some, axes)["cells"].figure.axes
    assert len(ax.get_lines()[0].get_xdata()) == len(SCALES)


def test_a_cell_without_a_value_is_marked_at_the_edge():
    result = [sample("a", [np.nan, np.nan], (0, 1), cell={"init_scale": scale}) for scale in SCALES]
    (ax,) = draw_cells(result, {"init_scale": SCALES})["cells"].figure.axes
    (marks,) = [
        line for line in ax.get_lines() if line.get_marker() == "." and len(line.get_xdata())
    ]
    np.testing.assert_allclose(marks.get_ydata(), 0.04)


def test_what_holds_everywhere_gives_way_to_what_does_not():
    axes = {"init_scale": SCALES}
    sound = [
        sample(f"sound-{n}", [1, 1.1], (0, 9), cell={"init_scale": scale})
        for n in range(6)
        for scale in SCALES
    ]
    drawing = draw_cells([*sound, *claims(axes, ("broken",))], axes)["cells"]
    titles = [ax.get_title(loc="left").splitlines()[0] for ax in drawing.figure.axes]
    assert titles == [f"sound-{n}" for n in range(5)] + ["broken"]
    assert "Of 7 such claims 6 are drawn" in drawing.caption


@pytest.mark.parametrize(
    "axes", [{}, {"rank": [1, 2]}, {"mask": ["a", "b", "c", "d"]}, {"bias": [True, False]}]
)
def test_nothing_is_drawn_without_an_axis_of_several_numbers(axes):
    assert draw_cells(claims(axes) if axes else [], axes) == {}


def test_a_line_parts_cells_whose_value_is_allowed_from_the_others():
    axes = {"init_scale": [0.003, 0.0139, 0.0646, 0.3], "learning_rate": [0.005, 0.01, 0.02, 0.04]}
    figure = draw_cells(claims(axes, ("a", "b")), axes)["cells"].figure
    (edge,) = [line for line in figure.axes[0].get_lines() if line.get_label().startswith("edge")]
    # At the first rate every value lies beyond what is allowed, at all others inside.
    places = edge.get_ydata()
    np.testing.assert_allclose(places[np.isfinite(places)], 0.005 * 2**0.5)
    assert edge.get_xdata()[np.isfinite(places)].size == 2 * 4
    assert figure.axes[0].get_title(loc="left").startswith("a\n")
    assert troubles(figure) == []
