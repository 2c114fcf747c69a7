"""Figures of ``entangled-networks``."""

from functools import partial

from foretrain.study import figure, panel

from .claims import PAIRS, more

FIGURES = {
    "entangled": figure(
        "Learning coefficients of networks of equal function",
        "Effective parameters of the entangled network less those of the modular one, by neurons of a module. Above 0 the "
        "modular network has fewer; dashed: derived.",
        panel(
            {pair: partial(more, pair=pair) for pair in PAIRS},
            x="units",
            label="Entangled less modular, effective parameters",
            theory_label="derived",
        ),
        height=4.6,
        legend=3,
    ),
}
