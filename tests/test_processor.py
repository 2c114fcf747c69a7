"""Files of tests that take more of the processor than they may are named."""

from types import SimpleNamespace

import processor


def measured(markexpr, slowness, **seconds):
    """Files that passed their budget by half, of a plugin that measured these seconds."""
    plugin = processor.Processor(SimpleNamespace(getoption=lambda name: markexpr))
    plugin.slowness = slowness
    plugin.seconds.update(seconds)
    return set(plugin.excess())


def test_files_that_pass_their_budget_by_half_are_named():
    seconds = {"test_cli.py": 14.0, "new.py": 5.9, "long.py": 6.1, processor.SHARED: 99.0}
    assert measured("not slow", 1.0, **seconds) == {"long.py"}
    assert measured("not slow", 1.0, **{"test_cli.py": 15.5}) == {"test_cli.py"}
    assert measured("not slow", 1.1, **seconds) == set()  # another machine, or a busy one
    assert measured("slow", 1.0, **seconds) == set()
