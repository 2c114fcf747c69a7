"""Long work that is killed as a whole at two moments, then done again: it ends with the very bits of work left alone."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foretrain
from foretrain.registry.small import of_data

REGISTRY = Path(__file__).parents[2] / "registry"
WORK = {
    "measured": "run mask-spectrum --mask-size 200 300 --seeds 12 --workers 2 --out out",
    "posterior": "run landscapes --gradients 20000 --beta 10 1000 --seeds 3 --workers 2 --out out",
    "many networks": "run routing --seeds 3 --workers 2 --out out",
    "record": "registry check one-mode --registry registry",
}


def start(folder, name):
    """Start work in a folder, in a group of processes of its own."""
    command = [sys.executable, "-m", "foretrain", *WORK[name].split()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet)


def finish(folder, name):
    """Do work to its end, and return the seconds that it took, and the checksums of all that it left."""
    began, process = time.monotonic(), start(folder, name)
    _, line = process.communicate()
    assert process.returncode == 0, line
    seconds = time.monotonic() - began
    if name == "record":
        return seconds, {file.name: file.read_bytes() for file in folder.rglob("*.toml")}
    result = foretrain.open(folder / "out")
    networks = {name: result.variant(name) for name in result.variants}
    parts = {**networks, "": result.simulation, "theory": result.theory, "fits": result.fits}
    assert not list((folder / "out").rglob("*.tmp*"))
    return seconds, {**of_data(parts), "claims": [claim.as_dict() for claim in result.claims]}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WORK)
def test_work_that_is_killed_twice_ends_as_if_it_had_not_been(tmp_path, name):
    folders = tmp_path / "whole", tmp_path / "killed"
    for folder in folders:
        folder.mkdir()
        if name == "record":
            shutil.copytree(REGISTRY, folder / "registry")
    seconds, whole = finish(folders[0], name)
    for share in (0.5, 0.8):
        process = start(folders[1], name)
        time.sleep(share * seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert finish(folders[1], name)[1] == whole
