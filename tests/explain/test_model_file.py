"""``foretrain explain``: from files to a table and a page."""

import json

import numpy as np
import pytest

from foretrain.cli import main
from foretrain.explain import corner_runs
from foretrain.explain.model_file import explain_files

MODEL = """
import jax
import jax.numpy as jnp
from shape import shape


def init(key):
    one, two = jax.random.split(key)
    return [jax.random.normal(one, (3, 8)) / 2, jax.random.normal(two, (8, 1)) / 3]


def apply(w, x):
    return shape(x @ w[0]) @ w[1]


def learning_rate(step):
    return 0.1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "shape.py").write_text("import jax.numpy as jnp\nshape = jnp.tanh\n")
    x = np.random.default_rng(0).standard_normal((8, 3))
    np.savez("data.npz", x=x, y=x[:, :1])
    np.savez("odd.npz", x=x, y=x[:, :1], gate=x)
    np.savez("half.npz", x=x)
    np.save("o.npy", np.zeros((2, 3), int))
    np.savez("w.npz", **{"a.weight": np.ones((2, 3)), "b.weight": np.ones((1, 2))})
    return tmp_path


def test_the_command_explains_and_writes_a_page(folder, capsys):
    command = "explain model.py data.npz --steps 20 --batch-size 4 --seeds 2 --from-zero --out made"
    assert main(f"{command} --shard 1/2".split()) == 0
    out, err = capsys.readouterr()
    assert out == "This part is done; the last part to finish explains the whole.\n"
    assert "Time: about " in err
    assert "Memory: at most " in err
    assert main(["show", "made"]) == 2
    assert "give it again, and it goes on" in capsys.readouterr().err
    assert main(f"{command} --shard 2/2".split()) == 0
    out, err = capsys.readouterr()
    assert "Said before training: " in err
    assert "share of all parts" in out
    assert "layers learn together" in (folder / "made" / "explanation.html").read_text("utf-8")
    record = json.loads((folder / "made" / "explanation.json").read_text("utf-8"))
    assert record["regime"] in ("lazy", "rich", "edge", "undecided")
    assert (folder / "made" / "explanation.svg").exists()


@pytest.mark.slow
def test_workers_read_the_files_again_and_make_the_same_bits(folder, monkeypatch):
    options = {"seeds": 2, "steps": 20}
    here = explain_files("model.py", "data.npz", out="here", **options)
    monkeypatch.setattr(corner_runs, "_WORTH_S", -1.0)
    there = explain_files("model.py", "data.npz", out="there", **options)
    for corner, losses in here.train.items():
        np.testing.assert_array_equal(there.train[corner], losses)


@pytest.mark.slow
def test_a_run_made_elsewhere_is_laid_beside_and_compared_without_training(folder, capsys):
    """The measured curve is a start that explain draws, too: it is told as one; the double begins elsewhere."""
    explain = "explain model.py data.npz --steps 20 --seeds 5"
    assert main(f"{explain} --json".split()) == 0
    record = json.loads(capsys.readouterr().out)
    curve = record["losses"]["the training itself"][3]
    for name, factor in (("same", 1), ("double", 2)):
        rows = zip(record["steps"], (factor * loss for loss in curve), strict=True)
        text = "\n".join(f"{step},{loss}" for step, loss in rows)
        (folder / f"{name}.csv").write_text(f"Step,mine - train_loss\n{text}\n")
    assert main(f"{explain} --measured same.csv --out made".split()) == 0
    out, err = capsys.readouterr()
    assert "The measured losses can be those of such starts" in out
    assert "Nearest to it is `the prediction" in err
    assert "Measured: 1 run" in (folder / "made" / "explanation.html").read_text("utf-8")
    assert main("compare double.csv made --out both".split()) == 0
    assert "At step 0 the measured loss is" in capsys.readouterr().out
    assert (folder / "both" / "comparison.html").exists()
    assert main("compare same.csv both".split()) == 2
    assert "holds neither explanation.json nor prediction.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("none.py data.npz --steps 2", "`model` must be a file, but none.py is not there"),
        ("model.py none.npz --steps 2", "`none.npz` does not exist"),
        ("model.py odd.npz --steps 2", "`data` must hold known arrays, but has `gate`"),
        ("model.py half.npz --steps 2", "`data` must hold the array `y`"),
        ("model.py data.npz --labels half.npz --steps 2", "`--labels` must be left out where"),
        ("model.py data.npz", "--steps"),
        ("w.npz data.npz --steps 2 --activation tanh --outputs o.npy", "`--outputs` must"),
        ("model.py data.npz --steps 2 --rate 1", "`--rate`. Did you mean `--learning-rate`?"),
        ("model.py data.npz --steps 2 --lr 1", "`--lr`. Did you mean `--learning-rate`?"),
        ("model.py data.npz --steps 2 --loss cross-entropy", "Did you mean `cross_entropy`?"),
        ("model.py data.npz --steps 2 --momentum 0.9", "`--momentum` must be given for momentum"),
        ("model.py data.npz --steps 2 --order o.npy --batch-size 4", "`--batch-size` must be 3"),
        ("usual.py data.npz --steps 2", "`model` gives it. Did you mean `learning_rate`?"),
        ("broken.py data.npz --steps 2", "broken.py, line 3: ZeroDivisionError"),
        ("raises.py data.npz --steps 2 --learning-rate 1", "raises.py, line 5: ValueError: of"),
        ("model.py data.npz --steps 2 --measured broken.py", "`--measured` must be a file that"),
        ("bare.py data.npz --steps 2 --learning-rate 1", "`model` must define the function `init`"),
    ],
)
def test_what_files_lack_is_said_in_one_line(folder, capsys, words, answer):
    (folder / "broken.py").write_text("x = 1\n\n1 / 0\n")
    (folder / "usual.py").write_text(MODEL.replace("def learning_rate(", "def rate("))
    (folder / "bare.py").write_text("def apply(w, x):\n    return x\n")
    (folder / "raises.py").write_text(
        "import jax\ndef init(key):\n    return jax.random.normal(key, (3, 1))\n"
        "def apply(w, x):\n    raise ValueError('of mine')\n"
    )
    assert main(["explain", *words.split()]) == 2
    err = capsys.readouterr().err
    assert answer in err
    assert err.count("\n") == 1
