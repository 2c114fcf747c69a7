"""Shows that a change of the code changes no number: every study is judged at a small preset, before and after the change.

    python benchmarks/equal_verdicts.py record FOLDER [study ...]    with the code before: train, judge, store
    python benchmarks/equal_verdicts.py compare FOLDER [study ...]   with the code after: train again, judge, compare
    python benchmarks/equal_verdicts.py rejudge FOLDER [study ...]   with the code after: judge the stored runs, in seconds

``compare`` and ``rejudge`` print every claim whose measured value, interval, allowed interval, prediction, verdict or number
of seeds differs by more than 1e-12, and every claim that only one of them has; they exit with 1 where something differs.
``rejudge --figures DIR`` draws all figures of the stored runs besides, ``rejudge --theory`` predicts again and compares.
"""

import argparse
import dataclasses
import json
import math
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# Small programs are compiled more often than run. Before JAX starts, and alike before and after.
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()
)

import foretrain
from foretrain.engine.cores import pin_to_one_core
from foretrain.laboratory.judge import judged
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid

TOLERANCE = 1e-12
COMPARED = (
    *("predicted", "measured", "uncertainty", "allowed", "verdict", "seeds", "left_out"),
    *("corrects", "along"),
)

# Claims of before to those of now, both as "study/id", the study as it was named before.
RENAMED: dict[str, str] = {
    "free-directions/accounted-deep": "free-directions/accounted",
    "free-directions/accounted-deep.corrected": "free-directions/accounted.corrected",
    "routing/half-times-whitened": "routing/half-times-digits",
    "routing/half-times-raw": "routing/half-times-digits",
}
# Claims that differ on purpose, with the reason; "study/*" stands for all of a study, in `DROPPED` too.
DIFFERS: dict[str, str] = {
    "landscapes/*": "NUTS of the library in place of Metropolis walkers, and other points in the box",
    "free-directions/old-gates": "counts seeds in place of networks",
    "deep-linear-coefficients/*": "the library's Langevin steps with Metropolis in place of Hamiltonian paths",
    "degeneracy-over-training/rectified-measured": "SciPy's Levenberg-Marquardt ends at other minima",
    "degeneracy-over-training/rectified-warm": "SciPy's Levenberg-Marquardt ends at other minima",
    "degeneracy-over-training/rectified-not-loss": "SciPy's Levenberg-Marquardt ends at other minima",
    "free-directions/by-volume": "the library's sampler in place of Hamiltonian paths",
    "interaction-basis/modular-directions": "its network of addition is trained by Optax, rounded otherwise at every step",
    "interaction-basis/modular-edges": "its network of addition is trained by Optax, rounded otherwise at every step",
}
# Claims of before that were merged into another or deleted, with the reason.
DROPPED: dict[str, str] = {
    "degeneracy-over-training/synchronised": "synchronise says it at the moment of generalisation",
    "degeneracy-over-training/lower-then": "lower-together says it at the end",
    "degeneracy-over-training/rectified-warm": "rectified-measured says it without the factor ln n",
    "degeneracy-over-training/linear-not-loss": "cannot fail: the training loss of wider linear models is always lower",
    "initialization/between": "can never hold at its seeds",
    "image-routing/least-squares-loss": "cannot fail: the run is stopped at this excess",
    "translation/stuck-for-good": "cannot fail: the bound that ends the runs says it",
    "translation/square-stuck": "determinants and wide-stuck say which runs get stuck",
    "connectivity/better-than-degrees": "never holds at its seeds; better-than-occurrence has the baseline",
    "connectivity/few-stuck": "stuck-rate and stuck-falls say how few",
    "rank-one/decay-balances": "follows from fixed-point",
    "optimizers/adamw-same-plateau.corrected": "complement of adamw-same-plateau",
    "optimizers/similar-speeds": "can never hold at its seeds; similar-times measures the same statement",
    "cross-entropy/decay-balances": "cannot fail: at a stationary point both terms cancel",
    "s-curves/cross-entropy-full-rank-curve": "cannot fail",
    "s-curves/low-rank-plateau.corrected": "complement of low-rank-plateau",
    "s-curves/large-logits-full-rank.corrected": "complement of large-logits-full-rank",
    "s-curves/rank-2-like-1.corrected": "complement of rank-2-like-1",
    "s-curves/symmetry-adds-s.corrected": "complement of symmetry-adds-s",
    "s-curves/softmax-alone.corrected": "complement of softmax-alone",
    "s-curves/adam-full-rank-plateau.corrected": "complement of adam-full-rank-plateau",
    "bumps/full-rank-no-contest": "cannot fail: at full rank nothing aligns for any network",
    "bumps/adam-more-bumps.corrected": "complement of adam-more-bumps",
    "bumps/counts-robust": "can never hold at its seeds",
    "bumps/bumps-need-competition.rank-10": "repeats competition-within",
    "bumps/which-target.corrected": "tests a sign, repeats which-target-start",
    "bumps/adam-more-bumps-reference.rank-2": "repeats adam-more-bumps-reference in another cell",
    "modules/cancelling-rectified": "merged into entangled-networks/modular-is-lower.corrected, which judges the pair",
    **{
        f"modules/{id}": "in entangled-networks now, sampled by the library"
        for id in (
            *("one-function", "modular-is-lower", "modular-is-lower.corrected", "as-derived"),
            *("rotation", "cancelling", "within-as-across", "shared-once", "beyond-rank"),
            *("trained-apart", "trained-apart.corrected"),
        )
    },
    **{
        f"modules/sampled-{id}": "in interacting-modules now, sampled by the library"
        for id in (
            *("additive", "one-each", "constrained-sum", "constrained-sum.corrected"),
            *("linear-sum", "smooth-sum"),
        )
    },
    "interaction-basis/same-importances": "identity judges the larger of both gaps",
    "one-mode/half-time": "closed-form judges the same curve at all times",
    "free-directions/more-than-scales": "speaks of how networks are drawn; no theory could make it fail",
    "free-directions/better-than-share": "tests a sign",
    "free-directions/rise-size": "transfer-size says it without the cross terms, within 5% in place of a factor of 2",
    "trained-fraction/generalises-at-40%": "`threshold` says it, at every fraction",
    "context/loss-always-on": "follows from weights-always-on, which says it",
    "context/loss-per-context": "follows from weights-per-context, which says it",
    "xor/relu-start-derived": "compares by a fit the two curves that `relu-unfitted` compares directly",
    "routing/more-paths-faster": "a weaker form of `ratio`, whose words now say it",
    "routing/orthogonal-start": "checks the code that draws the start, which its own tests do",
    "routing/shared-structure": "another entry of the same matrix as `shared.corrected`, at a fifth of its precision",
    "routing/split-alike": "the end of the curve whose height and clock `split-first` and `split-time` judge",
}
# Parameters of before, as "study/parameter", to those of now.
RENAMED_PARAMETERS: dict[str, str] = {}
# Variables of runs and theory of before, as "study/variable", to those of now.
RENAMED_VARIABLES: dict[str, str] = {}
# Presets of before to the study that holds their claims now, where it has another name.
STUDIES: dict[str, str] = {
    "modules": "planted-modules",
}

# Small, yet with several seeds and three values on the axes that sentences look along, so that most sentences apply. A second
# preset of a study, of which other sentences speak, has a word of its own behind a dot.
PRESETS: dict[str, dict] = {
    "adiabatic-limit": {
        "samples": 3,
        "dimension": 2,
        "steps": 40,
        "rate_ratio": (0.01, 0.1, 1.0),
        "output_dim": (8, 16),
    },
    "bumps": {
        "dimension": 9,
        "steps": 200,
        "optimizer": ("sgd", "adam"),
        "rank": (2, 9),
        "init_scale": 1.0,
        "relative_rate": (1.0, 10.0),
    },
    "circulant": {"domains": 6, "width": (2, 3, 5), "init_scale": (0.1, 1e-3, 1e-6)},
    "class-collapse": {"per_class": 3, "hidden_width": 8, "steps": 40},
    "connectivity": {
        "languages": 3,
        "words": 2,
        "hidden_width": (4, 6),
        "init_scale": (0.1, 0.01),
        "trained_count": (3, 7),
    },
    "context": {"hidden_width": 16, "samples": 50, "steps": 600},
    "critical-fraction": {
        "symbols": 4,
        "hidden_width": 16,
        "steps": 600,
        "observe_every": 50,
        "training_size": (6, 8, 9),
    },
    "cross-entropy": {
        "dimension": 12,
        "steps": 200,
        "rank": (2, 4),
        "target_scale": (1.0, 100.0),
    },
    "deep-linear-coefficients": {
        "network": ("4-1-3 r0", "2-2-2 r0", "3-3-3 r1"),
        "beta": (1000.0, 100.0),
        "draws": 200,
    },
    "degeneracy-over-training": {
        "domains": 2,
        "trained_outputs": 1,
        "hidden_width": 4,
        "updates": 160,
        "bits": 8,
        "neurons": 8,
    },
    "free-directions": {"networks": 2, "samples": 300, "updates": 60},
    "grokking-phases": {
        "hidden_width": 12,
        "target_dim": 5,
        "steps": 1000,
        "decoder_learning_rate": (1e-3, 1e-2),
        "embedding_learning_rate": (1e-4, 1e-3, 1e-2),
    },
    "image-grokking": {
        "training_size": 20,
        "validation_size": 50,
        "hidden_width": 20,
        "validation_threshold": 0.3,
        "steps": 400,
        "weight_decay": (0.1, 0.0, 1.0),
        "last_learning_rate": (0.003, 0.03),
    },
    "image-routing": {
        "domains": 3,
        "hidden_width": 12,
        "steps": 200,
        "excess_tolerance": 0.3,
        "trained_outputs": (1, 2),
        "init_scale": (0.1, 1.0),
    },
    "initialization": {
        "domains": 3,
        "trained_outputs": 2,
        "hidden_width": 24,
        "steps": 1500,
        "loss_tolerance": 1e-4,
        "init_scale": (0.1, 0.5, 2.5),
    },
    "interaction-basis": {"modulus": 5, "embedding_dim": 8, "hidden_width": 12, "updates": 60},
    "landscapes": {"draws": 20, "beta": (10.0, 1000.0)},
    "mask-spectrum": {"mask_size": (30, 60)},
    "masked-rank-one": {
        "domains": 5,
        "trained_fraction": 0.5,
        "init_scale": (0.1, 1e-3, 1e-6),
    },
    "modular-transformer": {
        "symbols": 5,
        "embedding_dim": 8,
        "hidden_width": 8,
        "steps": 60,
        "observe_every": 10,
        "snapshots": 3,
        "decoder_learning_rate": 0.003,
        "decoder_decay": (0.0, 1.0),
    },
    "modules": {"strength": (0.003, 0.03, 1.0), "mediators": (1, 2), "examples": 15, "seeds": 2},
    "entangled-networks": {"draws": 20, "units": (1, 2)},
    "interacting-modules": {"draws": 20},
    "one-mode": {"steps": 1000, "singular_value": (0.5, 1.0), "init_scale": (0.1, 0.2)},
    "optimizers": {
        "dimension": 10,
        "steps": 400,
        "rank": (1, 2),
        "init_scale": (1.0, 0.1),
        "learning_rate": (0.003, 0.01),
    },
    "parallelograms": {
        "symbols": 5,
        "hidden_width": 12,
        "steps": 100,
        "observe_every": 20,
        "training_size": (8, 13, 14),
    },
    "pathway-race": {"domains": 4, "hidden_width": 16, "steps": 200, "paths": (1, 4)},
    "permutation-group": {
        "hidden_width": 12,
        "steps": 1000,
        "observe_every": 100,
        "training_size": (15, 24, 33),
    },
    "rank-one": {
        "learning_rate": 0.03,
        "steps": 400,
        "observe_every": 20,
        "dimension": (10, 20),
    },
    "ridge-grokking": {
        "dimension": 20,
        "steps": 3000,
        "samples": (15, 10),
        "weight_decay": (0.02, 0.0),
    },
    "routing": {
        "domains": 3,
        "trained_outputs": 2,
        "hidden_width": 8,
        "steps": 400,
        "learning_rate": 0.1,
    },
    "s-curves": {
        "dimension": 12,
        "steps": 120,
        "rank": (2, 12),
        "optimizer": ("sgd", "adam"),
        "loss_function": ("mse", "cross_entropy"),
    },
    "trained-fraction": {
        "domains": 4,
        "hidden_width": 8,
        "steps": 2000,
        "observe_every": 20,
        "trained_outputs": (1, 2, 4),
    },
    "translation": {
        "languages": 4,
        "words": 3,
        "hidden_width": 4,
        "init_scale": (0.3, 0.03),
        "trained_fraction": (0.5, 0.8),
    },
    "xor": {"hidden_width": 16, "steps": 600},
    "adiabatic-limit.slopes": {
        "samples": 3,
        "dimension": 2,
        "steps": 40,
        "rate_ratio": (0.003, 0.01, 0.03),
        "output_dim": (8, 16, 32),
    },
    "bumps.ranks": {
        "dimension": 20,
        "steps": 400,
        "seeds": 8,
        "optimizer": ("sgd", "adam"),
        "rank": (2, 10, 20),
        "init_scale": 0.3,
        "relative_rate": (1.0, 6.0),
        "prominence": (0.1, 0.05),
    },
    "circulant.gaps": {
        "domains": 9,
        "width": (2, 4, 6),
        "init_scale": (1e-2, 1e-4, 1e-6),
        "seeds": 3,
    },
    "connectivity.square": {
        "languages": 3,
        "words": 2,
        "hidden_width": 2,
        "init_scale": (0.1, 0.01),
        "trained_count": (3, 5, 7),
    },
    "critical-fraction.seeds": {
        "symbols": 6,
        "hidden_width": 16,
        "steps": 2000,
        "observe_every": 50,
        "training_size": (16, 18, 20),
        "decoder_learning_rate": 0.003,
        "embedding_learning_rate": 0.003,
        "seeds": 12,
    },
    "cross-entropy.rank-10": {"dimension": 12, "steps": 200, "rank": 10, "target_scale": 100.0},
    "deep-linear-coefficients.several": {
        "network": ("4-1-3 r0", "2-1-2 r0", "2-2-2 r0", "4-4-4 r0", "3-3-3-3 r0"),
        "beta": (1000.0, 100.0),
        "steps": 200,
        "seeds": 3,
    },
    "grokking-phases.map": {
        "hidden_width": 12,
        "target_dim": 5,
        "steps": 8000,
        "observe_every": 50,
        "accuracy_threshold": 0.3,
        "training_size": 51,
        "decoder_learning_rate": (1e-3, 3e-3, 1e-2),
        "embedding_learning_rate": (1e-3, 1e-2, 3e-2),
    },
    "image-grokking.decay": {
        "training_size": 20,
        "validation_size": 50,
        "hidden_width": 20,
        "validation_threshold": 0.3,
        "steps": 400,
        "delay": 20,
        "weight_decay": (0.5, 1.0, 2.0),
        "last_learning_rate": 0.003,
    },
    "image-routing.truncated": {
        "domains": 3,
        "hidden_width": 12,
        "steps": 200,
        "excess_tolerance": 0.3,
        "truncation": 0.1,
        "trained_outputs": (1, 2, 3),
        "init_scale": (0.01, 0.03, 0.1),
    },
    "modular-transformer.map": {
        "symbols": 5,
        "embedding_dim": 8,
        "hidden_width": 8,
        "steps": 200,
        "delay": 10,
        "observe_every": 10,
        "snapshots": 3,
        "compared": False,
        "accuracy_threshold": 0.5,
        "decoder_learning_rate": (0.003, 0.01, 0.03),
        "decoder_decay": (0.1, 1.0, 3.0),
    },
    "masked-rank-one.scales": {
        "domains": 5,
        "trained_fraction": 0.5,
        "init_scale": (0.1, 0.03, 0.01),
    },
    "optimizers.adamw": {
        "dimension": 10,
        "steps": 2200,
        "rank": 2,
        "init_scale": 1.0,
        "learning_rate": 0.01,
        "optimizer": ("sgd", "adam", "adamw"),
        "seeds": 3,
    },
    "rank-one.dimensions": {
        "learning_rate": 0.03,
        "steps": 400,
        "observe_every": 20,
        "dimension": (10, 1000),
        "init_scale": (1.0, 0.1),
        "weight_decay": 0.0,
    },
    "ridge-grokking.slopes": {
        "dimension": 30,
        "weight_decay": (0.003, 0.006, 0.012),
        "samples": (18, 21, 24),
    },
    "routing.digits": {
        "data": "digits",
        "domains": 3,
        "trained_outputs": 2,
        "hidden_width": 12,
        "steps": 200,
        "scaling": ("whitened", "raw"),
        "seeds": 3,
    },
    "s-curves.ranks": {
        "dimension": 20,
        "steps": 200,
        "rank": (1, 2, 10),
        "optimizer": ("sgd", "sgd_decay", "adam"),
        "loss_function": ("mse", "cross_entropy"),
        "seeds": 4,
    },
    "trained-fraction.five": {
        "domains": 5,
        "hidden_width": 8,
        "steps": 1000,
        "observe_every": 20,
        "trained_outputs": (1, 2, 4),
        "seeds": 3,
    },
    "translation.square": {
        "languages": 4,
        "words": 3,
        "hidden_width": (3, 6),
        "init_scale": (0.3, 0.03),
        "trained_fraction": (0.5, 0.8),
    },
}
SEEDS = 5


def run(preset: str):
    """The result of training and judging a preset, in this process, in a folder that is deleted afterwards."""
    values = {"seeds": SEEDS, **PRESETS[preset]}
    with tempfile.TemporaryDirectory(prefix="equal-verdicts-") as folder:
        result = foretrain.run(
            study_of(preset), **values, out=Path(folder) / "run", workers=0, quiet=True
        )
        summary = json.loads((Path(folder) / "run" / "summary.json").read_text())
        return result.grid, summary


def study_of(preset: str) -> str:
    """Name of the study of a preset."""
    return STUDIES.get(preset, preset.partition(".")[0])


def record(folder: Path, presets: list[str]) -> int:
    """Store claims and runs of some presets: ``<preset>.json`` and ``<preset>.pkl``; 1 where a study raised."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for preset in presets:
        began, cpu = time.monotonic(), time.process_time()
        try:
            grid, summary = run(preset)
        except Exception as error:
            print(f"{preset}: {type(error).__name__}: {error}", flush=True)
            failed = 1
            continue
        claims, sentences = summary["claims"], catalogue.load(study_of(preset)).sentences
        silent = [one.id for one in sentences if one.id not in {claim["id"] for claim in claims}]
        held = {
            "preset": {"seeds": SEEDS, **PRESETS[preset]},
            "claims": claims,
            "sentences": [one.id for one in sentences],
            "silent": silent,
            "problems": summary["problems"],
            "runs": summary["runs"],
        }
        (folder / f"{preset}.pkl").write_bytes(pickle.dumps(plain(grid)))
        (folder / f"{preset}.json").write_text(json.dumps(held, indent=1))
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        print(
            f"{preset}: {cpu:.0f} s of CPU, {wall:.0f} s; {len(claims)} claims of {len(sentences) - len(silent)} of "
            f"{len(sentences)} sentences; runs {summary['runs']}; without a claim: {', '.join(silent) or 'none'}",
            *summary["problems"],
            sep="\n    ",
            flush=True,
        )
    write_table(folder)
    return failed


def plain(grid: Grid) -> dict:
    """A grid as data that no class of foretrain is needed to read."""
    return {
        "parameters": dataclasses.asdict(grid.parameters),
        **{name: getattr(grid, name) for name in ("axes", "seeds", "root_seed", "cell")},
        "simulation": grid.simulation.load(),
        "variants": {name: data.load() for name, data in grid.variants.items()},
        "theory": grid.theory.load(),
        "fits": grid.fits.load(),
    }


def write_table(folder: Path) -> None:
    """Write ``README`` into a folder of records: preset, number of claims and the sentences without one, a line each."""
    lines = ["preset | claims | sentences with a claim | without one | parameters"]
    for path in sorted(folder.glob("*.json")):
        held = json.loads(path.read_text())
        total, silent = len(held["sentences"]), held["silent"]
        lines.append(
            f"{path.stem} | {len(held['claims'])} | {total - len(silent)} of {total} | {', '.join(silent) or '-'} | "
            f"{held['preset']}"
        )
    (folder / "README").write_text("\n".join(lines) + "\n")


def compare(folder: Path, presets: list[str]) -> int:
    """Train and judge again, and print what differs from a record; 1 where something does."""
    number = 0
    for preset in presets:
        grid, summary = run(preset)
        before = json.loads((folder / f"{preset}.json").read_text())["claims"]
        lines = differences(preset, before, summary["claims"]) + summary["problems"]
        if reason := DIFFERS.get(f"{preset.partition('.')[0]}/*"):
            print(f"{preset}: its runs are others than before: {reason}")
            print_verdicts(preset, before, summary["claims"])
            number += told(preset, len(before), lines)
            continue
        stored = read(folder, preset)
        number += told(preset, len(before), lines + unequal_runs(stored, plain(grid)))
    return min(number, 1)


def rejudge(folder: Path, presets: list[str], figures: Path | None, theory: bool) -> int:
    """Judge stored runs by the present code, and print what differs from the record; 1 where something does."""
    number = 0
    for preset in presets:
        if reason := DIFFERS.get(f"{preset.partition('.')[0]}/*"):
            print(f"{preset}: its runs of before are not judged: {reason}")
            continue
        study = catalogue.load(study_of(preset))
        grid = restored(study, read(folder, preset))
        claims, problems = judged(study, grid)
        before = json.loads((folder / f"{preset}.json").read_text())["claims"]
        lines = differences(preset, before, [claim.as_dict() for claim in claims])
        lines += [problem.line for problem in problems]
        if theory:
            lines += unequal_theory(study, grid)
        if figures is not None:
            lines += drawn(study, grid, figures / preset)
        number += told(preset, len(before), lines)
    return min(number, 1)


def read(folder: Path, preset: str) -> dict:
    """What `plain` gave when a preset was recorded, its variables named as now."""
    stored = pickle.loads((folder / f"{preset}.pkl").read_bytes())
    prefix = f"{preset.partition('.')[0]}/"
    names = {
        old.removeprefix(prefix): new
        for old, new in RENAMED_VARIABLES.items()
        if old.startswith(prefix)
    }

    def named(data):
        return data.rename({old: new for old, new in names.items() if old in data})

    changed = {name: named(stored[name]) for name in ("simulation", "theory", "fits")}
    variants = {name: named(data) for name, data in stored["variants"].items()}
    return {**stored, **changed, "variants": variants}


def restored(study, stored: dict) -> Grid:
    """The grid of a record, with the parameters that the study has now."""
    values = {
        RENAMED_PARAMETERS.get(f"{study.name}/{key}", key): value
        for key, value in stored["parameters"].items()
    }
    known = {field.name for field in dataclasses.fields(study.Parameters)}
    parameters = study.Parameters(**{key: values[key] for key in known & values.keys()})
    data = ("axes", "seeds", "root_seed", "cell", "simulation", "variants", "theory", "fits")
    return Grid(parameters, **{key: stored[key] for key in data})


def differences(preset: str, before: list[dict], after: list[dict]) -> list[str]:
    """What differs between the claims of before and of now, a line each, but for what `DIFFERS` and `DROPPED` name."""
    lines = []
    now = {label(preset, claim): claim for claim in after}
    study = preset.partition(".")[0]
    for claim in before:
        id = f"{study}/{claim['id']}"
        if {id, f"{study}/*"} & DROPPED.keys():
            continue
        new = RENAMED.get(id, id)
        name = label(preset, {**claim, "id": new.rpartition("/")[2]})
        found = now.pop(name, None)
        if found is None:
            lines.append(f"{name}: only before, {claim['verdict']}")
        elif not {id, new, f"{study}/*"} & DIFFERS.keys():
            corrects = RENAMED.get(f"{study}/{claim['corrects']}", f"/{claim['corrects']}")
            wanted = {**claim, "corrects": corrects.rpartition("/")[2]}
            lines += [
                f"{name}: {key} was {wanted[key]}, is {found[key]}"
                for key in COMPARED
                if not equal(wanted[key], found[key])
            ]
    return lines + [f"{name}: only now, {claim['verdict']}" for name, claim in now.items()]


def print_verdicts(preset: str, before: list[dict], after: list[dict]) -> None:
    """Print measured value and verdict of before and of now, where the verdict is another."""
    now = {label(preset, claim): claim for claim in after}
    for claim in before:
        found = now.get(label(preset, claim))
        if found and found["verdict"] != claim["verdict"]:
            ends = [f"{one['measured']} {one['verdict']}" for one in (claim, found)]
            print(f"    {label(preset, claim)}: {' -> '.join(ends)}")


def label(preset: str, claim: dict) -> str:
    """Preset, id and cell of a claim, in words."""
    cell = ", ".join(f"{name}={claim['cell'][name]}" for name in sorted(claim["cell"]))
    return f"{preset}/{claim['id']}" + (f"[{cell}]" if cell else "")


def equal(one, other) -> bool:
    """Whether two entries of claims are equal, numbers to 1e-12 (relative where they are above one); nan equals nan."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return one == other


def unequal_runs(before: dict, after: dict) -> list[str]:
    """Variables of runs and theory that both have and that are not equal, a line per network."""
    pairs = {name: (before[name], after[name]) for name in ("simulation", "theory", "fits")}
    for name in before["variants"].keys() | after["variants"].keys():
        pairs[f"variant {name}"] = tuple(one["variants"].get(name, {}) for one in (before, after))
    lines = []
    for name, (one, other) in pairs.items():
        tolerance = TOLERANCE if name in ("theory", "fits") else 0.0
        gaps = {key: gap(one[key], other[key]) for key in one if key in other}
        unequal = [f"{key} ({off:.1e})" for key, off in gaps.items() if off > tolerance]
        if unequal:
            lines.append(f"{name}: of {len(one)} variables these differ: {', '.join(unequal)}")
        if missing := [key for key in one if key not in other]:
            lines.append(f"{name}: these variables are no longer there: {', '.join(missing)}")
    return lines


def unequal_theory(study, grid: Grid) -> list[str]:
    """Predictions of the present code that differ from those of a record, a line per cell."""
    from foretrain.laboratory.labelled import theory_of

    lines = []
    for cell in grid.cells() if study.predicts else ():
        now = theory_of(study, cell)
        if unequal := [
            key
            for key in now
            if key not in cell.theory or not gap(cell.theory[key], now[key]) <= TOLERANCE
        ]:
            lines.append(f"theory at {cell.cell or 'its cell'}: {', '.join(map(str, unequal))}")
    return lines


def gap(one, other) -> float:
    """The largest deviation of two variables, relative where they are above one; infinite where shapes differ."""
    a, b = np.asarray(one.values), np.asarray(other.transpose(*one.dims, ...).values)
    if a.shape != b.shape:
        return math.inf
    if a.dtype.kind not in "fiub":
        return 0.0 if (a == b).all() else math.inf
    a, b = a.astype(float), b.astype(float)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    if equal.all():
        return 0.0
    if (~(np.isfinite(a) & np.isfinite(b)) & ~equal).any():
        return math.inf
    off = (np.abs(a - b) / np.maximum(1.0, np.abs(a)))[~equal]
    return float(off.max())


def drawn(study, grid: Grid, folder: Path) -> list[str]:
    """Draw all figures into a folder, as PNG; what raised, a line each."""
    from foretrain.figures import curves, save
    from foretrain.figures.drawings import drawings
    from foretrain.figures.style import style

    try:
        with style():
            found = drawings(study, grid)
            found = curves.draw(grid) if found is None else found
        save(found, folder)
    except Exception as error:
        return [f"figures: {type(error).__name__}: {error}"]
    for path in [*folder.glob("*.svg"), *folder.glob("*.csv")]:
        path.unlink()
    return []


def told(preset: str, number: int, lines: list[str]) -> int:
    """Print what differs in a preset; 1 where something does."""
    print(f"{preset}: {number} claims before, " + (f"{len(lines)} differ" if lines else "equal"))
    for line in lines:
        print(f"    {line}")
    sys.stdout.flush()
    return 1 if lines else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare", "rejudge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("presets", nargs="*", help="by default all, or all that are recorded")
    parser.add_argument("--figures", type=Path, help="rejudge: draw all figures into this folder")
    parser.add_argument("--theory", action="store_true", help="rejudge: predict again and compare")
    given = parser.parse_args()
    pin_to_one_core(os.getpid())
    recorded = [name for name in PRESETS if (given.folder / f"{name}.json").exists()]
    presets = given.presets or (list(PRESETS) if given.action == "record" else recorded)
    if unknown := [name for name in presets if name not in PRESETS]:
        parser.error(f"no preset of the name {unknown[0]}; there are {', '.join(PRESETS)}")
    if given.action == "record":
        return record(given.folder, presets)
    if missing := [name for name in presets if name not in recorded]:
        parser.error(f"{given.folder} holds no record of {', '.join(missing)}")
    if given.action == "compare":
        return compare(given.folder, presets)
    return rejudge(given.folder, presets, given.figures, given.theory)


if __name__ == "__main__":
    sys.exit(main())
