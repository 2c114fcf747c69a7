"""A study of one's own in a file, the smallest that has everything, and one of functions."""

import dataclasses

from foretrain.study import Program, Run, parameter

TINY = '''"""A decay."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab

SOURCE = "own"
lab.declare("step mode", pair="Two numbers.")
lab.declare("step mode", scores="Two more.")


@dataclass(frozen=True)
class Parameters(lab.Training):
    """Fields."""

    width: int = lab.parameter(2, "width", minimum=2, static=True)
    scale: float = lab.parameter(1.0, "scale", above=0)
    learning_rate: float = lab.default(0.1)
    steps: int = lab.default(20)


def inputs(p, seed):
    return {"start": lab.generator(seed, "w").standard_normal(p.width)}


def check(p):
    pass


def labels(p):
    return {"mode": np.arange(p.width)}


def estimate(p):
    return p.steps


def time(p, step):
    return step * p.learning_rate


def variants(p):
    return {"other": {"scale": 2.0}}


def program(p):
    import jax.numpy as jnp

    def init(inputs):
        return inputs["start"] * inputs["scale"]

    def step(inputs, w):
        return w * (1 - inputs["learning_rate"])

    def observe(inputs, w):
        return {"loss": jnp.sum(w**2), "pair": w}

    return lab.Program(init, step, observe)


def predict(p, step, seed):
    pair = inputs(p, seed)["start"] * p.scale * (1 - p.learning_rate) ** step[:, None]
    return {"pair": pair, "loss": (pair**2).sum(1)}


def fit(cell):
    return {}


def decays(c):
    return c.pair - c.theory.pair


def bigger(c):
    return c["other"].loss.isel(step=0) / 4


CLAIMS = [
    lab.claim("decays", "It decays.", decays, exact=True, near=0, inside=(0, 0.01), why="Rounding.", source=SOURCE),
    lab.claim("bigger", "Bigger.", bigger, near=1, inside=(0, 9), why="Half.", of="other", source=SOURCE),
]
'''


RUN = ["--seeds", "2", "--workers", "0", "--quiet"]


def one_line(text: str, message: str) -> None:
    lines = text.strip().splitlines()
    assert len(lines) == 1, lines
    assert message in lines[0]


def contents(folder):
    """Every file of a folder of results but its locks, to its bytes."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock")
    return {file.relative_to(folder): file.read_bytes() for file in files}


@dataclasses.dataclass(frozen=True)
class Decay(Run):
    """A decay."""

    rate: float = parameter(0.1, "rate of decay", above=0)


DECAY = Program(
    init=lambda inputs: inputs["start"] * 1.0,
    step=lambda inputs, x: x * (1 - inputs["rate"]),
    observe=lambda inputs, x: {"loss": x**2},
)
