"""The tiny study with something replaced and files that commands read."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny_study import TINY

REGISTRY = Path(__file__).parents[2] / "registry"
INIT = "def init(key):\n    return jax.random.normal(key, (3, 2))\n"
TEXTS = {
    "tiny.py": TINY,
    "model.py": f"import jax\n\n\ndef apply(w, x):\n    return x @ w\n\n\n{INIT}",
    "graph.toml": 'nodes = {a = 3, h = 4, b = 2}\nedges = {in = ["a", "h"], out = ["h", "b"]}\n',
    "theory/explanation.json": '{"steps": [0, 1], "losses": {"theory": [1, 0.5]}}',
}


@pytest.fixture
def study(tmp_path):
    """Write the study with something replaced, and return its file."""

    def write(old: str = "", new: str = ""):
        assert not old or TINY.count(old) == 1, old
        (tmp_path / "tiny.py").write_text(TINY.replace(old, new) if old else TINY)
        return tmp_path / "tiny.py"

    return write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with files that commands read: a study, networks, data, a record."""
    base, draw = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    x, y = draw.standard_normal((8, 3)), draw.standard_normal((8, 2))
    np.savez(base / "data.npz", x=x, y=y)
    np.savez(base / "gated.npz", **{"x.a": x, "y.b": y})
    np.savez(base / "net.npz", **{"a.weight": x[:4], "b.weight": y[:4].T})
    np.save(base / "x.npy", x)
    (base / "theory").mkdir()
    shutil.copytree(REGISTRY / "one-mode", base / "records" / "one-mode")
    for name, text in TEXTS.items():
        (base / name).write_text(text)
    return base
