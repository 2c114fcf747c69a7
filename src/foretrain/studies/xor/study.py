"""Exclusive-or: a small ReLU network learns it as four gated linear pathways would, one per example."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import xarray as xr

from foretrain import study as lab
from foretrain.graph import Graph
from foretrain.predict.gatings import rank_gatings
from foretrain.quantities.cell import Runs
from foretrain.quantities.gates import gate_agreement
from foretrain.quantities.learning_curves.curve_deviation import closest
from foretrain.study import Seed, declare, default, parameter
from foretrain.tasks.gatings import partitions
from foretrain.tasks.logic import pathways_graph, xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import reduced_dynamics
from foretrain.theory.gated.reduction import find_reduction
from foretrain.theory.pathways import exclusive_or
from foretrain.theory.pathways.rectified_start import self_consistent
from foretrain.training.pathways import Pathways, descent, random_weights

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 3 and appendix A.1"
COST = "15 s"
SEEDS = 400  # the fewest, with some to spare, that tell a share of one from .99
REFERENCES = ("saxe2022",)
EXPLORE = ("init_scale",)
# The paper's size is small enough to be the default; its preset only halves the step.
PRESETS = {"paper": {"learning_rate": 0.005, "steps": 8000, "observe_every": 20}}
# A unit is open on an example where it answers at least a tenth as much as on its best one: units slide along the
# border of two further examples and flicker there by a learning rate's worth of angle.
OPEN = 0.1
SINGLE = "1 | 2 | 3 | 4"  # one pathway per example


@dataclass(frozen=True)
class Parameters(Pathways, lab.DescentOrFlow):
    """Parameters of the study, each with its rule."""

    network: str = default(
        "relu", "a two-layer ReLU network, or four linear pathways each open on one example"
    )
    init_law: str = parameter(
        "normal",
        "law of the initial weights; decoupled (gated only): the submanifold of the reduction",
        choices=("normal", "decoupled"),
    )
    time_constant: float = parameter(
        2.5, "the paper's time is tau times step x learning rate", symbol="τ", above=0
    )


declare(
    "step example",
    source="Saxe, Sodhani & Lewallen (2022), eq. (21)",
    example_strength="Answer to each example over its norm, in the direction of its target: a(t) of its pathway.",
)
declare(
    "unit input",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 3a",
    input_weights="Input weights of every hidden unit at the end; a gated network's pathway by pathway.",
)
declare("unit", output_weights="Output weight of every hidden unit at the end.")
declare(
    "example",
    source="docs/studies/xor.md",
    start_strength="a_0 of each example's pathway, derived from the initial weights.",
    gated_start_strength="a_0 of each pathway of the gated network, derived from its initial weights.",
)
declare("step", gated_loss="Loss that the reduction expects of the gated network, start derived.")
declare(
    "step",
    source="Saxe, Sodhani & Lewallen (2022), eqs. (21)-(23)",
    closed_form_loss="Closed form of the loss from the decoupled start of the gated network.",
    fitted_closed_form_loss="Eqs. (21)-(23) from the fitted a_0.",
)
declare(fitted_strength="a_0 with which eqs. (21)-(23) come closest to the measured loss.")


def check(p: Parameters) -> None:
    if p.network == "relu" and p.init_law == "decoupled":
        rule = "be `normal` with `network` = relu"
        raise lab.argument_error("init_law", rule, "is `decoupled`", "Try --network gated.")


def natural_strength(p: Parameters) -> float:
    """Return N_h sigma_0^2, the unit of a_0."""
    return p.hidden_width * p.init_scale**2


def decoupled_strength(p: Parameters) -> float:
    """Return the strength of every edge of the decoupled start; a_0 is its square, the mean of random weights."""
    return p.init_scale * np.sqrt(p.hidden_width / 2)


def variants(p: Parameters) -> dict[str, dict]:
    """Return the gated network from random weights, and from decoupled ones by descent and by flow, both in float64."""
    decoupled = {"network": "gated", "init_law": "decoupled", "precision": "float64", "seeds": 1}
    return {
        "gated": {"network": "gated"},
        "decoupled": decoupled,
        "decoupled-flow": {**decoupled, "dynamics": "flow"},
    }


def labels(p: Parameters) -> dict:
    time = np.arange(0, p.steps + 1, p.observe_every) * p.learning_rate
    return {
        "paper_time": ("step", time * p.time_constant),
        "example": [" ".join(f"{value:+.0f}" for value in x) for x in xor(1).inputs["x"]],
        "input": ["x1", "x2"],
        "gating": list(gatings()),
    }


@cache
def gatings() -> dict[str, np.ndarray]:
    """Return the 15 ways to divide the four examples among pathways: name to gates of shape (pathway, example)."""
    ways = {}
    for groups in partitions(range(4)):
        groups = sorted(sorted(group) for group in groups)
        name = " | ".join(",".join(str(example + 1) for example in group) for group in groups)
        ways[name] = np.array([[float(e in group) for e in range(4)] for group in groups])
    return ways


@lru_cache(maxsize=64)
def candidates(init_scale: float) -> dict[str, np.ndarray]:
    """Return learning time, lowest loss and self-consistency of every gating, (gating,) each, from edges of this strength."""
    x, y = xor(1).inputs["x"], xor(1).targets["y"]
    table, predictions = rank_gatings(x, y, gatings(), init_scale)
    ways = gatings().items()
    fits = [self_consistent(predictions[way].reduction, x, gates, OPEN) for way, gates in ways]
    return {**table, "gating_consistent": np.array(fits)}


def agreement(run: Runs | xr.Dataset) -> np.ndarray:
    """Return the agreement of a trained ReLU network's gates with each gating, shape (gating,); nan where it diverged."""
    weights = run["input_weights"].transpose("unit", "input").values
    arriving = weights @ xor(1).inputs["x"].T
    if not np.isfinite(arriving).all():
        return np.full(len(gatings()), np.nan)
    is_open = arriving > OPEN * arriving.max(1, keepdims=True)
    part = np.abs(run["output_weights"].values) * np.linalg.norm(weights, axis=1)
    return np.array([gate_agreement(is_open, part, gates) for gates in gatings().values()])


def network(p: Parameters) -> Graph:
    """Return the graph of the network: four pathways, or the one whose units a ReLU network rectifies."""
    return pathways_graph(4 if p.network == "gated" else 1, p.hidden_width)


def start_weights(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """Return the initial weights of one run, edge name to array: normal, or on the submanifold of the reduction."""
    if p.init_law == "normal":
        return random_weights(network(p), p, seed)
    reduction = find_reduction(gather_statistics(xor(p.hidden_width)))
    state = reduced_dynamics.decoupled_start(decoupled_strength(p), reduction)
    frames = reduced_dynamics.hidden_frames(reduction, lab.generator(seed, "weights"))
    return reduced_dynamics.decoupled_weights(state, frames, reduction)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    return {f"start_{name}": value for name, value in start_weights(p, seed).items()}


def program(p: Parameters) -> lab.Program:
    import jax.numpy as jnp

    dtype, data, shape = lab.float_type(p.precision), xor(1), network(p)

    def task(_):
        # Kept as NumPy until traced: outside the run's own context float64 would be lost.
        gates = {name: value.astype(dtype) for name, value in data.gates.items()}
        return data.inputs["x"].astype(dtype), data.targets["y"].astype(dtype), gates

    def observe(answer, y):
        return {"example_strength": (answer * y)[:, 0] / np.sqrt(2).astype(dtype)}

    def finish(weights):
        pathways = range(1, len(shape.hidden) + 1)
        return {
            "input_weights": jnp.concatenate([weights[f"in{k}"] for k in pathways]),
            "output_weights": jnp.concatenate([weights[f"out{k}"][0] for k in pathways]),
        }

    relu, flow = p.network == "relu", p.dynamics == "flow"
    return descent(shape, task, observe, finish, relu=relu, flow=flow)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict a seed's loss and strengths from the start derived from its own initial weights; nothing is fitted."""
    starts = np.array([strengths_at_start(q, seed) for q in (p, replace(p, network="gated"))])
    strengths = exclusive_or.descent(starts, p.learning_rate, p.steps, every=p.observe_every)
    decoupled = np.array([decoupled_strength(p) ** 2])
    return {
        "loss": exclusive_or.loss_of(strengths[:, 0]),
        "example_strength": strengths[:, 0],
        "start_strength": starts[0],
        "gated_start_strength": starts[1],
        "gated_loss": exclusive_or.loss_of(strengths[:, 1]),
        "closed_form_loss": exclusive_or.closed_form(decoupled, step * p.learning_rate)[:, 0],
        **candidates(decoupled_strength(p)),
    }


def strengths_at_start(p: Parameters, seed: Seed) -> np.ndarray:
    of = exclusive_or.rectified_strengths if p.network == "relu" else exclusive_or.gated_strengths
    return of(start_weights(p, seed))


def explore(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    start = strengths_at_start(p, seed)
    strengths = exclusive_or.descent(start, p.learning_rate, p.steps, every=p.observe_every)
    return {"loss": exclusive_or.loss_of(strengths), "example_strength": strengths}


def fit(cell: lab.Grid) -> dict[str, np.ndarray]:
    """Fit the a_0 of every seed by the closed form, and its curve, nan if it diverged; compare a ReLU network's gates."""
    p, run = cell.parameters, cell.simulation
    time = np.arange(0, p.steps + 1, p.observe_every) * p.learning_rate
    starts = np.geomspace(1e-3, 10, 201) * natural_strength(p)
    flows, fitted = exclusive_or.closed_form(starts, time), np.full(cell.seeds, np.nan)
    losses = run["loss"].transpose("seed", "step").values
    for number in np.flatnonzero(run["outcome"].values != lab.DIVERGED):
        fitted[number] = closest(starts, flows, losses[number][np.isfinite(losses[number])])
    known, curves = np.isfinite(fitted), np.full(losses.shape, np.nan)
    curves[known] = exclusive_or.closed_form(fitted[known], run["step"].values * p.learning_rate).T
    fits = {"fitted_strength": fitted, "fitted_closed_form_loss": curves}
    if p.network == "relu":
        seeds = range(cell.seeds)
        fits["gating_agreement"] = np.array([agreement(run.isel(seed=n)) for n in seeds])
    return fits
