"""Training curves measured elsewhere, from CSV, Parquet, or a table that Weights & Biases exports.

A table has a column of steps and a column of losses for each run. An export of Weights & Biases calls such a column
``run - train_loss``, with ``run - train_loss__MIN`` and ``__MAX`` next to it, which are not read. One column of losses may
hold several runs, named in a column ``run`` or ``seed``. A cell without a value is no point; ``NaN`` is a loss that diverged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike

import numpy as np

from foretrain.errors import ForetrainError, StoreError, argument_error, nearest, path_argument

STEPS = "step steps _step global_step trainer/global_step train/global_step iteration iter".split()
LOSSES = "loss train_loss train/loss training_loss loss/train".split()
RUNS = "run", "seed"
TABLES = ".csv", ".parquet"
_RANGES = "__min", "__max"  # endings of columns that hold a range of losses
_MOST = 2**53  # steps, beyond which doubles leave out whole numbers


@dataclass(frozen=True, eq=False)
class Measured:
    """Training losses of runs made elsewhere.

    Attributes:
        names: Name of each run.
        steps: Steps at which every run has a loss, ascending, shape (point,).
        losses: Shape (run, point); infinite where a run diverged.
        dropped: Number of steps at which only some runs have a loss.
    """

    names: tuple[str, ...]
    steps: np.ndarray
    losses: np.ndarray
    dropped: int


def read_measured(
    *paths: str | PathLike, step_column: str | None = None, loss_column: str | None = None
) -> Measured:
    """Read the training curves of files, each with one or several runs.

    Args:
        *paths: Files `.csv` or `.parquet`.
        step_column: Name of the column of steps; by default the only column with a name in `STEPS`.
        loss_column: Name of the columns of losses, with or without a run's name in front; by default as in `LOSSES`.

    Raises:
        ArgumentError: A file is of another kind, its columns are not clear, or the runs have fewer than two steps in common.
        StoreError: A file cannot be read.
        ForetrainError: The file is Parquet, and pyarrow is not installed.
    """
    curves: dict[str, dict[int, float]] = {}
    for path in (path_argument("measured", path) for path in paths):
        for run, curve in _curves(path, _table(path), step_column, loss_column).items():
            name = run or path.stem
            name = f"{path}: {name}" if name in curves else name
            if name in curves:
                raise argument_error("measured", "name every file once", f"has `{path}` twice")
            curves[name] = curve
    shared = sorted(set.intersection(*map(set, curves.values())))
    if len(shared) < 2:
        rule = "hold at least two steps that all runs have"
        raise argument_error("measured", rule, f"has {len(shared)}, of {len(curves)} runs")
    losses = np.array([[curve[step] for step in shared] for curve in curves.values()])
    dropped = len(set().union(*curves.values())) - len(shared)
    return Measured(tuple(curves), np.array(shared), losses, dropped)


def between(steps: np.ndarray, at: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return losses (run, time) at other steps than `at`, linear in log time; infinite next to one that is."""
    rows = np.stack([np.interp(np.log1p(steps), np.log1p(at), row) for row in losses])
    return np.where(np.isnan(rows), np.inf, rows)


def _table(path):
    """Return the table of a file as a pandas DataFrame of text."""
    import pandas as pd  # comes with xarray

    if path.suffix.lower() not in TABLES:
        raise argument_error("measured", "be a .csv or .parquet file", f"is `{path.name}`")
    parquet = path.suffix.lower() == ".parquet"
    if parquet and find_spec("pyarrow") is None:
        raise ForetrainError(
            'Parquet needs pyarrow, which is not installed. Try `python -m pip install "foretrain[export]"`, or a .csv file.'
        )
    try:
        if not parquet:
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        table = pd.read_parquet(path)
        return table.astype(object).where(table.notna(), "").astype(str)
    except FileNotFoundError:
        raise StoreError(f"`{path}` does not exist.") from None
    except Exception as error:  # pandas and pyarrow raise many kinds on a foreign file
        raise StoreError(f"`{path}` cannot be read: {type(error).__name__}.") from None


def _curves(path, table, step_column, loss_column) -> dict[str, dict[int, float]]:
    """Return losses by step, by the name of the run, which is empty for a single curve without a name."""
    # Where lines are longer than the first, pandas makes the first column the names of rows.
    if not (table.index == np.arange(len(table))).all():
        got = f"lines of `{path.name}` have more"
        raise argument_error("measured", "have a name for every column in its first line", got)
    columns = [name for name in table.columns if not name.lower().endswith(_RANGES)]
    step = _column("step_column", step_column, columns, STEPS)
    quantities = {name: name.rpartition(" - ")[2] for name in columns if name != step}
    if loss_column is None:
        loss_column = _column("loss_column", None, list(dict.fromkeys(quantities.values())), LOSSES)
    losses = [name for name, quantity in quantities.items() if loss_column in (name, quantity)]
    if not losses:
        rule, got = f"name a column of `{path.name}`", f"is `{loss_column}`"
        raise argument_error("loss_column", rule, got, nearest(loss_column, quantities.values()))
    label = next((name for name in columns if name.lower() in RUNS and name not in losses), None)
    if len(losses) == 1 and label is not None:
        parts = {str(run): (part, losses[0]) for run, part in table.groupby(label, sort=False)}
    else:
        parts = {name.rpartition(" - ")[0]: (table, name) for name in losses}
    return {run: _curve(path, part, step, loss) for run, (part, loss) in parts.items()}


def _column(argument, name: str | None, names: Sequence[str], known: Sequence[str]) -> str:
    """Return the column of that name, or else the only one with a known name."""
    if name is not None:
        if name not in names:
            rule = "name a column of the table"
            raise argument_error(argument, rule, f"is `{name}`", nearest(name, names))
        return name
    alike = [column for column in names if column.lower() in known]
    if len(alike) != 1:
        got = f"the table has {', '.join(f'`{column}`' for column in alike or names)}"
        repair = "" if alike else "The first line names the columns, with commas between them."
        raise argument_error(argument, "be given where it is not clear", got, repair)
    return alike[0]


def _curve(path, table, step, loss) -> dict[int, float]:
    """Return losses by step; rows without either are left out."""
    filled = table[(table[step].str.strip() != "") & (table[loss].str.strip() != "")]
    steps, losses = (_numbers(path, name, filled[name]) for name in (step, loss))
    odd = steps[~((steps == np.round(steps)) & (steps >= 0) & (steps < _MOST))]
    if odd.size:
        rule = "hold whole numbers of steps"
        repair = "Epochs times steps in an epoch are steps."
        raise argument_error("step_column", rule, f"`{step}` of `{path.name}` has {odd[0]}", repair)
    curve = dict(zip(steps.astype(int).tolist(), losses.tolist(), strict=True))
    if len(curve) < len(steps):
        got = f"`{step}` of `{path.name}` has one twice"
        raise argument_error("step_column", "hold every step once", got)
    return {at: loss if np.isfinite(loss) else np.inf for at, loss in curve.items()}


def _numbers(path, name, texts) -> np.ndarray:
    """Return the numbers that texts spell; ``NaN`` and ``Infinity`` among them."""
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text))
        except ValueError:
            got = f"column `{name}` of `{path.name}` has `{text}`"
            raise argument_error("measured", "hold numbers", got) from None
    return np.array(numbers)
