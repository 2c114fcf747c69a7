"""The number of seeds that a study's headlines are likely to need, before it is run: by stored runs, or by the registry."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from foretrain.claims.cells import gather
from foretrain.claims.claim import HEADLINE, Claim
from foretrain.claims.power import seeds_needed
from foretrain.errors import FolderError, ForetrainError
from foretrain.laboratory.index import results_below
from foretrain.registry.sizes import shipped
from foretrain.results.summary import read_summary
from foretrain.words import count

RUNS = Path("runs")  # folder below which results lie by default


def _stored(study: str, folder: Path | None) -> Iterator[tuple[str, int, Sequence[Claim]]]:
    """Yield place, number of seeds and verdicts of each result of a study: in a folder, or below ``runs``."""
    for place in results_below(RUNS) if folder is None else [folder]:
        try:
            summary = read_summary(place)
        except ForetrainError:
            if folder is not None:
                raise
            continue  # a folder that nobody named costs only itself
        if summary.study == study and summary.claims:
            yield str(place), summary.seeds, summary.claims


def needs(claims: Iterable[Claim]) -> dict[str, int | str]:
    """Return id of each headline to the number of seeds for a verdict in four cases of five, the largest of its cells.

    Where no number is enough, it is the reason.
    """
    needed: dict[str, int | str] = {}
    for group in gather(claim for claim in claims if claim.rank == HEADLINE):
        cells = [seeds_needed(claim) for claim in group.claimed]
        reason = next((cell for cell in cells if isinstance(cell, str)), "")
        needed[group.id] = reason or max((int(cell) for cell in cells), default=0)
    return needed


def lines(study: str, folder: Path | None = None) -> list[str]:
    """Return in lines how many seeds each headline of a study is likely to need; none where nothing is known of it.

    They are estimated from a folder of results; by default from that below ``runs`` with most seeds, else from the registry.
    The study is named, or is the path of one's own. Raises `FolderError` where the folder holds no results of the study.
    """
    name = Path(study).stem
    known = list(_stored(name, folder))
    if folder is not None and not known:
        raise FolderError(f"Argument `pilot` must hold results of `{name}`, but {folder} does not.")
    known = known or [(f"the registry, {r.size}", r.seeds, r.claims) for r in shipped(name)]
    source, seeds, claims = max(known, key=lambda pilot: pilot[1], default=("", 0, ()))
    if not (needed := needs(claims)):
        return []
    width = max(map(len, needed)) + 2
    texts = (f"{n}" if isinstance(n, int) else f"no number: {n}" for n in needed.values())
    return [
        f"Seeds for a verdict four times in five, by {source} ({count(seeds, 'seed')}):",
        *(f"  {id:<{width}}{text}" for id, text in zip(needed, texts, strict=True)),
    ]
