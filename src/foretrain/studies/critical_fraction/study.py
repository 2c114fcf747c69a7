"""Critical fraction: how many samples determine a representation, and when do networks learn it?"""

from dataclasses import dataclass

from foretrain.study import declare, default
from foretrain.training.embedding import Toy, check, inputs, labels, program, shared  # noqa: F401
from foretrain.training.embedding_start import reads  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, Figs 4, 5"
COST = "2 min"
REFERENCES = ("liu2022",)
SEEDS = 16
AXES = {"training_size": (16, 22, 28, 34, 40, 46, 52)}
PRESETS = {
    "paper": {
        "seeds": 40,
        "steps": 20000,
        "training_size": (10, 14, 18, 20, 22, 24, 26, 28, 30, 35, 40, 45, 50, 54),
    }
}
declare(
    unique_probability="Share of random training sets of this size that determine the representation."
)
declare(
    unit="step",
    theory_step="1 / (lambda_3 eta); infinity = never.",
    adam_step="Step at which Adam on the effective loss, from the same start, has the RQI; infinity = never.",
    flow_step="Step from which on the flow of the effective loss from the same start has the RQI; infinity = never.",
)
declare("step symbol coordinate", flow_embedding="Normalised embeddings along that flow.")


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model, whose runs end when accuracies and RQI are reached."""

    steps: int = default(3000)
    stop: str = default("representation")
