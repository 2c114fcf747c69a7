"""Figures of the study ``attention-ladder``: the loss comes down its levels, when, and from which start."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import INK, panels, shades, simulation_line, theory_line
from foretrain.study import TIME_UNIT, drawn, figure, panel

from .claims import fall_time

DRAWN = 3  # seeds


def draw_ladder(grid):
    part, where = grid.first(("heads",))
    if "drop_time" not in part.theory:
        return None
    values = part.values("heads")
    picture, axes = panels(1, len(values[:2]), height=3.8, squeeze=False)
    for place, (heads, ax) in enumerate(zip(values[:2], np.ravel(axes), strict=True)):
        runs, theory = (data.isel(heads=place) for data in (part.simulation, part.theory))
        for level in theory["level"].isel(seed=0).values:
            ax.axhline(level, color=INK, linewidth=0.5, alpha=0.4)
        rate = part.parameters.learning_rate
        for seed, colour in enumerate(shades(min(DRAWN, runs.sizes["seed"]))):
            run, ladder = runs.isel(seed=seed), theory.isel(seed=seed)
            ax.plot(run["step"] * rate, run["loss"], **simulation_line(colour))
            known = np.isfinite(ladder["drop_time"].values)
            times, levels = (ladder[name].values[known] for name in ("drop_time", "level"))
            levels = np.concatenate([[1.0], levels, levels[-1:]])
            times = np.concatenate([[1.0], times, [rate * float(run["step"][-1])]])
            ax.step(
                times,
                levels,
                where="post",
                **theory_line(colour, label=None if seed else "predicted"),
            )
        ax.set(xscale="log", title=f"{heads} heads", ylabel="Loss", xlabel=f"Time ({TIME_UNIT})")
        ax.set_xlim(float(theory["drop_time"].min()) / 5, None)
    return finished(
        picture,
        "The loss comes down a ladder that is told beforehand",
        "Loss of three runs against time, which is logarithmic. Thin lines: the levels that the spectrum of the inputs tells; "
        f"dashed: the stair told from each run's initial weights. Nothing is fitted.{where}",
        3,
    )


def fall(mode):
    return lambda c: c.drop_time.isel(mode=mode)


def told_fall(mode):
    return lambda c: c.theory.drop_time.isel(mode=mode).median("seed")


OVER_SCALES = {"x": "init_scale", "scale": "loglog", "statistic": "median"}
FIGURES = {
    "ladder": drawn(draw_ladder),
    "falls": figure(
        "When the loss falls, and for how long",
        "Left: times of two falls, median over seeds; dashed, told from the initial weights. Right: time from the first level "
        "to the last: of separate heads it goes as the inverse of the scale of the start, of merged ones it is the same.",
        panel(
            {"first fall": fall(0), "second fall": fall(1)},
            theory={"first fall": told_fall(0), "second fall": told_fall(1)},
            label="Time of the fall",
            **OVER_SCALES,
        ),
        panel(
            {
                "separate heads": lambda c: fall_time(c.simulation),
                "merged heads": lambda c: fall_time(c["merged"]),
            },
            theory=False,
            label="Time between levels",
            **OVER_SCALES,
        ),
        height=4.4,
    ),
}
