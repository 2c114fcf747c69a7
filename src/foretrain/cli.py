"""The command line. Every option of a study is parsers from its ``Parameters``; only the named study is imported."""

import argparse
import atexit
import contextlib
import errno
import gc
import io
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from foretrain import __version__
from foretrain.commands import ARGUMENTS, COMMANDS
from foretrain.errors import ArgumentError, ForetrainError, argument_error, nearest
from foretrain.plans.options import FIELDS, OF_GRID
from foretrain.words import SENTENCE, complain, cut, encodable

EPILOG = (
    "Results go to runs/<study>-<hash> or --out; asked for more, foretrain trains what is missing. Code in src/foretrain: "
    "predict, explain, analyze, registry (publish), results (export, show), commands (completion), laboratory (the others)."
)
# What argparse says: the argument in it and, where there is one, the value; then the rule, and what is wrong.
_COMPLAINTS = (
    (r"the following arguments are required: ([^,]+).*", "be given", "is missing"),
    (r"argument ([^:]+): expected 2 .*", "have two values", "has fewer"),
    (r"argument ([^:]+): expected .*", "have a value", "has none"),
    (r"argument ([^:]+): invalid int value: (['\"])(.*)\2", "be a whole number", r"is `\3`"),
    (r"argument ([^:]+): invalid float value: (['\"])(.*)\2", "be a number", r"is `\3`"),
    (r"argument ([^:]+): invalid choice: '(.*?)' .choose from (.*).", r"be one of \3", r"is `\2`"),
    (r"argument ([^:]+): invalid truth value: (['\"])(.*)\2", "be true or false", r"is `\3`"),
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line in the grammar of `foretrain.errors`."""

    def error(self, message):
        for pattern, rule, fault in _COMPLAINTS:
            if match := re.fullmatch(pattern, message):
                repair = "Put spaces between values." if re.search("value: .*,", message) else ""
                repair = f"Try {self.prog} --help." if fault == "is missing" else repair
                raise argument_error(match[1], match.expand(rule), match.expand(fault), repair)
        raise argument_error("command line", "be understood", message)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a checked claim fails, 2 bad input, 3 not all judged."""
    argv = sys.argv[1:] if argv is None else argv
    gc.set_threshold(1_000_000)  # figures make millions of objects, few of which are garbage
    atexit.register(gc.freeze)  # at the end nobody looks for it: what is left goes with the process
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:  # closed before the start, as by ``2>&-``
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):  # a table is printed, whatever it can show
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        # A cluster that stops a job must find it checkpointed and its lock released.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    options: dict[str, str] = {}
    try:
        arguments = _parse(argv, options)
        return arguments.command(arguments) or 0
    except ForetrainError as error:
        line = str(error)
        if isinstance(error, ArgumentError) and error.argument in options:
            line = line.replace(f"`{error.argument}`", f"`{options[error.argument]}`", 1)
        complain(line)
        return 2
    except KeyboardInterrupt:
        alone = argv[:1] in (["explain"], ["analyze"])
        goes_on = alone or argv[:1] in (["run"], ["sweep"])
        complain(f"interrupted{'; the same command goes on from here' * goes_on}.")
        if alone:  # at an orderly end what XLA still computes would crash
            os._exit(130)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        complain("there is no space left where the output goes.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python flushes what is left once more
        return 2


def _parse(argv, options):
    """Return the parsed arguments; fill `options`, name of each argument in Python to its option as it is typed.

    Arguments of `run` may stand in a file, too: an option counts where it is typed. Those of `sweep` do stand in one.
    """
    parser = _Parser(
        prog="foretrain",
        description="Predict how a network will learn from a reduced theory, train it, and judge claim by claim.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(command=lambda _: parser.print_help())
    commands = parser.add_subparsers(dest="name", metavar="command", parser_class=_Parser)
    parsers = {}
    for name, (function, about) in COMMANDS.items():
        parsers[name] = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        parsers[name].set_defaults(command=function)
    if "_ARGCOMPLETE" in os.environ:  # the shell asks what may follow the words before the cursor
        import argcomplete

        line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", 0))]
        with contextlib.suppress(ForetrainError):  # of a study that is not there
            _add_arguments(parsers, re.sub(r" -\S*$", "", line.rpartition(" ")[0]).split()[1:])
        argcomplete.autocomplete(parser)  # prints what may follow and leaves
    else:
        _add_arguments(parsers, argv)
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise argument_error("command", "be known", f"is `{argv[0]}`", nearest(argv[0], COMMANDS))
    arguments, unknown = parser.parse_known_args(argv)
    verb = parsers.get(arguments.name, parser)
    if unknown:
        known = nearest(unknown[0], [o for action in verb._actions for o in action.option_strings])
        rule = "have known options" if unknown[0][:1] == "-" else "have an option before a value"
        raise argument_error("command line", rule, f"has `{unknown[0]}`", known)
    typed = dict(word.partition("=")[::2] for word in argv)
    if empty := [name for name in typed if name[:2] == typed[name] == "--"]:  # which argparse drops
        raise argument_error(empty[0], "have a value", "has none")
    for action in verb._actions if arguments.name != "sweep" else ():
        words = action.option_strings
        if words and (arguments.name != "run" or typed.keys() & {*words}):
            options[action.dest.removeprefix("parameter_")] = words[-1]
    return arguments


def _studies(prefix, **_):
    from argcomplete.completers import FilesCompleter

    from foretrain.plans import catalogue

    return [*catalogue.names(), *FilesCompleter(["py"])(prefix)]


_FLAG: dict[str, Any] = {"action": "store_true"}
# Kinds of arguments by name, of those that are no text; where verbs differ, by verb and name.
_KINDS: dict[str, dict[str, Any]] = {
    name: kind
    for names, kind in (
        ("--all --approximate --check --claims --explain --from-zero", _FLAG),
        ("--json --markdown --quiet --renew --train --wiring --verbose", _FLAG),
        ("--config --out --pilot config explain:data explain:--labels", {"type": Path}),
        ("file first folder second", {"type": Path}),
        ("--layers --part --times files models", {"nargs": "+"}),
        ("--betas", {"nargs": 2}),
        ("--to --data", {"required": True}),
        ("--batch-size --emit-sbatch --gradients --modules --points --seeds", {"type": int}),
        ("explain:--steps", {"type": int, "required": True}),
        ("--resolution --seconds", {"type": float}),
        ("--measured", {"nargs": "+", "type": Path}),
        ("--registry", {"type": Path, "default": Path("registry")}),
        ("list:study", {"nargs": "?"}),
        ("shell", {"choices": ("bash", "zsh", "fish")}),
        ("action", {"choices": ("add", "list", "check", "render", "seal")}),
        ("targets", {"nargs": "*"}),
    )
    for name in names.split()
}


def _add_arguments(parsers, argv):
    for verb, arguments in ARGUMENTS.items():
        for name, meaning in arguments.items():
            *_, long = words = name.split()
            kind = _KINDS.get(f"{verb}:{long}", _KINDS.get(long, {}))
            option = parsers[verb].add_argument(*words, help=meaning, **kind)
            if name == "study":
                option.completer = _studies
    for verb in ("run", "sweep"):
        for name, item in FIELDS.items():
            if verb == "run" or name not in OF_GRID:
                kind, words = item.metadata["kind"], {"help": item.metadata["meaning"]}
                words |= {"type": kind, "default": item.default} if kind is not bool else _FLAG
                parsers[verb].add_argument(f"--{name.replace('_', '-')}", **words)
    if argv[:1] == ["run"] and (study := _study_in(argv[1:], parsers["run"])) is not None:
        _add_parameters(parsers["run"], study)


def _study_in(words, parser):
    """Return the study among the words of a run, None where there is none; a parameter may not stand before it."""
    try:
        known, others = parser.parse_known_args([w for w in words if w not in ("-h", "--help")])
    except ForetrainError:  # which is raised again once the parameters are known
        return None
    if others and words.index(others[0]) < words.index(known.study):
        got, repair = f"has `{others[0]}` first", "Try foretrain run <study> first."
        raise argument_error("command line", "name the study before its options", got, repair)
    return known.study


def truth(text):
    """Return True for "true", False for "false"; raise `ValueError` for another text."""
    return ["false", "true"].index(text.lower()) == 1


def _add_parameters(parser, study):
    from foretrain.plans.author import loaded
    from foretrain.plans.parameters import rules, types

    known = loaded(study, ("study",))
    parameters, kinds = known.Parameters, types(known.Parameters)
    parser._option_string_actions["--preset"].completer = lambda **_: ["quick", *known.presets]
    title = f"parameters of {study} (several values make an axis)"
    group = parser.add_argument_group(encodable(title, sys.stdout.encoding))
    for name, rule in rules(parameters).items():
        choices = f" ({', '.join(rule.choices)})" if rule.choices else ""
        default = cut(str(parameters.__dataclass_fields__[name].default))
        words = f"{cut(rule.words + choices, SENTENCE)}; default {default}"
        option = group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"parameter_{name}",
            nargs="+",
            type=truth if kinds[name] is bool else kinds[name],
            metavar=kinds[name].__name__,
            help=encodable(words, sys.stdout.encoding).replace("%", "%%"),
        )
        values = rule.choices or ("true", "false") * (kinds[name] is bool)
        option.completer = lambda values=values, **_: values
