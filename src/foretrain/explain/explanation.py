"""The record of a network predicted, trained, and compared with theory assumption by assumption."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foretrain.elsewhere.curves import Measured
from foretrain.explain.kernel.kernel_prediction import KernelPrediction
from foretrain.explain.own_network import Training
from foretrain.explain.regime import Regime
from foretrain.explain.shares import Shares
from foretrain.explain.simulated import Corner, cause_name, corner_name, run_corner
from foretrain.lazy import xr
from foretrain.report.answer import Finding


@dataclass(frozen=True)
class Checks:
    """Differences between independent ways to one curve.

    The largest over log time and starts, over the loss at the start, or the curve where that is higher.

    Attributes:
        closed: The flow of the kernel, simulated and in closed form; None where there is none.
        recursion: The kernel in own steps and batches, simulated and as a recursion; None without one, and where it diverges.
        run: Every assumption given up, and the run of the first start by Optax.
    """

    closed: float | None
    recursion: float | None
    run: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Finding):
    """A network predicted, trained, and compared; ``print`` shows its tables, a notebook its summary.

    Attributes:
        weights: Number of weights.
        at: Steps at which losses were taken, shape (time,).
        train, test: Losses of every corner, shape (start, time) each; `test` None without test examples.
        prediction: Made before training; None where steps are no recursion of the kernel.
        corrected: Training losses of the network's flow of L + eta/4 |grad L|^2, (start, time), right to the first order of
            the step; or the condition for it that does not hold.
        shares: The gap of the training loss taken apart; `test_shares` that of the test loss, or None.
        substeps: Small steps of the flow for every own step.
        folder: Of results; it holds the curves of every corner.
        single: True if small steps on all examples are in single precision.
        kernel_examples: Number of the examples of which kernels were made.
        measured: Runs of the same training made elsewhere, if there are any.
    """

    training: Training
    weights: int
    at: np.ndarray
    train: Mapping[Corner, np.ndarray]
    test: Mapping[Corner, np.ndarray] | None
    prediction: KernelPrediction | None
    regime: Regime
    corrected: np.ndarray | str
    shares: Shares
    test_shares: Shares | None
    checks: Checks
    substeps: float
    seconds: float
    folder: Path
    single: bool = False
    kernel_examples: int | None = None
    measured: Measured | None = None

    @property
    def theory(self) -> Corner:
        """The corner of every assumption kept: the flow of the kernel, from zero if asked; without a flow in own steps."""
        output = all(corner.output for corner in self.train)
        return Corner(step=self.training.adaptive, output=output)

    @property
    def run(self) -> Corner:
        """The corner where every assumption is given up: the user's run."""
        return run_corner(self.training)

    @property
    def starts(self) -> int:
        """Number of starts."""
        return len(self.train[self.run])

    def dataset(self) -> "xr.Dataset":
        """All curves and values, labelled: loss (corner, seed, step), value (cause, seed, step), and so of the test loss."""
        names = [corner_name(self.training, corner) for corner in self.train]
        rate = self.training.learning_rates[0]
        whole = xr.Dataset(attrs={"learning_rate": rate, "substeps": self.substeps})
        splits = ("", self.train, self.shares), ("test_", self.test, self.test_shares)
        for prefix, curves, shares in splits:
            if curves is None or shares is None:
                continue
            rows = {"loss": ("corner", names, [*curves.values()])}
            if shares.causes:
                words = [cause_name(self.training, cause.name) for cause in shares.causes]
                rows["value"] = "cause", words, [cause.values for cause in shares.causes]
            for name, (dim, labels, values) in rows.items():
                coords = {dim: labels, "seed": np.arange(self.starts), "step": self.at}
                whole[prefix + name] = xr.DataArray(np.stack(values), coords, tuple(coords))
        return whole
