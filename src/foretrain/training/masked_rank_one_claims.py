"""What is judged alike in every study that trains the masked rank-one model. Tolerances stand beside their reasons."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foretrain.claims.claim import Claim, cell_label, exact
from foretrain.dynamics.program import CONVERGED
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.masked_rank_one import study

OURS = "docs/theory/masked-rank-one.md"


def lines(runs: LabelledRuns, along: str) -> Iterator[tuple[str, LabelledRuns]]:
    """Every line of the grid along one axis, as (label of the others in brackets, runs whose first dim is that axis).

    The axis is there, with one value, even if it is not swept; its values ascend.
    """
    values = sorted(runs.axes.get(along, (getattr(runs.parameters, along),)))
    others = {name: swept for name, swept in runs.axes.items() if name != along}
    for index in np.ndindex(tuple(len(swept) for swept in others.values())):
        chosen = {name: swept[i] for (name, swept), i in zip(others.items(), index, strict=True)}

        def line(data, at=chosen):
            if not data.sizes:
                return data
            data = data.sel({name: value for name, value in at.items() if name in data.dims})
            data = data if along in data.dims else data.expand_dims({along: values})
            return data.sel({along: values}).transpose(along, "seed", ..., missing_dims="ignore")

        label = cell_label(chosen)
        yield (
            f"[{label}]" if label else "",
            replace(
                runs,
                parameters=replace(runs.parameters, **chosen),
                axes={along: tuple(values)},
                simulation=line(runs.simulation),
                variants={name: line(data) for name, data in runs.variants.items()},
                theory=line(runs.theory),
            ),
        )


def invariants(data, parameters, label: str) -> Claim:
    """Conservation of |u|^2 - s^2 and |v|^2 - s^2."""
    return exact(
        "invariants" + label,
        "The flow conserves |u|^2 - s^2 and |v|^2 - s^2.",
        OURS,
        float(data["invariant_drift"].max(skipna=False)),
        # Each step may err by the solver's tolerance relative to the weights, twice that in their squares.
        2 * parameters.solver_tolerance * parameters.steps,
        seeds=data.sizes["seed"],
        note="Largest change over all runs and times, relative to |u|^2 + |v|^2 + s^2.",
    )


def outcomes(data, parameters, label: str) -> list[Claim]:
    """How runs end, pooled over all dims of `data`; masks that are not connected are left out."""
    data = data.transpose("seed", ...)
    converged = (data["outcome"] == CONVERGED).values
    connected = data["connected"].values.astype(bool)
    learned, stuck = converged & connected, ~converged & connected
    untrained, loss = data["final_untrained_error"].values, data["final_loss"].values
    agrees = data["stage_agrees"].isel(stage=study.DEPARTURE).values.astype(bool) & connected
    longest_path = 2 * parameters.domains - 1
    seeds = data.sizes["seed"]
    return [
        exact(
            "zero-loss-generalises" + label,
            "Zero training loss on connected T is perfect generalisation, at any sigma.",
            OURS,
            float(untrained[learned].max()) if learned.any() else np.nan,
            # Each pair on a path of trained pairs may be off by sqrt(2 loss); their sum squared, over 2.
            longest_path**2 * parameters.loss_tolerance,
            seeds=seeds,
            note=f"Largest mean error of untrained pairs over the {int(learned.sum())} runs that converged on connected "
            "masks.",
        ),
        exact(
            "stuck-training" + label,
            "Every failure is stuck training: a trained pair keeps the wrong sign, and the loss stays above 1/2.",
            OURS,
            float((stuck & (loss < 0.5)).sum()),
            # A count: no run may end between the tolerance and one half.
            0.0,
            seeds=seeds,
            note=f"Number of runs that end with a loss between {parameters.loss_tolerance:g} and 1/2. "
            f"{int(stuck.sum())} of {int(connected.sum())} runs on connected masks are stuck"
            + (
                f"; their untrained error is {np.median(untrained[stuck]):.3g} (median)."
                if stuck.any()
                else "."
            ),
        ),
        exact(
            "agreeing-signs" + label,
            "A run whose pairs all have s u_i v_j > 0 keeps that, and learns.",
            OURS,
            float((agrees & ~converged).sum()),
            # A count.
            0.0,
            seeds=seeds,
            note=f"Number of stuck runs among the {int(agrees.sum())} whose signs agree when 1% of the loss is gone.",
        ),
    ]
