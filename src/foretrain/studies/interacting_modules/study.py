"""Interacting modules: do learning coefficients of a module with its mediating variables held and of its reader add?"""

from dataclasses import dataclass

from foretrain.study import Sampling, declare, default, parameter
from foretrain.training.modules import ACTIVATIONS

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 5.2"
COST = "2 min"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 8
REVISION = 2
# Outputs of M1 and of M2, mediating variables, weights of M1 and of M2, weights between: what counts and what moves.
PARTS = {
    "first": (1, 0, 0, 1, 0, 1),
    "first, held": (1, 0, 1, 1, 0, 1),
    "second": (0, 1, 0, 0, 1, 1),
    "both": (1, 1, 0, 1, 1, 1),
    "second, apart": (0, 1, 0, 0, 1, 0),
    "both, apart": (1, 1, 0, 1, 1, 0),
}
AXES = {"part": tuple(PARTS), "activation": ACTIVATIONS}
PRESETS = {"paper": {"seeds": 30, "gradients": 4_000_000}}
WIDTHS = (2, 2, 2, 2)  # of each module
declare(constrained_rank="Rank of the Jacobian of all that counts by all weights that move.")


@dataclass(frozen=True)
class Parameters(Sampling):
    """Two modules 2-2-2-2; M2's second hidden layer reads some of M1's first, each by one weight, which is held."""

    part: str = parameter(
        "both",
        "the loss: of M1, of M1 with its mediating variables held, of M2, of both; or of M2 and of both with nothing between",
        choices=tuple(PARTS),
    )
    activation: str = parameter("relu", "activation of both hidden layers", choices=ACTIVATIONS)
    mediators: int = parameter(
        2, "units of M1 that M2 reads", symbol="m", minimum=1, maximum=WIDTHS[1]
    )
    strength: float = parameter(
        1.0, "weight by which M2 reads each", symbol="w", above=0, maximum=10
    )
    gradients: int = default(1_000_000)
