import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError


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
    from foretrain.cli import main
    from foretrain.studies.one_mode import study as one_mode

    def broken(parameters, root_seed, seed):
        raise OSError("the data are gone")

    monkeypatch.setattr(one_mode, "inputs", broken)
    out = tmp_path / "a"
    code = main(["run", "one-mode", "--seeds", "2", "--workers", "0", "--out", str(out)])
    assert code == 3
    assert "4 runs were lost (OSError: the data are gone)" in capsys.readouterr().err
    assert len(foretrain.open(out).claims) == 0
    assert (out / "report.html").exists()
