import json
import math

import numpy as np
import pytest
from legible import troubles
from predict.routes import deep, of

import foretrain
from foretrain.cli import main
from foretrain.errors import ArgumentError
from foretrain.networks import gated
from foretrain.predict.files import read_candidates
from foretrain.predict.predict import predict, rank
from foretrain.predict.prediction_figures import draw_graph
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.gatings import pathways_data
from foretrain.tasks.logic import contextual, pathways_graph, xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import exact_flow, reduced_dynamics
from foretrain.theory.gated.deep_linear import mode_strength
from foretrain.theory.gated.reduction import ReductionError

TOML = """
[nodes]
x = 2
h1 = 8
h2 = 8
y = 1
[edges]
in1 = ["x", "h1"]
out1 = ["h1", "y"]
in2 = ["x", "h2"]
out2 = ["h2", "y"]
"""

RACE = {
    "nodes": {"x": 3, "shared": 3, "own1": 3, "own2": 3, "y1": 3, "y2": 3},
    "edges": {
        "x-shared": ["x", "shared"],
        "shared-y1": ["shared", "y1"],
        "shared-y2": ["shared", "y2"],
        "x-own1": ["x", "own1"],
        "own1-y1": ["own1", "y1"],
        "x-own2": ["x", "own2"],
        "own2-y2": ["own2", "y2"],
    },
}


def candidates(**named):
    return {name: (data.graph, data) for name, data in named.items()}


def race():
    y = np.diag([3.0, 2.0, 1.0])
    return GatedData(foretrain.graph.graph_from_dict(RACE), {"x": np.eye(3)}, {"y1": y, "y2": y})


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A graph, two gatings of exclusive-or on it, and another task."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.toml").write_text(TOML)
    (tmp_path / "relu.toml").write_text(f'activation = "relu"\n{TOML}')
    data = xor(1)
    x, y = data.inputs["x"], data.targets["y"]
    half = (x[:, 0] > 0).astype(float)
    arrays = {"x.x": x, "y.y": y}
    np.savez("halves.npz", **arrays, **{"gate.h1": half, "gate.h2": 1 - half})
    np.savez("open.npz", **arrays)
    np.savez("double.npz", **{"x.x": x, "y.y": 2 * y})
    noise = np.random.default_rng(0).standard_normal((20, 2))
    np.savez("noisy.npz", **{"x.x": noise, "y.y": noise[:, :1]})
    return tmp_path


@pytest.mark.parametrize("init_scale", [1e-4, 0.01, 0.3])
def test_exclusive_or_is_predicted_as_in_closed_form(init_scale):
    s, d = np.sqrt(2) / 4, 0.5
    prediction = of(xor(2), init_scale=init_scale)
    half = np.log((s / d) / init_scale**2 - 1) / (2 * s)
    assert len(prediction.modes) == 4
    for mode in prediction.modes:
        # Read off points 0.7% apart by linear interpolation; that errs by its square over eight, times rate x time.
        assert mode.half_learning_time == pytest.approx(half, rel=1e-4)
        assert mode.singular_value == pytest.approx(s)
        assert mode.outcome == "learned"
    a = mode_strength(init_scale**2, prediction.times, np.array([s]), input_variances=d)[:, 0]
    np.testing.assert_allclose(prediction.loss, 0.5 - np.sqrt(2) * a + a**2, atol=1e-8)
    assert prediction.exact
    assert prediction.final_loss == pytest.approx(0, abs=1e-9)
    assert prediction.loss[-1] < 0.01 * prediction.initial_loss


def descent_from(data, prediction, rate):
    """Return the losses of the network itself, trained from the strengths of a prediction, at its times."""
    statistics, reduction = gather_statistics(data), prediction.reduction
    frames = reduced_dynamics.hidden_frames(reduction, np.random.default_rng(0))
    state = reduced_dynamics.decoupled_start(prediction.edge_strengths, reduction)
    weights = reduced_dynamics.decoupled_weights(state, frames, reduction)
    for _ in prediction.times:
        products = gated.bundle_products(statistics, weights)
        yield exact_flow.loss(products, exact_flow.outputs(statistics))
        slope = gated.statistics_gradient(statistics, weights)
        weights = {name: weight - rate * slope[name] for name, weight in weights.items()}


@pytest.mark.parametrize("imbalance", [0.5, -0.5, None])
def test_an_unequal_start_is_predicted_as_a_network_from_it_is_trained(imbalance):
    rate, chain = 0.002, {"init_scale": "1=0.5,2=1e-6,3=0.2,4=0.3"}
    starts = [
        {"init_scale": 0.1, "init_imbalance": each} for each in (imbalance, 0, -(imbalance or 0))
    ]
    data, starts = (race(), starts) if imbalance else (deep(), [chain, {"init_scale": 0.1}])
    own, *others = [of(data, times=rate * np.arange(5000), **start) for start in starts]
    trained = np.array([*descent_from(data, own, rate)])
    # Descent is Euler's scheme of the flow: off by the first power of the step.
    assert np.abs(trained - own.loss).max() < 5 * rate * own.initial_loss
    for other in others:
        assert np.abs(trained - other.loss).max() > 0.1 * own.initial_loss


def test_shared_routes_win_the_race_and_the_more_the_smaller_the_start():
    shares = {}
    for scale in (0.1, 1e-2, 1e-3):
        first = {mode.path: mode for mode in of(race(), init_scale=scale).modes if mode.mode == 1}
        assert len(first) == 4
        shared, own = first["x-shared>shared-y1"], first["x-own1>own1-y1"]
        assert shared.share + own.share == pytest.approx(1, abs=1e-6)
        shares[scale] = shared.share
    assert 0.5 < shares[0.1] < shares[1e-2] < shares[1e-3]
    assert shared.outcome == "wins"
    assert own.outcome == "loses"


def test_gatings_are_ranked_by_the_time_to_a_common_loss():
    per_context, always_on = contextual(2), contextual(2, gating="always_on")
    ranking = rank(candidates(always=always_on, context=per_context))
    # The single pathway is the faster one, but to a loss that is not half way to what can be learned.
    assert of(always_on).learning_time < of(per_context).learning_time
    assert [each.label for each in ranking.predictions] == ["context", "always"]
    assert ranking.target_loss == pytest.approx(1 / 12, rel=1e-3)
    assert math.isinf(ranking.learning_times[1])
    assert ranking.learning_times[0] == pytest.approx(of(per_context).time_to(ranking.target_loss))


def test_samples_have_no_reduction_and_an_approximate_one_when_asked():
    data = contextual(2, gating="always_on", samples=200, generator=np.random.default_rng(0))
    with pytest.raises(ReductionError, match=r"off-diagonal mass is 0\.0\d+, above the tolerance"):
        of(data, init_law="decoupled")
    prediction = of(data, approximate=True)
    assert 1e-3 < prediction.residual < 0.1
    assert not prediction.exact
    assert f"Residual {prediction.residual:.3g}" in str(prediction)
    with pytest.raises(ReductionError, match=r"Candidate `sampled`: The statistics cannot"):
        rank(candidates(sampled=data), init_law="decoupled")


def test_nothing_to_learn_is_said_and_ranked_last():
    points = xor(1)
    nothing = pathways_data(points.inputs["x"], points.targets["y"], np.ones((1, 4)))
    prediction = of(nothing)
    assert prediction.modes == ()
    np.testing.assert_allclose(prediction.loss, 0.5)
    assert "Nothing to learn" in str(prediction)
    ranking = rank(candidates(nothing=nothing, single=points))
    assert [each.label for each in ranking.predictions] == ["single", "nothing"]
    assert "never" in str(ranking)


def test_deep_paths_are_followed_until_they_are_learned():
    scale = 0.01
    # dB/dt = S B^3 from B = scale escapes after 1 / (2 S scale^2), to a few parts in a hundred of that.
    for mode in of(deep(weak=0.02), init_scale=scale).modes:
        escape = 1 / (2 * mode.singular_value * scale**2)
        assert mode.half_learning_time == pytest.approx(escape, rel=0.1)


def test_options_and_data_that_do_not_fit_are_refused():
    data = xor(1)
    with pytest.raises(ArgumentError, match="`data` must be made for `graph`"):
        predict(pathways_graph(1, 1), data)
    with pytest.raises(ArgumentError, match="`init_imbalance` must be 0 beside strengths of singl"):
        of(deep(), init_imbalance=1)
    with pytest.raises(ArgumentError, match="`candidates` must hold at least one candidate"):
        rank({})


def test_the_command_prints_who_wins_when_and_how_far_to_trust(files, capsys):
    assert main("predict graph.toml halves.npz --until 20 --init-scale 0.001".split()) == 0
    printed = capsys.readouterr().out
    assert "halves.npz: 2 trained paths in 2 independent groups" in printed
    assert "Residual 0: the reduction is exact for decoupled starts." in printed
    assert printed.count(f"{np.log(1e6 - 1) / (2 * 0.5):.4g}") >= 2
    assert "learned" in printed
    assert [line.split()[0] for line in printed.splitlines() if line.startswith("  20")] == ["20"]


def test_the_command_ranks_several_and_writes_what_it_found(files, capsys):
    assert main("predict graph.toml open.npz halves.npz --times 0 5 --out found".split()) == 0
    printed = capsys.readouterr().out.splitlines()
    table = printed[printed.index("Candidates") + 2 :]
    assert table[0].split()[:2] == ["1", "halves.npz"]
    assert table[1].split()[:3] == ["2", "open.npz", "never"]
    stored = json.loads((files / "found" / "prediction.json").read_text())
    assert [each["label"] for each in stored["candidates"]] == ["halves.npz", "open.npz"]
    assert stored["learning_times"][1] is None
    assert stored["candidates"][0]["times"] == [0, 5]
    assert (files / "found" / "ranking.svg").stat().st_size > 1000


def test_a_written_prediction_is_what_was_printed(files):
    prediction = foretrain.predict("graph.toml", "halves.npz", times=np.linspace(0, 10, 3))
    written = prediction.answer().write(files / "one")
    assert [path.name for path in written] == [
        "prediction.json",
        "prediction.svg",
        "graph.svg",
        "prediction.html",
    ]
    page = written[-1].read_text()
    assert page.count("<img ") == 2
    for words in ("S: how strongly", "D: how strongly", "S / D"):
        assert page.count(words) == 1
    stored = json.loads(written[0].read_text())
    assert stored["loss"] == prediction.loss.tolist()
    assert stored["modes"][0]["half_learning_time"] == prediction.modes[0].half_learning_time


def test_the_graph_is_drawn_with_what_its_edges_come_to():
    prediction = of(race(), init_scale=1e-3)
    drawing = draw_graph(prediction)
    assert troubles(drawing.figure) == []
    (ax,) = drawing.figure.axes
    texts = [text.get_text() for text in ax.texts]
    assert {"x", "shared", "y1", "y2"} <= {*texts}
    assert {edge.name for edge in prediction.reduction.graph.edges} <= {*texts}
    shown = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert shown == ["on a path that learns", "on a path that loses, or is not learned"]
    drawn = [line for line in ax.get_lines() if len(line.get_xdata()) > 1]
    colours = [line.get_color() for line in drawn]
    assert (len(colours), len({*colours})) == (len(prediction.reduction.graph.edges), 2)


def test_a_data_file_may_stand_under_two_graphs(files):
    (files / "wide.toml").write_text(TOML.replace("= 8", "= 16"))
    prediction = read_candidates(
        ["graph.toml", "halves.npz", "wide.toml", "halves.npz", "open.npz"]
    )
    assert list(prediction) == ["graph.toml halves.npz", "wide.toml halves.npz", "open.npz"]
    assert prediction["wide.toml halves.npz"][0].width["h1"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("halves.npz", "`files` must begin with a graph, a TOML file, but begins with"),
        ("model.py halves.npz", "`model.py`. A network of your own is read by `foretrain explain"),
        ("relu.toml halves.npz", "has `activation`. Gated networks are linear but for their gates"),
        ("graph.toml", "`files` must hold at least one data file for every graph"),
        ("graph.toml halves.npz graph2.toml", "but `graph2.toml` has none"),
        ("graph.toml halves.npz halves.npz", "`files` must be distinct"),
        ("graph.toml none.npz", "`none.npz` does not exist"),
        ("none.toml halves.npz", "`graph` must name a TOML file"),
        ("graph.toml graph.npz", "`graph.npz` does not exist"),
        ("--times 1 two", "`--times` must be a number, but is 'two'"),
        ("--times 2 1", "`--times` must ascend"),
        ("--until -1", "`--until` must be greater than 0"),
        ("--until 1 --times 1", "`--until` must be given without `times`"),
        ("--init-scale 0", "`--init-scale` must be greater than 0"),
        ("graph.toml noisy.npz --init-imbalance 1", "off-diagonal mass is"),
        ("--init-imbalance 1 --init-law normal", "must be decoupled where"),
        ("--init-imbalance 1 --train", "Leave out `approximate`, `init_imb"),
        ("--init-scale in1=1,out1=1,in2=1", "`out2` is missing"),
        ("graph.toml halves.npz double.npz", "`candidates` must be gatings of one task"),
        ("graph.toml noisy.npz --init-law decoupled", "off-diagonal mass is"),
        ("--init-law norml", "Did you mean `normal`?"),
        ("--train --seeds 1", "`--seeds` must be between 2 and 1000"),
        ("--train --approximate", "`--init-law` must start from random weights"),
        ("--train --learning-rate 0", "`--learning-rate` must be greater than 0"),
        ("--out graph.toml", "Cannot write graph.toml"),
    ],
)
def test_bad_input_gets_one_line(files, capsys, arguments, message):
    pair = "graph.toml halves.npz" if arguments.startswith("--") else ""
    assert main(["predict", *pair.split(), *arguments.split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
