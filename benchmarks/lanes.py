"""Speed of lanes and workers over plain ways of training many small networks, ratios side by side in one run.

``python benchmarks/lanes.py`` prints tables in Markdown; each number is the median of five, compilation excluded. The
network is a perceptron 1-200-200-30 (tanh) trained on 45 examples with AdamW, full batch; run lengths are log-uniform
over two decades and the longest run first, as in a sweep. Shares are of the rate of the best product of two square
matrices on the same core, and count operations of matrix products only. PyTorch is needed for one comparison, which is
left out where it is not installed.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPEATS = 5
TIMED_S, WARM = 1.0, 100  # of a share: seconds, and strides of a lane before them
WIDTH = 200  # of the perceptron of a share
RUNS, DECADES = 256, 2
SHAPES = (2, 16, 20), (8, 16, 20), (64, 8, 20), (200, 8, 4)  # hidden width, lanes, stride
SQUARES = (512, 1024, 2048)
ROUTING = {"domains": 10, "hidden_width": 64, "observe_every": 50}
SAMPLES, OUTPUTS = 45, 30


def perceptron(hidden: int, stride: int = 20):
    """The program of the perceptron with two hidden layers of that width; its inputs hold only the rates."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import descent
    from foretrain.dynamics.program import RUNNING, Completed
    from foretrain.streams import key, normals

    x = jnp.linspace(-1, 1, SAMPLES, dtype=jnp.float32)[:, None]
    y = jnp.asarray(np.random.default_rng(0).normal(size=(SAMPLES, OUTPUTS)), jnp.float32)
    shapes = [(1, hidden), (hidden, hidden), (hidden, OUTPUTS)]

    def loss(weights, offsets):
        # One input: the outer product as such, which XLA fuses with what follows it.
        a = jnp.tanh(x * weights[0] + offsets[0])
        a = jnp.tanh(a @ weights[1] + offsets[1])
        return ((a @ weights[2] + offsets[2] - y) ** 2).mean()

    def init(inputs):
        draws = normals(key(inputs["root_seed"], inputs["seed"], "weights"), shapes, jnp.float32)
        weights = [w / np.sqrt(w.shape[0]) for w in draws]
        parameters = (weights, [jnp.zeros(shape[1], jnp.float32) for shape in shapes])
        return parameters, descent.start("adamw", parameters)

    def step(inputs, state):
        parameters, memory = state
        slope = jax.grad(lambda p: loss(*p))(parameters)
        return descent.step("adamw", parameters, slope, memory, inputs["rate"], 0.01)

    return Completed(
        init,
        step,
        lambda inputs, state: {"loss": loss(*state[0])},
        done=lambda inputs, state, observed: jnp.int8(RUNNING),
        finish=lambda inputs, state: {},
        observe_every=stride,
        precision="float32",
    )


def lengths(runs: int | None = None, stride: int = 20) -> np.ndarray:
    """Run lengths in steps, multiples of the stride of observation, longest first; of `RUNS` runs by default."""
    return np.geomspace(10**DECADES, 1, runs or RUNS).round().astype(int) * stride


def inputs_of(seed: int, steps: int) -> dict:
    """Inputs of one run."""
    return {
        "root_seed": np.uint32(0),
        "seed": np.uint32(seed),
        "max_steps": np.int32(steps),
        "rate": np.float32(1e-3),
    }


def ride(program, steps, lanes: int, repeats: int | None = None):
    """Train runs of these lengths in lanes; returns seconds without compilation, and the occupancy."""
    from foretrain.engine.lanes import Lanes, Passenger

    times, occupancy = [], 0.0
    engine = Lanes(program, {}, lanes)
    for repeat in range((repeats or REPEATS) + 1):
        done, paid = engine.strides_done, engine.strides_paid
        engine.board(Passenger(str(n), inputs_of(n, s)) for n, s in enumerate(steps))
        began = time.perf_counter()
        finished = 0
        while engine.busy:
            finished += len(engine.advance())
        assert finished == len(steps)
        if repeat:
            times.append(time.perf_counter() - began)
            occupancy = (engine.strides_done - done) / (engine.strides_paid - paid)
    return float(np.median(times)), occupancy


def whole_batch(program, steps):
    """The plain way: one `vmap` of `while_loop` over all runs; seconds without compilation."""
    import jax
    import jax.numpy as jnp

    stacked = {
        name: jnp.stack([inputs_of(n, s)[name] for n, s in enumerate(steps)])
        for name in inputs_of(0, 0)
    }
    train = jax.jit(jax.vmap(lambda inputs: _train(program, inputs)))
    return median(lambda: jax.block_until_ready(train(stacked)))


def one_by_one(program, steps):
    """A Python loop over single jitted runs."""
    import jax

    train = jax.jit(lambda inputs: _train(program, inputs))
    return median(
        lambda: [jax.block_until_ready(train(inputs_of(n, s))) for n, s in enumerate(steps)]
    )


def _train(program, inputs):
    import jax

    def stride(carry):
        step, state = carry
        state = jax.lax.fori_loop(
            0, program.observe_every, lambda _, s: program.step(inputs, s), state
        )
        return step + program.observe_every, state

    start = (0, program.init(inputs))
    _, state = jax.lax.while_loop(lambda c: c[0] < inputs["max_steps"], stride, start)
    return program.observe(inputs, state)["loss"]


def median(work, repeats: int | None = None) -> float:
    """Median seconds of a call, after one that compiles."""
    work()
    times = []
    for _ in range(repeats or REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def torch_steps_per_second(threads: int, steps: int = 3000) -> float:
    """Steps per second of a plain PyTorch loop of the same training in this process."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    x, y = torch.linspace(-1, 1, 45)[:, None], torch.randn(45, 30)
    layers = [torch.nn.Linear(1, 200), torch.nn.Tanh(), torch.nn.Linear(200, 200), torch.nn.Tanh()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(200, 30))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.01, fused=True)

    def train():
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.mse_loss(network(x), y).backward()
            optimizer.step()

    return steps / median(train, repeats=1)


def ours_steps_per_second(lanes: int = 4, stride: int = 100) -> float:
    """Steps per second of one pinned process with lanes, on runs of skewed length, starts and loss curves included."""
    steps = lengths(32, stride)
    seconds, _ = ride(perceptron(200, stride), steps, lanes, repeats=1)
    return steps.sum() / seconds


def processes(what: str, number: int) -> float:
    """Summed rate of that many processes of this file at once, each on a core of its own where pinned."""
    command = [sys.executable, __file__, "--rate", what]
    running = [
        subprocess.Popen([*command, "--core", str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(number)
    ]
    return sum(json.loads(process.communicate()[0].splitlines()[-1]) for process in running)


def perceptrons():
    """Two workers against PyTorch: every rate and every ratio of a turn is taken side by side, the table has medians."""
    turns = []
    for _ in range(REPEATS):
        ours, both = processes("ours", 2), processes("torch1", 2)
        item, two = processes("torch1", 1), processes("torch2", 1)
        turns.append((ours, item, two, both, ours / max(item, two), ours / both))
    ours, item, two, both, *_ = np.median(turns, axis=0)
    print("Perceptron 1-200-200-30 on 45 examples, AdamW, steps per second\n\n| | |\n|---|---:|")
    print(f"| foretrain, two workers | {ours:.0f} |")
    print(f"| PyTorch, one process, 1 or 2 threads | {item:.0f}, {two:.0f} |")
    print(f"| PyTorch, two processes of one thread | {both:.0f} |")
    for column, name in ((4, "against the better one process"), (5, "against two processes")):
        ratios = np.array(turns)[:, column]
        print(f"| {name} | {np.median(ratios):.1f}x ({ratios.min():.1f} to {ratios.max():.1f}) |")


def workers(plan=None, repeats=4, numbers=(1, 2)):
    """Wall time of the same sweep with these numbers of workers, start and compilation of the first excluded."""
    from foretrain.engine.sweep import execute
    from foretrain.plans.plan import make_plan

    values = {"domains": 10, "steps": 2500, "observe_every": 100}
    plan = plan or make_plan("routing", values, seeds=480)
    seconds = {number: [] for number in numbers}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(repeats):
            for number in numbers:
                done = execute(plan, Path(folder) / f"{repeat}-{number}", workers=number)
                if repeat:
                    seconds[number].append(done.wall_time_s)
    return {number: float(np.median(times)) for number, times in seconds.items()}


def peak() -> float:
    """Operations per second of the best square product in float32 on this core; an addition and a multiplication are two."""
    import jax
    import jax.numpy as jnp

    product = jax.jit(jnp.matmul)
    rates = []
    for size in SQUARES:
        a = jnp.ones((size, size), jnp.float32)
        rates.append(2 * size**3 / median(lambda a=a: product(a, a).block_until_ready()))
    return max(rates)


def products(step, *arguments) -> tuple[float, float]:
    """Operations of the matrix products of a step, and the seconds they take when each is run alone, in a loop."""
    import jax

    flops = seconds = 0.0
    timed = {}
    for equation in _equations(jax.make_jaxpr(step)(*arguments).jaxpr):
        if equation.primitive.name != "dot_general":
            continue
        left, right = (v.aval for v in equation.invars)
        contracted = [left.shape[axis] for axis in equation.params["dimension_numbers"][0][0]]
        flops += 2 * equation.outvars[0].aval.size * int(np.prod(contracted))
        known = (left.shape, right.shape, str(equation.params["dimension_numbers"]))
        if known not in timed:
            timed[known] = _alone(equation, left, right)
        seconds += timed[known]
    return flops, seconds


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        inner = [v for v in equation.params.values() if hasattr(v, "jaxpr")]
        for stored in inner:
            yield from _equations(stored.jaxpr)
        if not inner:
            yield equation


def _alone(equation, left, right, repeats=300):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def again(_, operands):
        out = lax.dot_general(*operands, equation.params["dimension_numbers"])
        out = lax.optimization_barrier(out)
        # One entry of the result goes into the next operand, so that no product can be left out.
        corner = operands[0].at[(0,) * left.ndim].set(1e-9 * out[(0,) * out.ndim])
        return corner, operands[1]

    loop = jax.jit(lambda a, b: lax.fori_loop(0, repeats, again, (a, b)))
    operands = jnp.ones(left.shape, left.dtype), jnp.ones(right.shape, right.dtype)
    return median(lambda: jax.block_until_ready(loop(*operands))) / repeats


def share(name: str, program, inputs: dict, lanes: int, fastest: float) -> str:
    """A row of the table of shares: what a lane's step takes, and how much of it its matrix products take alone."""
    import jax

    from foretrain.engine.lanes import Lanes, Passenger

    engine = Lanes(program, {}, lanes)
    endless = inputs | {"max_steps": np.int32(10**9)}
    engine.board(Passenger(str(n), endless | {"seed": np.uint32(n)}) for n in range(lanes))
    while engine.strides_done < WARM * lanes:
        engine.advance()
    rates = []
    for _ in range(REPEATS):
        done, began = engine.strides_done, time.perf_counter()
        while time.perf_counter() - began < TIMED_S:
            engine.advance()
        rates.append((engine.strides_done - done) / (time.perf_counter() - began))
    seconds = 1 / (float(np.median(rates)) * program.observe_every)
    options = {key: jax.numpy.asarray(value) for key, value in inputs.items()}
    states = jax.vmap(lambda _: program.init(options))(np.zeros(lanes))
    flops, alone = products(jax.vmap(lambda state: program.step(options, state)), states)
    flops, alone = flops / lanes, alone / lanes
    return (
        f"| {name} | {lanes} | {seconds * 1e6:.1f} us | {flops / 1e6:.2f} | {flops / seconds / fastest:.0%} | "
        f"{alone * 1e6:.1f} us | {flops / alone / fastest:.0%} |"
    )


def shares():
    """Measure the share of the core's rate of matrix products that the perceptron and routing reach, and its bound."""
    from foretrain.dynamics.program import completed
    from foretrain.plans.plan import make_plan
    from foretrain.streams import Seed

    fastest = peak()
    print(f"\nShare of the rate of a matrix product ({fastest / 1e9:.0f} GFLOP/s on this core)\n")
    print(
        "| | lanes | step of a lane | MFLOP in products | share reached | its products alone | share they reach |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(share(f"perceptron, H = {WIDTH}", perceptron(WIDTH), inputs_of(0, 1), 8, fastest))
    plan = make_plan("routing", ROUTING)
    inputs = {
        name: np.asarray(value, np.float32 if np.asarray(value).dtype.kind == "f" else None)
        for name, value in plan.study.inputs(plan.parameters, Seed(0, 0)).items()
    }
    inputs |= {"root_seed": np.uint32(0), "seed": np.uint32(0)}
    program = completed(plan.study.program(plan.parameters), plan.parameters)
    p = plan.parameters
    name = f"routing, M = {p.domains}, H = {p.hidden_width}"
    print(share(name, program, inputs, 8, fastest))


def races():
    """Lanes against one `vmap` and against single runs."""
    print(f"\n{RUNS} runs, the longest {10**DECADES} times the shortest, log-uniform, one core\n")
    print(
        "| hidden width | lanes | occupancy | against one vmap of while_loop | against a loop of single runs |"
    )
    print("|---:|---:|---:|---:|---:|")
    for hidden, lanes, stride in SHAPES:
        program, steps = perceptron(hidden, stride), lengths(stride=stride)
        ours, occupancy = ride(program, steps, lanes)
        plain, single = whole_batch(program, steps), one_by_one(program, steps)
        print(
            f"| {hidden} | {lanes} | {occupancy:.0%} | {plain / ours:.1f}x | {single / ours:.1f}x |",
            flush=True,
        )


def main():
    """Print every table."""
    from foretrain.engine.cores import pin_to_one_core

    every_core = os.sched_getaffinity(0)
    pin_to_one_core()
    races()
    shares()
    os.sched_setaffinity(0, every_core)
    times = workers()
    print(
        f"\nTwo workers against one, routing with M = 10, 480 seeds: {times[1] / times[2]:.2f}x\n"
    )
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: its comparison is left out.")
        return
    perceptrons()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", choices=("ours", "torch1", "torch2"))
    parser.add_argument("--core", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.rate is None:
        main()
    else:
        if chosen.rate != "torch2":
            from foretrain.engine.cores import pin_to_one_core

            pin_to_one_core(chosen.core)
        rate = {
            "ours": ours_steps_per_second,
            "torch1": lambda: torch_steps_per_second(1),
            "torch2": lambda: torch_steps_per_second(2),
        }[chosen.rate]()
        print(json.dumps(float(rate)))
