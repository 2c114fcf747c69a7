import dataclasses

import jax
import numpy as np
import pytest
import xarray as xr
from made_phases import AXES, made

import foretrain
from foretrain.figures.drawings import drawings as drawn_figures
from foretrain.networks import embedding as network
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.grokking_phases import figures, reading, rivals, study, theory
from foretrain.training import embedding as toy
from foretrain.training.embedding_start import shapes

KEPT = {"hidden_width": 12, "target_dim": 5, "precision": "float64"}


@pytest.mark.slow
def test_the_decoder_alone_is_the_toy_model_with_embeddings_that_do_not_move(tmp_path):
    p = study.Parameters(**KEPT, accuracy_threshold=0.4)
    for objective in ("regression", "classification"):
        one = dataclasses.replace(p, objective=objective, decoder_decay=0.5)
        given = toy.inputs(one, Seed(0, 0))
        line = np.linspace(-1, 1, 10)[:, None]
        predicted = theory.decoder_time(one, given, line) / theory.RATE
        np.savez(tmp_path / "line.npz", embedding=line)
        data = foretrain.run(
            "grokking-phases",
            **KEPT,
            objective=objective,
            decoder_decay=0.5,
            stop="never",
            decoder_learning_rate=theory.RATE,
            embedding_learning_rate=0.0,
            start_file=str(tmp_path / "line.npz"),
            steps=int(predicted) + 20,
            observe_every=1,
            seeds=1,
            workers=0,
            out=tmp_path / objective,
            quiet=True,
        ).simulation.isel(seed=0)
        levels = np.minimum(data["train_accuracy"], data["validation_accuracy"]).values
        assert 0 < predicted == np.flatnonzero(levels >= 0.4)[0]


def test_predicted_times_go_as_one_over_their_rates():
    p = study.Parameters(**KEPT, accuracy_threshold=0.5)
    whole = theory.predict(p, np.arange(2), Seed(0, 1))
    faster = dataclasses.replace(p, embedding_learning_rate=2e-3, decoder_learning_rate=4e-4)
    quick = theory.predict(faster, np.arange(2), Seed(0, 1))
    assert np.isfinite(list(whole.values())).all()
    ratios = {name: whole[name] / quick[name] for name in ("rqi_step", "adam_step", "decoder_step")}
    assert ratios == pytest.approx({"rqi_step": 2, "adam_step": 2, "decoder_step": 4})
    assert whole["validation_step"] == whole["rqi_step"] + whole["decoder_step"]
    still = dataclasses.replace(p, embedding_learning_rate=0.0)
    assert theory.predict(still, np.arange(2), Seed(0, 1))["validation_step"] == np.inf


def test_a_set_without_the_only_samples_of_two_labels_does_not_tell_enough():
    task = toy.operation(study.Parameters())
    for missing, told in (((), True), ((0,), True), ((0, 18), False)):
        # 45 of 55 samples, without those of the labels that have one sample only.
        free = [n for n in range(55) if task.labels[n] not in (0, 1, 17, 18)]
        alone = [n for n in range(55) if task.labels[n] in missing]
        out = alone + free[:: len(free) // (10 - len(alone))][: 10 - len(alone)]
        training = ~np.isin(np.arange(55), out)
        ideal = theory_of(task, training)
        data = xr.Dataset({"ideal_accuracy": ((), ideal)})
        assert bool(reading.tells_enough(study.Parameters(), data)) is told


def theory_of(task, training):
    """Accuracy of the ideal model."""
    from foretrain.theory import parallelograms

    return parallelograms.predicted_accuracy(task, training, parallelograms.ideal(task, training))


def test_causes_boundary_and_probabilities_of_a_made_up_map():
    grid = made().along(*AXES)
    why = reading.causes(grid.parameters, grid.simulation)
    failed = reading.board(grid.simulation, "phase") >= 2
    assert ((why >= 0) == failed).all()
    assert (why[..., -2:][failed[..., -2:]] == 0).all()
    good = grid.simulation["rqi"].values[..., :-2, 0] == 1
    assert ((why[..., :-2] == 2) == (failed[..., :-2] & good)).all()
    assert {1, 2} <= set(why[..., :-2].ravel())
    # Neighbouring ratios are .75 decades apart: the boundary is known to half of that.
    told = reading.predicted_boundary(grid, "rqi_step")[:-2]
    assert (np.abs(reading.measured_boundary(grid)[:-2] - told) <= 0.375).all()
    share = reading.probabilities(grid.simulation)
    assert share.sum(-1) == pytest.approx(1)
    assert reading.entropy(np.eye(4)) == pytest.approx(0)
    assert reading.entropy(np.full(4, 0.25)) == 2


def test_a_row_of_a_map_has_its_boundary_too_and_a_line_is_drawn_where_times_are_equal():
    told = reading.predicted_boundary(made().along(*AXES), "rqi_step")
    judged = 0
    for row in made().cells(keep=reading.RATES[:1]):
        row = row.along(*AXES)
        assert reading.has_boundary(row)
        known = ~np.isnan(found := reading.measured_boundary(row))[:-2]
        assert (np.abs(found - told)[:-2][known] <= 0.375).all()
        judged += known.sum()
    assert judged >= 16  # at the lowest and highest rates all runs end alike
    assert not reading.has_boundary(next(made().cells()).along(*AXES))
    gap = reading.head_start(made().along(*AXES), "rqi_step")
    ratio = reading.log_ratio(made().along(*AXES))
    np.testing.assert_allclose(ratio[..., None] - gap, np.broadcast_to(told, gap.shape), atol=0.01)


def test_a_boundary_is_drawn_for_each_seed_that_has_one_inside_the_map():
    drawn = {}
    for name, grid in (("inside", made()), ("outside", made(flow=1e-6))):
        axes = drawn_figures(catalogue.load("grokking-phases"), grid)["phases"].figure.axes[0]
        lines = [
            line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata())
        ]
        drawn[name] = len(lines)
    assert drawn == {"inside": 8, "outside": 0}
    gap = np.array([[1.0, 2, 3], [-1, 1, np.inf], [-3, -1, np.inf]])
    np.testing.assert_allclose(figures.crossings(gap), [0.5, 1.5, np.nan])


def test_a_map_tells_how_well_its_seeds_know_a_phase_and_the_median_step_to_each_threshold():
    drawn = drawn_figures(catalogue.load("grokking-phases"), made())["phases"]
    assert "10 seeds, a phase that none is in has a probability of at most 0.31" in drawn.caption
    assert "5 are in of 0.19 to 0.81" in drawn.caption
    data = made().along(*AXES).simulation
    words = [text.get_text().split("\n") for text in drawn.figure.axes[1].texts]
    names = "train_step", "rqi_step", "validation_step"
    for place, found in zip(np.ndindex(5, 5), words, strict=True):
        for name, word in zip(names, found, strict=True):
            steps = data[name].transpose(*AXES, "seed").fillna(np.inf).values[place]
            told = np.inf if word == "–" else float(word.replace(",", ""))
            assert (steps <= told + 1).mean() >= 0.5 >= (steps < told - 1).mean()


def test_the_tangent_kernel_is_made_of_the_gradients_of_outputs(x64):
    p = toy.Toy(symbols=4, training_size=7, hidden_width=5, target_dim=3, precision="float64")
    inputs = toy.inputs(p, Seed(0, 3))
    names = [name for name in shapes(p, toy.operation(p)) if name != "targets"]
    counts = toy.shared(p)["left"] + toy.shared(p)["right"]

    def outputs(weights):
        decoder = network.Decoder(*(weights[name] for name in names[1:]))
        return network.decode(decoder, counts @ weights["embedding"])

    slopes = jax.jacobian(outputs)({name: inputs[name] for name in names})
    flat = np.concatenate([np.reshape(part, (10, 3, -1)) for part in slopes.values()], axis=2)
    expected = np.einsum("akw,bkw->ab", flat, flat) / 3
    np.testing.assert_allclose(rivals.tangent_kernel(p, inputs), expected, rtol=1e-10)
    # Centred alignment does not see what all samples share, nor the unit.
    found = rivals.kernel_alignment(p, inputs)
    assert -1 <= found <= 1
    moved = {**inputs, "targets": 3 * inputs["targets"] + 5}
    assert rivals.kernel_alignment(p, moved) == pytest.approx(found)
    assert rivals.of_start(p, {**inputs, "embedding": np.arange(4.0)[:, None]})["start_rqi"] == 1


def test_what_other_seeds_foretell():
    groups = np.zeros((1, 1), int)
    found = np.array([[[0, 0, 0, 1]]])
    known = np.ones(found.shape, bool)
    assert reading.foretold(groups, found, known).tolist() == [1, 1, 1, 0]
    tied = np.array([[[0, 1, 0]]])  # of the others of the first seed one says 1 and one says 0
    assert reading.foretold(groups, tied, known[..., :3]).tolist() == [0.5, 0, 0.5]


@pytest.mark.slow
def test_other_knobs_are_axes_of_the_same_study(tmp_path):
    axes = {"objective": ["regression", "classification"], "decoder_decay": [0.0, 1.0]}
    result = foretrain.run(
        "grokking-phases",
        **KEPT,
        **axes,
        **{name: 1e-3 for name in AXES},
        steps=40,
        observe_every=20,
        seeds=2,
        workers=0,
        out=tmp_path / "a",
        quiet=True,
    )
    assert result.simulation["phase"].sizes == {"objective": 2, "decoder_decay": 2, "seed": 2}
    assert (tmp_path / "a" / "figures" / "phases.png").exists()
