"""Training curves that were measured elsewhere, from CSV, Parquet, or a table that Weights & Biases exports.

A table has a column of steps and a column of losses for each run. An export of Weights & Biases calls such a column
``run - train_loss`` and puts ``run - train_loss__MIN`` and ``__MAX`` beside it, which are not read. One column of losses may
hold several runs, named in a column ``run`` or ``seed``. A cell without a value is no point; ``NaN`` is a loss that diverged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike

import numpy as np

from foretrain.errors import ForetrainError, StoreError, argument_error, nearest, path_argument

STEPS = ("step", "steps", "_step", "global_step", "trainer/global_step", "iteration", "iter")
LOSSES = ("loss", "train_loss", "train/loss", "training_loss", "loss/train")
RUNS = ("run", "seed")
_BESIDE = ("__min", "__max")
TABLES = (".csv", ".parquet")
_MOST = 2**53  # steps, beyond which doubles leave out whole numbers


@dataclass(frozen=True, eq=False)
class Measured:
    """Training losses of runs made elsewhere.

    Attributes:
        names: One per run.
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
    """Read the training curves of some files, each with one or several runs.

    Args:
        *paths: Files `.csv` or `.parquet`.
        step_column: Name of the column of steps; by default the one that is called so.
        loss_column: Name of the columns of losses, with or without a run's name before it; by default as `step_column`.

    Raises:
        ArgumentError: A file is of another kind, its columns are not clear, or the runs have fewer than two steps in common.
        StoreError: A file cannot be read.
        ForetrainError: The file is Parquet, and pyarrow is not installed.
    """
    runs: dict[str, dict[int, float]] = {}
    for path in map(lambda one: path_argument("measured", one), paths):
        for name, curve in _runs(path, _table(path), step_column, loss_column).items():
            own = name or path.stem
            own = f"{path}: {own}" if own in runs else own
            if own in runs:
                raise argument_error("measured", "name every file once", f"has `{path}` twice")
            runs[own] = curve
    every = set().union(*runs.values())
    shared = sorted(set.intersection(*map(set, runs.values())))
    if len(shared) < 2:
        rule = "hold at least two steps that all runs have"
        raise argument_error("measured", rule, f"has {len(shared)}, of {len(runs)} runs")
    losses = np.array([[curve[step] for step in shared] for curve in runs.values()])
    return Measured(tuple(runs), np.array(shared), losses, len(every) - len(shared))


def _table(path):
    """The table of a file as a pandas DataFrame of text."""
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


def _runs(path, table, step_column, loss_column) -> dict[str, dict[int, float]]:
    """Losses by step, by the name of the run; of a single curve without a name that is empty."""
    # Of lines that are longer than the first pandas makes the first column a name of rows.
    if not (table.index == np.arange(len(table))).all():
        got = f"lines of `{path.name}` have more"
        raise argument_error("measured", "have a name for every column in its first line", got)
    columns = [name for name in table.columns if not name.lower().endswith(_BESIDE)]
    step = _chosen("step_column", step_column, columns, STEPS)
    # Of a run's name ` - ` stands before the quantity's.
    keys = {name: name.rpartition(" - ")[2] for name in columns if name != step}
    asked = loss_column
    if asked is None:
        asked = _chosen("loss_column", None, list(dict.fromkeys(keys.values())), LOSSES)
    wanted = [name for name, key in keys.items() if asked in (name, key)]
    if not wanted:
        rule = f"name a column of `{path.name}`"
        raise argument_error("loss_column", rule, f"is `{asked}`", nearest(asked, keys.values()))
    label = next((name for name in columns if name.lower() in RUNS and name not in wanted), None)
    if len(wanted) == 1 and label is not None:
        parts = {str(run): (part, wanted[0]) for run, part in table.groupby(label, sort=False)}
    else:
        parts = {name.rpartition(" - ")[0]: (table, name) for name in wanted}
    return {run: _curve(path, part, step, loss) for run, (part, loss) in parts.items()}


def _chosen(argument, asked, names: Sequence[str], known: Sequence[str]):
    """The one column that is asked for, or that has a known name."""
    if asked is not None:
        if asked not in names:
            rule = "name a column of the table"
            raise argument_error(argument, rule, f"is `{asked}`", nearest(asked, names))
        return asked
    alike = [name for name in names if name.lower() in known]
    if len(alike) != 1:
        got = f"the table has {', '.join(f'`{name}`' for name in alike or names)}"
        repair = "" if alike else "The first line names the columns, with commas between them."
        raise argument_error(argument, "be given where it is not clear", got, repair)
    return alike[0]


def _curve(path, table, step, loss):
    """Losses by step; rows without either are left out."""
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


def _numbers(path, name, texts):
    """The numbers that texts spell; ``NaN`` and ``Infinity`` among them."""
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text))
        except ValueError:
            got = f"column `{name}` of `{path.name}` has `{text}`"
            raise argument_error("measured", "hold numbers", got) from None
    return np.array(numbers)
