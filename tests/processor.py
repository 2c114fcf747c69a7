"""Seconds of processor by test file, and memory by process, printed at the end of a session.

Each process of the tests measures itself and the processes that it started and waited for; workers of xdist send what they
measured to the process that prints. Shared fixtures of the session, and imports, stand on lines of their own. In CI, where
the variable CI is set, a file that passes its budget in budgets.toml by half fails the session. Budgets are seconds of the
machine on which `slowness` is one: another machine, and a busy one, has more of them.
"""

import collections
import os
import resource
import sys
import time
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
IMPORTS, SHARED = "imports", "fixtures of the session"
LISTED = 3.0  # seconds from which on a file has a line
LOOP = 0.084  # seconds of the loop that is timed, where budgets were measured


def seconds() -> float:
    """Seconds of processor that this process and those that it waited for have taken."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def peak_memory() -> int:
    """Bytes of the largest process among this one and those that it waited for."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


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
        self.memory = {}
        self.slowness = 1.0
        self._nested = 0.0  # seconds of what stands on a line of its own

    def _measure(self, name):
        start, nested = seconds(), self._nested
        result = yield
        self.seconds[name] += seconds() - start - (self._nested - nested)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Count setup, call and teardown of a test for its file."""
        return (yield from self._measure(item.path.relative_to(TESTS).as_posix()))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Count a fixture of the session for itself, not for the file that asks first."""
        if fixturedef.scope != "session":
            return (yield)
        before = self.seconds[SHARED]
        result = yield from self._measure(SHARED)
        self._nested += self.seconds[SHARED] - before
        return result

    def pytest_collection_finish(self):
        """Count all that was imported until here."""
        self.seconds[IMPORTS] += seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Add what a worker of xdist measured."""
        output = getattr(node, "workeroutput", {})
        self.seconds.update(output.get("seconds", {}))
        self.memory |= output.get("memory", {})

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Send what this worker measured, or fail a session in CI whose files passed their budgets by half."""
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        self.memory[worker or "this process"] = peak_memory()
        if worker:
            session.config.workeroutput |= {"seconds": dict(self.seconds), "memory": self.memory}
        elif os.environ.get("CI"):
            self.slowness = slowness()
            if self.excess() and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def excess(self) -> dict[str, float]:
        """Files that passed their budget by half, to their budget in seconds."""
        if not self.fast:
            return {}
        budgets = tomllib.loads((TESTS / "budgets.toml").read_text("utf-8"))
        files = self.seconds.keys() - {IMPORTS, SHARED}
        allowed = {name: budgets["files"].get(name, budgets["default"]) for name in files}
        factor = 1.5 * self.slowness
        return {name: most for name, most in allowed.items() if self.seconds[name] > factor * most}

    def pytest_terminal_summary(self, terminalreporter):
        """Print the table."""
        write = terminalreporter.write_line
        terminalreporter.section("seconds of processor", sep="=")
        for name, value in self.seconds.most_common():
            if value >= LISTED:
                write(f"{value:6.1f} s  {name}")
        write(f"{self.seconds.total():6.1f} s  in all")
        largest = ", ".join(f"{name} {size / 1e9:.2f} GB" for name, size in self.memory.items())
        write(f"largest process of each: {largest}")
        for name, most in self.excess().items():
            write(
                f"{name} passed its budget of {most:g} s by half, at a slowness of {self.slowness:.2f}"
            )
