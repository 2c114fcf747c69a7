"""Sixty headlines drawn by a seed, and for each the error that turns its verdict: which of them can fail.

    python benchmarks/headlines.py            # writes headlines.toml beside this file; about an hour of one core
    python benchmarks/headlines.py routing    # draws the same sixty, and does those of some studies anew

A sentence that fails or is open in a record was turned by the networks themselves; the complement of one that fails is no
evidence (`foretrain.claims.family`). In every other case errors are planted, one by one, in a small run of the study
(`tests/mutations`): a theory that is off, another seed, index, layer or time, training that is cut short, another network or
value of an axis, none that is trained, a measure in another unit, a prediction for twice an option, and runs of another rate,
start or decay. The first is named after which the sentence, which held, fails in a cell; of the others it is told whether
they have held in a cell of the small run. Where a small run leaves many sentences open, `sizes.toml` names a larger one.
"""

import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from misreadings import OTHERWISE, believed, readings
from mutations.notice import (  # pyright: ignore[reportMissingImports]
    HEADLINES,
    retrained,
    run,
    size,
    verdicts,
)
from mutations.plant import Mutation, mutations  # pyright: ignore[reportMissingImports]

from foretrain.claims.cells import gather
from foretrain.claims.claim import FAILS, HEADLINE, HOLDS, INCONCLUSIVE
from foretrain.claims.family import uncounted
from foretrain.errors import ForetrainError
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.registry.sizes import shipped
from foretrain.registry.small import PRESETS

SEED, NUMBER, SEEDS = 20261124, 60, 12
OUT = Path(__file__).with_suffix(".toml")
NETWORKS, CONTROL, COMPLEMENT = "the networks", "control", "complement"  # what records say
NOTHING, OPEN = "no planted error", "no verdict in a small run"


def drawn() -> list[tuple[str, str]]:
    """Return study and id of the headlines that are drawn, by study; a new sentence moves one other at most."""
    headlines = [
        (name, text.id)
        for name in catalogue.names()
        for text in catalogue.load(name).sentences
        if text.rank == HEADLINE
    ]
    return sorted(sorted(headlines, key=_number)[:NUMBER])


def _number(sentence: tuple[str, str]) -> bytes:
    return sha256(f"{SEED} {'/'.join(sentence)}".encode()).digest()


def by_record(study: str, id: str) -> str:
    """Return what the records say of a sentence: why it is no evidence, or that networks have turned it; "" otherwise."""
    seen = []
    for record in shipped(study):
        for group in gather(record.claims):
            if group.id == id:
                seen += [(group.verdict, uncounted(claim, record.claims)) for claim in group.claims]
    if {verdict for verdict, _ in seen} & {FAILS, INCONCLUSIVE}:
        return NETWORKS
    reasons = {reason for _, reason in seen} - {"exact"}
    return reasons.pop() if len(reasons) == 1 else ""


def sizes(study: str) -> list[dict[str, Any]]:
    """Return the small sizes at which a study is run until its sentences are turned."""
    if study in HEADLINES:
        return HEADLINES[study]
    more = [options for name, options in PRESETS.items() if name.startswith(f"{study}.")]
    return [
        {**options, "seeds": max(SEEDS, options.get("seeds", 0))}
        for options in (size(study), *more)
    ]


def planted(
    study: Study, grid: Grid, options: Mapping[str, Any], folder: Path
) -> Iterator[Mutation]:
    """Yield each error of a grid, those last that have to be trained."""
    yield from chain(mutations(grid), believed(study, grid), readings(grid))
    yield from retrained(study.name, grid, folder, options, OTHERWISE)


def turned(study: str, ids: Sequence[str]) -> dict[str, str]:
    """Return each of some sentences of a study to the first error after which it, which held, fails."""
    known, left, result = catalogue.load(study), set(ids), dict.fromkeys(ids, OPEN)
    for options in sizes(study) if ids else ():
        if not left:
            break
        with tempfile.TemporaryDirectory() as folder:
            grid = run(study, Path(folder) / "run", options)
            before = verdicts(known, grid, left)
            holding = {
                name.partition("[")[0] for name, verdict in before.items() if verdict == HOLDS
            }
            result |= dict.fromkeys(holding & left, NOTHING)
            for item in planted(known, grid, options, Path(folder)) if holding & left else ():
                failing = _failing(known, item, grid, before, left)
                result |= dict.fromkeys(failing & left, f"{item.kind}: {item.what}")
                left -= failing
                if not holding & left:
                    break
    return result


def _failing(
    study: Study, item: Mutation, grid: Grid, before: Mapping[str, str], left: set[str]
) -> set[str]:
    """Return the sentences that held in a cell where they fail after an error; none where it has nothing to change."""
    try:
        after = verdicts(study, item.plant(grid), left)
    except (KeyError, ValueError, ForetrainError):  # as where an option must not be twice as large
        return set()
    return {
        name.partition("[")[0]
        for name, verdict in after.items()
        if verdict == FAILS and before.get(name) == HOLDS
    }


def main(studies: Sequence[str], out: Path = OUT) -> dict[str, str]:
    """Name what turns each drawn sentence of some studies, by default of all that are not in the file yet."""
    names = {f"{study}/{id}" for study, id in drawn()}
    known = tomllib.loads(out.read_text("utf-8")) if out.exists() else {}
    known = {name: reason for name, reason in known.items() if name in names}
    _write(known, out)
    for study in dict.fromkeys(study for study, _ in drawn()):
        ids = [id for name, id in drawn() if name == study]
        if study not in studies and (studies or all(f"{study}/{id}" in known for id in ids)):
            continue
        reasons = {id: by_record(study, id) for id in ids}
        rest = [id for id, reason in reasons.items() if not reason]
        reasons |= turned(study, rest)
        known |= {f"{study}/{id}": reason for id, reason in reasons.items()}
        _write(known, out)
        print(study, reasons, flush=True)
    return known


def _write(known: Mapping[str, str], out: Path) -> None:
    lines = (f'"{name}" = "{reason}"' for name, reason in sorted(known.items()))
    text = "\n".join([f"# {evidence(known)} of {len(known)} drawn.", *lines])
    out.write_text(f"{text}\n", "utf-8")


def evidence(known: Mapping[str, str]) -> int:
    """Return how many sentences something turns."""
    return sum(reason not in (CONTROL, COMPLEMENT, NOTHING, OPEN) for reason in known.values())


def stale(known: Mapping[str, str]) -> list[str]:
    """Return where a file says otherwise than the draw and the records, in lines, the last the command that mends it."""
    now = {f"{study}/{id}": by_record(study, id) for study, id in drawn()}
    lines = {name: "not drawn" for name in known.keys() - now.keys()}
    lines |= {name: "drawn, and not in the file" for name in now.keys() - known.keys()}
    for name in now.keys() & known.keys():
        before = known[name] if known[name] in (NETWORKS, CONTROL, COMPLEMENT) else ""
        if before != now[name]:
            lines[name] = f"by the records {now[name]!r}, by the file {known[name]!r}"
    studies = sorted({name.partition("/")[0] for name in lines})
    command = f"Try python benchmarks/headlines.py {' '.join(studies)}"
    return [f"{name} is {lines[name]}" for name in sorted(lines)] + [command] * bool(lines)


if __name__ == "__main__":
    print(f"{evidence(main(sys.argv[1:]))} of {NUMBER} can fail.")
