"""A command in a pseudo-terminal, and what stands on that terminal's screen."""

import contextlib
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable

import pyte

# The terminal is made that of the session by the program itself: JAX allows no function between fork and exec. Tests that
# run in the background of a shell ignore Ctrl-C, and so would what they start.
_LEAD = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " signal.signal(signal.SIGINT, signal.SIG_DFL);"
    " os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
_ROWS = 200  # none of which scrolls away


class Screen(pyte.Screen):
    """Screen of a terminal that has been sent some text."""

    @property
    def current(self) -> str:
        """The line of the cursor."""
        return self.display[self.cursor.y].rstrip()

    @property
    def left(self) -> list[str]:
        """Lines on the screen of a program that has ended, and has left the cursor shown at the start of a line."""
        assert (self.cursor.hidden, self.cursor.x) == (False, 0)
        lines = [line.rstrip() for line in self.display]
        assert not any(lines[self.cursor.y :])
        return lines[: self.cursor.y]


def in_terminal(
    arguments: list[str],
    columns: int = 80,
    *,
    then: Callable[[Screen, subprocess.Popen], bytes | bool] = lambda screen, job: True,
    environment: dict[str, str] | None = None,
    timeout_s: float = 120.0,
) -> tuple[int, Screen, str]:
    """Run Python with some arguments in a terminal of so many columns: exit code, the screen at the end, and all output.

    `then` is called on what is shown until it returns something true, whose bytes are pressed as keys.
    """
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    options = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        if name not in (environment or {}):
            options.pop(name, None)

    job = subprocess.Popen(
        [sys.executable, "-c", _LEAD, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=options,
        start_new_session=True,
    )
    os.close(theirs)
    screen, whole, until = Screen(columns, _ROWS), b"", time.monotonic() + timeout_s
    stream = pyte.ByteStream(screen)
    done: bytes | bool = False
    with contextlib.suppress(OSError):  # the terminal is gone with its last program
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                piece = os.read(ours, 65536)
                if not piece:
                    break
                whole += piece
                stream.feed(piece)
            if not done and (done := then(screen, job)) and isinstance(done, bytes):
                os.write(ours, done)
    if time.monotonic() >= until:
        job.kill()
    code = job.wait()
    os.close(ours)
    return code, screen, whole.decode(errors="replace")
