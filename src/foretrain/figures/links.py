"""Which figure shows what a claim judges: the one that draws the variables of the networks that its quantity reads."""

from collections.abc import Iterable, Mapping

from foretrain.claims.claim import Claim
from foretrain.figures import Drawing


def links(drawings: Mapping[str, Drawing], claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the claims that each figure shows, by its name.

    A claim links to the figure that draws most of the variables that its quantity reads, the first of equals, and to none
    where no figure draws the same variable of the same network.
    """
    shown: dict[str, list[str]] = {name: [] for name in drawings}
    for claim in {claim.id: claim for claim in claims}.values():
        reads = {*claim.reads.split(", ")} - {""}
        common = {name: len(reads & drawing.reads) for name, drawing in drawings.items()}
        best = max(common, key=lambda name: common[name], default="")
        if best and common[best]:
            shown[best].append(claim.id)
    return {name: tuple(ids) for name, ids in shown.items() if ids}
