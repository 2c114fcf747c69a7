"""Every script of benchmarks/ runs at its smallest size, so that none dies unnoticed when what it calls moves."""

import dataclasses
import importlib.util
import json
import sys
import time
import tomllib
from pathlib import Path

import pytest

import foretrain
from foretrain.plans.plan import make_plan

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(FOLDER))


def load(name):
    """The module of a script."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def concluding(script, tmp_path):
    foretrain.run("one-mode", steps=20, seeds=2, out=tmp_path / "a", workers=0, quiet=True)
    script.main([str(tmp_path / "a")])


def degeneracy_defaults(script, tmp_path):
    from foretrain.theory.aoyagi import deep_linear

    known = {name: item[4] for name, item in script.networks().items()}
    assert known["reduced rank 5-3-5, rank 1"] == deep_linear((5, 3, 5), 1).coefficient
    assert known["linear 10-5-5-10, rank 2"] == deep_linear((10, 5, 5, 10), 2).coefficient
    known = lambda name, eps: (10.0, 0.0)  # noqa: E731
    call = {"seconds": 1.0}
    call["estimates"] = [[0.1, 10.1, 0.1, 500, []], [0.1, 12, 0.1, 500, []], [0.1, 10, 1, 9, ["R"]]]
    (row,) = script.judged("foretrain", "tanh 2-4-2", [call], known)
    assert (row["stated"], row["right"], row["draws"]) == (2, 1, 500)
    other = {"seconds": 1.0, "chains": [10.9, 11.2, 11.0], "trace": [[1.0, 2, 1, 2]] * 3}
    assert script.judged("devinterp", "tanh 2-4-2", [other], None)[0]["right"] == 1  # lambda is 11


def equal_verdicts(script, tmp_path):
    script.PRESETS = {
        "one-mode": {"steps": 20, "observe_every": 10, "init_scale": 0.1, "singular_value": 1.0}
    }
    assert script.record(tmp_path, ["one-mode"]) == 0
    assert script.compare(tmp_path, ["one-mode"]) == 0
    assert script.rejudge(tmp_path, ["one-mode"], tmp_path / "figures", True) == 0
    assert list((tmp_path / "figures" / "one-mode").glob("*.svg"))
    record = tmp_path / "one-mode.json"
    claims = json.loads(record.read_text())
    claims["claims"][0]["measured"] += 1e-9
    record.write_text(json.dumps(claims))
    assert script.rejudge(tmp_path, ["one-mode"], None, False) == 1


def estimates(script, tmp_path):
    ratios = script.main(["one-mode", "xor"])
    assert all(0.5 < ratio < 2 for ratio in ratios), ratios


def gpu(script, tmp_path):
    script.LANES, script.TIMED_S, script.BATCH, script.REPEATS, script.COPIED = (3,), 0.05, 3, 1, 99
    script.PRECISIONS, all_of_them = ("tf32",), script.decompositions()
    script.decompositions = lambda: dict([*all_of_them.items()][:2])
    toy = script.toy
    script.toy = lambda precision: (
        (plan := toy(precision))
        and dataclasses.replace(
            plan, parameters=dataclasses.replace(plan.parameters, hidden_width=4)
        )
    )
    script.STUDIES = ()
    script.main([])
    assert script.seconds("one-mode", "--on", "cpu", "--steps", "no").endswith("(exit code 2)")


def grokking(script, tmp_path):
    script.whole_map(1, 0, steps=20, observe_every=10, hidden_width=4)
    assert script.ours(3, time.process_time, 0.1) > 0
    if importlib.util.find_spec("torch"):
        assert script.loop(1, time.process_time, 0.1) > 0


def headlines(script, tmp_path):
    script.drawn = lambda: [("one-mode", "closed-form"), ("one-mode", "unbalanced")]
    known = script.main([], tmp_path / "headlines.toml")
    assert known == script.main([], tmp_path / "headlines.toml")
    assert known["one-mode/closed-form"].startswith("theory: ")
    assert script.evidence(known) == 2


def image_routing(script, tmp_path):
    sizes = "--domains=2 --trained=1 --images=300 --truncation=0.3 --duration=1 --epoch-steps=2"
    script.main(sizes.split())


def explain_size(script, tmp_path):
    taken = script.main("--examples=40 --steps=6 --seeds=2 --width=6 --slow".split())
    assert taken["largest difference from the slow curves"] < 1e-3


def interaction_basis(script, tmp_path):
    pytest.importorskip("torch")
    script.TURNS = 1
    script.main([])


def judging(script, tmp_path):
    script.SIDE, script.SEEDS = 3, 2
    script.main()


def lanes(script, tmp_path):
    script.REPEATS, script.TIMED_S, script.RUNS, script.DECADES = 1, 0.05, 4, 1
    script.SHAPES, script.SQUARES, script.WARM, script.WIDTH = [(2, 3, 2)], [16], 1, 2
    script.ROUTING = {"domains": 2, "trained_outputs": 1, "hidden_width": 4, "observe_every": 1}
    script.races()
    script.shares()
    plan = make_plan("one-mode", {"steps": 20, "observe_every": 10}, seeds=3)
    assert script.workers(plan, repeats=2, numbers=(0,))[0] > 0
    if importlib.util.find_spec("torch"):
        assert script.torch_steps_per_second(1, steps=3) > 0


def nuts(script, tmp_path):
    networks = {"tanh 2-3-1": script.small_networks(50.0)["tanh 2-3-1"]}
    reference = {"chains": 4, "draws": 100, "warm_up": 100, "seed": 1}
    rows = script.distances(networks, (script.OWN, "baoab"), gradients=100_000, reference=reference)
    assert all(abs(row.relative) < 0.2 for row in rows)
    head, _, line = script.table([rows[0]._replace(trusted=False), rows[1]]).splitlines()
    assert head == "| network | NUTS | foretrain | baoab |"
    assert line.startswith("| tanh 2-3-1 |")
    assert line.count("(") == 1


def parallelograms(script, tmp_path):
    script.DRAWS, script.LOOPED, script.ORDERS = 10, 10, 2
    script.main()


def results(script, tmp_path):
    script.main(2000, 1000)


def routing(script, tmp_path):
    script.REPEATS, script.SAMPLES = 1, (100,)
    script.DOMAINS, script.PIXELS, script.SQUARE = 2, 8, 16
    script.statistics_against_samples()
    script.share_of_the_machine()


def s_curves(script, tmp_path):
    pytest.importorskip("torch")
    script.DIMENSION, script.STEPS = 12, 20
    script.main(runs=3, workers=0, repeats=1)


def sampler_choice(script, tmp_path):
    for name in ("default", "exchange 0.5", "exchange 2", "baoab"):
        del script.SAMPLERS[name]  # others are the same functions again
    script.main(["w⁴"], 1, 0.01, 40_000)


def scaling(script, tmp_path):
    assert script.measure(100, 0)["runs"] == 100


def own_networks(script, tmp_path):
    assert [of for _, of in script.main(["--networks=1"]).values()] == [1]


def side_by_side(script, tmp_path):
    script.STEPS = 1000
    ((item, two),) = script.measure(workers=1, seeds=3, turns=1)
    assert min(item, two) > 0


def superposition(script, tmp_path):
    script.main(gradients=2000)


def same_training(script, tmp_path):
    script.STARTS, script.DRAWS, script.EVERY, script.NUMBERS = 8, 2, (10,), (3,)
    script.NETWORKS = {"batches": script.NETWORKS["batches"]}
    assert [len(row) for row in script.main()[1.0, "minibatches"]] == [2]


def translation(script, tmp_path):
    script.SCALES, script.FRACTIONS = (0.1,), (1.0,)
    script.SEEDS, script.LANES, script.MOST = 1, 3, 40
    script.main(2, 2, 2)


def test_the_file_of_headlines_is_of_the_present_draw_and_records_and_most_of_them_can_fail():
    script = load("headlines")
    known = tomllib.loads(script.OUT.read_text("utf-8"))
    assert script.stale(known) == []
    assert script.evidence(known) >= 45


LONG = "explain_size gpu lanes grokking nuts own_networks same_training side_by_side superposition".split()
LONG += ["estimates", "sampler_choice", "translation"]
# `verdict_changes` holds words alone.
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - {"verdict_changes", "misreadings"})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NAMES]
)
def test_the_script_runs_at_its_smallest_size(name, tmp_path):
    if name in ("interaction_basis", "s_curves"):
        pytest.importorskip("torch")
    globals()[name](load(name), tmp_path)
