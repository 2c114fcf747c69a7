"""Make the files of curves that the tests read, by the tools that write them.

    python benchmarks/curve_files/make.py TOOL...    # keras lightning mlflow tables trackio transformers

The tools are not installed with foretrain: ``pip install keras lightning tensorboard mlflow trackio transformers accelerate``.
Exports of Weights & Biases, which need an account, are written by `tables` in the columns that its pages document. Every
training has 64 examples in batches of 8, so that an epoch has 8 steps.
"""

import csv
import json
import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "tests" / "curve_files"


def loss(step: int) -> float:
    """Return the loss of a curve that is made up."""
    return round(0.7 * math.exp(-step / 20) + 0.1, 4)


def keras():
    """Write the CSV of `CSVLogger` with each separator, and the history of `fit`."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras as tool  # pyright: ignore[reportMissingImports]

    x = np.random.default_rng(0).standard_normal((64, 4)).astype("float32")
    model = tool.Sequential([tool.layers.Dense(1)])
    model.compile("sgd", "mse")
    names = {"keras.csv": ",", "keras.tsv": "\t", "keras_semicolon.csv": ";"}
    logs = [tool.callbacks.CSVLogger(str(FOLDER / n), separator=s) for n, s in names.items()]
    fit = model.fit(x, x[:, :1], batch_size=8, epochs=6, verbose=0, callbacks=logs)
    (FOLDER / "keras_history.json").write_text(json.dumps(fit.history))


def lightning():
    """Write the CSV of `CSVLogger`, with losses of steps and of epochs, and TensorBoard's downloads of one scalar."""
    import lightning as tool  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]
    from lightning.pytorch.loggers import (  # pyright: ignore[reportMissingImports]
        CSVLogger,
        TensorBoardLogger,
    )
    from tensorboard.backend.event_processing.event_accumulator import (  # pyright: ignore[reportMissingImports]
        EventAccumulator,
    )

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=8)

    class Module(tool.LightningModule):
        def __init__(self, both):
            super().__init__()
            self.layer, self.both = torch.nn.Linear(4, 1), both

        def training_step(self, batch, _):
            value = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
            self.log("train_loss", value, on_step=True, on_epoch=self.both)
            return value

        def validation_step(self, batch, _):
            self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    for name, both in (("lightning", False), ("lightning_both", True)):
        with tempfile.TemporaryDirectory() as folder:
            loggers = [CSVLogger(folder, "csv"), TensorBoardLogger(folder, "events")]
            options = {"enable_checkpointing": False, "enable_progress_bar": False}
            options |= {"max_epochs": 5, "log_every_n_steps": 4, "accelerator": "cpu"}
            tool.Trainer(logger=loggers, **options).fit(Module(both), data, data)
            (table,) = Path(folder).rglob("metrics.csv")
            (FOLDER / f"{name}.csv").write_bytes(table.read_bytes())
            events = EventAccumulator(str(next(Path(folder).rglob("events.*")))).Reload()
        if not both:
            points = [[e.wall_time, e.step, e.value] for e in events.Scalars("train_loss")]
            write("tensorboard.csv", ["Wall time", "Step", "Value"], points)
            (FOLDER / "tensorboard.json").write_text(json.dumps(points))


def mlflow():
    """Write the history of a metric, and of two, as pandas writes them, and the answer of the REST interface."""
    import mlflow as tool  # pyright: ignore[reportMissingImports]
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        tool.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        with tool.start_run() as run:
            for step in range(0, 60, 5):
                tool.log_metrics({"loss": loss(step), "accuracy": 1 - loss(step)}, step=step)
        parts = [
            [dict(m) for m in tool.MlflowClient().get_metric_history(run.info.run_id, name)]
            for name in ("loss", "accuracy")
        ]
    pd.DataFrame(parts[0]).to_csv(FOLDER / "mlflow.csv")
    pd.DataFrame(parts[0] + parts[1]).to_csv(FOLDER / "mlflow_two.csv")
    names = "key", "value", "timestamp", "step"
    rest = {"metrics": [{name: point[name] for name in names} for point in parts[0]]}
    (FOLDER / "mlflow.json").write_text(json.dumps(rest))


def tables():
    """Write exports of Weights & Biases, and tables as loops of one's own write them."""
    steps = range(0, 60, 5)
    panel = ["Step", *(f"{run} - loss{end}" for run in "ab" for end in ("", "__MIN", "__MAX"))]
    write("wandb_panel.csv", panel, [[s, *[loss(s)] * 3, *[2 * loss(s)] * 3] for s in steps])
    panel = "train/global_step", "a - train/loss", "a - train/loss__MIN", "a - train/loss__MAX"
    write("wandb_panel_steps.csv", panel, [[s, *[loss(s)] * 3] for s in steps])
    panel = "Step", "a - train/loss", "a - train/global_step"
    write("wandb_panel_calls.csv", panel, [[k, loss(s), s] for k, s in enumerate(steps)])
    history = "", "_step", "_runtime", "_timestamp", "loss"
    rows = [[k, s, 0.1 * s, 1.7e9 + s, loss(s)] for k, s in enumerate(steps)]
    write("wandb_history.csv", history, rows)
    history = "", "_step", "_runtime", "train/loss", "train/global_step", "train/epoch"
    rows = [[k, k, 0.1 * s, loss(s), s, s / 8] for k, s in enumerate(steps)]
    write("wandb_history_transformers.csv", history, rows)
    rows = [[k, k, 0.1 * k, k, loss(8 * k)] for k in range(8)]
    write("wandb_history_epochs.csv", ["", "_step", "_runtime", "epoch", "loss"], rows)
    write(
        "own_epochs.csv", ["epoch", "train_loss", "lr"], [[k, loss(8 * k), 0.1] for k in range(8)]
    )
    rows = [[s, 0.1, loss(s)] for s in (0, 10, 20)]
    write("own_tags.csv", ["iteration", "lr", "Loss/training"], rows)
    lines = [json.dumps({"iter": step, "loss": loss(step)}) for step in steps]
    (FOLDER / "own.jsonl").write_text("\n".join(lines))


def trackio():
    """Write the answer of ``trackio get metric --json``."""
    import trackio as tool  # pyright: ignore[reportMissingImports]

    tool.init(project="curves", name="first")
    for step in range(0, 60, 5):
        tool.log({"loss": loss(step), "epoch": step / 8}, step=step)
    tool.finish()
    query = "trackio get metric --project curves --run first --metric loss --json"
    (FOLDER / "trackio.json").write_text(os.popen(query).read())


def transformers():
    """Write the state of a `Trainer`, and its history of logs."""
    import torch  # pyright: ignore[reportMissingImports]
    from transformers import Trainer, TrainingArguments  # pyright: ignore[reportMissingImports]

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x=None, labels=None):
            return {"loss": ((self.layer(x) - labels) ** 2).mean(), "logits": self.layer(x)}

    torch.manual_seed(0)
    data = [{"x": row, "labels": row[:1]} for row in torch.randn(64, 4)]
    with tempfile.TemporaryDirectory() as folder:
        options = {"per_device_train_batch_size": 8, "num_train_epochs": 5, "logging_steps": 5}
        options |= {"report_to": "none", "use_cpu": True, "eval_strategy": "epoch", "optim": "sgd"}
        trainer = Trainer(Module(), TrainingArguments(folder, **options), None, data, data[:16])
        trainer.train()
    trainer.state.save_to_json(str(FOLDER / "trainer_state.json"))
    (FOLDER / "log_history.json").write_text(json.dumps(trainer.state.log_history))


def write(name, columns, rows):
    """Write a table as CSV."""
    with open(FOLDER / name, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:]:
        globals()[each]()
