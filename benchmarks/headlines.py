"""Sixty sentences drawn by a seed, and for each the error that turns its verdict: which of them can fail.

    python benchmarks/headlines.py            # writes headlines.toml beside this file; about 15 minutes of one core
    python benchmarks/headlines.py routing    # draws the same sixty, and does those of some studies anew

A sentence that fails or is open in a record was turned by the networks themselves; a control, or the complement of one that
fails, is no evidence (`foretrain.claims.family`). In every other case errors are planted, one by one, in a small run of the
study (`tests/mutations`): a theory that is off, another seed, index, layer or time, training that is cut short, a doubled
rate. The first is named after which the sentence, which held, fails in a cell. Without such an error the sentence has held in
no cell of the small run, or nothing that is planted reaches it.
"""

import random
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from mutations.notice import doubled_rates, run, verdicts  # pyright: ignore[reportMissingImports]
from mutations.plant import doubled, mutations  # pyright: ignore[reportMissingImports]

from foretrain.claims.cells import gather
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.claims.family import uncounted
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.registry.sizes import shipped

SEED, NUMBER = 20261124, 60
OUT = Path(__file__).with_suffix(".toml")
NOTHING = "no planted error"


def drawn() -> list[tuple[str, str]]:
    """Return study and id of the sentences that are drawn, by study."""
    names = [
        (name, text.id) for name in catalogue.names() for text in catalogue.load(name).sentences
    ]
    return sorted(random.Random(SEED).sample(sorted(names), NUMBER))


def by_record(study: str, id: str) -> str:
    """Return what the records say of a sentence: why it is no evidence, or that networks have turned it; "" otherwise."""
    seen = []
    for record in shipped(study):
        for group in gather(record.claims):
            if group.id == id:
                seen += [(group.verdict, uncounted(claim, record.claims)) for claim in group.claims]
    if {verdict for verdict, _ in seen} & {FAILS, INCONCLUSIVE}:
        return "the networks"
    reasons = {reason for _, reason in seen} - {"exact"}
    return reasons.pop() if len(reasons) == 1 else ""


def planted(study: Study, grid: Grid, folder: Path) -> Iterator[tuple[str, Grid]]:
    """Yield each error in words with a grid that has it."""
    for item in mutations(grid):
        yield f"{item.kind}: {item.what}", item.plant(grid)
    if study.trains and grid.simulation and (rates := doubled_rates(grid)):
        faster = doubled(grid, run(study.name, folder / "faster", **rates))
        yield f"{faster.kind}: {faster.what}", faster.plant(grid)


def turned(study: str, ids: Sequence[str]) -> dict[str, str]:
    """Return each of some sentences of a study to the first error after which it, which held, fails."""
    known, left = catalogue.load(study), set(ids)
    first = dict.fromkeys(ids, NOTHING)
    with tempfile.TemporaryDirectory() as folder:
        grid = run(study, Path(folder) / "run")
        before = verdicts(known, grid, left)
        for words, other in planted(known, grid, Path(folder)):
            try:
                after = verdicts(known, other, left)
            except KeyError:  # nothing of the study's own network is there to be changed
                continue
            failing = {
                n.partition("[")[0]
                for n, v in after.items()
                if v == FAILS and before.get(n) == HOLDS
            }
            first |= dict.fromkeys(failing & left, words)
            left -= failing
            if not left:
                break
    return first


def main(studies: Sequence[str], out: Path = OUT) -> dict[str, str]:
    """Name what turns each drawn sentence of some studies, by default of all that are not in the file yet."""
    known = tomllib.loads(out.read_text("utf-8")) if out.exists() else {}
    for study in dict.fromkeys(study for study, _ in drawn()):
        ids = [id for name, id in drawn() if name == study]
        if study not in studies and (studies or all(f"{study}/{id}" in known for id in ids)):
            continue
        reasons = {id: by_record(study, id) for id in ids}
        rest = [id for id, reason in reasons.items() if not reason]
        reasons |= turned(study, rest) if rest else {}
        known |= {f"{study}/{id}": reason for id, reason in reasons.items()}
        lines = (f'"{name}" = "{reason}"' for name, reason in sorted(known.items()))
        out.write_text(
            "\n".join([f"# {evidence(known)} of {len(known)} drawn.", *lines]) + "\n", "utf-8"
        )
        print(study, reasons, flush=True)
    return known


def evidence(known: dict[str, str]) -> int:
    """Return how many sentences something turns."""
    return sum(reason not in ("control", "complement", NOTHING) for reason in known.values())


if __name__ == "__main__":
    print(f"{evidence(main(sys.argv[1:]))} of {NUMBER} can fail.")
