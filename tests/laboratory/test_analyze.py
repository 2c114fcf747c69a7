import numpy as np
import pytest

from foretrain.cli import main
from foretrain.degeneracy.analysis import analyze, variance_between
from foretrain.degeneracy.network import perceptron
from foretrain.errors import ArgumentError

RANDOM = np.random.default_rng(0)
WEIGHTS = [RANDOM.standard_normal((5, 3)), RANDOM.standard_normal((2, 5))]
WEIGHTS[0][4] = 2 * WEIGHTS[0][3]  # two neurons on one line
X = RANDOM.standard_normal((60, 3))


@pytest.fixture
def folder(tmp_path):
    for number, by in enumerate((0.0, 0.1)):
        arrays = {f"{at}.weight": w + by for at, w in enumerate(WEIGHTS)}
        np.savez(tmp_path / f"m{number}.npz", **arrays)
    np.save(tmp_path / "x.npy", X)
    return tmp_path


def test_a_model_is_analysed_told_and_shown(folder, capsys):
    words = [str(folder / "m0.npz"), str(folder / "m1.npz"), "--data", str(folder / "x.npy")]
    words += ["--noise-scale", "seeds", "--draws", "0", "--quiet", "--out", str(folder / "out")]
    assert main(["analyze", *words]) == 0
    said = capsys.readouterr().out
    for text in ("variance between 2 models", "3 - 5 - 2", "Synchronised blocks", "modularity"):
        assert text in said
    page = (folder / "out" / "analysis.html").read_text("utf-8")
    assert "data:image/svg+xml" in page
    assert "Trust" in page


def test_its_parts_share_a_scale_and_doubts_are_told():
    network = perceptron(WEIGHTS)
    found = analyze(network, X, 1e-12, draws=0)
    # Two neurons on one line are one: 3 free by their scales, 1 by dependence, and how they share what they do.
    assert found.exact.free == found.freedom.free > 5
    assert found.exact.effective == found.parameters - found.exact.free
    assert not [line for line in found.doubts if line.startswith("Counts")]
    coarse = analyze(network, X, draws=0)
    assert coarse.source == "a hundredth of the outputs' deviation, squared"
    assert coarse.freedom.free >= found.freedom.free
    few = analyze(network, X[:4], 1e-3, draws=0)
    assert few.exact is None
    assert "4 examples are fewer than the 6" in few.doubts[0]


def test_a_sampled_curve_is_that_of_the_network():
    network = perceptron([np.array([[1.5]])], None, "identity")
    found = analyze(network, X[:, :1], 1e-3, draws=300, chains=4).curve
    assert (np.abs(found.effective_parameters - 1) < 0.5).all()


def test_the_variance_between_models_is_unbiased_and_needs_several():
    networks = [perceptron([np.array([[w]])], None, "identity") for w in (1.0, 2.0, 4.0)]
    x = np.array([[1.0], [3.0]])
    assert variance_between(networks, x) == pytest.approx(np.var([1, 2, 4], ddof=1) * 5)
    with pytest.raises(ArgumentError, match="several models"):
        variance_between(networks[:1], x)


def test_what_does_not_fit_is_one_line(folder, capsys):
    words = [str(folder / "m0.npz"), str(folder / "m1.npz"), "--data", str(folder / "x.npy")]
    assert main(["analyze", *words, "--draws", "0", "--quiet"]) == 2
    assert "unless the noise scale is `seeds`" in capsys.readouterr().err
    assert main(["analyze", words[0], "--data", str(folder / "none.npy")]) == 2
    assert main(["analyze", words[0], "--data", words[3], "--noise-scale", "small"]) == 2
    np.save(folder / "wide.npy", np.zeros((9, 4)))
    assert main(["analyze", words[0], "--data", str(folder / "wide.npy"), "--quiet"]) == 2
    assert "columns" in capsys.readouterr().err
