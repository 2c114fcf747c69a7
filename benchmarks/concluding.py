"""Seconds of each phase of concluding a folder of results: theory, judging, store, figures, page.

Run with ``python benchmarks/concluding.py FOLDER``, of a folder that ``foretrain run`` has written: what is there is folded,
judged, stored and drawn again, as ``foretrain report`` does. With ``--source PATH`` the foretrain in that folder does it.
"""

import argparse
import contextlib
import importlib
import sys
import time
from unittest import mock

PHASES = {
    "read, fold, predict": ("labelled",),
    "judge": ("judged",),
    "make and write the store": ("write_tree", "write_group", "begin_tree"),
    "draw and write the page": ("write_page",),
    "open the result": ("opened",),
}


def main(arguments=None):
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--source")
    chosen = options.parse_args(arguments)
    if chosen.source:
        sys.path.insert(0, chosen.source)
    began = time.perf_counter()
    conclude = importlib.import_module("foretrain.laboratory.conclude")
    rebuild = importlib.import_module("foretrain.laboratory.conduct").rebuild
    seconds = {"import": time.perf_counter() - began}
    with contextlib.ExitStack() as patches:
        for phase, names in PHASES.items():
            seconds[phase] = 0.0
            for name in (name for name in names if hasattr(conclude, name)):
                call = timed(getattr(conclude, name), seconds, phase)
                patches.enter_context(mock.patch.object(conclude, name, call))
        rebuild(chosen.folder)
    for phase, spent in seconds.items():
        print(f"{phase:26s} {spent:6.2f} s")
    assert all(seconds.values()), seconds
    print(f"{'whole':26s} {time.perf_counter() - began:6.2f} s")


def timed(function, seconds, phase):
    """Return a function that adds the seconds that it takes to those of a phase."""

    def call(*arguments, **options):
        began = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            seconds[phase] += time.perf_counter() - began

    return call


if __name__ == "__main__":
    main()
