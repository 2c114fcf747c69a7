"""Parameters and sweeps from TOML files."""

import tomllib
from pathlib import Path

import numpy as np

from foretrain.errors import argument_error, integer, nearest, real
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules
from foretrain.plans.plan import Plan, make_plan


def read_sweep(config: str | Path) -> tuple[Plan, str | None]:
    """The plan that a TOML file describes, and the folder of results it names, if any.

    The file names a ``study`` and may hold ``preset``, ``seeds``, ``root_seed``, ``out``, a table ``[parameters]`` of
    fixed values, and a table ``[axes]`` whose entries are lists, or ``{from, to, number, scale = "linear" | "log"}``.

    Raises:
        ArgumentError: the file cannot be read, is no TOML (with the line), or holds something unknown.
    """
    fields = _read_toml(Path(config))
    known = {"study", "preset", "seeds", "root_seed", "out", "parameters", "axes"}
    _known_keys(fields, known, config)
    if "study" not in fields:
        raise argument_error("config", "name a `study`", f"{config} does not")
    values = dict(fields.get("parameters", {}))
    for name, axis in fields.get("axes", {}).items():
        values[name] = _axis(name, axis)
    plan = make_plan(
        fields["study"],
        values,
        seeds=fields.get("seeds"),
        root_seed=fields.get("root_seed", 0),
        preset=fields.get("preset", "quick"),
    )
    return plan, fields.get("out")


def read_config(path: Path, study: str) -> dict:
    """Parameters of a study from a flat TOML file, with ``seeds`` among them if it is there."""
    module = catalogue.load(study)
    fields = _read_toml(path)
    _known_keys(fields, {"seeds", *rules(module.Parameters)}, path)
    return fields


def _read_toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise argument_error("config", "be a TOML file", f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise argument_error(
            "config", "be a TOML file", f"{path} cannot be read: {error}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise argument_error("config", "be valid TOML", f"{path} is not: {error}") from None


def _known_keys(fields, known, path):
    for name in fields:
        if name not in known:
            raise argument_error(
                "config", "hold known entries", f"{path} holds `{name}`", nearest(name, known)
            )


def _axis(name: str, axis) -> list:
    if isinstance(axis, list):
        return axis
    if not isinstance(axis, dict) or not {"from", "to", "number"} <= set(axis):
        raise argument_error(name, "be a list, or {from, to, number, scale}", f"is {axis!r}")
    number = integer(f"{name}.number", axis["number"], minimum=1)
    scale = axis.get("scale", "linear")
    if scale == "log":
        ends = [real(f"{name}.{end}", axis[end], above=0) for end in ("from", "to")]
        values = np.geomspace(*ends, number)
    elif scale == "linear":
        values = np.linspace(
            real(f"{name}.from", axis["from"]), real(f"{name}.to", axis["to"]), number
        )
    else:
        raise argument_error(f"{name}.scale", "be one of `linear`, `log`", f"is {scale!r}")
    # Twelve digits: an axis is read by people and selected by value.
    return [float(f"{value:.12g}") for value in values]
