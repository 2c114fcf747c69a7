import numpy as np

from foretrain.figures.layered_graph import drawn_edges, layered_graph
from foretrain.figures.style import style


def test_of_too_many_edges_the_strongest_are_drawn_and_the_threshold_says_so():
    parts = [np.arange(12.0).reshape(3, 4), np.array([[20.0, 0.1, 5.0]])]
    masks, bound = drawn_edges(parts)
    assert bound == 0.2
    assert [int(mask.sum()) for mask in masks] == [11, 2]
    masks, bound = drawn_edges(parts, most=3)
    assert bound == 9
    assert [int(mask.sum()) for mask in masks] == [2, 1]
    assert drawn_edges([np.zeros((2, 2))])[0][0].sum() == 0


def test_layers_are_columns_and_edges_have_width_by_strength_and_colour_by_module():
    parts = [np.array([[1.0, 0.0], [0.5, 0.25]]), np.array([[0.0, 1.0]])]
    with style():
        drawing = layered_graph(parts, [np.array([0, 1]), np.array([0, 1]), np.array([1])])
    (ax,) = drawing.figure.axes
    (lines,) = ax.collections[:1]
    assert len(lines.get_segments()) == 4
    widths = lines.get_linewidths()
    assert widths[-1] > widths[0]  # drawn from the weakest to the strongest
    assert sorted({float(p[0]) for s in lines.get_segments() for p in s}) == [0, 1, 2]
    grey = np.isclose(lines.get_colors()[:, :3], np.array([0x9A, 0xA0, 0xA6]) / 255).all(1)
    assert grey.sum() == 1  # the edge of .5 leads from one module to the other
    assert "4 of the 6" in drawing.caption.replace("4 of 6", "4 of the 6")
    assert "0.01" in drawing.caption
