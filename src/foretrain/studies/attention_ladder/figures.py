"""Figures of the study ``attention-ladder``: the loss comes down its levels, when, and from which start."""

from foretrain.study import figure, panel
from foretrain.theory import attention_ladder as theory

from .claims import fall_time
from .study import eigenvalues


def stair(c):
    """Return the level that each run is told to have come down to, at every stored step."""
    ladder = theory.levels(eigenvalues(c.p), c.p.context)
    drops = (c.theory.drop_time <= c.loss["step"] * c.p.learning_rate).sum("mode")
    return drops.copy(data=ladder[drops.values])


def falls(times):
    names = "first fall", "second fall"
    return {name: lambda c, m=m: times(c).isel(mode=m) for m, name in enumerate(names)}


OVER_SCALES = {"x": "init_scale", "scale": "loglog", "statistic": "median"}
TIMES = {"separate heads": "", "merged heads": "merged"}
FIGURES = {
    "ladder": figure(
        "The loss comes down a ladder that is told beforehand",
        "Loss of three runs against time, which is logarithmic; dashed, the stair told from each run's initial weights, of "
        "levels that the spectrum of the inputs tells. Nothing is fitted.",
        panel(lambda c: c.loss, theory=stair, by="seed", across="heads", most=3, scale="semilogx"),
        legend=4,
    ),
    "falls": figure(
        "When the loss falls, and for how long",
        "Left: times of two falls, median over seeds; dashed, told from the initial weights. Right: time from the first level "
        "to the last: of separate heads it goes as the inverse of the scale of the start, of merged ones it is the same.",
        panel(
            falls(lambda c: c.drop_time),
            theory=falls(lambda c: c.theory.drop_time.median("seed")),
            label="Time of the fall",
            **OVER_SCALES,
        ),
        panel(
            lambda c: fall_time(c.simulation),
            of=TIMES,
            theory=False,
            label="Time between levels",
            **OVER_SCALES,
        ),
        height=4.4,
    ),
}
