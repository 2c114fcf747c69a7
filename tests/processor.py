"""Seconds of processor by test file, printed at the end of a session.

Each process of the tests measures itself and the processes that it started and waited for; workers of xdist send what they
measured to the process that prints. Imports, and fixtures of the session, stand apart. In CI, where the variable CI is set, a
file that passes its budget in budgets.toml by half fails the session. Budgets are seconds of the machine on which `slowness`
is one: another machine, and a busy one, has more of them.
"""

import collections
import os
import resource
import time
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SHARED = "imports and fixtures of the session"
LISTED = 3.0  # seconds from which on a file has a line
LOOP = 0.084  # seconds of the loop that is timed, where budgets were measured


def seconds() -> float:
    """Seconds of processor that this process and those that it waited for have taken."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def slowness() -> float:
    """Factor by which a fixed loop takes longer here than where budgets were measured; at least one."""

    def loop():
        start, table = time.process_time(), {}
        for number in range(1_000_000):
            table[number % 997] = table.get(number % 97, 0.0) + number**0.5
        return time.process_time() - start

    return max(1.0, min(loop() for _ in range(3)) / LOOP)


class Processor:
    """Plugin of pytest that measures; one in each process of a session."""

    def __init__(self, config):
        self.fast = config.getoption("markexpr") == "not slow"  # budgets are of the fast tests
        self.seconds = collections.Counter()
        self.slowness = 1.0

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
        elif os.environ.get("CI"):
            self.slowness = slowness()
            if self.excess() and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def excess(self) -> dict[str, float]:
        """Files that passed their budget by half, to their budget in seconds."""
        budgets = tomllib.loads((TESTS / "budgets.toml").read_text("utf-8"))
        files = self.seconds.keys() - {SHARED} if self.fast else ()
        allowed = {name: budgets["files"].get(name, budgets["default"]) for name in files}
        factor = 1.5 * self.slowness
        return {name: most for name, most in allowed.items() if self.seconds[name] > factor * most}

    def pytest_terminal_summary(self, terminalreporter):
        """Print the table."""
        write = terminalreporter.write_line
        terminalreporter.section("seconds of processor", sep="=")
        for name, value in [*self.seconds.most_common(), ("in all", self.seconds.total())]:
            if value >= LISTED or name == "in all":
                write(f"{value:6.1f} s  {name}")
        for name, most in self.excess().items():
            write(f"{name} passed its budget of {most:g} s by half; slowness {self.slowness:.2f}")
