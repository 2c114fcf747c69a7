"""Three moments of one network whose free directions are known by hand, and what is told of their changes."""

import numpy as np
import pytest
import scipy.linalg

from foretrain.analyze.trajectory import trajectory
from foretrain.analyze.trajectory_words import changes, changes_of, tables
from foretrain.degeneracy.function import as_function
from foretrain.degeneracy.network import perceptron
from foretrain.errors import ArgumentError

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((80, 3))
FIRST, SECOND = RANDOM.standard_normal((5, 3)), RANDOM.standard_normal((2, 5))


def changed(rows):
    """The network 3 - 5 - 2 of rectifiers, some rows of its first layer replaced."""
    first = FIRST.copy()
    for at, row in rows.items():
        first[at] = row
    return perceptron([first, SECOND])


MODELS = [changed({}), changed({4: 2 * FIRST[3]}), changed({0: 0 * FIRST[0]})]


@pytest.fixture(scope="module")
def result():
    return trajectory(MODELS, X, 1e-3, moments=[0, 10, 40])


def test_free_directions_over_training_are_those_known_by_source(result):
    """Five scales; then two neurons on one line, 2 + 5; then one that is never on, 2 weights that read it and 3 that write."""
    assert {name: values.tolist() for name, values in result.by_source().items()} == {
        "activations": [0, 2, 2],
        "Jacobians": [0, 0, 3],
        "synchronised": [5, 5, 4],
        "conditional": [0, 0, 0],
        "not attributed": [0, 0, 0],
        "all": [5, 7, 9],
    }
    assert result.block_counts()["synchronised blocks"].tolist() == [0, 1, 0]
    assert all(model.exact for model in result.counts)
    assert result.doubts == []


def test_every_change_of_a_count_is_told_with_its_moments(result):
    assert [line for line in changes(result) if not line.startswith(("N ", "The loss"))] == [
        "Free directions, activations: 0 to 2 between 0 and 10.",
        "Free directions, Jacobians: 0 to 3 between 10 and 40.",
        "Free directions, synchronised: 5 to 4 between 10 and 40.",
        "Free directions, all: 5 to 7 between 0 and 10; 7 to 9 between 10 and 40.",
        "Synchronised blocks: 0 to 1 between 0 and 10; 1 to 0 between 10 and 40.",
    ]
    values = np.array([3, 4, 9, 9, 8, 7])
    line = changes_of("Modules", values, np.arange(6))
    most = "most 4 to 9 between 1 and 2"
    assert line == f"Modules: 3 to 7 in 4 changes; first 3 to 4 between 0 and 1; {most}."
    assert changes_of("Modules", values[2:4], np.arange(2)) == "Modules: 9 at every moment."


def test_tables_pictures_and_the_dataset_hold_the_counts(result):
    _, table = tables(result)
    assert table.heading == "Free directions that change nothing at all, by source"
    assert tuple(table.head) == ("moment", *result.by_source(), *result.block_counts())
    assert table.rows[1] == ("10", "2", "0", "5", "0", "0", "7", "1")
    drawn = result.dataset()
    assert drawn.free_directions.sel(source="all").values.tolist() == [5, 7, 9]
    assert drawn.synchronised_blocks.values.tolist() == [0, 1, 0]
    assert drawn.exact.all()
    axes = result.plot().axes
    assert [ax.get_ylabel() for ax in axes] == [
        "Effective parameters", "Free directions", "Blocks, modules", "Loss",
    ]  # fmt: skip
    (whole,) = [line for line in axes[1].lines if line.get_label() == "free, all"]
    assert whole.get_ydata().tolist() == [5, 7, 9]
    assert "Free directions, all: 5 to 7" in str(result)


def test_a_part_has_its_own_free_directions_in_one_layer():
    """Of the second layer two weights are free for each neuron that is another's multiple, or never on."""
    result = trajectory([as_function(model).part("1") for model in MODELS], X, 1e-3)
    values = {name: each.tolist() for name, each in result.by_source().items() if each.any()}
    assert values == {"one layer": [0, 2, 2], "all": [0, 2, 2]}
    assert result.analyses[0].parameters == 10
    assert result.block_counts() == {}
    assert [ax.get_ylabel() for ax in result.plot().axes][1:] == ["Free directions", "Loss"]


def test_modules_are_counted_at_every_moment_where_asked():
    """Two networks side by side are joined by a layer that mixes both, and are apart later."""
    parts = [[RANDOM.standard_normal(size) for size in ((7, 4), (3, 7))] for _ in range(2)]
    first, second = (scipy.linalg.block_diag(*both) for both in zip(*parts, strict=True))
    model, other = RANDOM.standard_normal((2, 14, 4))
    x = np.hstack([np.repeat(model, 14, axis=0), np.tile(other, (14, 1))])
    joined = RANDOM.standard_normal(first.shape)
    models = [perceptron([joined, second]), perceptron([first, second])]
    result = trajectory(models, x, 1e-6, wiring=True)
    assert result.block_counts()["modules"][1] == 2
    assert [model.modular for model in result.wirings] == [False, True]
    assert any(line.startswith("Modules at 0 are those") for line in result.doubts)
    with pytest.raises(ArgumentError, match="have layers where modules are asked for"):
        trajectory([as_function(model).part("1") for model in MODELS], X, 1e-3, wiring=True)


def test_moments_of_different_networks_are_refused():
    other = perceptron([RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((2, 4))])
    for model in (other, perceptron([FIRST])):
        with pytest.raises(ArgumentError, match="have the same numbers of parameters and outputs"):
            trajectory([MODELS[0], model], X, 1e-3)
