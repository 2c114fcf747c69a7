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


def needs(claims: Iterable[Claim]) -> dict[str, str]:
    """Return id of each headline to the seeds for a verdict in four cases of five, the most of its cells, or why none do."""
    needed: dict[str, str] = {}
    for group in gather(claim for claim in claims if claim.rank == HEADLINE):
        cells = [seeds_needed(claim) for claim in group.claimed]
        reason = next((cell for cell in cells if isinstance(cell, str)), "")
        most = max((cell for cell in cells if isinstance(cell, int)), default=0)
        needed[group.id] = f"no number: {reason}" if reason else count(most, "seed")
    return needed


def likely(study: str, folder: Path | None = None) -> tuple[str, dict[str, str]]:
    """Return in words what the estimate rests on, and id of each headline to the seeds it needs; none where nothing is known.

    Seeds are estimated from a folder of results; by default from that below ``runs`` with most seeds, else from the registry.
    The study is named, or is the path of one's own. Raises `FolderError` where the folder holds no results of the study.
    """
    name = Path(study).stem
    known = list(_stored(name, folder))
    if folder is not None and not known:
        raise FolderError(f"Argument `pilot` must hold results of `{name}`, but {folder} does not.")
    known = known or [(f"the registry, {r.size}", r.seeds, r.claims) for r in shipped(name)]
    source, seeds, claims = max(known, key=lambda pilot: pilot[1], default=("", 0, ()))
    by = f"seeds for a verdict four times in five, by {source} ({count(seeds, 'seed')})"
    return by, needs(claims)


def lines(study: str, folder: Path | None = None) -> list[str]:
    """Return the seeds that each headline is likely to need, in lines; none where nothing is known of the study."""
    head, texts = likely(study, folder)
    rows = [f"  {id}: {text}" for id, text in texts.items()]
    return rows and [f"S{head[1:]}:", *rows]
