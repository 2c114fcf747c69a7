"""A command in a pseudo-terminal, and what stands on that terminal's screen."""

import contextlib
import os
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable

_PARTS = re.compile(r"\x1b\[(\?*[\d;]*)([A-Za-z])|\x1b.|.|\n", re.DOTALL)
# The terminal is made that of the session by the program itself: JAX allows no function between fork and exec. Tests that
# run in the background of a shell ignore Ctrl-C, and so would what they start.
_LEAD = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " signal.signal(signal.SIGINT, signal.SIG_DFL);"
    " os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Screen:
    """Screen of a terminal that has been sent some text: carriage returns, wraps, and the codes that move and erase.

    Attributes:
        lines: The rows from the top, none of which scrolls away.
        row, column: Where the cursor is.
        cursor: Whether it is shown.
    """

    def __init__(self, columns: int):
        self.columns, self.cursor = columns, True
        self.lines, self.row, self.column = [""], 0, 0

    @property
    def left(self) -> list[str]:
        """Lines on the screen of a program that has ended, and has left the cursor shown at the start of a line."""
        assert (self.cursor, self.column) == (True, 0)
        assert not any(self.lines[self.row :])
        return self.lines[: self.row]

    def feed(self, text: str) -> None:
        """Take what a program has written."""
        for code, kind, sign in ((m[1], m[2], m[0]) for m in _PARTS.finditer(text)):
            if kind:
                self._code(code, kind)
            elif sign == "\r":
                self.column = 0
            elif sign == "\n":
                self._down()
            elif sign.isprintable():
                self._put(sign)

    def _put(self, sign):
        if self.column == self.columns:
            self._down()
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + sign + line[self.column + 1 :]
        self.column += 1

    def _down(self):
        self.row += 1
        self.lines += [""] * (self.row + 1 - len(self.lines))

    def _code(self, code, kind):
        if kind == "A":
            self.row = max(0, self.row - int(code or 1))
        elif kind == "K":
            left = self.lines[self.row]
            self.lines[self.row] = "" if code == "2" else left[: self.column]
        elif code == "?25":
            self.cursor = kind == "h"
        else:
            assert kind == "m", f"a code that this screen does not know: {code}{kind}"


def in_terminal(
    arguments: list[str],
    columns: int = 80,
    *,
    then: Callable[[Screen, subprocess.Popen], bytes | bool] = lambda screen, job: True,
    environment: dict[str, str] | None = None,
    timeout_s: float = 120.0,
) -> tuple[int, Screen, str]:
    """Run Python with some arguments in a terminal of so many columns.

    Args:
        arguments: What follows ``python``.
        columns: Width of the terminal.
        then: Called on what is shown until it returns something true, whose bytes are pressed as keys.
        environment: Variables beside those of this process.
        timeout_s: After so many seconds it is killed.

    Returns:
        Exit code, the screen at the end, and all that was written.
    """
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    given = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        if name not in (environment or {}):
            given.pop(name, None)

    job = subprocess.Popen(
        [sys.executable, "-c", _LEAD, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=given,
        start_new_session=True,
    )
    os.close(theirs)
    screen, whole, until = Screen(columns), b"", time.monotonic() + timeout_s
    done: bytes | bool = False
    with contextlib.suppress(OSError):  # the terminal is gone with its last program
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                piece = os.read(ours, 65536)
                if not piece:
                    break
                whole += piece
                screen = Screen(columns)
                screen.feed(whole.decode(errors="replace"))
            if not done and (done := then(screen, job)) and isinstance(done, bytes):
                os.write(ours, done)
    if time.monotonic() >= until:
        job.kill()
    code = job.wait()
    os.close(ours)
    return code, screen, whole.decode(errors="replace")
