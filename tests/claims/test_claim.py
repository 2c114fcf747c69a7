import pytest
from made_claims import sample

from foretrain.claims.claim import unmet
from foretrain.errors import ArgumentError
from foretrain.words import cell_label


def test_a_claim_has_one_of_three_ranks():
    with pytest.raises(ArgumentError, match="`rank` must be one of headline, detail, control"):
        sample("a", rank="first")


def test_two_values_that_agree_to_six_digits_have_different_labels():
    item, other = ({"init_scale": value} for value in (0.1234567, 0.1234568))
    assert cell_label(item) != cell_label(other)
    assert cell_label({"init_scale": 0.2, "rank": 3, "data": "digits"}) == (
        "init_scale=0.2, rank=3, data=digits"
    )


@pytest.mark.parametrize(
    ("samples", "cell", "excused"),
    [
        ((1.0, 1.1, 1.05), {"rank": 1}, True),
        ((9.0, 9.1, 9.05), {"rank": 1}, False),
        ((1.0, 1.1, 1.05), {"rank": 2}, False),
    ],
    ids=["it holds", "it fails itself", "it holds elsewhere"],
)
def test_only_a_corrected_form_that_holds_in_the_same_cell_excuses_a_claim(samples, cell, excused):
    wrong = sample("ratio", (5.0, 5.1, 5.05), (0, 2), cell={"rank": 1})
    mended = sample("ratio.corrected", samples, (0, 2), cell=cell, corrects="ratio")
    assert (wrong in unmet([wrong, mended])) is not excused
