"""Seconds of each phase of concluding a folder of results: import, theory, judging, store, figures, page.

Run with ``python benchmarks/concluding.py FOLDER``, of a folder that ``foretrain run`` has written: what is there is folded,
judged, stored and drawn again, as ``foretrain report`` does. With ``--source PATH`` the foretrain in that folder does it.
Behind the seconds of each phase stand those of a core, which other work on the machine moves less.
"""

import argparse
import contextlib
import gc
import importlib
import sys
import time
from unittest import mock

import numpy as np

PHASES = {
    "read, fold, predict": ("labelled",),
    "judge": ("judged",),
    "make and write the store": ("write_group", "begin_tree"),
    "draw and write the page": ("write_page",),
    "open the result": ("opened",),  # of earlier versions
}


def main(arguments=None):
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--source")
    chosen = options.parse_args(arguments)
    if chosen.source:
        sys.path.insert(0, chosen.source)
    gc.set_threshold(1_000_000)  # as the command line does
    began = clocks()
    conclude = importlib.import_module("foretrain.laboratory.conclude")
    rebuild = importlib.import_module("foretrain.laboratory.conduct").rebuild
    seconds = {"import": clocks() - began}
    with contextlib.ExitStack() as patches:
        for phase, names in PHASES.items():
            for name in (name for name in names if hasattr(conclude, name)):
                seconds.setdefault(phase, np.zeros(2))
                call = timed(getattr(conclude, name), seconds, phase)
                patches.enter_context(mock.patch.object(conclude, name, call))
        rebuild(chosen.folder)
    for phase, (wall, core) in {**seconds, "whole": clocks() - began}.items():
        print(f"{phase:26s} {wall:6.2f} s {core:6.2f} s of a core")
    assert np.all([*seconds.values()]), seconds


def clocks():
    """Seconds of the wall and of a core, since some time."""
    return np.array([time.perf_counter(), time.process_time()])


def timed(function, seconds, phase):
    """Return a function that adds the seconds that it takes to those of a phase."""

    def call(*arguments, **options):
        began = clocks()
        try:
            return function(*arguments, **options)
        finally:
            seconds[phase] += clocks() - began

    return call


if __name__ == "__main__":
    main()
