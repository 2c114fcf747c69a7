"""Write sizes and counts of docs/coverage.md from the registry: ``python docs/write_coverage.py``.

A row names sentences behind the page of their study, ``[routing](studies/routing.md) `ratio` ``, and the registry must have
each. A last cell of another kind than `SIZES` is written by hand, and stays, as does what stands behind a semicolon.
"""

import re
from collections import Counter
from pathlib import Path

from foretrain.claims.rows import rows
from foretrain.registry.record import records

PAGE = Path(__file__).parent / "coverage.md"
SIZES = ("whole", "in part", "smaller")
KINDS = (*SIZES, "other", "derived", "setting", "page only", "not done")
ALWAYS_SMALLER = {
    "image-routing"
}  # studies of which the preset `paper` is itself less than the document


def written(text: str) -> str:
    """Return the page as the registry has it."""
    whole: dict[tuple[str, str], bool] = {}  # by study and id: is a verdict at the document's size?
    sizes: set[tuple[str, str, str]] = set()
    for record in records(PAGE.parents[1] / "registry"):
        for row in rows(record.claims):
            sizes.add((record.study, row.id, record.size))
            whole[record.study, row.id] = whole.get((record.study, row.id), False) or not row.at
    lines, counts, document = text.splitlines(), dict[str, Counter[str]](), ""
    for at, line in enumerate(lines):
        document = line[3:] if line.startswith("## ") else document
        *cells, size = line.strip("| ").split(" | ")
        if len(cells) == 3 and size != "size":
            judged = re.findall(r"\(studies/([\w-]+)\.md\)([^\[]*)", cells[2])
            own = re.search("preset `(.+?)`", size)  # of this figure alone
            whole_size = [
                ((study, id, own[1]) in sizes if own else whole[study, id])
                and study not in ALWAYS_SMALLER
                for study, ids in judged
                for id in re.findall("`(.+?)`", ids)
            ]
            if size.startswith(SIZES):
                size = SIZES[2 - any(whole_size) - all(whole_size)] + "".join(
                    size.partition(";")[1:]
                )
            lines[at] = f"| {' | '.join([*cells, size])} |"
            kind = next(kind for kind in KINDS if size.startswith(kind))
            counts.setdefault(document, Counter())[kind] += 1
    table = [f"| document | items | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 2) + "|"]
    for name, each in counts.items():
        table.append(f"| {name} | {each.total()} | {' | '.join(str(each[k]) for k in KINDS)} |")
    block = "\n".join(["<!-- counts -->", "", *table, "", "<!-- end -->"])
    return re.sub(r"(?s)<!-- counts -->.*?<!-- end -->", block, "\n".join(lines) + "\n", count=1)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
