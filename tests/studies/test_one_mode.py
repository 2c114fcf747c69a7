from dataclasses import replace

import numpy as np
import pytest
from made_up import check, runs, verdicts

import foretrain
from foretrain.claims.sentence import judge
from foretrain.cli import main
from foretrain.errors import ArgumentError
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.one_mode import study


def test_the_closed_form_holds_at_small_steps_and_fails_at_large_ones(tmp_path):
    result = foretrain.run(
        "one-mode",
        learning_rate=[0.01, 0.7],
        observe_every=1,
        seeds=3,
        steps=400,
        out=tmp_path / "a",
        quiet=True,
        workers=1,
    )
    assert result.claims["closed-form[learning_rate=0.01]"].verdict == "holds"
    # Euler at 0.7 of the fastest rate is off by far more than the eye can miss.
    gap = np.abs(result.simulation["strength"] - result.theory["strength"]).max("step")
    assert gap.sel(learning_rate=0.7).min() > 0.1
    assert result.simulation.sel(learning_rate=0.01)["loss"].isel(step=-1).max() < 1e-3


def test_a_step_too_large_is_recorded_as_diverged_and_the_rest_goes_on(tmp_path):
    result = foretrain.run(
        "one-mode",
        learning_rate=[0.01, 5.0],
        start="random",
        init_scale=3.0,
        seeds=3,
        steps=100,
        out=tmp_path / "a",
        quiet=True,
        workers=1,
    )
    outcome = result.simulation["outcome"]
    names = outcome.attrs["flag_meanings"].split()
    codes = {
        int(code): name for code, name in zip(outcome.attrs["flag_values"], names, strict=True)
    }
    assert {codes[int(code)] for code in outcome.sel(learning_rate=5.0)} == {"diverged"}
    assert {codes[int(code)] for code in outcome.sel(learning_rate=0.01)} == {"out_of_steps"}
    assert (result.simulation["steps_taken"].sel(learning_rate=5.0) < 100).all()


def test_more_seeds_and_values_re_run_nothing(tmp_path):
    out = tmp_path / "a"
    first = foretrain.run("one-mode", seeds=2, steps=100, out=out, quiet=True, workers=1)
    segments = set((out / "journal").iterdir())
    second = foretrain.run(
        "one-mode", seeds=3, init_scale=[0.1, 0.2], steps=100, out=out, quiet=True, workers=1
    )
    assert segments < set((out / "journal").iterdir())
    np.testing.assert_array_equal(
        first.simulation["strength"], second.simulation["strength"].sel(init_scale=0.1, seed=[0, 1])
    )
    assert len(second.simulation["outcome"].values.ravel()) == 6


def test_a_start_above_the_solution_is_refused():
    with pytest.raises(
        ArgumentError, match="`init_scale` must be below the root of `singular_value` = 1, but is 2"
    ):
        foretrain.run("one-mode", init_scale=2.0)


def test_runs_that_fail_are_reported_with_their_reason_and_nothing_is_judged(
    tmp_path, monkeypatch, capsys
):
    def broken(p, seed):
        raise OSError("the data are gone")

    monkeypatch.setitem(catalogue.load("one-mode").part("study"), "inputs", broken)
    out = tmp_path / "a"
    code = main(["run", "one-mode", "--seeds", "2", "--workers", "0", "--out", str(out)])
    assert code == 3
    assert "4 runs were lost: " in (err := capsys.readouterr().err)
    assert "OSError: the data are gone" in err
    assert len(foretrain.open(out).claims) == 0
    assert (out / "report.html").exists()


def descent(faster=1.0, power=1.0, drift=0.0, seeds=5, steps=2000):
    """What the network would do: the closed form in exact time, at another pace or of another shape."""
    p = study.Parameters()
    step = np.arange(0, steps + 1, 10)
    theory = study.predict(p, step)
    moved = study.predict(p, step * faster)["strength"] ** power
    strength = np.broadcast_to(moved, (seeds, step.size))
    kick = drift * np.linspace(0, 1, step.size) * np.linspace(0.9, 1.1, seeds)[:, None]
    spread = np.linspace(0.9, 1.1, seeds)[:, None]
    given = {"labels": {"time": ("step", step * p.learning_rate)}, "step": step}
    simulation = runs(
        {}, seeds, {"strength": strength, "loss": 0.5 * (1 - strength) ** 2}, outcome=4, **given
    )
    random = {"imbalance": 0.01 * spread + kick, "loss": spread * np.exp(-step / 100)}
    return Grid(
        p,
        {},
        seeds,
        0,
        simulation,
        {"random": runs({}, seeds, random, outcome=4, **given)},
        runs({}, 0, theory, outcome=None, **given),
    )


def test_every_sentence_can_hold_and_fail():
    check(
        "one-mode",
        descent,
        {
            "closed-form": lambda: descent(power=1.2),
            "half-time": lambda: descent(faster=1.05),
            "imbalance": lambda: descent(drift=0.05),
        },
    )


@pytest.mark.parametrize("faster", [0.9, 1.1])
def test_a_pace_off_by_ten_percent_is_noticed_by_both_sentences(faster):
    found = verdicts("one-mode", descent(faster=faster))
    assert {found[id][0].verdict for id in ("closed-form", "half-time")} == {"fails"}


def test_what_is_allowed_shrinks_with_the_step_so_that_a_time_one_percent_off_is_noticed():
    def off(p, step):
        return study.predict(p, step * 1.01)

    p = study.Parameters(learning_rate=0.001, steps=20000)
    step = np.arange(0, p.steps + 1, 10)
    labels = {"labels": {"time": ("step", step * p.learning_rate)}, "step": step}
    made = {
        name: runs({}, seeds, function(p, step), outcome=outcome, **labels)
        for name, function, seeds, outcome in (
            ("network", study.predict, 3, 4),
            ("theory", off, 0, None),
        )
    }
    grid = Grid(p, {}, 3, 0, made["network"], {}, made["theory"])
    (said,) = (one for one in catalogue.load("one-mode").sentences if one.id == "half-time")
    assert judge(said, grid).verdict == "fails"


def test_a_run_cut_off_before_its_half_time_is_not_finished():
    (claim,) = verdicts("one-mode", descent(steps=200))["half-time"]
    assert claim.verdict == "inconclusive"
    assert claim.reason.startswith("not finished")


def test_where_theory_never_learns_the_mode_no_half_time_holds():
    grid = descent()
    flat = grid.theory.assign(strength=0 * grid.theory["strength"] + 0.01)
    (claim,) = verdicts("one-mode", replace(grid, theory=flat))["half-time"]
    assert (claim.verdict, claim.reason) == ("inconclusive", "nothing was measured")
