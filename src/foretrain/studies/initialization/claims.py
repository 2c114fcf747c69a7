"""What Fig. 6 says of the scale of the initial weights, and whether it is so. Tolerances stand by their reasons."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, in_cell, judge
from foretrain.measures.representation import cross_domain_similarity
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.studies.initialization import study
from foretrain.studies.initialization.theory import kernel_of_seed
from foretrain.studies.trained_fraction import study as trained_fraction

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.3, "
OURS = "docs/studies/initialization.md"


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """All claims: some judge one scale, some look over all of them."""
    others = {name: values for name, values in runs.axes.items() if name != "init_scale"}
    if "init_scale" not in runs.axes:
        return judge_cells(lambda cell: _judge_scales(_as_grid(cell)), runs)
    claims = []
    for index in np.ndindex(tuple(len(values) for values in others.values())):
        at = {name: values[i] for (name, values), i in zip(others.items(), index, strict=True)}
        label = ", ".join(f"{name}={value}" for name, value in at.items())
        cell = LabelledRuns(
            study.Parameters(**{**vars(runs.parameters), **at}),
            {"init_scale": runs.axes["init_scale"]},
            runs.seeds,
            runs.root_seed,
            runs.simulation.sel(at),
            {name: data.sel(at) for name, data in runs.variants.items()},
            runs.theory.sel({k: v for k, v in at.items() if k in runs.theory.dims}),
        )
        claims += [in_cell(claim, label) for claim in _judge_scales(cell)]
    return claims


def _as_grid(cell: LabelledRuns) -> LabelledRuns:
    scale = cell.parameters.init_scale
    add = lambda data: data.drop_vars("init_scale", errors="ignore").expand_dims(init_scale=[scale])  # noqa: E731
    return LabelledRuns(
        cell.parameters,
        {"init_scale": (scale,)},
        cell.seeds,
        cell.root_seed,
        add(cell.simulation),
        {name: add(data) for name, data in cell.variants.items()},
        add(cell.theory),
    )


def _judge_scales(runs: LabelledRuns) -> list[Claim]:
    p = runs.parameters
    zero = trained_fraction.task(p).output_power / 2
    simulation = runs.simulation.sortby("init_scale").transpose("init_scale", "seed", ...)
    theory = runs.theory.sortby("init_scale").transpose("init_scale", "seed", ...)
    claims = [_trained(simulation, zero), *_ends(simulation, theory, zero)]
    if simulation.sizes["init_scale"] > 1:
        claims += [*_smooth(simulation, zero), _between(simulation, theory, zero)]
        claims += _lazy_end(runs)
    return claims


def _trained(simulation, zero) -> Claim:
    return judge(
        "trained",
        "Networks converge to zero training error for a range of initialisation scales.",
        PAPER + "Fig. 6a-b",
        (simulation["converged_loss"] / zero).max("init_scale").values,
        # One percent of the error of answering zero cannot be seen in the figure.
        (0, 0.01),
        predicted=0,
        note="Largest final training loss over all scales, in units of the error of answering zero.",
    )


def _ends(simulation, theory, zero) -> list[Claim]:
    small, large = simulation.isel(init_scale=0), simulation.isel(init_scale=-1)
    low, high = (float(data["init_scale"]) for data in (small, large))
    error = {
        scale: data["converged_untrained_error"] / zero
        for scale, data in ((low, small), (high, large))
    }
    within = {scale: _within(data) for scale, data in ((low, small), (high, large))}
    lazy = theory.isel(init_scale=-1)
    claims = [
        judge(
            "zero-shot",
            "Small initialisations generalise to untrained routes.",
            PAPER + "Fig. 6b",
            error[low].values,
            # One percent of the error of answering zero cannot be seen in the figure.
            (0, 0.01),
            predicted=0,
            note=f"Untrained error in units of that of answering zero, init_scale {low:g}.",
        ),
        judge(
            "shared",
            "Small initialisations lead to one common representation of an item in all domains.",
            PAPER + "Fig. 6c",
            within[low],
            # Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.
            (0.95, 1 + 1e-6),
            predicted=1,
            note=f"Mean cosine of first-layer activity for one item in two domains, init_scale {low:g}.",
        ),
        judge(
            "stage-like",
            "Small initialisations follow the reduction of the race, with its stage-like drops.",
            PAPER + "Fig. 6a",
            theory["rich_deviation"].isel(init_scale=0).values,
            # "A good approximation" in a figure: on average within 5% of its height.
            (0, 0.05),
            predicted=0,
            note=f"Mean |difference of loss| over its start, start of the reduction fitted, init_scale {low:g}.",
        ),
        judge(
            "stage-times",
            "The drops come when the closed form for wide random weights says, nothing fitted.",
            "docs/studies/pathway-race.md",
            theory["race_deviation"].isel(init_scale=0).values,
            # Overlaps vary by 1/8 in 64 units: drops that come that much early or late leave a tenth of the curve.
            (0, 0.1),
            predicted=0,
            note=f"Mean |difference of loss| over its start, init_scale {low:g}.",
        ),
    ]
    if high == low:
        return claims
    return [
        *claims,
        judge(
            "no-zero-shot",
            "Large initialisations do not generalise to untrained routes.",
            PAPER + "Fig. 6b, d",
            error[high].values,
            # Half of the error of answering zero is far from generalising on any reading of the figure.
            (0.5, np.inf),
            predicted=float((lazy["lazy_limit"] / zero).mean()),
            note=f"Untrained error in units of that of answering zero, init_scale {high:g}.",
        ),
        judge(
            "distinct",
            "Large initialisations leave a distinct random representation in every domain.",
            PAPER + "Fig. 6c",
            within[high],
            # Independent directions of 64 units have a mean cosine near 0; a fifth is what the colour scale can show.
            (-0.2, 0.2),
            predicted=0,
            note=f"Mean cosine of first-layer activity for one item in two domains, init_scale {high:g}.",
        ),
        judge(
            "connectivity-persists",
            "At large initialisations the random initial connectivity persists throughout learning.",
            PAPER + "Fig. 6c",
            large["weight_change"].sel(layer="encoders").values,
            # Weights that have moved by a quarter of their size still are the initial ones in the main.
            (0, 0.25),
            predicted=0,
            note=f"Change of the encoders over their initial size, init_scale {high:g}.",
        ),
        judge(
            "exponential",
            "At large initialisations the loss falls as that of the network linearised at its start.",
            PAPER + "Fig. 6a",
            theory["lazy_deviation"].isel(init_scale=-1).values,
            # The same as is asked of the reduction at the other end.
            (0, 0.05),
            predicted=0,
            note=f"Mean |difference of loss| over its start, nothing fitted, init_scale {high:g}.",
        ),
        judge(
            "lazy-untrained",
            "At large initialisations the untrained error is that of the network linearised at its start.",
            OURS,
            (large["converged_untrained_error"] / lazy["lazy_limit"]).values,
            # The linearisation leaves out terms of the order of the change of the weights, squared in the error.
            (0.8, 1.25),
            predicted=1,
            note=f"Measured over predicted, init_scale {high:g}.",
        ),
    ]


def _within(data: xr.Dataset) -> np.ndarray:
    within, _ = cross_domain_similarity(data["similarity"].values, items=4)
    return within


def _smooth(simulation, zero) -> list[Claim]:
    error = simulation["converged_untrained_error"].values / zero
    scale = np.log(simulation["init_scale"].values)
    slope = np.diff(np.log(error), axis=0) / np.diff(scale)[:, None]
    return [
        judge(
            "smooth",
            "The untrained error grows smoothly with the scale, near its sixth power for small ones: no sharp transition.",
            OURS,
            slope.max(0),
            # What the start leaves in the untrained routes is a product of three layers, sigma^3 in the map and sigma^6
            # in the error. A transition would need a far larger exponent somewhere; the tails of single seeds add some.
            (3, 9),
            predicted=6,
            note="Largest slope of log untrained error against log init_scale between neighbouring scales; smallest "
            f"{slope.min(0).mean():.1f}, over all scales "
            f"{(np.log(error[-1] / error[0]) / (scale[-1] - scale[0])).mean():.1f}.",
        )
    ]


def _between(simulation, theory, zero) -> Claim:
    scales, untrained = theory["init_scale"].values, simulation["converged_untrained_error"].values
    # A theory holds where its loss curve is within 5% and its untrained error, zero or that of the linearised network,
    # within what "no-zero-shot" and "lazy-untrained" ask.
    rich = (theory["rich_deviation"].values <= 0.05) & (untrained <= 0.01 * zero)
    limit = untrained / theory["lazy_limit"].values
    lazy = (theory["lazy_deviation"].values <= 0.05) & (limit > 0.8) & (limit < 1.25)
    holding = rich.cumprod(0).sum(0)
    until = np.where(holding > 0, scales[np.maximum(holding - 1, 0)], scales[0])
    from_top = lazy[::-1].cumprod(0).sum(0)
    # Where the lazy end is not reached the gap is wider than the grid, which is a measurement and not a failed seed.
    start = np.where(from_top > 0, scales[::-1][np.maximum(from_top - 1, 0)], 2 * scales[-1])
    rich_text, lazy_text = (_by_scale(theory[f"{name}_deviation"]) for name in ("rich", "lazy"))
    reached = "" if (from_top > 0).any() else ", not reached on this grid"
    return judge(
        "between",
        "Between the two ends lies a range of scales that neither theory describes.",
        OURS,
        start / until,
        # Any range at all.
        (1 + 1e-9, np.inf),
        note=f"Smallest scale where the linearised network holds{reached}, over the largest where the race holds "
        f"({np.median(until):g}), in loss curve and untrained error. Deviation of the loss by scale: reduction {rich_text}; "
        f"linearised {lazy_text}.",
    )


def _lazy_end(runs: LabelledRuns) -> list[Claim]:
    overrides = {k: v for k, v in study.variants(runs.parameters)["lazy"].items() if k != "seeds"}
    p = replace(runs.parameters, **overrides)
    data = runs.variants["lazy"].isel(init_scale=0)
    limits = [
        kernel_of_seed(p, runs.root_seed, seed).errors([np.inf], study.rate(p), p.init_scale)[1][0]
        for seed in data["seed"].values
    ]
    where = f"init_scale {p.init_scale:g}, hidden_width {p.hidden_width}"
    return [
        judge(
            "lazy-untrained.corrected",
            "With scale and width the untrained error becomes that of the network linearised at its start.",
            OURS,
            data["converged_untrained_error"].values / np.array(limits),
            # As for lazy-untrained.
            (0.8, 1.25),
            predicted=1,
            note=f"Measured over predicted, {where}.",
        ),
        judge(
            "connectivity-persists.corrected",
            "With scale and width the random initial connectivity persists throughout learning.",
            OURS,
            data["weight_change"].sel(layer="encoders").values,
            # As for connectivity-persists.
            (0, 0.25),
            predicted=0,
            note=f"Change of the encoders over their initial size, {where}.",
        ),
    ]


def _by_scale(deviation) -> str:
    mean = deviation.mean("seed")
    return ", ".join(
        f"{float(v):.3f} ({float(s):g})" for s, v in zip(mean["init_scale"], mean, strict=True)
    )
