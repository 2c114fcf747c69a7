import math

from made_claims import sample

from foretrain.claims.cells import gather
from foretrain.report.cell_map import cell_map
from foretrain.report.forest import forest


def test_places_keep_the_order_of_the_numbers():
    plot = forest([sample("a", [0.9, 1.0, 1.1], (0.5, 2.0), predicted=1.5)])
    (mark,) = plot.marks
    assert 0 < plot.allowed[0] < mark.low < mark.at < mark.high < plot.predicted[0]
    assert plot.predicted[0] < plot.allowed[1] < 100
    assert plot.open == (False, False)
    assert [text for _, text in plot.ticks] == ["0.5", "2"]


def test_an_open_bound_reaches_the_edge_and_nothing_finite_has_no_plot():
    assert forest([sample("a", [math.nan], (0, 1))]) is None
    plot = forest([sample("a", 3.0, (2.0, math.inf))])
    assert plot.open == (False, True)
    assert plot.allowed[1] == 100
    assert plot.allowed[0] < plot.marks[0].at


def test_a_deviation_far_below_its_bound_is_drawn_in_decades():
    plot = forest([sample("a", 1e-9, (0.0, 1e-3))])
    assert plot.allowed[0] == 0
    assert plot.marks[0].at < plot.allowed[1]
    assert forest([sample("a", 5e-4, (0.0, 1e-3))]).allowed[0] > 0


def test_every_cell_has_its_mark_and_what_differs_from_cell_to_cell_stands_beside_it():
    cells = [sample("a", float(rank), (0.0, 9.0), cell={"rank": rank}) for rank in (1, 2)]
    assert [mark.allowed for mark in forest(cells).marks] == [None, None]
    differ = [
        sample("a", float(rank), (rank / 2, 2.0 * rank), predicted=1.2 * rank, cell={"rank": rank})
        for rank in (1, 2, 30)
    ]
    plot = forest(differ)
    assert plot.allowed is None
    assert plot.ticks == ()
    for mark in plot.marks:
        assert mark.allowed[0] < mark.at < mark.predicted < mark.allowed[1]
    first, second, third = (mark.allowed for mark in plot.marks)
    assert first[0] < second[0] < first[1] < second[1] < third[0]
    open_above = [sample("a", 3.0, (float(rank), math.inf), cell={"rank": rank}) for rank in (1, 2)]
    assert all(mark.allowed[1] == 100 for mark in forest(open_above).marks)


def test_single_seeds_stand_where_their_values_say_and_none_leaves_the_plot():
    values = [0.1, 0.4, 0.4, math.nan, 30.0]
    claim = sample("a", values, (0.5, 2.0), cell={"rank": 1})
    (mark,) = forest([claim], {claim.label: values, "other": [1e9]}).marks
    assert len(mark.seeds) == 3  # equal values are one point
    low, middle, high = mark.seeds
    assert 0 < low < middle < mark.at < high < 100
    plot = forest([claim], {claim.label: values})
    assert middle < plot.allowed[0] < plot.allowed[1] < high
    assert forest([claim]).marks[0].seeds == ()
    many = [sample("a", [1.0, 2.0], (0, 9), cell={"rank": rank}) for rank in range(13)]
    plot = forest(many, {item.label: [50.0] for item in many})
    assert forest(many[:12]).stacked
    assert not plot.stacked  # of many cells none has a line of its own
    assert not any(mark.seeds for mark in plot.marks)
    assert plot == forest(many)


def test_a_map_has_a_square_per_cell_with_numbers_in_order_from_left_to_right():
    axes = {"mask": ["b", "a"], "rank": [3, 1, 2], "steps": [5]}
    cells = [
        sample("a", float(rank), (0, 2), cell={"mask": mask, "rank": rank, "steps": 5})
        for mask in axes["mask"]
        for rank in axes["rank"]
    ]
    drawn = cell_map(*gather(cells[:-1]), axes)
    verdicts = [verdict for _, _, verdict, _ in drawn.squares]
    assert verdicts == "holds holds fails holds fails".split()  # mask a was not judged at rank 2
    assert drawn.squares[2][3] == "mask=b, rank=3, steps=5: fails, 3"
    places = [(x // 17, y // 17) for x, y, *_ in drawn.squares]
    assert places == [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)]
    assert drawn.axes == "left to right: rank 1 to 3 (3 values); top to bottom: mask b, a"
    assert cell_map(*gather(cells[:1]), axes) is None
    assert cell_map(*gather(cells), {}) is None
