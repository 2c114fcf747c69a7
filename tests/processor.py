"""Seconds of processor by test file, printed at the end of a session.

Each process of the tests measures itself and the processes that it waited for; workers of xdist send what they measured to
the process that prints. Imports, fixtures of the session, and garbage stand apart. Where the variable CI is set, a file that
passes its budget in budgets.toml by half fails the session; budgets are of a machine whose `slowness` is one.
"""

import collections
import gc
import os
import resource
import time
import timeit
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SHARED = "imports, fixtures and garbage of the session"
LOOP = 0.084  # seconds of the loop that is timed, where budgets were measured


def seconds() -> float:
    """Seconds of processor that this process and those that it waited for have taken."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def slowness() -> float:
    """Factor by which a fixed loop takes longer here than where budgets were measured; at least one."""
    loop = "for n in range(1_000_000): table[n % 997] = table.get(n % 97, 0.0) + n**0.5"
    measured = timeit.repeat(loop, "table = {}", timer=time.process_time, repeat=3, number=1)
    return max(1.0, min(measured) / LOOP)


class Processor:
    """Plugin of pytest that measures; one in each process of a session."""

    def __init__(self, config):
        self.fast = config.getoption("markexpr") == "not slow"  # budgets are of the fast tests
        self.seconds = collections.Counter()
        self.slowness = 1.0
        gc.callbacks.append(self._collect)

    def _collect(self, phase, _):
        """Count the collection of garbage for itself, not for the file that is at work just then."""
        self.seconds[SHARED] += seconds() if phase == "stop" else -seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Count setup, call and teardown of a test for its file, but what is shared."""
        start, shared = seconds(), self.seconds[SHARED]
        result = yield
        own = seconds() - start - (self.seconds[SHARED] - shared)
        self.seconds[item.path.relative_to(TESTS).as_posix()] += own
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Count a fixture of the session for itself, not for the file that asks first."""
        start = seconds()
        result = yield
        self.seconds[SHARED] += seconds() - start if fixturedef.scope == "session" else 0.0
        return result

    def pytest_collection_finish(self):
        """Count all that was imported until here."""
        self.seconds[SHARED] += seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Add what a worker of xdist measured."""
        self.seconds.update(getattr(node, "workeroutput", {}).get("seconds", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Send what this worker measured, or fail a session in CI whose files passed their budgets by half."""
        if "PYTEST_XDIST_WORKER" in os.environ:
            session.config.workeroutput["seconds"] = dict(self.seconds)
            return
        self.slowness, passed = slowness(), session.exitstatus == pytest.ExitCode.OK
        if os.environ.get("CI") and self.excess() and passed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def excess(self) -> dict[str, float]:
        """Files that passed their budget by half, to their budget in seconds."""
        budgets = tomllib.loads((TESTS / "budgets.toml").read_text("utf-8"))
        files = self.seconds.keys() - {SHARED} if self.fast else ()
        allowed = {name: budgets["files"].get(name, budgets["default"]) for name in files}
        factor = 1.5 * self.slowness
        return {name: most for name, most in allowed.items() if self.seconds[name] > factor * most}

    def pytest_terminal_summary(self, terminalreporter):
        """Print the table, a line for each file of three seconds or more."""
        terminalreporter.section(f"seconds of processor, slowness {self.slowness:.2f}", sep="=")
        for name, value in [*self.seconds.most_common(), ("in all", self.seconds.total())]:
            if value >= 3.0 or name == "in all":
                terminalreporter.write_line(f"{value:6.1f} s  {name}")
        for name, most in self.excess().items():
            terminalreporter.write_line(f"{name} passed its budget of {most:g} s by half")
