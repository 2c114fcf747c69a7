"""The size of a claim is told beside the document's."""

from dataclasses import replace

import pytest
from made_claims import sample

from foretrain.claims.rows import rows
from foretrain.claims.table import ClaimTable
from foretrain.plans import catalogue
from foretrain.plans.size import document_values, size_of

DOCUMENT = {"symbols": (53,), "rate": (0.01, 0.03, 0.1), "steps": (2000,)}
HERE = {"symbols": (19,), "rate": (0.03, 0.3), "steps": (4000,)}


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"cell": {"rate": 0.03}}, ["symbols"]),  # a value that the document has, too
        ({"cell": {"rate": 0.3}}, ["symbols", "rate"]),
        ({"along": {"rate": (0.03, 0.3)}}, ["symbols", "rate"]),  # not all of the document's
    ],
)
def test_a_size_differs_where_the_document_has_other_values(fields, differs):
    assert [*size_of(sample(**fields), HERE, [DOCUMENT])] == differs


def test_more_steps_and_more_values_along_an_axis_are_no_smaller_size():
    more = {"symbols": (53,), "rate": (0.001, 0.01, 0.03, 0.1), "steps": (4000,)}
    assert size_of(sample(along={"rate": (0.001, 0.1)}), more, [DOCUMENT]) == {}
    assert size_of(
        sample(along={"rate": (0.001, 0.1)}), {**more, "steps": (1000,)}, [DOCUMENT]
    ) == {"steps": ("1000", "2000")}


def test_of_a_long_list_of_texts_the_length_is_said_beside_that_of_the_document():
    networks, along = tuple("abcdefgh"), sample(along={"network": ("a", "c")})
    size = size_of(along, {"network": networks[:3]}, [{"network": networks}])
    assert size == {"network": ("3 of the document's 8 values", "")}
    assert rows([sample(size=size)])[0].details["Size"] == "at network 3 of the document's 8 values"
    few = size_of(along, {"network": ("a",)}, [{"network": ("a", "b")}])
    assert few == {"network": ("a", "a, b")}
    assert size_of(along, {"network": ("z",)}, [{"network": networks}])["network"][0] == "z"


def test_without_a_document_no_size_is_known():
    assert size_of(sample(), HERE, []) is None
    assert "no preset `paper`" in rows([sample()])[0].details["Size"]


def test_at_the_size_of_the_document_nothing_differs_and_symbols_tell_the_size_of_a_transformer():
    for name in ("modular-transformer", "routing", "bumps"):
        for document in document_values(catalogue.load(name)):
            assert size_of(sample(), document, [document]) == {}
    assert next(iter(document_values(catalogue.load("modular-transformer"))[0])) == "symbols"


def test_a_claim_is_laid_beside_the_size_from_which_it_differs_least():
    sizes = document_values(catalogue.load("planted-modules"))
    here = {**sizes[0], "gradients": (1000,)}
    assert size_of(sample(), here, sizes) == {"gradients": ("1000", "4000000")}


def test_a_verdict_says_at_what_size_it_was_reached_unless_that_is_the_one_of_the_document():
    small = sample(samples=3.0, size={"symbols": ("19", "53"), "depth": ("1", "2")})
    (row,) = rows([small])
    assert (row.verdict, row.at) == ("fails", "at symbols=19")
    assert row.details["Size"] == "at symbols 19 (the document: 53), depth 1 (the document: 2)"
    assert "| fails at symbols=19 |" in ClaimTable([small]).to_markdown()
    (row,) = rows([replace(small, size={})])
    assert (row.at, row.details["Size"]) == ("", "that of the document")


def test_of_several_cells_a_verdict_that_was_reached_at_the_size_of_the_document_too_stands_alone():
    cells = [sample(samples=3.0, cell={"rank": n}, size={"rank": (str(n), "9")}) for n in (1, 2)]
    assert rows(cells)[0].at == "at other sizes than the document's"
    assert rows([*cells, sample(samples=3.0, cell={"rank": 9}, size={})])[0].at == ""
    assert rows([cells[0], sample(samples=1.0, cell={"rank": 9}, size={})])[0].at == "at rank=1"
