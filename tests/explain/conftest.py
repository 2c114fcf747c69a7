"""Explanations are stored in the current folder unless they are told where: here in one of the test's own."""

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
