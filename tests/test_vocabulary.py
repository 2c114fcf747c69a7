import pytest
import xarray as xr

from foretrain.vocabulary import Variable, VocabularyError, annotate, declare, lookup


def test_declaring_again_is_harmless_and_a_clash_raises():
    variable = Variable("test_only_word", ("step",), meaning="For this test.")
    declare(variable)
    declare(variable)
    with pytest.raises(VocabularyError, match="`test_only_word` is declared twice"):
        declare(Variable("test_only_word", ("mode",), meaning="For this test."))


def test_annotate_writes_unit_and_meaning_and_allows_leading_dims():
    data = annotate(xr.Dataset({"loss": (("seed", "step"), [[1.0, 0.5]])}))
    assert data["loss"].attrs["units"] == "1"
    assert data["loss"].attrs["long_name"] == lookup("loss").meaning


def test_wrong_dims_and_unknown_words_are_refused():
    with pytest.raises(VocabularyError, match=r"`loss` must end in dims \('step',\), but has dims"):
        annotate(xr.Dataset({"loss": (("step", "seed"), [[1.0]])}))
    with pytest.raises(VocabularyError, match="`losss` is not declared"):
        annotate(xr.Dataset({"losss": ("step", [1.0])}))
