"""The verbs on runs: make them, show what came out, make its page, export it. Each returns its exit code, None for 0."""

import json
import os
from dataclasses import replace
from pathlib import Path

import foretrain
from foretrain.commands.studies import JSON, STUDY
from foretrain.plans.options import FIELDS, split, words
from foretrain.words import complain, cut, outcome, print_folded, print_json, print_text

_FOLDER = {"folder": "folder of results"}
_JUDGED = {
    "-v --verbose": "every claim, why it allows what it does, its source",
    "--check": "exit with 1 if a claim fails",
}
_RUN = {"--explain": "print what would run, seconds and memory, and leave"} | _JUDGED
_OF_SHARD = ("out", "workers", "shard", "scheduler", "quiet")  # which the script of shards says


def _run(arguments):
    from foretrain.laboratory.conduct import data_from
    from foretrain.plans.author import loaded
    from foretrain.plans.config import read_config
    from foretrain.plans.plan import make_plan

    study = loaded(arguments.study)
    values = read_config(arguments.config, study) if arguments.config else {}
    options = split(vars(arguments))[0]
    if (seeds := values.pop("seeds", None)) is not None and options.seeds is None:
        options = replace(options, seeds=seeds)
    values |= typed_values(arguments)
    with data_from(options.data_dir, options.out):
        plan = make_plan(study, values, **options.of_plan)
    return _conducted(plan, options, arguments)


def _sweep(arguments):
    from foretrain.laboratory.conduct import data_from, folder_of
    from foretrain.laboratory.sbatch import sbatch_script
    from foretrain.plans.config import read_sweep

    options = split(vars(arguments))[0]
    with data_from(options.data_dir, options.out):
        plan, out = read_sweep(arguments.config, options.yes)
    options = replace(options, out=options.out or out)
    if arguments.emit_sbatch is None:
        return _conducted(plan, options, arguments)
    if options.data_dir is not None:
        options = replace(options, data_dir=Path(options.data_dir).resolve())
    again = words(vars(options), (name for name in FIELDS if name not in _OF_SHARD))
    folder, shards = folder_of(plan, options.out), arguments.emit_sbatch
    print(sbatch_script(plan.study.name, arguments.config, folder, shards, again), end="")


def typed_values(arguments):
    """Return the parameters of a study that were typed, by name: a value, or a list of several."""
    prefix, words = "parameter_", vars(arguments)
    typed = {n.removeprefix(prefix): words[n] for n in words if n.startswith(prefix)}
    return {n: items if len(items) > 1 else items[0] for n, items in typed.items() if items}


def _conducted(plan, options, arguments):
    from foretrain.laboratory.conduct import conduct, execution_options, folder_of, troubles
    from foretrain.results.summary import read_summary

    if arguments.explain:
        from foretrain.engine.cluster import connected
        from foretrain.laboratory.outlook import describe

        execution_options(options)
        if options.scheduler is not None:
            connected(options.scheduler).close()
        return print_text(describe(plan, folder_of(plan, options.out), options.workers))
    if (result := conduct(plan, options)) is None:
        if not arguments.quiet:
            print("This part is done; the last part to finish judges the whole.")
        return None
    assert result.path is not None, "what was run has a folder"
    summary = read_summary(result.path)
    if not arguments.quiet:
        result.claims.show(summary.runs, summary.wall_time_s, summary.study, arguments.verbose)
        if (page := result.path / "report.html").exists():
            print_text(f"Page: {page}")
        for line in summary.remarks:
            print_folded(line, "note: ", "      ")
    for line in troubles(result.path):
        complain(line)
    return _unjudged(summary) or _verdict(result.claims, arguments)


def _unjudged(summary):
    raised = any(line.startswith(("The sentence ", "The theory ")) for line in summary.problems)
    return 3 * (bool(summary.lost) or raised or set(summary.runs) == {"diverged"})


def _verdict(claims, arguments):
    from foretrain.claims.claim import INCONCLUSIVE, unmet

    if not arguments.check:
        return 0
    failing = unmet(claims)
    still_open = sum(claim.verdict == INCONCLUSIVE for claim in claims)
    complain(f"{len(failing)} claims fail, {still_open} are inconclusive.")
    return 1 if failing else 0


def _show(arguments):
    """The claims as the summary holds them, without opening the store, which takes longer than reading them."""
    from foretrain.claims.table import ClaimTable
    from foretrain.errors import path_argument
    from foretrain.laboratory.folder import changed_since
    from foretrain.provenance.reading import read_file
    from foretrain.results.decode import MOST_SUMMARY
    from foretrain.results.root import doubts, root_of, warnings
    from foretrain.results.summary import FILE, read_summary

    folder = path_argument("folder", arguments.folder)
    summary = read_summary(folder)
    claims = ClaimTable(summary.claims)
    stored = foretrain.open(folder, strict=False).claims if arguments.check else None
    for line in warnings(folder, stored):
        complain(line)
    if arguments.json:
        print_json(json.loads(read_file(folder / FILE, MOST_SUMMARY)))
    elif arguments.markdown:
        print_text(claims.to_markdown())
    else:
        axes = "".join(f", {cut(name)} of {len(vs)} values" for name, vs in summary.axes.items())
        study, since = cut(summary.study), cut(summary.created_at.partition("T")[0])
        print_folded(f"{study}: {summary.summary}")
        facts = [
            ("stored", f"{folder}, {since}" if since else str(folder)),
            ("seeds", f"{summary.seeds}{axes}; preset {cut(summary.preset) or 'unknown'}"),
            ("runs", ", ".join(f"{n} {outcome(name)}" for name, n in summary.runs.items())),
            ("root", root_of(folder)[:32] or "none"),  # so many digits fit into a line
            *(("note", line) for line in (*summary.remarks, *summary.history, *summary.problems)),
            *(("note", line) for line in changed_since(folder, summary.codes)),
        ]
        for name, text in facts:
            print_folded(text, f"  {name:<8}", " " * 10)
        print()
        claims.show(summary.runs, summary.wall_time_s, study, arguments.verbose)
    return 2 if arguments.check and doubts(folder, stored) else _verdict(claims, arguments)


def _report(arguments):
    from foretrain.errors import UnknownStudyError
    from foretrain.laboratory.conduct import troubles
    from foretrain.laboratory.index import results_below, write_index
    from foretrain.laboratory.stored_page import page_of_stored
    from foretrain.report.page import FILE_NAME
    from foretrain.results.summary import read_summary

    folder, out, code = arguments.folder, arguments.out, 0
    if not os.path.exists(folder / "manifest.json") and results_below(folder):
        page = write_index(folder, out)
    elif out is not None:
        page = page_of_stored(folder, out, arguments.study)
    else:
        try:
            foretrain.rebuild(folder, arguments.study, quiet=False)
            page, code = folder / FILE_NAME, _unjudged(read_summary(folder))
        except UnknownStudyError as error:
            page = page_of_stored(folder)
            complain(f"Nothing was judged or drawn anew. {error}")
        for line in troubles(folder):
            complain(line)
    print_text(f"Page: {page}")
    return code


def _export(arguments):
    for path in foretrain.export(arguments.folder, arguments.to, arguments.out):
        print_text(f"Written: {path}")


COMMANDS = {
    "run": (_run, "run a study and judge its claims"),
    "sweep": (_sweep, "run a study over the grid of a TOML file"),
    "show": (_show, "print the claims of a folder of results"),
    "report": (_report, "rebuild figures and page from stored results, or an index of many"),
    "export": (_export, "write results for other tools"),
}
ARGUMENTS = {
    "run": {"study": STUDY, "--config": "TOML file with parameters; flags take precedence", **_RUN},
    "sweep": {
        "config": "TOML file: study, fixed parameters, axes, seeds",
        "--emit-sbatch": "print a SLURM array script of so many shards",
        **_RUN,
    },
    "show": {**_FOLDER, **_JUDGED, "--markdown": "the claims alone, as a table", "--json": JSON},
    "report": {
        **_FOLDER,
        "--study": "path of the study, where it has moved or has another name now",
        "--out": "folder for a page of what is stored; nothing is judged anew or written beside the results",
    },
    "export": {
        **_FOLDER,
        "--to": "netcdf, csv or parquet",
        "--out": "file or folder to write; default beside the results",
    },
}
