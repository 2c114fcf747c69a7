"""Curves of a training beyond its corners, each with the conditions under which it is drawn.

The kernel along its way and the linear twin of a rectified network on symmetric data are predictions. The corrected flow of
the network itself, of L + eta/4 |grad L|^2, is a simulation: right to the first order of the step.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.explain.kernel.kernel_prediction import KernelPrediction
from foretrain.explain.linear_twin import linear_twin
from foretrain.explain.own_network import Training
from foretrain.explain.regime import Regime
from foretrain.explain.shares import lost
from foretrain.explain.simulated import Corner, Simulation, Simulator, Train

CORRECTED = 0.2  # of the edge: up to it the first order of the step is enough


@dataclass(frozen=True, eq=False)
class ExtraCurve:
    """One curve that is no corner.

    Attributes:
        kind: ``predicted`` or ``explained``.
        name: Of the theory.
        losses: Of training, shape (start, time), perhaps of the first starts alone; or the condition that does not hold.
    """

    kind: str
    name: str
    losses: np.ndarray | str


def extra_curves(
    simulator: Simulator,
    train: Train,
    prediction: KernelPrediction | None,
    regime: Regime,
    substeps: float,
) -> tuple[ExtraCurve, ...]:
    """The kernel along its way, the linear twin and the corrected flow of a training.

    Cost: of the corrected flow, three times that of the flow of the network.
    """
    curves = []
    if prediction is not None and prediction.along is not None:
        curves.append(ExtraCurve("predicted", "kernel along its way, own steps", prediction.along))
    twin = linear_twin(simulator.training, simulator.starts, simulator.at)
    curves.append(ExtraCurve("predicted", "linear twin, own steps", twin))
    corrected = uncorrected(simulator.training, prediction, regime)
    if not corrected:
        simulation = corrected_flow(substeps)
        corrected = train([simulation])[simulation].train
        corrected = "it diverges" if lost(corrected).any() else corrected
    curves.append(ExtraCurve("explained", "network, flow of L + rate/4 |grad L|^2", corrected))
    return tuple(curves)


def corrected_flow(substeps: float) -> Simulation:
    """The simulation of the corrected flow of the network."""
    return Simulation(Corner(True, True), substeps, corrected=True)


def uncorrected(training: Training, prediction: KernelPrediction | None, regime: Regime) -> str:
    """The condition for the corrected flow that does not hold; empty where all do."""
    if training.optimizer != "sgd" or prediction is None:
        return "the steps are not those of plain descent"
    if training.in_batches:
        return "it says nothing of minibatches"
    share = max(regime.edge.measured, prediction.edge.measured)
    if not share <= CORRECTED:
        return f"the rate times the sharpness over two comes to {share:.2g}, and may be {CORRECTED} at most"
    return ""
