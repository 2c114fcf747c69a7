"""What Fig. 5c says of trained and untrained routes, and what their graph predicts. Tolerances stand by their reasons."""

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, cell_label, judge
from foretrain.dynamics.program import CONVERGED
from foretrain.measures.representation import domain_cosine
from foretrain.measures.threshold import lasting_threshold
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.trained_fraction import study
from foretrain.tasks.masks import circulant, without_common_output

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/trained-fraction.md"
ITEMS = 4
# A tenth of the error of answering zero is where the paper's figure leaves the axis to the eye; the errors measured lie
# far from it on both sides, so that the level hardly matters.
GENERALISES = 0.1


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """All claims, for every mask of the grid (and every value of further axes)."""
    claims = []
    others = {name: values for name, values in runs.axes.items() if name != "trained_outputs"}
    shape = tuple(len(values) for values in others.values())
    for index in np.ndindex(shape):
        chosen = {name: values[i] for (name, values), i in zip(others.items(), index, strict=True)}
        label = cell_label(chosen)
        pick = lambda data, at=chosen: _by_outputs(runs, data.sel(at))  # noqa: E731
        parameters = study.Parameters(**{**_fields(runs.parameters), **chosen})
        claims += _judge_row(
            parameters,
            pick(runs.simulation),
            pick(runs.variants["small-init"]),
            pick(runs.theory),
            f"[{label}]" if label else "",
        )
    return claims


def _fields(parameters) -> dict:
    return {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}


def _by_outputs(runs, data: xr.Dataset) -> xr.Dataset:
    if "trained_outputs" in data.dims:
        return data
    return data.expand_dims(trained_outputs=[runs.parameters.trained_outputs])


def _judge_row(p, simulation, small, theory, label) -> list[Claim]:
    zero = study.task(p).output_power / 2
    claims = [_trained(p, simulation, zero, label)]
    claims += _threshold(p, simulation, small, theory, zero, label)
    claims += [
        _connectivity(simulation, theory, zero, "connectivity" + label, "at the study's own scale"),
        _connectivity(small, theory, zero, "connectivity-small-init" + label, "at an eighth of it"),
    ]
    if p.mask == "circulant":
        claims += _across(p, simulation, zero, label)
        claims += _shared_apart(p, simulation, small, label)
    return claims


def _trained(p, simulation, zero, label) -> Claim:
    reached = simulation["outcome"] == CONVERGED
    worst = (simulation["converged_loss"] / zero).max("trained_outputs")
    stuck = int((~reached).sum())
    return judge(
        "trained" + label,
        "Trained routes are learned whatever the fraction of routes that is trained.",
        PAPER + "Fig. 5c",
        worst.values,
        # One percent of the error of answering zero cannot be seen in the figure.
        (0, 0.01),
        predicted=0,
        note=f"Largest final training loss over K, in units of the error of answering zero; {stuck} of {reached.size} "
        f"runs ended above loss {p.loss_tolerance:g}.",
    )


def _threshold(p, simulation, small, theory, zero, label) -> list[Claim]:
    fractions = simulation["trained_outputs"].values / p.domains
    claims = []
    if len(fractions) > 1:
        measured = _first_fraction(simulation, zero, fractions)
        grid = float(np.diff(np.sort(fractions)).min())
        claims.append(
            judge(
                "threshold" + label,
                "Untrained routes come for free from about 40% of trained outputs on.",
                PAPER + "section 4.2, Fig. 5c",
                measured,
                # "Roughly 40%": one step of the paper's grid of tenths to either side.
                (0.3 - 1e-9, 0.5 + 1e-9),
                predicted=0.4,
                note="Smallest K/M from which on every untrained error stays below a tenth of that of answering zero; "
                f"grid of {grid:g} or coarser.",
            )
        )
        limit = _first_fraction(theory, zero, fractions)
        low = _first_fraction(small, zero, fractions)
        kept = limit[: low.size]
        claims.append(
            judge(
                "threshold" + label + ".corrected",
                "The threshold is that of the initial scale; for small weights it falls to where the graph of trained "
                "pairs becomes connected.",
                OURS,
                low - kept,
                # The limit is approached from above: at most one step of tenths away, and never below but by chance.
                (-0.05, 0.1 + 1e-9),
                predicted=0,
                note=f"Threshold at init_scale {p.init_scale / 8:g} ({low.mean():.2f}) less that of connectivity "
                f"({kept.mean():.2f}), same masks.",
            )
        )
    at = int(np.argmin(np.abs(fractions - 0.4)))
    if abs(fractions[at] - 0.4) < 0.05:
        claims.append(
            judge(
                "generalises-at-40%" + label,
                "With 40% of outputs trained the untrained routes are right.",
                PAPER + "section 4.2, Fig. 5c",
                _untrained(simulation, zero).isel(trained_outputs=at).values,
                # What can be told from zero on the figure's axis.
                (0, 0.05),
                predicted=0,
                note="Untrained error at K/M = .4 in units of the error of answering zero.",
            )
        )
    return claims


def _untrained(data, zero):
    return (data["converged_untrained_error"] / zero).transpose("seed", "trained_outputs")


def _first_fraction(data, zero, fractions) -> np.ndarray:
    """Smallest fraction from which on all untrained errors are low, by seed; nan where there is none, or a run diverged.

    Where all routes are trained no error is high.
    """
    error = np.where(fractions == 1, 0.0, _untrained(data, zero).values)
    order = np.argsort(fractions)
    found = lasting_threshold(fractions[order], error[:, order], GENERALISES)
    return np.where(np.isnan(error).any(1), np.nan, found)


def _connectivity(data, theory, zero, id, where) -> Claim:
    seeds = data.sizes["seed"]
    kept = theory.isel(seed=slice(seeds)).transpose("seed", "trained_outputs", ...)
    measured = data.transpose("seed", "trained_outputs", ...)
    untrained = measured["trained_pairs"].values == 0
    low = measured["pair_error"].values < GENERALISES * zero
    predicted = kept["pair_error"].values < GENERALISES * zero
    agree = [(low == predicted)[s][untrained[s]].mean() for s in range(seeds)]
    return judge(
        id,
        f"An untrained pair is right if and only if a chain of trained pairs joins its domains, {where}.",
        OURS,
        agree,
        # An "if and only if" with one pair in twenty left to the random start.
        (0.95, 1),
        predicted=1,
        note="Fraction of untrained pairs, over all K, whose error is below a tenth of that of answering zero exactly "
        "where both domains lie in one component.",
    )


def _across(p, simulation, zero, label) -> list[Claim]:
    if 1 not in simulation["trained_outputs"].values or p.domains == 1:
        return []
    error = simulation.sel(trained_outputs=1)["converged_untrained_error"] / zero
    return [
        judge(
            "few-outputs" + label,
            "When few outputs are trained per input, the error on untrained routes is large.",
            PAPER + "Fig. 5c",
            error.values,
            # "Large" is at least the error of a network that answers nothing.
            (1, np.inf),
            predicted=2,
            note="Untrained error at K = 1 in units of the error of answering zero; unrelated signs of every mode "
            "give 2.",
        )
    ]


def _shared_apart(p, simulation, small, label) -> list[Claim]:
    claims = []
    for outputs in simulation["trained_outputs"].values:
        apart = without_common_output(circulant(p.domains, int(outputs)))
        # With K = 1 the graph is not connected: nothing makes two inputs alike.
        if outputs < 2 or not apart.any():
            continue
        id = f"shared-apart{label[:-1] + ', ' if label else '['}trained_outputs={outputs}]"
        for data, ending, scale in (
            (simulation, "", p.init_scale),
            (small, ".corrected", p.init_scale / 8),
        ):
            similarity = data.sel(trained_outputs=outputs)["similarity"].transpose("seed", ...)
            cosine = domain_cosine(similarity.values, ITEMS)
            claims.append(
                judge(
                    id + ending,
                    "Inputs share a representation even if they were never trained with a common output"
                    + (", if the initial weights are small enough." if ending else "."),
                    OURS if ending else PAPER + "section 4.1, Fig. 4g",
                    cosine[:, apart].mean(1),
                    # Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.
                    (0.95, 1 + 1e-6),
                    predicted=1,
                    note=f"Mean cosine of first-layer activity for the same item over the {apart.sum()} such pairs of "
                    f"inputs at init_scale {scale:g}; {cosine[:, np.triu(~apart, 1)].mean():.3f} over the others.",
                )
            )
    return claims
