from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_up import check, grid, verdicts

import foretrain
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.one_mode import study
from foretrain.vocabulary import OUT_OF_STEPS


def test_the_closed_form_holds_at_small_steps_and_fails_at_large_ones(tmp_path):
    options = {"observe_every": 1, "seeds": 3, "steps": 1500, "workers": 0, "quiet": True}
    result = foretrain.run("one-mode", learning_rate=[0.01, 0.7], out=tmp_path / "a", **options)
    assert result.claims["closed-form[learning_rate=0.01]"].verdict == "holds"
    # Euler at 0.7 of the fastest rate is off by far more than the eye can miss.
    gap = np.abs(result.simulation["strength"] - result.theory["strength"]).max("step")
    assert gap.sel(learning_rate=0.7).min() > 0.1
    assert result.simulation.sel(learning_rate=0.01)["loss"].isel(step=-1).max() < 1e-3


P = study.Parameters()


@cache
def _descents(steps, seeds=5, p=P):
    """Descent of the balanced product, a to a (1 + eta (s - a))^2, of every seed's start, shape (seed, step)."""
    rows = [
        np.array([study.inputs(p, Seed(0, number))["weights"][0] ** 2 for number in range(seeds)])
    ]
    for _ in range(steps):
        rows.append(rows[-1] * (1 + p.learning_rate * (p.singular_value - rows[-1])) ** 2)
    return np.array(rows).T


def descent(faster=1.0, power=1.0, drift=0.0, seeds=5, steps=2000, rows=slice(None), p=P):
    """The network's run: descent of the product, or that at another pace, of another shape, cut short."""
    step = np.arange(0, steps + 1, 10)
    predicted = [study.predict(p, step, Seed(0, number)) for number in range(seeds)]
    theory = {name: np.array([row[name] for row in predicted]) for name in ("strength", "loss")}
    moved = [np.interp(step * faster, np.arange(steps + 1), row) for row in _descents(steps)[rows]]
    strength = np.array(moved) ** power
    kick = drift * np.linspace(0, 1, step.size) * np.linspace(0.9, 1.1, seeds)[:, None]
    spread = np.linspace(0.9, 1.1, seeds)[:, None]
    networks = {
        "": {"strength": strength, "loss": 0.5 * (1 - strength) ** 2},
        "random": {"imbalance": 0.01 * spread + kick, "loss": spread * np.exp(-step / 100)},
        "theory": theory,
    }
    time = {"time": ("step", step * p.learning_rate)}
    return grid(p, {}, seeds, networks, outcome=OUT_OF_STEPS, step=step, labels=time)


def test_every_sentence_can_hold_and_fail():
    wrong = [{"power": 1.2}, {"faster": 0.99}, {"faster": 1.01}, {"rows": [1, 2, 3, 4, 0]}]
    check("one-mode", descent, {"closed-form": wrong, "imbalance": {"drift": 0.05}})


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_a_delay_of_descent_that_is_left_out_or_of_the_wrong_sign_is_noticed(wrong):
    # The delay is proportional to the learning rate that the quantity reads.
    other = replace(descent(), parameters=replace(P, learning_rate=wrong * P.learning_rate))
    gap = np.abs(study.gap(Cell(other))).max()
    assert gap > (2 * P.learning_rate * P.singular_value) ** 2


def test_every_seed_has_a_start_of_its_own_below_the_scale():
    starts = [study.inputs(P, Seed(0, number))["weights"] for number in range(50)]
    assert len({tuple(row) for row in starts}) == 50
    assert all(row[0] == row[1] and 0.05 <= row[0] < 0.1 for row in starts)


def test_runs_of_a_tenth_of_the_steps_carry_no_verdict():
    for claim, *_ in verdicts("one-mode", descent(steps=200)).values():
        assert claim.verdict == "inconclusive", claim.id
        assert claim.reason.startswith("not finished")
