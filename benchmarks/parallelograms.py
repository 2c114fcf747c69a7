"""Speed of judging random training sets: the probability of a unique linear representation at all sizes.

Run with ``python benchmarks/parallelograms.py``. Beside it a loop over training sets that forms each matrix A and takes its
rank, on a few of them; the two must agree on every set.
"""

import time

import numpy as np

from foretrain.tasks.groups import addition, training_sets
from foretrain.theory.grokking import parallelograms

DRAWS, LOOPED, ORDERS = 10_000, 2000, 100


def looped(operation, training):
    """Uniqueness by the rank of A, one training set after the other."""
    rows, inside = parallelograms.incidence(operation), parallelograms.inside(operation, training)
    return np.array(
        [np.linalg.matrix_rank(rows[chosen]) == operation.symbols - 2 for chosen in inside]
    )


def timed(function, *arguments, **options):
    wall, core = time.perf_counter(), time.process_time()
    result = function(*arguments, **options)
    return result, time.perf_counter() - wall, time.process_time() - core


def main():
    operation, random = addition(10), np.random.default_rng(0)
    print(f"{DRAWS:,} training sets at each of 55 sizes, p = 10\n")
    sizes, wall, core = timed(parallelograms.critical_sizes, operation, DRAWS, random)
    probability = (sizes <= np.arange(1, 56)[:, None]).mean(1)
    middle = np.interp(0.5, probability, np.arange(1, 56))
    print(f"{wall:.1f} s, {core:.1f} s of processor time; one half is crossed at {middle:.2f}")

    training = training_sets(operation, 25, LOOPED, random)
    batched, _, quick = timed(parallelograms.unique_linear, operation, training)
    one_by_one, _, slow = timed(looped, operation, training)
    assert (batched == one_by_one).all()
    print(
        f"\nA batch against a loop of ranks, {LOOPED:,} sets of 25: {slow / max(quick, 1e-3):.0f} times as fast"
    )

    hundred = addition(100)
    sizes, wall, core = timed(parallelograms.critical_sizes, hundred, ORDERS, random)
    print(f"\np = 100, {ORDERS} orders: {wall:.1f} s, {core:.1f} s of processor time, ", end="")
    print(f"median {np.median(sizes):.0f} of {len(hundred.samples)} samples")


if __name__ == "__main__":
    main()
