"""Every inconclusive verdict says what would settle it."""

import math

import pytest
from made_claims import sample

from foretrain.claims.claim import INCONCLUSIVE
from foretrain.claims.power import seeds_needed
from foretrain.claims.rows import rows
from foretrain.claims.table import ClaimTable
from foretrain.claims.way_out import ACROSS, open_reasons


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        ("not finished: 3 of 9 runs cut off while still learning; try --steps 5000", ""),
        ("one seed says nothing of the spread", "; try --seeds 5"),
        ("2 of 9 runs diverged", "; more seeds do not settle it"),
        ("all seeds gave the same run", "; more seeds do not settle it"),
        ("1 of 9 runs missing", "; the same command trains what is missing, with --retry-failed"),
    ],
)
def test_each_reason_has_its_way_out(reason, way_out):
    (text,) = open_reasons([sample(reason=reason, verdict=INCONCLUSIVE)])
    assert text.startswith(reason + way_out)
    assert "try" in text or "seeds" in text


def test_a_wide_interval_names_the_seeds_that_its_width_and_the_bound_ask_for():
    assert open_reasons([sample(), sample(allowed=(5, 6))]) == {}  # with a verdict there is none
    claim = sample("a", [0.9, 1.0, 1.1, 1.2, 1.3], (1.0, math.inf))
    number = seeds_needed(claim)
    assert [*open_reasons([claim])] == [f"{ACROSS}; try --seeds {number}"]
    assert f"try --seeds {number}" in ClaimTable([claim]).format(120)
    assert f"try --seeds {number}" in ClaimTable([claim]).to_markdown()
    wider = sample("a", [0.9, 1.0, 1.1, 1.2, 1.3], (1.05, math.inf))
    assert seeds_needed(wider) > number
    more = f"{ACROSS}; try --seeds {seeds_needed(wider)}"
    assert open_reasons([claim, wider]) == {more: [claim, wider]}


def test_each_cell_has_its_own_way_out():
    on_bound = sample("a", [0.9, 1.0, 1.1], (1.0, math.inf), cell={"rank": 2})
    none = f"{ACROSS}; no number of seeds up to 10,000 is likely to settle it"
    assert open_reasons([on_bound]) == {none: [on_bound]}
    off = sample("a", [0.9, 1.0, 1.1], (0.95, math.inf), cell={"rank": 1})
    seeds = f"{ACROSS}; try --seeds {seeds_needed(off)}"
    assert open_reasons([on_bound, off]) == {none: [on_bound], seeds: [off]}
    (row,) = rows([on_bound, off])
    assert row.remarks == (
        f"Inconclusive in 1 cell: rank=2 ({none}).",
        f"Inconclusive in 1 cell: rank=1 ({seeds}).",
    )
