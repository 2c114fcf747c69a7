"""Long work that is killed, on a disk that is full or that nobody may write to, and what it leaves once it is done again.

Killed at two moments and done again, alone or by two coordinators of a folder, it ends with the very bits of work left alone;
so it does where the disk was full at two moments. Each test is bounded by its own time.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foretrain
from foretrain.cli import main
from foretrain.errors import FolderError
from foretrain.registry.record import records, write
from foretrain.registry.small import of_data

WORK = {
    "measured": "run mask-spectrum --mask-size 200 300 --seeds 12 --workers 2 --out out",
    "posterior": "run landscapes --gradients 20000 --beta 10 1000 --seeds 3 --workers 2 --out out",
    "many networks": "run routing --seeds 3 --workers 2 --out out",
    "record": "registry check one-mode --registry registry",
    "two coordinators": "run mask-spectrum --mask-size 900 1100 --seeds 10 --workers 1 --out out",
}
FULL = {
    "posterior": "run landscapes --gradients 2000 --beta 10 --seeds 2 --workers 0",
    "explain": "explain model.py data.npz --steps 20 --learning-rate 0.1",
    "analyze": "analyze net.npz --data x.npy --gradients 2000",
    "record": "registry check one-mode --registry records",
}
READ_ONLY = [  # in a folder that nobody may write to, with a result in `a`
    *(f"run tiny.py --seeds 3 --workers 0 --quiet{more}" for more in ("", " --out a", " --out b")),
    "sweep sweep.toml",
    *(f"explain model.py data.npz --steps 2 --learning-rate 0.1{m}" for m in ("", " --out b")),
    *(f"analyze net.npz --data x.npy --seconds 0{more}" for more in ("", " --out b")),
    "predict graph.toml gated.npz --out b",
    "compare a a --out b",
    *(f"export a --to {to}{more}" for to in ("csv", "netcdf") for more in ("", " --out b")),
    *(f"report {of}{more}" for of in ("a", ".") for more in ("", " --out b")),
    "publish --registry records --out b",
    "registry render page.md --registry records",
    "registry seal --registry records",
    "registry check one-mode --registry records --out b",
    "new mine.py",
]


def start(folder, command):
    """Start work in a folder, in a group of processes of its own."""
    words = [sys.executable, "-m", "foretrain", *command.split()]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, cwd=folder, start_new_session=True, **quiet)


def finish(*processes):
    for process in processes:
        _, line = process.communicate()
        assert process.returncode == 0, line


def outcome(folder):
    """The checksums of all that work left in a folder; of an answer its lines, but for how long it took."""
    out = folder / "out"
    if (folder / "registry").exists():
        return {file.name: file.read_bytes() for file in folder.rglob("*.toml")}
    for answer in (*out.glob("explanation.json"), *out.glob("analysis.json")):
        return [line for line in answer.read_text().splitlines() if '"seconds"' not in line]
    result = foretrain.open(out)
    networks = {name: result.variant(name) for name in result.variants}
    parts = {**networks, "": result.simulation, "theory": result.theory, "fits": result.fits}
    assert not list(out.rglob("*.tmp*"))
    return {**of_data(parts), "claims": [claim.as_dict() for claim in result.claims]}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WORK)
def test_work_that_is_killed_twice_ends_as_if_it_had_not_been(tmp_path, name):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        if name == "record":
            shutil.copytree(Path(__file__).parents[2] / "registry", folder / "registry")
    began = time.monotonic()
    finish(start(whole, WORK[name]))
    seconds = time.monotonic() - began
    shards = (" --shard 1/2", " --shard 2/2") if name == "two coordinators" else ("",)
    for share in (0.5, 0.8):
        processes = [start(killed, WORK[name] + shard) for shard in shards]
        time.sleep(share * seconds)
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    finish(*[start(killed, WORK[name] + shard) for shard in shards])
    assert outcome(killed) == outcome(whole)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", FULL)
def test_work_whose_disk_is_full_twice_is_one_line_and_ends_as_if_it_had_had_room(
    files, small_disk, name
):
    whole, disk = files / name, small_disk(16384)
    finish(start(files, f"{FULL[name]} --out {whole / 'out'}"))
    size = sum(file.stat().st_size for file in whole.rglob("*") if file.is_file())
    for room in (16384, size // 2, 10 * size):
        subprocess.run(["mount", "-o", f"remount,size={room}", disk], check=True)
        process = start(files, f"{FULL[name]} --out {disk / 'out'}")
        message = process.communicate()[1]
        full = message.count("foretrain: The disk that holds ")
        assert (process.returncode, full) == ((2, 1) if room < size else (0, 0)), message
        assert "Traceback" not in message
    assert outcome(disk) == outcome(whole)


@pytest.mark.slow
@pytest.mark.timeout(100)
def test_no_command_raises_in_a_folder_that_nobody_may_write_to(
    files, small_disk, monkeypatch, capsys
):
    disk = small_disk("50m")
    shutil.copytree(files, disk, dirs_exist_ok=True)
    monkeypatch.chdir(disk)
    assert main("run tiny.py --seeds 2 --workers 0 --quiet --out a".split()) == 0
    Path("page.md").write_text("A number, 0.5<!-- one-mode/*:seeds -->.\n")
    Path("sweep.toml").write_text('study = "tiny.py"\nseeds = 2\n')
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for command in READ_ONLY:
        capsys.readouterr()
        code, message = main(command.split()), capsys.readouterr().err
        lines = [line for line in message.splitlines() if line.startswith("foretrain: ")]
        assert (code, len(lines)) == (2, 1), f"{command}: {message}"
    with pytest.raises(FolderError, match="Read-only"):
        write(Path("b"), records(Path("records"))[0])
    monkeypatch.undo()
