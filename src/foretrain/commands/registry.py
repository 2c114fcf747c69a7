"""The verbs on the registry: its records, their checks, its pages. Each returns its exit code, None for 0."""

from dataclasses import replace
from pathlib import Path

from foretrain.errors import argument_error
from foretrain.words import complain, count, cut, duration, laid, print_folded, print_text, room


def _records(registry, fallback=True):
    """Return the records of a registry, of foretrain's where none is named and none is here; name those that are gone."""
    from foretrain.registry import present, record, sizes

    fallback = fallback and registry == Path(record.FOLDER) and not registry.is_dir()
    known = (sizes.shipped() if fallback else []) or record.records(registry)
    if lost := present.losses(registry):
        complain(f"{registry} has lost {', '.join(lost)}, by its ledger. Try git checkout.")
    return known


def _of_studies(known, arguments):
    """Return the records of the studies that are named, all where none is."""
    from foretrain.registry.record import find

    names = {find(known, study, arguments.size or "").study for study in arguments.targets}
    return [record for record in known if record.study in (names or {record.study})]


def _add(arguments):
    from foretrain.registry import measure, record, renew

    for folder in _wanted(arguments, "folders of results"):
        new = measure.measure(Path(folder), arguments.size or "", measure.commit_of_package())
        new = replace(new, small=renew.small_checksums_now(new.study))
        print_text(f"Written: {record.write(arguments.registry, new)}")


def _list(arguments):
    from foretrain.claims.claim import VERDICTS
    from foretrain.claims.rows import rows
    from foretrain.registry.present import changed

    table = [["study", "size", "seeds", "cost", "commit", "renewed", "changed since", "verdicts"]]
    for record in _of_studies(_records(arguments.registry), arguments):
        facts = (str(record.seeds), duration(record.cost), record.commit, record.renewed)
        judged = [row.verdict for row in rows(record.claims)]
        counted = ", ".join(f"{judged.count(v)} {v}" for v in VERDICTS if v in judged)
        row = record.study, record.size, *facts, changed(record), counted
        table.append([cut(text) for text in row])
    print_text("\n".join(laid(table, left=(0, 1, 4, 5, 6, 7), width=room())))


def _seal(arguments):
    from foretrain.registry.ledger import refuse_edited, seal, unmatched

    if not arguments.all:
        refuse_edited(arguments.registry)
    paths = unmatched(arguments.registry)[0]
    amount = count(len(paths), "record")
    print_text(f"Written: {seal(arguments.registry, paths)}, {amount} taken on trust.")


def _check(arguments):
    from foretrain.registry import record, render, renew

    registry = arguments.registry
    chosen = _records(registry, fallback=not (arguments.all or arguments.renew))
    if arguments.all:
        chosen = _of_studies(chosen, arguments)
    else:
        studies = _wanted(arguments, "studies, or give --all")
        chosen = [record.find(chosen, study, arguments.size or "") for study in studies]
    whole = arguments.renew and not arguments.all
    small = [] if whole else [r for r in chosen if renew.renewable(r, every=arguments.renew)]
    agree = _check_small(registry, small)
    for before in chosen:
        if before not in small:
            agree &= _named_changed(before) if arguments.all else _check_whole(arguments, before)
    home = registry.absolute().parent  # the repository, whose pages show the registry
    places = [page for page in (home / "docs", home / "README.md") if page.exists()]
    pages = render.stale(places, record.records(registry)) if registry.is_dir() else {}
    for page in pages:
        repair = f"Try foretrain registry render {page}."
        print_text(f"{page} is not as the registry renders it. {repair}")
    return 0 if agree and not pages else 1


def _check_small(registry, records):
    """Renew records by the small runs of their studies, each as soon as these are made; say if all of them are as before."""
    from foretrain.registry import measure, record, renew

    commit, agree = measure.commit_of_package() if records else "", True
    studies = list(dict.fromkeys(before.study for before in records))
    for number, (study, checksums) in enumerate(renew.small_runs(studies), 1):
        for before in (before for before in records if before.study == study):
            new, lines = renew.renewed(before, checksums, commit)
            agree &= not lines
            if not lines:
                record.write(registry, new)
                lines = [f"renewed {new.renewed}." if new.renewed else "its small run is stored."]
            for line in lines:
                _tell(before, line, f"[{number}/{len(studies)}] ")
            agree &= _named_changed(new)
    return agree


def _named_changed(record):
    """Print which code has changed since a record that no small run renews; say if none has."""
    from foretrain.registry.present import changed

    if line := changed(record):
        since = f"The code that {line} has changed since {record.commit}"
        _tell(record, f"{since}. Try foretrain registry check --renew.")
    return not line


def _tell(record, line, number=""):
    print_folded(f"{number}{record.study}, {record.size}: {line}")


def _check_whole(arguments, before):
    """Run a record again; say if it comes out the same."""
    from foretrain.registry import check, measure, record, renew

    commit = measure.commit_of_package() if arguments.renew else ""
    _tell(before, f"running it again, as it took {duration(before.cost)}.")
    _named_changed(before)
    again = check.run_again(before, arguments.out)
    agree, lines = check.compare(before, again)
    for line in lines:
        print_folded(line)
    if arguments.renew and agree:
        cost = min(before.cost, again.cost)  # a machine with other work to do takes longer
        small = renew.small_checksums_now(before.study)
        new = replace(again, commit=commit, cost=cost, small=small)
        print_text(f"Written: {record.write(arguments.registry, new)}")
    return agree


def _render(arguments):
    from foretrain.registry.render import render

    pages = [Path(page) for page in _wanted(arguments, "pages, or folders of pages")]
    for page in render(pages, _records(arguments.registry)):
        print_text(f"Written: {page}")


def _publish(arguments):
    from foretrain.registry.publish import publish

    written = publish(_records(arguments.registry), arguments.out or Path("site"))
    print_text(f"Page: {written[0]}, with {len(written) - 1} more.")


def _wanted(arguments, what):
    if not arguments.targets:
        raise argument_error("targets", f"name {what}", "is not given")
    return arguments.targets


_ACTIONS = {"add": _add, "list": _list, "check": _check, "render": _render, "seal": _seal}
_REGISTRY = "its folder; default `registry`, or where there is none the one that foretrain carries"
COMMANDS = {
    "registry": (
        lambda words: _ACTIONS[words.action](words),
        "verdicts at each study's sizes: add, list, check, render, seal",
    ),
    "publish": (_publish, "the registry as a static site"),
}
ARGUMENTS = {
    "registry": {
        "action": "add results, list, check by running again, render pages, or seal records that no ledger holds",
        "targets": "folders to add; studies to list or check; pages to render",
        "--renew": "run all of it again, and write the record anew if it comes out the same; with --all by small runs alone",
        "--all": "check by small runs all records, or those of studies named, whose code has changed; seal without a ledger",
        "--size": "name of the size; default that of the preset",
        "--registry": _REGISTRY,
        "--out": "folder for the runs of a check; default none",
    },
    "publish": {"--out": "folder for the site; default site", "--registry": _REGISTRY},
}
