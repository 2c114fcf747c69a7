import dataclasses

import numpy as np
import pytest
import xarray as xr
from made_phases import AXES, STUDY, build
from made_up import check

import foretrain
from foretrain.figures.drawings import drawings
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.grokking_phases import claims, figures, study
from foretrain.theory.grokking import parallelograms
from foretrain.training import embedding as toy

KEPT = {"hidden_width": 12, "target_dim": 5, "precision": "float64"}


def laid(**changed):
    return Cell(build(**changed).along(*AXES))


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "one-dimensional": {},
        "one-dimensional.corrected": {"phases": "embedding"},
        "one-seed": {"phases": "seed"},
        "boundary": {"shift": -1.5},
        "both-causes": {"rqi": 1.0},
        "memorization-is-of-representation": {"rqi": 1.0},
        "data-bound": {"untold_learn": True},
        "delay-ratio": {"slower": 3.0},
        "delay-order": {"inverted": True},
        "better-than-rate": {"lambda_3": None},
        "decoder-counts": {"lambda_3": None},
    }
    exceptions = {id: {"phases": "ratio"} for id in ("one-seed", "one-dimensional")}
    check("grokking-phases", build, spoilt, exceptions)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["regression", "classification"])
def test_the_decoder_alone_is_the_toy_model_with_embeddings_that_do_not_move(objective, tmp_path):
    changed = {**KEPT, "objective": objective, "decoder_decay": 0.5}
    p = study.Parameters(**changed, accuracy_threshold=0.4)
    line = np.linspace(-1, 1, 10)[:, None]
    predicted = study.decoder_time(p, toy.inputs(p, Seed(0, 0)), line) / study.RATE
    np.savez(tmp_path / "line.npz", embedding=line)
    rates = {"decoder_learning_rate": study.RATE, "embedding_learning_rate": 0.0, "stop": "never"}
    options = {"start_file": str(tmp_path / "line.npz"), "steps": int(predicted) + 20, "seeds": 1}
    options |= changed | rates | {"observe_every": 1, "workers": 0, "quiet": True}
    result = foretrain.run("grokking-phases", **options, out=tmp_path / "a")
    data = result.simulation.isel(seed=0)
    levels = np.minimum(data["train_accuracy"], data["validation_accuracy"]).values
    assert 0 < predicted == np.flatnonzero(levels >= 0.4)[0]


def test_predicted_times_go_as_one_over_their_rates():
    p = study.Parameters(**KEPT, accuracy_threshold=0.5)
    whole = study.predict(p, np.arange(2), Seed(0, 1))
    faster = dataclasses.replace(p, embedding_learning_rate=2e-3, decoder_learning_rate=4e-4)
    quick = study.predict(faster, np.arange(2), Seed(0, 1))
    assert np.isfinite(list(whole.values())).all()
    ratios = {name: whole[name] / quick[name] for name in ("rqi_step", "decoder_step")}
    assert ratios == pytest.approx({"rqi_step": 2, "decoder_step": 4})
    assert whole["validation_step"] == whole["rqi_step"] + whole["decoder_step"]


@pytest.mark.parametrize(("missing", "enough"), [((), True), ((0,), True), ((0, 18), False)])
def test_a_set_without_the_only_samples_of_two_labels_does_not_tell_enough(missing, enough):
    p = study.Parameters()
    task = toy.operation(p)
    # 45 of 55 samples, without those of the labels that have one sample only.
    free = [n for n in range(55) if task.labels[n] not in (0, 1, 17, 18)]
    alone = [n for n in range(55) if task.labels[n] in missing]
    out = alone + free[:: len(free) // (10 - len(alone))][: 10 - len(alone)]
    training = ~np.isin(np.arange(55), out)
    ideal = parallelograms.predicted_accuracy(task, training, parallelograms.ideal(task, training))
    data = xr.Dataset({"ideal_accuracy": ((), ideal)})
    assert bool(claims.tells_enough(Cell(Grid(p, simulation=data)))) is enough


def test_causes_and_boundary_of_a_made_up_map():
    c = laid()
    why, failed = claims.causes(c).values, (c.phase >= 2).values
    assert ((why >= 0) == failed).all()
    assert (why[..., -2:][failed[..., -2:]] == 0).all()
    good = c.rqi.values[..., :-2, 0] == 1
    assert ((why[..., :-2] == 2) == (failed[..., :-2] & good)).all()
    assert {1, 2} <= set(why[..., :-2].ravel())
    # Neighbouring ratios are .75 decades apart: the boundary is known to half of that.
    predicted = claims.predicted_boundary(c)[:-2]
    assert (np.abs(claims.measured_boundary(c)[:-2] - predicted) <= 0.375).all()
    gap = claims.head_start(c).values
    ratio = claims.log_ratio(c)[..., None] - gap
    np.testing.assert_allclose(ratio[..., :-2], np.broadcast_to(predicted, (5, 5, 8)), atol=0.01)
    assert not claims.has_boundary(Cell(next(build().cells()).along(*AXES)))


@pytest.mark.slow
def test_a_boundary_is_drawn_for_each_seed_that_has_one_inside_the_map():
    lines = {}
    for name, grid in (("inside", build()), ("outside", build(flow=1e-6))):
        picture = drawings(STUDY, grid)["phases"]
        drawn = [line for line in picture.figure.axes[0].lines if len(line.get_xdata())]
        lines[name] = sum(line.get_linestyle() == "--" for line in drawn)
    assert lines == {"inside": 8, "outside": 0}
    assert "10 seeds, a phase that none is in has a probability of at most 0.31" in picture.caption
    gap = np.array([[1.0, 2, 3], [-1, 1, np.inf], [-3, -1, np.inf]])
    np.testing.assert_allclose(figures.crossings(gap), [0.5, 1.5, np.nan])


def test_a_map_over_another_axis_than_both_rates_is_drawn_with_its_boundaries():
    grid, other = build(), {"embedding_learning_rate": "decoder_decay"}
    axes = {other.get(name, name): values for name, values in AXES.items()}
    data = {name: getattr(grid, name).rename(other) for name in ("simulation", "theory")}
    picture = drawings(STUDY, dataclasses.replace(grid, axes=axes, **data))["phases"]
    assert "a line for each seed" in picture.caption


# In the second case of the others of the first seed one says 1 and one says 0.
@pytest.mark.parametrize(
    ("ends", "shares"), [([0, 0, 0, 1], [1, 1, 1, 0]), ([0, 1, 0], [0.5, 0, 0.5])]
)
def test_runs_agree_with_most_other_seeds_of_their_group(ends, shares):
    assert claims.agreement(np.zeros((1, 1), int), np.array([[ends]])).tolist() == shares
