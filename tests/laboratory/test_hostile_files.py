"""Files that never end, are no files or are far too large: each is one line at every door, in little memory.

Which files of a folder those are is not listed here: an audit hook names what the doors open, and every case runs in a process
of its own. Beside these stand doors to which a file is named.
"""

import os
import re
import signal
import sys
import time
import traceback
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from tiny_study import RUN, TINY

from foretrain.cli import main
from foretrain.machine import memory_limited

EXPLAIN = "--steps 2 --learning-rate 0.1 --out O/explained"
DOORS = [  # of a folder of results F
    "show F",
    "show F --check",
    "show F --json",
    "report F",
    "report F --out O/page",
    "report F/.. --out O/index",
    "compare F F",
    "export F --to csv --out O/table",
]
PARTS = "analyze net.npz --data x.npy --seconds 0 --out X/analysis.parts"
FILE_DOORS = [  # of a file X, or of a folder X with a file in it
    "run tiny.py --config X.toml --out O/run",
    "run X.py --out O/run",
    "sweep X.toml --out O/run",
    *(f"compare X{ending} theory" for ending in (".csv", ".json", ".parquet")),
    "predict X.toml gated.npz",
    "predict graph.toml X.npz",
    *(f"explain {files} {EXPLAIN}" for files in ("X.py data.npz", "X.safetensors data.npz")),
    *(f"explain model.py {files} {EXPLAIN}" for files in ("X.npz", "x.npy --labels X.npy")),
    *(f"explain model.py data.npz --{o} {EXPLAIN}" for o in ("order X.npy", "measured X.csv")),
    "explain model.py data.npz --steps 2 --learning-rate X.npy",
    *(f"analyze {files} --seconds 0" for files in ("X.npz --data x.npy", "net.npz --data X.npy")),
    *(f"analyze net.npz --data x.npy --{o} X.npy --seconds 0" for o in ("labels", "outputs")),
    PARTS,
    "registry render X/page.md --registry records",
    "registry list --registry X/one-mode/default.toml",
    "registry list --registry X/ledger.txt",
    "publish --registry records --out X/index.html",
]
HOW = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "large": lambda path: (path.touch(), os.truncate(path, 10**9)),
    "folder": lambda path: path.mkdir(),
}
MOST_MB, MOST_S = 500, 120


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """A folder of results whose study, which lies in it, this user has not named."""
    base = tmp_path_factory.mktemp("files")
    study = base / "in" / "out" / "tiny.py"
    study.parent.mkdir(parents=True)
    (base / "tiny.py").write_text(TINY)
    (base / "theory.md").write_text("# Decay\n\nIt halves $x$.\n\nJudged by `tiny/decays`.\n")
    assert main(["run", str(base / "tiny.py"), *RUN, "--out", str(study.parent)]) == 0
    os.link(base / "tiny.py", study)
    for file in (study.parent / "manifest.json", study.parent / "summary.json"):
        file.write_text(file.read_text().replace(str(base / "tiny.py"), str(study)))
    return base / "in"


def wrong_words(door, place, make):
    """The words of a door to which a wrong file is named: that file, or the folder in which it lies."""
    (name,) = (word for word in door.split() if word.startswith("X"))
    wrong = place / name.replace("X", "wrong", 1)
    wrong.parent.mkdir(parents=True, exist_ok=True)
    make(wrong)
    word = str(place / "wrong") if "/" in name else str(wrong)
    return [word if w == name else w.replace("O/", f"{place}/") for w in door.split()]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("door", FILE_DOORS)
def test_a_file_that_is_named_may_be_a_pipe_endless_large_or_a_folder(
    files, tmp_path, monkeypatch, capsys, door
):
    monkeypatch.chdir(files)
    for kind, make in HOW.items():
        command = wrong_words(door, tmp_path / kind, make)
        with memory_limited(MOST_MB * 1e6):
            code, err = main(command), capsys.readouterr().err
        lines = re.findall("^foretrain: (?!.*MemoryError)", err, re.M)
        wanted = (0, 0) if (door, kind) == (PARTS, "large") else (2, 1)
        assert (code, len(lines)) == wanted, f"{kind}: {err}"


def words(door, folder, out):
    return [word.replace("F", str(folder)).replace("O/", f"{out}/") for word in door.split()]


def in_child(words, place):
    """Exit code, output, megabytes and seconds of a command in a fork of this process."""
    before, start = int(Path("/proc/self/statm").read_text().split()[1]) * 4096, time.monotonic()
    if not (child := os.fork()):
        os.dup2(os.open(place, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 1)
        os.dup2(1, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        signal.alarm(MOST_S)
        try:
            code = main(words)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, usage = os.wait4(child, 0)
    megabytes = (usage.ru_maxrss * 1024 - before) / 1e6
    code, seconds = os.waitstatus_to_exitcode(status), time.monotonic() - start
    return code, place.read_text(), megabytes, seconds


def opened_by(doors, sent, place):
    """Files below a folder that the doors open, or look for, by their paths in it: of the store the first of every kind."""
    names: set[str] = set()

    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], str | Path):
            names.add(os.path.abspath(arguments[0]))

    listening = [note]
    sys.addaudithook(lambda *event: listening and listening[0](*event))
    for door in doors:
        copytree(sent, place / "in")
        main(words(door, place / "in" / "out", place / "made"))
        rmtree(place / "in")
    listening.clear()
    inside = f"{place / 'in' / 'out'}/"
    kinds = {}
    for name in sorted(name.removeprefix(inside) for name in names if name.startswith(inside)):
        result = name.endswith((".lock", ".tmp")) or "/.claim" in f"/{name}"
        group = re.sub(r"^(results\.zarr/\w+)/.*?(/c/.*|/zarr\.json)$", r"\1\2", name)
        if not result:
            kinds.setdefault(re.sub(r"/c/.*", "/c", group), name)
    return list(kinds.values())


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc and forks")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_every_file_that_a_door_opens_may_be_a_pipe_endless_large_or_a_folder(
    sent, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "probe").mkdir()
    files = opened_by(DOORS, sent, tmp_path / "probe")
    assert {"summary.json", "manifest.json", "theory.md", "report.html", "tiny.py"} <= {*files}
    wrong = []
    for file in files:
        for name, make in HOW.items():
            for door in DOORS:
                place = tmp_path / "case"
                copytree(sent, place / "in", copy_function=os.link)
                target = place / "in" / "out" / file
                target.unlink(missing_ok=True)
                target.parent.mkdir(parents=True, exist_ok=True)
                make(target)
                command = words(door, place / "in" / "out", place)
                code, text, megabytes, seconds = in_child(command, tmp_path / "output")
                if code not in (0, 2) or "Traceback" in text or megabytes > MOST_MB:
                    line = text.strip().splitlines()[-1:]
                    wrong.append((file, name, door, code, round(megabytes), round(seconds), line))
                rmtree(place)
    print(f"{len(files)} files, {len(files) * len(HOW) * len(DOORS)} cases")
    assert wrong == []
