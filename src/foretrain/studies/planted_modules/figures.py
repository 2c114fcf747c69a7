"""Figures of ``planted-modules``."""

from foretrain.study import figure, panel

from .claims import rectified

_COST = {"x": "strength", "scale": "semilogx", "label": "Effective parameters"}
_COST["theory_label"] = "its formula"
_FOUND = {"x": "strength", "by": "mediators", "scale": "semilogx", "theory": False}
_FOUND |= {"label": "Adjusted Rand index", "ylim": (-0.1, 1.05)}
FIGURES = {
    "modules": figure(
        "Costs of interaction, and modules",
        "Above: effective parameters that a constraint of strength w adds, by the secant of volumes and by their derivative. "
        "Below: agreement of the modules found with those planted, by the normalised cut and by the plain cut.",
        panel(lambda c: c.secant_cost, theory=lambda c: c.secant_law, title="Secant", **_COST),
        panel(
            lambda c: c.derivative_cost,
            theory=lambda c: c.derivative_law,
            title="Derivative",
            **_COST,
        ),
        panel(lambda c: c.search_agreement, title="Modules found", **_FOUND),
        panel(lambda c: c.plain_agreement, title="Modules by the plain cut", **_FOUND),
        where=rectified,
        columns=2,
    ),
}
