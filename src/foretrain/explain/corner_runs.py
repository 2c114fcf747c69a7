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
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from foretrain.dynamics.program import FAILED
from foretrain.engine.estimate import START_S, Estimate
from foretrain.engine.places import usual_workers
from foretrain.engine.processes import check_can_run_here
from foretrain.engine.sweep import execute
from foretrain.errors import ArgumentError, ForetrainError
from foretrain.explain.own_network import Training, start_of
from foretrain.explain.simulated import (
    STAGES,
    Corner,
    Curves,
    Simulation,
    Simulator,
    linear_corner,
    run_corner,
    simulation_of,
    simulator_of,
)
from foretrain.laboratory import folder as home
from foretrain.laboratory.stages import stages
from foretrain.laboratory.stages import training as shown
from foretrain.machine import peak_memory, usable_cores
from foretrain.plans import catalogue
from foretrain.plans.define import define
from foretrain.plans.parameters import parameter
from foretrain.plans.plan import Plan, make_plan, runs
from foretrain.results.files import warnings_logged
from foretrain.results.journal import scan, segments
from foretrain.results.manifest import claim_folder
from foretrain.results.segment import runs_of

_DRAW_S = 3.0  # of tables, pictures and page
_PROGRAMS = 2e8  # bytes of compiled programs, tables and pictures
_WORTH_S = 30.0  # seconds of simulations from which processes of their own are worth their start
_TRIED, _TRIAL_S = 4, 0.1  # starts at most of the trial, and seconds at least
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

    def __post_init__(self):
        training = self.simulator.training
        single = [self.simulator.single(Corner(batches=batched)) for batched in (False, True)]
        self._study = define(
            "explain",
            Parameters=Parameters,
            measure=partial(_measure, self.source),
            estimate=partial(_gradients, training.batch_size / len(training.x), single),
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
        """Curves of simulations; those that the folder lacks are trained. Raises as `execute` and `Simulator.run` do."""
        missing = [simulation for simulation in simulations if simulation not in self._curves]
        if missing:
            self.train_part(missing)
        return {simulation: self._curves[simulation] for simulation in simulations}

    def train_part(self, simulations: Sequence[Simulation], part: tuple[int, int] = (1, 1)) -> bool:
        """Train what the folder lacks of the i-th of n parts of simulations; return True if it holds all of all parts then."""
        plan, again, left = self._left(simulations)
        here = _runs_here(self._seconds(left) / part[1])
        with ExitStack() as stack:
            tell = stack.enter_context(stages(quiet=self.quiet))
            stack.enter_context(warnings_logged(self.folder))
            stack.enter_context(nullcontext() if here else _on(self.cores))
            execute(
                plan,
                self.folder,
                workers=0 if here else None,
                on=None if here else ("cpu" if jax.default_backend() == "cpu" else "gpu"),
                shard=part,
                again=again,
                claimed=lambda: home.record(self.folder, self._whole(plan)),
                progress=None if self.quiet else shown(tell),
            )
        self._read({run.identity: run.parameters for run in runs(plan)})
        return self._curves.keys() >= {*simulations}

    def outlook(self, simulations: Sequence[Simulation], before_s: float, parts: int) -> list[str]:
        """Say how long one of some parts of simulations that the folder lacks will take, and how much memory.

        The prediction has taken `before_s` seconds; the regime, of as many kernels, takes about as many.
        """
        left = self._left(simulations)[-1][::parts]
        if not left:
            return []
        before, run_s = peak_memory(), self._seconds(left)
        here = _runs_here(run_s)
        with _on(self.cores):
            workers = 1 if here else usual_workers(len(left), usable_cores())
        programs = {}
        for p in left:
            simulation = simulation_of(p.corner)
            corner = simulation.corner._replace(step=True)
            kind = corner if self.simulator.own_programs else (corner.batches, corner.output)
            seconds = self._trial[1] * _order(simulation)
            programs.setdefault((kind, simulation.corrected), []).append(seconds)
        open_s = min(sum(map(min, programs.values())), sum(map(sum, programs.values())) / workers)
        whole = Estimate(
            run_s=run_s / workers,
            open_s=open_s + START_S * (not here),
            conclude_s=before_s + _DRAW_S,
            workers=workers,
            worker=peak_memory() - before * here,
            here=before + _PROGRAMS,
            tried=1,
            kinds=len(left),
            core_s=run_s + workers * open_s + before_s,
        )
        return [f"Time: {whole.time}.", f"Memory: {whole.memory}."]

    def _plan(self, names: Sequence[str]) -> Plan:
        number = len(self.simulator.rows)
        values = {"corner": list(names), "training": self._identity, "starts": number}
        return make_plan(self._study, values, seeds=1)

    def _left(self, simulations: Sequence[Simulation]) -> tuple[Plan, list[str], list[Parameters]]:
        """The plan of simulations, the runs that the folder holds of it but not well, and the parameters of all it lacks."""
        plan = self._plan([simulation.name for simulation in simulations])
        home.joined(self.folder, self._whole(plan))  # refuses another training
        wanted, stored = {run.identity: run.parameters for run in runs(plan)}, scan(self.folder)
        again = [
            name
            for name, outcome in zip(stored.identities, stored.outcomes, strict=True)
            if name in wanted and (outcome == FAILED or stored.makers[name] != plan.study.code)
        ]
        done = set(stored.identities) - {*again}
        return plan, again, [p for name, p in wanted.items() if name not in done]

    def _seconds(self, left: Sequence[Parameters]) -> float:
        """Seconds of one core that simulations take once they are compiled."""
        gradients = self.simulator.training.steps * sum(map(self._study.estimate, left))
        return gradients and self._trial[0] * gradients

    @cached_property
    def _trial(self) -> tuple[float, float]:
        """Seconds of a gradient of all examples from one start, and of compiling a program, by small steps of no size."""
        trial = self.simulator.part((0, _TRIED))
        steps, times = (1, 2) if trial.own_programs else (trial.training.steps, len(trial.at))
        still = {"optimizer": "sgd", "clip": np.inf} if trial.training.adaptive else {}
        trial.training = replace(trial.training, learning_rates=np.zeros(steps), **still)
        trial.at, trial.weights = np.minimum(np.arange(times), 1), 0  # double precision
        trial._programs = {} if still else trial._programs
        seconds, substeps = [], 1
        while len(seconds) < 2 or seconds[-1] < _TRIAL_S:
            substeps = 4 ** max(0, len(seconds) - 1)
            began = time.process_time()
            trial.run(Corner(True, True), substeps)
            seconds.append(time.process_time() - began)
        gradients = STAGES * substeps * len(trial.rows)
        return seconds[-1] / gradients, max(0.0, seconds[0] - seconds[1])

    def _whole(self, plan: Plan) -> Plan:
        """A plan with the simulations that stand in the manifest."""
        stored = home.stored_plan(self.folder)
        if stored is None or "corner" not in stored["parameters"]:
            return plan
        names = stored["axes"].get("corner", [stored["parameters"]["corner"]])
        new = plan.axes.get("corner", (plan.parameters.corner,))
        return self._plan(list(dict.fromkeys([*names, *new])))

    def _read(self, wanted: dict[str, Parameters]) -> None:
        tree = jax.tree.structure(self.simulator.starts)
        names = [f"weight{k}" for k in range(tree.num_leaves)]
        for segment in segments(self.folder):
            for run in runs_of(segment):
                if run.identity not in wanted:
                    continue
                if run.outcome == FAILED:
                    raise ForetrainError(run.note)
                leaves = [run.finals[name] for name in names if name in run.finals]
                weights = jax.tree.unflatten(tree, leaves) if leaves else None
                curves = Curves(run.finals["train"], run.finals.get("test"), weights)
                self._curves[simulation_of(wanted[run.identity].corner)] = curves


def _runs_here(seconds: float) -> bool:
    """True for runs of seconds, where the engine can compute in this process."""
    with suppress(ArgumentError):
        check_can_run_here()
        return seconds <= _WORTH_S
    return False


def _measure(source: Callable[[], Training], p: Parameters, seed: Any) -> dict[str, np.ndarray]:
    """Curves of one simulation, and the last weights in own steps of the network and its linearisation."""
    if p.training not in _SIMULATORS:
        simulator = simulator_of(source(), p.starts)
        if training_hash(simulator) != p.training:
            raise ForetrainError("The network or its data have changed meanwhile: try again.")
        _SIMULATORS[p.training] = simulator
    simulator, simulation = _SIMULATORS[p.training], simulation_of(p.corner)
    train, test, weights = simulator.train([simulation])[simulation]
    arrays = {"train": train} if test is None else {"train": train, "test": test}
    if simulation.corner in (run_corner(simulator.training), linear_corner(simulator.training)):
        arrays |= {f"weight{k}": leaf for k, leaf in enumerate(jax.tree.leaves(weights))}
    return arrays


def _gradients(share: float, single: Sequence[bool], p: Parameters) -> float:
    """Gradients of all examples for every step of a simulation.

    `share` is that of a minibatch; `single` tells if small steps on all examples and on minibatches are in single precision,
    where a gradient is worth half.
    """
    simulation = simulation_of(p.corner)
    corner, substeps = simulation.corner, simulation.substeps
    substeps = max(1.0, substeps) if corner.batches else substeps
    stages = 1.0 if corner.step else STAGES * substeps * (0.5 if single[corner.batches] else 1.0)
    starts = simulation.starts[1] if simulation.starts else p.starts
    return stages * _order(simulation) * (share if corner.batches else 1.0) * starts


def _order(simulation: Simulation) -> float:
    """Gradients of the network that one of a simulation is worth."""
    real = simulation.corner.layers and simulation.corner.gates
    return (1.0 if real else _FIRST_ORDER) * (_CORRECTED if simulation.corrected else 1.0)


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

    def loss(w, x, y):
        return training.loss(training.apply(w, x), y)

    with jax.enable_x64(True):
        program = jax.jit(jax.value_and_grad(loss))
        text = program.lower(start_of(starts, 0), training.x, training.y).as_text()
    rules = training.optimizer, training.momentum, training.weight_decay, training.clip
    options = *rules, *training.betas, jax.__version__, str(jax.tree.structure(starts))
    identity = hashlib.sha256((json.dumps(options) + text).encode())
    examples = training.x, training.y, training.x_test, training.y_test
    schedule = training.learning_rates, simulator.rows, simulator.at
    for leaf in (*examples, *schedule, *jax.tree.leaves(starts)):
        array = np.asarray([] if leaf is None else leaf)
        identity.update(f"{array.dtype}{array.shape}".encode())
        identity.update(np.ascontiguousarray(array).tobytes())
    return identity.hexdigest()[:32]
