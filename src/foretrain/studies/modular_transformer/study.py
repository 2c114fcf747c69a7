"""A transformer learns addition modulo p: it memorises first, and generalises when its embeddings form circles."""

from dataclasses import dataclass

from foretrain.study import default, parameter
from foretrain.training.transformer import Modular, check, inputs, labels, program, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, section 4.2 and appendix K"
COST = "4 min"
REFERENCES = ("liu2022",)
SEEDS = 10
AXES = {"decoder_learning_rate": (0.003, 0.01), "decoder_decay": (1.0, 0.0, 0.5, 2.0)}
_WIDE = {"symbols": 31, "embedding_dim": 64, "hidden_width": 128, "snapshots": 26}
_WIDEST = {"symbols": 53, "embedding_dim": 256, "hidden_width": 256, "snapshots": 30, "layers": 2}
_LONG = {"seeds": 6, "steps": 20_000, "observe_every": 100}
_LONGEST = {"seeds": 6, "steps": 100_000, "observe_every": 500}
_ONE = {"decoder_learning_rate": 0.001, "decoder_decay": 1.0, "compared": False}
_MAP = {
    "decoder_learning_rate": (0.001, 0.0003, 0.003),
    "decoder_decay": (1.0, 0.0, 0.3, 3.0, 10.0),
    "embedding_learning_rate": 0.001,
    "compared_rate": 0.001,
}
PRESETS = {"grok": _WIDE | _LONG | _ONE, "paper": _WIDEST | _LONGEST | _MAP}


@dataclass(frozen=True)
class Parameters(Modular):
    """The transformer, and the settings of the networks that are compared with it."""

    symbols: int = default(19)
    embedding_learning_rate: float = default(0.01)
    steps: int = default(4000)
    snapshots: int = default(20)
    compared: bool = parameter(
        True, "whether dropout, few dimensions and the toy model are trained, too", sweepable=False
    )
    compared_rate: float = parameter(
        0.003, "rate of the decoder at which they are", above=0, sweepable=False
    )
    compared_decay: float = parameter(
        1.0, "decay of the decoder at which dropout is trained", minimum=0, sweepable=False
    )
    compared_dropout: float = parameter(
        0.3, "share that is dropped there", minimum=0, maximum=0.95, sweepable=False
    )
    compared_dim: int = parameter(
        4, "dimension of embeddings there", minimum=1, maximum=10**4, sweepable=False
    )


def variants(p):
    """Few dimensions, the toy model with one and with many; in one cell of the map dropout."""
    plain = p.architecture == "transformer" and not p.dropout
    if not (p.compared and plain and p.decoder_learning_rate == p.compared_rate):
        return {}
    toy = {"architecture": "toy", "operation": "addition", "symbols": 10, "init_scale": 0.3}
    dropout = {"dropout": p.compared_dropout}
    return {
        "narrow": {"embedding_dim": p.compared_dim, "seeds": 6},
        "toy": toy | {"embedding_dim": 1},
        "wide_toy": toy | {"seeds": 6},
        **({"dropout": dropout} if p.decoder_decay == p.compared_decay else {}),
    }
