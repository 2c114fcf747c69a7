"""Training curves measured elsewhere, from the files that tools write: CSV, JSON, a line of JSON for each row, or Parquet.

A table has a column of steps and a column of losses for each run. An export of Weights & Biases calls such a column
``run - train_loss``, and the range beside it ``run - train_loss__MIN``, which is not read. One column of losses may hold
several runs, named in a column ``run`` or ``seed``, and one of values several quantities, named in a column ``key``. A cell
without a value is no point; ``NaN`` is a loss that diverged. A loss of a whole epoch is its mean, in the epoch's middle.
"""

import json
import re
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import BytesIO, StringIO
from os import PathLike

import numpy as np

from foretrain.errors import ForetrainError, StoreError, argument_error, file_argument, nearest
from foretrain.lazy import pd
from foretrain.provenance.reading import read_file

STEPS = "steps?|_step|(train/|trainer/)?global_step|iterations?|iter"
EPOCHS = "epochs?|train/epoch"
LOSSES = r"(?=.*loss)((loss|train|training|total|mean|step|epoch)([\W_]+|$))+|value"  # of such words, as Loss/train
RUNS = "run seed run_name".split()
_NO_LOSSES = f"{STEPS}|{EPOCHS}|{'|'.join(RUNS)}|lr|learning_rate|time|wall_time"
KEYS = "key metric tag".split()  # columns that name what a column `value` holds
TABLES = ".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet"
_RANGES = "__min", "__max"  # endings of columns that hold a range of losses
_STEPS_OF_EPOCHS = "Epochs times steps in an epoch are steps."
_MOST = 2**53  # steps, beyond which doubles leave out whole numbers
_MOST_BYTES = 2**28  # of a file


@dataclass(frozen=True, eq=False)
class Measured:
    """Training losses of runs made elsewhere.

    Attributes:
        names: Name of each run.
        steps: Those of the run with the fewest, as far as all runs reach, ascending, shape (point,).
        losses: Shape (run, point), between the steps of a run linear in log time; infinite where a run diverged.
        dropped: Number of steps that not all runs reach.
        axis: Columns that the steps are from.
    """

    names: tuple[str, ...]
    steps: np.ndarray
    losses: np.ndarray
    dropped: int
    axis: str = "`step`"


def read_measured(
    *paths: str | PathLike,
    step_column: str | None = None,
    loss_column: str | None = None,
    epoch_steps: int | None = None,
) -> Measured:
    """Read the training curves of files, each with one or several runs.

    Args:
        *paths: Files with an ending of `TABLES`.
        step_column: Name of the column of steps; by default the only column with a name in `STEPS`, or else in `EPOCHS`.
        loss_column: Name of the columns of losses, with or without a run's name in front; by default as in `LOSSES`.
        epoch_steps: Steps in an epoch.

    Raises:
        ArgumentError: A file is of another kind, its columns are not clear, or the runs have fewer than two steps in common.
        StoreError: A file cannot be read.
        ForetrainError: The file is Parquet, and pyarrow is not installed.
    """
    curves: dict[str, dict[int, float]] = {}
    axes = []
    for path in (file_argument("measured", path, _MOST_BYTES) for path in paths):
        axis, runs = _curves(path, _table(path), step_column, loss_column, epoch_steps)
        axes.append(axis)
        for run, curve in runs.items():
            name = run or path.stem
            name = f"{path}: {name}" if name in curves else name
            if name in curves:
                raise argument_error("measured", "name every file once", f"has `{path}` twice")
            curves[name] = curve
    low = max(min(curve, default=_MOST) for curve in curves.values())
    high = min(max(curve, default=-1) for curve in curves.values())
    within = [sorted(at for at in curve if low <= at <= high) for curve in curves.values()]
    shared = np.array(min(within, key=len))
    if len(shared) < 2:
        rule = "hold at least two steps that all runs have"
        raise argument_error("measured", rule, f"has {len(shared)}, of {len(curves)} runs")
    losses = np.array([_losses_at(shared, curve) for curve in curves.values()])
    dropped = sum(not low <= at <= high for at in set().union(*curves.values()))
    return Measured(tuple(curves), shared, losses, dropped, ", ".join(dict.fromkeys(axes)))


def between(steps: np.ndarray, at: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return losses (run, time) at other steps than `at`, linear in log time; infinite next to one that is."""
    rows = np.stack([np.interp(np.log1p(steps), np.log1p(at), row) for row in losses])
    return np.where(np.isnan(rows), np.inf, rows)


def _losses_at(steps, curve) -> list[float]:
    own = sorted(curve)
    (losses,) = between(steps, np.array(own), np.array([[curve[at] for at in own]]))
    return [curve.get(at, loss) for at, loss in zip(steps.tolist(), losses.tolist(), strict=True)]


def _table(path):
    """Return the table of a file as a pandas DataFrame of text."""
    kind = path.suffix.lower()
    if kind not in TABLES:
        rule = f"be a file that ends in {', '.join(TABLES)}"
        raise argument_error("measured", rule, f"is `{path.name}`")
    if kind == ".parquet" and find_spec("pyarrow") is None:
        raise ForetrainError(
            'Parquet needs pyarrow, which is not installed. Try `python -m pip install "foretrain[export]"`, or a .csv file.'
        )
    try:
        content = read_file(path, _MOST_BYTES)
        if kind == ".parquet":
            table = pd.read_parquet(BytesIO(content)).astype(object)
        elif "json" in kind:
            table = pd.DataFrame(_rows(content.decode("utf-8-sig")), dtype=object)
        else:
            text = content.decode("utf-8-sig")
            separator = max(",;\t", key=re.sub('"[^"]*"', "", text.partition("\n")[0]).count)
            table = pd.read_csv(StringIO(text), sep=separator, dtype=str, keep_default_na=False)
        return table.where(table.notna(), "").astype(str).rename(columns=str.strip)
    except FileNotFoundError:
        raise StoreError(f"`{path}` does not exist.") from None
    except Exception as error:  # pandas and pyarrow raise many kinds on a foreign file
        raise StoreError(f"`{path}` cannot be read: {error!r:.200}.") from None


def _rows(text) -> list[dict]:
    """Return the rows of JSON: a list, alone or in an object, or one a line; columns; or TensorBoard's, without names."""
    read = partial(json.loads, parse_constant=str)  # `NaN` is a loss, and no missing one
    try:
        content = read(text)
    except json.JSONDecodeError:
        content = [read(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict):
        lists = {name: part for name, part in content.items() if isinstance(part, list) and part}
        rows = [part for part in lists.values() if isinstance(part[0], dict)]
        columns = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        content = rows[0] if rows else columns or [content]
    names = "wall time", "step", "value"
    return [x if isinstance(x, dict) else dict(zip(names, x, strict=True)) for x in content]


def _curves(path, table, step_column, loss_column, epoch_steps):
    """Return the name of the axis, and losses by step, by the name of the run, which is empty for a curve without one."""
    # Where lines are longer than the first, pandas makes the first column the names of rows.
    if not (table.index == np.arange(len(table))).all():
        got = f"lines of `{path.name}` have more"
        raise argument_error("measured", "have a name for every column in its first line", got)
    table = table[[name for name in table if not name.lower().endswith(_RANGES)]]
    names = {name.lower(): name for name in table}
    key = next((names[name] for name in KEYS if name in names and "value" in names), None)
    if key is not None:
        value = table[names["value"]]
        wide = {quantity: value.where(table[key] == quantity, "") for quantity in set(table[key])}
        table = table.drop(columns=[key, value.name]).assign(**wide)
    step = _column("step_column", step_column, table, STEPS, EPOCHS)
    epoch = next((name for name in table if re.fullmatch(EPOCHS, name, re.I)), None)
    if step_column is None and epoch is not None and epoch_steps != 1:
        if epoch != step and len(_gaps(table, step, epoch)) == 1:
            raise _unclear("step_column", (step, epoch))
        if epoch == step and epoch_steps is None:
            rule, got = "name a column of steps", f"`{epoch}` of `{path.name}` counts epochs"
            raise argument_error("step_column", rule, got, _STEPS_OF_EPOCHS)
    rest = [x for x in table if x != step and not re.fullmatch(_NO_LOSSES, _quantity(x), re.I)]
    loss = _column("loss_column", loss_column, table[rest or [*table]], LOSSES)
    losses = [name for name in table if loss in (name, _quantity(name))]
    label = next((name for name in table if name.lower() in RUNS and name not in losses), None)
    if len(losses) == 1 and label is not None:
        parts = {str(run): (part, losses[0]) for run, part in table.groupby(label, sort=False)}
    else:
        parts = {name.rpartition(" - ")[0]: (table, name) for name in losses}
    for name in (x for x in rest if x not in (*losses, label)):  # such as split
        kinds = sorted(set(table[name][table[losses[0]].str.strip() != ""]) - {""})
        if len(kinds) > 1 and any(re.match("train|val|test|eval|dev", x, re.I) for x in kinds):
            got = f"`{name}` of `{path.name}` has {', '.join(kinds)}"
            raise argument_error("measured", "hold training alone", got, "Keep training rows.")
    per = epoch_steps if re.fullmatch(EPOCHS, step, re.I) else None
    curves = {}
    for run, (part, name) in parts.items():
        own = next((column for column in (f"{run} - {step}", step) if column in table), None)
        if own is None:
            raise _unclear("step_column", [*table])
        curves[run] = _curve(path, part, own, name, per)
    return f"`{step}`" + (f", each of {per} step{'s' * (per > 1)}" if per else ""), curves


def _quantity(name: str) -> str:
    """Return the name of a column without that of a run in front."""
    return name.rpartition(" - ")[2]


def _column(argument, name: str | None, table, *known) -> str:
    """Return the quantity of that name, or else the only one with a known name, of the first names that any has."""
    quantities = dict.fromkeys(map(_quantity, table))
    if name is not None:
        if name not in table and name not in quantities:
            rule = "name a column of the table"
            raise argument_error(argument, rule, f"is `{name}`", nearest(name, quantities))
        return name
    filled = [name for name in table if (table[name].str.strip() != "").sum() > 1 or len(table) < 2]
    groups = [[x for x in filled if re.fullmatch(some, _quantity(x), re.I)] for some in known]
    alike = next((group for group in groups if group), [])
    others = [name for name in alike[1:] if _gaps(table, alike[0], name) != {0}]
    clear = dict.fromkeys(_quantity(name) for name in (*alike[:1], *others))
    if len(clear) != 1:
        raise _unclear(argument, [*clear] or [*quantities])
    return next(iter(clear))


def _unclear(argument, names):
    """Return the error that asks for a column, with the option as it is typed."""
    got = f"the columns are {', '.join(f'`{name}`' for name in names)}"
    quoted = [f'"{name}"' if " " in name else name for name in names[:2]]
    typed = " or ".join(f"--{argument.replace('_', '-')} {name}" for name in quoted)
    return argument_error(argument, "be given where it is not clear", got, f"Try {typed}.")


def _gaps(table, first, second) -> set[float]:
    """Return the differences of two columns where both have a number, which are two rows or more."""
    both = table.reindex(columns=[first, second]).apply(pd.to_numeric, errors="coerce").dropna()
    return {float(gap) for gap in both[first] - both[second]} if len(both) > 1 else set()


def _curve(path, table, step, loss, epoch_steps) -> dict[int, float]:
    """Return losses by step; rows without either are left out."""
    filled = table[(table[step].str.strip() != "") & (table[loss].str.strip() != "")]
    steps, losses = (_numbers(path, name, filled[name]) for name in (step, loss))
    if epoch_steps is not None:
        whole = (steps == np.round(steps)).all()
        middle = (0.5 if 0 in steps else -0.5) if whole else 0.0
        steps = np.floor((steps + middle) * epoch_steps + (0 if whole else 0.5))
    odd = steps[~((steps == np.round(steps)) & (steps >= 0) & (steps < _MOST))]
    if odd.size:
        got = f"`{step}` of `{path.name}` has {odd[0]}"
        raise argument_error("step_column", "hold whole numbers of steps", got, _STEPS_OF_EPOCHS)
    curve = dict(zip(steps.astype(int).tolist(), losses.tolist(), strict=True))
    if len(curve) < len(steps):
        got = f"`{step}` of `{path.name}` has one twice"
        repair = "Keep one row of each; a column `run` tells runs apart."
        raise argument_error("step_column", "hold every step once", got, repair)
    return {at: loss if np.isfinite(loss) else np.inf for at, loss in curve.items()}


def _numbers(path, name, texts) -> np.ndarray:
    """Return the numbers that texts spell; ``NaN`` and ``Infinity`` among them."""
    try:
        return np.array([float(text) for text in texts])
    except ValueError as error:  # it ends with the text
        got = f"column `{name}` of `{path.name}` has `{str(error).partition(': ')[2][1:-1]}`"
        raise argument_error("measured", "hold numbers", got) from None
