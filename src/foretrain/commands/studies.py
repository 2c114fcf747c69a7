"""What every command does, given its parsed arguments; each returns the exit code."""

import dataclasses
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from foretrain.commands.networks import compare, explain, predict
from foretrain.errors import ForetrainError, argument_error
from foretrain.plans.options import FIELDS, split, words
from foretrain.words import (
    columns,
    complain,
    duration,
    encodable,
    fold,
    outcome,
    print_json,
    room,
    say,
)

_ROOT = 32  # digits of a root that fit into a line


def load(study, *parts):
    """Load the study of that name or path, all its files or some; a mistake in one is a line that names the place."""
    from foretrain.plans.author import ROLES, loaded

    return loaded(study, parts or ROLES)


def _run(arguments):
    from foretrain.laboratory.conduct import conduct, data_from
    from foretrain.plans.config import read_config
    from foretrain.plans.plan import make_plan

    study = load(arguments.study)
    values = read_config(arguments.config, study) if arguments.config else {}
    seeds = values.pop("seeds", None) if arguments.seeds is None else arguments.seeds
    values.pop("seeds", None)
    for name, texts in vars(arguments).items():
        if name.startswith("parameter_") and texts is not None:
            name = name.removeprefix("parameter_")
            items = [value(study, name, text) for text in texts]
            values[name] = items if len(items) > 1 else items[0]
    options = replace(_options(arguments), seeds=seeds)
    with data_from(options.data_dir, options.out):
        plan = make_plan(study, values, **options.of_plan)
    if arguments.explain:
        return _explain(plan, options.out, options.workers)
    return _finish(conduct(plan, options), arguments)


def _explain(plan, out, workers):
    from foretrain.laboratory.conduct import folder_of
    from foretrain.laboratory.explain import explain

    print(explain(plan, folder_of(plan, out), workers))
    return 0


def _sweep(arguments):
    from foretrain.laboratory.conduct import conduct, data_from, folder_of
    from foretrain.plans.config import read_sweep

    if arguments.emit_sbatch is not None:
        from foretrain.commands.sbatch import sbatch_script

        plan, out = read_sweep(arguments.config, arguments.yes)
        folder = folder_of(plan, arguments.out or out)
        given = vars(arguments)
        if arguments.data_dir is not None:
            given["data_dir"] = arguments.data_dir.resolve()
        again = words(given, (name for name in given if name in FIELDS and name not in _OF_SHARD))
        shards = arguments.emit_sbatch
        print(
            sbatch_script(plan.study.name, arguments.config, folder, shards, options=again), end=""
        )
        return 0
    options = _options(arguments)
    with data_from(options.data_dir, options.out):
        plan, out = read_sweep(arguments.config, options.yes)
    if arguments.explain:
        return _explain(plan, options.out or out, options.workers)
    return _finish(conduct(plan, replace(options, out=options.out or out)), arguments)


# A script of shards says these itself.
_OF_SHARD = ("out", "workers", "shard", "scheduler", "quiet")


def _options(arguments):
    return split(vars(arguments))[0]


def value(study, name, text):
    """One value of a parameter from its text, in the parameter's type."""
    from foretrain.plans.parameters import types

    kind = types(study.Parameters)[name]
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise argument_error(name, "be true or false", f"is `{text}`")
        return text.lower() == "true"
    if kind is str:
        return text
    try:
        return int(text) if kind is int else float(text)
    except ValueError:
        if kind is int:
            raise argument_error(name, "be a whole number", f"is `{text}`") from None
        raise argument_error(name, "be a number", f"is `{text}`") from None


def _finish(result, arguments):
    from foretrain.results.summary import read_summary

    if result is None:
        if not arguments.quiet:
            print("This part is done; the last part to finish judges the whole.")
        return 0
    if not arguments.quiet:
        result.claims.show(details=arguments.verbose)
        page = result.path / "report.html"
        if page.exists():
            print(f"Page: {page}")
    summary = read_summary(result.path)
    if not arguments.quiet:
        for line in summary.remarks:
            _print_folded(line, "note: ", "      ")
    _tell_troubles(result.path)
    if summary.lost:
        return 3
    return _verdict(result.claims, arguments)


def _tell_troubles(folder):
    from foretrain.laboratory.conduct import troubles

    for line in troubles(folder):
        complain(line)


def _verdict(claims, arguments):
    from foretrain.claims.claim import INCONCLUSIVE, unmet

    if not arguments.check:
        return 0
    failing = unmet(claims)
    still_open = sum(claim.verdict == INCONCLUSIVE for claim in claims)
    complain(f"{len(failing)} claims fail, {still_open} are inconclusive.")
    return 1 if failing else 0


def _list(arguments):
    from foretrain.laboratory.listing import list_studies
    from foretrain.registry.sizes import notes

    if arguments.study is not None:
        return _list_study(arguments)
    if arguments.claims:
        repair = "Try foretrain list routing --claims."
        raise argument_error("study", "be named with `--claims`", "is not", repair)
    listing, sizes = list_studies(), notes()
    if arguments.json:
        cards = [dataclasses.asdict(card) for card in listing]
        print_json([card | {"document_size": sizes.get(card["name"])} for card in cards])
    else:
        told = {name: f"At the document's size: {text}." for name, text in sizes.items()}
        print(encodable(listing.text(room(), told), sys.stdout.encoding))
    return 0


def _print_folded(text, first="", rest="  "):
    """Print a text, in lines that a terminal has room for; a program that reads it gets one line."""
    text = fold(text, columns(), first, rest) if sys.stdout.isatty() else first + text
    print(encodable(text, sys.stdout.encoding))


def _list_study(arguments):
    from foretrain.words import interval

    study = load(arguments.study, "study", "claims")
    if arguments.json:
        from foretrain.laboratory.info import info

        print_json(info(study))
        return 0
    _print_folded(study.card.summary)
    cost = f"about {study.card.cost}; " if study.card.cost else ""
    _print_folded(f"{study.card.source}; {cost}presets {', '.join(study.presets)}")
    for said in study.sentences if arguments.claims else ():
        allowed = "as the parameters say" if callable(said.inside) else interval(*said.inside)
        along = f"; along {', '.join(said.along)}" if said.along else ""
        print()
        _print_folded(f"{said.id}: {said.statement}")
        for line in (f"allowed {allowed}: {said.why}", f"{said.source}{along}"):
            _print_folded(line, "    ", "    ")
    return 0


def _info(arguments):
    from foretrain.laboratory.info import info
    from foretrain.registry.needed import lines

    card = info(arguments.study)
    card["needs"] = lines(card["study"], arguments.pilot)
    if arguments.json:
        print_json(card)
    else:
        print(encodable(card.text(columns()), sys.stdout.encoding))
    return 0


def _new(arguments):
    from foretrain.laboratory.template import write_template

    file = write_template(arguments.file)
    print(f"Written: {file}. Try `foretrain run {shlex.quote(str(file))}`.")
    return 0


def _check(arguments):
    from foretrain.laboratory.check import check
    from foretrain.registry.needed import lines as needed

    lines = check(arguments.study)
    for line in lines or needed(arguments.study, arguments.pilot):
        print(line)
    if lines.seconds is not None:
        print(f"The first run took {duration(lines.seconds)}.")
    return 2 if lines else 0


def _show(arguments):
    """The claims as the summary holds them, without opening the store, which takes longer than reading them."""
    from foretrain.claims.table import ClaimTable
    from foretrain.errors import path_argument
    from foretrain.laboratory.folder import changed_since
    from foretrain.results.root import doubts, root_of, warnings
    from foretrain.results.summary import FILE, read_summary

    folder = path_argument("folder", arguments.folder)
    summary = read_summary(folder)
    claims = ClaimTable(summary.claims)
    stored = _stored_claims(folder) if arguments.check else None
    for line in warnings(folder, stored):
        complain(line)
    if arguments.json:
        print((folder / FILE).read_text(encoding="utf-8"))
    elif arguments.markdown:
        print(claims.to_markdown())
    else:
        axes = "".join(f", {name} of {len(values)} values" for name, values in summary.axes.items())
        _print_folded(f"{summary.study}: {summary.summary}")
        since = summary.created_at.partition("T")[0]
        ended = (f"{count} {outcome(name)}" for name, count in summary.runs.items())
        facts = [
            ("stored", f"{folder}, {since}" if since else str(folder)),
            ("seeds", f"{summary.seeds}{axes}; preset {summary.preset or 'unknown'}"),
            ("runs", ", ".join(ended)),
            ("root", root_of(folder)[:_ROOT] or "none"),
            *(("note", line) for line in (*summary.remarks, *summary.history, *summary.problems)),
            *(("note", line) for line in changed_since(folder, summary.codes)),
        ]
        for name, text in facts:
            _print_folded(text, f"  {name:<8}", " " * 10)
        print()
        claims.show(details=arguments.verbose)
    return 2 if arguments.check and doubts(folder, stored) else _verdict(claims, arguments)


def _stored_claims(folder):
    from foretrain.results.result import open_result

    return open_result(folder).claims


def _report(arguments):
    from foretrain.errors import UnknownStudyError
    from foretrain.laboratory.conduct import rebuild
    from foretrain.laboratory.index import results_below, write_index
    from foretrain.laboratory.stored_page import page_of_stored
    from foretrain.report.page import FILE_NAME

    folder, out = arguments.folder, arguments.out
    if not os.path.exists(folder / "manifest.json") and results_below(folder):
        print(f"Page: {write_index(folder, out)}")
        return 0
    if out is not None:
        print(f"Page: {page_of_stored(folder, out, arguments.study)}")
        return 0
    try:
        rebuild(folder, arguments.study, quiet=False)
    except UnknownStudyError as error:
        page = page_of_stored(folder)
        complain(f"Nothing was judged or drawn anew. {error}")
    else:
        page = folder / FILE_NAME
    print(f"Page: {page}")
    _tell_troubles(folder)
    return 0


def _export(arguments):
    from foretrain.results.export import export_folder

    for path in export_folder(arguments.folder, arguments.to, arguments.out):
        print(f"Written: {path}")
    return 0


def _analyze(arguments):
    from foretrain.analyze.analyze import analyze_files
    from foretrain.commands.networks import answered

    if arguments.out is None:
        arguments.out = _default_folder(arguments.models[0])
    names = "labels outputs layers part activation noise_scale loss modules resolution points seconds wiring"
    options = {name: getattr(arguments, name) for name in names.split()}
    options["tell"] = None if arguments.quiet else say

    def find():
        try:
            return analyze_files(arguments.models, arguments.data, **options)
        except KeyboardInterrupt:
            complain("interrupted.")
            os._exit(130)  # at an orderly end what XLA still computes would crash

    return answered(find, arguments)


def _default_folder(model):
    """Folder of the page of a model: named by the model's file, and by its name in a Python file."""
    file, _, inside = model.partition(".py:")
    name = Path(file)
    return Path("runs") / f"analyze-{f'{name.name}-{inside}' if inside else name.stem}"


def _cite(arguments):
    from foretrain.laboratory.listing import cite

    print(cite(arguments.study))
    return 0


def _completion(arguments):
    try:
        import argcomplete
    except ImportError:
        raise ForetrainError(
            "Completion needs argcomplete, which is not installed. "
            'Try `python -m pip install "foretrain[completion]"`.'
        ) from None
    print(argcomplete.shellcode(["foretrain"], shell=arguments.shell))
    return 0


def version(arguments):
    """Print the version."""
    from foretrain import __version__

    print(__version__)
    return 0


COMMANDS = {
    "list": (_list, "every study: one line, its source, its cost"),
    "info": (_info, "what a study asks, takes, claims and costs, before anything is run"),
    "run": (_run, "run a study and judge its claims"),
    "new": (_new, "write the smallest study that runs, to start from"),
    "check": (_check, "what a study lacks, before anything is trained"),
    "sweep": (_sweep, "run a study over the grid of a TOML file"),
    "show": (_show, "print the claims of a folder of results"),
    "report": (_report, "rebuild figures and page from stored results, or an index of many"),
    "compare": (
        compare,
        "two folders of results side by side, or measured curves and a prediction",
    ),
    "export": (_export, "write results for other tools"),
    "predict": (predict, "what a gated network will learn and when, from its graph and data"),
    "explain": (explain, "why a network of one's own does not do what theory says"),
    "analyze": (_analyze, "how much of a network is free, where, and what is left of it"),
    "cite": (_cite, "BibTeX of what a study rests on"),
    "completion": (_completion, "lines for a shell's start file that complete what is typed"),
}
