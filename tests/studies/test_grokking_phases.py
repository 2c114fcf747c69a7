import dataclasses

import numpy as np
import pytest
import xarray as xr
from made_up import check, grid

import foretrain
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.grokking_phases import claims, figures, study
from foretrain.theory.grokking import parallelograms
from foretrain.training import embedding as toy

STUDY = catalogue.load("grokking-phases")
AXES = {name: STUDY.axes[name] for name in ("decoder_learning_rate", "embedding_learning_rate")}
SEEDS = 10
EFFECTIVE, DECODER = 1.3, 0.9  # rate times steps


def build(
    *,
    phases="times",
    shift=0.0,
    slower=1.0,
    inverted=False,
    rqi=None,
    untold_learn=False,
    flow=1.0,
    lambda_3=3.0,
    over="embedding_learning_rate",
):
    """Representation and decoder take what theory says, one after the other; a run that fits first memorises.

    `phases`: What the end depends on: "times", "ratio" or "embedding" only, or "seed"; `shift`: Of the boundary, in
    decades; `slower`: Factor of the step of validation; `inverted`: Cells that should be sooner are later; `rqi`: Of
    all runs; None follows from the phase; `untold_learn`: Training sets that do not tell enough generalise, too;
    `flow`: Predicted time of the representation, relative to the real one; `lambda_3`: Stored rate; None is that
    which tells the step of validation exactly; `over`: The parameter that the second axis is said to be.
    """
    random = np.random.default_rng(0)
    d, e = map(np.array, AXES.values())
    d, e = d[:, None, None], e[None, :, None]
    whole = np.ones((5, 5, SEEDS))
    spread = 1 + 0.1 * np.linspace(-1, 1, SEEDS)[random.permutation(SEEDS)]
    representation, decoder = EFFECTIVE * spread / e * whole, DECODER * spread / d * whole
    total = representation + decoder
    message = np.arange(SEEDS) < SEEDS - 2
    learns = (np.log10(representation / decoder) < shift) & (total < 20_000 * 2)
    fits = decoder < 20_000
    if phases == "embedding":
        learns = (e > 1e-3) & (whole > 0)
    delayed = total - decoder >= 1000
    if phases == "ratio":
        ratio = np.log10(e / d * whole)
        fits, learns, delayed = whole > 0, ratio > 0.2, ratio < 1.6
    phase = np.where(fits, np.where(learns, delayed.astype(int), 2), 3)
    if phases == "seed":
        phase = random.integers(0, 4, phase.shape)
    if not untold_learn and phases == "times":
        phase = np.where(~message & (phase < 2), 2, phase)
    good = (phase < 2) | ((phase == 3) & (representation < 20_000))
    step = slower * total
    if inverted:
        step = 1e7 / total
    step = np.where(phase < 2, step, np.nan)
    simulation = {
        "phase": phase,
        "validation_step": step,
        "train_step": np.where(phase < 3, decoder, np.nan),
        "rqi_step": np.where(good, representation, np.nan),
        "rqi": (np.where(good, 1.0, 0.3) if rqi is None else rqi * whole)[..., None],
        "ideal_accuracy": (45 + 10 * np.where(message, 1.0, 0.7)) / 55 * whole,
        "lambda_3": 1 / (e * total) if lambda_3 is None else lambda_3 * whole,
    }
    theory = {
        "rqi_step": flow * representation,
        "decoder_step": decoder,
        "validation_step": flow * representation + decoder,
    }
    networks = {"": simulation, "theory": theory}
    axes = dict(zip((next(iter(AXES)), over), AXES.values(), strict=True))
    return grid(STUDY.Parameters(), axes, SEEDS, networks, step=np.array([0]))


DECAYS = {"over": "decoder_decay"}
KEPT = {"hidden_width": 12, "target_dim": 5, "precision": "float64"}


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
        "four-phases": DECAYS | {"phases": "ratio"},
        "outcome": DECAYS | {"phases": "seed"},
        "share": DECAYS | {"shift": 3.0},
    }
    exceptions = {id: {"phases": "ratio"} for id in ("one-seed", "one-dimensional")}
    exceptions |= dict.fromkeys(("four-phases", "outcome", "share"), DECAYS)
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
    data = foretrain.run("grokking-phases", **options, out=tmp_path / "a").simulation.isel(seed=0)
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
    assert bool(study.tells_enough(Cell(Grid(p, simulation=data)))) is enough


def test_causes_and_boundary_of_a_made_up_map():
    c = Cell(build().along(*AXES))
    why, failed = claims.causes(c).values, (c.phase >= 2).values
    assert ((why >= 0) == failed).all()
    assert (why[..., -2:][failed[..., -2:]] == 0).all()
    assert ((why[..., :-2] == 2) == (failed[..., :-2] & (c.rqi.values[..., :-2, 0] == 1))).all()
    assert {1, 2} <= set(why[..., :-2].ravel())
    # Neighbouring ratios are .75 decades apart: the boundary is known to half of that.
    predicted = (claims.log_ratio(c)[0, 0] - claims.head_start(c).values[0, 0])[:-2]
    assert (np.abs(claims.measured_boundary(c)[:-2] - predicted) <= 0.375).all()
    ratio = claims.log_ratio(c)[..., None] - claims.head_start(c).values
    np.testing.assert_allclose(ratio[..., :-2], np.broadcast_to(predicted, (5, 5, 8)), atol=0.01)
    boundary = next(claim for claim in claims.CLAIMS if claim.quantity is claims.boundary_gap)
    assert not boundary.where(Cell(next(build().cells()).along(*AXES)))


@pytest.mark.slow
def test_a_boundary_is_drawn_for_each_seed_that_has_one_inside_the_map():
    lines = {}
    for name, whole in (("inside", build()), ("outside", build(flow=1e-6))):
        picture = drawings(STUDY, whole)["phases"]
        drawn = [line for line in picture.figure.axes[0].lines if len(line.get_xdata())]
        lines[name] = sum(line.get_linestyle() == "--" for line in drawn)
    assert lines == {"inside": 8, "outside": 0}
    assert "none of 10 seeds is in has a probability of at most 0.31" in picture.caption
    gap = np.array([[1.0, 2, 3], [-1, 1, np.inf], [-3, -1, np.inf]])
    np.testing.assert_allclose(figures.crossings(gap), [0.5, 1.5, np.nan])


def test_a_map_over_another_axis_than_both_rates_is_drawn_with_its_boundaries():
    assert "a line for each seed" in drawings(STUDY, build(**DECAYS))["phases"].caption


# In the second case of the others of the first seed one says 1 and one says 0.
@pytest.mark.parametrize(
    ("ends", "shares"), [([0, 0, 0, 1], [1, 1, 1, 0]), ([0, 1, 0], [0.5, 0, 0.5])]
)
def test_runs_agree_with_most_other_seeds_of_their_group(ends, shares):
    assert claims.agreement(np.zeros((1, 1), int), np.array([[ends]])).tolist() == shares
