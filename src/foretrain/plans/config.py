"""Parameters and sweeps from TOML files."""

import tomllib
from pathlib import Path

import numpy as np

from foretrain.errors import argument_error, file_argument, integer, nearest, one_of, real
from foretrain.plans.options import OF_GRID
from foretrain.plans.parameters import rules
from foretrain.plans.plan import Plan, make_plan
from foretrain.plans.study import Study
from foretrain.provenance.reading import MOST_TEXT, read_file

LONGEST_AXIS = 10**7
_RANGE = ("from", "to", "number", "scale")


def read_sweep(config: str | Path, yes: bool = False) -> tuple[Plan, str | None]:
    """The plan that a TOML file describes, and the folder of results it names, if any.

    The file names a ``study`` and may hold ``preset``, ``seeds``, ``root_seed``, ``out``, a table ``[parameters]`` of
    fixed values, and a table ``[axes]`` whose entries are lists, or ``{from, to, number, scale = "linear" | "log"}``.
    `yes` lets it make more than ten million runs.

    Raises:
        ArgumentError: the file cannot be read, is no TOML (with the line), holds something unknown or of the wrong
            type, gives a parameter both a fixed value and an axis, or makes too many runs.
    """
    fields = _read_toml(config)
    _known_keys(fields, {*OF_GRID, "study", "out", "parameters", "axes"}, config)
    if "study" not in fields:
        raise argument_error("config", "name a `study`", f"{config} does not")
    if not isinstance(fields["study"], str):
        raise argument_error("study", "name a study or the file of one", f"is {fields['study']!r}")
    values, axes = dict(_table(fields, "parameters")), _table(fields, "axes")
    for reserved in (name for name in OF_GRID if name in {**axes, **values}):
        where = "stand at the top of the file"
        raise argument_error(reserved, where, "stands in a table", "It makes no axis.")
    path = Path(config).parent / fields["study"]  # the path itself where it is absolute
    if fields["study"].endswith(".py") and path.exists():
        fields["study"] = str(path)
    for name, axis in axes.items():
        if name in values:
            where = "stand in one of `[parameters]` and `[axes]`"
            raise argument_error(name, where, "stands in both")
        values[name] = _axis(name, axis)
    out = fields.get("out")
    if not isinstance(out, str | None):
        raise argument_error("out", "be the name of a folder", f"is {out!r}")
    options = {name: fields[name] for name in OF_GRID if name in fields}
    return make_plan(fields["study"], values, **options, yes=yes), out


def read_config(path: Path, study: Study) -> dict:
    """Parameters of a study from a flat TOML file, with ``seeds`` among them if it is there."""
    fields = _read_toml(path)
    _known_keys(fields, {"seeds", *rules(study.Parameters)}, path)
    return fields


def _read_toml(config: str | Path) -> dict:
    path = file_argument("config", config, MOST_TEXT)
    try:
        return tomllib.loads(read_file(path, MOST_TEXT).decode("utf-8"))
    except FileNotFoundError:
        raise argument_error("config", "be a TOML file", f"{path} does not exist") from None
    except tomllib.TOMLDecodeError as error:
        raise argument_error("config", "be valid TOML", f"{path} is not: {error}") from None
    except (OSError, ValueError, RecursionError) as error:  # or a number or a nesting beyond Python
        raise argument_error("config", "be readable TOML", f"{path} is not: {error}") from None


def _table(fields, name) -> dict:
    table = fields.get(name, {})
    if not isinstance(table, dict):
        raise argument_error(name, f"be a table, `[{name}]`", f"is {table!r}")
    return table


def _known_keys(fields, known, path):
    for name in (name for name in fields if name not in known):
        got = f"{path} holds `{name}`"
        raise argument_error("config", "hold known entries", got, nearest(name, known))


def _axis(name: str, axis) -> list:
    if isinstance(axis, list):
        return axis
    rule = "be a list, or {from, to, number, scale}"
    for entry in axis if isinstance(axis, dict) else ():
        if entry not in _RANGE:
            raise argument_error(name, rule, f"has `{entry}`", nearest(entry, _RANGE))
    if not isinstance(axis, dict) or not {"from", "to", "number"} <= set(axis):
        raise argument_error(name, rule, f"is {axis!r}")
    number = integer(f"{name}.number", axis["number"], minimum=1, maximum=LONGEST_AXIS)
    scale = one_of(f"{name}.scale", axis.get("scale", "linear"), ("linear", "log"))
    bounds = {"above": 0} if scale == "log" else {"minimum": -1e300, "maximum": 1e300}
    first, last = (real(f"{name}.{end}", axis[end], **bounds) for end in ("from", "to"))
    values = (np.geomspace if scale == "log" else np.linspace)(first, last, number)
    # Twelve digits: an axis is read by people and selected by value.
    return [float(f"{value:.12g}") for value in values]
