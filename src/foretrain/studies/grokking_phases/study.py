"""Grokking phases: which of four phases does a network end in, how surely, why, and when?"""

from dataclasses import dataclass

from foretrain.study import declare, default
from foretrain.training.embedding import Toy, check, inputs, labels, program, shared  # noqa: F401
from foretrain.training.embedding_start import reads  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, Figs 6, 13-15"
COST = "3 min"
REFERENCES = ("liu2022",)
SEEDS = 12
_COARSE = (1e-5, 5.62e-5, 3.16e-4, 1.78e-3, 1e-2)
AXES = {"decoder_learning_rate": _COARSE, "embedding_learning_rate": _COARSE}
_KNOB = {"seeds": 8, "decoder_learning_rate": _COARSE, "embedding_learning_rate": 1e-3}
_RATES = tuple(float(f"{10 ** (-5 + n / 4):.3g}") for n in range(13))
_MAP = {"seeds": 8, "decoder_learning_rate": _RATES, "embedding_learning_rate": _RATES}
PRESETS = {
    "paper": {**_MAP, "hidden_width": 200, "steps": 100_000},
    "decay": {**_KNOB, "decoder_decay": (0.0, 2.0, 10.0)},
    "classification": {**_KNOB, "objective": "classification", "decoder_decay": (0.0, 5.0, 20.0)},
    "batch": {**_KNOB, "batch_size": (5, 15, 45)},
    "scale": {**_KNOB, "init_scale": (0.1, 0.3, 1.0, 3.0)},
    "embedding-decay": {**_KNOB, "embedding_decay": (0.0, 0.1, 1.0)},
}
declare(
    unit="step",
    decoder_step="Step at which the decoder alone, embeddings on a line of the start's spread, generalises; infinity = never.",
)


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model; a run ends when both accuracies are reached, or the budget is spent."""

    hidden_width: int = default(50)
    steps: int = default(20_000)
    observe_every: int = default(500)
