"""Run one program, and end it with all its descendants when callmark ends, in whatever way it ends.

    python -I -S watchdog.py PARENT CONTROL OPEN_FILES PROGRAM [ARGUMENT …]

This script is a process of its own between callmark (process id PARENT) and the program. CONTROL is a socket to callmark. The watchdog
writes 0 to it when the program runs, or the number of the error that prevented that. A byte from callmark, the end of the socket (callmark
has ended) or another parent process (callmark has ended, but a copy of the socket exists) ends the program; so does the end of the program
itself for processes that it left behind. Then the watchdog exits with the program's exit status, or by the same signal.

On Linux it adopts every orphan among the descendants, so processes that call setsid or fork twice are ended too, and the kernel kills the
program if the watchdog is killed. On other systems it ends the program's process group. Limits of open files are set back to OPEN_FILES.

It is started for every conversation with a tool server: it imports little, and nothing from callmark.
"""

import os
import resource
import select
import signal
import sys
from collections.abc import Callable

_PDEATHSIG, _CHILD_SUBREAPER = 1, 36  # of prctl
_PARENT_CHECK = 1.0  # seconds
_MAX_PAUSE = 0.05  # seconds between two attempts to end processes

Prctl = Callable[[int, int], int]


def main(parent: int, control: int, open_files: int, command: list[str]) -> None:
    """Run the command until it ends or callmark wants it to end, then exit as it did."""
    os.set_inheritable(control, False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    prctl = _load_prctl()
    adopts = prctl(_CHILD_SUBREAPER, 1) == 0 and os.path.exists("/proc/self/stat")
    try:
        program = _start(command, prctl, open_files)
    except OSError as error:
        os.write(control, str(error.errno).encode())
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _release_streams()
    status: int | None = None
    try:
        os.write(control, b"0")
        while status is None:
            readable, _, _ = select.select([control, woken], [], [], _PARENT_CHECK)
            if control in readable or os.getppid() != parent:
                break
            if woken in readable:
                os.read(woken, 4096)
            status = _reap(program)
    except OSError:  # callmark has ended
        pass
    _exit_like(_end_all(program, status, adopts=adopts))


def _load_prctl() -> Prctl:
    """Return prctl(option, value), which reports a failure where the system does not have it."""
    try:
        import ctypes

        function = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda option, value: -1
    return lambda option, value: int(function(option, ctypes.c_ulong(value), 0, 0, 0))


def _start(command: list[str], prctl: Prctl, open_files: int) -> int:
    """Start the program in its own session, and return its process id. If it cannot be executed, raise that `OSError`."""
    watchdog = os.getpid()
    report, result = os.pipe()  # closed by a successful exec
    program = os.fork()
    if program == 0:
        try:
            os.setsid()
            prctl(_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != watchdog:
                os._exit(1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python
                signal.signal(number, signal.SIG_DFL)
            if open_files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            os.execvp(command[0], command)
        except OSError as error:
            os.write(result, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(result)
    error_number = os.read(report, 16)
    os.close(report)
    if error_number:
        os.waitpid(program, 0)
        raise OSError(int(error_number), "")
    return program


def _release_streams() -> None:
    """Let go of the program's standard streams: while they are open here, neither side notices that the other has closed them."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _end_all(program: int, status: int | None, *, adopts: bool) -> int:
    """Kill the program, unless it has ended, and all its descendants; return its wait status."""
    _kill(-program)  # its process group, whose id is not reused while it has members
    pause = 0.0
    while True:
        try:
            ended = _reap(program)
        except ChildProcessError:  # no child is left, and as orphans are adopted, no descendant
            return status or 0
        status = status if ended is None else ended
        if not adopts and status is not None:
            return status
        killed = [_kill(child) for child in _children()] if adopts else []  # the id of a child is not reused before it is reaped
        if killed and not any(killed):  # they belong to another user
            return status or 0
        select.select([], [], [], pause)
        pause = min(_MAX_PAUSE, pause + 0.001)


def _reap(program: int) -> int | None:
    """Reap the processes that have ended, and return the wait status of the program if it is one of them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == program:
            return status
        if pid == 0:
            return None


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return list(map(int, file.read().split()))
    except OSError:
        return [pid for pid in _processes() if _parent(pid) == os.getpid()]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _parent(pid: int) -> int:
    """Return the parent of a process, by /proc; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _kill(pid: int) -> bool:
    """Kill a process, or a process group (negative); return False if that is not permitted."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _exit_like(status: int) -> None:
    """Exit with the exit status of a wait status, or by its signal."""
    number = os.waitstatus_to_exitcode(status)
    if number >= 0:
        os._exit(number)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if -number != signal.SIGKILL:
        signal.signal(-number, signal.SIG_DFL)
    os.kill(os.getpid(), -number)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
