"""Claims over the cells of a grid: gathered, found again, and shown as one."""

import math

import numpy as np
import pytest
from made_claims import sample

from foretrain.claims.cells import CellClaims, gather, over_axes
from foretrain.claims.claim import unmet
from foretrain.claims.family import summary
from foretrain.claims.power import seeds_needed
from foretrain.claims.rows import rows
from foretrain.claims.table import ClaimTable

AXES = {"init_scale": [float(scale) for scale in np.geomspace(0.01, 1, 6)], "rank": [1, 2, 3, 4, 5]}


def grid():
    """A claim in 30 cells, of which two at scale 1 fail, between two claims of the whole."""
    cells = [
        sample("error", scale * rank / 7, (0, 0.5), cell={"init_scale": scale, "rank": rank})
        for scale in AXES["init_scale"]
        for rank in AXES["rank"]
    ]
    return [sample("whole", [1.0, 1.1], (-9, 9)), *cells, sample("last", 0.1)]


def test_the_cells_of_a_sentence_are_one_entry_where_the_first_stood():
    numbers = {group.id: len(group.claims) for group in gather(grid())}
    assert list(numbers.items()) == [("whole", 1), ("error", 30), ("last", 1)]
    group = gather(grid())[1]
    assert group.counts == {"holds": 28, "fails": 2}
    assert group.verdict == "fails"
    failing = [claim for claim in group.claims if claim.verdict == "fails"]
    assert group.where(failing) == "2 cells: init_scale=1, rank=4; init_scale=1, rank=5"
    assert group.range("measured") == pytest.approx((0.01 / 7, 5 / 7))
    (two,) = gather(grid()[1:3])
    assert len(two.claims) == 2


def test_the_worst_verdict_stands_for_all():
    claims = [sample("a", values, (0, 1)) for values in ([0.5, 0.51], [0.9, 1.1])]
    group = CellClaims("a", tuple(claims))
    assert group.counts == {"holds": 1, "inconclusive": 1}
    assert group.verdict == "inconclusive"
    assert CellClaims("a", (*claims, sample("a", 2.0, (0, 1)))).verdict == "fails"


def test_a_range_leaves_out_what_is_not_defined():
    group = CellClaims("a", (sample("a", [1.0], (0, 1)), sample("a", [math.nan], (0, 2))))
    assert group.range("measured") == (1.0, 1.0)
    assert all(math.isnan(end) for end in group.range("predicted"))
    assert group.allowed is None


def test_a_cell_that_lies_on_no_place_of_the_axes_is_left_out():
    cells = ({"rank": 1, "mask": "b"}, {"rank": 9, "mask": "b"}, {"mask": "b"})
    claims = [sample("a", 0.1, cell=cell) for cell in cells]
    along, places = over_axes(CellClaims("a", tuple(claims)), {"rank": [1, 2], "mask": ["a", "b"]})
    assert list(along) == ["rank", "mask"]
    assert list(places) == [(0, 1)]


def test_the_table_counts_cells_and_keeps_every_claim():
    table = ClaimTable(grid())
    first = "28 of 30 hold It is small: 0.00143 to 0.714, allowed at most 0.5. Fails in 2 cells:"
    assert " ".join(table.format(120).split()).startswith(first)
    counts = "3 claims, judged 32 times: 2 hold, 1 fails (It is small)"
    assert counts in table.format(120, details=True)
    assert len(table.to_dataframe()) == 32
    assert table["error[init_scale=1, rank=5]"].verdict == "fails"
    assert len(table["error"]) == 30
    assert table["whole"] is table[0]


def test_cells_that_are_not_claimed_count_neither_as_holding_nor_in_the_range():
    cells = [
        sample("a", (1.0, 1.1, 1.05), cell={"rank": 1}),
        sample("a", (9.0, 9.1, 9.05), cell={"rank": 2}, verdict="not claimed", reason="too narrow"),
    ]
    (row,) = rows(cells)
    assert (row.verdict, row.holding) == ("holds", "1 of 1 cells hold")
    assert (row.outside, row.measured) == (("too narrow",), "1.05")
    assert row.remarks == ("Not claimed in 1 cell: rank=2 (too narrow).",)
    (alone,) = rows(cells[1:])
    assert (alone.verdict, alone.holding) == ("not claimed", "")
    assert not unmet(cells)
    assert summary(cells).startswith("Evidence by itself: 1 verdict.")
    assert isinstance(seeds_needed(cells[1]), str)
