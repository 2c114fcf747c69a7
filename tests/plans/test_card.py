"""Card of a study, read without running it."""

import ast

import pytest

from foretrain.plans.card import constants
from foretrain.plans.catalogue import read_card

HEAD = 'from helper import PAPER, KEYS\nfrom .further import YEAR as when\nimport numpy as np\nOWN = "Own, "\n'


@pytest.fixture
def read(tmp_path):
    (tmp_path / "helper.py").write_text(
        'from further import NAME\nPAPER = NAME + " (2014), "\nKEYS = ["saxe2014"]\nraise SystemExit\n'
    )
    (tmp_path / "further.py").write_text(
        'NAME = "Saxe"\nYEAR = 2022\nfrom helper import PAPER as ROUND\n'
    )

    def card_of(text: str) -> dict:
        file = tmp_path / "mine.py"
        file.write_text(HEAD + text)
        return constants(file, ast.parse(file.read_text()), {"SOURCE", "REFERENCES"})

    return card_of


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('SOURCE = PAPER + "section 3.1"', "Saxe (2014), section 3.1"),
        ('SOURCE: str = "here"', "here"),
        ('SOURCE = TITLE = OWN + ("a" "b")', "Own, ab"),
        ('SOURCE = f"{OWN}{when}"', "Own, 2022"),
        ("from helper import PAPER as SOURCE", "Saxe (2014), "),
        ('SOURCE = OWN\nOWN = "later"', "Own, "),
    ],
)
def test_sums_names_and_imported_names_are_read(read, text, source):
    assert read(text) == {"SOURCE": source}


@pytest.mark.parametrize(
    "text",
    [
        'SOURCE = str("a")',
        "SOURCE = np.pi",
        "SOURCE = UNKNOWN",
        'SOURCE = OWN + str("b")',
        "SOURCE: str",
        "SOURCE = OWN + 1",
        'SOURCE = "a"\nSOURCE = str("b")',
        "from helper import NOTHING as SOURCE",
        "from further import ROUND\nSOURCE = ROUND + ROUND[1]",
    ],
)
def test_what_only_running_would_tell_is_left_out(read, text):
    assert read(text) == {}


def test_a_card_has_its_source_and_its_references(read, tmp_path):
    read('"""A decay."""\nSOURCE = PAPER + "Fig. 2"\nREFERENCES = (*KEYS, "saxe2022")')
    result = read_card(tmp_path / "mine.py", "mine")
    assert (result.source, result.references) == ("Saxe (2014), Fig. 2", ("saxe2014", "saxe2022"))
