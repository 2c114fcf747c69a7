"""Learning coefficients as users get them: `foretrain.analyze`, devinterp and canonical-interp, each at its own defaults.

Four small networks whose learning coefficient lambda is known in closed form, 256 inputs, and as labels the networks' own
outputs, so that they are at a minimum. foretrain samples N(eps) at three scales eps that it takes from the data, and is held
against NUTS at the same eps; the others state lambda as a mean over chains, and are held against lambda. An estimate counts
if the known value lies within 1.96 standard errors, and of foretrain's only those that it trusts itself.

devinterp runs `estimate_learning_coeff_with_summary` as it is, canonical-interp the quick start of its description, since it
has no defaults for draws, chains and burn-in. Both read batches of 256, `mse_loss`. Seconds are of the processor, on one core,
imports left out. `python benchmarks/degeneracy_defaults.py --torch PYTHON PYTHON` prints the table of `docs/analyze.md`.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

EXAMPLES, CALLS, WITHIN = 256, 2, 1.96
TOOLS = ("foretrain", "devinterp", "canonical-interp")


def networks():
    """Name to (nonlinearity, weights, biases or None, inputs, lambda)."""
    random = np.random.default_rng(0)

    def white(width):
        return np.linalg.qr(random.standard_normal((EXAMPLES, width)))[0] * EXAMPLES**0.5

    def linear(widths, rank, known):
        weights = [np.zeros((out, into)) for into, out in itertools.pairwise(widths)]
        for item in weights:
            item[range(rank), range(rank)] = 1
        return "identity", weights, None, white(widths[0]), known

    def perceptron(kind, widths, free):
        pairs = list(itertools.pairwise(widths))
        weights = [random.standard_normal((out, into)) * (2 / into) ** 0.5 for into, out in pairs]
        biases = [0.3 * random.standard_normal(out) for _, out in pairs]
        size = sum(item.size for item in (*weights, *biases))
        x = random.standard_normal((EXAMPLES, widths[0]))
        return kind, weights, biases, x, (size - free) / 2

    return {
        "reduced rank 5-3-5, rank 1": linear((5, 3, 5), 1, 8.0),
        "linear 10-5-5-10, rank 2": linear((10, 5, 5, 10), 2, 22.5),
        "tanh 2-4-2": perceptron("tanh", (2, 4, 2), 0),  # regular: half of the parameters
        "ReLU 4-6-3": perceptron("relu", (4, 6, 3), 6),  # less a scale of each neuron
    }


def passed(kind, params, x, module):
    """Outputs; `module` is NumPy's, JAX's or PyTorch's."""
    act = {"tanh": module.tanh, "relu": lambda z: module.where(z > 0, z, 0 * z)}.get(
        kind, lambda z: z
    )
    for number, layer in enumerate(params):
        x = x @ layer[0].T + (layer[1] if len(layer) > 1 else 0)
        x = act(x) if number < len(params) - 1 else x
    return x


def layers_of(weights, biases):
    """Parameters as `passed` reads them."""
    return [(w,) if biases is None else (w, biases[at]) for at, w in enumerate(weights)]


def ours(name: str) -> list[dict]:
    """Calls of `foretrain.analyze`, with its estimates at three scales."""
    import foretrain

    kind, weights, biases, x, _ = networks()[name]
    params, result = layers_of(weights, biases), []

    def apply(params, x):
        import jax.numpy as jnp

        return passed(kind, params, x, jnp)

    for seed in range(CALLS):
        clock = time.process_time()
        whole = foretrain.analyze(apply, params, x.astype(np.float32), seed=seed)
        spent, outcome = time.process_time() - clock, whole.sampled
        effective = [0.0 if item is None else item.effective for item in outcome.checks]
        estimates = zip(
            outcome.eps, outcome.value, outcome.error, effective, outcome.doubts, strict=True
        )
        curvature = [whole.costs.effective(eps)[0] for eps in outcome.eps]
        result.append({"seconds": spent, "estimates": list(estimates), "gradients": outcome.gradients,
                     "curvature": curvature})  # fmt: skip
    return result


def theirs(tool: str, name: str) -> list[dict]:
    """Calls of one of the others, in the interpreter that has it."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    kind, weights, biases, x, _ = networks()[name]
    modules = []
    for number, weight in enumerate(weights):
        modules.append(torch.nn.Linear(*weight.shape[::-1], bias=biases is not None))
        modules[-1].weight.data = torch.tensor(weight, dtype=torch.float32)
        if biases is not None:
            modules[-1].bias.data = torch.tensor(biases[number], dtype=torch.float32)
        modules.append(
            {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}.get(kind, torch.nn.Identity)()
        )
    model = torch.nn.Sequential(*modules[:-1])
    x = torch.tensor(x, dtype=torch.float32)
    loader = DataLoader(TensorDataset(x, model(x).detach()), batch_size=EXAMPLES, shuffle=True)

    def devinterp(seed):
        from devinterp.slt.sampler import estimate_learning_coeff_with_summary

        loss = lambda m, b: torch.nn.functional.mse_loss(m(b[0]), b[1])  # noqa: E731
        outcome = estimate_learning_coeff_with_summary(
            model, loader, evaluate=loss, optimizer_kwargs={}, seed=seed, verbose=False
        )
        return [outcome[f"llc-chain/{at}"] for at in range(10)], outcome["loss/trace"]

    def canonical(seed):
        from canonical_interp.slt import LLCEstimator

        nbeta = EXAMPLES / np.log(EXAMPLES)
        result = LLCEstimator(
            draws=200, chains=10, burnin_steps=100, steps_bw_draws=1, learning_rate=1e-5,
            localization=100.0, nbeta=nbeta,
        )  # fmt: skip
        options = {"criterion_fn": torch.nn.functional.mse_loss, "show_progress": False}
        result.estimate_llc(model, loader, seed=seed, **options)  # gives their mean
        return (nbeta * result.array_log_l.mean(1)).tolist(), result.array_log_l  # from a loss of 0

    call, result = {"devinterp": devinterp, "canonical-interp": canonical}[tool], []
    for seed in range(CALLS):
        clock = time.process_time()
        chains, trace = call(seed)
        spent = time.process_time() - clock
        result.append({"seconds": spent, "chains": chains,
                     "trace": np.asarray(trace).tolist()})  # fmt: skip
    return result


def reference(name: str, eps: float) -> tuple[float, float]:
    """N(eps) and its standard error by NUTS."""
    import jax
    import jax.numpy as jnp
    from sampled_parameters.samplers import estimate

    from foretrain.degeneracy.sampled.posterior import behavioural

    kind, weights, biases, x, _ = networks()[name]
    if biases is None:  # white inputs: the loss is that of the map alone
        x = x[: x.shape[1]] * 0 + np.eye(x.shape[1]) * x.shape[1] ** 0.5
    with jax.enable_x64(True):
        params = layers_of(weights, biases)
        apply = lambda params, x: passed(kind, params, x, jnp)  # noqa: E731
        result = behavioural(apply, params, x, kind="mse", beta=1 / (2 * eps))
        values = estimate(result, "nuts", chains=8, draws=1000)
    return values.value, values.error


def judged(tool, name, calls, known) -> list[dict]:
    """Of each call what it took, its values over the known ones, and the effective draws of those that are right."""
    from foretrain.degeneracy.sampled.chains import mean_of

    rows = []
    for item in calls:
        if tool == "foretrain":
            states = []
            for eps, value, error, effective, doubts in item["estimates"]:
                if doubts:
                    continue
                truth, own = known(name, eps)
                states.append((value, error, truth, own, effective))
        else:
            chains = np.array(item["chains"])
            error = chains.std(ddof=1) / len(chains) ** 0.5
            effective = mean_of(np.array(item["trace"])).effective
            states = [(chains.mean(), error, networks()[name][4], 0.0, effective)]
        right = [abs(v - t) <= WITHIN * np.hypot(e, o) for v, e, t, o, _ in states]
        draws = sum(state[-1] for state, yes in zip(states, right, strict=True) if yes)
        rows.append({
            "seconds": item["seconds"], "stated": len(states), "right": sum(right), "draws": draws,
            "over": [float(v / t) for v, _, t, _, _ in states],
        })  # fmt: skip
    return rows


def run(pythons: list[str]) -> None:
    """The table; every tool in a process of its own on one core."""
    from functools import lru_cache

    known = lru_cache(reference)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    interpreters = dict(zip(TOOLS, [sys.executable, *pythons], strict=False))
    print(
        "| network | tool | first call, s | next, s | stated | right | over known | trusted draws a second |"
    )
    print("|---|---|---:|---:|---:|---:|---|---:|")
    for name in networks():
        for tool, python in interpreters.items():
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "calls.json"
                command = ["taskset", "-c", "0", python, __file__, tool, name, str(out)]
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, env=environment
                )
                if done.returncode:
                    print(
                        f"| {name} | {tool} | {done.stderr.strip().splitlines()[-1]} |", flush=True
                    )
                    continue
                rows = judged(tool, name, json.loads(out.read_text()), known)
            first, *rest = rows
            later = float(np.median([item["seconds"] for item in rest]))
            rate = sum(item["draws"] for item in rest) / sum(item["seconds"] for item in rest)
            over = ", ".join(f"{item:.3g}" for row in rows for item in row["over"])
            stated, right = (sum(item[key] for item in rows) for key in ("stated", "right"))
            cells = (
                name,
                tool,
                f"{first['seconds']:.1f}",
                f"{later:.1f}",
                stated,
                right,
                over,
                f"{rate:.3g}",
            )
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] in ([], ["--torch"]):
        run(sys.argv[2:])
    else:
        tool, network, target = sys.argv[1:]
        calls = ours(network) if tool == "foretrain" else theirs(tool, network)
        Path(target).write_text(json.dumps(calls))
