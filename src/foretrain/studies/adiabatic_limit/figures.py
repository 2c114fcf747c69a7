"""Figures of ``adiabatic-limit``."""

from foretrain.study import figure, panel

from .claims import error

FIGURES = {
    "ratio": figure(
        "Effective and real",
        "Left: energy of pairs, and exp(-2 t), which the effective loss of pairs predicts. Right: largest distance over time "
        "between deviations and those under the map of the start, relative to the start.",
        panel(
            lambda c: c.pair_energy / c.start.pair_energy,
            by="rate_ratio",
            scale="semilogy",
            label="Energy of pairs / first",
            theory_label="effective loss",
        ),
        panel(
            error,
            x="rate_ratio",
            by="output_dim",
            scale="loglog",
            theory=False,
            label="Error with the map frozen",
        ),
        height=4.6,
    )
}
