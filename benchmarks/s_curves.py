"""Runs per minute of the S-curve studies beside a plain PyTorch loop, one seed after the other.

taskset -c 0,1 python benchmarks/s_curves.py [runs] [workers] [repeats]

Both train rank 10 at n = 100 by full-batch descent on the squared error for 1,000 steps from the same kind of start and
look at the loss and the alignments every 10 steps. foretrain also follows the bumps of all 100 alignments at every step,
which the loop does not. PyTorch runs on one thread, at which matrices of this size are faster than on two. The two take
turns, so that what else the machine does falls on both; every pair gives a ratio. What foretrain costs once (starting
workers, compiling) is measured by a run of three seeds and reported apart; the rate is that of the further runs. Final
losses stand beside the speed.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import foretrain

DIMENSION, RANK, STEPS, STRIDE, RATE = 100, 10, 1000, 10, 0.05


def torch_run(seed):
    """One run of the plain loop; returns its final loss."""
    random = torch.Generator().manual_seed(seed)
    a, b = (
        torch.nn.functional.normalize(torch.randn(DIMENSION, RANK, generator=random), dim=0)
        for _ in range(2)
    )
    target = a @ b.T
    x, y = (
        torch.nn.Parameter(torch.randn(DIMENSION, RANK, generator=random) / DIMENSION**0.5)
        for _ in range(2)
    )
    optimizer = torch.optim.SGD([x, y], lr=RATE)
    losses, alignments = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = ((target - x @ y.T) ** 2).sum()
        loss.backward()
        optimizer.step()
        if step % STRIDE == 0:
            with torch.no_grad():
                losses.append(loss.item())
                left = a.T @ torch.nn.functional.normalize(x, dim=0)
                right = b.T @ torch.nn.functional.normalize(y, dim=0)
                alignments.append((left * right).numpy())
    return loss.item()


def torch_rate(runs=5):
    """Runs per minute of the loop, and the median final loss."""
    began = time.perf_counter()
    losses = [torch_run(seed) for seed in range(runs)]
    return 60 * runs / (time.perf_counter() - began), float(np.median(losses))


def foretrain_seconds(runs, workers, folder):
    """Wall time of so many runs from scratch, training only, and the median final loss."""
    from foretrain.engine.sweep import execute
    from foretrain.plans.plan import grid, make_plan
    from foretrain.results.folding import Layout, fold_all

    settings = {
        "optimizer": "sgd",
        "rank": RANK,
        "dimension": DIMENSION,
        "init_scale": 1.0,
        "relative_rate": 1.0,
        "steps": STEPS,
        "observe_every": STRIDE,
        "loss_tolerance": 0.0,
    }
    # The partner at rank 2 that the study adds to every run is trained too, and not counted.
    plan = make_plan("bumps", settings, seeds=runs)
    began = time.perf_counter()
    execute(plan, folder, workers=workers, progress=None)
    seconds = time.perf_counter() - began
    places = ((place, run.identity) for place, run in grid(plan))
    data = fold_all(folder, {"": Layout({}, runs, places, ("running",) * 6)})[""]
    return seconds, float(data["loss"].isel(step=-1).median())


def main(runs=6000, workers=2, repeats=3):
    """Print the once-only cost, then a line per repeat."""
    print(f"foretrain {foretrain.__version__}, torch {torch.__version__}, {workers} workers")
    torch.set_num_threads(1)
    torch_run(0)
    ratios = []
    for repeat in range(repeats):
        slow, torch_loss = torch_rate()
        # Two folders: one that begins with three runs keeps the number of lanes chosen for those.
        with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
            once, _ = foretrain_seconds(3, workers, Path(small))
            all_of_it, loss = foretrain_seconds(runs, workers, Path(large))
        after, _ = torch_rate()
        loop = (slow + after) / 2
        fast, whole = 60 * runs / max(all_of_it - once, 1e-9), 60 * runs / all_of_it
        ratios.append(fast / loop)
        print(
            f"{repeat}: loop {loop:.0f} runs a minute (final loss {torch_loss:.1e}); foretrain "
            f"{fast:.0f} ({whole:.0f} with {once:.1f} s paid once, final loss {loss:.1e}); ratio {ratios[-1]:.1f}, "
            f"{whole / loop:.1f} with that"
        )
    print(f"median ratio {np.median(ratios):.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
