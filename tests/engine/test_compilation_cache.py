import os
from pathlib import Path
from unittest.mock import Mock

import jax
import pytest
import toy_sweep
from altered_files import flip
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from foretrain.engine.cache import program_cache
from foretrain.machine import cache_folder

TINY = {"longest": 40}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("FORETRAIN_CACHE_DIR", str(folder))
        yield folder


def entries(cache):
    """Name of each program that is kept, to when it was written."""
    result = (path for path in cache.glob("jax-*/*") if not path.name.startswith("."))
    return {path: path.stat().st_mtime_ns for path in sorted(result)}


@pytest.mark.slow
def test_a_later_start_compiles_what_is_broken_only_and_then_nothing(tmp_path, cache):
    toy_sweep.sweep(tmp_path / "1", parameters=TINY, workers=1)
    torn, flipped, *whole = first = entries(cache)
    torn.write_bytes(torn.read_bytes()[:100])
    flip(flipped)
    broken = entries(cache)
    toy_sweep.sweep(tmp_path / "2", parameters=TINY, workers=1)
    # What was broken has been replaced, all else was read.
    second = entries(cache)
    assert len(second) == len(first) == len(whole) + 2
    assert second.items() & broken.items() == {(path, first[path]) for path in whole}
    toy_sweep.sweep(tmp_path / "3", parameters=TINY, workers=1)
    assert entries(cache) == second

    runs = [toy_sweep.by_identity(tmp_path / name) for name in "123"]
    for identity, run in runs[0].items():
        assert all(toy_sweep.run_bits(o[identity]) == toy_sweep.run_bits(run) for o in runs[1:])
    assert not list((cache / "in-use").iterdir())


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "file"))
    done = toy_sweep.sweep(tmp_path / "out", seeds=2, parameters=TINY, workers=1)
    stored = toy_sweep.by_identity(tmp_path / "out").values()
    assert (done.ran, [run.note for run in stored]) == (2, ["", ""])


def test_a_process_keeps_its_programs_also_without_links_and_leaves_jax_as_it_was(
    cache, monkeypatch
):
    own, kept = jax.config.jax_compilation_cache_dir, [entries(cache)]
    jax.config.update("jax_compilation_cache_dir", None)
    before = {**jax.config.values}
    for link in (os.link, os.link, Mock(side_effect=OSError)):
        monkeypatch.setattr("os.link", link)
        with program_cache():
            assert jax.jit(lambda x: 7.5 * x)(2.0) == 15
        kept.append(entries(cache))
    assert kept[0] != kept[1] == kept[2] == kept[3]
    assert {**jax.config.values} == before
    jax.config.update("jax_compilation_cache_dir", own)
    reset_cache()


def test_the_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", "/chosen")
    assert cache_folder() == Path("/chosen")
    monkeypatch.delenv("FORETRAIN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/foretrain")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "foretrain"
