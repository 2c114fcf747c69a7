"""A claim links to the figure that draws the variables and networks that its quantity reads, and to no other."""

from dataclasses import make_dataclass

import numpy as np
import pytest
import xarray as xr
from made_claims import sample

from foretrain.figures import Drawing
from foretrain.figures.links import links
from foretrain.laboratory.judge import judged
from foretrain.laboratory.page import per_seed
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.study import claim, declare, define, parameter
from foretrain.vocabulary import CONVERGED

FIGURES = {"loss": ["loss", "theory/loss", "time"], "flow": ["flow/loss", "flow/gap", "loss"]}
declare("step", off_diagonal="A curve that no figure draws.")


@pytest.mark.parametrize(
    ("reads", "figure"),
    [
        ("loss", "loss"),
        ("loss, theory/loss", "loss"),
        ("flow/loss", "flow"),
        ("flow/gap, loss", "flow"),
        ("loss, outcome", "loss"),
        ("", None),
        ("gap", None),
        ("loss, off_diagonal", None),
        ("gap, theory/loss, time", None),  # a prediction and a clock show nothing measured
        ("xavier/loss", None),  # another network's
        ("loss, xavier/loss", None),  # compares two, of which one is drawn nowhere
    ],
)
def test_a_claim_links_to_the_figure_of_its_own_variables_and_networks(reads, figure):
    drawings = {name: Drawing(None, "", "", frozenset(seen)) for name, seen in FIGURES.items()}
    assert links(drawings, [sample("a", reads=reads)]) == ({figure: ("a",)} if figure else {})


def test_of_figures_with_as_many_of_its_variables_a_claim_links_to_that_of_its_words():
    seen = frozenset(["loss"])
    drawings = {words: Drawing(None, words, "", seen) for words in ("Loss", "Weight decay")}
    decay = sample("a", reads="loss", statement="With weight decay the loss stays.")
    assert links(drawings, [decay]) == {"Weight decay": ("a",)}


Parameters = make_dataclass("Parameters", [("width", int, parameter(10, "Width."))], frozen=True)


def study_and_grid():
    """A study whose sentence reads the loss of cells that it makes itself, and a grid of it."""
    values = np.arange(6.0).reshape(2, 3)
    ended = np.full((2, 3), CONVERGED)
    known = {name: (("width", "seed"), of) for name, of in (("loss", values), ("outcome", ended))}
    runs = xr.Dataset(known, {"width": [10, 20]})
    spread = lambda c: sum(Cell(item).loss for item in c.grid.cells())  # noqa: E731
    rows = [
        claim("whole", "It is large.", spread, inside=(10, 20), why="So.", along="width"),
        claim("single", "It is small.", lambda c: c.loss, inside=(-1, 2.5), why="So."),
    ]
    study = define("made-up", Parameters=Parameters, measure=lambda p, seed: {}, CLAIMS=rows)
    return study, Grid(Parameters(), {"width": (10, 20)}, 3, 0, runs)


def test_what_a_sentence_reads_is_known_where_it_makes_cells_of_its_own():
    claims, problems = judged(*study_and_grid())
    assert not problems
    assert {item.id: item.reads for item in claims} == {"whole": "loss", "single": "loss"}


def test_values_of_single_seeds_are_those_of_claims_that_do_not_hold_and_that_no_figure_shows():
    study, grid = study_and_grid()
    claims, _ = judged(study, grid)
    expected = {"whole": [3, 5, 7], "single[width=10]": [0, 1, 2], "single[width=20]": [3, 4, 5]}
    expected = {item.label: expected[item.label] for item in claims if item.verdict != "holds"}
    assert {"whole", "single[width=20]"} <= expected.keys()
    assert per_seed(study, grid, claims, ()) == expected
    assert per_seed(study, grid, claims, {"single"}) == {"whole": [3, 5, 7]}
