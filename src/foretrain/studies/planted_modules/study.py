"""Planted modules: do free directions of separate modules add, what does a mediating variable cost, and are modules found?"""

from dataclasses import dataclass

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.study import claim, declare, figure, panel, parameter, skip_if
from foretrain.training.modules import ACTIVATIONS

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 5.2"
COST = "1 min"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 8
AXES = {"strength": (0.01, 0.0003, 0.003, 0.03, 0.1, 1.0), "mediators": (2, 1, 4)}
PRESETS = {"paper": {"seeds": 50}}
INPUTS, HIDDEN, OUTPUTS = 3, 5, 2  # of each module; both hidden layers are as wide
declare(
    apart_sum="Effective parameters of both modules, nothing between them.",
    apart_together="Of the network that they are, weights between them held.",
    constrained="Effective parameters of M1 that keep its mediators too.",
    second="Effective parameters of M2.",
    together="Of the whole network, weights between the modules held.",
    secant_cost="Secant of volumes of a constraint: 2 ln(V/V0)/ln eps.",
    derivative_cost="Its derivative: 2 d ln V/d ln eps.",
    pair_cost="Secant of volumes of two constraints at once.",
    other_cost="Secant of volumes of the second of them alone.",
    secant_law="1 - 2 ln w/ln eps of the constraint, from 0 to 1.",
    derivative_law="1 where w² > eps, else 0.",
    search_agreement="Adjusted Rand index of modules by the normalised cut.",
    plain_agreement="Adjusted Rand index of modules by the plain cut.",
)


@dataclass(frozen=True)
class Parameters:
    """Two modules 3-5-5-2; M2's second hidden layer reads some of M1's first, each by one weight."""

    mediators: int = parameter(
        2, "units of M1 that M2 reads", symbol="m", minimum=1, maximum=HIDDEN
    )
    strength: float = parameter(
        0.01, "weight by which M2 reads each", symbol="w", above=0, maximum=10
    )
    activation: str = parameter(
        "relu", "activation of both hidden layers", choices=ACTIVATIONS, sweepable=False
    )
    cutoff: float = parameter(1e-6, "cutoff of the loss", symbol="eps", above=0, maximum=0.1)
    examples: int = parameter(
        25,
        "examples of each module; modules are sought on all pairs of them",
        minimum=15,
        maximum=100,
    )


def variants(p):
    others = {"linear": "identity", "tanh": "tanh"} if p.activation == "relu" else {}
    return {name: {"activation": activation, "seeds": 3} for name, activation in others.items()}


COUNT = "Both sides are whole numbers, ranks of matrices whose singular values leave a wide gap."
PAGE = "docs/studies/planted-modules.md"
MOST = 0.01  # ten times eps^(1/2)


def rectified(c):
    return c.p.activation == "relu"


def excess(c):
    """Return the effective parameters of M2 and of M1 with its mediators held, less those of the network that they make up."""
    return c.constrained + c.second - c.together


def not_undone(c):
    """Return the largest deviation of linear modules and of modules of tanh from the changes that M2 undoes."""
    m = c.p.mediators
    affine = m * (min(m, INPUTS) + 1)
    return np.maximum(abs(excess(c.of("linear")) - affine), abs(excess(c.of("tanh"))))


def between(c, quantity):
    """Return the mean over strengths neither below the cutoff nor so strong that the constraint holds all of the box."""
    strength = c.axis("strength")
    kept = (strength > 3 * c.p.cutoff**0.5) & (strength < 0.5)
    skip_if(not kept.any(), "no strength lies between the cutoff and the box")
    return quantity.isel(strength=np.flatnonzero(kept)).mean("strength", skipna=False)


def off_secant(c):
    """Return the larger deviation from the secant's law: of the cost of one variable above the cutoff, of the sum of two."""
    secant = c.secant_cost - c.secant_law if 3 * c.p.cutoff**0.5 < c.p.strength < 0.5 else 0.0
    return np.maximum(abs(secant), abs(c.pair_cost - c.secant_cost - c.other_cost))


NONE = {"near": 0, "inside": (0, 0), "why": COUNT}
TENTH = {"near": 0, "inside": (-0.1, 0.1), "where": rectified}
CLAIMS = [
    claim(
        "additive",
        "Effective parameters of modules that share nothing add, as their free directions do.",
        lambda c: c.apart_together - c.apart_sum,
        exact=True,
        rank="control",
        source=SOURCE + ".1",
        **NONE,
    ),
    *claim(
        "constrained-sum",
        "The effective parameters of modules that interact are those of M2 and of M1 with its mediating variables held.",
        excess,
        rank="headline",
        source=SOURCE + ".2",
        **NONE,
    ).and_corrected(
        "Interacting rectified modules have one effective parameter less than the sum for each mediating variable, whose "
        "scale M2 undoes.",
        near=lambda c: c.p.mediators,
        inside=lambda c: around(c.p.mediators, 0.5),
        source=PAGE,
        why="Whole numbers; units that are on for all examples are linear and make it more in some draws, silent ones less.",
    ),
    claim(
        "linear-sum",
        "Interacting linear modules have fewer than the sum by every affine change of the m mediating variables, which M2 "
        "undoes, m (rank + 1), and modules of tanh, of which M2 undoes nothing, have as many.",
        not_undone,
        source=PAGE,
        **NONE,
    ),
    *claim(
        "logarithmic-count",
        "In effective parameters, too, a mediating variable costs 1 - 2 ln w/ln eps.",
        lambda c: between(c, c.derivative_cost - c.secant_law),
        rank="headline",
        source=SOURCE + ".3, (34) with (8) and (9)",
        why="A tenth of a parameter, on the mean over strengths between eps^(1/2) and 1.",
        along="strength",
        **TENTH,
    ).and_corrected(
        "In effective parameters a mediating variable costs one where w² > eps and nothing below: a step.",
        quantity=lambda c: between(c, c.derivative_cost - c.derivative_law),
        near=0,
        source=PAGE,
        why="A tenth of a parameter, on the mean over the same strengths; the secant's law is off by half a one.",
    ),
    claim(
        "strengths-add",
        "By the secant of volumes a mediating variable costs 1 - 2 ln w/ln eps, and costs of two add: strengths add as "
        "logarithms.",
        off_secant,
        source=SOURCE + ".3, (34) and (35)",
        why="Both at once are held within an ellipse, not a box: ln(pi/4) of volume, .035 of a parameter at eps = 1e-6.",
        **TENTH,
    ),
    *claim(
        "search",
        "The partition that cuts the least sum of ln(w/eps^(1/2)) is that into the planted modules.",
        lambda c: c.plain_agreement,
        near=1,
        inside=(0.8, 1),
        rank="headline",
        source=SOURCE + ".3, end",
        why="Of two equal modules one node in twenty that goes astray takes the index to .8; drawn at random it is 0.",
        where=rectified,
    ).and_corrected(
        "With each module's cut over its volume the search finds the planted modules at strengths up to ten times eps^(1/2).",
        quantity=lambda c: c.search_agreement,
        near=1,
        source=PAGE,
        where=lambda c: rectified(c) and c.p.strength <= MOST,
    ),
]


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
