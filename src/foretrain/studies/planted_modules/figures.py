"""Figures of ``planted-modules``."""

from foretrain.study import figure, panel

from .claims import rectified

FIGURES = {
    "modules": figure(
        "Costs of interaction, and modules",
        lambda c: (
            f"Left: effective parameters that a constraint of strength w adds at the cutoff {c.p.cutoff:g}, by the secant of "
            "volumes and by their derivative. Right: agreement of the modules found with those planted, by the normalised "
            "cut, and by the plain cut for the first number of mediating variables."
        ),
        panel(
            lambda c: c.secant_cost,
            x="strength",
            scale="semilogx",
            theory=lambda c: c.secant_law,
            theory_label="its formula",
            title="Cost of a variable by the secant",
            label="Effective parameters",
        ),
        panel(
            lambda c: c.derivative_cost,
            x="strength",
            scale="semilogx",
            theory=lambda c: c.derivative_law,
            theory_label="its formula",
            title="Cost by the derivative",
            label="Effective parameters",
        ),
        panel(
            lambda c: c.search_agreement,
            x="strength",
            by="mediators",
            scale="semilogx",
            theory=False,
            title="Modules found",
            label="Adjusted Rand index",
        ),
        panel(
            lambda c: c.plain_agreement,
            x="strength",
            by="mediators",
            scale="semilogx",
            theory=False,
            title="Modules by the plain cut",
            ylim=(-0.1, 1.05),
            label="Adjusted Rand index",
        ),
        where=rectified,
        columns=2,
    ),
}
