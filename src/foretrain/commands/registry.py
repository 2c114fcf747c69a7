"""What the commands of the registry do, given their parsed arguments; each returns the exit code."""

import sys
from pathlib import Path

from foretrain.errors import argument_error, one_of
from foretrain.words import columns, duration, encodable, laid


def _registry(arguments):
    action = one_of("action", arguments.action, list(_ACTIONS))
    return _ACTIONS[action](arguments)


def _add(arguments):
    from foretrain.registry.measure import commit_of_package, measure
    from foretrain.registry.record import write

    commit = commit_of_package()
    for folder in _wanted(arguments, "folders of results"):
        record = measure(Path(folder), arguments.size or "", commit)
        print(f"Written: {write(arguments.registry, record)}")
    return 0


def _list(arguments):
    from foretrain.claims.claim import VERDICTS
    from foretrain.claims.rows import rows
    from foretrain.registry.check import changed
    from foretrain.registry.record import find, records

    for study in arguments.targets:
        find(arguments.registry, study)
    table = [("study", "size", "seeds", "cost", "commit", "changed since", "verdicts")]
    for one in records(arguments.registry):
        if not arguments.targets or one.study in arguments.targets:
            facts = (str(one.seeds), duration(one.cost), one.commit, changed(one))
            judged = [row.verdict for row in rows(one.claims)]
            counts = ((name, judged.count(name)) for name in VERDICTS)
            counted = ", ".join(f"{number} {name}" for name, number in counts if number)
            table.append((one.study, one.size, *facts, counted))
    room = columns() if sys.stdout.isatty() else float("inf")
    print(encodable("\n".join(laid(table, left=(0, 1, 4, 5, 6), width=room)), sys.stdout.encoding))
    return 0


def _check(arguments):
    from dataclasses import replace

    from foretrain.registry.check import changed, compare, run_again
    from foretrain.registry.measure import commit_of_package
    from foretrain.registry.record import find, write

    agree, commit = True, commit_of_package() if arguments.renew else ""
    for study in _wanted(arguments, "studies"):
        record = find(arguments.registry, study, arguments.size or "")
        print(f"{study}, {record.size}: running it again, as it took {duration(record.cost)}.")
        if line := changed(record):
            print(f"The code that {line} has changed since {record.commit}.")
        again = run_again(record, arguments.out, quiet=False)
        found = compare(record, again)
        print("\n".join(found.lines()))
        agree &= found.agrees
        if arguments.renew and found.agrees:
            cost = min(record.cost, again.cost)  # a machine with other work to do takes longer
            print(f"Written: {write(arguments.registry, replace(again, commit=commit, cost=cost))}")
    return 0 if agree else 1


def _render(arguments):
    from foretrain.registry.record import records
    from foretrain.registry.render import render

    pages = [Path(page) for page in _wanted(arguments, "pages, or folders of pages")]
    for page in render(pages, records(arguments.registry)):
        print(f"Written: {page}")
    return 0


def _publish(arguments):
    from foretrain.registry.publish import publish
    from foretrain.registry.record import records

    written = publish(records(arguments.registry), arguments.out)
    print(f"Page: {written[0]}, with {len(written) - 1} more.")
    return 0


def _wanted(arguments, what):
    if not arguments.targets:
        raise argument_error("targets", f"name {what}", "is not given")
    return arguments.targets


_ACTIONS = {"add": _add, "list": _list, "check": _check, "render": _render}
COMMANDS = {
    "registry": (_registry, "verdicts at each study's sizes: add, list, check, render"),
    "publish": (_publish, "the registry as a static site"),
}
_PATH = {"type": Path}
ARGUMENTS = (
    ("registry", "action", "add results, list, check by running again, or render pages", {}),
    (
        "registry",
        "targets",
        "folders to add; studies to list or check; pages to render",
        {"nargs": "*"},
    ),
    (
        "registry",
        "--renew",
        "write a record anew that a check finds the same, with the hashes of now",
        {"action": "store_true"},
    ),
    ("registry", "--size", "name of the size; default that of the preset", {}),
    ("publish", "--out", "folder for the site; default site", {**_PATH, "default": Path("site")}),
    (
        "registry publish",
        "--registry",
        "its folder; default registry",
        {**_PATH, "default": Path("registry")},
    ),
    ("registry", "--out", "folder for the runs of a check; default none", _PATH),
)
