"""Exit statuses of the command line; 0 is success."""

CHECK_FAILED = 1  # a gate or a --strict check
BAD_INPUT = 2
WITH_ERRORS = 3  # finished with errors
INTERRUPTED = 130  # by Ctrl-C, SIGTERM or SIGHUP
