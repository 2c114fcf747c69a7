"""Folders that are altered, processes that are killed, disks that are full, another user: one line each.

Slow, each test with a budget of its own in seconds: ``FORETRAIN_FUZZ_SECONDS``, by default 120. What failed is in the message,
with the number of the case, which draws the same again: ``FORETRAIN_FUZZ_CASE=17`` begins there.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from altered_files import VALUES
from tiny_study import TINY

import foretrain
from foretrain.cli import main
from foretrain.errors import ForetrainError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]
BUDGET_S = float(os.environ.get("FORETRAIN_FUZZ_SECONDS", "120"))
FIRST = int(os.environ.get("FORETRAIN_FUZZ_CASE", "0"))
REPOSITORY = Path(__file__).parents[2]
WORDS = ["--seeds", "2", "--workers", "0", "--quiet"]


def cases():
    """Numbers of cases with a random stream each, until the budget is spent; three at least."""
    until, number = time.monotonic() + BUDGET_S, FIRST
    while number < FIRST + 3 or time.monotonic() < until:
        yield number, random.Random(number)
        number += 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small result of the catalogue and one of a study of one's own, not to be written to."""
    base = tmp_path_factory.mktemp("whole")
    (base / "tiny.py").write_text(TINY)
    assert main(["run", str(base / "tiny.py"), *WORDS, "--out", str(base / "own")]) == 0
    assert main(["run", "one-mode", "--steps", "40", *WORDS, "--out", str(base / "known")]) == 0
    return base


def altered(content, draw):
    """The bytes of a file, changed in one of the ways in which files are."""
    outcome = bytearray(content)
    match draw.choice(["flip", "flip", "cut", "entry", "entry", "noise"]):
        case "flip":
            for _ in range(draw.randint(1, 3) if outcome else 0):
                outcome[draw.randrange(len(outcome))] ^= 1 << draw.randrange(8)
        case "cut":
            del outcome[draw.choice([0, draw.randint(0, len(outcome))]) :]
        case "noise":  # in place of all that follows, or between
            place = draw.randint(0, len(outcome))
            outcome[place : draw.choice([place, len(outcome)])] = draw.randbytes(
                draw.randint(1, 300)
            )
        case "entry":
            return _entry(content, draw)
    return bytes(outcome)


def _entry(content, draw):
    """JSON with an entry replaced or left out; other content as it is."""
    try:
        outer = [json.loads(content)]
    except ValueError:
        return content
    parent, key = outer, 0
    while isinstance(parent[key], dict | list) and parent[key] and draw.random() < 0.8:
        parent = parent[key]
        key = draw.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    if parent is not outer and draw.random() < 0.3:
        del parent[key]
    else:
        parent[key] = draw.choice(VALUES)
    return json.dumps(outer[0]).encode()


def spoil(folder, draw):
    """Alter one or two files below a folder; returns what was done."""
    done = []
    for _ in range(draw.choice([1, 1, 1, 2])):
        # Files at the top and of the journal are few, those of the store many: each kind as often.
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        store = [path for path in files if "results.zarr" in path.parts]
        file = draw.choice(draw.choice([[p for p in files if p not in store], store or files]))
        match draw.choice(["content"] * 8 + ["gone", "folder"]):
            case "content":
                file.write_bytes(altered(file.read_bytes(), draw))
                done.append(f"{file.name} altered")
            case "gone":
                file.unlink()
                done.append(f"{file.name} gone")
            case "folder":
                file.unlink()
                file.mkdir()
                done.append(f"{file.name} a folder")
    return done


def refusal(words, capsys):
    """Trouble in how a command ended; None where it was done, or was refused in one line."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as error:
        code = error.code
    message = capsys.readouterr().err
    lines = [line for line in message.splitlines() if line.startswith("foretrain: ")]
    if code not in (0, 1, 2, 3) or "Traceback" in message or (code == 2 and len(lines) < 1):
        return f"foretrain {' '.join(map(str, words))} ended with {code}: {message[-2000:]}"
    return None


def read_all(folder, other, draw, capsys):
    """Put every reader to a folder; returns what each did wrong."""
    commands = [["show", folder], ["show", folder, "--check"], ["show", folder, "--json"]]
    commands += [["compare", folder, other], ["export", folder, "--to", "csv"]]
    commands += [["report", folder.parent]] + [["report", folder]] * (draw.random() < 0.2)
    wrong = [refusal(words, capsys) for words in commands]
    # Values that are read when they are used raise Zarr's own error, as `open` says.
    for options, own in (({}, ()), ({"strict": False}, ()), ({"lazy": True}, ValueError)):
        try:
            result = foretrain.open(folder, **options)
            str(result.claims)
            with contextlib.suppress(own):
                result.simulation.load(), result.figures
        except ForetrainError as error:
            if "\n" in str(error):
                wrong.append(f"open says more than a line: {error}")
    capsys.readouterr()
    return [item for item in wrong if item]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["own", "known"])
def test_no_alteration_of_a_folder_makes_a_reader_raise(whole, tmp_path, capsys, name):
    for number, draw in cases():
        folder = tmp_path / "folders" / "altered"
        shutil.copytree(whole / name, folder)
        done = spoil(folder, draw)
        try:
            wrong = read_all(folder, whole / "known", draw, capsys)
        except Exception as error:
            raise AssertionError(f"case {number}: {done}") from error
        assert not wrong, f"case {number}: {done}: {wrong}"
        shutil.rmtree(tmp_path / "folders")


@pytest.mark.filterwarnings("default")
def test_no_alteration_of_a_record_makes_the_registry_raise(tmp_path, capsys):
    records = sorted((REPOSITORY / "registry").rglob("*.toml"))
    for number, draw in cases():
        record = draw.choice(records)
        copy = tmp_path / "registry" / record.relative_to(REPOSITORY / "registry")
        copy.parent.mkdir(parents=True)
        copy.write_bytes(altered(record.read_bytes(), draw))
        publish = ["publish", "--registry", tmp_path / "registry", "--out", tmp_path / "site"]
        for command in (["registry", "list", "--registry", tmp_path / "registry"], publish):
            wrong = refusal(command, capsys)
            assert wrong is None, f"case {number}: {record}: {wrong}"
        shutil.rmtree(tmp_path / "registry")


def command(base, out, *more):
    words = ["run", str(base / "tiny.py"), *more, "--out", str(out)]
    return [sys.executable, "-m", "foretrain", *words]


def same(first, other):
    """Return True where two folders hold the same runs, theory and verdicts, to the bit."""
    ours, theirs = foretrain.open(first), foretrain.open(other)
    data = (ours.simulation, theirs.simulation), (ours.theory, theirs.theory)
    verdicts = ([(c.id, c.verdict, repr(c.measured)) for c in r.claims] for r in (ours, theirs))
    return all(mine.identical(other) for mine, other in data) and next(verdicts) == next(verdicts)


@pytest.mark.parametrize("whom", ["coordinator", "all"])
def test_a_command_killed_at_any_stage_ends_the_next_time_as_if_it_had_not_been(
    whole, tmp_path, whom
):
    """Training, folding, predicting, judging, storing or drawing; again and again until a command ends by itself."""
    words = command(whole, tmp_path / "undisturbed", "--seeds", "2", "--workers", "1")
    began = time.monotonic()
    subprocess.run(words, check=True, capture_output=True)
    lasts = time.monotonic() - began
    for number, draw in cases():
        out, kills = tmp_path / "killed", 0
        while True:
            words = command(whole, out, "--seeds", "2", "--workers", "1")
            how = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, **how)
            try:
                _, message = process.communicate(timeout=draw.uniform(0, 1.3) * lasts)
                break
            except subprocess.TimeoutExpired:
                kills += 1
                if whom == "all":
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
                process.communicate()
        what = f"case {number}, after {kills} kills"
        assert process.returncode == 0, f"{what}: {message}"
        assert "Traceback" not in message, what
        assert same(out, tmp_path / "undisturbed"), what
        shutil.rmtree(out)


@pytest.mark.parametrize("kind", ["disk", "file"])
def test_a_disk_that_is_full_at_any_moment_is_one_line_and_with_room_the_command_goes_on(
    whole, tmp_path, request, kind
):
    """Either the disk of the results is full, or no file may become larger."""
    for number, draw in cases():
        size = draw.randint(1, 100) * 4096
        if kind == "disk":
            out, limit = request.getfixturevalue("small_disk")(size) / "out", "unlimited"
        else:
            out, limit = tmp_path / "out", str(size // 20480)  # blocks of 1024 bytes
        words = command(whole, out, *WORDS)
        shell = ["bash", "-c", f'ulimit -f {limit} && exec "$@"', "bash"]
        done = subprocess.run([*shell, *words], capture_output=True, text=True)
        what = f"case {number}, {size} bytes: {done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr, what
        assert done.returncode in (0, 2), what
        if done.returncode == 2:
            assert done.stderr.count("\n") == 1, what
        if kind == "disk":
            subprocess.run(["mount", "-o", "remount,size=50m", str(out.parent)], check=True)
        again = subprocess.run(words, capture_output=True, text=True)
        assert again.returncode == 0, f"{what}, then: {again.stderr[-2000:]}"
        assert same(out, whole / "own"), what
        shutil.rmtree(out)
        if kind == "disk":
            subprocess.run(["umount", str(out.parent)], check=True)


NOBODY = 65534
# Root without its rights over the files of others is a second user, who can run this Python wherever it is.
SECOND = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]


def as_second_user(words):
    """Code and standard error of a command of a user who does not own the files."""
    command = [*SECOND, sys.executable, "-m", "foretrain", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="only root can stand for two users, by setpriv",
)
def test_a_second_user_reads_what_may_be_read_and_the_rest_is_one_line(whole, tmp_path):
    result = tmp_path / "result"
    shutil.copytree(whole / "known", result)
    owned = [result, *result.rglob("*")]
    for path in owned:
        os.chown(path, NOBODY, NOBODY)
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = {path: path.read_bytes() for path in owned if path.is_file()}
    for words in (["show", result], ["show", result, "--check"], ["compare", result, result]):
        code, message = as_second_user(words)
        assert code in (0, 1, 3), message
        assert "Cannot" not in message
    more = ["run", "one-mode", *WORDS[2:], "--seeds", "9", "--steps", "40", "--out", result]
    for place, mode in ((result, 0o755), (result / "journal", 0o700), (result, 0o700)):
        place.chmod(mode)
        for words in (["report", result], more, ["show", result], ["compare", result, result]):
            code, message = as_second_user(words)
            assert "Traceback" not in message, message
            if code not in (0, 1, 3):
                assert (code, message.count("\n")) == (2, 1), message
            if words in (["report", result], more):
                assert code == 2, "it cannot write there"
    assert {path: path.read_bytes() for path in before} == before, "it stays as it was"
    assert set(owned) == {result, *result.rglob("*")}
