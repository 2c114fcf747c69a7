"""Figures of ``s-curves``: losses of every optimizer and of both kinds, and factors within the span of the target."""

from foretrain.study import figure, panel, skip_if

from .claims import first

# The steps in which descent at the reference rate learns a target of rank one, and some more.
EARLY = {"x": "step", "xlim": lambda c: (0, min(c.p.steps, 120))}
LOSS = {**EARLY, "label": "Relative loss", "ylim": (0, 1.6)}
FLOW = {"theory": lambda c: c.theory.flow_loss, "theory_label": "flow from their starts"}
SPLIT = {"in the target's span": "inside", "outside of it": "outside"}


def below_full(c, name):
    skip_if(c.p.rank >= c.p.dimension, "at full rank nothing is outside")
    return first(c.simulation, name)


FIGURES = {
    "optimizers": figure(
        "Loss while learning",
        "Training loss over that of the zero matrix, for every rank; dashed, for descent, what sixty starts predict.",
        panel(lambda c: c.relative_loss, by="rank", across="optimizer", **LOSS, **FLOW),
        columns=2,
        height=7,
        sharey=True,
        legend=3,
    ),
    "cross-entropy": figure(
        "Cross-entropy and squared error",
        "Training loss of descent over that of the zero matrix, for the squared error and for cross-entropy of small "
        "logits, a panel for every rank; dashed, what the starts of the first sixty seeds predict of both.",
        panel(lambda c: c.relative_loss, by="loss_function", across="rank", **LOSS, **FLOW),
        columns=2,
        height=7,
        sharey=True,
    ),
    "split": figure(
        "Inside and outside of the target's span",
        "Squared length of both factors in the target's span and outside of it, over twice the sum of its singular values, "
        "first sixty seeds; dashed, the flow from their starts. At full rank nothing is outside.",
        panel(
            {label: lambda c, name=name: below_full(c, name) for label, name in SPLIT.items()},
            across="rank",
            theory={label: lambda c, n=n: c.theory[f"flow_{n}"] for label, n in SPLIT.items()},
            theory_label="flow from their starts",
            label="Squared length",
            **EARLY,
        ),
        sharey=True,
    ),
}
