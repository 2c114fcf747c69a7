"""The command line. Every option of a study is made from its ``Parameters``; only the named study is imported."""

import argparse
import dataclasses
import errno
import io
import json
import shlex
import shutil
import signal
import sys
import threading
from pathlib import Path

from foretrain.errors import ForetrainError, argument_error, nearest
from foretrain.words import encodable, outcome

EPILOG = "Results go to runs/<study>-<hash> unless --out says otherwise; a finished run is shown, not trained again."


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line in the grammar of `foretrain.errors`."""

    def error(self, message):
        raise argument_error("command line", "be understood", message)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a checked claim fails, 2 bad input, 3 runs lost."""
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a table is printed, whatever the terminal can show
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # A cluster that stops a job must find it checkpointed and its lock released.
        signal.signal(signal.SIGTERM, _stop)
    try:
        arguments = _parse(argv)
        return arguments.command(arguments)
    except ForetrainError as error:
        print(f"foretrain: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("foretrain: interrupted; the same command goes on from here.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("foretrain: there is no space left where the output goes.", file=sys.stderr)
        return 2


def _stop(number, frame):
    raise KeyboardInterrupt


def _parse(argv):
    parser = _Parser(prog="foretrain", description=_description(), epilog=EPILOG)
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="name", metavar="command", parser_class=_Parser)
    made = {}
    for name, (function, about) in _COMMANDS.items():
        made[name] = commands.add_parser(name, help=about, description=about)
        made[name].set_defaults(command=function)
    _add_arguments(made, argv)
    if argv and not argv[0].startswith("-") and argv[0] not in _COMMANDS:
        raise argument_error("command", "be known", f"is `{argv[0]}`", nearest(argv[0], _COMMANDS))
    arguments, unknown = parser.parse_known_args(argv)
    if arguments.version:
        arguments.command = _version
    elif arguments.name is None and not unknown:
        parser.print_help()
        arguments.command = lambda _: 0
    elif unknown:
        asked = made.get(arguments.name, parser)
        options = [option for action in asked._actions for option in action.option_strings]
        raise argument_error(
            "command line",
            "have known options",
            f"has `{unknown[0]}`",
            nearest(unknown[0], options),
        )
    return arguments


def _description():
    return "Predict how a network will learn from a reduced theory, train it, and judge claim by claim."


def _add_arguments(made, argv):
    run, sweep = made["run"], made["sweep"]
    run.add_argument(
        "study", help="name of a study, see `foretrain list`, or path of one of your own"
    )
    run.add_argument(
        "--preset", default="quick", help="quick (default), or another of the study's presets"
    )
    run.add_argument("--config", type=Path, help="TOML file with parameters; flags take precedence")
    run.add_argument("--seeds", type=int, help="number of seeds")
    run.add_argument("--root-seed", type=int, default=0, help="root of all random streams")
    sweep.add_argument("config", type=Path, help="TOML file: study, fixed parameters, axes, seeds")
    for parser in (run, sweep):
        parser.add_argument("--out", type=Path, help="folder for the results")
        parser.add_argument(
            "--workers", type=int, help="processes; default one per core, 0 for this process"
        )
        parser.add_argument(
            "--checkpoint-every", type=float, default=60.0, help="seconds between checkpoints"
        )
        parser.add_argument(
            "--shard", help="i/n: only the i-th of n parts, for many machines on one folder"
        )
        parser.add_argument("--scheduler", help="address of a dask scheduler that runs the grid")
        parser.add_argument(
            "--keep-state",
            default="no",
            metavar="when",
            help="store all parameters of every run too: no (default), at its end, or at all observations",
        )
        parser.add_argument(
            "--retry-failed", action="store_true", help="train runs again that failed before"
        )
        parser.add_argument(
            "--retrain", action="store_true", help="train runs again that other code has made"
        )
        parser.add_argument(
            "--keep",
            action="store_true",
            help="add to runs that other code has made; the page says so",
        )
        parser.add_argument(
            "--data-dir", type=Path, help="where real data lie; remembered in the folder"
        )
        parser.add_argument(
            "--yes", action="store_true", help="start a very large grid without asking"
        )
        parser.add_argument("--quiet", action="store_true", help="no progress, no table")
        _add_verbose(parser)
        parser.add_argument("--check", action="store_true", help="exit with 1 if a claim fails")
    sweep.add_argument("--explain", action="store_true", help="print what would run and leave")
    sweep.add_argument(
        "--emit-sbatch",
        type=int,
        metavar="n",
        help="print a SLURM array script of n shards and leave",
    )
    for name in ("show", "report", "export"):
        made[name].add_argument("folder", type=Path, help="folder of results")
    made["report"].add_argument(
        "--study", help="path of the study, where it has moved or has another name now"
    )
    made["show"].add_argument("--check", action="store_true", help="exit with 1 if a claim fails")
    made["show"].add_argument(
        "--markdown", action="store_true", help="the claims alone, as a Markdown table"
    )
    made["export"].add_argument("--to", required=True, help="netcdf, csv or parquet")
    made["export"].add_argument(
        "--out", type=Path, help="file or folder to write; default beside the results"
    )
    made["show"].add_argument("--json", action="store_true", help="the summary, as JSON")
    _add_verbose(made["show"])
    for name in ("cite", "check"):
        made[name].add_argument("study", help="name of a study, or path of one of your own")
    made["info"].add_argument("study", help="name of a study, or path of one of your own")
    for name in ("first", "second"):
        made["compare"].add_argument(name, type=Path, help=f"{name} folder of results")
    made["compare"].add_argument("--out", type=Path, help="folder for a page of both")
    for name in ("list", "info", "predict", "compare"):
        made[name].add_argument("--json", action="store_true", help="as JSON, for a program")
    made["list"].add_argument("study", nargs="?", help="name or path of a study")
    made["list"].add_argument(
        "--claims", action="store_true", help="the sentences of a study that are judged"
    )
    made["new"].add_argument("file", type=Path, help="file to write, such as mine.py")
    _add_prediction(made["predict"])
    _add_analysis(made["analyze"])
    if argv and argv[0] == "run" and (study := _study_in(argv[1:], run)) is not None:
        _add_parameters(run, study)


def _add_verbose(parser):
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="claims with their sentences and sources"
    )


def _study_in(words, parser):
    """The word that stands where the study does: the first one that is neither an option nor the value of one."""
    options, takes_value = parser._option_string_actions, False
    for word in words:
        if takes_value:
            takes_value = False
        elif not word.startswith("-"):
            return word
        elif word != "--":
            start = word.split("=")[0]  # argparse takes any unmistakable beginning of an option
            meant = [start] if start in options else [n for n in options if n.startswith(start)]
            if not meant:
                raise argument_error(
                    "command line",
                    "name the study before its options",
                    f"has `{word}` first",
                    "Try foretrain run <study> and then the options.",
                )
            takes_value = "=" not in word and options[meant[0]].nargs != 0
    return None


def _load(study):
    """The study of that name or path; a mistake in its file is one line that names the place."""
    from foretrain.plans.author import loaded

    return loaded(study)


def _add_parameters(parser, study):
    from foretrain.plans.parameters import rules, types

    found = _load(study)
    kinds = types(found.Parameters)
    group = parser.add_argument_group(f"parameters of {study} (several values make an axis)")
    for name, rule in rules(found.Parameters).items():
        choices = f" ({', '.join(rule.choices)})" if rule.choices else ""
        default = found.Parameters.__dataclass_fields__[name].default
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"parameter_{name}",
            nargs="+",
            metavar=kinds[name].__name__,
            help=f"{rule.meaning}{choices}; default {default}".replace("%", "%%"),
        )


def _add_prediction(parser):
    parser.add_argument(
        "files", nargs="+", help="graph.toml data.npz; more data files, or more pairs, are ranked"
    )
    parser.add_argument(
        "--init-scale",
        default=0.01,
        help="strength of every edge if decoupled; else standard deviation, or factor of an orthogonal matrix; default 0.01",
    )
    parser.add_argument(
        "--init-law",
        help="decoupled, normal, orthogonal, xavier_normal or xavier_uniform; default decoupled where the "
        "reduction is exact and nothing is trained, else normal",
    )
    parser.add_argument("--times", nargs="+", help="times at which the loss is wanted")
    parser.add_argument("--until", help="last time of the expected loss")
    parser.add_argument(
        "--approximate",
        action="store_true",
        help="the reduction even where the data allow no exact one; the residual is printed",
    )
    parser.add_argument(
        "--train",
        action="store_true",
        help="train the same graph from small random weights beside the prediction, and judge it",
    )
    parser.add_argument(
        "--seeds",
        default=5,
        help="networks trained, and a quarter of the draws followed; default 5",
    )
    parser.add_argument(
        "--learning-rate", help="of the networks trained; default 0.02 over the largest curvature"
    )
    parser.add_argument(
        "--out", type=Path, help="folder for prediction.json, the page and the figure"
    )


def _add_analysis(parser):
    parser.add_argument(
        "models", nargs="+", help="model.safetensors or model.npz; further ones are other seeds"
    )
    parser.add_argument("--data", required=True, help="inputs as an .npy file, (example, input)")
    parser.add_argument("--activation", default="relu", help="between layers; default relu")
    parser.add_argument(
        "--noise-scale",
        help="behavioural loss that counts as none, or `seeds`: as several models differ",
    )
    parser.add_argument("--loss", default="mse", help="mse (default) or kl, of what is sampled")
    parser.add_argument("--modules", type=int, help="how many; default by modularity")
    parser.add_argument(
        "--points", type=int, default=5, help="of the integral of an edge; default 5"
    )
    parser.add_argument("--draws", type=int, default=200, help="of each chain; 0 samples nothing")
    parser.add_argument(
        "--out", type=Path, help="folder for the page; default runs/analyze-<model>"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _run(arguments):
    from foretrain.laboratory.conduct import conduct, data_from
    from foretrain.plans.config import read_config
    from foretrain.plans.plan import make_plan

    study = _load(arguments.study)
    values = read_config(arguments.config, study) if arguments.config else {}
    seeds = values.pop("seeds", None) if arguments.seeds is None else arguments.seeds
    values.pop("seeds", None)
    for name, texts in vars(arguments).items():
        if name.startswith("parameter_") and texts is not None:
            name = name.removeprefix("parameter_")
            items = [_value(study, name, text) for text in texts]
            values[name] = items if len(items) > 1 else items[0]
    given = {"preset": arguments.preset, "seeds": seeds, "root_seed": arguments.root_seed}
    with data_from(arguments.data_dir, arguments.out):
        plan = make_plan(study, values, **given, yes=arguments.yes)
    return _finish(conduct(plan, **_engine_options(arguments)), arguments)


def _sweep(arguments):
    from foretrain.laboratory.conduct import conduct, data_from, folder_of
    from foretrain.plans.config import read_sweep

    if arguments.explain:
        from foretrain.laboratory.explain import explain

        print(explain(arguments.config, arguments.out, yes=arguments.yes))
        return 0
    if arguments.emit_sbatch is not None:
        from foretrain.engine.cluster import sbatch_script

        plan, out = read_sweep(arguments.config, arguments.yes)
        folder = folder_of(plan, arguments.out or out)
        options = []
        if arguments.keep_state != "no":
            options += ["--keep-state", arguments.keep_state]
        if arguments.checkpoint_every != 60.0:
            options += ["--checkpoint-every", f"{arguments.checkpoint_every!r}"]
        for flag in ("retry_failed", "retrain", "keep", "yes"):
            options += [f"--{flag.replace('_', '-')}"] * getattr(arguments, flag)
        if arguments.data_dir is not None:
            options += ["--data-dir", str(arguments.data_dir.resolve())]
        shards = arguments.emit_sbatch
        print(
            sbatch_script(plan.study.name, arguments.config, folder, shards, options=options),
            end="",
        )
        return 0
    with data_from(arguments.data_dir, arguments.out):
        plan, out = read_sweep(arguments.config, arguments.yes)
    options = {**_engine_options(arguments), "out": arguments.out or out}
    return _finish(conduct(plan, **options), arguments)


def _engine_options(arguments):
    return {
        "out": arguments.out,
        "workers": arguments.workers,
        "checkpoint_every": arguments.checkpoint_every,
        "shard": arguments.shard,
        "scheduler": arguments.scheduler,
        "keep_state": arguments.keep_state,
        "retry_failed": arguments.retry_failed,
        "retrain": arguments.retrain,
        "keep": arguments.keep,
        "data_dir": arguments.data_dir,
        "quiet": arguments.quiet,
    }


def _value(study, name, text):
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
            print(f"\nPage: {page}")
    _tell_troubles(result.path)
    if read_summary(result.path).lost:
        return 3
    return _verdict(result.claims, arguments)


def _tell_troubles(folder):
    from foretrain.laboratory.conduct import troubles

    for line in troubles(folder):
        print(f"foretrain: {line}", file=sys.stderr)


def _verdict(claims, arguments):
    from foretrain.claims.claim import INCONCLUSIVE, unmet

    if not arguments.check:
        return 0
    failing = unmet(claims)
    still_open = sum(claim.verdict == INCONCLUSIVE for claim in claims)
    told = f"foretrain: {len(failing)} claims fail, {still_open} are inconclusive."
    print(told, file=sys.stderr)
    return 1 if failing else 0


def _list(arguments):
    from foretrain.plans import catalogue

    if arguments.study is not None:
        return _list_study(arguments)
    if arguments.claims:
        raise argument_error(
            "study", "be named with `--claims`", "is not", "Try foretrain list routing --claims."
        )
    cards = [catalogue.card(name) for name in catalogue.names()]
    if arguments.json:
        _print_json([dataclasses.asdict(card) for card in cards])
        return 0
    width = max(len(card.name) for card in cards)
    for card in cards:
        print(f"{card.name:<{width}}  {card.summary}")
        print(f"{'':<{width}}  {card.source}" + (f"; about {card.cost}" if card.cost else ""))
    return 0


def _list_study(arguments):
    from foretrain.words import interval

    study = _load(arguments.study)
    if arguments.json:
        from foretrain.laboratory.info import info

        _print_json(info(study))
        return 0
    print(study.card.summary)
    print(f"{study.card.source}; about {study.card.cost}; presets {', '.join(study.presets)}")
    for said in study.sentences if arguments.claims else ():
        allowed = "as the parameters say" if callable(said.allowed) else interval(*said.allowed)
        print(f"\n{said.id}: {said.statement}")
        print(f"    allowed {allowed}: {said.why}")
        print(f"    {said.source}" + (f"; along {', '.join(said.over)}" if said.over else ""))
    return 0


def _info(arguments):
    from foretrain.laboratory.info import info, told

    found = info(arguments.study)
    if arguments.json:
        _print_json(found)
    else:
        columns = min(120, max(60, shutil.get_terminal_size().columns))
        print(encodable(told(found, columns), sys.stdout.encoding))
    return 0


def _print_json(found):
    print(json.dumps(found, indent=2, ensure_ascii=False))


def _new(arguments):
    from foretrain.laboratory.template import write_template

    file = write_template(arguments.file)
    print(f"Written: {file}. Try `foretrain run {shlex.quote(str(file))}`.")
    return 0


def _check(arguments):
    from foretrain.laboratory.check import check

    lines = check(arguments.study)
    for line in lines:
        print(line)
    return 2 if lines else 0


def _show(arguments):
    """The claims as the summary holds them, without opening the store, which takes longer than reading them."""
    from foretrain.claims.table import ClaimTable
    from foretrain.errors import path_argument
    from foretrain.results.summary import FILE, read_summary

    folder = path_argument("folder", arguments.folder)
    summary = read_summary(folder)
    claims = ClaimTable(summary.claims)
    if arguments.json:
        print((folder / FILE).read_text(encoding="utf-8"))
    elif arguments.markdown:
        print(claims.to_markdown())
    else:
        axes = "".join(f", {name} of {len(values)} values" for name, values in summary.axes.items())
        print(f"{summary.study}: {summary.summary}")
        print(f"  folder  {folder}")
        print(f"  seeds   {summary.seeds}{axes}; preset {summary.preset or 'unknown'}")
        ended = (f"{count} {outcome(name)}" for name, count in summary.runs.items())
        print(f"  runs    {', '.join(ended)}")
        for line in (*summary.history, *summary.problems):
            print(f"  note    {line}")
        print()
        claims.show(details=arguments.verbose)
    return _verdict(claims, arguments)


def _report(arguments):
    from foretrain.laboratory.conduct import rebuild
    from foretrain.laboratory.index import results_below, write_index
    from foretrain.report.page import FILE_NAME

    if not (arguments.folder / "manifest.json").exists() and results_below(arguments.folder):
        print(f"Page: {write_index(arguments.folder)}")
        return 0
    rebuild(arguments.folder, arguments.study, quiet=False)
    print(f"Page: {arguments.folder / FILE_NAME}")
    _tell_troubles(arguments.folder)
    return 0


def _compare(arguments):
    from foretrain.laboratory.compare import compare, write_comparison

    found = compare(arguments.first, arguments.second)
    if arguments.json:
        _print_json(found.as_dict())
    else:
        print(encodable(str(found), sys.stdout.encoding))
    if arguments.out is not None:
        told = sys.stderr if arguments.json else sys.stdout
        print(f"Page: {write_comparison(found, arguments.out)}", file=told)
    return 0


def _export(arguments):
    from foretrain.results.export import export
    from foretrain.results.result import open_result

    endings = {"netcdf": "results.nc", "csv": "csv", "parquet": "parquet"}
    out = arguments.out or arguments.folder / endings.get(arguments.to, "export")
    for path in export(open_result(arguments.folder), arguments.to, out):
        print(f"Written: {path}")
    return 0


def _predict(arguments):
    from foretrain.forecast import files as prediction_files
    from foretrain.forecast import predict as prediction

    names = ("init_scale", "init_law", "approximate", "train", "seeds", "learning_rate")
    options = {name: getattr(arguments, name) for name in names}
    options["tell"] = lambda line: print(line, file=sys.stderr, flush=True)
    times = prediction_files.read_times(arguments.times, arguments.until)
    candidates = prediction_files.read_candidates(arguments.files)
    if len(candidates) > 1:
        found = prediction.rank(candidates, times=times, **options)
    else:
        ((label, (graph, data)),) = candidates.items()
        found = prediction.predict(graph, data, times=times, label=label, **options)
    if arguments.json:
        _print_json(found.as_dict())
    else:
        print(found)
    if arguments.out is not None:
        written = prediction_files.write(found, arguments.out)
        told = "\n".join(f"Written: {path}" for path in written)
        print(told, file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _analyze(arguments):
    from foretrain.laboratory.analyze import analyze_files, check_folder, write

    out = arguments.out or Path("runs") / f"analyze-{Path(arguments.models[0]).stem}"
    check_folder(out)
    told = analyze_files(
        arguments.models,
        arguments.data,
        activation=arguments.activation,
        noise_scale=arguments.noise_scale,
        loss=arguments.loss,
        modules=arguments.modules,
        points=arguments.points,
        draws=arguments.draws,
        tell=None if arguments.quiet else lambda line: print(line, file=sys.stderr),
    )
    print(told)
    print(f"\nPage: {write(told, out)}")
    return 0


def _cite(arguments):
    from foretrain.references import bibtex

    print(bibtex(_load(arguments.study).card.references))
    return 0


def _version(arguments):
    from foretrain import __version__

    print(__version__)
    return 0


_COMMANDS = {
    "list": (_list, "every study: one line, its source, its cost"),
    "info": (_info, "what a study asks, takes, claims and costs, before anything is run"),
    "run": (_run, "run a study and judge its claims"),
    "new": (_new, "write the smallest study that runs, to start from"),
    "check": (_check, "what a study lacks, before anything is trained"),
    "sweep": (_sweep, "run a study over the grid of a TOML file"),
    "show": (_show, "print the claims of a folder of results"),
    "report": (
        _report,
        "rebuild figures and page from stored results, or an index of a folder of them",
    ),
    "compare": (_compare, "two folders of results side by side"),
    "export": (_export, "write results for other tools"),
    "predict": (_predict, "what a gated network will learn and when, from its graph and data"),
    "analyze": (_analyze, "how much of a network is free, where, and what is left of it"),
    "cite": (_cite, "BibTeX of what a study rests on"),
}
