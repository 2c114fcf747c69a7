"""Examples in docstrings are run as they stand."""

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "foretrain"
WITH_EXAMPLES = sorted(
    ".".join(("foretrain", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_give_what_they_say(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some make folders of results
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.attempted
    assert not results.failed
