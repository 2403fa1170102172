"""The limit of open files: it is raised if that is permitted, and errors that it caused are recognized."""

import errno
import json
import subprocess
import sys

import pytest

from callmark.models.model import ModelError
from callmark.models.open_files import is_out_of_files

CODE = """
import json, os, resource, sys
from callmark.models.open_files import RESERVE, allow_open_files, original_limit
from callmark.models.child_process import ChildProcess
soft, hard, needed = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
used = len(os.listdir("/dev/fd")) + RESERVE
possible = allow_open_files(needed)
child = ChildProcess(["sh", "-c", "ulimit -n"], dict(os.environ))
found = int(child.stdout.read(20))
child.wait()
print(json.dumps([possible, resource.getrlimit(resource.RLIMIT_NOFILE)[0], used, original_limit(), found]))
"""


def limits(soft: int, hard: int, needed: int) -> list[int]:
    done = subprocess.run([sys.executable, "-c", CODE, *map(str, (soft, hard, needed))], capture_output=True, text=True, check=True)
    found: list[int] = json.loads(done.stdout)
    return found


def test_sufficient_limit_is_left_alone() -> None:
    possible, limit, _, original, child = limits(200, 400, 20)
    assert (possible, limit, original, child) == (20, 200, 0, 200)


def test_low_limit_is_raised_for_callmark_and_not_for_programs() -> None:
    possible, limit, used, original, child = limits(64, 400, 100)
    assert (possible, limit, original, child) == (100, 100 + used, 64, 64)


def test_limit_that_cannot_be_raised_leaves_fewer_files() -> None:
    possible, limit, used, original, child = limits(64, 64, 100)
    assert (possible, limit, original, child) == (64 - used, 64, 0, 64)
    assert 10 < possible < 40


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_error_because_of_open_files_is_recognized_behind_others(number: int) -> None:
    def connect() -> None:
        try:
            raise OSError(number, "Too many open files")
        except OSError:
            raise ModelError("cannot connect") from None

    with pytest.raises(ModelError) as raised:
        connect()
    assert is_out_of_files(raised.value)


def test_other_errors_are_not_because_of_open_files() -> None:
    first, second = ModelError("a"), OSError(errno.ECONNREFUSED, "refused")
    first.__context__, second.__context__ = second, first  # a chain without an end
    assert not is_out_of_files(first)
    assert not is_out_of_files(None)
