"""Interaction basis and edges of a digits classifier, in double precision, against autograd in PyTorch output by output.

    python benchmarks/interaction_basis.py          all 1,797 digits, perceptron 64-64-64-10, 1 and 5 points
    python benchmarks/interaction_basis.py --cpu    seconds of processor time, for a machine that is busy with other things

The loop is what one writes with autograd: for the basis a backward pass for each output gives its slopes in every layer at
once; for the edges one for each direction of the next layer and each point of the path, through that section alone, all images
together. It decomposes with torch.linalg. Both find the same edges, which is asserted. The network is trained first, by Adam.
"""

import argparse
import time
from itertools import pairwise

import numpy as np
import torch
from sklearn.datasets import load_digits

from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph, path_points
from foretrain.degeneracy.network import perceptron

TURNS = 5


def trained(x, labels, widths=(64, 64, 64, 10), steps=300):
    """Weights (out, in) and biases of a rectified perceptron that fits the digits."""
    torch.manual_seed(0)
    parts = []
    for a, b in pairwise(widths):
        parts += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    model = torch.nn.Sequential(*parts[:-1]).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(torch.tensor(x)), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    arrays = [item.detach().numpy().copy() for item in model.parameters()]
    return arrays[0::2], arrays[1::2], float(loss.detach())


def loop_basis(weights, biases, x):
    """C and C^+ of every layer, activations with their constant last, and the sections as functions of them."""
    folded = [torch.tensor(np.column_stack([w, b])) for w, b in zip(weights, biases, strict=True)]

    def section(at, f):
        p = f @ folded[at].T
        return p if at == len(folded) - 1 else torch.cat([torch.relu(p), f[:, -1:]], 1)

    values = [torch.cat([torch.tensor(x), torch.ones(len(x), 1, dtype=torch.float64)], 1)]
    values[0].requires_grad_()
    for at in range(len(folded)):
        values.append(section(at, values[-1]))
    below = values[:-1]
    jacobian_grams = [torch.zeros(f.shape[1], f.shape[1], dtype=torch.float64) for f in below]
    for output in range(values[-1].shape[1]):
        slopes = torch.autograd.grad(values[-1][:, output].sum(), below, retain_graph=True)
        for gram, slope in zip(jacobian_grams, slopes, strict=True):
            gram += slope.T @ slope / len(x)
    bases = []
    for f, effect in zip(below, jacobian_grams, strict=True):
        f = f.detach()
        variance, directions = torch.linalg.eigh(f.T @ f / len(x))
        kept = variance > 1e-12 * variance[-1]
        spread, directions = variance[kept].sqrt(), directions[:, kept].T
        back = directions.T * spread
        importance, turn = torch.linalg.eigh(back.T @ effect @ back)
        kept = importance > 1e-12 * importance[-1]
        importance, turn = importance[kept].flip(0), turn[:, kept].flip(1)
        forward = (importance.sqrt()[:, None] * turn.T) @ (directions / spread[:, None])
        bases.append((forward, back @ turn / importance.sqrt()))
    last = values[-1].detach()
    _, directions = torch.linalg.eigh(last.T @ last / len(x))
    bases.append((directions.flip(1).T, directions.flip(1)))
    return [f.detach() for f in values], bases, section


def loop_edges(values, bases, section, points):
    """E of every section."""
    result = []
    for at in range(len(values) - 1):
        here = values[at] @ bases[at][0].T
        backward, above = bases[at][1], bases[at + 1][0]
        attributions = torch.zeros(len(here), len(above), here.shape[1], dtype=torch.float64)
        for a, weight in zip(*path_points(points), strict=True):
            start = (a * here).requires_grad_()
            new = section(at, start @ backward.T) @ above.T
            for output in range(len(above)):
                (slope,) = torch.autograd.grad(new[:, output].sum(), start, retain_graph=True)
                attributions[:, output] += weight * slope
        result.append(((attributions * here[:, None]) ** 2).mean(0).numpy())
    return result


def timed(clock, function, *arguments, **options):
    start = clock()
    return function(*arguments, **options), clock() - start


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true")
    clock = time.process_time if parser.parse_args(arguments).cpu else time.perf_counter
    digits = load_digits()
    x = digits.data / 16
    weights, biases, loss = trained(x, digits.target)
    network = perceptron(weights, biases, "relu")
    print(f"1,797 digits, perceptron 64-64-64-10, training loss {loss:.4f}, float64, ", end="")
    print(f"{torch.get_num_threads()} threads, medians of {TURNS} turns\n")
    print("| | foretrain, s | loop, s | ratio (range of turns) | largest difference of an edge |")
    print("|---|---:|---:|---:|---:|")
    rows = {"basis": [], 1: [], 5: []}
    gaps = {}
    for _ in range(TURNS):
        basis, mine = timed(clock, interaction_basis, network, x, threshold=1e-6)
        (values, bases, section), theirs = timed(clock, loop_basis, weights, biases, x)
        rows["basis"].append((mine, theirs))
        for points in (1, 5):
            graph, quick = timed(clock, interaction_graph, network, x, basis, points=points)
            edges, slow = timed(clock, loop_edges, values, bases, section, points)
            rows[points].append((mine + quick, theirs + slow))
            gaps[points] = max(
                np.abs(a - b[: a.shape[0], : a.shape[1]]).max() / a.max()
                for a, b in zip(graph.strengths, edges, strict=True)
            )
            assert gaps[points] < 1e-6, gaps
    for name, pairs in rows.items():
        mine, theirs = np.median(pairs, 0)
        ratios = [b / a for a, b in pairs]
        words = "basis alone" if name == "basis" else f"basis and edges, {name} point(s)"
        gap = f"{gaps[name]:.0e}" if name in gaps else ""
        print(f"| {words} | {mine:.2f} | {theirs:.2f} | {np.median(ratios):.1f} ", end="")
        print(f"({min(ratios):.1f} to {max(ratios):.1f}) | {gap} |")


if __name__ == "__main__":
    main()
