"""What the paper says of the contextual task, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim, judge
from foretrain.measures.curve_deviation import mean_deviation
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.context import study

PAPER = "Saxe, Sodhani & Lewallen (2022), "
_TARGETS = {"per-context": np.eye(2), "always-on": np.full((1, 2), 0.5)}
# What is left of a weight: the start's own parts that nothing drives, N_h sigma_0^2 = 6e-5, float32, and the last of an
# exponential approach. A thousandth is what three digits show.
_WEIGHT = 1e-3


def judge_cell(runs: LabelledRuns) -> list[Claim]:
    """All claims of one cell of the grid."""
    return [*_weights(runs), *_losses(runs), *_curves(runs), *_gates(runs)]


def _weights(runs: LabelledRuns) -> list[Claim]:
    claims = []
    words = {"per-context": "[1 0] and [0 1]", "always-on": "[1/2 1/2]"}
    for name, target in _TARGETS.items():
        found = _totals(runs, name)[:, : len(target)]
        claims.append(
            judge(
                f"weights-{name}",
                f"The {_PATHWAYS[name]} to {words[name]}.",
                PAPER + "appendix A.2",
                np.abs(found - target).max((1, 2)),
                (0, _WEIGHT),
                predicted=0,
                note="Largest deviation of a total weight at the end, exact moments.",
            )
        )
    for name, target in _TARGETS.items():
        sampled = f"{name}-samples"
        solution = runs.theory["total_weights"].sel(condition=sampled)
        solution = solution.transpose("seed", "pathway", "input").values[:, : len(target)]
        found = _totals(runs, sampled)[:, : len(target)]
        away = np.abs(solution - target).max((1, 2)).mean()
        claims.append(
            judge(
                f"weights-{sampled}",
                f"On finite samples the {_PATHWAYS[name]} to the least-squares solution of its own examples.",
                PAPER + "appendix A.2",
                np.abs(found - solution).max((1, 2)),
                (0, _WEIGHT),
                predicted=0,
                note="Largest deviation of a total weight at the end; the solutions themselves are "
                f"{away:.2g} from those of the uniform law, mean over seeds.",
            )
        )
    return claims


_PATHWAYS = {
    "per-context": "pathway of each context converges",
    "always-on": "single pathway that is always on converges",
}


def _totals(runs, name) -> np.ndarray:
    return runs.variants[name]["total_weights"].transpose("seed", "pathway", "input").values


def _losses(runs: LabelledRuns) -> list[Claim]:
    end = {name: at_end(runs.variants[name]["loss"]).values for name in _TARGETS}
    return [
        judge(
            "loss-always-on",
            "The best a linear network can do leaves half of the loss, 1/12.",
            PAPER + "appendix A.2",
            end["always-on"],
            # Quadratic in the weights' deviation, plus float32.
            (1 / 12 - 1e-5, 1 / 12 + 1e-5),
            predicted=1 / 12,
        ),
        judge(
            "loss-per-context",
            "One pathway per context solves the task exactly.",
            PAPER + "appendix A.2",
            end["per-context"],
            (0, 1e-5),
            predicted=0,
        ),
    ]


def _curves(runs: LabelledRuns) -> list[Claim]:
    claims = []
    for name in study.NETWORKS:
        theory = runs.theory.sel(condition=name)
        measured = runs.variants[name]["loss"].transpose("seed", "step").values
        predicted = theory["loss"].transpose("seed", "step").values
        deviation = mean_deviation(measured, predicted)
        residual = theory["reduction_residual"].values
        claims.append(
            judge(
                f"curve-{name}",
                "The general reduction predicts the loss from the initial weights, with nothing fitted"
                + (
                    ", though the statistics of samples do not commute."
                    if "samples" in name
                    else "."
                ),
                "docs/theory/gated-networks.md",
                deviation,
                # A line's width in a figure, a hundredth of its height.
                (0, 0.01),
                predicted=0,
                note="Mean |difference of loss| over the run, over its start. "
                f"Residual of the reduction {residual.mean():.2g} (mean).",
            )
        )
    return claims


def _gates(runs: LabelledRuns) -> list[Claim]:
    theory = runs.theory
    agreement = theory["gating_agreement"].transpose("seed", "gating").to_pandas()
    times = theory["gating_time"].transpose("seed", "gating").to_pandas()
    # Least squares in float64 reach zero to rounding; gatings that cannot solve the task leave far more.
    solves = theory["gating_final_loss"].transpose("seed", "gating").to_pandas() < 1e-12
    fastest = times.where(solves).idxmin(axis=1)
    finite = agreement.notna().all(axis=1)
    closest = agreement[finite].idxmax(axis=1).reindex(agreement.index)
    margin = agreement["context"] - agreement.drop(columns="context").max(axis=1)
    loss = float(at_end(runs.variants["relu"]["loss"]).mean())
    others = times.where(solves).drop(columns="context").min(axis=1).mean()
    return [
        judge(
            "gates-per-context",
            "A ReLU network that is told the context and starts small comes to gate its units by context.",
            PAPER + "appendix A.2, after Flesch et al. (2022)",
            margin.values,
            # Closer to this gating than to any other: a positive difference.
            (0, np.inf),
            note="Agreement of its gates with one pathway per context, less that with the next best of "
            f"{len(times.columns)} gatings; the former is {agreement['context'].mean():.3f} (mean). "
            f"Its loss at the end is {loss:.2g}.",
        ),
        judge(
            "gates-fastest",
            "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
            PAPER + "section 4.2 on who wins a race, taken to ReLU gates",
            (closest == fastest).astype(float).where(finite).values,
            (0.95, 1),  # every seed, but for one in twenty
            predicted=1,
            note=f"{int(solves.iloc[0].sum())} of {len(times.columns)} gatings solve it; predicted times "
            f"{times['context'].mean():.1f} for one pathway per context, {others:.1f} for the next.",
        ),
    ]
