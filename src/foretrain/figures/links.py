"""Which figure shows what a claim judges: the one that draws the variables of the networks that its quantity reads."""

import re
from collections.abc import Iterable, Mapping

from foretrain.claims.claim import Claim
from foretrain.figures import Drawing
from foretrain.quantities.cell import FITS, THEORY
from foretrain.vocabulary import positions

_WORDS = re.compile(r"\w{4,}").findall
_CLOCKS = {"time", "step", "steps_taken"}


def links(drawings: Mapping[str, Drawing], claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the claims that each figure shows, by its name.

    A claim links to the figure that draws most of the variables that its quantity reads, of equals to that whose words are
    most of its own. It links to none where no figure draws a measured variable of the same network: a clock or a prediction
    alone is no link, and of a claim about networks trained beside the study's own the figure must draw one of these.
    """
    shown: dict[str, list[str]] = {name: [] for name in drawings}
    for claim in {claim.id: claim for claim in claims}.values():
        reads = {*claim.reads.split(", ")} - {""}
        needed, words = _needed(reads), {*_WORDS(claim.statement.lower())}
        common = {
            name: (len(reads & d.reads), len(words & {*_WORDS(f"{d.title} {d.caption}".lower())}))
            for name, d in drawings.items()
            if needed & d.reads
        }
        if common:
            shown[max(common, key=lambda name: common[name])].append(claim.id)
    return {name: tuple(ids) for name, ids in shown.items() if ids}


def _needed(reads: set[str]) -> set[str]:
    """Return the variables of which a figure must draw one: those measured of variants, else of the study's own network."""
    kinds = {name: name.rpartition("/") for name in reads}
    measured = {
        name
        for name, (network, _, variable) in kinds.items()
        if network not in (THEORY, FITS) and variable not in _CLOCKS
    }
    # How runs ended, and beside other curves their loss, is what a claim is about only where nothing else is read.
    about = {name for name in measured if kinds[name][2] != "outcome"} or measured
    about -= {"loss"} if about & positions("step").keys() - {"loss"} else set()
    fits = {name for name in reads if kinds[name][0] == FITS}
    return {name for name in about if "/" in name} or about or fits
