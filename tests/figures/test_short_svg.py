"""An SVG in fewer characters is the same picture."""

from foretrain.figures.short_svg import short_svg


def test_coordinates_have_two_digits_and_nothing_else_is_touched():
    text = '<g>\n  <path d="M 1.23456 2 \nL 3.005 -4.5678 \nz\n" style="stroke-width: 0.123456"/>\n   <use x="1.99999" y="0.5"'
    text += ' transform="translate(1.23456 7) scale(0.015625)"/>\n</g>'
    short = '<g>\n<path d="M1.23 2L3 -4.57z" style="stroke-width: 0.123456"/>\n<use x="2" y="0.5"'
    assert short_svg(text) == short + ' transform="translate(1.23 7) scale(0.015625)"/>\n</g>'
    curve = '<path d="M 0.123456 1 Q 1.23456 2 3 4.567"/>'
    assert short_svg(curve) == '<path d="M0.12 1Q1.23 2 3 4.57"/>'
