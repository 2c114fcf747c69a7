"""Predictions of the general reduction on the contextual task, and the gating that it expects to be learned first."""

from dataclasses import replace

import numpy as np

from foretrain.predict.gatings import rank_gatings
from foretrain.quantities.gates import gate_agreement
from foretrain.study import Grid, Seed
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.gatings import gates_by_features
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import reduced_dynamics
from foretrain.theory.gated.reduction import find_reduction

from .study import GATINGS, NETWORKS, Parameters
from .training import cued_inputs, data, in_first_context, start_weights


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Loss of every gated network from the start that a seed's weights have, and its least-squares weights.

    Nothing is fitted. ``loss`` is that of the study's own network, nan if it is of ReLU units.
    """
    losses, weights, residuals = [], np.full((len(NETWORKS), 2, 2), np.nan), []
    for number, network in enumerate(NETWORKS.values()):
        of_network = replace(p, **network)
        statistics = gather_statistics(data(of_network, seed))
        reduction = find_reduction(statistics, approximate=True)
        start = reduced_dynamics.grown_start(start_weights(of_network, seed), reduction)
        states = reduced_dynamics.flow(start, step * p.learning_rate, reduction)
        losses.append(reduced_dynamics.loss(states, reduction))
        solution = statistics.least_squares()
        weights[number, : len(solution)] = solution
        residuals.append(reduction.residual)
    gated = {"network": "gated", "gating": p.gating, "moments": p.moments}
    own = list(NETWORKS.values()).index(gated)
    shown = data(replace(p, moments="samples"), seed)
    strength = p.init_scale * np.sqrt(p.hidden_width / 2)
    gates = candidate_gates(shown)
    ranking, _ = rank_gatings(shown.inputs["x"], shown.targets["y"], gates, strength)
    return {
        "loss": losses[own] if p.network == "gated" else np.full(step.size, np.nan),
        "network_loss": np.array(losses),
        "network_weights": weights,
        "reduction_residual": np.array(residuals),
        **ranking,
    }


def candidate_gates(shown: GatedData) -> dict[str, np.ndarray]:
    """Gates of every candidate on some examples: name to array of shape (pathway, sample)."""
    (x1, x2), target = shown.inputs["x"].T > 0, shown.targets["y"][:, 0] > 0
    known = {"context": in_first_context(shown), "x1": x1, "x2": x2, "asked": target}
    always = np.zeros(shown.samples)  # one value, one pathway
    return {
        name: gates_by_features({"": always, **{feature: known[feature] for feature in features}})
        for name, features in GATINGS.items()
    }


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Agreement of the gates of each seed's ReLU network with every candidate; nan for one that diverged."""
    p, relu = replace(cell.parameters, network="relu"), cell.variants["relu"]
    agreement = np.full((cell.seeds, len(GATINGS)), np.nan)
    for number in range(cell.seeds):
        run, shown = relu.isel(seed=number), data(p, cell.seed(number))
        weights = run["relu_input_weights"].transpose("unit", "relu_input").values
        if np.isfinite(weights).all():
            is_open, part = weights @ cued_inputs(shown).T > 0, run["unit_contribution"].values
            gates = candidate_gates(shown).values()
            agreement[number] = [gate_agreement(is_open, part, gate) for gate in gates]
    return {"gating_agreement": agreement}
