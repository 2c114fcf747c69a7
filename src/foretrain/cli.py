"""The command line. Every option of a study is made from its ``Parameters``; only the named study is imported."""

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from foretrain.commands import COMMANDS, registry
from foretrain.commands.studies import load, version
from foretrain.errors import ArgumentError, ForetrainError, argument_error, nearest
from foretrain.plans.options import FIELDS, OF_GRID
from foretrain.words import complain

EPILOG = (
    "Results go to runs/<study>-<hash> unless --out says otherwise. What is there is shown, not trained again; asked for more "
    "seeds or values, foretrain trains what is missing."
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line in the grammar of `foretrain.errors`."""

    def error(self, message):
        raise argument_error("command line", "be understood", message)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a checked claim fails, 2 bad input, 3 runs lost."""
    argv = sys.argv[1:] if argv is None else argv
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        # A table is printed, whatever the terminal can show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # A cluster that stops a job must find it checkpointed and its lock released.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    options: dict[str, str] = {}
    try:
        arguments = _parse(argv, options)
        return arguments.command(arguments)
    except ArgumentError as error:
        option = options.get(error.argument)
        complain(str(error) if option is None else error.as_option(option))
        return 2
    except ForetrainError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from here" if argv[:1] in (["run"], ["sweep"]) else ""
        complain(f"interrupted{goes_on}.")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        complain("there is no space left where the output goes.")
        return 2


def _open_closed() -> None:
    """Let a stream that was closed before the start, as by ``2>&-``, take what is written and lose it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def _parse(argv, options=None):
    """Return the parsed arguments; fill `options`, name of each argument in Python to its option as it is typed.

    Arguments of `run` may stand in a file, too: an option counts where it is typed. Those of `sweep` do stand in one.
    """
    options = {} if options is None else options
    parser = _Parser(
        prog="foretrain",
        description="Predict how a network will learn from a reduced theory, train it, and judge claim by claim.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="name", metavar="command", parser_class=_Parser)
    made = {}
    for name, (function, about) in COMMANDS.items():
        made[name] = commands.add_parser(name, help=about, description=about)
        made[name].set_defaults(command=function)
    asked = _half_typed() if "_ARGCOMPLETE" in os.environ else None
    if asked is None:
        _add_arguments(made, argv)
    else:
        import argcomplete

        with contextlib.suppress(ForetrainError):  # of a study that is not there
            _add_arguments(made, asked)
        argcomplete.autocomplete(parser)  # prints what may follow and leaves
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise argument_error("command", "be known", f"is `{argv[0]}`", nearest(argv[0], COMMANDS))
    arguments, unknown = parser.parse_known_args(argv)
    typed = {word.partition("=")[0] for word in argv}
    for action in made[arguments.name]._actions if arguments.name else ():
        words = action.option_strings
        if words and arguments.name != "sweep" and (arguments.name != "run" or typed & {*words}):
            options[action.dest.removeprefix("parameter_")] = words[-1]
    if arguments.version:
        arguments.command = version
    elif arguments.name is None and not unknown:
        parser.print_help()
        arguments.command = lambda _: 0
    elif unknown:
        verb = made.get(arguments.name, parser)
        known = [option for action in verb._actions for option in action.option_strings]
        raise argument_error(
            "command line", "have known options", f"has `{unknown[0]}`", nearest(unknown[0], known)
        )
    return arguments


def _half_typed():
    """The whole words before the cursor, as the shell hands them over when it asks what may follow."""
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", 0))]
    return line.rpartition(" ")[0].split()[1:]


def _studies(prefix, **_):
    from argcomplete.completers import FilesCompleter

    from foretrain.plans import catalogue

    return [*catalogue.names(), *FilesCompleter(["py"])(prefix)]


_FLAG, _PATH = {"action": "store_true"}, {"type": Path}
_STUDY = "name of a study, see `foretrain list`, or path of one of your own"
# Verbs, name, meaning and kind of every argument but the options of a run and the parameters of a study.
_ARGUMENTS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("run cite check info", "study", _STUDY, {}),
    ("list", "study", _STUDY, {"nargs": "?"}),
    ("info check", "--pilot", "folder of stored runs by which seeds are estimated", _PATH),
    ("run", "--config", "TOML file with parameters; flags take precedence", _PATH),
    ("sweep", "config", "TOML file: study, fixed parameters, axes, seeds", _PATH),
    ("run sweep", "--explain", "print what would run, seconds and memory, and leave", _FLAG),
    ("sweep", "--emit-sbatch", "print a SLURM array script of so many shards", {"type": int}),
    ("show report export", "folder", "folder of results", _PATH),
    ("compare", "first", "first folder of results, or a .csv or .parquet file of curves", _PATH),
    ("compare", "second", "second folder of results, or one of predict or explain", _PATH),
    ("compare", "--learning-rate", "that of the curves, beside a folder of predict", {}),
    ("explain compare", "--step-column", "name of the column of steps in a file of curves", {}),
    ("explain compare", "--loss-column", "name of the columns of losses there", {}),
    (
        "run sweep show",
        "-v --verbose",
        "every claim, why it allows what it does, its source",
        _FLAG,
    ),
    ("run sweep show", "--check", "exit with 1 if a claim fails", _FLAG),
    ("report", "--study", "path of the study, where it has moved or has another name now", {}),
    (
        "report",
        "--out",
        "folder for a page of what is stored; nothing is judged anew or written beside the results",
        _PATH,
    ),
    ("show", "--markdown", "the claims alone, as a Markdown table", _FLAG),
    ("show list info predict explain analyze compare", "--json", "as JSON, for a program", _FLAG),
    ("list", "--claims", "the sentences of a study that are judged", _FLAG),
    ("export", "--to", "netcdf, csv, parquet or trackio", {"required": True}),
    ("export", "--out", "file or folder to write; default beside the results", _PATH),
    ("compare", "--out", "folder for a page of both", _PATH),
    ("completion", "shell", "bash, zsh or fish", {"choices": ("bash", "zsh", "fish")}),
    ("new", "file", "file to write, such as mine.py", _PATH),
    (
        "predict",
        "files",
        "graph.toml data.npz; more data files, or more pairs, are ranked",
        {"nargs": "+"},
    ),
    (
        "predict",
        "--init-scale",
        "strength of every edge if decoupled; else standard deviation, or factor of an orthogonal matrix; default 0.01",
        {"default": 0.01},
    ),
    (
        "predict",
        "--init-law",
        "decoupled, normal, orthogonal, xavier_normal or xavier_uniform; default decoupled where the reduction is exact and "
        "nothing is trained, else normal",
        {},
    ),
    ("predict", "--times", "times at which the loss is wanted", {"nargs": "+"}),
    ("predict", "--until", "last time of the expected loss", {}),
    (
        "predict",
        "--approximate",
        "take the reduction even where the data allow no exact one; the residual is printed",
        _FLAG,
    ),
    (
        "predict",
        "--train",
        "train the graph from small random weights beside it, and judge it",
        _FLAG,
    ),
    (
        "predict",
        "--seeds",
        "number of networks trained, and a quarter of the draws followed; default 5",
        {"default": 5},
    ),
    (
        "predict",
        "--learning-rate",
        "step of the networks trained; default 0.02 over the largest curvature",
        {},
    ),
    ("predict", "--out", "folder for prediction.json, the page and the figure", _PATH),
    (
        "explain",
        "model",
        "model.py with apply(weights, x) and init(key), model.py:name of a module, what makes one or (apply, init), or a file "
        "of weights; a Python file is run",
        {},
    ),
    ("explain", "data", "npz file of x, y, and perhaps x_test, y_test; or npy file of x", _PATH),
    ("explain", "--labels", "npy file of y, beside an npy file of x", _PATH),
    ("explain", "--learning-rate", "default learning_rate(step) of the model's file", {}),
    ("explain", "--steps", "number of steps", {"required": True}),
    ("explain", "--batch-size", "examples in a minibatch; default all", {}),
    ("explain", "--loss", "mse or cross_entropy; default the file's, else mse", {}),
    ("explain", "--optimizer", "sgd (default), momentum, adam or adamw", {"default": "sgd"}),
    ("explain", "--momentum", "of momentum; default 0.9", {"default": 0.9}),
    ("explain", "--weight-decay", "default 0", {"default": 0.0}),
    ("explain", "--seeds", "number of starts; default 16", {"default": 16}),
    (
        "explain",
        "--measured",
        "runs of this training made elsewhere: .csv or .parquet files of curves",
        {"nargs": "+", "type": Path},
    ),
    (
        "explain",
        "--from-zero",
        "compare with a theory of a network that begins at zero: the output at the start becomes a cause",
        {"action": "store_true"},
    ),
    ("explain", "--out", "folder of results and the page; default runs/explain-<hash>", _PATH),
    (
        "analyze",
        "models",
        "model.py:name, model.py or file of weights, as of explain; several are moments of training, or seeds",
        {"nargs": "+"},
    ),
    (
        "analyze",
        "--data",
        "npy file of inputs (example, input), or npz file of x, y",
        {"required": True},
    ),
    (
        "analyze",
        "--labels",
        "classes (example,) or targets (example, output), .npy: the loss of training",
        {},
    ),
    ("analyze", "--outputs", "what the model answers on the data, .npy: it is compared", {}),
    ("analyze", "--layers", "order of the layers, or submodules that are layers", {"nargs": "+"}),
    ("analyze", "--part", "names of parameters that move; all others stay", {"nargs": "+"}),
    ("analyze", "--activation", "nonlinearity between layers; default relu", {"default": "relu"}),
    (
        "analyze",
        "--noise-scale",
        "loss that counts as none, or `seeds`: the variance between several models; default from the data",
        {},
    ),
    ("analyze", "--loss", "mse or kl; default kl with classes as labels, else mse", {}),
    ("analyze", "--modules", "number of modules; default as many as surprise most", {"type": int}),
    ("analyze", "--resolution", "of the modules; default from the graph", {"type": float}),
    ("analyze", "--wiring", "over training: modules of every moment, too", _FLAG),
    (
        "analyze",
        "--points",
        "points of the integral of an edge; default 5",
        {"type": int, "default": 5},
    ),
    (
        "analyze",
        "--seconds",
        "time for sampling, 0 for none; default 60",
        {"type": float, "default": 60.0},
    ),
    ("analyze", "--out", "folder for the page; default runs/analyze-<model>", _PATH),
    ("analyze", "--quiet", "no progress", _FLAG),
)


def _add_arguments(made, argv):
    for verbs, name, about, how in (*_ARGUMENTS, *registry.ARGUMENTS):
        for verb in verbs.split():
            option = made[verb].add_argument(*name.split(), help=about, **how)
            if name == "study":
                option.completer = _studies
    for verb in ("run", "sweep"):
        for name, item in FIELDS.items():
            if verb == "run" or name not in OF_GRID:
                _add_option(made[verb], name, item)
    run = made["run"]
    if argv and argv[0] == "run" and (study := _study_in(argv[1:], run)) is not None:
        _add_parameters(run, study)


def _add_option(parser, name, item):
    kind, meaning = item.metadata["kind"], item.metadata["meaning"]
    how = {"action": "store_true"} if kind is bool else {"type": kind, "default": item.default}
    parser.add_argument(f"--{name.replace('_', '-')}", help=meaning, **how)


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


def _add_parameters(parser, study):
    from foretrain.plans.parameters import rules, types

    found = load(study, "study")
    kinds = types(found.Parameters)
    group = parser.add_argument_group(f"parameters of {study} (several values make an axis)")
    for name, rule in rules(found.Parameters).items():
        choices = f" ({', '.join(rule.choices)})" if rule.choices else ""
        default = found.Parameters.__dataclass_fields__[name].default
        option = group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"parameter_{name}",
            nargs="+",
            metavar=kinds[name].__name__,
            help=f"{rule.words}{choices}; default {default}".replace("%", "%%"),
        )
        values = rule.choices or ("true", "false") * (kinds[name] is bool)
        option.completer = lambda values=values, **_: values
