"""Pins the test process to one core before JAX starts, and loads the Hypothesis profile.

XLA on the CPU can deadlock when two batched LAPACK calls run at once on two cores; on one core it cannot.
"""

import atexit
import collections
import contextlib
import ctypes
import fcntl
import functools
import gc
import io
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version

import annotated
import processor
import pytest
from hypothesis import HealthCheck, settings

# Before anything of the package is imported, here and nowhere else: the processes that tests start run as users run them.
if os.environ.get("FORETRAIN_CHECK_TYPES") != "0":
    annotated.install()

from small_routing import SMALL_ROUTING

from foretrain.engine.cores import pin_to_one_core
from foretrain.machine import _listed


def pytest_configure(config):
    """Pin what runs tests: a worker of xdist to a core of its own, else this process; never the one that only deals out."""
    config.pluginmanager.register(processor.Processor(config))
    gc.disable()  # until all is imported, which stays to the end
    name = os.environ.get("PYTEST_XDIST_WORKER")
    if fast := config.getoption("markexpr") == "not slow":
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers share what one compiled
    if name is None and config.getoption("dist", "no") != "no":
        return
    if fast:
        from foretrain.registry.small import compile_plainly

        compile_plainly()  # small programs are compiled more often than run
        if version("jaxlib") < "0.11":  # as of other options, which a later XLA may not know
            os.environ["XLA_FLAGS"] += " --xla_cpu_parallel_codegen_split_count=1"
        settings.load_profile("fast")
    pin_to_one_core(int((name or "gw0").removeprefix("gw")))
    _compile_once(fast)


def pytest_collection_modifyitems(items):
    """Begin with files of large budgets, in their order: no core is idle at the end while another is at the last of them."""
    long = [*tomllib.loads((processor.TESTS / "budgets.toml").read_text("utf-8"))["files"]]
    places = {processor.TESTS / name: place for place, name in enumerate(long)}
    items.sort(key=lambda item: places.get(item.path, len(long)))


def pytest_collection_finish():
    """From now on look for what nobody holds any more, but seldom, and not among what was there before: a fifth of all."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    gc.enable()


def _compile_once(fast):
    """Read back what a test of this process compiled when another asks for the same; nothing is kept for the next time."""
    import jax
    from jax._src.interpreters import mlir

    if fast:  # JAX makes it anew for each program, which takes a tenth of the time to compile one
        mlir.make_ir_context = functools.cache(mlir.make_ir_context)
    folder = tempfile.TemporaryDirectory(prefix="foretrain-tests-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    jax.config.update("jax_compilation_cache_dir", folder.name)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


# JAX compiles on the first example of a property, so no single example can be held to a deadline.
settings.register_profile(
    "foretrain", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("foretrain"), max_examples=40)
settings.load_profile("foretrain")


@pytest.fixture
def x64():
    """Run the test in JAX's double precision."""
    import jax

    with jax.enable_x64(True):
        yield


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a disk of so many bytes; skips where that is not permitted."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(size):
        how = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(how, capture_output=True).returncode:
            pytest.skip("mounting a small disk is not permitted here")
        return place

    yield mounted
    while subprocess.run(["umount", str(place)], capture_output=True).returncode == 0:
        pass


@pytest.fixture(scope="session")
def routing_folder(tmp_path_factory):
    """A small routing run without pictures, made once through the command line. Not to be written to."""
    from foretrain.cli import main

    base = tmp_path_factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "routing"
    path.mkdir(exist_ok=True)
    command, err = ["run", "routing", *SMALL_ROUTING, "--workers", "0"], io.StringIO()
    with open(path / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as long as another worker of xdist makes it
        if not (path / "a" / "summary.json").exists():
            with pytest.MonkeyPatch.context() as monkeypatch, contextlib.redirect_stderr(err):
                leave_out(monkeypatch, PLOTTED)
                assert main([*command, "--out", str(path / "a")]) == 0
    # On a busy machine anything may take long, and says so; else there is only the table where the output is no terminal.
    slow = ("Training", "Reading", "Predicting", "Judging", "Drawing")
    assert all(line.startswith(slow) for line in err.getvalue().splitlines())
    return path / "a"


# Tests of what is durable, stored and drawn do it as users' runs do; in all others it would be half of the time.
DURABLE = {"results", "engine", "provenance", "test_problems", "test_conduct", "test_stages"}
DRAWN = {*"figures report test_own_studies test_opened test_prediction test_hostile_folder".split()}
PLOTTED = {"test_cli", "test_conduct", "test_mistakes", "test_routing"}  # but without pictures


@pytest.fixture(autouse=True, scope="module")
def nothing_is_synced_or_rendered(request):
    monkeypatch = pytest.MonkeyPatch()
    place = {request.path.parent.name, request.path.stem}
    slow = request.config.getoption("markexpr") != "not slow"
    leave_out(monkeypatch, place | PLOTTED if slow else place)  # slow tests look at figures
    yield
    monkeypatch.undo()


def leave_out(monkeypatch, place):
    """Leave out what a file does not look at: syncs of the disk, pictures of figures, sliders."""
    if not place & DURABLE:
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    if not place & DRAWN:
        monkeypatch.setattr("foretrain.figures.save", save_names)
        monkeypatch.setattr("foretrain.laboratory.page.kept", lambda *those: those[2])
    if not place & (DRAWN | PLOTTED):
        monkeypatch.setattr("foretrain.laboratory.page.drawings", lambda *_: {})


def save_names(drawings, folder):
    """Write files of figures as `foretrain.figures.save` does, but without a picture in them."""
    from foretrain.figures import points

    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings.items():
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
        if table := points(drawing):
            (folder / f"{name}.csv").write_text(table)
    return {name: folder / f"{name}.svg" for name in drawings}


LEFT = [0.65e9]  # bytes of this process after programs were last dropped


@pytest.fixture(autouse=True, scope="module")
def programs_are_dropped_where_they_are_many():
    """Compiled programs and figures are not kept to the end: a process would grow to several gigabytes."""
    yield
    if 0 < _listed("/proc/self/status", "VmRSS") < LEFT[0] + 0.25e9:
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    gc.freeze()  # what is left is not looked at again
    if sys.platform == "linux":  # what has been freed goes back to the system
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    LEFT[0] = _listed("/proc/self/status", "VmRSS")


# How often a figure was looked at in this process, by study and name.
LOOKS = collections.Counter()


@pytest.fixture(autouse=True)
def every_figure_of_a_study_can_be_read(monkeypatch, request):
    """Look once, as layout is slow, at each figure of a test: nothing clipped, no text on another, no legend on a curve."""
    from legible import troubles

    from foretrain.figures import drawings as pictures
    from foretrain.figures.style import style

    result, drawn = [], pictures._drawn
    fast = request.config.getoption("markexpr") == "not slow"
    most = 0 if hasattr(request.module, "POOR_FIGURES") else 1 if fast else sys.maxsize

    def looked_at(study, grid, name, row):
        drawings = drawn(study, grid, name, row)
        if grid.lost(("",)):  # a figure of few runs may be a poor one
            return drawings
        for name, drawing in drawings.items() if isinstance(drawings, dict) else ():
            if LOOKS[study.name, name] >= most:
                continue
            if hasattr(drawing, "figure") and hasattr(drawing.figure, "draw_without_rendering"):
                LOOKS[study.name, name] += 1
                with style():
                    result.extend(
                        f"{study.name}, {name}: {entry}" for entry in troubles(drawing.figure)
                    )
                # It is laid out, and is saved as it was seen.
                drawing.figure.set_layout_engine("none")
        return drawings

    monkeypatch.setattr(pictures, "_drawn", looked_at)
    yield
    assert not result, result
