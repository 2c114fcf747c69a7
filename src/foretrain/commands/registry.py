"""The verbs on the registry: its records, their checks, its pages. Each returns its exit code, None for 0."""

from dataclasses import replace
from pathlib import Path

from foretrain.errors import argument_error
from foretrain.words import complain, count, cut, duration, laid, print_folded, print_text, room


def _records(registry, carried=True):
    """Return the records of a registry, of foretrain's where none is named and none is here; name those that are gone."""
    from foretrain.registry.present import gone
    from foretrain.registry.record import FOLDER, records
    from foretrain.registry.sizes import shipped

    carried = carried and registry == Path(FOLDER) and not registry.is_dir()
    known = (shipped() if carried else []) or records(registry)
    if lost := gone(registry):
        complain(
            f"The ledger of {registry} names what is gone: {', '.join(lost)}. Try git checkout."
        )
    return known


def _add(arguments):
    from foretrain.registry.measure import commit_of_package, measure
    from foretrain.registry.record import write
    from foretrain.registry.renew import small_checksums_now

    for folder in _wanted(arguments, "folders of results"):
        record = measure(Path(folder), arguments.size or "", commit_of_package())
        record = replace(record, small=small_checksums_now(record.study))
        print_text(f"Written: {write(arguments.registry, record)}")


def _list(arguments):
    from foretrain.claims.claim import VERDICTS
    from foretrain.claims.rows import rows
    from foretrain.registry.present import changed
    from foretrain.registry.record import find

    known = _records(arguments.registry)
    for study in arguments.targets:
        find(known, study)
    table = [("study", "size", "seeds", "cost", "commit", "renewed", "changed since", "verdicts")]
    for record in known:
        if not arguments.targets or record.study in arguments.targets:
            facts = (str(record.seeds), duration(record.cost), record.commit, record.renewed)
            judged = [row.verdict for row in rows(record.claims)]
            counted = ", ".join(f"{judged.count(v)} {v}" for v in VERDICTS if v in judged)
            row = record.study, record.size, *facts, changed(record), counted
            table.append([cut(text) for text in row])
    print_text("\n".join(laid(table, left=(0, 1, 4, 5, 6, 7), width=room())))


def _seal(arguments):
    from foretrain.registry.ledger import refuse_unsealed, seal, unmatched

    if not arguments.all:
        refuse_unsealed(arguments.registry)
    paths, _ = unmatched(arguments.registry)
    amount = count(len(paths), "record")
    print_text(f"Written: {seal(arguments.registry, paths)}, {amount} taken on trust.")


def _check(arguments):
    from foretrain.registry.record import find, records
    from foretrain.registry.render import stale
    from foretrain.registry.renew import renewable

    chosen = _records(arguments.registry, carried=not (arguments.all or arguments.renew))
    if not arguments.all:
        studies = _wanted(arguments, "studies, or give --all")
        chosen = [find(chosen, study, arguments.size or "") for study in studies]
    elif arguments.targets:
        named = {find(chosen, study, arguments.size or "").study for study in arguments.targets}
        chosen = [record for record in chosen if record.study in named]
    whole = arguments.renew and not arguments.all
    small = [] if whole else [r for r in chosen if renewable(r, every=arguments.renew)]
    agree = _check_small(arguments.registry, small)
    for record in chosen:
        if record not in small:
            agree &= _named_changed(record) if arguments.all else _check_whole(arguments, record)
    home = arguments.registry.absolute().parent  # the repository, whose pages show the registry
    places = [page for page in (home / "docs", home / "README.md") if page.exists()]
    pages = stale(places, records(arguments.registry)) if arguments.registry.is_dir() else {}
    for page in pages:
        repair = f"Try foretrain registry render {page}."
        print_text(f"{page} is not as the registry renders it. {repair}")
    return 0 if agree and not pages else 1


def _check_small(registry, records):
    """Renew records by the small runs of their studies, each as soon as these are made; say if all of them are as before."""
    from foretrain.registry.measure import commit_of_package
    from foretrain.registry.record import write
    from foretrain.registry.renew import renewed, small_runs

    commit, agree = commit_of_package() if records else "", True
    studies = list(dict.fromkeys(record.study for record in records))
    for number, (study, checksums) in enumerate(small_runs(studies), 1):
        for record in (record for record in records if record.study == study):
            new, lines = renewed(record, checksums, commit)
            agree &= not lines
            if not lines:
                write(registry, new)
                lines = [f"renewed {new.renewed}." if new.renewed else "its small run is stored."]
            for line in lines:
                _tell(record, line, f"[{number}/{len(studies)}] ")
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


def _check_whole(arguments, record):
    """Run a record again; say if it comes out the same."""
    from foretrain.registry.check import compare, run_again
    from foretrain.registry.measure import commit_of_package
    from foretrain.registry.record import write
    from foretrain.registry.renew import small_checksums_now

    commit = commit_of_package() if arguments.renew else ""
    _tell(record, f"running it again, as it took {duration(record.cost)}.")
    _named_changed(record)
    again = run_again(record, arguments.out)
    agree, lines = compare(record, again)
    for line in lines:
        print_folded(line)
    if arguments.renew and agree:
        cost = min(record.cost, again.cost)  # a machine with other work to do takes longer
        new = replace(again, commit=commit, cost=cost, small=small_checksums_now(record.study))
        print_text(f"Written: {write(arguments.registry, new)}")
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


def _registry(arguments):
    actions = {"add": _add, "list": _list, "check": _check, "render": _render, "seal": _seal}
    return actions[arguments.action](arguments)


_REGISTRY = "its folder; default `registry`, or where there is none the one that foretrain carries"
COMMANDS = {
    "registry": (_registry, "verdicts at each study's sizes: add, list, check, render, seal"),
    "publish": (_publish, "the registry as a static site"),
}
ARGUMENTS = {
    "registry": {
        "action": "add results, list, check by running again, render pages, or seal records that no ledger holds",
        "targets": "folders to add; studies to list or check; pages to render",
        "--renew": "run all of it again, and write the record anew if it comes out the same; with --all by small runs alone",
        "--all": "check every record, of the studies named or of all, whose code has changed, by the small run of its study; "
        "seal all records on trust where there is no ledger",
        "--size": "name of the size; default that of the preset",
        "--registry": _REGISTRY,
        "--out": "folder for the runs of a check; default none",
    },
    "publish": {"--out": "folder for the site; default site", "--registry": _REGISTRY},
}
