"""What section 4.2 says of the race, and whether it is so. Tolerances stand beside their reasons."""

import dataclasses

import numpy as np

from foretrain.claims.claim import Claim, exact, judge
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.studies.pathway_race import study
from foretrain.studies.pathway_race import theory as theory_of

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.2, "
OURS = "docs/studies/pathway-race.md"


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """Claims over all P first, then those of every cell."""
    return [*_over_paths(runs), *judge_cells(_judge_cell, runs)]


def _over_paths(runs: LabelledRuns) -> list[Claim]:
    if list(runs.axes) != ["paths"]:  # along further axes every cell still is judged by itself
        return []
    theory = runs.theory.sortby("paths")
    times = theory["measured_half_time"].isel(mode=0).transpose("seed", "paths").values
    paths = theory["paths"].values
    faster = np.diff(times, axis=1) < 0
    ordered = np.where(np.isfinite(times).all(1), faster.mean(1), np.nan)
    measured = times[:, 0] / times[:, -1]
    span = f"P = {paths[0]} over P = {paths[-1]}"
    claims = [
        judge(
            "sharing-faster",
            "Networks that share more structure learn faster.",
            PAPER + "Fig. 5b",
            ordered,
            # "Reliably": without exception.
            (1, 1),
            predicted=1,
            note="Fraction of neighbouring P, mode 1, of which the larger is half learned first.",
        )
    ]
    kinds = [
        (
            "speed-up",
            "The speed-up by sharing is that of the reduction from equal starts.",
            PAPER + "eqs. (16)-(17), Fig. 5b",
            "equal_start_half_time",
            "The effective equal start is not the same for all P",
        )
    ]
    if not runs.parameters.shared_encoders:
        kinds.append(
            (
                "speed-up.corrected",
                "From random weights half-learning times go as P^(-1/2): the starts' overlap falls with P.",
                OURS,
                "half_learning_time",
                "Effective equal start over init_scale",
            )
        )
    overlap = theory["effective_overlap"].transpose("seed", "paths")
    text = ", ".join(
        f"{m:.2f} (P = {p})" for p, m in zip(paths, np.nanmean(overlap, axis=0), strict=True)
    )
    for id, statement, source, name, words in kinds:
        first = theory[name].isel(mode=0).values
        predicted = float(first[0] / first[-1])
        claims.append(
            judge(
                id,
                statement,
                source,
                measured,
                # A quantity of a random start in 64 units: overlaps vary by 1/8, twice that for two networks.
                (0.75 * predicted, 1.25 * predicted),
                predicted=predicted,
                note=f"Half-learning time of mode 1, {span}. {words}: {text}.",
            )
        )
    return claims


def _judge_cell(runs: LabelledRuns) -> list[Claim]:
    p = runs.parameters
    claims = [_decoupled(runs), *_ratios(runs)]
    if not p.shared_encoders:
        claims = [_half_time(runs), *claims]
    if not (p.shared_encoders or p.against_full_sharing):
        claims += _mixed(runs)
    return claims


def _decoupled(runs: LabelledRuns) -> Claim:
    run = runs.variants["decoupled"].isel(seed=0)
    overrides = {
        k: v for k, v in study.variants(runs.parameters)["decoupled"].items() if k != "seeds"
    }
    p = dataclasses.replace(runs.parameters, **overrides)
    expected = theory_of.decoupled_run(p, p.steps)
    kept = run["step"].values[np.isfinite(run["loss"].values)]
    measured = run["part_strength"].sel(step=kept).transpose("step", "part", "mode").values
    deviation = np.abs(measured - expected[kept]).max() / np.abs(expected).max()
    return exact(
        "decoupled",
        "From decoupled weights, descent of the modular network is Euler of the reduction, step by step.",
        PAPER + "eqs. (16)-(17)",
        deviation if kept.size > 1 else np.nan,
        # Both do the same arithmetic in float64 in another order; over hundreds of steps rounding stays below 1e-12.
        1e-12,
        seeds=1,
        note="Largest deviation of mode strengths over all steps, relative to the largest strength.",
    )


def _half_time(runs: LabelledRuns) -> Claim:
    predicted = float(runs.theory["half_learning_time"].isel(mode=0))
    measured = runs.theory["measured_half_time"].isel(mode=0).values
    return judge(
        "half-time",
        "From wide random weights the first mode is half learned when the closed form says, nothing fitted.",
        OURS,
        measured,
        # The closed form is the limit of many hidden units: overlaps left out are of order 1/8 for 64.
        (0.85 * predicted, 1.15 * predicted),
        predicted=predicted,
        unit="step × learning rate",
        note=f"From equal starts at init_scale it would be {float(runs.theory['equal_start_half_time'][0]):.4g}.",
    )


def _ratios(runs: LabelledRuns) -> list[Claim]:
    p = runs.parameters
    kinds = [("ratio", runs.simulation, study.part_factors(p)[0].ratio)]
    if not p.shared_encoders:
        shared = dataclasses.replace(p, shared_encoders=True)
        kinds.append(
            (
                "ratio-shared-encoders",
                runs.variants["shared-encoders"],
                study.part_factors(shared)[0].ratio,
            )
        )
    claims = []
    for id, data, ratio in kinds:
        law = "(P/M)^(1/2)" if "shared" in id or p.shared_encoders else "P^(1/4)"
        measured = data["weight_ratio"].isel(part=0, mode=0) / np.sqrt(ratio)
        claims.append(
            judge(
                id,
                f"The hidden strength B2 tends to {law} times B1.",
                PAPER + "eqs. (16)-(17)",
                measured.values,
                # A limit of long growth: what the start leaves is sigma^2/B1^2 of it, at most 2% here for mode 1, and
                # two strengths enter.
                (0.95, 1.05),
                predicted=1,
                note=f"Measured ratio of mode 1 over {np.sqrt(ratio):.4g}.",
            )
        )
    return claims


def _mixed(runs: LabelledRuns) -> list[Claim]:
    p, claims = runs.parameters, []
    kinds = [
        (
            "handicapped",
            "head-start",
            "A scheme that shares less wins if the poles of its closed form come first: full sharing is handicapped.",
            OURS,
            "handicapped_share",
            # At half the scale of a tie little is left to the loser; a twentieth allows for single modules.
            (-0.05, 0.05),
        )
    ]
    if p.paths < p.domains**2:
        kinds.insert(
            0,
            (
                "mixed",
                "full-sharing-wins",
                "In one network with both, the most shared pathway dominates the race.",
                PAPER + "Fig. 5b",
                "full_sharing_share",
                # "Dominate": nineteen parts in twenty of the learned map.
                (0.95, 1.05),
            ),
        )
    for variant, id, statement, source, name, tolerance in kinds:
        data = runs.variants[variant]
        share = final_share(data)
        scale = p.init_scale * (
            study.handicap(p) if variant == "handicapped" else p.full_sharing_scale
        )
        claims.append(
            judge(
                id,
                statement,
                source,
                share.mean(1),
                tolerance,
                predicted=float(runs.theory[name].mean()),
                note=f"Share of the fully shared pathway in the learned map, mean over modes; it starts at {scale:.3g}, the "
                f"modules at {p.init_scale:g}.",
            )
        )
        expected = runs.theory[name].values
        loser, expected = (
            (share, expected) if variant == "handicapped" else (1 - share, 1 - expected)
        )
        claims.append(
            judge(
                f"loser-{variant}",
                "What the losing scheme has learned by then is what the closed form says, nothing fitted.",
                OURS,
                (loser / expected).mean(1),
                # The loser's share goes with the third power of its growth, which varies as the overlaps, by 1/8 of its
                # logarithm in 64 units: a factor of two.
                (0.5, 2),
                predicted=1,
                note=f"Measured over predicted share, mean over modes; predicted {expected.mean():.2g}.",
            )
        )
    return claims


def final_share(data) -> np.ndarray:
    """Share of the fully shared pathway in what is learned at the end, shape (seed, mode)."""
    strength = at_end(data["part_strength"]).transpose("seed", "part", "mode").values
    return strength[:, 1] / strength.sum(1)
