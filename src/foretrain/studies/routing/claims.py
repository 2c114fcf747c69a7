"""What the paper says of the routing network, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, exact, judge
from foretrain.measures.learning_time import crossing_time, half_learning_times
from foretrain.measures.representation import cross_domain_similarity
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.routing import study
from foretrain.theory.pathway_race import hidden_weight_at, routing_factors

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/theory/routing.md"


def judge_cell(runs: LabelledRuns) -> list[Claim]:
    """All claims of one cell of the grid."""
    p = runs.parameters
    diagonal = p.data == "hierarchy" or (p.scaling == "whitened" and p.transform == "permutation")
    claims = [_decoupled(runs)] if diagonal else []
    claims += [*_fitted_start(runs), _conserved(runs), *_order(runs), _zero_shot(runs)]
    if p.data == "hierarchy":
        claims += [*_ratio(runs), _end_point(runs), *_shared(runs), _submanifold(runs)]
    return claims


def _decoupled(runs: LabelledRuns) -> Claim:
    simulated, theory = runs.variants["decoupled"].isel(seed=0), _first(runs.theory)
    layers = _relative(simulated["singular_values"], theory["singular_values"])
    loss = _relative(simulated["loss"], theory["loss"])
    # Both do the same arithmetic in float64 in another order; after thousands of steps rounding stays below 1e-12.
    # Whitening digits loses more, since it divides by variances down to 1e-10 of the largest.
    tolerance = 1e-12 if runs.parameters.data == "hierarchy" else 1e-8
    return exact(
        "decoupled",
        "From decoupled weights, descent of the full network is Euler of the reduction, step by step.",
        PAPER + "eqs. (13)-(14), Fig. 4e",
        max(layers, loss),
        tolerance,
        seeds=1,
        note="Largest deviation of loss and singular values over all steps, relative to their largest value.",
    )


def _fitted_start(runs: LabelledRuns) -> list[Claim]:
    p, samples, times = runs.parameters, [], []
    for seed in range(runs.seeds):
        run, theory = runs.simulation.isel(seed=seed), runs.theory.isel(seed=seed)
        loss, predicted = run["loss"].values, theory["fitted_loss"].values[: run.sizes["step"]]
        drop = loss[0] - np.nanmin(loss)
        # The flat end would dilute the mean: judged until 99% of what can be learned is learned.
        learning = loss > np.nanmin(loss) + 0.01 * drop
        samples.append(np.abs(predicted - loss)[learning].mean() / drop)
        times.append(_half_time_error(run, theory))
    starts = runs.theory["fitted_start"].values
    start = f"{np.nanmean(starts):.3g} ± {np.nanstd(starts):.1g}"
    claims = [
        judge(
            "random-start",
            "Small random starts follow the reduction from a fitted effective start.",
            PAPER + "section 4, Fig. 4e",
            samples,
            # "A good approximation" in a figure: on average within 5% of its height.
            (0, 0.05),
            predicted=0,
            note=f"Mean |difference of loss| over the drop of the loss. Fitted start {start} (mean ± SD), "
            f"init_scale {p.init_scale:g}.",
        )
    ]
    if p.data == "digits":
        claims.append(
            judge(
                f"half-times-{p.scaling}",
                f"On {p.scaling} digits the reduction predicts when each mode is half learned.",
                PAPER + "section 3.1, applied to " + OURS,
                [error for error, _ in times],
                # One start is fitted for all modes, but each mode's overlap with the initial weights is its own draw:
                # at hidden width 64 it varies by 1/8, and the learning time of three layers with its inverse. Twice
                # that for a pair of layers.
                (0, 0.25),
                predicted=0,
                note="Mean over modes of |measured / predicted - 1|, with the fitted start; of "
                f"{runs.simulation.sizes['mode']} modes {np.mean([n for _, n in times]):.1f} were learned.",
            )
        )
    return claims


def _half_time_error(run: xr.Dataset, theory: xr.Dataset) -> tuple[float, int]:
    """Mean relative error over modes of the predicted half-learning time, and how many modes were learned."""
    strengths, optimum = run["mode_strength"].values, run["mode_optimum"].values
    measured = half_learning_times(run["time"].values, strengths, optimum)
    s, d = theory["mode_singular_value"].values, theory["mode_variance"].values
    predicted = half_learning_times(
        theory["time"].values, theory["fitted_mode_strength"].values, s / d
    )
    learned, foreseen = np.isfinite(measured), np.isfinite(predicted) & (predicted > 0)
    # A mode that is learned in one and never in the other is off by at least its whole time.
    ratio = measured / np.where(foreseen, predicted, np.nan)
    error = np.where(learned & foreseen, np.abs(ratio - 1), 1.0)
    judged = error[learned | foreseen]
    return float(judged.mean()) if judged.size else np.nan, int(learned.sum())


def _conserved(runs: LabelledRuns) -> Claim:
    drift = runs.variants["flow"]["conserved_drift"]
    return exact(
        "conserved",
        "Gradient flow conserves Q at both hidden layers: incoming minus outgoing weight covariance.",
        OURS,
        # A diverged run is no conservation: its nan must not be skipped.
        float(drift.max(skipna=False)) if drift.size else np.nan,
        # A solver of fifth order with the step of descent; its own error per unit of time is of order 1e-8.
        1e-6,
        seeds=drift.sizes["seed"],
        note="Largest |Q(t) - Q(0)| over the squared norm of the hidden matrix, random starts, float64.",
    )


def _order(runs: LabelledRuns) -> list[Claim]:
    data, p = runs.simulation, runs.parameters
    times = half_learning_times(
        data["time"].values, data["mode_strength"].values, data["mode_optimum"].values
    )
    strengths = data["mode_singular_value"].values
    # Singular values within 10% of each other are not told apart by a random start.
    larger = strengths[:, :, None] > 1.1 * strengths[:, None, :]
    first = np.where(np.isnan(times), np.inf, times)
    earlier = first[:, :, None] < first[:, None, :]
    fraction = (earlier & larger).sum((1, 2)) / np.maximum(larger.sum((1, 2)), 1)
    singular = data["singular_values"]
    last = at_end(singular) - singular.isel(step=0, drop=True)
    growth = (last.sel(layer="hidden") / last.sel(layer="encoders")).isel(mode=0)
    return [
        judge(
            "larger-first",
            "Modes with larger singular values are learned first.",
            PAPER + "section 3.1",
            fraction,
            # A clear tendency, allowing one pair in twenty to be swapped by the random start.
            (0.95, 1),
            predicted=1,
            note="Fraction of pairs of modes, at least 10% apart, half learned in that order.",
        ),
        judge(
            "more-paths-faster",
            "An edge on more trained paths grows faster: the hidden matrix more than an encoder.",
            PAPER + "section 4",
            growth.values,
            # The sentence is "faster": any factor above one.
            (1, np.inf),
            predicted=np.sqrt(p.domains),
            note="Growth of the first singular value of the hidden matrix over that of an encoder.",
        ),
    ]


def _zero_shot(runs: LabelledRuns) -> Claim:
    data, p = runs.simulation, runs.parameters
    end = at_end(data[["loss", "untrained_error"]])
    power = study.task(p, runs.root_seed, 0).output_power / 2
    return judge(
        "zero-shot",
        "Routes that were never trained are as good as those that were.",
        PAPER + "section 4.1, Fig. 4h",
        ((end["untrained_error"] - end["loss"]) / power).values,
        # "Perfectly": one percent of the error of answering zero cannot be seen in the paper's figure.
        (-np.inf, 0.01),
        predicted=0,
        note="Error on untrained minus error on trained routes, over the error of answering zero"
        + (" (no route is untrained here)." if p.trained_outputs == p.domains else "."),
    )


def _initial_power(p: study.Parameters) -> tuple[float, float]:
    """Mean of |W v|^2 over starts, for an encoder and for the hidden matrix, per unit vector v."""
    inputs = 4
    if p.init_law == "gaussian":
        return p.init_scale**2 * p.hidden_width, p.init_scale**2 * p.hidden_width
    if p.init_law == "xavier":
        return p.init_scale**2 * 2 * p.hidden_width / (p.hidden_width + inputs), p.init_scale**2
    return p.init_scale**2, p.init_scale**2


def _ratio(runs: LabelledRuns) -> list[Claim]:
    p = runs.parameters
    end = at_end(runs.simulation["singular_values"])
    encoders, hidden = end.sel(layer="encoders"), end.sel(layer="hidden")
    encoder_power, hidden_power = _initial_power(p)
    conserved = p.domains * encoder_power - hidden_power
    ratio = hidden / encoders
    corrected = ratio / np.sqrt(p.domains - conserved / encoders**2)
    # What the start leaves of directions it does not share with the learned ones: init_scale^2 over the squared final
    # strength of the weakest mode, twice for two layers.
    slack = 2 * hidden_power / float((hidden**2).min())
    return [
        judge(
            "ratio",
            "Singular values of the hidden matrix are sqrt(M) times those of encoders and decoders.",
            PAPER + "eqs. (49)-(51), Fig. 4f",
            (ratio / np.sqrt(p.domains)).mean("mode").values,
            # The paper calls it a factor for long training; 5% is what its figure can show.
            (0.95, 1.05),
            predicted=1,
            note="Mean over modes of the measured ratio over sqrt(M).",
        ),
        judge(
            "ratio.corrected",
            "The ratio is sqrt(M - C / B1^2) at all times, with C the conserved quantity of the start.",
            OURS,
            corrected.mean("mode").values,
            (1 - slack, 1 + slack),
            predicted=1,
            note="Mean over modes of the measured ratio over the exact one.",
        ),
    ]


def _end_point(runs: LabelledRuns) -> Claim:
    p, data = runs.parameters, runs.simulation
    encoder_power, hidden_power = _initial_power(p)
    s, d = (data[name].isel(seed=0).values for name in ("mode_singular_value", "mode_variance"))
    conserved = p.domains * encoder_power - hidden_power
    predicted = hidden_weight_at(s / d, conserved, routing_factors(p.domains))
    hidden = at_end(data["singular_values"]).sel(layer="hidden")
    return judge(
        "end-point",
        "Final singular values of the hidden matrix are the roots of B2 (B2^2 + C) = M S / D.",
        OURS,
        np.abs(hidden.values / predicted - 1).max(-1),
        # As for the ratio: the share of the start in the weakest mode's squared strength, here about half a percent;
        # 2% leaves room for the spread of its overlap over seeds.
        (0, 0.02),
        predicted=0,
        note="Largest relative deviation over modes.",
    )


def _shared(runs: LabelledRuns) -> list[Claim]:
    data, theory = runs.simulation, _first(runs.theory)
    within, between = cross_domain_similarity(data["similarity"].values, items=4)
    task = study.task(runs.parameters, runs.root_seed, 0)
    b1 = theory["singular_values"].sel(layer="encoders").isel(step=-1).values
    kernel = (task.input_modes[0] * b1**2) @ task.input_modes[0].T
    _, expected = cross_domain_similarity(np.tile(kernel, (2, 2)), items=4)
    return [
        judge(
            "shared",
            "Each item has the same representation in whatever domain it arrives.",
            PAPER + "section 4.1, Fig. 4g",
            within,
            # Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.
            (0.95, np.inf),
            predicted=1,
            note="Mean cosine between first-hidden-layer activity for the same item in different domains.",
        ),
        judge(
            "shared-structure",
            "Different items are as alike across domains as the reduction's V B1^2 V^T says.",
            OURS,
            between,
            # A cosine within .05 of its prediction, as for the same item.
            (expected - 0.05, expected + 0.05),
            predicted=expected,
            note="Mean cosine between first-hidden-layer activity for different items in different domains.",
        ),
    ]


def _submanifold(runs: LabelledRuns) -> Claim:
    data = runs.simulation
    time, mass = data["time"].values, data["off_diagonal_mass"].values
    loss = data["loss"].values
    halved = crossing_time(time, -loss, -(loss[:, 0] + loss[:, -1]) / 2)
    samples = [np.interp(t, time, m) for t, m in zip(halved, mass, strict=True)]
    return judge(
        "submanifold",
        "From small random weights the network comes rapidly to the submanifold of decoupled weights.",
        PAPER + "section 4.2",
        samples,
        # Off-diagonal mass starts above 0.8; five percent left when half of the loss is learned is "rapidly".
        (0, 0.05),
        predicted=0,
        note=f"Off-diagonal share of the whole map when the loss has halved; {mass[:, 0].mean():.2f} at the start.",
    )


def _first(theory: xr.Dataset) -> xr.Dataset:
    return theory.isel(seed=0) if "seed" in theory.dims else theory


def _relative(measured: xr.DataArray, predicted: xr.DataArray) -> float:
    gap = np.abs(measured.values - predicted.transpose(*measured.dims).values)
    return float(gap.max() / np.abs(predicted.values).max())
