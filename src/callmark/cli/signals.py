"""SIGTERM and SIGHUP end a command as Ctrl-C does: predictions are kept, and the exit status is 130."""

import errno
import os
import signal
from contextlib import suppress
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


def end_like_ctrl_c() -> None:
    """Handle SIGTERM and SIGHUP, unless they are ignored, as SIGHUP is under nohup. Only the first of them has an effect."""
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:  # a session that closes sends several
            return
        interrupted = True
        _replace_lost_terminal()
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # Ctrl-C is ignored, as in a script's background job
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def ignore_signals() -> None:
    """Ignore all signals that interrupt: another one at interpreter exit would replace the exit status."""
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)


def _replace_lost_terminal() -> None:
    """Discard further output to a terminal that is gone: writing to it is an error, which would stop the clean-up."""
    import termios

    for stream in (1, 2):
        try:
            termios.tcgetattr(stream)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
