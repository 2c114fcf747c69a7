"""Claims over the cells of a grid: named, found again, and shown as one where they are many."""

import math

import numpy as np
import pytest

from foretrain.claims.cells import MANY, CellClaims, by_claim, gather, over_axes
from foretrain.claims.claim import cell_label, cell_of, exact, in_cell, judge
from foretrain.claims.table import ClaimTable

AXES = {"init_scale": tuple(np.geomspace(0.01, 1, 6)), "rank": (1, 2, 3, 4, 5)}


def error(value):
    return exact("error", "It is small.", "eq. (1)", value, 0.5, seeds=3)


def grid():
    """A claim in 30 cells, of which those at scale 1 fail, between two claims of the whole."""
    cells = [
        in_cell(error(scale * rank / 7), cell_label({"init_scale": float(scale), "rank": rank}))
        for scale in AXES["init_scale"]
        for rank in AXES["rank"]
    ]
    whole = judge("whole", "Of all cells.", "§1", [1.0, 1.1], (0, 2))
    return [whole, *cells, error(0.1)]


@pytest.mark.parametrize(
    ("id", "name", "cell"),
    [
        ("plain", "plain", {}),
        (
            "a.corrected[init_scale=0.1, mask=circulant]",
            "a.corrected",
            {"init_scale": "0.1", "mask": "circulant"},
        ),
        ("a[rank=2].corrected", "a.corrected", {"rank": "2"}),
        ("a[rank=2][init_scale=0.1]", "a", {"rank": "2", "init_scale": "0.1"}),
        ("odd[no value]", "odd[no value]", {}),
    ],
)
def test_the_cell_of_a_claim_is_read_from_its_id(id, name, cell):
    assert cell_of(id) == (name, cell)


def test_many_cells_are_one_entry_and_few_stay_apart():
    shown = gather(grid())
    assert [type(entry).__name__ for entry in shown] == ["Claim", "CellClaims", "Claim"]
    group = shown[1]
    assert group.id == "error"
    assert group.counts == {"holds": 28, "fails": 2}
    assert group.verdict == "fails"
    assert group.where("fails") == "init_scale=1, rank=4; init_scale=1, rank=5"
    assert group.range("measured") == pytest.approx((0.01 / 7, 5 / 7))
    assert len(gather(grid()[: MANY + 1])) == MANY + 1


def test_a_range_leaves_out_what_is_not_defined():
    claims = [judge("a[rank=1]", "s", "§", [1.0], (0, 1)), judge("a[rank=2]", "s", "§", [], (0, 2))]
    group = CellClaims("a", tuple(claims))
    assert group.range("measured") == (1.0, 1.0)
    assert all(math.isnan(end) for end in group.range("predicted"))
    assert group.tolerance is None


def test_claims_find_their_places_on_the_axes():
    (group,) = by_claim(grid())
    along, places = over_axes(group, {**AXES, "steps": (1, 2)})
    assert list(along) == ["init_scale", "rank"]
    assert len(places) == 30
    assert places[5, 4].measured == pytest.approx(5 / 7)


def test_the_table_counts_cells_and_keeps_every_claim():
    table = ClaimTable(grid())
    text = str(table)
    assert "28 of 30 hold" in text
    assert "fails in 2: init_scale=1, rank=4; init_scale=1, rank=5" in text
    assert "32 claims: 30 holds, 2 fails, 0 inconclusive" in text
    assert text.count("It is small.") == 2
    assert len(table.to_dataframe()) == 32
    assert table["error[init_scale=1, rank=5]"].verdict == "fails"
