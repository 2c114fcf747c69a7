"""Routing between domains: shared representations, learned as predicted (M domains, K trained outputs each)."""

from dataclasses import dataclass
from functools import lru_cache

from foretrain import study as lab
from foretrain.study import Seed, argument_error, choice, declare, default, parameter
from foretrain.tasks.domains import Task, digits_task
from foretrain.training.routing import Images, Items, Routes, check_routes, items_task
from foretrain.training.routing import labels as labels

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 4"
COST = "20 s"
REFERENCES = ("saxe2022",)
EXPLORE = ("init_scale",)
_PAPER = {"learning_rate": 0.02, "loss_function": "authors", "steps": 700, "observe_every": 4}
REVISION = 3  # all starts are drawn on the host
SMALLER = 4  # by how much the scale of `small-init` and `xavier-small` is smaller; they take as many times the steps
PRESETS = {"paper": _PAPER, "digits": {"data": "digits"}}
CONDITIONAL_DEFAULTS = {("data", "digits"): {"learning_rate": 0.2, "observe_every": 25}}


@dataclass(frozen=True)
class Parameters(Items, Images, Routes, lab.DescentOrFlow):
    """Parameters of the routing study, each with its rule."""

    init_scale: float = default(0.2, "scale of the initial weights", symbol="σ_0")
    init_law: str = parameter(
        "orthogonal",
        "law of the initial weights; decoupled: the submanifold of the reduction",
        choices=("orthogonal", "xavier", "gaussian", "decoupled"),
    )
    disagreement: float = parameter(
        0.0,
        "routes within a half of the domains ask for 1 + d times the map, between halves for 1 - d times",
        symbol="d",
        minimum=0,
        maximum=1,
    )
    data: str = choice(
        "items with hierarchical features, or scikit-learn's 1,797 digits",
        ("hierarchy", "digits"),
        sweepable=False,
    )
    transform: str = default(
        "permutation", "digits: a domain is a pixel permutation, or a rotation by 180 i/M degrees"
    )
    scaling: str = choice(
        "digits: whitened on the training set, or as they are", ("whitened", "raw")
    )
    learning_rate: float = default(0.04)
    loss_function: str = parameter(
        "paper",
        "paper: mean over items and trained routes of 1/2 |error|^2; authors: their code's sum over routes",
        choices=("paper", "authors"),
    )
    steps: int = default(2500)
    observe_every: int = default(20)


_ALIKE = "Mean cosine of first-hidden-layer activity for one item in two domains"
declare(
    "step",
    heldout_error="Mean over trained routes and held-out samples of 1/2 |error|^2.",
    heldout_untrained_error="Mean over untrained routes and held-out samples of 1/2 |error|^2.",
    off_diagonal_mass="Fraction of the whole map's squared norm that lies off the diagonal in the modes of the data, "
    "trained routes; modes of equal singular value count as one block.",
    conserved_drift="Change of Q at both hidden layers since the start, over the squared norm of the hidden matrix.",
    reduction_loss="Training loss of the reduction from decoupled weights of the same scale.",
    alike_within=f"{_ALIKE} of the same half; 0 without a pair.",
    alike_between=f"{_ALIKE} of different halves; 0 without a pair.",
)
declare(
    "step layer mode",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 4f",
    singular_values="Largest singular values of each layer, mean over the domains of a layer.",
    reduction_singular_values="Singular values of the reduction from decoupled weights of the same scale.",
    start_singular_values="Singular values of each layer by the race from the run's own start.",
)
declare("step mode", mode_strength="Strength u^T W v of each mode, mean over trained routes.")
declare(
    "split_step",
    split_within="`alike_within` of the variant whose routes disagree, at each of its own observations.",
    split_between="`alike_between` of that variant.",
)
declare(
    "mode",
    mode_singular_value="Singular value S of <y x^T>.",
    mode_variance="Input variance D of each mode.",
    mode_optimum="Strength of each mode in the least-squares solution.",
)


def check(p: Parameters) -> None:
    check_routes(p)
    if p.data == "digits" and p.hidden_width < 10:
        rule = "be at least 10, the number of modes of the data"
        raise argument_error("hidden_width", rule, f"is {p.hidden_width}")
    if p.data == "digits" and p.disagreement:
        raise argument_error("disagreement", "be 0 for digits", f"is {p.disagreement:g}")


def task(p: Parameters, seed: Seed) -> Task:
    """Data of one run; digits are split and permuted by the seed."""
    if p.data == "hierarchy":
        return items_task(p.level_weights)
    return _digits(p.domains, p.transform, p.scaling, p.heldout_fraction, seed)


@lru_cache(maxsize=16)
def _digits(domains, transform, scaling, heldout_fraction, seed):
    return digits_task(domains, transform, scaling, heldout_fraction, lab.generator(seed, "data"))


def variants(p: Parameters) -> dict[str, dict]:
    """Return the reduction itself, flow, which conserves, and islands, where chains of routes end.

    Of items also smaller weights and the Xavier start of the paper's text, for limits, and routes that disagree.
    """
    half, longer = max(1, p.steps // 2), SMALLER * p.steps  # a flow's step costs seven gradients
    island_outputs = max(1, min(p.trained_outputs, p.domains // 2))

    def trained(outputs):
        """Return parameters of networks with so many trained outputs, at the same step in the paper's time."""
        pace = p.trained_outputs / outputs if p.loss_function == "authors" else 1.0
        return {"trained_outputs": outputs, "learning_rate": p.learning_rate * pace, "seeds": 5}

    networks: dict[str, dict] = {
        "decoupled": {"init_law": "decoupled", "precision": "float64", "seeds": 1},
        "flow": {"dynamics": "flow", "precision": "float64", "steps": half, "seeds": 2},
        "islands": {**trained(island_outputs), "mask": "islands"},
    }
    if p.data == "hierarchy":
        smaller = {"init_scale": p.init_scale / SMALLER, "steps": longer, "seeds": 3}
        split = {**trained(p.domains), "init_law": "orthogonal", "steps": 2 * p.steps}
        networks["small-init"] = smaller
        networks["xavier"] = {"init_law": "xavier", "seeds": 5}
        networks["xavier-small"] = {"init_law": "xavier", **smaller}
        networks["disagreeing"] = {"disagreement": 0.5, "mask": "circulant", **split}
    return networks
