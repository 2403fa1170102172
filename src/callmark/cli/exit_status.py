"""Exit statuses of the command line; 0 is success."""

CHECK_FAILED = 1  # a gate or a --strict check
BAD_INPUT = 2
WITH_ERRORS = 3  # finished with errors
INTERRUPTED = 130  # by Ctrl-C, SIGTERM or SIGHUP

_known = 0


def set_status(status: int) -> int:
    """Remember and return the exit status of a command before it prints: it holds even if the reader of its output stops reading."""
    global _known
    _known = status
    return status


def known_status() -> int:
    """Return the last status that was set."""
    return _known
