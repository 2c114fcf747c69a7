import re

import pytest
import xarray as xr

from foretrain import vocabulary
from foretrain.errors import ArgumentError
from foretrain.results.labels import annotate
from foretrain.vocabulary import Variable, VocabularyError, declare, lookup, own_words


def test_declaring_again_is_harmless_and_a_clash_raises(monkeypatch):
    monkeypatch.setattr(vocabulary, "_PACKAGE", __file__)
    declare("step", test_only_word="For this test.")
    declare("step", test_only_word="For this test.")
    with pytest.raises(VocabularyError, match="`test_only_word` is declared twice"):
        declare("mode", test_only_word="For this test.")


@pytest.mark.parametrize(
    ("arguments", "meanings", "line"),
    [
        (("step", "train"), {}, "`dims` must be one text, with names and meanings behind it"),
        ((["step"],), {"train": "Loss."}, "`dims` must be one text"),
        (("step",), {"train": 3}, "`train` must have a sentence as its meaning, but has 3"),
        (("step",), {"train": "Loss.", "kind": "complex"}, "`kind` must be one of `float`, `int`"),
    ],
)
def test_a_wrong_declaration_is_refused_in_a_line(arguments, meanings, line):
    with pytest.raises(ArgumentError, match=re.escape(line)):
        declare(*arguments, **meanings)


def test_words_of_a_study_from_elsewhere_are_its_own_and_the_last_declaration_holds():
    inside, outside = lookup("loss"), Variable("loss", ("step", "mode"), meaning="By mode.")
    declare(loss="Once.")
    declare("step mode", loss="By mode.")
    assert lookup("loss") is inside
    with own_words(True):
        assert lookup("loss") == outside
        assert lookup("outcome").kind == "int", "what it does not say itself is as ever"
    assert lookup("loss") is inside
    vocabulary._own.pop("loss")


def test_annotate_writes_unit_and_meaning_and_allows_leading_dims():
    data = annotate(xr.Dataset({"loss": (("seed", "step"), [[1.0, 0.5]])}))
    assert data["loss"].attrs["units"] == "1"
    assert data["loss"].attrs["long_name"] == "loss"
    assert data["loss"].attrs["description"] == lookup("loss").meaning


def test_wrong_dims_and_unknown_words_are_refused():
    with pytest.raises(VocabularyError, match=r"`loss` must end in dims \('step',\), but has dims"):
        annotate(xr.Dataset({"loss": (("step", "seed"), [[1.0]])}))
    with pytest.raises(VocabularyError, match="`losss` is not declared"):
        annotate(xr.Dataset({"losss": ("step", [1.0])}))
