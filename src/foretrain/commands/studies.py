"""The verbs on studies, before anything is run: list, info, new, check, cite. Each returns its exit code, None for 0."""

import shlex
from dataclasses import asdict

import foretrain
from foretrain.errors import argument_error, not_installed
from foretrain.words import columns, duration, print_json, print_text, room

STUDY = "name of a study, see `foretrain list`, or path of one of your own"
JSON = "as JSON, for a program"
_PILOT = "folder of stored runs by which seeds are estimated"


def _list(arguments):
    if arguments.study is not None:
        return _info(arguments)
    if arguments.claims:
        repair = "Try foretrain list routing --claims."
        raise argument_error("study", "be named with `--claims`", "is not", repair)
    listing = foretrain.list()
    if not (arguments.json or arguments.verbose):
        return print_text(listing.text(room()))
    from foretrain.registry.sizes import notes

    sizes = notes()
    if arguments.json:
        return print_json([asdict(c) | {"document_size": sizes.get(c.name)} for c in listing])
    notes_of_size = {name: f"At the document's size: {text}." for name, text in sizes.items()}
    return print_text(listing.details(room(), notes_of_size))


def _info(arguments):
    facts, details = foretrain.info(arguments.study), arguments.verbose
    if arguments.name == "list":
        details |= arguments.claims
    else:
        from foretrain.registry.needed import likely

        facts["needs"] = likely(facts["study"], arguments.pilot)
    if arguments.json:
        return print_json(facts)
    return print_text(facts.text(columns(), details))


def _new(arguments):
    file = foretrain.new(arguments.file)
    print_text(f"Written: {file}. Try `foretrain run {shlex.quote(str(file))}`.")


def _check(arguments):
    from foretrain.registry.needed import lines as needed

    lines = foretrain.check(arguments.study)
    also = [] if lines else needed(arguments.study, arguments.pilot)
    took = f"The first run took {duration(lines.seconds)}."
    print_text("\n".join([str(lines), *also, *[took] * (lines.seconds is not None)]))
    return 2 if lines else 0


def _completion(arguments):
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        raise not_installed("Completion", "argcomplete", "completion") from None
    print(shellcode(["foretrain"], shell=arguments.shell))


COMMANDS = {
    "list": (_list, "every study by question: one line, its cost"),
    "info": (_info, "what a study asks, takes, claims and costs, before anything is run"),
    "new": (_new, "write the smallest study that runs, to start from"),
    "check": (_check, "what a study lacks, before anything is trained"),
    "cite": (
        lambda words: print_text(foretrain.cite(words.study)),
        "BibTeX of what a study rests on",
    ),
    "completion": (_completion, "lines for a shell's start file that complete what is typed"),
}
ARGUMENTS = {
    "list": {
        "study": STUDY,
        "-v --verbose": "with its source, and the size at which it was judged",
        "--claims": "the sentences of a study that are judged",
        "--json": JSON,
    },
    "info": {
        "study": STUDY,
        "-v --verbose": "every claim with what it allows, every parameter with its meaning",
        "--pilot": _PILOT,
        "--json": JSON,
    },
    "new": {"file": "file to write, such as mine.py"},
    "check": {"study": STUDY, "--pilot": _PILOT},
    "cite": {"study": STUDY},
    "completion": {"shell": "bash, zsh or fish"},
}
