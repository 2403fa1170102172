"""What the tests share: Hypothesis profiles, and the command line run in this process."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from callmark.cli.main import run

settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("proof", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_cache = TemporaryDirectory(prefix="callmark-tests-")  # answers are remembered in the user's cache folder: never by a test
os.environ["CALLMARK_CACHE"] = os.path.join(_cache.name, "predictions.sqlite")
os.environ["XDG_DATA_HOME"] = _cache.name  # consent is remembered there
os.environ.pop("CALLMARK_TRUST", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell sets it for what runs in the background: every child would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Result:
    """What a command line did: exit status, what it printed, what it said on standard error."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err


Cli = Callable[..., Result]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs `callmark` with these arguments."""

    def call(*arguments: str | Path) -> Result:
        capfd.readouterr()
        status = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Result(status, out, err)

    return call
