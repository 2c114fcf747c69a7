"""A GPU against the cores of the same machine and against stacked PyTorch, and the batched decompositions on both.

``python benchmarks/gpu.py`` prints tables in Markdown; ``python benchmarks/gpu.py perceptron`` prints one of them.
Each number is the median of several, compilation excluded, but for the studies, whose seconds are those of the whole
command with nothing compiled before. The perceptron is the decoder of the toy model of grokking, of width 200.
PyTorch is needed for one comparison, which is left out where it is not installed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise

import numpy as np

LANES = (64, 169, 1024, 4096)
PRECISIONS = ("float32", "tf32")
TIMED_S = 2.0
STUDIES = ("routing", "s-curves", "translation", "modular-transformer", "grokking-phases")
LIMIT_S = 600
BATCH = 1024
REPEATS = 5
COPIED = 2**28  # numbers in the array whose copy measures the memory
PASSES = 12  # of a step over its parameters: three arrays read and written by Adam, weights twice, slope written and read


def median(work) -> float:
    """Median seconds of a call, after one that compiles."""
    work()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def decompositions() -> dict:
    """Every decomposition in a step, an observation or an end of a run: place to function and shape of one matrix."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks.singular_values import by_jacobi

    values = partial(jnp.linalg.svd, compute_uv=False)
    return {
        "routing, observation: singular values, LAPACK's or cuSOLVER's": (values, (64, 4)),
        "routing, observation: singular values, Jacobi": (by_jacobi, (64, 4)),
        "the same of 32 x 32, LAPACK's or cuSOLVER's": (values, (32, 32)),
        "the same of 32 x 32, Jacobi": (by_jacobi, (32, 32)),
        "roots of eigenvalues of the Gram matrix (not used)": (
            lambda a: jnp.linalg.eigvalsh(a.mT @ a),
            (64, 4),
        ),
        "translation, observation: signs of determinants": (
            lambda a: jnp.linalg.slogdet(a)[0],
            (16, 16),
        ),
        "transformer, observation: eigenvalues of embeddings": (
            lambda a: jnp.linalg.eigvalsh(a @ a.mT),
            (59, 59),
        ),
        "transformer, end: principal axes": (
            partial(jnp.linalg.svd, full_matrices=False),
            (59, 64),
        ),
        "transformer, end; routing, start: orthonormal columns": (jnp.linalg.qr, (64, 4)),
        "explain, step at the edge: eigenvalues of Lanczos's matrix": (
            jax.numpy.linalg.eigvalsh,
            (20, 20),
        ),
    }


def lapack() -> None:
    """Milliseconds of every batched decomposition, on the GPU (where there is one) and on all cores."""
    import jax

    from foretrain.arithmetic import arithmetic

    devices = [jax.devices()[0], jax.devices("cpu")[0]][jax.default_backend() == "cpu" :]
    heads = " | ".join(f"{device.platform}, ms" for device in devices)
    print(f"{BATCH} matrices at once, float32\n\n| where | shape | {heads} |")
    print("|---|---|" + "---:|" * len(devices))
    for where, (function, shape) in decompositions().items():
        matrices = np.random.default_rng(0).normal(size=(BATCH, *shape)).astype(np.float32)
        times = []
        for device in devices:
            with jax.default_device(device), arithmetic("float32"):
                settings, compiled = jax.device_put(matrices, device), jax.jit(function)
                times.append(1e3 * median(lambda: jax.block_until_ready(compiled(settings))))  # noqa: B023
        print(f"| {where} | {shape[0]} x {shape[1]} | {' | '.join(f'{t:.2f}' for t in times)} |")


def toy(precision: str):
    """Parameters of the toy model that never ends by itself."""
    from foretrain.plans.plan import make_plan

    values = {"hidden_width": 200, "stop": "never", "precision": precision}
    return make_plan("grokking-phases", values)


def ours(plan, lanes: int) -> float:
    """Lane-steps per second of this process at that many lanes."""
    from foretrain.dynamics.program import completed
    from foretrain.engine.lanes import Lanes, Passenger
    from foretrain.streams import Seed

    study, p = plan.study, plan.parameters
    program = completed(study.program(p), p)
    stride = program.observe_every
    settings = {
        **study.inputs(p, Seed(0, 0)),
        "root_seed": 0,
        "max_steps": 10**9 // stride * stride,
    }
    engine = Lanes(program, study.shared(p), lanes)
    engine.board(Passenger(str(n), {**settings, "seed": n}) for n in range(lanes))
    for _ in range(3):  # the first compiles, the next learn how long a chunk may be
        engine.advance()
    done, began = engine.strides_done, time.perf_counter()
    while time.perf_counter() - began < TIMED_S:
        engine.advance()
    return (engine.strides_done - done) * stride / (time.perf_counter() - began)


def stacked_torch(lanes: int, tf32: bool) -> float:
    """Lane-steps per second of PyTorch with runs stacked, fused AdamW and a CUDA graph of ten steps."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = tf32
    samples, sizes = 55, (1, 200, 200, 30)
    x = torch.randn(lanes, samples, 1, device="cuda")
    y = torch.randn(lanes, samples, 30, device="cuda")
    weights = []
    for fan_in, fan_out in pairwise(sizes):
        weights.append(torch.randn(lanes, fan_in, fan_out, device="cuda") / fan_in**0.5)
        weights.append(torch.zeros(lanes, 1, fan_out, device="cuda"))
    for weight in weights:
        weight.requires_grad_(True)
    optimizer = torch.optim.AdamW(weights, lr=1e-3, fused=True, capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=False)
        first = torch.tanh(torch.baddbmm(weights[1], x, weights[0]))
        second = torch.tanh(torch.baddbmm(weights[3], first, weights[2]))
        outputs = torch.baddbmm(weights[5], second, weights[4])
        ((outputs - y) ** 2).mean((1, 2)).sum().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            step()
    graph.replay()
    torch.cuda.synchronize()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < TIMED_S:
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
        steps += 50
    return steps * lanes / (time.perf_counter() - began)


def copied_bytes_per_second() -> float:
    """Bytes that a copy reads and writes in a second."""
    import jax
    import jax.numpy as jnp

    numbers = jnp.ones(COPIED, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return 2 * numbers.nbytes / median(lambda: add(numbers).block_until_ready())


def perceptron() -> None:
    """Lane-steps per second of the toy model beside stacked PyTorch, and the share of the rate that memory allows."""
    import jax

    torch = importlib.util.find_spec("torch") and jax.default_backend() != "cpu"
    parameters = 200 + 200 + 200 * 200 + 200 + 200 * 30 + 30
    least = copied_bytes_per_second() / (PASSES * 4 * parameters)
    print(f"Perceptron 1-200-200-30 on 55 samples, lane-steps/s; memory allows {least:.3g}\n")
    print(
        "| precision | lanes | foretrain | share of memory's | PyTorch | ratio |\n|---|---:|---:|---:|---:|---:|"
    )
    for precision in PRECISIONS:
        for lanes in LANES:
            mine = ours(toy(precision), lanes)
            row = f"| {precision} | {lanes} | {mine:.2e} | {mine / least:.0%}"
            if not torch:
                print(f"{row} | | |", flush=True)
                continue
            theirs = stacked_torch(lanes, precision == "tf32")
            print(f"{row} | {theirs:.2e} | {mine / theirs:.2f} |", flush=True)


def seconds(study: str, *options: str) -> str:
    """Seconds of ``foretrain run`` of a study from the empty folder with nothing compiled before, or how it ended."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        environment["FORETRAIN_CACHE_DIR"] = f"{folder}/cache"
        command = [
            sys.executable,
            "-m",
            "foretrain",
            "run",
            study,
            "--out",
            f"{folder}/run",
            *options,
        ]
        began = time.perf_counter()
        try:
            code = subprocess.run(
                command, env=environment, timeout=LIMIT_S, capture_output=True, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return f"> {LIMIT_S}"
        return f"{time.perf_counter() - began:.0f}" + (f" (exit code {code})" if code else "")


def studies() -> None:
    """Seconds of whole studies on the GPU, on all cores of the machine, and where trials put them."""
    print(f"Seconds of `foretrain run`, {os.cpu_count()} cores\n\n| study | GPU | cores | both |")
    print("|---|---:|---:|---:|")
    for study in STUDIES:
        times = (seconds(study, *on) for on in (("--on", "gpu"), ("--on", "cpu"), ()))
        print(f"| {study} | {' | '.join(times)} |", flush=True)


PARTS = {"lapack": lapack, "perceptron": perceptron, "studies": studies}


def main(arguments: list[str] | None = None) -> None:
    """Print the tables asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    for name in parser.parse_args(arguments).parts or PARTS:
        PARTS[name]()
        print()


if __name__ == "__main__":
    main()
