"""Curves of a training beyond its corners, each with the conditions under which it is drawn.

The kernel along its way and the linear twin of a rectified network on symmetric data are predictions. The corrected flow of
the network itself, of L + eta/4 |grad L|^2, is a simulation: right to the first order of the step.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.explain.kernel.kernel_forecast import KernelForecast
from foretrain.explain.linear_twin import linear_twin
from foretrain.explain.regime import Regime
from foretrain.explain.shares import lost
from foretrain.explain.simulated import Corner, Simulator

CORRECTED = 0.2  # of the edge: up to it the first order of the step is enough


@dataclass(frozen=True, eq=False)
class Further:
    """One further curve.

    Attributes:
        kind: ``predicted`` or ``explained``.
        name: Of the theory.
        train: Losses, shape (start, time), perhaps of the first starts alone; None where a condition does not hold.
        why: The condition that does not hold; empty where all do.
    """

    kind: str
    name: str
    train: np.ndarray | None
    why: str = ""


def further(
    simulator: Simulator, forecast: KernelForecast | None, regime: Regime, substeps: int
) -> tuple[Further, ...]:
    """The kernel along its way, the linear twin and the corrected flow of a training.

    Cost: of the corrected flow, three times that of the flow of the network.
    """
    way, twin = "kernel along its way, own steps", "linear twin, own steps"
    flow = "network, flow of L + rate/4 |grad L|^2"
    made = []
    if forecast is not None and forecast.along is not None:
        made.append(Further("predicted", way, forecast.along))
    curve = linear_twin(simulator.training, simulator.starts, simulator.at)
    why = curve if isinstance(curve, str) else ""
    made.append(Further("predicted", twin, None if isinstance(curve, str) else curve, why))
    why = _uncorrected(simulator.training, forecast, regime)
    if not why:
        curve = simulator.run(Corner(True, True), substeps, corrected=True).train
        why = "it diverges" if lost(curve).any() else ""
    made.append(Further("explained", flow, None if why else curve, why))
    return tuple(made)


def _uncorrected(training, forecast, regime):
    """Why the corrected flow is not asked for, or nothing."""
    if training.optimizer != "sgd" or forecast is None:
        return "the steps are not those of plain descent"
    if training.in_batches:
        return "it says nothing of minibatches"
    share = max(regime.edge.measured, forecast.edge.measured)
    if not share <= CORRECTED:
        return f"the rate times the sharpness over two comes to {share:.2g}, and may be {CORRECTED} at most"
    return ""
