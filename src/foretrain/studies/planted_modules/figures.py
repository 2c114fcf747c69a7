"""Figures of ``planted-modules``."""

from foretrain.study import figure, panel

FIGURES = {
    "modules": figure(
        "Costs of interaction, and modules",
        lambda c: (
            f"Left: effective parameters that a constraint of strength w adds at the cutoff {c.p.cutoff:g}, by the secant of "
            "volumes and by their derivative. Right: agreement of the modules found with those planted, by the normalised "
            "cut, and by the plain cut for the first number of mediating variables."
        ),
        panel(
            {"secant of volumes": lambda c: c.secant_cost, "its formula": lambda c: c.secant_law},
            x="strength",
            scale="semilogx",
            theory=False,
            title="Cost of a variable by the secant",
            label="Effective parameters",
        ),
        panel(
            {"derivative": lambda c: c.derivative_cost, "its formula": lambda c: c.derivative_law},
            x="strength",
            scale="semilogx",
            theory=False,
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
            label="Adjusted Rand index",
        ),
        where=lambda c: c.p.activation == "relu" and len(c.values("strength")) > 1,
        columns=2,
    ),
}
