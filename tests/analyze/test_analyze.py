import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest
import scipy.special
from sklearn.datasets import load_digits

import foretrain
from foretrain.analyze.analysis import analyze, outlook
from foretrain.analyze.analysis_words import tables
from foretrain.cli import main
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.function import as_function
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.noise_scale import variance_between
from foretrain.degeneracy.transformer import arrays, of_arrays, pairs
from foretrain.elsewhere.own_model import own_model
from foretrain.errors import ArgumentError
from foretrain.networks import transformer

RANDOM = np.random.default_rng(0)
WEIGHTS = [RANDOM.standard_normal((5, 3)), RANDOM.standard_normal((2, 5))]
WEIGHTS[0][4] = 2 * WEIGHTS[0][3]  # two neurons on one line
X = RANDOM.standard_normal((60, 3))


@pytest.fixture
def folder(tmp_path):
    for number in range(2):
        save(tmp_path / f"m{number}.npz", [w + 0.1 * number for w in WEIGHTS])
    np.save(tmp_path / "x.npy", X)
    return tmp_path


def save(path, weights):
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **{f"{at}.weight": weight for at, weight in enumerate(weights)})


def run(folder, models, *words, data="x.npy"):
    """Code of the command, of models and data in a folder, without samples and progress."""
    files = [str(folder / model) for model in models.split()]
    always = ["--data", str(folder / data), "--seconds", "0", "--quiet"]
    return main(["analyze", *files, *always, *map(str, words)])


def test_a_model_is_analysed_told_and_shown(folder, capsys):
    words = ["m0.npz m1.npz", "--noise-scale", "seeds", "--out", folder / "out"]
    assert run(folder, *words) == 0
    message = capsys.readouterr().out
    for text in ("variance between 2 models", "3 - 5 - 2", "Synchronised blocks", "not sampled"):
        assert text in message
    page = (folder / "out" / "analysis.html").read_text("utf-8")
    assert "data:image/svg+xml" in page
    assert "Trust" in page
    assert run(folder, *words, "--json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers == json.loads((folder / "out" / "analysis.json").read_text("utf-8"))
    assert numbers["parameters"] == 25


def stored(random, symbols=5, dim=3, hidden=4, outputs=5):
    """A transformer as a run that kept its state has it."""
    weights = transformer.draw(random, dim, hidden, 1, outputs)._asdict()
    weights = {name: w + 0.3 * random.standard_normal(np.shape(w)) for name, w in weights.items()}
    run = {f"state_decoder_{name}": w for name, w in weights.items()}
    return run | {"state_embedding": random.standard_normal((symbols, dim)), "loss": 0.0}


@pytest.mark.slow
def test_a_transformer_is_analysed_on_its_pairs(tmp_path, capsys):
    kept = arrays(stored(np.random.default_rng(1)))
    np.savez(tmp_path / "t.npz", **kept)
    symbols = np.indices((5, 5)).reshape(2, -1).T
    np.save(tmp_path / "x.npy", symbols)
    assert run(tmp_path, "t.npz", "--out", tmp_path / "out") == 0
    message = " ".join(capsys.readouterr().out.split())
    spectrum = jacobian_spectrum(of_arrays(kept), pairs(5))
    assert spectrum.exact
    free = spectrum.parameters - spectrum.rank
    for text in ("10 - 6 - 6 - 6 - 5", "queries and keys", f"free directions {free}"):
        assert text in message
    for data, says in ((symbols + 1, "whole numbers from 0 to 4"), (pairs(4), "10 columns")):
        np.save(tmp_path / "x.npy", data)
        assert run(tmp_path, "t.npz") == 2
        assert says in capsys.readouterr().err
    for change, says in (
        ({"outward": np.ones((1, 3, 4))}, "have shape (1, 3, 3)"),
        ({"extra": np.ones(2)}, "has `extra`"),
        ({"widen": np.ones((3, 4))}, "have 3 axes"),
    ):
        np.savez(tmp_path / "t.npz", **(kept | change))
        assert run(tmp_path, "t.npz") == 2
        assert says in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="has no `state_embedding`"):
        arrays({})
    with pytest.raises(ArgumentError, match="has no `bias`"):
        of_arrays({name: item for name, item in kept.items() if name != "bias"})


@pytest.mark.slow
def test_a_stored_run_of_the_study_is_read(tmp_path):
    small = {"symbols": 5, "embedding_dim": 3, "hidden_width": 4, "steps": 50, "compared": False}
    small |= {"decoder_learning_rate": 0.01, "decoder_decay": 1.0}
    small |= {"seeds": 1, "keep_state": "end", "out": tmp_path / "r", "quiet": True, "workers": 1}
    result = foretrain.run("modular-transformer", **small)
    assert of_arrays(arrays(result.simulation.isel(seed=0))).params[0]["embedding"].shape == (5, 3)


def test_its_parts_share_a_scale_and_doubts_are_told(monkeypatch):
    network = perceptron(WEIGHTS)
    lines = []
    result = analyze(network, X, 1e-12, seconds=0, tell=lines.append)
    assert [line.split(" ")[:2] for line in lines[:2]] == [["Time:", "about"], ["Memory:", "at"]]
    assert "take the curvature, " in lines[0]
    # Two neurons on one line are one: 3 free by their scales, 1 by dependence, and how they share what they do.
    assert result.exact.free == result.freedom.free > 5
    assert result.exact.effective == result.parameters - result.exact.free
    assert not [line for line in result.doubts if line.startswith("Counts")]
    coarse = analyze(network, X, seconds=0)
    assert coarse.source == "a hundredth of the outputs' deviation, squared"
    assert coarse.freedom.free >= result.freedom.free
    few = analyze(network, X[:4], 1e-3, seconds=0)
    assert few.exact.by_source() == {}
    assert "4 examples are fewer than the 6" in few.doubts[0]
    parts = {"count and wire": 0, "take the curvature": 1}
    assert parts.keys() <= outlook(lines.append, as_function(network), X).keys()
    monkeypatch.setattr("foretrain.analyze.analysis.outlook", lambda *_: parts)
    analyze(network, X[:4], 1e-3, seconds=0, tell=lines.append, keep=(seen := []).append)
    assert "The curvature is not known yet." in str(seen[0])
    assert seen[0].wiring is seen[-1].wiring is not None
    assert seen[-1].doubts == few.doubts


def test_a_pure_function_is_analysed_as_the_network_that_it_is():
    def apply(params, x):
        first, second = params
        return jax.nn.relu(x @ first.T) @ second.T

    by_function = foretrain.analyze(apply, WEIGHTS, X, noise_scale=1e-3, seconds=0)
    by_network = foretrain.analyze(perceptron(WEIGHTS), X, noise_scale=1e-3, seconds=0)
    numbers = [item.costs.effective(1e-3)[0] for item in (by_function, by_network)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)
    rows = ("free directions", "7"), ("of these not attributed", "0")
    assert tables(by_function)[0].rows[-2:] == [*rows]
    assert by_function.wiring is None
    assert sum(many for *_, many in by_function.exact.places) == 7
    part = foretrain.analyze(apply, WEIGHTS, X, noise_scale=1e-3, seconds=0, part="1")
    assert part.parameters == 10
    assert "Part: 1 alone: 10 of 25 parameters move." in part.doubts
    with pytest.raises(ArgumentError, match="followed by its parameters and data"):
        foretrain.analyze(apply, X)


def test_moments_of_training_are_read_in_the_order_of_their_numbers(folder, capsys):
    for step, by in ((100, 1.0), (9, 0.1), (20, 0.4)):
        save(folder / f"step-{step}.npz", [by * w for w in WEIGHTS])
    names = "step-100.npz step-20.npz step-9.npz"
    assert run(folder, names, "--wiring", "--out", folder / "out") == 0
    message = capsys.readouterr().out
    # A scale of all weights frees nothing.
    assert "Free directions, all: 7 at every moment." in message
    assert "Modules" in message
    table = message.partition("\nmoment")[2].splitlines()
    assert [line.split()[0] for line in table[1:4]] == ["9", "20", "100"]
    assert "N changes most between" in message
    models = [folder / name for name in names.split()]
    part = foretrain.analyze(models, folder / "x.npy", part="1")
    assert part.doubts[-1] == "Part: 1 alone: 10 of 25 parameters move."
    assert part.by_source()["all"].tolist() == [2, 2, 2]
    result = foretrain.analyze(models, folder / "x.npy", noise_scale=0.01)
    # A network of a larger scale has larger costs, so that more of it counts; the last is the one that all are held to.
    assert (np.diff(result.effective[0][:, 1]) > 0).all()
    assert result.distance[-1] == 0
    assert result.dataset().moment.values.tolist() == [9, 20, 100]
    assert "data:image/svg+xml" in (folder / "out" / "analysis.html").read_text("utf-8")


def test_labels_and_losses_over_training_are_held_to_the_same_rules(folder):
    """Targets are no logits, classes no targets; the spread of seeds is in the unit of the loss."""
    models, x = [folder / "m0.npz", folder / "m1.npz"], folder / "x.npy"
    classes, targets = RANDOM.integers(0, 2, len(X)), RANDOM.standard_normal((len(X), 2))
    for name, y in (("c", classes), ("column", classes[:, None]), ("t", targets)):
        np.save(folder / f"{name}.npy", y)
    for labels, loss in (("t", "kl"), ("c", "mse")):
        with pytest.raises(ArgumentError, match="for labels of this kind"):
            foretrain.analyze(models, x, folder / f"{labels}.npy", loss=loss)
    assert foretrain.analyze(models, x, modules=2).block_counts()["modules"].tolist() == [2, 2]
    with pytest.raises(ArgumentError, match="`outputs` must be those of the network"):
        foretrain.analyze(models, x, outputs=folder / "t.npy")
    np.savez(folder / "both.npz", x=X, y=classes)
    item, column = (
        foretrain.analyze(models, x, folder / f"{name}.npy") for name in ("c", "column")
    )
    for other in (column, foretrain.analyze(models, folder / "both.npz")):
        np.testing.assert_array_equal(item.distance, other.distance)
    assert any("assumed and not checked" in line for line in item.doubts)
    wide = foretrain.analyze(models, x, noise_scale=1e6)
    assert any("not below the variance" in line for line in wide.doubts)
    functions = [own_model(item, X).function(X) for item in models]
    p = [scipy.special.softmax(item.outputs(X), axis=1) for item in functions]
    mean = (p[0] + p[1]) / 2
    spread = sum((item * np.log(item / mean)).sum(1).mean() for item in p)
    assert variance_between(functions, X, "kl") == pytest.approx(spread)


@pytest.mark.parametrize(
    ("names", "moments"),
    [
        (("epoch=2-val_loss=0.90", "epoch=10-val_loss=0.25"), [2, 10]),
        (("run7-step-5", "run7-step-20"), [5, 20]),
        (("a/model", "b/model"), [0, 1]),
    ],
)
def test_a_moment_is_the_number_behind_its_word(tmp_path, names, moments):
    for name, by in zip(names, (1.0, 2.0), strict=True):
        save(tmp_path / f"{name}.npz", [by * w for w in WEIGHTS])
    np.save(tmp_path / "x.npy", X)
    result = foretrain.analyze([tmp_path / f"{name}.npz" for name in names], tmp_path / "x.npy")
    assert result.moments.tolist() == moments
    assert ("order given" in result.axis) == (moments == [0, 1])


def test_the_variance_between_models_is_unbiased_and_needs_several_that_differ():
    networks = [perceptron([np.array([[w]])], None, "identity") for w in (1.0, 2.0, 4.0)]
    x = np.array([[1.0], [3.0]])
    assert variance_between([as_function(item) for item in networks], x) == pytest.approx(
        np.var([1, 2, 4], ddof=1) * 5
    )
    for models, says in (([], "several models"), (networks[:1] * 2, "differ in their outputs")):
        with pytest.raises(ArgumentError, match=says):
            variance_between([as_function(model) for model in models], x)


def test_what_does_not_fit_is_one_line(folder, capsys):
    assert run(folder, "m0.npz", data="none.npy") == 2
    assert run(folder, "m0.npz", "--noise-scale", "small") == 2
    np.save(folder / "wide.npy", np.zeros((9, 4)))
    assert run(folder, "m0.npz", data="wide.npy") == 2
    assert "columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("weights", "x", "says"),
    [
        (WEIGHTS, np.ones((9, 3)), "answers all 9 alike"),
        (WEIGHTS, X[:1], "holds one"),
        (WEIGHTS, 1e200 * X, "squares are finite"),
        ([1e200 * w for w in WEIGHTS], X, "finite numbers"),
        ([0 * w for w in WEIGHTS], X, "alike"),
    ],
)
def test_outputs_that_say_nothing_are_refused_in_a_line(weights, x, says):
    for eps in (None, 1.0):
        with pytest.raises(ArgumentError, match=says) as caught:
            analyze(perceptron(weights), x, eps, seconds=0)
        assert "\n" not in str(caught.value)


def test_counts_are_those_of_the_jacobian_or_called_estimates(monkeypatch):
    """GELU has no gates in the strict sense: what is free is what the Jacobian leaves, and no more."""
    network = perceptron(WEIGHTS, None, "gelu")
    gelu = analyze(network, X, seconds=0)
    assert gelu.exact is not None
    assert gelu.exact.exact
    assert gelu.exact.effective == jacobian_spectrum(network, X).rank
    few = analyze(network, X[:6], seconds=0)
    assert few.exact is not None
    assert few.exact.effective <= 12  # six examples, two answers each
    whole = analyze(perceptron(WEIGHTS), X, seconds=0)
    assert not [line for line in whole.doubts if line.startswith("Counts:")]
    assert "nothing was sampled" in replace(whole, doubts=[]).answer().doubts[0]
    monkeypatch.setattr(
        "foretrain.degeneracy.counts.jacobian_spectrum.cost", lambda *_: {"gram": (1e9, 1)}
    )
    sources = analyze(perceptron(WEIGHTS), X, seconds=0)
    assert sources.exact is not None
    assert not sources.exact.exact
    assert any(f"at least {sources.exact.free} (estimate)" in line for line in sources.doubts)


def test_a_divergence_of_one_output_is_refused():
    """Softmax of one output is 1, whatever the network: the loss could not be anything but 0."""
    with pytest.raises(ArgumentError, match="`loss` must be `mse` where there is one output"):
        analyze(perceptron([WEIGHTS[0][:1]]), X, loss="kl", seconds=0)


@pytest.mark.parametrize(
    "wrong", [{"modules": 0}, {"points": 0}, {"seconds": -1}, {"gradients": -1}]
)
def test_arguments_are_refused_before_any_work(wrong, monkeypatch):
    monkeypatch.delattr("foretrain.analyze.analysis.as_function")  # the first that is asked
    with pytest.raises(ArgumentError, match=f"`{next(iter(wrong))}` must be"):
        analyze(perceptron(WEIGHTS), X, **wrong)


def test_scales_that_say_nothing_are_doubted():
    network = perceptron(WEIGHTS)
    variance = variance_between(
        [as_function(item) for item in (network, perceptron([0 * w for w in WEIGHTS]))], X
    )
    for eps, says in ((100 * variance, "not below the variance"), (1e-40, "rounding")):
        assert says in analyze(network, X, eps, seconds=0).doubts[0]
    assert not any(line.startswith("Noise") for line in analyze(network, X, 1e-3, seconds=0).doubts)


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(folder, capsys):
    (folder / "file").write_text("")
    for out in (folder / "file", folder / "file" / "deeper"):
        assert run(folder, "none.npz", "--out", out) == 2
        assert "Cannot write" in capsys.readouterr().err
    assert run(folder, "none.npz", "--out", folder / "new" / "deeper") == 2  # now of the model
    assert "none.npz" in capsys.readouterr().err
    assert not (folder / "new").exists()


@pytest.mark.slow
def test_killed_after_10_20_and_40_seconds_and_interrupted_it_ends_with_the_same_page(tmp_path):
    """A classifier of digits; computations of XLA at the moment of the interrupt bring no trace and no crash."""
    digits, random = load_digits(), np.random.default_rng(0)
    shapes = (32, 64), (32, 32), (10, 32)
    save(tmp_path / "digits.npz", [random.standard_normal(s) / s[1] ** 0.5 for s in shapes])
    np.savez(tmp_path / "data.npz", x=digits.data / 16, y=digits.target)

    def begun(out, most="unlimited"):
        options = {"cwd": tmp_path, "text": True, "stdout": subprocess.PIPE}
        words = ["digits.npz", "--data", "data.npz", "--out", out, "--gradients", "40000"]
        command = [sys.executable, "-m", "foretrain", "analyze", *words]
        limited = ["sh", "-c", f'ulimit -t {most}; exec "$@"', "sh", *command]  # seconds of a core
        return subprocess.Popen(limited, stderr=subprocess.PIPE, **options)

    for most in (10, 20, 40):
        (run := begun("killed", most)).communicate()
        assert run.returncode == -signal.SIGKILL or most > 10
    with begun("interrupted") as run:
        for line in run.stderr:
            if line.startswith("Sampling: at most"):
                break
        time.sleep(3)  # sampling goes on
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        output, shown = run.communicate()[::-1]
    assert run.returncode == 130
    assert output == "foretrain: interrupted; the same command goes on from here.\n"
    assert "Modules of the interaction graph" in shown
    assert "not sampled" in shown
    assert (tmp_path / "interrupted" / "analysis.parts").exists()
    pages = []
    for out in ("killed", "interrupted", "whole"):
        begun(out).communicate()
        pages.append((tmp_path / out / "analysis.html").read_text("utf-8"))
    assert pages[0] == pages[1] == pages[2]
