"""What the general reduction predicts of the contextual task, and which gating it expects to be learned first."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.forecast.predict import rank
from foretrain.measures.gates import gate_agreement
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.context import study
from foretrain.tasks.gatings import gates_by_features, least_loss, pathways_data
from foretrain.tasks.statistics import Statistics, gather_statistics
from foretrain.theory import reduced_dynamics
from foretrain.theory.reduction import Reduction, find_reduction

# Ways to divide examples: by the context, by the signs of the inputs, by the sign of the input that is asked for.
GATINGS = {
    "always on": (),
    "context": ("context",),
    "sign of x1": ("x1",),
    "sign of x2": ("x2",),
    "sign of what is asked": ("asked",),
    "signs of x1, x2": ("x1", "x2"),
    "context, sign of x1": ("context", "x1"),
    "context, sign of x2": ("context", "x2"),
    "context, sign of what is asked": ("context", "asked"),
    "context, signs of x1, x2": ("context", "x1", "x2"),
}


def grown_start(reduction: Reduction, weights: dict[str, np.ndarray]) -> np.ndarray:
    """State of the reduction that small weights of parallel two-layer pathways grow from, shape (edge, mode).

    While weights are small the sum q = (W_in v + W_out^T u) / 2 of a mode grows and the difference decays, so that
    both edges tend to |q|; derived in docs/theory/gated-networks.md.
    """
    start = {}
    for group in reduction.groups:
        (first, second) = group.edges
        right, left = group.frames["x"], group.frames["y"]
        growing = (weights[first] @ right + weights[second].T @ left) / 2
        start[first] = start[second] = np.linalg.norm(growing, axis=0)
    return reduced_dynamics.decoupled_start(reduction, start)


def least_squares(statistics: Statistics) -> np.ndarray:
    """Sigma_yx Sigma_x^-1 of every pathway, shape (pathway, input): pathways here never meet on an example."""
    solutions = [
        statistics.sigma_yx(path) @ np.linalg.inv(statistics.sigma_x(path, path))
        for path in range(len(statistics.paths))
    ]
    return np.concatenate(solutions)


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Loss of every gated network from the start that each seed's weights have, and its least-squares weights.

    Nothing is fitted. Variables have a dim ``condition``: the names of the gated networks.
    """
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    times = step * parameters.learning_rate
    conditions = []
    for gating, moments in study.NETWORKS.values():
        p = replace(parameters, network="gated", gating=gating, moments=moments)
        conditions.append(
            xr.concat([_predict_one(p, root_seed, seed, times) for seed in range(seeds)], "seed")
        )
    curves = xr.concat(conditions, "condition").assign_coords(
        step=step, condition=list(study.NETWORKS), **study.coordinates(parameters, step)
    )
    ranks = [_rank(parameters, root_seed, seed) for seed in range(seeds)]
    return curves.merge(xr.concat(ranks, "seed"))


def _predict_one(parameters, root_seed, seed, times) -> xr.Dataset:
    statistics = gather_statistics(study.data(parameters, root_seed, seed))
    reduction = find_reduction(statistics, approximate=True)
    start = grown_start(reduction, study.start_weights(parameters, root_seed, seed))
    loss = reduced_dynamics.loss(reduction, reduced_dynamics.flow(reduction, start, times))
    totals = np.full((2, 2), np.nan)
    solution = least_squares(statistics)
    totals[: len(solution)] = solution
    return xr.Dataset(
        {
            "loss": ("step", loss),
            "total_weights": (("pathway", "input"), totals),
            "reduction_residual": reduction.residual,
        }
    )


def candidate_gates(
    parameters: study.Parameters, root_seed: int, seed: int
) -> dict[str, np.ndarray]:
    """Gates of every candidate on the samples of one seed: name to array of shape (pathway, sample)."""
    shown = study.data(replace(parameters, moments="samples"), root_seed, seed)
    x, asked = shown.inputs["x"], shown.targets["y"][:, 0]
    known = {
        "context": np.arange(shown.samples) < shown.samples // 2,
        "x1": x[:, 0] > 0,
        "x2": x[:, 1] > 0,
        "asked": asked > 0,
    }
    return {
        name: gates_by_features({one: known[one] for one in features})
        if features
        else np.ones((1, shown.samples))
        for name, features in GATINGS.items()
    }


def _rank(parameters, root_seed, seed) -> xr.Dataset:
    shown = study.data(replace(parameters, moments="samples"), root_seed, seed)
    x, y = shown.inputs["x"], shown.targets["y"]
    gates = candidate_gates(parameters, root_seed, seed)
    made = {name: pathways_data(x, y, gate) for name, gate in gates.items()}
    ranking = rank(
        {name: (one.graph, one) for name, one in made.items()},
        init_scale=parameters.init_scale * np.sqrt(parameters.hidden_width / 2),
        approximate=True,
    )
    times = {
        one.label: t for one, t in zip(ranking.predictions, ranking.learning_times, strict=True)
    }
    return xr.Dataset(
        {
            "gating_time": ("gating", [times[name] for name in GATINGS]),
            "gating_final_loss": ("gating", [least_loss(x, y, gates[name]) for name in GATINGS]),
        },
        coords={"gating": list(GATINGS)},
    )


def fit(runs: LabelledRuns) -> xr.Dataset:
    """Agreement of the gates of each seed's ReLU network with every candidate; nan for one that diverged."""
    found, p = [], runs.parameters
    relu = runs.variants["relu"]
    for seed in range(relu.sizes["seed"]):
        run = relu.isel(seed=seed)
        weights = run["relu_input_weights"].transpose("unit", "relu_input").values
        shown = study.data(replace(p, network="relu"), runs.root_seed, seed)
        agreement = np.full(len(GATINGS), np.nan)
        if np.isfinite(weights).all():
            is_open = weights @ study.cued_inputs(shown).T > 0
            gates = candidate_gates(p, runs.root_seed, seed)
            part = run["unit_contribution"].values
            agreement = [gate_agreement(is_open, part, gate) for gate in gates.values()]
        found.append(xr.Dataset({"gating_agreement": ("gating", np.asarray(agreement))}))
    return xr.concat(found, "seed").assign_coords(gating=list(GATINGS))
