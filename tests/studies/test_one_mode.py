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


@cache
def _unbalanced(seeds=5, imbalance=1.0, faster=1.0, decay=1.0, steps=2000):
    """Descent of both weights of every seed's start, in steps of which the product or the imbalance may be spoilt."""
    changed = replace(P, init_imbalance=imbalance)
    x, y = np.array(
        [study.inputs(changed, Seed(0, number))["weights"] for number in range(seeds)]
    ).T
    product, difference = [x * y], [x**2 - y**2]
    for _ in range(steps):
        error = P.singular_value - x * y
        x, y = (faster * P.learning_rate * error * other + own for own, other in ((x, y), (y, x)))
        product.append(x * y)
        difference.append(x**2 - y**2)
    kept = difference[0] + decay * (np.array(difference) - difference[0])
    return {"strength": np.array(product).T, "imbalance": kept.T}


def descent(faster=1.0, power=1.0, drift=0.0, seeds=5, steps=2000, rows=slice(None), p=P, own=None):
    """The network's run: descent of the product, or that at another pace, of another shape, cut short."""
    step = np.arange(0, steps + 1, 10)
    predicted = [study.predict(p, step, Seed(0, number)) for number in range(seeds)]
    theory = {name: np.array([row[name] for row in predicted]) for name in ("strength", "loss")}
    moved = [np.interp(step * faster, np.arange(steps + 1), row) for row in _descents(steps)[rows]]
    strength = np.array(moved) ** power
    kick = drift * np.linspace(0, 1, step.size) * np.linspace(0.9, 1.1, seeds)[:, None]
    spread = np.linspace(0.9, 1.1, seeds)[:, None]
    unequal = _unbalanced(seeds) if own is None else own
    unequal = {**unequal, "loss": 0.5 * (1 - unequal["strength"]) ** 2}
    networks = {
        "": {"strength": strength, "loss": 0.5 * (1 - strength) ** 2},
        "unbalanced": {name: row[:, ::10][:, : step.size] for name, row in unequal.items()},
        "random": {"imbalance": 0.01 * spread + kick, "loss": spread * np.exp(-step / 100)},
        "theory": theory,
    }
    time = {"time": ("step", step * p.learning_rate)}
    return grid(p, {}, seeds, networks, outcome=OUT_OF_STEPS, step=step, labels=time)


def test_every_sentence_can_hold_and_fail():
    wrong = [{"power": 1.2}, {"faster": 0.99}, {"faster": 1.01}, {"rows": [1, 2, 3, 4, 0]}]
    kept = _unbalanced()["imbalance"]
    balanced = {"strength": _descents(2000), "imbalance": kept}
    unbalanced = [
        {"own": balanced},  # the null: the curve that knows no imbalance
        {"own": _unbalanced(faster=0.99)},
        {"own": _unbalanced(faster=1.01)},
        {"own": _unbalanced(decay=0.0)},  # no power of the step: a flow would keep it all
        {"own": _unbalanced(decay=2.0)},
        {"own": {"strength": _unbalanced(imbalance=0.99)["strength"], "imbalance": kept}},
    ]
    spoilt = {"closed-form": wrong, "unbalanced": unbalanced, "imbalance": {"drift": 0.05}}
    check("one-mode", descent, spoilt)


@pytest.mark.parametrize("imbalance", [-2.0, 1e-3, 0.5])
def test_an_unbalanced_start_has_the_product_and_the_imbalance_that_it_says(imbalance):
    for number in range(5):
        weights = study.inputs(P, Seed(0, number))["weights"]
        x, y = study.inputs(replace(P, init_imbalance=imbalance), Seed(0, number))["weights"]
        assert x * y == pytest.approx(weights[0] ** 2, rel=1e-14)
        assert x**2 - y**2 == pytest.approx(imbalance, rel=1e-12)


def test_the_closed_form_of_unbalanced_starts_is_claimed_only_where_the_balanced_one_differs():
    def reason(imbalance, rate=P.learning_rate):
        cell = descent(p=replace(P, init_imbalance=imbalance, learning_rate=rate))
        return study.too_near(Cell(cell))

    assert [reason(0.0), reason(0.1), reason(-0.1)] == ["", "", ""]
    assert reason(1e-7) == reason(0.1, rate=0.7) == "the balanced curve is as near"


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_a_delay_of_descent_that_is_left_out_or_of_the_wrong_sign_is_noticed(wrong):
    # The delay is proportional to the learning rate that the quantity reads.
    other = replace(descent(), parameters=replace(P, learning_rate=wrong * P.learning_rate))
    assert np.abs(study.gap(Cell(other))).max() > (2 * P.learning_rate * P.singular_value) ** 2


def test_every_seed_has_a_start_of_its_own_below_the_scale():
    starts = [study.inputs(P, Seed(0, number))["weights"] for number in range(50)]
    assert len({tuple(row) for row in starts}) == 50
    assert all(row[0] == row[1] and 0.05 <= row[0] < 0.1 for row in starts)


def test_runs_of_a_twentieth_of_the_steps_carry_no_verdict():
    for claim, *_ in verdicts("one-mode", descent(steps=100)).values():
        assert claim.verdict == "inconclusive", claim.id
        assert claim.reason.startswith("not finished")
