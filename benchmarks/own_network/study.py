"""Statements on drawn networks before and after training: are they right, and are planted causes found?"""

from dataclasses import dataclass

from foretrain.study import declare, parameter

SOURCE = "docs/explain.md"
COST = "30 min"
REFERENCES = ("jacot2018", "chizat2019")
SEEDS = 5
CAUSES = (
    "layers",
    "gates",
    "step",
    "batches",
)  # the order of `foretrain.explain.simulated.Corner`
SINGLE = CAUSES
PAIRS = ("batches, layers", "batches, gates", "step, layers", "step, gates")
PLANTS = ("nothing", *SINGLE, *PAIRS)
AXES = {"plant": PLANTS}
PRESETS = {"paper": {"seeds": 30}}
declare(
    correction="What the kernel along its way changes in the predicted curve, over the loss at the start.",
    miss="Largest difference of the predicted curve from the run, over the loss at the start.",
    miss_along="The same of the curve by the kernel along its way.",
    said="0 will do, 1 cannot be said, 2 not to be trusted, 3 the linearised network diverges.",
    gap="Largest difference of the run from the kernel's flow, over the loss at the start.",
)
declare(
    "cause",
    share="Share of all parts of the gap, in percent.",
    covered="Fraction of groups of starts whose interval contains the mean share of all others.",
    worth="By what the run changes where the cause is taken out of the network, over the loss at the start.",
)


@dataclass(frozen=True)
class Parameters:
    """A network that a seed draws: with planted causes, which is taken apart; or any, which is predicted."""

    plant: str = parameter(
        "nothing", "causes that are put into a network of which theory holds", choices=PLANTS
    )
    starts: int = parameter(16, "starts of every network", minimum=4, maximum=1000)
    group: int = parameter(4, "starts of one interval", minimum=2, maximum=500)
    kind: str = parameter(
        "planted",
        "a network with planted causes, or any one",
        choices=("planted", "drawn"),
        sweepable=False,
    )


def variants(p):
    """Beside the networks without a cause as many of any kind."""
    return {"drawn": {"kind": "drawn", "plant": "nothing", "starts": 4}}


def labels(p):
    return {"cause": list(CAUSES)}
