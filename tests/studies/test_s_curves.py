"""Every sentence of the S-curves holds on a made-up grid and fails on another, and none raises whatever became of the runs."""

import dataclasses

import numpy as np
import pytest
from made_up import check, grid, remember_plateaus, verdicts
from riding import trained

import foretrain
from foretrain.networks.factorization import Factors
from foretrain.plans import catalogue
from foretrain.plans.study import traced
from foretrain.quantities.alignment import alignment
from foretrain.quantities.bumps import bumps_per_component
from foretrain.streams import Seed
from foretrain.studies.s_curves import study
from foretrain.studies.s_curves.study import AXES, Parameters
from foretrain.training import factorization
from foretrain.vocabulary import OUT_OF_STEPS

SEEDS = 40  # from 36 on "in every run" can hold
STEP = np.arange(0, 601, 2)


def falls(*phases, floor=0.0):
    """A loss curve that falls at rates given as (rate, steps), and at .2 from then on."""
    rate = np.concatenate([np.full(steps // 2, value) for value, steps in phases] + [[]])
    rate = np.concatenate([rate, np.full(STEP.size, 0.2)])[: STEP.size - 1]
    return floor + (1 - floor) * np.exp(-np.concatenate([[0], np.cumsum(2 * rate)]))


SMOOTH, ONE = falls(), falls((0, 60))
TWO = falls((0, 60), (0.2, 10), (0, 60))
LEFT = falls(floor=0.1)


TIME = 0.05 * STEP
DECAYS = 1 / (1 + 4 * TIME)  # outside of the target's span
HALVES = 20 + 10 * np.arange(10.0)  # steps at which ten modes are half learned
LEARNED = np.where(STEP[:, None] >= HALVES, 1.0, 0.0).astype(np.float32)


def build(curve=ONE, *, by=None, end=1.0, flow=np.positive, outside=DECAYS, order=HALVES, **more):
    """A grid of cells with this curve, or that of `by`; theory is that of the runs: `flow` of the loss, `order` of modes."""
    named = by or {}
    shape = tuple(len(values) for values in AXES.values())
    loss = np.empty((*shape, SEEDS, STEP.size))
    # Neighbours are never alike, and the first twenty seeds, for which the flow is known, close to a circle.
    scale = 1 + 0.02 * np.sin(np.pi * np.arange(SEEDS) / 10)[:, None]
    for index in np.ndindex(*shape):
        values = [values[i] for values, i in zip(AXES.values(), index, strict=True)]
        chosen = next((named[value] for value in values if value in named), curve)
        loss[index] = scale * chosen
    data = {"loss": loss, "relative_loss": loss, "outside": scale * outside}
    data |= {"inside": np.linspace(0.1, 1, STEP.size), "mode_strengths": LEARNED}
    theory = {
        "decayed_loss": end * loss[..., -1],
        "flow_loss": flow(loss),
        "flow_inside": data["inside"],
        "flow_outside": scale * DECAYS,
        "flow_half_step": order * (1 + 0.001 * np.arange(SEEDS))[:, None],
    }
    return grid(Parameters(), AXES, SEEDS, {"": data, "theory": theory}, step=STEP, **more)


CASES = {  # where each holds, and where it fails
    "low-rank-plateau": ({}, {"curve": SMOOTH}),
    "full-rank-no-plateau": ({"curve": SMOOTH}, {}),
    "adam-full-rank-plateau": ({}, {"curve": SMOOTH}),
    "rank-2-like-1": ({}, {"by": {1: SMOOTH, 2: TWO}}),
    "symmetry-adds-s": ({"curve": TWO}, {}),
    "weight-decay-end": ({"curve": LEFT}, {"curve": LEFT, "end": 1.1}),
    "cross-entropy-two-plateaus": ({"curve": TWO}, {}),
    "cross-entropy-two-plateaus.corrected": ({}, {"by": {"cross_entropy": TWO}}),
    "cross-entropy-rank-10": ({"curve": LEFT}, {}),
    "cross-entropy-rank-10.corrected": ({}, {"by": {"cross_entropy": TWO}}),
    "cross-entropy-full-rank": ({"curve": SMOOTH}, {}),
    "flow-loss": ({"curve": SMOOTH}, {"curve": SMOOTH, "flow": lambda loss: loss + 0.5}),
    "flow-start": ({}, {"flow": lambda loss: np.roll(loss, -1, axis=-2)}),
    "flow-begins": ({}, {"flow": lambda loss: 1.05 * loss}),
    "mode-order": ({}, {"order": HALVES[::-1]}),
    "irrelevant-decays": ({}, {"outside": np.ones(STEP.size)}),
    "outside-decays": ({}, {"outside": DECAYS**2}),
}


def test_every_sentence_can_hold_and_fail(monkeypatch):
    remember_plateaus(monkeypatch)
    exceptions, spoilt = ({id: sides[side] for id, sides in CASES.items()} for side in (0, 1))
    check("s-curves", build, spoilt, exceptions)
    claims = verdicts("s-curves", build(curve=SMOOTH), "flow-loss")["flow-loss"]
    assert {claim.verdict for claim in claims} == {"holds"}, "steps of either loss are short enough"


def test_what_hangs_on_the_setting_of_a_counter_is_open():
    """A plateau of strength 2.75 is found by some counters: neither that there is one holds, nor that there is none."""
    whole = build(falls((0.05, 20)))
    for id in ("full-rank-no-plateau", "adam-full-rank-plateau"):
        for claim in verdicts("s-curves", whole, id)[id]:
            assert claim.verdict == "inconclusive", claim
            low, high = claim.uncertainty
            assert low == 0
            assert high == 1
            assert 2 < float(claim.note.split()[-1].rstrip(".")) < 3


def test_cut_off_training_carries_no_verdict_on_its_end():
    whole = build(curve=falls((0.001, 600)), outcome=OUT_OF_STEPS)
    for claim in verdicts("s-curves", whole, "cross-entropy-rank-10")["cross-entropy-rank-10"]:
        assert claim.verdict == "inconclusive"
        assert "not finished" in claim.reason


SMALL = Parameters(dimension=12, rank=2, steps=120, observe_every=1, precision="float64")


def draw(p, seed):
    return factorization.draw(p, Seed(0, seed))


def train(p, factors):
    """Finished runs of the study's program from given (target, start) pairs, in order."""
    inputs = (traced(p) | factorization.inputs_from(p, *pair) for pair in factors)
    return trained(factorization.program(p), p, inputs)


@pytest.mark.slow
def test_rotating_target_and_start_together_or_relabelling_components_changes_nothing_else():
    drawn = [draw(SMALL, seed) for seed in range(3)]
    left, right = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 12, 12)))[0]
    turned = [tuple(Factors(left @ f.left, right @ f.right) for f in pair) for pair in drawn]
    swapped = [(t, Factors(s.left[:, ::-1], s.right[:, ::-1])) for t, s in drawn]
    alike = zip(*(train(SMALL, some) for some in (drawn, turned, swapped)), strict=True)
    for item, other, third in alike:
        # float64, 120 steps.
        np.testing.assert_allclose(item.curves["loss"], other.curves["loss"], rtol=1e-9)
        for name in ("component_bumps", "first_target"):
            np.testing.assert_array_equal(item.finals[name], other.finals[name])
        bumps = third.finals["component_bumps"][::-1]
        np.testing.assert_array_equal(item.finals["component_bumps"], bumps)


@pytest.mark.slow
def test_bumps_counted_while_training_are_those_of_the_whole_record():
    parameters = dataclasses.replace(SMALL, optimizer="sgd", steps=200)
    drawn = [draw(parameters, seed) for seed in range(8)]
    counted = [run.finals["component_bumps"] for run in train(parameters, drawn)]
    rate = factorization.learning_rate(parameters)
    for (target, start), result in zip(drawn, counted, strict=True):
        (a, b), (x, y) = target, start
        record = [alignment(x, y, a, b)]
        for _ in range(parameters.steps):
            error = a @ b.T - x @ y.T
            x, y = x + 2 * rate * error @ y, y + 2 * rate * error.T @ x
            record.append(alignment(x, y, a, b))
        np.testing.assert_array_equal(result, bumps_per_component(np.array(record)))
    assert sum(result.sum() for result in counted) > 0


@pytest.mark.slow
def test_small_logits_make_cross_entropy_the_squared_error():
    squared = Parameters(dimension=60, rank=2, steps=60, observe_every=10)
    crossed = dataclasses.replace(squared, loss_function="cross_entropy")
    drawn = [draw(squared, seed) for seed in range(3)]
    for item, other in zip(train(squared, drawn), train(crossed, drawn), strict=True):
        # Centring removes one of 3600 directions, logits of order 1/60 make corrections of that order.
        gap = np.abs(item.curves["relative_loss"] - other.curves["relative_loss"])
        assert gap.max() < 0.05 * item.curves["relative_loss"][0]


@pytest.mark.slow
def test_a_scaled_target_of_descent_is_the_same_problem_in_other_units():
    item = dataclasses.replace(SMALL, steps=60)
    four = dataclasses.replace(item, target_scale=4.0, init_scale=2.0)
    drawn = [[draw(p, seed) for seed in range(3)] for p in (item, four)]
    for small, large in zip(train(item, drawn[0]), train(four, drawn[1]), strict=True):
        # Weights twice as large fit a target four times as large in steps four times as small: exact up to rounding.
        relative = large.curves["relative_loss"]
        np.testing.assert_allclose(small.curves["relative_loss"], relative, rtol=1e-9)


@pytest.mark.slow
def test_weight_decay_ends_at_the_soft_threshold_of_the_singular_values():
    parameters = dataclasses.replace(
        SMALL, rank=3, components=2, optimizer="sgd_decay", weight_decay=0.4, steps=4000
    )
    (run,) = train(parameters, [draw(parameters, 0)])
    expected = study.end_of_decay(parameters, Seed(0, 0))
    assert run.curves["loss"][-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("name", "decay"), [("sgd", 0), ("adam", 0), ("adamw", 0.3)])
def test_only_optimizers_with_decay_are_given_one(name, decay):
    assert factorization.weight_decay(Parameters(optimizer=name, weight_decay=0.3)) == decay


EIGHT = {"dimension": 8, "rank": 1, "steps": 200, "observe_every": 10, "precision": "float64"}
DECAYED = Parameters(**EIGHT, optimizer="sgd_decay", weight_decay=0.4)
SEEN = np.arange(0, DECAYED.steps + 1, DECAYED.observe_every)


@pytest.fixture(scope="module")
def decayed():
    """A run of rank one with decay, trained once."""
    known = catalogue.load("s-curves")
    (run,) = trained(known.program(DECAYED), DECAYED, [known.inputs(DECAYED, Seed(0, 0))])
    return run


def test_theory_with_another_decay_or_rate_is_outside_of_what_is_allowed(monkeypatch, decayed):
    monkeypatch.setattr(study, "_flow", study._flow.__wrapped__)  # it remembers what was predicted
    loss, sentences = decayed.curves["loss"], catalogue.load("s-curves").sentences
    ((low, high),) = [text.inside for text in sentences if text.id == "weight-decay-end"]

    def compared(name, share):
        """Return the last loss over its prediction, and the deviation of the curve from the flow, in steepest falls."""
        right = getattr(study, name)
        with monkeypatch.context() as planted:
            planted.setattr(study, name, lambda p: share * right(p))
            result = study.predict(DECAYED, SEEN, Seed(0, 0))
        gap = np.abs(loss / DECAYED.target_scale**2 - result["flow_loss"]).max()
        return loss[-1] / max(result["decayed_loss"], 1e-12), gap / -np.diff(
            result["flow_loss"]
        ).min()

    end, gap = compared("weight_decay", 1.0)
    assert low < end < high
    assert not any(low < compared("weight_decay", share)[0] < high for share in (0.0, 0.9, 1.1))
    assert all(compared("learning_rate", share)[1] > 2 * gap for share in (0.9, 1.1))


def test_what_is_observed_along_the_modes_is_what_the_flow_from_the_start_predicts(decayed):
    curves, result = decayed.curves, study.predict(DECAYED, SEEN, Seed(0, 0))
    for name in ("inside", "outside"):
        # First order in the step, .05.
        np.testing.assert_allclose(curves[name], result[f"flow_{name}"], atol=0.06)
    # |C| = 1 and Z = X Y^T; of rank one the mode is the target itself, and ends at 1 - lambda/2.
    assert curves["mode_strengths"].shape == (SEEN.size, 1)
    assert curves["mode_strengths"][-1, 0] == pytest.approx(0.8, abs=1e-4)
    target, start = factorization.draw(DECAYED, Seed(0, 0))
    first = (target.left.T @ start.left) * (target.right.T @ start.right)
    assert curves["mode_strengths"][0, 0] == pytest.approx(first[0, 0], rel=1e-9)
    lengths = sum(np.sum(own**2) for own in start)
    assert curves["inside"][0] + curves["outside"][0] == pytest.approx(lengths / 2, rel=1e-9)
    assert np.isnan(result["flow_half_step"][1:]).all()
    adam = study.predict(dataclasses.replace(DECAYED, optimizer="adam"), SEEN, Seed(0, 0))
    assert np.isnan(adam["flow_loss"]).all()


SWEPT = {  # studies of the thread: some parameters, and an axis that is none of the study's
    "rank-one": ({"dimension": 10, "init_scale": 1.0, "steps": 200}, "learning_rate", (0.02, 0.04)),
    "s-curves": ({"dimension": 12, "rank": 2, "optimizer": "sgd"}, "init_scale", (1.0, 0.3)),
    "bumps": ({"dimension": 12, "rank": 2, "init_scale": 0.1}, "aligned_at", (0.25, 0.4)),
    "optimizers": ({"dimension": 20, "init_scale": 1.0}, "weight_decay", (0.01, 0.3)),
}
SHORT = {
    "s-curves": {"steps": 40},
    "bumps": {"relative_rate": 1.0, "steps": 100},
    "optimizers": {"optimizer": ("sgd", "adamw"), "learning_rate": 0.02, "steps": 200},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEPT)
def test_every_value_of_a_foreign_axis_is_judged_alone(name, tmp_path):
    fixed, axis, values = SWEPT[name]
    options = {"seeds": 3, "workers": 0, "quiet": True, **fixed, **SHORT.get(name, {})}
    together, alone = (
        foretrain.run(name, out=tmp_path / folder, **options, **{axis: arguments}).claims
        for folder, arguments in (("together", values), ("alone", values[0]))
    )
    assert len({claim.label for claim in together}) == len(together)
    same = [claim for claim in together if claim.cell[axis] == values[0]]
    for result, claim in zip(same, alone, strict=True):
        assert (result.id, result.cell) == (claim.id, {**claim.cell, axis: values[0]})
        # The same runs in lanes of another width: rounding, which a plateau near its threshold could feel but does not.
        np.testing.assert_allclose(result.measured, claim.measured, rtol=1e-3, atol=1e-6)
        assert result.seeds == claim.seeds
