"""The number of files that this process may have open (`ulimit -n`). Connections and pipes count as files.

A limit that is too low for what is asked is raised as far as the system permits. Programs that callmark starts get the original limit,
because some of them fail with a high one.
"""

import errno
import os
import resource
from contextlib import suppress

RESERVE = 24  # for the run folder, the cache, the event loop, and what starting a program takes for a moment

_original = 0  # the limit before it was raised; 0 if it was not


def original_limit() -> int:
    """Return the limit before it was raised; 0 if it was not."""
    return _original


def allow_open_files(needed: int) -> int:
    """Raise the limit, if necessary and permitted, so that `needed` more files can be open; return how many more can be."""
    global _original
    used = _count_open() + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = used + needed
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if limit > soft:
            with suppress(OSError, ValueError):  # macOS permits less than its hard limit
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
                _original = _original or soft
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return needed if soft == resource.RLIM_INFINITY else max(0, min(needed, soft - used))


def is_out_of_files(error: BaseException | None) -> bool:
    """Return whether an error was caused by the limit of open files, of this process or of the system."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False


def _count_open() -> int:
    """Return the number of open files; an estimate where the system does not list them."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(folder))
    return RESERVE
