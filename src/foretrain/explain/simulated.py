"""The training of a network with some of what theory leaves out put back: the corners between a kernel's flow and the run.

A corner says of four things whether they are as in the user's run: layers that learn together, gates that move (see
`foretrain.explain.corners`), steps of the user's size, and minibatches. All corners see the same starts, and those with
minibatches the same minibatches.

Small steps are the flow: every own step is cut into `substeps` of Runge and Kutta's rule of four stages, of fourth order. On
all examples a small step may be as long as several own ones: an eighth of a substep is eight steps. On minibatches each is
held for the substeps of its own step, which are one at least. The flow of momentum is that of descent at rate / (1 -
momentum), so that its memory belongs to the step. Adam's and clipped steps have no such flow: own steps alone.

Descent in steps of rate eta is to first order in eta the flow of L + eta/4 |grad L|^2: the *corrected* flow.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from foretrain.errors import ForetrainError
from foretrain.explain.corners import corner, jit
from foretrain.explain.own_network import Training, batches, observed, plain_run, start_of, starts
from foretrain.plans.place import place

STAGES = 4
# Of the stages of Runge and Kutta: how far the next one lies, and what their slopes weigh.
_REACH, _WEIGHTS = np.array([0.5, 0.5, 1, 1]), np.array([1, 2, 2, 1]) / 6
_DATA = ("x", "y", "x_test", "y_test")
SINGLE = 1e7  # weights times examples that a corner's step sees, from which on small steps are in single precision
_DEAR = 1e8  # weights times examples times steps, above which every corner has its own program
_AGREE = 1e-3  # of two numbers of substeps, in the loss at the start
_LEAST, _MOST = 1 / 64, 64  # substeps


class Corner(NamedTuple):
    """The assumptions that are given up; all False is the flow of the kernel from zero, all True the user's run.

    Without `output` the network's output at the start is subtracted from it: finite width makes that random, theory zero.
    """

    layers: bool = False
    gates: bool = False
    step: bool = False
    batches: bool = False
    output: bool = True


def run_corner(training: Training) -> Corner:
    """The corner that gives up every assumption: the user's run."""
    return Corner(True, True, True, training.in_batches)


def linear_corner(training: Training) -> Corner:
    """The corner of the linearised network in the user's steps and batches."""
    return Corner(step=True, batches=training.in_batches)


def corners(training: Training, *, from_zero: bool = False) -> list[Corner]:
    """All corners of a training, the flow of the kernel first; half as many without minibatches, and without a flow.

    With `from_zero` twice as many, those without the output at the start first.
    """
    both = (False, True)
    steps = (True,) if training.adaptive else both
    outputs = both if from_zero else (True,)
    every = product(outputs, both, both, steps, both if training.in_batches else (False,))
    return [Corner._make((*others, output)) for output, *others in every]


def cause_name(training: Training, field: str) -> str:
    """The name of a cause, given the field of `Corner`."""
    return {
        "layers": "layers learn together",
        "gates": "gates move",
        "step": "the step's size and momentum" if training.momentum else "the step's size",
        "batches": "minibatches",
        "output": "output at the start",
    }[field]


def corner_name(training: Training, corner: Corner) -> str:
    """The name of a corner: what is kept and given up."""
    networks = ("kernel", "layers apart"), ("gates frozen", "network")
    step = "own steps" if corner.step else "flow"
    size = ", own batches" if corner.batches else ", all examples"
    zero = "" if corner.output else ", from zero"
    return f"{networks[corner.layers][corner.gates]}, {step}{size * training.in_batches}{zero}"


class Simulation(NamedTuple):
    """One training of all starts, or of some: `starts` are the number of the first and how many.

    There are `substeps` small steps for an own one, 1 of own steps; they may be those of the `corrected` flow.
    """

    corner: Corner
    substeps: float = 1
    corrected: bool = False
    starts: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The name under which the curves are stored; `simulation_of` is the inverse."""
        fields = zip(Corner._fields, self.corner, strict=True)
        words = ["+".join(name for name, given_up in fields if given_up) or "none"]
        words += [] if self.corner.step else [f"{self.substeps:g} substeps"]
        words += ["corrected"] * self.corrected
        words += [] if self.starts is None else ["starts {}+{}".format(*self.starts)]
        return ", ".join(words)


def simulation_of(name: str) -> Simulation:
    """The simulation of a name."""
    fields, *words = name.split(", ")
    corner = Corner(*(field in fields.split("+") for field in Corner._fields))
    substeps = 1 if corner.step else float(words[0].split()[0])
    some = [word.split()[1].split("+") for word in words if word.startswith("starts")]
    first, many = map(int, some[0]) if some else (0, 0)
    return Simulation(corner, substeps, "corrected" in words, (first, many) if some else None)


class Curves(NamedTuple):
    """Losses of one simulation, (start, time) each, and its last weights, a leading axis of starts on every leaf.

    `test` is None without test examples, `weights` where they were not stored.
    """

    train: np.ndarray
    test: np.ndarray | None
    weights: Any


Train = Callable[[Sequence[Simulation]], Mapping[Simulation, Curves]]


class Simulator:
    """Trains all starts in one program per size of batches; step, substeps and a small network's corner are arguments of it.

    `starts` and `rows` are those of `foretrain.explain.own_network`, `at` the steps at which losses are taken, shape (time,),
    ascending from 0.

    Small steps of a large network are in single precision, in half the time: a flow forgets its rounding, a millionth of the
    loss, and two numbers of substeps agree only where it does. Own steps are in double precision, for at the edge of
    stability rounding grows.
    """

    def __init__(self, training: Training, starts: Any, rows: np.ndarray, at: np.ndarray):
        self.training, self.starts, self.rows, self.at = training, starts, rows, at
        self.weights = sum(leaf[0].size for leaf in jax.tree.leaves(starts))
        self.own_programs = self.weights * len(training.x) * training.steps > _DEAR
        self._programs = {}

    def single(self, corner: Corner) -> bool:
        """Return True if a corner is in single precision."""
        seen = self.training.batch_size if corner.batches else len(self.training.x)
        return not corner.step and self.weights * seen >= SINGLE

    def part(self, some: tuple[int, int] | None) -> "Simulator":
        """The simulator of some starts alone, as of `Simulation`, with the programs of this one."""
        if some is None:
            return self
        chosen = slice(some[0], sum(some))
        part = copy(self)
        part.starts = jax.tree.map(lambda leaf: leaf[chosen], self.starts)
        part.rows = self.rows[chosen]
        return part

    def train(self, simulations: Sequence[Simulation]) -> dict[Simulation, Curves]:
        """Curves of simulations, made in this process; raises and costs as `run`."""
        return {
            each: self.part(each.starts).run(each.corner, each.substeps, corrected=each.corrected)
            for each in simulations
        }

    def run(self, corner: Corner, substeps: float = 1, *, corrected: bool = False) -> Curves:
        """Curves of a corner; only small steps of plain descent may be `corrected`.

        Raises `ForetrainError` where the network raises or cannot be held to first order, with the line in the text.
        Cost: starts x steps gradients; times 4 x substeps for small steps, and that times 3 for corrected ones.
        """
        small = not corner.step
        batched = corner.batches and self.training.in_batches
        single = self.single(corner)
        program = self._program(batched, corrected, single)
        momentum = self.training.momentum
        rates, at = self.training.learning_rates, self.at
        lengths = np.ones(len(rates))
        if small and not batched and substeps < 1:
            rates, lengths, at = _long_steps(rates, at, substeps)
        rates = rates / (1 - momentum if small else 1)
        kind = np.float32 if single else np.float64
        data = {name: _of_kind(getattr(self.training, name), kind) for name in _DATA}
        begin = jax.tree.map(lambda leaf: leaf.astype(kind), self.starts)
        rows = self.rows if batched else None
        rule = (max(1, int(substeps)), STAGES, 0.0) if small else (1, 1, momentum)
        assumed = corner.output, corner.layers, corner.gates
        pace = at.astype(np.int32), rates.astype(kind), lengths.astype(kind)
        with jax.enable_x64(not single), warnings.catch_warnings():
            warnings.simplefilter("ignore" if single else "default")  # of what becomes single
            try:
                curves = program(*assumed, data, begin, rows, *pace, *rule)
            except ForetrainError:
                raise
            except Exception as error:
                raise ForetrainError(f"The network cannot be trained: {place(error)}") from error
            train, test, weights = jax.tree.map(lambda leaf: np.asarray(leaf, float), curves)
        if single:
            jax.clear_caches()  # JAX would hand constants on as it rounded them here
        return Curves(train, test, weights)

    def _program(self, batched, corrected, single):
        key = batched, corrected, single
        if key not in self._programs:

            def program(output, layers, gates, *arguments):
                network = _network(self.training.apply, output, layers, gates)
                function = partial(_trained, self.training, network, corrected)
                lanes = (None, 0, 0 if batched else None, *[None] * 6)
                return jax.vmap(function, in_axes=lanes)(*arguments)

            static = (0, 1, 2) if self.own_programs or corrected else 0
            self._programs[key] = jit(program, static_argnums=static)
        return self._programs[key]

    @cached_property
    def plain(self) -> np.ndarray:
        """Training loss of the first start, by Optax and nothing of this file, shape (time,)."""
        with jax.enable_x64(True):
            plain = jit(partial(plain_run, self.training))
            return np.asarray(plain(start_of(self.starts, 0), self.rows[0])[1])[self.at]


def simulator_of(training: Training, number: int, at: np.ndarray | None = None) -> Simulator:
    """The simulator of so many starts, at steps `at`, by default evenly spaced in log time."""
    with jax.enable_x64(True):
        weights = starts(training, number)
    at = log_spaced(training.steps) if at is None else at
    return Simulator(training, weights, batches(training, number), at)


def _long_steps(rates, at, substeps):
    """Steps of a flow that are as long as several own ones, a whole number of them between two of the steps `at`.

    Returns:
        Their rates and their lengths in own steps, shape (step,) with 0 and 1 behind the last; and their numbers at `at`.
    """
    numbers = np.ceil(np.diff(at) * substeps).astype(int)
    times, left = np.diff(np.r_[0, np.cumsum(rates)][at]), len(rates) - numbers.sum()
    long = np.pad(np.repeat(times / numbers, numbers), (0, left))
    lengths = np.pad(np.repeat(np.diff(at) / numbers, numbers), (0, left), constant_values=1)
    return long, lengths, np.r_[0, np.cumsum(numbers)]


def log_spaced(steps: int, number: int = 60) -> np.ndarray:
    """Steps from 0 to the last one, about evenly spaced in log time."""
    return np.unique(np.r_[0, np.round(np.geomspace(1, steps, number))]).astype(int)


def first_substeps(share: float) -> float:
    """The number of substeps that is tried first: each is half of the way to the edge, or a power of two of own steps.

    `share` is the rate times the sharpness at the start over two, 1 at the edge.
    """
    number = 2 * share
    own = 2 ** np.ceil(np.log2(max(number, _LEAST)))
    return float(min(np.ceil(number), _MOST) if number > 1 else own)


def compared(substeps: float) -> list[Simulation]:
    """Simulations that say if so many substeps make the flow of a network, and of it with its gates held."""
    numbers = (substeps, 2 * substeps)
    return [Simulation(Corner(True, gates), n) for gates in (True, False) for n in numbers]


def enough_substeps(train: Train, share: float, tell: Callable | None = None) -> float:
    """Substeps with which the small steps of a network, and of it with its gates held, are its flow.

    From `first_substeps` it doubles until the training curves of half as many agree to a thousandth of the
    loss at the start. `tell` is called with a line each time.

    Raises:
        ForetrainError: 64 are not enough.
    """
    curves: dict[Simulation, Curves] = {}
    substeps = first_substeps(share)
    while substeps <= _MOST:
        simulations = compared(substeps)
        curves |= train([simulation for simulation in simulations if simulation not in curves])
        losses = [np.nan_to_num(curves[simulation].train, nan=np.inf) for simulation in simulations]
        with np.errstate(over="ignore", invalid="ignore"):  # at too few substeps a flow runs away
            gaps = [np.abs(a - b) / a[:, :1] for a, b in (losses[:2], losses[2:])]
        if np.max(gaps) < _AGREE:
            return substeps
        if tell is not None:
            gap = f"change by {np.max(gaps):.1g} of the loss at the start where these are halved"
            tell(f"Smaller steps of the flow are tried: its curves of {substeps:g} a step {gap}.")
        substeps *= 2
    raise ForetrainError(
        f"The flow of this network is too stiff: more than {_MOST} substeps a step. Try a smaller `learning_rate`."
    )


def _network(apply, output, layers, gates):
    """The network of a corner as a function of weights, start and inputs."""
    network = corner(apply, layers=layers, gates=gates)
    return network if output else lambda w, u, x: network(w, u, x) - apply(u, x)


def _trained(
    training, network, corrected, data, start, rows, at, rates, lengths, substeps, stages, momentum
):
    """Losses at the steps `at` and the last weights, from one start, in steps of `rates`, each of `lengths` own steps."""
    training = replace(training, **data)
    decay, (begin, shaped) = training.weight_decay, ravel_pytree(start)

    def loss(w, x, y):
        return training.loss(network(shaped(w), start, x), y)

    def gradient(w, seen, rate):
        x, y = (training.x, training.y) if seen is None else (training.x[seen], training.y[seen])
        slope = jax.grad(partial(loss, x=x, y=y))
        if not corrected:
            return slope(w)

        # The gradient of eta/4 |g|^2 is eta/2 times the Hessian times g, for g of the loss with its decay.
        def decayed(w):
            return slope(w) + decay * w

        return slope(w) + rate / 2 * jax.jvp(decayed, (w,), (decayed(w),))[1]

    def step(number, state):
        w, memory = state
        seen = None if rows is None else rows[number]
        rate, own = rates[number], rates[number] / lengths[number]
        if training.adaptive:
            change, memory = training.rule(rate).update(gradient(w, seen, rate), memory, w)
            return w + change, memory

        def stage(at, carry):
            w, base, whole, _ = carry
            first, last = at % stages == 0, at % stages == stages - 1
            way = moved = gradient(w, seen, own) + decay * w + momentum * memory
            if training.optimizer == "nesterov":  # of a flow momentum is 0
                way = moved + momentum * (moved - memory)
            reach, weight = jnp.asarray(_REACH)[at % stages], jnp.asarray(_WEIGHTS)[at % stages]
            weight, size = jnp.where(stages == 1, 1.0, weight), rate / substeps
            base = jnp.where(first, w, base)
            whole = jnp.where(first, 0.0, whole) + weight * way
            return base - size * jnp.where(last, whole, reach * way), base, whole, moved

        w, *_, moved = jax.lax.fori_loop(0, stages * substeps, stage, (w, w, memory, memory))
        return w, moved

    def losses(state):
        train = loss(state[0], training.x, training.y)
        tested = training.x_test is not None
        return train, loss(state[0], training.x_test, training.y_test) if tested else None

    memory = training.rule(0.0).init(begin) if training.adaptive else jnp.zeros_like(begin)
    (w, _), (train, test) = observed(step, losses, (begin, memory), at)
    return train, test, shaped(w)


def _of_kind(array, kind):
    """An array in a precision; whole numbers in as many bits, None as it is."""
    if array is None or array.dtype.kind not in "fiu":
        return array
    return array.astype(kind if array.dtype.kind == "f" else f"{array.dtype.kind}{kind().itemsize}")
