"""Programs that callmark starts: `cmd:COMMAND` and `mcp:COMMAND`. None outlives callmark.

Each program runs under a watchdog (`watchdog.py`), a small process that ends the program with all its descendants when it is told to, or
when callmark ends: normally, by an error, or by any signal, SIGKILL included. Linux finds every descendant. On other systems a descendant
that leaves the program's process group (setsid) survives.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from threading import Lock

from callmark.models.open_files import original_limit

_WATCHDOG = str(Path(__file__).with_name("watchdog.py"))


class ChildProcess:
    """A program with pipes as its standard streams, in its own session, so that Ctrl-C does not reach it.

    Raises `OSError` or `ValueError` if no process can be started or the command cannot be passed to it. Whether the program can be executed
    is known after `wait_until_started`. Its owner must call `wait`, which releases what it holds; the streams are the owner's to close.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._lock = Lock()
        with ExitStack() as ours, ExitStack() as theirs:  # Popen does not close the pipes it opened if it runs out of files
            self._control, control = socket.socketpair()
            ours.enter_context(self._control)
            theirs.enter_context(control)
            stdin, self.stdin = _pipe(theirs, ours)
            self.stdout, stdout = _pipe(ours, theirs)
            self.stderr, stderr = _pipe(ours, theirs)
            arguments = (str(os.getpid()), str(control.fileno()), str(original_limit()))
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", _WATCHDOG, *arguments, *command],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                pass_fds=(control.fileno(),),
                env=environment,
            )
            ours.pop_all()

    def wait_until_started(self) -> None:
        """Block until the program runs; raise the `OSError` that prevents it."""
        number = 0
        with suppress(OSError):  # the watchdog was killed, which `wait` reports
            number = int(self._control.recv(16) or b"0")
        if number:
            raise OSError(number, os.strerror(number))

    def wait(self) -> int:
        """Block until the program and all its descendants have ended; return its exit status, negative for the signal that ended it."""
        status = self._watchdog.wait()
        with self._lock:
            self._control.close()
        return status

    def kill(self) -> None:
        """End the program and all its descendants. May be called at any time, by any thread, and repeatedly."""
        with self._lock, suppress(OSError):  # they have ended
            self._control.send(b"k")


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[FileIO, FileIO]:
    """Return both ends of a pipe, each closed by its side."""
    read, write = os.pipe()
    return reading.enter_context(FileIO(read, "rb")), writing.enter_context(FileIO(write, "wb"))
