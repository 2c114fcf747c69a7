"""The command line. Every option of a study is parsers from its ``Parameters``; only the named study is imported."""

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

from foretrain.commands import COMMANDS
from foretrain.commands.studies import version
from foretrain.errors import ArgumentError, ForetrainError, argument_error, nearest
from foretrain.plans.options import FIELDS, OF_GRID
from foretrain.words import complain

EPILOG = (
    "Results go to runs/<study>-<hash> unless --out says otherwise. What is there is shown, not trained again; asked for more "
    "seeds or values, foretrain trains what is missing."
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line in the grammar of `foretrain.errors`; it takes no option by its first letters."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, allow_abbrev=False, **options)

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
    except ForetrainError as error:
        line = str(error)
        if isinstance(error, ArgumentError) and error.argument in options:
            line = error.as_option(options[error.argument])
        complain(line)
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
    parsers = {}
    for name, (function, about, _) in COMMANDS.items():
        parsers[name] = commands.add_parser(name, help=about, description=about)
        parsers[name].set_defaults(command=function)
    typed = _half_typed() if "_ARGCOMPLETE" in os.environ else None
    if typed is None:
        _add_arguments(parsers, argv)
    else:
        import argcomplete

        with contextlib.suppress(ForetrainError):  # of a study that is not there
            _add_arguments(parsers, typed)
        argcomplete.autocomplete(parser)  # prints what may follow and leaves
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise argument_error("command", "be known", f"is `{argv[0]}`", nearest(argv[0], COMMANDS))
    arguments, unknown = parser.parse_known_args(argv)
    typed = {word.partition("=")[0] for word in argv}
    for action in parsers[arguments.name]._actions if arguments.name else ():
        words = action.option_strings
        if words and arguments.name != "sweep" and (arguments.name != "run" or typed & {*words}):
            options[action.dest.removeprefix("parameter_")] = words[-1]
    if arguments.version:
        arguments.command = version
    elif arguments.name is None and not unknown:
        parser.print_help()
        arguments.command = lambda _: 0
    elif unknown:
        verb = parsers.get(arguments.name, parser)
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


# Kinds of arguments by name, of those that are no text; where verbs differ, by verb and name.
_KINDS: dict[str, dict[str, Any]] = {
    name: kind
    for names, kind in (
        (
            "--all --approximate --check --claims --explain --from-zero --json",
            {"action": "store_true"},
        ),
        ("--markdown --quiet --renew --train --wiring --verbose", {"action": "store_true"}),
        ("--config --out --pilot config explain:data explain:--labels", {"type": Path}),
        ("file first folder second", {"type": Path}),
        ("--layers --part --times files models", {"nargs": "+"}),
        ("--to --steps --data", {"required": True}),
        ("--emit-sbatch --modules --points", {"type": int}),
        ("--resolution --seconds", {"type": float}),
        ("--measured", {"nargs": "+", "type": Path}),
        ("--registry", {"type": Path, "default": Path("registry")}),
        ("list:study", {"nargs": "?"}),
        ("shell", {"choices": ("bash", "zsh", "fish")}),
        ("targets", {"nargs": "*"}),
    )
    for name in names.split()
}


def _add_arguments(parsers, argv):
    for verb, (_, _, arguments) in COMMANDS.items():
        for name, meaning in arguments.items():
            *_, long = words = name.split()
            kind = _KINDS.get(f"{verb}:{long}", _KINDS.get(long, {}))
            option = parsers[verb].add_argument(*words, help=meaning, **kind)
            if name == "study":
                option.completer = _studies
    for verb in ("run", "sweep"):
        for name, item in FIELDS.items():
            if verb == "run" or name not in OF_GRID:
                _add_option(parsers[verb], name, item)
    run = parsers["run"]
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
            name = word.split("=")[0]
            if name not in options:
                raise argument_error(
                    "command line",
                    "name the study before its options",
                    f"has `{word}` first",
                    "Try foretrain run <study> and then the options.",
                )
            takes_value = "=" not in word and options[name].nargs != 0
    return None


def _add_parameters(parser, study):
    from foretrain.plans.author import loaded
    from foretrain.plans.parameters import rules, types

    parameters = loaded(study, ("study",)).Parameters
    kinds = types(parameters)
    group = parser.add_argument_group(f"parameters of {study} (several values make an axis)")
    for name, rule in rules(parameters).items():
        choices = f" ({', '.join(rule.choices)})" if rule.choices else ""
        default = parameters.__dataclass_fields__[name].default
        option = group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"parameter_{name}",
            nargs="+",
            metavar=kinds[name].__name__,
            help=f"{rule.words}{choices}; default {default}".replace("%", "%%"),
        )
        values = rule.choices or ("true", "false") * (kinds[name] is bool)
        option.completer = lambda values=values, **_: values
