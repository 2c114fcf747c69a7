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
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.registry import present
from foretrain.registry.small import PRESETS

sys.path.insert(0, str(Path(__file__).parent))
from verdict_changes import (
    DIFFERS,
    DROPPED,
    RENAMED,
    RENAMED_PARAMETERS,
    RENAMED_VARIABLES,
    STUDIES,
)

TOLERANCE = 1e-12
COMPARED = (
    *("predicted", "measured", "uncertainty", "allowed", "verdict", "seeds", "left_out"),
    *("corrects", "along"),
)

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


def study_of(preset: str) -> Study:
    """The study of a preset."""
    return present.study_of(STUDIES.get(preset, preset.partition(".")[0]))


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
        claims, sentences = summary["claims"], study_of(preset).sentences
        silent = [item.id for item in sentences if item.id not in {claim["id"] for claim in claims}]
        content = {
            "preset": {"seeds": SEEDS, **PRESETS[preset]},
            "claims": claims,
            "sentences": [item.id for item in sentences],
            "silent": silent,
            "problems": summary["problems"],
            "runs": summary["runs"],
        }
        (folder / f"{preset}.pkl").write_bytes(pickle.dumps(plain(grid)))
        (folder / f"{preset}.json").write_text(json.dumps(content, indent=1))
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
        content = json.loads(path.read_text())
        total, silent = len(content["sentences"]), content["silent"]
        lines.append(
            f"{path.stem} | {len(content['claims'])} | {total - len(silent)} of {total} | {', '.join(silent) or '-'} | "
            f"{content['preset']}"
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
            number += print_differences(preset, len(before), lines)
            continue
        stored = read(folder, preset)
        number += print_differences(preset, len(before), lines + unequal_runs(stored, plain(grid)))
    return min(number, 1)


def rejudge(folder: Path, presets: list[str], figures: Path | None, theory: bool) -> int:
    """Judge stored runs by the present code, and print what differs from the record; 1 where something does."""
    number = 0
    for preset in presets:
        if reason := DIFFERS.get(f"{preset.partition('.')[0]}/*"):
            print(f"{preset}: its runs of before are not judged: {reason}")
            continue
        study = study_of(preset)
        grid = restored(study, read(folder, preset))
        claims, problems = judged(study, grid)
        before = json.loads((folder / f"{preset}.json").read_text())["claims"]
        lines = differences(preset, before, [claim.as_dict() for claim in claims])
        lines += [problem.line for problem in problems]
        if theory:
            lines += unequal_theory(study, grid)
        if figures is not None:
            lines += drawn(study, grid, figures / preset)
        number += print_differences(preset, len(before), lines)
    return min(number, 1)


def read(folder: Path, preset: str) -> dict:
    """Return what `plain` gave when a preset was recorded, its variables named as now."""
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
    """List the differences between the claims of before and of now, a line each, but for what `DIFFERS` and `DROPPED` name."""
    lines = []
    now = {label(preset, claim): claim for claim in after}
    study = preset.partition(".")[0]
    for claim in before:
        id = f"{study}/{claim['id']}"
        if {id, f"{study}/*"} & DROPPED.keys():
            continue
        new = RENAMED.get(id, id)
        name = label(preset, {**claim, "id": new.rpartition("/")[2]})
        outcome = now.pop(name, None)
        if outcome is None:
            lines.append(f"{name}: only before, {claim['verdict']}")
        elif not {id, new, f"{study}/*"} & DIFFERS.keys():
            corrects = RENAMED.get(f"{study}/{claim['corrects']}", f"/{claim['corrects']}")
            wanted = {**claim, "corrects": corrects.rpartition("/")[2]}
            lines += [
                f"{name}: {key} was {wanted[key]}, is {outcome[key]}"
                for key in COMPARED
                if not equal(wanted[key], outcome[key])
            ]
    return lines + [f"{name}: only now, {claim['verdict']}" for name, claim in now.items()]


def print_verdicts(preset: str, before: list[dict], after: list[dict]) -> None:
    """Print measured value and verdict of before and of now, where the verdict is another."""
    now = {label(preset, claim): claim for claim in after}
    for claim in before:
        outcome = now.get(label(preset, claim))
        if outcome and outcome["verdict"] != claim["verdict"]:
            ends = [f"{item['measured']} {item['verdict']}" for item in (claim, outcome)]
            print(f"    {label(preset, claim)}: {' -> '.join(ends)}")


def label(preset: str, claim: dict) -> str:
    """Preset, id and cell of a claim, in words."""
    cell = ", ".join(f"{name}={claim['cell'][name]}" for name in sorted(claim["cell"]))
    return f"{preset}/{claim['id']}" + (f"[{cell}]" if cell else "")


def equal(first, other) -> bool:
    """Return whether two entries of claims are equal, numbers to 1e-12 (relative where they are above one); nan equals nan."""
    if isinstance(first, dict) and isinstance(other, dict):
        return first.keys() == other.keys() and all(equal(first[key], other[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(other, list | tuple):
        return len(first) == len(other) and all(map(equal, first, other))
    if isinstance(first, float) and isinstance(other, int | float):
        both_nan = math.isnan(first) and math.isnan(other)
        return both_nan or math.isclose(first, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return first == other


def unequal_runs(before: dict, after: dict) -> list[str]:
    """Variables of runs and theory that both have and that are not equal, a line per network."""
    pairs = {name: (before[name], after[name]) for name in ("simulation", "theory", "fits")}
    for name in before["variants"].keys() | after["variants"].keys():
        pairs[f"variant {name}"] = tuple(item["variants"].get(name, {}) for item in (before, after))
    lines = []
    for name, (item, other) in pairs.items():
        tolerance = TOLERANCE if name in ("theory", "fits") else 0.0
        gaps = {key: gap(item[key], other[key]) for key in item if key in other}
        unequal = [f"{key} ({off:.1e})" for key, off in gaps.items() if off > tolerance]
        if unequal:
            lines.append(f"{name}: of {len(item)} variables these differ: {', '.join(unequal)}")
        if missing := [key for key in item if key not in other]:
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


def gap(first, other) -> float:
    """The largest deviation of two variables, relative where they are above one; infinite where shapes differ."""
    a, b = np.asarray(first.values), np.asarray(other.transpose(*first.dims, ...).values)
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
    """Draw all figures into a folder, as SVG; what raised, a line each."""
    from foretrain.figures import save
    from foretrain.figures.drawings import drawings
    from foretrain.figures.style import style

    try:
        with style():
            outcome = drawings(study, grid)
        save(outcome, folder)
    except Exception as error:
        return [f"figures: {type(error).__name__}: {error}"]
    for path in folder.glob("*.csv"):
        path.unlink()
    return []


def print_differences(preset: str, number: int, lines: list[str]) -> int:
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
    options = parser.parse_args()
    pin_to_one_core(os.getpid())
    recorded = sorted(path.stem for path in options.folder.glob("*.json"))
    presets = options.presets or (list(PRESETS) if options.action == "record" else recorded)
    known = PRESETS if options.action == "record" else recorded
    if unknown := [name for name in presets if name not in known]:
        parser.error(f"no preset of the name {unknown[0]}; there are {', '.join(known)}")
    if options.action == "record":
        return record(options.folder, presets)
    if missing := [name for name in presets if name not in recorded]:
        parser.error(f"{options.folder} holds no record of {', '.join(missing)}")
    if options.action == "compare":
        return compare(options.folder, presets)
    return rejudge(options.folder, presets, options.figures, options.theory)


if __name__ == "__main__":
    sys.exit(main())
