import pytest

from foretrain.claims.markup import formulas


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("as sigma_0^2 falls", "as σ<sub>0</sub><sup>2</sup> falls"),
        ("P^(-3/4) of it", "<i>P</i><sup>−3/4</sup> of it"),
        (
            "r (H_0 + H_L) - r^2",
            "r (<i>H</i><sub>0</sub> + <i>H</i><sub>L</sub>) - <i>r</i><sup>2</sup>",
        ),
        (
            "as V B1^2 V^T says",
            "as <i>V</i> <i>B</i><sub>1</sub><sup>2</sup> <i>V</i><sup>T</sup> says",
        ),
        ("|x|^2 - (a + b)^2", "|x|<sup>2</sup> - (a + b)<sup>2</sup>"),
        ("sqrt(M) times", "√M times"),
        ("sigma^(1 - s_2/s_1)", "σ<sup>1 − <i>s</i><sub>2</sub>/<i>s</i><sub>1</sub></sup>"),
        ("init_scale=0.1, a * b, H = 2D", "init_scale=0.1, a * b, H = 2D"),
        ("the alphabet of lambdas", "the alphabet of lambdas"),
        ("<b> lambda </b>", "&lt;b&gt; λ &lt;/b&gt;"),
    ],
)
def test_what_reads_as_a_formula_is_set_as_one_and_nothing_else_is_touched(text, html):
    assert formulas(text) == html
