"""Report the first input in one context, the second in the other: one linear pathway cannot, one per context can."""

from dataclasses import dataclass, replace

import numpy as np

from foretrain.graph import Graph
from foretrain.predict.gatings import rank_gatings
from foretrain.quantities.gates import gate_agreement
from foretrain.study import Grid, Program, Seed, choice, declare, default, generator, size
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.gatings import gates_by_features
from foretrain.tasks.logic import contextual, pathways_graph
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import reduced_dynamics
from foretrain.theory.gated.reduction import find_reduction
from foretrain.training.pathways import Pathways, descent, random_weights

SOURCE = "Saxe, Sodhani & Lewallen (2022), appendix A.2"
COST = "20 s"
REFERENCES = ("saxe2022", "flesch2022")
EXPLORE = ("init_scale",)
# The document gives no sizes; its preset has smaller steps and more samples.
PRESETS = {"paper": {"learning_rate": 0.0125, "steps": 16000, "observe_every": 80, "samples": 1000}}
# The gated networks that are trained and predicted: gating, and moments of the inputs.
NETWORKS = {
    "per-context": {"network": "gated", "gating": "per_context", "moments": "exact"},
    "always-on": {"network": "gated", "gating": "always_on", "moments": "exact"},
    "per-context-samples": {"network": "gated", "gating": "per_context", "moments": "samples"},
    "always-on-samples": {"network": "gated", "gating": "always_on", "moments": "samples"},
}


@dataclass(frozen=True)
class Parameters(Pathways):
    """Parameters of the study, each with its rule."""

    contexts: int = size(2, "contexts, each of which asks for one of as many inputs", 6, minimum=2)
    network: str = default(
        "gated",
        "linear pathways with gates, or a ReLU network with further inputs that cue the context",
    )
    gating: str = choice(
        "gated only: a pathway per context, or a single one that is always on",
        ("per_context", "always_on"),
    )
    moments: str = choice(
        "few inputs whose second moments are exactly those of the uniform law, or random samples of it",
        ("exact", "samples"),
    )
    samples: int = size(200, "inputs drawn, each shown in all contexts", 10**6, minimum=2)
    hidden_width: int = default(64)
    init_scale: float = default(1e-3)
    learning_rate: float = default(0.05)
    observe_every: int = default(20)


declare(
    "pathway input",
    source=SOURCE,
    total_weights="Product of the weights along each pathway at the end.",
)
declare(
    "condition pathway input",
    source=SOURCE,
    network_weights="Least-squares solution of each pathway of every gated network.",
)
declare("condition step", network_loss="Loss that the reduction expects of every gated network.")
declare(
    "condition",
    source="docs/theory/gated-networks.md",
    reduction_residual="Off-diagonal mass of the statistics that the reduction leaves out, relative to the whole.",
)
declare(
    "unit relu_input",
    relu_input_weights="Input weights of every ReLU unit at the end: inputs, then cues of the contexts.",
)
declare(
    "unit",
    unit_contribution="Norm of a unit's input weights times the size of its output weight, over their sum.",
)


def variants(p: Parameters) -> dict[str, dict]:
    """Both gatings on exact moments and on samples, and the ReLU network on the same samples."""
    return {**NETWORKS, "relu": {"network": "relu"}}


def gatings(p: Parameters) -> dict[str, tuple[str, ...]]:
    """Ways to divide examples: by the context, by signs of the inputs, by the sign of the target; name to what they read."""
    names = [f"x{number}" for number in range(1, p.contexts + 1)]
    signs = {f"sign of {name}": (name,) for name in names}
    signs |= {"sign of what is asked": ("asked",), f"signs of {', '.join(names)}": tuple(names)}
    both = {f"context, {name}": ("context", *read) for name, read in signs.items()}
    alone = [f"context {name[1:]} alone" for name in names if p.contexts > 2]
    return {"always on": (), "context": ("context",), **signs, **both, **{n: (n,) for n in alone}}


def labels(p: Parameters) -> dict:
    return {"condition": list(NETWORKS), "gating": list(gatings(p))}


def data(p: Parameters, seed: Seed) -> GatedData:
    """Draw the examples of one run, all of context 1 first; a ReLU network always sees samples, whatever `moments` is."""
    return contextual(
        p.hidden_width,
        contexts=p.contexts,
        gating=p.gating,
        samples=p.samples if p.moments == "samples" or p.network == "relu" else None,
        generator=generator(seed, "data"),
    )


def cues(shown: GatedData) -> np.ndarray:
    """One in an example's context, 0 elsewhere, shape (sample, context)."""
    count = shown.inputs["x"].shape[1]
    return np.repeat(np.eye(count), shown.samples // count, axis=0)


def cued_inputs(shown: GatedData) -> np.ndarray:
    """Inputs of a ReLU network: x and one cue per context, shape (sample, 2 contexts)."""
    return np.concatenate([shown.inputs["x"], cues(shown)], axis=1)


def network(p: Parameters) -> Graph:
    """Return the graph of the network, for a ReLU network that of the one pathway whose units it rectifies."""
    if p.network == "relu":
        return pathways_graph(1, p.hidden_width, input_width=2 * p.contexts)
    return contextual(p.hidden_width, contexts=p.contexts, gating=p.gating).graph


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    shown, relu = data(p, seed), p.network == "relu"
    return {
        "x": cued_inputs(shown) if relu else shown.inputs["x"],
        "y": shown.targets["y"],
        **{f"gate_{name}": gate for name, gate in ({} if relu else shown.gates).items()},
        **{f"start_{name}": value for name, value in random_weights(network(p), p, seed).items()},
    }


def program(p: Parameters) -> Program:
    import jax.numpy as jnp

    shape, relu = network(p), p.network == "relu"

    def task(inputs):
        gates = {name[5:]: gate for name, gate in inputs.items() if name.startswith("gate_")}
        return inputs["x"], inputs["y"], gates

    def finish(weights):
        if not relu:
            pathways = range(1, len(shape.hidden) + 1)
            totals = [(weights[f"out{k}"] @ weights[f"in{k}"])[0] for k in pathways]
            return {"total_weights": jnp.stack(totals)}
        part = jnp.sqrt((weights["in1"] ** 2).sum(1)) * jnp.abs(weights["out1"][0])
        return {"relu_input_weights": weights["in1"], "unit_contribution": part / part.sum()}

    return descent(shape, task, lambda answer, y: {}, finish, relu=relu)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Loss of every gated network from the start that a seed's weights have, and its least-squares weights.

    Nothing is fitted. ``loss`` is that of the study's own network, nan if it is of ReLU units.
    """
    losses, residuals = [], []
    weights = np.full((len(NETWORKS), p.contexts, p.contexts), np.nan)
    for number, changes in enumerate(NETWORKS.values()):
        statistics, reduction, loss = reduced(replace(p, **changes), step, seed)
        losses.append(loss)
        solution = statistics.least_squares()
        weights[number, : len(solution)] = solution
        residuals.append(reduction.residual)
    gated = {"network": "gated", "gating": p.gating, "moments": p.moments}
    own = list(NETWORKS.values()).index(gated)
    shown = data(replace(p, moments="samples"), seed)
    strength = p.init_scale * np.sqrt(p.hidden_width / 2)
    gates = candidate_gates(p, shown)
    ranking, _ = rank_gatings(shown.inputs["x"], shown.targets["y"], gates, strength)
    return {
        "loss": losses[own] if p.network == "gated" else np.full(step.size, np.nan),
        "network_loss": np.array(losses),
        "network_weights": weights,
        "reduction_residual": np.array(residuals),
        **ranking,
    }


def explore(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict the loss of the network with the gating of the study alone."""
    return {"loss": reduced(p, step, seed)[2]}


def reduced(p, step, seed):
    """Statistics of the examples, their reduction, and its loss from the start that a seed's weights have."""
    statistics = gather_statistics(data(p, seed))
    reduction = find_reduction(statistics, approximate=True)
    start = reduced_dynamics.grown_start(random_weights(network(p), p, seed), reduction)
    states = reduced_dynamics.flow(start, step * p.learning_rate, reduction)
    return statistics, reduction, reduced_dynamics.loss(states, reduction)


def candidate_gates(p: Parameters, shown: GatedData) -> dict[str, np.ndarray]:
    """Gates of every candidate on some examples: name to array of shape (pathway, sample)."""
    cue, known = cues(shown), {"asked": shown.targets["y"][:, 0] > 0}
    known["context"] = -cue.argmax(1)
    for number, x in enumerate(shown.inputs["x"].T, 1):
        known |= {f"x{number}": x > 0, f"context {number} alone": cue[:, number - 1]}
    always = np.zeros(shown.samples)  # one value, one pathway
    return {
        name: gates_by_features({"": always, **{feature: known[feature] for feature in features}})
        for name, features in gatings(p).items()
    }


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Agreement of the gates of each seed's ReLU network with every candidate; nan for one that diverged."""
    p, relu = replace(cell.parameters, network="relu"), cell.variants["relu"]
    agreement = np.full((cell.seeds, len(gatings(p))), np.nan)
    for number in range(cell.seeds):
        run, shown = relu.isel(seed=number), data(p, cell.seed(number))
        weights = run["relu_input_weights"].transpose("unit", "relu_input").values
        if np.isfinite(weights).all():
            is_open, part = weights @ cued_inputs(shown).T > 0, run["unit_contribution"].values
            gates = candidate_gates(p, shown).values()
            agreement[number] = [gate_agreement(is_open, part, gate) for gate in gates]
    return {"gating_agreement": agreement}
