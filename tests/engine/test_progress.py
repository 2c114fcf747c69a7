from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import toy_sweep

from foretrain.engine.coordinator import Coordinator
from foretrain.engine.dispatch import Group, Worker
from foretrain.engine.progress import RemainingTime


def test_programs_to_be_compiled_take_as_long_as_those_so_far():
    groups = [Group(None, name, deque([0])) for name in "abc"]
    sweep = SimpleNamespace(groups=groups, living={0: Worker(None, group=groups[1])})
    assert Coordinator._uncompiled(sweep) == (3, None)
    groups[0].open_s = 5.0  # the second is being compiled for longer
    assert Coordinator._uncompiled(sweep) == (2, 5.0)
    sweep.living = {}
    assert Coordinator._uncompiled(sweep) == (2, 10.0)


@pytest.mark.parametrize("late", [0, 20, 60])
def test_the_time_left_is_said_only_once_it_is_known_to_within_a_factor_of_two(late):
    """A sweep of 100 s of which the first `late` seconds go at a tenth of the speed."""
    estimate, text = RemainingTime(), {}
    for now in np.arange(1.0, 100, 0.2):
        done = min(now, late) / 10 + max(0, now - late)
        left = (late / 10 + 100 - late - done) / (done / now)  # as the mean speed so far has it
        if (result := estimate.left(now, left)) is not None:
            text[now] = result
    assert text, "it is known at last"
    ends = {now: 100 - now for now in text}
    wrong = [t for t, left in text.items() if not ends[t] / 2 - 5 <= left <= 2 * ends[t] + 5]
    # While it is slow nothing tells that it will not stay so. The mean speed alone is wrong until 34 s and 90 s.
    assert max(wrong, default=0) <= 1.1 * late + 1
    assert min(text) < 3


def test_a_sweep_says_how_many_programs_before_it_starts_and_then_how_far_it_is(tmp_path):
    heard = []
    options = {"width": (2, 3), "longest": 40}
    done = toy_sweep.sweep(tmp_path, seeds=3, parameters=options, workers=1, progress=heard.append)
    first, last = heard[0], heard[-1]
    assert (first.phase, first.groups, first.total, first.finished) == ("starting", 2, 6, 0)
    assert first.predicted_steps > 0
    assert (first.uncompiled, first.compile_s) == (2, None)
    assert (last.phase, last.finished, last.uncompiled) == ("done", 6, 0)
    assert sum(last.outcomes.values()) == done.ran == 6
    assert last.steps > 0
    counts = [now.finished for now in heard]
    assert counts == sorted(counts)
    # It sleeps while workers work: five times a second it says how far it is, and at the start and the end.
    assert len(heard) <= 5 * (done.wall_time_s + 1) + 2
