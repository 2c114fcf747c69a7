"""Cells of a phase map of the toy model an hour: lanes in two workers against a plain PyTorch loop of one cell.

    python benchmarks/grokking.py rates      steps and cells an hour side by side, in turns
    python benchmarks/grokking.py map        the whole 13 x 13 map, one seed, wall time and phases
    python benchmarks/grokking.py map 5      a 5 x 5 map over the same range, and from it the time of the whole one

The map is that of regression on addition of 0..9, 45 training samples: decoder and embedding learning rates 1e-5 to 1e-2,
budget 1e5 steps. A cell ends when it is decided, that is when both accuracies are reached. The loop trains the same network
from the same start in the same precision, by fused AdamW, and nothing else; from the outputs for all samples it takes both
accuracies and RQI in every step, by matrix products, as foretrain does. A cell takes the same number of steps either way, so
that cells an hour are as steps a second. With ``--cpu`` a second is one of a core's own time, for a machine that is busy with
other things; two processes then count twice one, and threads are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TURNS = 3
RATES = 10 ** np.linspace(-5, -2, 13)


def study():
    """The toy model as a study."""
    from foretrain.plans.define import define
    from foretrain.training import embedding as toy

    parts = {
        name: getattr(toy, name) for name in ("program", "inputs", "shared", "check", "labels")
    }
    return define("toy", Parameters=toy.Toy, **parts)


def phase_map(side: int, workers: int, **values) -> dict:
    """Wall seconds of a map with so many rates a side, steps taken in all and how many cells are of each phase.

    Further parameters of the study, a smaller budget say, are `values`.
    """
    import foretrain
    from foretrain.training.phases import PHASES

    rates = [float(rate) for rate in RATES[np.linspace(0, 12, side).round().astype(int)]]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        cpu = os.times()
        data = foretrain.run(
            study(),
            decoder_learning_rate=rates,
            embedding_learning_rate=rates,
            seeds=1,
            workers=workers,
            **values,
            out=Path(folder) / "map",
            quiet=True,
        ).simulation
        spent = os.times()
        seconds = time.perf_counter() - began
    used = sum(spent[:4]) - sum(cpu[:4])
    steps = int(data["steps_taken"].sum())
    counts = {name: int((data["phase"] == code).sum()) for code, name in enumerate(PHASES)}
    return {"cells": side**2, "seconds": seconds, "cpu_seconds": used, "steps": steps, **counts}


def ours(lanes: int, clock, seconds: float = 8.0) -> float:
    """Steps a second of one pinned process with lanes, observations included, compilation not."""
    from foretrain.dynamics.program import completed
    from foretrain.engine.lanes import Lanes, Passenger
    from foretrain.plans.study import traced
    from foretrain.streams import Seed
    from foretrain.training import embedding as toy

    p = toy.Toy(stop="never")
    engine = Lanes(completed(toy.program(p), p), toy.shared(p), lanes)
    rest = {"root_seed": np.uint32(0), "max_steps": np.int32(10**9)}
    engine.board(
        Passenger(str(n), {**traced(p), **toy.inputs(p, Seed(0, n)), **rest, "seed": np.uint32(n)})
        for n in range(lanes)
    )
    while engine.strides_done < 3 * lanes:
        engine.advance()
    done, began = engine.strides_done, clock()
    while clock() - began < seconds:
        engine.advance()
    return (engine.strides_done - done) * p.observe_every / (clock() - began)


def loop(threads: int, clock, seconds: float = 8.0) -> float:
    """Steps a second of the plain loop of one cell."""
    import torch

    from foretrain.streams import Seed
    from foretrain.theory.grokking.parallelograms import incidence
    from foretrain.training import embedding as toy

    torch.set_num_threads(threads)
    p = toy.Toy()
    task, arguments = toy.operation(p), toy.inputs(p, Seed(0, 0))
    tensor = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32)  # noqa: E731
    training = torch.tensor(arguments["training"] > 0)
    # Training samples first, so that the loss needs no mask.
    order = torch.cat([torch.nonzero(training)[:, 0], torch.nonzero(~training)[:, 0]])
    size = int(training.sum())
    counts = tensor(toy.shared(p)["left"] + toy.shared(p)["right"])[order]
    label, rows = torch.tensor(task.labels)[order], tensor(incidence(task))
    targets = tensor(arguments["targets"])
    wanted, heights = targets[label][:size], 0.5 * (targets**2).sum(1)
    embedding = torch.nn.Parameter(tensor(arguments["embedding"]))
    layers = []
    for number in (1, 2, 3):
        weight, bias = (tensor(arguments[f"{name}_{number}"]) for name in ("weight", "bias"))
        layers.append(torch.nn.Linear(*weight.shape))
        layers[-1].weight.data, layers[-1].bias.data = weight.T.contiguous(), bias
    tanh = torch.nn.Tanh()
    decoder = torch.nn.Sequential(layers[0], tanh, layers[1], tanh, layers[2])
    groups = [
        {"params": [embedding], "lr": p.embedding_learning_rate},
        {"params": list(decoder.parameters()), "lr": p.decoder_learning_rate},
    ]
    rule = torch.optim.AdamW(groups, weight_decay=0.0, fused=True)
    first = [-1, -1, -1]

    def step(number):
        outputs = decoder(counts @ embedding)
        loss = torch.nn.functional.mse_loss(outputs[:size], wanted)
        with torch.no_grad():
            right = (outputs @ targets.T - heights).argmax(1) == label
            gap = (rows @ embedding) / embedding.std(0)
            result = (
                right[:size].float().mean(),
                right[size:].float().mean(),
                ((gap**2).mean(1) < 0.01).float().mean(),
            )
            levels = torch.stack(result).tolist()
        for place, (level, enough) in enumerate(zip(levels, (0.9, 0.9, 0.95), strict=True)):
            if first[place] < 0 and level >= enough:
                first[place] = number
        rule.zero_grad(set_to_none=True)
        loss.backward()
        rule.step()

    for number in range(200):
        step(number)
    taken, began = 0, clock()
    while clock() - began < seconds:
        for number in range(100):
            step(number)
        taken += 100
    return taken / (clock() - began)


def processes(what: str, number: int, options: list[str]) -> float:
    """Summed rate of that many processes of this file at once, on a core each where pinned."""
    command = [sys.executable, __file__, "rate", what, *options]
    running = [
        subprocess.Popen([*command, "--core", str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(number)
    ]
    return sum(json.loads(process.communicate()[0].splitlines()[-1]) for process in running)


def rates(steps_a_cell: float, cpu: bool) -> None:
    """Two workers against the loop, in turns; every ratio is of one turn."""
    turns = []
    for _ in range(TURNS):
        if cpu:
            ours, item = (2 * processes("ours", 1, ["--cpu"]), processes("torch1", 1, ["--cpu"]))
            turns.append((ours, item, 2 * item))
        else:
            item = max(processes(f"torch{threads}", 1, []) for threads in (1, 2))
            turns.append((processes("ours", 2, []), item, processes("torch1", 2, [])))
        print(f"turn: {[f'{value:.4g}' for value in turns[-1]]}", file=sys.stderr, flush=True)
    rows = np.array(turns)
    print("| | steps a second | cells an hour | against it |\n|---|---:|---:|---:|")
    threads = "one thread" if cpu else "the better of one thread and two"
    names = "foretrain, two workers", f"PyTorch, one process, {threads}", "PyTorch, two processes"
    for name, rate in zip(names, rows.T, strict=True):
        ratio = rows[:, 0] / rate
        message = f"{np.median(ratio):.1f}x ({ratio.min():.1f} to {ratio.max():.1f})"
        steps = np.median(rate)
        print(f"| {name} | {steps:.0f} | {3600 * steps / steps_a_cell:.0f} | {message} |")


def whole_map(side: int, workers: int, **values) -> None:
    """The map, and what the whole one takes if this is a part of it."""
    result = phase_map(side, workers, **values)
    print(json.dumps(result, indent=2))
    if side < len(RATES):
        share = result["steps"] / result["cells"] * len(RATES) ** 2
        message = share * result["seconds"] / result["steps"] / 60
        print(f"13 x 13 at this rate: {message:.1f} minutes ({share:.3g} steps)")


def main():
    """Run the benchmark that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("rates", "map", "rate"))
    parser.add_argument("which", nargs="?")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lanes", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="seconds of a core's own time")
    parser.add_argument("--steps-a-cell", type=float, default=1e5)
    chosen = parser.parse_args()
    if chosen.what == "map":
        whole_map(int(chosen.which or len(RATES)), chosen.workers)
    elif chosen.what == "rates":
        rates(chosen.steps_a_cell, chosen.cpu)
    else:
        if chosen.which != "torch2":
            from foretrain.engine.cores import pin_to_one_core

            pin_to_one_core(chosen.core)
        clock = time.process_time if chosen.cpu else time.perf_counter
        threads = {"torch1": 1, "torch2": 2}.get(chosen.which)
        rate = loop(threads, clock) if threads else ours(chosen.lanes, clock)
        print(json.dumps(rate))


if __name__ == "__main__":
    main()
