"""Before a study is run: how many seeds its headlines are likely to need, by runs that were stored, or by the registry."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from foretrain.claims.cells import gather
from foretrain.claims.claim import HEADLINE, Claim
from foretrain.claims.power import seeds_needed
from foretrain.errors import FolderError, ForetrainError
from foretrain.laboratory.index import results_below
from foretrain.registry.sizes import shipped
from foretrain.results.summary import read_summary
from foretrain.words import count

RUNS = Path("runs")  # folder below which results lie by default


class Pilot(NamedTuple):
    """Verdicts that there are of a study."""

    source: str  # where they come from, in words
    seeds: int  # number of seeds
    claims: tuple[Claim, ...]  # the verdicts


def pilot(study: str, folder: Path | None = None) -> Pilot | None:
    """Return the verdicts on a study from which numbers of seeds are estimated; None where there are none.

    They are those of a folder of results; by default of the one below ``runs`` with most seeds; else those of the registry.

    Raises:
        FolderError: the folder that is named holds no results of the study.
    """
    places = results_below(RUNS) if folder is None else [folder]
    found = []
    for place in places:
        try:
            summary = read_summary(place)
        except ForetrainError:
            if folder is not None:
                raise
            continue  # a folder that nobody named costs only itself
        if summary.study == study and summary.claims:
            found.append(Pilot(str(place), summary.seeds, tuple(summary.claims)))
    if folder is not None and not found:
        raise FolderError(
            f"Argument `pilot` must hold results of `{study}`, but {folder} does not."
        )
    if not found:
        held = shipped(study)
        found = [Pilot(f"the registry, {one.size}", one.seeds, one.claims) for one in held]
    return max(found, key=lambda one: one.seeds, default=None)


def needs(claims: Iterable[Claim]) -> dict[str, int | str]:
    """Return id of each headline to the number of seeds for a verdict in four cases of five, or why no number is enough.

    Of a headline in several cells it is the largest number.
    """
    found: dict[str, int | str] = {}
    for group in gather(one for one in claims if one.rank == HEADLINE):
        each = [seeds_needed(claim) for claim in group.claimed]
        numbers = [one.seeds for one in each if one.seeds is not None]
        found[group.id] = max(numbers) if len(numbers) == len(each) else _reason(each)
    return found


def _reason(each) -> str:
    return next(one.reason for one in each if one.seeds is None)


def lines(study: str, folder: Path | None = None) -> list[str]:
    """Return in lines how many seeds each headline of a study is likely to need; none where nothing is known of it.

    The study is named, or the path of one's own.
    """
    known = pilot(Path(study).stem, folder)
    found = needs(known.claims) if known else {}
    if not known or not found:
        return []
    head = (
        f"Seeds for a verdict four times in five, by {known.source} ({count(known.seeds, 'seed')}):"
    )
    width = max(map(len, found)) + 2
    said = (f"{one}" if isinstance(one, int) else f"no number: {one}" for one in found.values())
    return [head, *(f"  {id:<{width}}{text}" for id, text in zip(found, said, strict=True))]
