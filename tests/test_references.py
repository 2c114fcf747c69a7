import pytest

from foretrain import references
from foretrain.errors import ArgumentError


def test_foretrain_comes_first_and_then_the_entries_in_the_order_asked_for():
    text = references.bibtex(("jermyn2022", "saxe2014"))
    first, second, third = text.split("\n\n")
    assert first.startswith("@software{foretrain,\n")
    assert second.startswith("@misc{jermyn2022,\n")
    assert third.startswith("@inproceedings{saxe2014,\n")
    # Not a brace or a backslash of TeX is lost on the way.
    assert r"Chizat, L\'ena{\"i}c" in references.bibtex(("chizat2019",))
    assert text.count("{") == text.count("}")


def test_an_unknown_key_is_named_with_the_nearest_in_one_line():
    with pytest.raises(ArgumentError) as caught:
        references.bibtex(("saxe2023",))
    text = str(caught.value)
    assert text.startswith("Argument `key` must name a reference, but is `saxe2023`. Did you mean")
    assert "\n" not in text
