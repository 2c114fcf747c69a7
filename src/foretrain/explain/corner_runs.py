"""Corners of a training as runs of the engine: an axis of simulations, each of which is measured on the host.

A folder holds the runs of one training, known by a hash of all that makes their curves: the compiled text of the network's
loss and gradient, so that another network is another training; data, starts, minibatches, rates, every option, JAX's version.
Every run is durable when it ends, and a folder that holds it is not asked to compute it again.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from foretrain.dynamics.program import FAILED
from foretrain.engine.processes import check_can_run_here
from foretrain.engine.sweep import execute
from foretrain.errors import ArgumentError, ForetrainError
from foretrain.explain.own_network import Training
from foretrain.explain.simulated import (
    FEW,
    STAGES,
    Curves,
    Simulation,
    Simulator,
    run_corner,
    simulation_of,
    simulator_of,
)
from foretrain.laboratory import folder as home
from foretrain.laboratory.stages import stages
from foretrain.laboratory.stages import training as shown
from foretrain.plans import catalogue
from foretrain.plans.define import define
from foretrain.plans.parameters import parameter
from foretrain.plans.plan import Plan, make_plan, runs
from foretrain.results.journal import scan, segments
from foretrain.results.log import warnings_logged
from foretrain.results.manifest import claim_folder
from foretrain.results.segment import runs_of

_WORTH_S = 30.0  # seconds of simulations from which processes of their own are worth their start
_FIRST_ORDER = 2.0  # gradients that one of a network to first order is worth, as measured
_CORRECTED = 3.0  # the same of a step of the corrected flow
_SIMULATORS: dict[str, Simulator] = {}  # the latest of this process, by the hash of its training


@dataclass(frozen=True)
class Parameters:
    """The corners of a network of one's own, between the flow of its kernel and its run."""

    corner: str = parameter("none", "the simulation, as `foretrain.explain.simulated.Simulation`")
    training: str = parameter("", "hash of all that makes the curves", sweepable=False)
    starts: int = parameter(16, "number of starts", minimum=1, maximum=1000, sweepable=False)


@dataclass
class CornerRuns:
    """Trains simulations as runs of the engine, in this process or in workers, and keeps their curves in a folder.

    Attributes:
        simulator: The simulator of all starts.
        source: Makes the training again in a worker; it must be possible to pickle.
        out: The folder of results, by default ``runs/explain-<hash>``.
        cores: Cores that workers may use where this process is pinned to one of them; None where it is not pinned.
        quiet: True to show no progress.

    Raises:
        ForetrainError: The network cannot be pickled.
        FolderError: The folder holds something else, or cannot be written.
    """

    simulator: Simulator
    source: Callable[[], Training]
    out: Path | None = None
    cores: Set[int] | None = None
    quiet: bool = True
    _curves: dict[Simulation, Curves] = field(default_factory=dict)
    _pace: float = 0.0  # seconds of one gradient of all examples, as `_gradients` counts

    def __post_init__(self):
        training = self.simulator.training
        share = training.batch_size / len(training.x)
        self._study = define(
            "explain",
            Parameters=Parameters,
            measure=partial(_measure, self.source),
            estimate=partial(_gradients, share),
        )
        try:
            catalogue.describe(self._study)
        except Exception as error:
            raise ForetrainError(
                f"The network cannot be handed to another process: {error}. Define its functions in a file, without objects "
                "that cannot be pickled."
            ) from error
        _SIMULATORS.clear()
        _SIMULATORS[self._identity] = self.simulator

    @cached_property
    def folder(self) -> Path:
        """The folder of results, made if need be."""
        return claim_folder(self.out or Path("runs") / f"explain-{self._identity[:12]}")

    @cached_property
    def _identity(self) -> str:
        return training_hash(self.simulator)

    def train(self, simulations: Sequence[Simulation]) -> dict[Simulation, Curves]:
        """Curves of simulations; those that the folder holds are read.

        Raises:
            ForetrainError: A network cannot be held to first order, or raises; the text has the line.
            FolderError: The folder is in use, or holds another training.
        """
        missing = [
            simulation
            for simulation in dict.fromkeys(simulations)
            if simulation not in self._curves
        ]
        if missing:
            self._execute(self._plan([simulation.name for simulation in missing]))
        return {simulation: self._curves[simulation] for simulation in simulations}

    def _plan(self, names: Sequence[str]) -> Plan:
        number = len(self.simulator.rows)
        values = {"corner": list(names), "training": self._identity, "starts": number}
        return make_plan(self._study, values, seeds=1)

    def _execute(self, plan: Plan) -> None:
        wanted = {run.identity: run.parameters for run in runs(plan)}
        stored = scan(self.folder)
        code = plan.study.code
        again = [
            name
            for name, outcome in zip(stored.identities, stored.outcomes, strict=True)
            if name in wanted and (outcome == FAILED or stored.code_of(name) != code)
        ]
        left = [p for name, p in wanted.items() if name in again or name not in stored.identities]
        gradients = sum(map(plan.study.estimate, left))
        here = self._runs_here(gradients)
        began = time.monotonic()
        with ExitStack() as stack:
            tell = stack.enter_context(stages(quiet=self.quiet))
            stack.enter_context(warnings_logged(self.folder))
            stack.enter_context(nullcontext() if here else _on(self.cores))
            execute(
                plan,
                self.folder,
                workers=0 if here else None,
                on=None if here else _backend(),
                again=again,
                claimed=lambda: self._record(plan),
                progress=None if self.quiet else shown(tell),
            )
        if left and here:
            self._pace = (time.monotonic() - began) / gradients
        self._read(wanted)

    def _runs_here(self, gradients: float) -> bool:
        """True for runs of seconds, where the engine can compute in this process."""
        if self._pace * gradients > _WORTH_S:
            return False
        try:
            check_can_run_here()
        except ArgumentError:
            return False
        return True

    def _record(self, plan: Plan) -> None:
        """Write the plan into the manifest, with the simulations that stand there."""
        stored = home.stored_plan(self.folder)
        if stored is not None and "corner" in stored["parameters"]:
            names = stored["axes"].get("corner", [stored["parameters"]["corner"]])
            new = plan.axes.get("corner", (plan.parameters.corner,))
            plan = self._plan(list(dict.fromkeys([*names, *new])))
        home.record(self.folder, plan)

    def _read(self, wanted: dict[str, Parameters]) -> None:
        tree = jax.tree.structure(self.simulator.starts)
        for segment in segments(self.folder):
            for run in runs_of(segment):
                if run.identity not in wanted:
                    continue
                if run.outcome == FAILED:
                    raise ForetrainError(run.note)
                arrays = run.finals
                leaves = [arrays[name] for k in range(len(arrays)) if (name := _leaf(k)) in arrays]
                weights = jax.tree.unflatten(tree, leaves) if leaves else None
                curves = Curves(arrays["train"], arrays.get("test"), weights)
                self._curves[simulation_of(wanted[run.identity].corner)] = curves


def _measure(source: Callable[[], Training], p: Parameters, seed: Any) -> dict[str, np.ndarray]:
    """Curves of one simulation, and the last weights of the user's run."""
    if p.training not in _SIMULATORS:
        simulator = simulator_of(source(), p.starts)
        if training_hash(simulator) != p.training:
            raise ForetrainError("The network or its data have changed meanwhile: try again.")
        _SIMULATORS[p.training] = simulator
    simulator, simulation = _SIMULATORS[p.training], simulation_of(p.corner)
    train, test, weights = simulator.train([simulation])[simulation]
    arrays = {"train": train} if test is None else {"train": train, "test": test}
    if simulation == Simulation(run_corner(simulator.training)):
        arrays |= {_leaf(k): leaf for k, leaf in enumerate(jax.tree.leaves(weights))}
    return arrays


def _leaf(number: int) -> str:
    return f"weight{number}"


def _gradients(share: float, p: Parameters) -> float:
    """Gradients of all examples for every step of a simulation; `share` is that of a minibatch."""
    simulation = simulation_of(p.corner)
    corner = simulation.corner
    stages = 1.0 if corner.step else STAGES * simulation.substeps
    stages *= _CORRECTED if simulation.corrected else 1.0
    order = 1.0 if corner.layers and corner.gates else _FIRST_ORDER
    starts = FEW if simulation.few else p.starts
    return stages * order * (share if corner.batches else 1.0) * starts


def _backend() -> str:
    return "cpu" if jax.default_backend() == "cpu" else "gpu"


@contextmanager
def _on(cores: Set[int] | None) -> Iterator[None]:
    """Context in which a process that is pinned to one core starts workers on all of these."""
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, pinned)


def training_hash(simulator: Simulator) -> str:
    """Hash (32 hex digits) of all that makes the curves of a training."""
    training, starts = simulator.training, simulator.starts
    identity = hashlib.sha256()
    options = training.optimizer, training.momentum, training.weight_decay, jax.__version__
    identity.update(json.dumps([*options, str(jax.tree.structure(starts))]).encode())
    identity.update(_gradient_text(training, starts).encode())
    examples = training.x, training.y, training.x_test, training.y_test
    for leaf in (
        *examples,
        training.learning_rates,
        simulator.rows,
        simulator.at,
        *jax.tree.leaves(starts),
    ):
        array = np.asarray([] if leaf is None else leaf)
        identity.update(f"{array.dtype}{array.shape}".encode())
        identity.update(np.ascontiguousarray(array).tobytes())
    return identity.hexdigest()[:32]


def _gradient_text(training: Training, starts: Any) -> str:
    """The lowered program of one start's loss and gradient."""

    def loss(w, x, y):
        return training.loss(training.apply(w, x), y)

    def shape(leaf):
        return jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)

    with jax.enable_x64(True):
        program = jax.jit(jax.value_and_grad(loss))
        return program.lower(jax.tree.map(shape, starts), training.x, training.y).as_text()
