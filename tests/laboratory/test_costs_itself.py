"""A part that goes wrong costs itself alone: a warning, a process that a study forks, a manifest that is removed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_study import RUN, one_line

import foretrain
from foretrain.cli import main
from foretrain.words import count


@pytest.mark.filterwarnings("default")
def test_warnings_of_numpy_stand_in_the_log_and_not_in_the_terminal(study, tmp_path, capsys):
    file = study("def decays(c):\n", "def decays(c):\n    np.log(np.zeros(1))\n")
    assert main(["run", str(file), *RUN, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""
    assert "RuntimeWarning: divide by zero" in (tmp_path / "out" / "log.txt").read_text()


FORKS = {
    "import": 'SOURCE = "own"\n',
    "check": "def check(p):\n",
    "labels": "def labels(p):\n",
    "variants": "def variants(p):\n",
    "inputs": "def inputs(p, seed):\n",
    "predict": "def predict(p, step, seed):\n",
    "judge": "def decays(c):\n",
}


def marked(mark):
    """Processes that live and have this in their environment."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            zombie = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not zombie and mark in (place / "environ").read_bytes():
                yield int(place.name)
        except OSError:
            continue


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
@pytest.mark.parametrize("where", FORKS)
def test_a_study_that_forks_anywhere_is_run_once_and_leaves_no_process(study, tmp_path, where):
    indent = "" if where == "import" else "    "
    file = study(FORKS[where], f"{FORKS[where]}{indent}import os\n{indent}os.fork()\n")
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    words = ["run", str(file), *RUN, "--out", str(tmp_path / "out")]
    words[words.index("--workers") + 1] = "1" if where == "inputs" else "0"
    done = subprocess.run(
        [sys.executable, "-m", "foretrain", *words],
        env={**os.environ, "MARK": mark},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    if where != "inputs":  # the copies of a worker end in silence
        one_line(done.stderr, "A process that the study forked came back from the study and was")
    assert len(json.loads((tmp_path / "out" / "manifest.json").read_text())["looks"]) == 1
    until = time.monotonic() + 20
    while left := list(marked(mark.encode())):
        assert time.monotonic() < until, count(len(left), "process", "processes")
        time.sleep(0.1)


@pytest.mark.parametrize("when", ["def inputs(p, seed):\n", "def decays(c):\n"])
def test_a_manifest_removed_under_way_is_one_line_and_the_same_command_goes_on(
    study, tmp_path, capsys, when
):
    out, flag = tmp_path / "out", tmp_path / "flag"
    flag.touch()
    file = study(
        when,
        f"""{when}    import pathlib
    if pathlib.Path({str(flag)!r}).exists():
        pathlib.Path({str(flag)!r}).unlink()
        pathlib.Path({str(out / "manifest.json")!r}).unlink()
""",
    )
    words = ["run", str(file), *RUN, "--out", str(out)]
    assert main(words) == 2
    one_line(capsys.readouterr().err, "manifest.json was removed while runs were made.")
    assert main(words) == 0
    assert len(foretrain.open(out).claims) == 2
    assert "4 runs were there before any plan." in (out / "manifest.json").read_text()
