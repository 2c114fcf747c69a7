"""Changes of a study between the seal before its first run and the verdicts of now, in sentences."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NOTHING: dict[str, Any] = {"claims": {}}


def verdicts(claims: Iterable[Any]) -> dict[str, str]:
    """Id of each claim to its verdict, of several cells to how many have which, such as "3 holds, 1 fails"."""
    counts: dict[str, Counter] = {}
    for claim in claims:
        counts.setdefault(claim.id, Counter())[claim.verdict] += 1
    return {
        id: next(iter(count))
        if count.total() == 1
        else ", ".join(f"{number} {verdict}" for verdict, number in count.most_common())
        for id, count in counts.items()
    }


def remarks(sealed: Mapping[str, Any] | None, looks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what makes the verdicts worth less than if all had been fixed before the first run, a sentence each.

    Args:
        sealed: The seal before the first run, see `foretrain.provenance.seal.seal`; None where there is none.
        looks: All looks at the verdicts, the last of them at those of now, see `foretrain.results.decode.Look`.
    """
    lines = _changes(sealed, looks) if sealed and looks and looks[-1].get("seal") else []
    seeds = list(dict.fromkeys(str(look["seeds"]) for look in looks))
    number = 1 + seeds.index(str(looks[-1]["seeds"])) if looks else 0
    if number > 1:
        lines.append(
            f"Verdicts were seen before with other numbers of seeds ({' then '.join(seeds[:number])}). Intervals are wider "
            f"for that, so that they are right over all {number} looks."
        )
    return lines


def unnamed(reads: Sequence[str]) -> list[str]:
    """Return what a study has read by which its runs are not known, a sentence for files and another for variables.

    Args:
        reads: Paths of files, and names of environment variables behind a ``$``.
    """
    files = ", ".join(name for name in reads if name[:1] != "$")
    variables = ", ".join(name[1:] for name in reads if name[:1] == "$")
    end = "with other content they would be other runs under the same names. Try"
    lines = {
        f"files that are no part of what they are known by, {files}: {end} `foretrain.study.data` and a function `reads` of "
        "the study.": files,
        f"environment variables, {variables}: {end} parameters instead.": variables,
    }
    return [f"The runs read {line}" for line, names in lines.items() if names]


def _changes(sealed: Mapping[str, Any], looks: Sequence[Mapping[str, Any]]) -> list[str]:
    seals = [look.get("seal") or _NOTHING for look in looks]
    first, now = sealed.get("claims", {}), seals[-1]["claims"]
    kinds: dict[str, list[str]] = {}
    for id in dict.fromkeys(id for seal in (sealed, *seals) for id in seal.get("claims", {})):
        later = [seal["claims"].get(id) for seal in seals]
        if id not in now:
            kind = "Taken out after the first run"
        elif id not in first:
            kind = "Added after the first run, and so not fixed before it"
        elif later[-1][1] != first[id][1]:
            kind = "Changed after the first run in what they measure, allow or predict, and so not fixed before it"
        elif any(hashes[1] != first[id][1] for hashes in later if hashes):
            kind = "Changed after the first run in what they measure, allow or predict, and changed back"
        elif later[-1][0] != first[id][0]:
            kind = "Reworded after the first run (what they measure, allow and predict is the same)"
        else:
            continue
        kinds.setdefault(kind, []).append(id)
    lines = [f"{kind}: {', '.join(ids)}." for kind, ids in kinds.items()]
    for part, what in (("predicts", "theory"), ("judges", "code that judges all claims")):
        values = [seal[part] for seal in seals if part in seal]
        if any(value != sealed.get(part) for value in values):
            back = " and changed back" if values[-1] == sealed.get(part) else ""
            lines.append(f"The {what} was changed after the first run{back}.")
    return lines + _other_verdicts(looks)


def _other_verdicts(looks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Verdicts that differ from those seen earlier by other theory or judge, the old beside the new."""
    last, others, was_other = looks[-1], [], False
    now = last.get("verdicts", {})
    for id in dict.fromkeys(id for look in looks for id in look.get("verdicts", {})):
        earlier = [look for look in reversed(looks) if _rests(look, id) != _rests(last, id)]
        was_other |= bool(earlier) and id in now
        for look in earlier:
            then = look.get("verdicts", {}).get(id)
            if then is not None and then != now.get(id):
                seeds = "" if look["seeds"] == last["seeds"] else f" with {look['seeds']} seeds"
                at = look.get("at", "an earlier day").partition("T")[0]
                others.append(f"{id} ({then}{seeds} on {at}, {now.get(id, 'not judged')} now)")
                break
    if others:
        return [f"Verdicts that differ from earlier ones by other code: {', '.join(others)}."]
    return ["Other code gave the same verdicts before."] if was_other else []


def _rests(look: Mapping[str, Any], id: str) -> tuple | None:
    """Return all that a verdict of a look rests on, words left out; None where nothing was sealed."""
    seal = look.get("seal") or {}
    hashes = seal.get("claims", {}).get(id)
    return hashes and (seal.get("predicts"), seal.get("judges"), hashes[1])
