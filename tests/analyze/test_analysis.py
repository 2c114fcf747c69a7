"""One planted network whose whole analysis is known, and what `analyze` must refuse or doubt."""

import itertools
import pickle
import time
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from foretrain.analyze.analysis import analyze
from foretrain.analyze.analysis_figures import chains
from foretrain.analyze.analysis_words import differences, tables
from foretrain.analyze.parts import kept
from foretrain.degeneracy.counts.unit_costs import slope_shift
from foretrain.degeneracy.function import as_function
from foretrain.degeneracy.interactions.wiring import wired
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.sampled.effective_parameters import SampledParameters
from foretrain.errors import ArgumentError

RANDOM = np.random.default_rng(0)
DRAWN = RANDOM.standard_normal((64, 4))
# Centred, with a mean square of one in every direction.
X = 8 * np.linalg.qr(DRAWN - DRAWN.mean(0))[0]
SHIFTED = X + np.array([1.0, -0.5, 0.3, 2.0])
OUTER, INNER = np.array([2.0, 1.5, 1.0, 0.5]), np.array([1.8, 1.2, 0.9, 0.6])
EPS = 0.01
LOGS = np.log(OUTER * INNER / EPS**0.5)  # of the weight of a mode's edges


def planted():
    """Two linear layers 4 - 6 - 4 with biases, singular vectors of each on the axes of four of the six hidden units."""
    left, right = (np.linalg.qr(RANDOM.standard_normal((4, 4)))[0] for _ in "ab")
    first = np.vstack([INNER[:, None] * right, np.zeros((2, 4))])
    second = np.hstack([left * OUTER, np.zeros((4, 2))])
    turn = np.linalg.qr(RANDOM.standard_normal((6, 6)))[0]
    biases = [RANDOM.standard_normal(6), RANDOM.standard_normal(4)]
    return perceptron([turn @ first, second @ turn.T], biases, "identity")


PLANTED = planted()


def known_costs(network, x):
    """Of the 20 directions in which a linear map of (x, 1) to four outputs moves, descending.

    A change moves the map by dW_2 (W_1, b_1) + W_2 (dW_1, db_1) + (0, db_2), and outputs by that times (x, 1).
    """
    (inner, outer), last = network.params, np.eye(5)[-1]
    rows = np.column_stack([x, np.ones(len(x))])
    read = np.column_stack([inner["weight"], inner["bias"]])
    moved = np.kron(outer["weight"] @ outer["weight"].T, np.eye(5))
    moved += np.kron(np.eye(4), read.T @ read + np.outer(last, last))
    return np.sort(np.linalg.eigvals(moved @ np.kron(np.eye(4), rows.T @ rows / len(x))).real)[::-1]


@pytest.fixture(scope="module")
def result():
    return analyze(PLANTED, SHIFTED, EPS, seconds=0)


def check_costs(result):
    """Effective parameters and costs above every scale, in numbers, on the page, and in the dataset."""
    costs = known_costs(PLANTED, SHIFTED)
    numbers = {eps: (costs / (costs + eps)).sum() for eps in (10 * EPS, EPS, 0.1 * EPS)}
    for eps, number in numbers.items():
        assert result.costs.effective(eps)[0] == pytest.approx(number)
        assert result.costs.above(eps)[0] == (costs > eps).sum() == 20
    assert dict_of(result)["Effective parameters"] == [
        (f"{eps:.3g}", f"{number:.3g}", "20", "not sampled") for eps, number in numbers.items()
    ]
    drawn = result.dataset()
    assert drawn.by_curvature.sel(noise_scale=EPS, method="nearest") == pytest.approx(numbers[EPS])
    assert drawn.cost.values[:20] == pytest.approx(costs)
    assert result.plot().axes[0].get_xlabel() == "Noise scale ε (squared error)"


def dict_of(result):
    return {table.heading: table.rows for table in tables(result)}


def check_counts(result):
    """Of 58 weights 20 matter.

    Two hidden units too many: what both read is free, 2 x 5, and what reads them, 2 x 4; within the other four, and their
    constant, any change of basis, 4 x 5. At the scale the same, as all costs are far above it.
    """
    assert dict_of(result)["The network"] == [
        ("parameters", "58"),
        ("layers", "4 - 6 - 4"),
        ("examples x outputs", "256"),
        ("loss", "squared error"),
        ("noise scale", "0.01, as given"),
        ("free directions", "38"),
        ("of these not attributed", "0"),
    ]
    item, two = result.exact.sections.values()
    assert (item.activations, item.jacobians, two.activations, two.jacobians) == (0, 10, 8, 0)
    assert sum(part.synchronized + part.conditional for part in (item, two)) == 20
    assert dict_of(result)["Free directions at the scale, by section and source: an estimate"] == [
        ("1", "30", "0", "10", "20", "0"),
        ("2", "28", "8", "0", "0", "0"),
    ]
    assert dict_of(result)["Synchronised blocks"] == [("1", "6", "0, 1, 2, 3, 4, 5", "5")]


def check_wiring(result):
    """Each mode is a chain of two edges, both the square of its strength from end to end; nothing joins two modes."""
    for part in result.wiring.graph.strengths:
        assert part == pytest.approx(np.diag((OUTER * INNER) ** 2), abs=1e-9)
    rest = [("in none", "0", "0", "0"), ("all directions kept", "4", "4", "4")]
    heading = "Modules of the interaction graph, directions of each layer"
    assert dict_of(result)[heading] == [(str(k), "1", "1", "1") for k in (1, 2, 3, 4)] + rest
    # Modularity 1 - g sum_a v_a^2, v_a the share of module a, and of rewired graphs: the same edges on other chains.
    g = result.wiring.modules.resolution

    def modularity(order):
        return 1 - g * ((LOGS + LOGS[list(order)]) ** 2).sum() / (2 * LOGS.sum()) ** 2

    possible = np.array([modularity(order) for order in permutations(range(4))])
    assert result.wiring.modules.modularity == pytest.approx(modularity(range(4)))
    assert (abs(result.wiring.chance[:, None] - possible).min(1) < 1e-9).all()
    mean, most = result.wiring.chance.mean(), result.wiring.chance.max()
    assert dict_of(result)["How modular it is"] == [
        ("cut between modules, sum of ln(w/eps^(1/2))", "0"),
        (f"modularity at resolution {g:.3g}", f"{modularity(range(4)):.4g}"),
        ("of 10 rewired graphs", f"{mean:.4g}, at most {most:.4g}"),
        ("parts without an edge between them, at any scale", "4"),
    ]


def test_every_line_of_the_page_says_what_is_known(result):
    check_costs(result)
    check_counts(result)
    check_wiring(result)
    # A fifth module cuts a chain: the cut is that edge's logarithm, once.
    parted, _ = wired(PLANTED, SHIFTED, EPS, number=5)
    labels = parted.modules.by_layer(parted.graph.sizes)
    (mode,) = {k for part in pairwise(labels) for k in range(4) if part[0][k] != part[1][k]}
    assert parted.modules.cut == pytest.approx(LOGS[mode])
    assert set(dict_of(result)) == {
        "The network",
        "Effective parameters",
        "Free directions at the scale, by section and source: an estimate",
        "Synchronised blocks",
        "Modules of the interaction graph, directions of each layer",
        "How modular it is",
    }
    why = "each direction has one edge to a layer at most, which leaves rewiring no freedom"
    assert result.doubts == [f"Modules: {why}."]
    assert len(differences(result)) == 1
    lines = [" ".join(line.split()) for line in str(result).splitlines()]
    for table in tables(result):  # all of it stands in the text
        rows = (table.head, *table.rows)
        assert {" ".join(" ".join(row).split()) for row in rows} - {""} <= set(lines)
    first = "Of 58 parameters 19.9 are not free at the noise scale 0.01 (as given), by curvature."
    assert lines[0] == first == repr(result).splitlines()[1].strip()
    assert all(table.heading in result._repr_html_() for table in tables(result))
    numbers = result.as_dict()
    assert numbers["effective_parameters"]["by_curvature"][1] == pytest.approx(19.9, abs=0.05)
    assert numbers["free_directions"]["exact"]["all"] == 38
    assert numbers["doubts"] == result.doubts


def test_the_scale_comes_from_the_data_where_none_is_given():
    network, n = planted(), len(X)
    result = analyze(network, X, y=RANDOM.integers(0, 4, n), seconds=0)
    assert (result.loss, result.eps) == ("kl", 1 / (2 * n))
    outputs = as_function(network).outputs(X)
    result = analyze(network, X, y=outputs + 0.3, seconds=0)
    assert result.loss == "mse"
    assert result.eps == pytest.approx(0.09 / n)
    result = analyze(network, X, seconds=0)
    assert result.eps == pytest.approx(1e-4 * outputs.var(0).sum())


def test_labels_that_do_not_fit_are_refused():
    network = planted()
    for y, says in (
        (np.full(64, 4), "classes from 0 to 3"),
        (np.zeros((64, 3)), "the shape"),
        (np.zeros(9, int), "one for each example"),
    ):
        with pytest.raises(ArgumentError, match=says):
            analyze(network, X, y=y, seconds=0)


@pytest.mark.parametrize("labelled", [False, True])
def test_sampling_says_what_curvature_says_where_the_loss_is_quadratic(labelled):
    """Three linear weights: beta, prior, data and scales of the chains are those of the costs, with labels, too."""
    weights, x = np.array([[1.5, -0.5, 0.1]]), X[:, :3] * [1.0, 0.3, 0.05]
    y = x @ weights.T + RANDOM.standard_normal((64, 1)) if labelled else None
    if labelled:  # the best weights for these labels, so that the loss has its minimum there
        weights = np.linalg.lstsq(x, y, rcond=None)[0].T
    result = analyze(perceptron([weights], None, "identity"), x, EPS, y=y, gradients=400_000)
    for eps, value, error in zip(
        result.sampled.eps, result.sampled.value, result.sampled.error, strict=True
    ):
        assert abs(value - result.costs.effective(eps)[0]) < 4 * error < 0.6
    assert result.sampled.trusted.all()
    assert all(" ± " in row[-1] for row in dict_of(result)["Effective parameters"])
    assert sum("sampling and curvature agree" in line for line in differences(result)) == 3


def test_weights_that_are_no_minimum_of_the_loss_are_not_trusted():
    """Of a linear network the slope at the weights moves the number by what its closed form says."""
    x, eps = X[:, :3] * [1.0, 0.3, 0.05], EPS
    y = x @ np.array([[1.0, 2.0, 3.0]]).T
    weights = np.array([[1.2, 1.8, 3.0]])
    network = perceptron([weights], None, "identity")
    function = as_function(network)
    slope = (2 * (x @ weights.T - y).T @ x / len(x))[0]
    costs = (x**2).mean(0)
    centre = -slope / 2 / (costs + eps)
    moved = slope_shift(function.apply, function.params, x, y, "mse", eps)
    assert moved == pytest.approx((slope @ centre + centre**2 @ costs) / eps, rel=1e-3)
    result = analyze(network, x, EPS, y=y, gradients=400_000)
    assert not result.sampled.trusted.any()
    assert all("no minimum of this loss" in lines[-1] for lines in result.sampled.doubts)


def test_the_picture_has_every_chain_at_each_scale_that_was_sampled():
    traces = RANDOM.standard_normal((3, 8, 64))
    traces[1] = np.nan  # not sampled
    eps, lines = np.array([0.1, 0.01, 0.001]), [[]] * 3
    sampled = SampledParameters(eps, 0 * eps, 0 * eps, lines, [None] * 3, traces, 1)
    axes = chains(sampled).figure.axes
    assert [ax.get_title() for ax in axes] == ["ε = 0.1", "ε = 0.001"]
    labels = {tuple(line.get_ydata()): line.get_label() for line in axes[1].lines}
    begun = ["chains from the weights"] * 2 + ["chains from outside"] * 6  # a quarter begins at w*
    assert labels == dict(zip(map(tuple, traces[2]), begun, strict=True))


def test_a_difference_of_the_witnesses_is_said(result):
    eps, value, error = EPS * np.array([10, 1, 0.1]), np.full(3, 9.0), np.full(3, 0.1)
    built_result = SampledParameters(
        eps, value, error, [[""], [], [""]], [None] * 3, np.zeros((3, 8, 4)), 1
    )
    (line,) = [
        item for item in differences(replace(result, sampled=built_result)) if "sampling" in item
    ]
    assert line.startswith("At 0.01 sampling finds 9 where curvature says 19.9: ")
    assert "flatter" in line
    doubted = replace(built_result, doubts=[["9 effective draws"]] * 3)
    assert "sampling" not in " ".join(differences(replace(result, sampled=doubted)))
    assert "not trusted: see Trust" in str(replace(result, sampled=doubted))
    few = replace(result, answers=16)
    assert any("The 16 answers are the limit" in line for line in differences(few))


def test_neither_load_nor_clock_changes_a_digit(monkeypatch):
    """Seconds choose gradients by the operations of one, whatever the clocks say while they are taken."""
    outcome = []
    for jump in (0.0, 50.0):
        clock = itertools.count(0, jump)
        monkeypatch.setattr(time, "process_time", lambda clock=clock: float(next(clock)))
        monkeypatch.setattr(time, "perf_counter", lambda clock=clock: float(next(clock)))
        outcome.append(analyze(perceptron([np.eye(2)], None, "tanh"), X[:, :2], EPS, seconds=0.5))
    item, other = (analysis.sampled for analysis in outcome)
    np.testing.assert_array_equal(item.value, other.value)
    assert (item.gradients, item.doubts) == (other.gradients, other.doubts)


def test_finished_parts_are_found_again_and_those_of_another_question_are_not(
    tmp_path, monkeypatch
):
    parts, known = tmp_path / "folder" / "parts", []
    whole = analyze(PLANTED, SHIFTED, EPS, seconds=0, parts=parts, keep=known.append)
    assert [analysis.wiring is None for analysis in known] == [True, True, False]
    assert known[0].exact is None
    assert "not sampled" in str(known[0])  # what is known can be printed

    def absent(*arguments, **options):
        raise RuntimeError

    for part in ("unit_costs.costs_of", "_counted", "wired"):
        monkeypatch.setattr(f"foretrain.analyze.analysis.{part}", absent)
    again = analyze(PLANTED, SHIFTED, EPS, seconds=0, parts=parts)
    assert tables(again) == tables(whole)
    assert again.doubts == whole.doubts
    for other in ({"noise_scale": 2 * EPS}, {"seed": 1}):
        with pytest.raises(RuntimeError):
            analyze(PLANTED, SHIFTED, **{"noise_scale": EPS, "seconds": 0, "parts": parts, **other})


def test_a_file_of_parts_calls_nothing(tmp_path):
    class Hostile:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "called",))

    path = tmp_path / "parts"
    for name in (b"", b"no pickle", pickle.dumps({"curvature": Hostile()})):
        path.write_bytes(name)
        assert kept(path, "curvature", (), lambda: 3) == 3
    assert kept(path, "curvature", (), lambda: 4) == 3
    assert not (tmp_path / "called").exists()
