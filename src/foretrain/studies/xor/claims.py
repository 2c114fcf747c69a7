"""What the paper says of exclusive-or, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim, exact, judge
from foretrain.measures.curve_deviation import mean_deviation
from foretrain.measures.gates import angle_clusters
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.xor import study
from foretrain.studies.xor import theory as xor_theory
from foretrain.studies.xor.gatings import SINGLE, closest
from foretrain.tasks.logic import xor as xor_data
from foretrain.theory.rectified_start import mean_rectified_start, sort_rectified_units

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/xor.md"
GATED_MEAN = 0.5  # of a_0 / (N_h sigma_0^2) over starts of the gated network


def judge_cell(runs: LabelledRuns) -> list[Claim]:
    """All claims of one cell of the grid."""
    claims = [_decoupled(runs), _closed_form(runs), *_gated(runs)]
    if runs.parameters.network == "relu":
        claims = [*_tracks(runs), *_types(runs), *claims, *_gates(runs)]
    return claims


def _tracks(runs: LabelledRuns) -> list[Claim]:
    p, loss = runs.parameters, runs.simulation["loss"].transpose("seed", "step").values
    fitted = runs.theory["fitted_closed_form_loss"].transpose("seed", "step").values
    derived = runs.theory["loss"].transpose("seed", "step").values
    scale = p.hidden_width * p.init_scale**2
    starts = runs.theory["fitted_descent_strength"].values / scale
    closed = runs.theory["fitted_strength"].values / scale
    closed = closed[np.isfinite(closed)]
    fit = (
        closed.size
        and f"Fitted a_0 = ({closed.mean():.3f} ± {closed.std():.3f}) N_h sigma_0^2 (mean ± SD)."
    )
    mean = mean_rectified_start()
    agree = starts * scale / runs.theory["derived_descent_strength"].values
    return [
        judge(
            "relu-tracks-closed-form",
            "A ReLU network from small weights follows the closed form of four gated pathways, with one fitted a_0.",
            PAPER + "eqs. (21)-(23), Fig. 3c",
            mean_deviation(loss, fitted),
            # The curves of the paper's figure lie on each other within its line width, a hundredth of its height.
            (0, 0.01),
            predicted=0,
            note="Mean |difference of loss| over the run, over its start. "
            + (fit or "Every run diverged."),
        ),
        judge(
            "relu-start",
            "The fitted a_0 of the ReLU network is what small rectified units bring to each pathway, "
            f"about {mean:.3f} N_h sigma_0^2.",
            OURS,
            starts,
            # One number is fitted for four pathways, each the sum over N_h/4 = 32 units of a square with relative SD
            # 1.2: each scatters by 21%, and one number for all lies below their mean by about half of that squared.
            # Twice that, with the standard error of ten seeds of 21%/2.
            (mean * 0.8, mean * 1.1),
            predicted=mean,
            note="a_0 / (N_h sigma_0^2), fitted by descent of the reduction at the run's own step.",
        ),
        judge(
            "relu-start-derived",
            "The start derived from a network's own initial weights is the one its loss curve shows.",
            OURS,
            agree,
            # Both are fits of one number to a whole curve, by the same procedure; turning at a finite step and the
            # flicker at borders move it by a learning rate's worth, a few percent.
            (0.95, 1.05),
            predicted=1,
            note="a_0 fitted to the measured loss over a_0 fitted to the loss predicted from the initial weights.",
        ),
        judge(
            "relu-unfitted",
            "The loss of a ReLU network is predicted from its initial weights, with nothing fitted.",
            OURS,
            mean_deviation(loss, derived),
            (0, 0.01),  # as for the fitted curve
            predicted=0,
            note="Mean |difference of loss| over the run, over its start; four pathways of their own a_0.",
        ),
    ]


def _types(runs: LabelledRuns) -> list[Claim]:
    p, data = runs.parameters, xor_data(1)
    counts, offsets, foreseen = [], [], []
    for seed in range(runs.seeds):
        weights = runs.simulation["input_weights"].isel(seed=seed).transpose("unit", "input").values
        if not np.isfinite(weights).all():
            for samples in (counts, offsets, foreseen):
                samples.append(np.nan)
            continue
        _, centres = angle_clusters(weights)
        counts.append(len(centres))
        offsets.append(np.abs((centres - 45 + 45) % 90 - 45).max())
        start = study.start_weights(p, runs.root_seed, seed)
        examples, _ = sort_rectified_units(start["in1"], start["out1"][0])
        sorted_to = data.inputs["x"][(weights @ data.inputs["x"].T).argmax(1)]
        foreseen.append((sorted_to == examples).all(1).mean())
    return [
        judge(
            "cell-types",
            "The hidden units of the ReLU network fall into four functional cell types.",
            PAPER + "Fig. 3a",
            counts,
            (4, 4),  # a count: nothing but four is four
            predicted=4,
            note="Groups of input weights by direction, parted by more than 45 degrees.",
        ),
        judge(
            "cell-directions",
            "The input weights of each type point to one of the four examples.",
            PAPER + "Fig. 3a",
            offsets,
            # A tenth of the 45 degrees that no direction can exceed.
            (0, 4.5),
            predicted=0,
            unit="degree",
            note="Largest angle between a type's mean direction and the nearest example.",
        ),
        judge(
            "cell-types-foreseen",
            "Which example a unit comes to answer is decided by its initial weights.",
            OURS,
            foreseen,
            # Units on the edge between two fates may be turned by the finite step: one in a hundred.
            (0.99, 1),
            predicted=1,
            note="Fraction of units whose type is the one derived from the initial weights.",
        ),
    ]


def _decoupled(runs: LabelledRuns) -> Claim:
    p, run = runs.parameters, runs.variants["decoupled"].isel(seed=0)
    start = np.full(4, study.decoupled_strength(p) ** 2)
    predicted = xor_theory.descend(start, p.learning_rate, p.steps, p.observe_every)
    measured = run["example_strength"].transpose("step", "example").values
    with np.errstate(invalid="ignore"):  # a run that diverged deviates by nan, which fails
        deviation = np.abs(measured - predicted[: len(measured)]).max() * np.sqrt(2)
    return exact(
        "decoupled",
        "From decoupled weights, descent of the gated network is Euler of the reduction, step by step.",
        PAPER + "eq. (10)",
        deviation,
        # The same arithmetic in float64 in another order; growth by e^14 amplifies rounding in proportion only.
        1e-12,
        seeds=1,
        note="Largest deviation of a(t) over all steps and examples, over its end.",
    )


def _closed_form(runs: LabelledRuns) -> Claim:
    measured = runs.variants["decoupled-flow"].isel(seed=0)["loss"].values
    theory = runs.theory["closed_form_loss"].values
    return exact(
        "closed-form",
        "The loss of four decoupled pathways under gradient flow is eqs. (21)-(23).",
        PAPER + "eqs. (21)-(23), Fig. 3c",
        float(np.abs(measured - theory[: len(measured)]).max() / theory[0]),
        # A solver of fifth order at rate x step of 0.01 errs by less than 1e-12 a step, over 10^4 steps.
        1e-8,
        seeds=1,
        note="Largest difference of loss over its start.",
    )


def _gated(runs: LabelledRuns) -> list[Claim]:
    p, fits = runs.parameters, xor_theory.Fits(runs.parameters)
    loss = runs.variants["gated"]["loss"].transpose("seed", "step").values
    predicted = runs.theory["gated_loss"].transpose("seed", "step").values
    starts = [fits.best(fits.descent, curve) for curve in loss]
    return [
        judge(
            "gated-start",
            "The a_0 of the gated network is N_h sigma_0^2 / 2 in the mean.",
            "docs/theory/gated-networks.md",
            np.array(starts) / (p.hidden_width * p.init_scale**2),
            # Each pathway's a_0 is a sum of N_h = 128 squares: it scatters by 12.5%, the mean over ten seeds by 2%.
            (GATED_MEAN * 0.9, GATED_MEAN * 1.1),
            predicted=GATED_MEAN,
            note="a_0 / (N_h sigma_0^2), one number fitted per seed by descent of the reduction.",
        ),
        judge(
            "gated-unfitted",
            "The loss of the gated network is predicted from its initial weights, with nothing fitted.",
            "docs/theory/gated-networks.md",
            mean_deviation(loss, predicted),
            (0, 0.01),  # as for the ReLU network
            predicted=0,
            note="Mean |difference of loss| over the run, over its start.",
        ),
    ]


def _gates(runs: LabelledRuns) -> list[Claim]:
    table = runs.theory[["gating_time", "gating_final_loss", "gating_consistent"]]
    # Least squares in float64 reach zero to rounding.
    solving = table.isel(gating=np.flatnonzero(table["gating_final_loss"].values < 1e-12))
    times = solving["gating_time"].to_series()
    # Gatings that are mirror images of each other are equally fast but for rounding.
    fastest = list(times.index[times < times.min() * (1 + 1e-6)])
    allowed = times[solving["gating_consistent"].values.astype(bool)]
    consistent = list(allowed.index[allowed < allowed.min() * (1 + 1e-6)])
    found = runs.theory["gating_agreement"].transpose("seed", "gating")
    chosen = [closest(one) if np.isfinite(one).all() else None for one in found.values]
    among = lambda names: [np.nan if one is None else float(one in names) for one in chosen]  # noqa: E731
    agreements = found.sel(gating=SINGLE).values
    note = (
        f"{len(times)} of 15 gatings reach zero loss; predicted times {times.min():.1f} (fastest) to "
        f"{times.max():.1f}, one pathway per example {times[SINGLE]:.1f}."
    )
    return [
        judge(
            "gates-one-per-example",
            "The gates of the trained ReLU units are those of one pathway per example.",
            PAPER + "section 3, Fig. 3",
            agreements,
            # Every unit answers four examples: the smallest disagreement of one unit is a quarter. One unit in 25.
            (0.99, 1),
            predicted=1,
            note="Agreement of unit gates with the gating, weighted by each unit's part in the answer.",
        ),
        judge(
            "gates-fastest",
            "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
            PAPER + "section 4.2 on who wins a race, taken to ReLU gates",
            among(fastest),
            (0.95, 1),  # every seed, but for one in twenty
            predicted=1,
            note=f"{note} Fraction of seeds whose gates are closest to those of the fastest, {' or '.join(fastest)}.",
        ),
        judge(
            "gates-fastest.corrected",
            "It finds the fastest of those that are self-consistent: rectified units along the weights that each "
            "pathway learns open just where the pathway does.",
            OURS,
            among(consistent),
            (0.95, 1),
            predicted=1,
            note=f"{len(allowed)} of the {len(times)} are self-consistent, the fastest: {'; '.join(consistent)}.",
        ),
    ]
