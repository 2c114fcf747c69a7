"""Curves from elsewhere: their files, and their distance from curves of a theory."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from legible import troubles
from scipy.special import stdtr

from foretrain.elsewhere.curves import Measured, read_measured
from foretrain.errors import ForetrainError
from foretrain.explain.curve_comparison import compare_curves, curve_comparison
from foretrain.explain.curve_comparison_words import sentences
from foretrain.figures.style import style

EXPORT = (
    '"Step","a - train_loss","a - train_loss__MIN","a - train_loss__MAX","b - train_loss","b - _step"\n'
    "0,1,0.9,1.1,2,0\n1,,,,4,1\n5,0.5,0.5,0.5,NaN,5\n"
)


def written(tmp_path, text, name="curves.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_an_export_of_weights_and_biases_holds_a_run_a_column(tmp_path):
    result = read_measured(written(tmp_path, EXPORT))
    assert (result.names, result.steps.tolist()) == (("a", "b"), [0, 5])
    assert result.losses.tolist() == [[1, 0.5], [2, np.inf]]


def test_runs_stand_in_one_column_in_several_files_and_in_parquet(tmp_path):
    long = written(tmp_path, "seed,iteration,loss\n0,0,1\n0,2,.5\n1,0,3\n1,2,.2\n")
    result = read_measured(long)
    assert (result.names, result.losses.tolist()) == (("0", "1"), [[1, 0.5], [3, 0.2]])
    other = written(tmp_path, "step,loss\n0,7\n2,8\n", "more.csv")
    assert read_measured(long, other).losses[:, 0].tolist() == [1, 3, 7]
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"step": [0, 1, 2], "loss": [1.0, None, 0.25]}).to_parquet(tmp_path / "a.parquet")
    assert read_measured(tmp_path / "a.parquet").steps.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("content", "columns", "words"),
    [
        ("step,loss,train_loss\n0,1,1\n1,2,1\n", {}, "given .* `loss`, `train_loss`. Try --loss-column loss or"),
        ("epoch,loss\n0.5,1\n1,1\n", {}, "name a column of steps, but `epoch` of .* counts epochs"),
        ("Wall time,Val\n0,1\n1,2\n", {}, 'Try --step-column "Wall time" or'),
        ("epoch,loss\n0.5,1\n1,1\n", {"step_column": "epoch"}, "whole numbers of steps, but .* has 0.5"),
        ("step,loss\n0,x\n1,1\n", {}, "column `loss` of `curves.csv` has `x`"),
        ("step,loss\n0,1\n0,1\n", {}, "must hold every step once"),
        ("step,loss,split\n0,1,train\n1,2,val\n", {}, "`split` of .* has train, val. Keep training rows"),
        ("step,loss\n0,1\n", {}, "at least two steps"),
        ("step,loss\n0,1\n1,1\n", {"loss_column": "los"}, "Did you mean `loss`|Try `loss`|`loss`"),
        ("", {}, "cannot be read"),
        ("step,loss\ninf,1\n1,1\n", {}, "whole numbers of steps, but .* has inf"),
        ("step,loss\n7,0,1\n8,1,1\n", {}, "a name for every column"),
        ("0,1\n1,1\n", {}, "the columns are `0`, `1`"),
    ],
)  # fmt: skip
def test_a_table_that_is_not_clear_is_refused_in_one_line(tmp_path, content, columns, words):
    with pytest.raises(ForetrainError, match=words):
        read_measured(written(tmp_path, content), **columns)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("foretrain.elsewhere.curves.find_spec", lambda name: None)
    with pytest.raises(ForetrainError, match="Parquet needs pyarrow"):
        read_measured(tmp_path / "a.parquet")


# Made by the tools: benchmarks/curve_files/make.py.
FILES = Path(__file__).parents[1] / "curve_files"
EXPECTED = tomllib.loads(FILES.with_suffix(".toml").read_text("utf-8"))


def test_files_as_tools_write_them_are_read_on_the_right_axis_or_asked_about(tmp_path):
    for name, axis in EXPECTED["read"].items():
        result = read_measured(FILES / name, epoch_steps=8)
        assert [result.axis, result.steps[-1], np.isfinite(result.losses).all()] == [*axis, True]
    for name, option in EXPECTED["asked"].items():
        with pytest.raises(ForetrainError, match=f"Try {option}"):
            read_measured(FILES / name, epoch_steps=8)
    assert {*EXPECTED["read"], *EXPECTED["asked"]} == {path.name for path in FILES.iterdir()}
    for steps, at in ((1, [0, 1, 2]), (3, [1, 4, 7]), (4, [2, 6, 10])):  # the middle of an epoch
        path = written(tmp_path, "epoch,loss\n0,3\n1,2\n2,1\n")
        assert read_measured(path, epoch_steps=steps).steps.tolist() == at
    calls = read_measured(FILES / "wandb_panel_calls.csv", step_column="train/global_step")
    assert calls.steps[-1] == 55
    first = FILES / "own.jsonl"  # to 55 in steps of 5, the other from 3 to 39 in steps of 4
    both = read_measured(first, FILES / "lightning.csv")
    assert both.steps.tolist() == [5, 10, 15, 20, 25, 30, 35]
    assert both.losses[0].tolist() == read_measured(first).losses[0, 1:8].tolist()


def measured(*curves):
    steps = np.arange(len(curves[0]))
    return Measured(tuple(map(str, range(len(curves)))), steps, np.array(curves, float), 0)


def test_the_distance_of_straight_curves_is_that_of_two_numbers():
    """Of 1: .15 and .3 off; s^2 = .005 and .02, so sqrt(.1125 / (.025 * 3/2)); in one direction it is Student's."""
    theory = np.array([[1.0, 0.7, 0.4], [1.0, 0.8, 0.6]])
    item = curve_comparison(measured([1, 0.9, 0.8]), np.arange(3), {"a": theory}).distances["a"]
    assert (item.miss, item.step) == (pytest.approx(0.3), 2)
    assert item.spreads == pytest.approx(np.sqrt(3))
    assert item.level == pytest.approx(2 * stdtr(1, -np.sqrt(3)))


def test_another_training_is_farther_than_starts_or_diverges_alone_and_negative_losses_are_none():
    near = np.c_[np.ones(6), 0.5 + 0.01 * np.arange(6)]
    wide = np.c_[np.ones(3), [0.1, 0.5, 0.9]]  # so far that no distance in spreads says it
    wild = np.vstack([wide, [1, np.inf]])
    same, other = "can be those of such starts: ", "those of another training than the one"
    for starts, last, words in (
        (near, 0.52, same), (near, 0.6, other), (wide, np.inf, other), (wild, np.inf, same)
    ):  # fmt: skip
        result = curve_comparison(measured([1, last]), np.arange(2), {"itself": starts}, "itself")
        assert any(words in line for line in sentences(result))
    with pytest.raises(ForetrainError, match="losses of at least 0"):
        curve_comparison(measured([1, -0.5]), np.arange(2), {"itself": wide})
    below = {"itself": wide - 0.95}
    assert curve_comparison(measured([1, -0.5]), np.arange(2), below).distances["itself"].miss > 0


@pytest.mark.parametrize("noise", [0, 0.02])
def test_further_starts_are_seldom_far_and_the_noise_of_minibatches_is_no_distance(noise):
    """Of 500 draws 5% have a level below .05, to three standard errors; a training that is faster has one mostly."""
    random, shapes = np.random.default_rng(0), 0.05 * np.triu(np.ones((40, 40)))[[0, 10, 20]]
    calls = np.zeros(2)
    for _ in range(500):
        starts = 0.5 + 0.05 * random.standard_normal((8, 3)) @ shapes
        own = starts[:2] + noise * random.standard_normal((2, 40))
        for place, runs in enumerate((own, own - 0.3)):
            both = curve_comparison(measured(*runs), np.arange(40), {"a": starts[2:]})
            calls[place] += both.distances["a"].level < 0.05
    assert calls[0] < 500 * 0.05 + 3 * np.sqrt(500 * 0.05 * 0.95)
    assert calls[1] > 250


def test_theories_between_their_steps_and_later_steps_are_as_they_are_said():
    at = np.array([0, 1, 7])  # log(1 + step): 0, 1, 3 in units of log 2
    theory = np.array([[1.0, 0.9, 0.5], [1.0, 0.9, 0.5]])
    far = Measured(("mine",), np.array([0, 3, 7, 9]), np.array([[1, 0.7, 0.5, 0.4]]), 0)
    result = curve_comparison(far, at, {"theory": theory})
    assert result.distances["theory"].miss == pytest.approx(0, abs=1e-12)
    assert result.later == 1
    assert "1 later" in sentences(result)[0]
    late = Measured(("mine",), np.array([8, 9]), np.ones((1, 2)), 0)
    with pytest.raises(ForetrainError, match="at least two steps up to 7"):
        curve_comparison(late, at, {"theory": theory})


def test_a_prediction_of_a_graph_is_compared_at_a_rate(tmp_path):
    (tmp_path / "prediction.json").write_text('{"times": [0, 0.1, 0.2], "loss": [1, 0.5, 0.25]}')
    curve = written(tmp_path, "step,loss\n0,1\n1,0.5\n2,0.25\n")
    result = compare_curves(curve, tmp_path, learning_rate=0.1)
    assert result.distances["the prediction"].miss == pytest.approx(0, abs=1e-12)
    assert "the prediction" in result.answer().text(60)
    with pytest.raises(ForetrainError, match="`learning_rate` must be that of the measured runs"):
        compare_curves(curve, tmp_path)
    at, odd = (
        '{"steps": [0, 1], "losses": ',
        ('{"a": "x"}}', '{"a": [[1], [1, 2]]}}', '{"a": [1]}}', "{}}"),
    )
    for text in ("[" * 200_000, '{"steps": "a", "losses": {"a": [1]}}', *(at + end for end in odd)):
        (tmp_path / "prediction.json").write_text(text)
        with pytest.raises(ForetrainError, match="cannot be read"):
            compare_curves(curve, tmp_path, learning_rate=0.1)


def test_the_figure_of_a_comparison_is_legible():
    theory = np.array([[1.0, 0.4, 0.4], [1.0, 0.6, 0.6]])
    runs = measured([1, 0.8, 0.8], [1, 0.7, 0.8])
    with style():
        assert troubles(curve_comparison(runs, np.arange(3), {"theory": theory}).plot()) == []
