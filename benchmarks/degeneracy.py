"""Learning coefficients of a perceptron on digits: foretrain against devinterp and canonical-interp.

    python benchmarks/degeneracy.py coefficient                       foretrain alone
    python benchmarks/degeneracy.py coefficient --torch PYTHON        and beside it what that interpreter has of the others
    python benchmarks/degeneracy.py defaults --torch PYTHON PYTHON    what users get by default, `degeneracy_defaults.py`
    python benchmarks/degeneracy.py basis                             interaction basis and edges, `interaction_basis.py --cpu`
    python benchmarks/degeneracy.py reference                         every sampler beside NUTS on nine small networks

The perceptron is 64-64-64-10, trained on all 1,797 digits; 4 chains of 200 draws with minibatches of 256, SGLD, one step a
draw, same step, localisation and inverse temperature. Seconds are of processor time on one thread, so that a busy machine
counts for little; "first" is the first call of a process with whatever it compiles, imports left out, "first, cached" the same
where foretrain's compilation cache has seen the programs before; "warm" is the median of those after it. Programs take
turns, and of the turns each column is the median. Effective samples are those of the losses of all chains.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WIDTHS, CHAINS, DRAWS, BATCH, STEP, PULL, TURNS, PROCESSES = (
    (64, 64, 64, 10),
    4,
    200,
    256,
    2e-5,
    100.0,
    5,
    3,
)


def digits():
    """Pixels from 0 to 1, shape (1797, 64), and labels."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.data / 16).astype(np.float32), found.target.astype(np.int32)


def losses(params, data):
    """Cross-entropy of every example."""
    import jax
    import jax.numpy as jnp

    f = data["x"]
    for number, (weight, bias) in enumerate(params):
        f = f @ weight.T + bias
        f = jax.nn.relu(f) if number < len(params) - 1 else f
    return -jnp.take_along_axis(jax.nn.log_softmax(f), data["y"][:, None], 1)[:, 0]


def trained(x, y):
    """Weights and biases after 600 steps of Adam on all data."""
    import jax
    import jax.numpy as jnp
    import optax

    keys = jax.random.split(jax.random.key(0), len(WIDTHS))
    params = [
        (jax.random.normal(key, (out, into)) * (2 / into) ** 0.5, jnp.zeros(out))
        for key, into, out in zip(keys, WIDTHS[:-1], WIDTHS[1:], strict=False)
    ]
    rule = optax.adam(3e-3)

    def step(carry, _):
        params, state = carry
        slope = jax.grad(lambda p: losses(p, {"x": x, "y": y}).mean())(params)
        change, state = rule.update(slope, state)
        return (optax.apply_updates(params, change), state), None

    return jax.jit(lambda c: jax.lax.scan(step, c, None, 600)[0])((params, rule.init(params)))[0]


def seconds(call):
    """Processor seconds of the first call and the median of later ones, and what the last gave."""
    spent = []
    for _ in range(1 + TURNS):
        began = time.process_time()
        found = call()
        spent.append(time.process_time() - began)
    return spent[0], float(np.median(spent[1:])), found


def prepared(folder: Path) -> None:
    """The trained network, for all."""
    x, y = digits()
    leaves = [leaf for layer in trained(x, y) for leaf in layer]
    np.savez(folder / "net.npz", x=x, y=y, **{f"p{n}": leaf for n, leaf in enumerate(leaves)})


def ours(folder: Path, name: str, together: bool) -> dict:
    """foretrain, at the size of the others or at 16 chains times 8 inverse temperatures; with its cache if that is named."""
    import blackjax  # noqa: F401
    import jax

    from foretrain.degeneracy.sampled.learning_coefficient import learning_coefficient
    from foretrain.degeneracy.sampled.posterior import posterior
    from foretrain.engine.cache import CompilationCache

    stored = np.load(folder / "net.npz")
    params = [(stored[f"p{2 * n}"], stored[f"p{2 * n + 1}"]) for n in range(len(WIDTHS) - 1)]
    jax.block_until_ready(jax.jit(lambda one: one + 1)(stored["x"]))
    cache = CompilationCache() if "cached" in name else None
    betas, chains = (np.geomspace(30, 3000, 8), 16) if "16" in name else (None, CHAINS)

    def call():
        data = {"x": stored["x"], "y": stored["y"]}
        return learning_coefficient(
            posterior(losses, params, data, batch_size=BATCH, beta=betas), sampler="sgld", chains=chains, draws=DRAWS,
            warm_up=0, step=STEP, pull=PULL, richardson=False, together=together,
        )  # fmt: skip

    first, warm, found = seconds(call)
    if cache is not None:
        cache.close()
    return {"name": name, "first": first, "warm": warm, "draws": chains * DRAWS * found.beta.size,
            "coefficient": float(found.value[0, 0]), "effective": float(found.effective.sum())}  # fmt: skip


def theirs(folder: Path, name: str) -> dict:
    """One of the others, in the interpreter that has it."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    stored = np.load(folder / "net.npz")
    layers = []
    for number in range(len(WIDTHS) - 1):
        layers += [torch.nn.Linear(WIDTHS[number], WIDTHS[number + 1]), torch.nn.ReLU()]
        layers[-2].weight.data = torch.tensor(stored[f"p{2 * number}"])
        layers[-2].bias.data = torch.tensor(stored[f"p{2 * number + 1}"])
    model = torch.nn.Sequential(*layers[:-1])
    data = TensorDataset(torch.tensor(stored["x"]), torch.tensor(stored["y"]).long())
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    beta = len(data) / np.log(len(data))
    if name == "devinterp":
        from devinterp.optim.sgld import SGLD
        from devinterp.slt.sampler import estimate_learning_coeff_with_summary

        def call():
            found = estimate_learning_coeff_with_summary(
                model, loader, evaluate=lambda m, b: torch.nn.functional.cross_entropy(m(b[0]), b[1]),
                sampling_method=SGLD, optimizer_kwargs={"lr": STEP, "nbeta": beta, "localization": PULL},
                num_chains=CHAINS, num_draws=DRAWS, seed=0, verbose=False,
            )  # fmt: skip
            return float(found["llc/mean"])
    else:
        import itertools

        if not hasattr(
            itertools, "batched"
        ):  # which it imports, though it says that Python 3.10 will do
            itertools.batched = lambda many, size: zip(*[iter(many)] * size, strict=False)
        from canonical_interp.slt import LLCEstimator

        def call():
            found = LLCEstimator(
                draws=DRAWS, chains=CHAINS, burnin_steps=0, steps_bw_draws=1, learning_rate=STEP,
                localization=PULL, nbeta=beta,
            ).estimate_llc(model, loader, seed=0, compile=name.endswith("compiled"), show_progress=False)  # fmt: skip
            return float(found.mean())

    first, warm, value = seconds(call)
    return {
        "name": name,
        "first": first,
        "warm": warm,
        "draws": CHAINS * DRAWS,
        "coefficient": value,
    }


def coefficient(python: str | None, together: bool) -> None:
    """The table."""
    from foretrain.engine.cores import pin_to_one_core

    pin_to_one_core(0)
    mine = ("foretrain", "foretrain, cached", "foretrain, 16 chains x 8 betas")
    others = ("devinterp", "canonical-interp", "canonical-interp, compiled") if python else ()
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "FORETRAIN_CACHE_DIR": f"{folder}/cache",
        }
        for turn in range(PROCESSES):
            for name in (*mine, *others):
                if turn and ("16" in name or "compiled" in name):
                    continue
                command = [
                    sys.executable if name in mine else python,
                    __file__,
                    "one",
                    name,
                    "--folder",
                    folder,
                ]
                command += [] if together else ["--apart"]
                for _ in range(1 + (turn == 0 and "cached" in name)):  # once to fill the cache
                    done = subprocess.run(
                        command, capture_output=True, text=True, check=False, env=environment
                    )
                if done.returncode:
                    print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    continue
                rows.setdefault(name, []).append(json.loads(done.stdout.splitlines()[-1]))
                print(done.stdout.splitlines()[-1], file=sys.stderr, flush=True)
    said = {name: {key: np.median([one[key] for one in found]) for key in ("first", "warm")}
            for name, found in rows.items()}  # fmt: skip
    rivals = [name for name in others if name in rows]
    head = ["", "first, s", "warm, s", "draws a second", "effective a second", "coefficient"]
    head += [f"{name} over it: first, warm" for name in rivals]
    print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
    for name, found in rows.items():
        first, warm = said[name].values()
        effective = f"{found[0]['effective'] / warm:.0f}" if "effective" in found[0] else ""
        cells = [name, f"{first:.2f}", f"{warm:.3f}", f"{found[0]['draws'] / warm:.0f}", effective]
        cells.append(f"{found[0]['coefficient']:.2f}")
        same = found[0]["draws"] == CHAINS * DRAWS  # ratios are of the same work
        for one in rivals:
            over = f"{said[one]['first'] / first:.1f}x, {said[one]['warm'] / warm:.1f}x"
            cells.append(over if same else "")
        print("| " + " | ".join(cells) + " |")


def reference() -> None:
    """Distances of every sampler from NUTS, and their summary."""
    from nuts import distances, summary, table

    from foretrain.engine.cores import pin_to_one_core

    pin_to_one_core(0)
    rows = distances()
    print(table(rows))
    for name, (median, most, doubted) in summary(rows).items():
        print(f"{name}: trusted {median:.0%}, at most {most:.0%}; in doubt at most {doubted:.0%}")


def main():
    """Run the benchmark that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("coefficient", "defaults", "basis", "reference", "one"))
    parser.add_argument("name", nargs="?")
    parser.add_argument(
        "--torch",
        nargs="+",
        default=[],
        help="interpreter with PyTorch, devinterp==1.3.2 and canonical-interp; of `defaults` one of each",
    )
    parser.add_argument("--apart", action="store_true", help="lanes one after the other")
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "one" and chosen.name.startswith("foretrain"):
        print(json.dumps(ours(chosen.folder, chosen.name, not chosen.apart)))
    elif chosen.what == "one":
        print(json.dumps(theirs(chosen.folder, chosen.name)))
    elif chosen.what == "basis":
        sys.argv = ["interaction_basis.py", "--cpu"]
        runpy.run_path(str(Path(__file__).with_name("interaction_basis.py")), run_name="__main__")
    elif chosen.what == "reference":
        reference()
    elif chosen.what == "defaults":
        from degeneracy_defaults import run

        run(chosen.torch)
    else:
        coefficient(next(iter(chosen.torch), None), not chosen.apart)


if __name__ == "__main__":
    main()
