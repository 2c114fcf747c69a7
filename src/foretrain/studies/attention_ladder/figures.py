"""Figures of the study ``attention-ladder``: the loss comes down its levels, when, and from which start."""

from foretrain.study import figure, panel
from foretrain.theory import attention_ladder as theory

from .claims import fall_time
from .study import eigenvalues


def stair(c):
    """Return the level that each run is told to have come down to, at every stored step."""
    drops = (c.theory.drop_time <= c.loss["step"]).sum("mode")
    return drops.copy(data=theory.levels(eigenvalues(c.p), c.p.context)[drops.values])


FIGURES = {
    "ladder": figure(
        "The loss comes down a ladder that is told beforehand",
        "Loss of three runs against time, which is logarithmic; dashed, the stair told from each run's initial weights, of "
        "levels that the spectrum of the inputs tells. Nothing is fitted.",
        panel(lambda c: c.loss, theory=stair, by="seed", across="heads", most=3, scale="semilogx"),
        legend=4,
    ),
    "falls": figure(
        "How long the loss falls",
        "Steps from the first level to the last, mean over seeds: of separate heads they go as the inverse of the scale of "
        "the start, dashed as told from the initial weights; of merged ones they are the same.",
        panel(
            lambda c: fall_time(c.simulation),
            of={"separate heads": "", "merged heads": "merged"},
            theory=lambda c: fall_time(c.theory),
            label="Steps between levels",
            x="init_scale",
            scale="loglog",
        ),
    ),
}
