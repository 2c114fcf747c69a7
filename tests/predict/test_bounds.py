"""Numbers at the edge and files made by anyone: every one ends in a prediction or in one line."""

import io
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predict.routes import deep, of, routes

from foretrain.cli import main
from foretrain.errors import ArgumentError, ForetrainError
from foretrain.graph import enumerate_paths, graph_from_dict, read_graph
from foretrain.tasks.gated_data import GatedData, load_gated_data
from foretrain.tasks.logic import xor
from foretrain.theory.gated.reduction import ReductionError

TOML = """
[nodes]
x = 2
h1 = 8
y = 1
[edges]
in1 = ["x", "h1"]
out1 = ["h1", "y"]
"""
ARRAYS = {"x.x": np.eye(2), "y.y": np.ones((2, 1)), "gate.h1": np.ones(2)}


def stored(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.toml").write_text(TOML)
    (tmp_path / "data.npz").write_bytes(stored(**ARRAYS))
    return tmp_path


def one_line(capsys, *arguments) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["predict", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert len(captured.err) < 400
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--init-scale 1e100", "`--init-scale` must be between"),
        ("--init-scale 1e-300", "`--init-scale` must be between"),
        ("--init-scale 1e400", "`--init-scale` must be finite"),
        ("--until 1e-300", "`--times` must end between"),
        ("--until 1.7e308", "`--times` must end between"),
        ("--times 0 1e300", "`--times` must end between"),
    ],
)
def test_options_that_no_integration_can_follow_end_in_one_line(files, capsys, option, message):
    assert message in one_line(capsys, "graph.toml", "data.npz", *option.split())


@pytest.mark.parametrize("data", [xor(2), deep(), routes([[1, 1], [1, -1]])])
@pytest.mark.parametrize("end", [0, 1])
def test_at_the_ends_of_the_range_of_starts_a_prediction_is_finite(data, end):
    with pytest.raises(ArgumentError, match="must be between") as caught:
        of(data, init_scale=1e-200)
    words = str(caught.value).split()
    low, high = float(words[words.index("between") + 1]), float(words[words.index("and") + 1])
    prediction = of(data, init_scale=(1.01 * low, 0.99 * high)[end])
    assert np.isfinite(prediction.history).all()
    assert prediction.final_loss < prediction.initial_loss
    assert min(prediction.loss) >= 0


@pytest.mark.slow
@given(
    st.sampled_from([xor(1), deep()]),
    st.floats(-12, 12),
    st.floats(-55, 55),
    st.floats(-55, 55),
    st.one_of(st.none(), st.floats(-20, 20)),
)
@settings(max_examples=60)
def test_in_any_units_a_prediction_is_finite_or_refused(data, start, inputs, targets, until):
    units = 10.0**inputs, 10.0**targets
    natural = (units[1] / units[0]) ** (
        1 / max(len(path.edges) for path in enumerate_paths(data.graph))
    )
    times = None if until is None else np.linspace(0, 10.0**until, 5)
    try:
        x = {name: array * units[0] for name, array in data.inputs.items()}
        y = {name: array * units[1] for name, array in data.targets.items()}
        scaled = GatedData(data.graph, x, y, data.gates)
        prediction = of(scaled, init_scale=10.0**start * natural, times=times)
    except (ArgumentError, ReductionError) as error:
        prediction = str(error)
    if isinstance(prediction, str):
        assert "\n" not in prediction
        return
    assert np.isfinite(prediction.loss).all()
    assert 0 <= prediction.final_loss <= prediction.initial_loss
    assert prediction.smallest_curvature <= 0
    assert prediction.stable


@pytest.mark.parametrize("size", [1e-160, 1e-80, 1e51, 1e154, 1e300])
@pytest.mark.parametrize("name", ["x.x", "y.y", "gate.h1"])
def test_data_whose_squares_leave_the_range_of_float64_are_refused(files, capsys, name, size):
    (files / "data.npz").write_bytes(stored(**{**ARRAYS, name: ARRAYS[name] * size}))
    error = one_line(capsys, "graph.toml", "data.npz")
    assert ("must" in error) or ("No path carries a signal" in error and size < 1)


@pytest.mark.parametrize(
    "text",
    [
        "[nodes]\nx = 1" + "0" * 5000,
        "[nodes]\nx = 1" + "0" * 300 + "\ny = 1\n[edges]\ne = ['x', 'y']",
        "a = " + "[" * 5000,
        "a = " + "{a = " * 5000,
        ".".join("a" * 500_000) + " = 1",
        "[" + ".".join("a" * 500_000) + "]",
        "#" * 2_000_000,
        "[nodes]\nx = '" + "%" * 500_000 + "'\n[edges]",
        "[nodes]\n'" + "%" * 500_000 + "' = 1\n[edges]",
        "[nodes]\nx = 1\n[edges]\ne = ['x', '" + "z" * 500_000 + "']",
        "[nodes]\nx = 1\n[edges]\ne = [[1], {a = 2}]",
        "[nodes]\nx = {a = 1}\n[edges]",
        "\r" * 100,
        "\0",
    ],
    ids=lambda text: text[:20],
)
def test_graph_files_that_are_too_much_end_in_one_line(files, capsys, text):
    (files / "graph.toml").write_text(text, newline="")
    one_line(capsys, "graph.toml", "data.npz")


def test_paths_without_number_are_counted_in_one_line(files, capsys):
    steps = 12_000  # two edges each: 2^12000 paths, a number of 3,613 digits
    lines = ["[nodes]", *(f"n{k} = 1" for k in range(steps + 1)), "[edges]"]
    lines += [f"{side}{k} = ['n{k}', 'n{k + 1}']" for k in range(steps) for side in "ab"]
    (files / "graph.toml").write_text("\n".join(lines))
    data = stored(**{"x.n0": np.ones((1, 1)), f"y.n{steps}": np.ones((1, 1))})
    (files / "data.npz").write_bytes(data)
    assert "the graph has about 10^3612 paths" in one_line(capsys, "graph.toml", "data.npz")


def damaged(draw, content: bytes) -> bytes:
    """Some bytes replaced, cut out or put in."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        content[at : at + draw(st.integers(0, 8))] = draw(st.binary(max_size=8))
    return bytes(content)


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_graph_is_a_graph_or_one_line(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "graph.toml"
    file.write_bytes(damaged(data.draw, TOML.encode()))
    try:
        shown = read_graph(file).inputs
    except ForetrainError as error:
        shown = str(error)
    assert "\n" not in shown


@given(st.data())
@settings(max_examples=60)
def test_damaged_data_take_no_more_memory_than_their_file(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "data.npz"
    graph = graph_from_dict(
        {"nodes": {"x": 2, "h1": 8, "y": 1}, "edges": {"a": ["x", "h1"], "b": ["h1", "y"]}}
    )
    file.write_bytes(damaged(data.draw, stored(**ARRAYS)))
    tracemalloc.start()
    try:
        shown = list(load_gated_data(file, graph).inputs)
    except ForetrainError as error:
        shown = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert "\n" not in shown
    assert (
        peak < 2_000_000
    )  # the file has two thousand bytes; the rest is what Python's modules take
