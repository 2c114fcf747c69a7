"""The tiny study with something replaced."""

import pytest
from tiny_study import TINY


@pytest.fixture
def study(tmp_path):
    """Write the study with something replaced, and return its file."""

    def write(old: str = "", new: str = ""):
        assert not old or TINY.count(old) == 1, old
        (tmp_path / "tiny.py").write_text(TINY.replace(old, new) if old else TINY)
        return tmp_path / "tiny.py"

    return write
