"""Run a batch of inputs in this process, and measure each: processor time and memory."""

import os
import resource
import signal
import time
import traceback
import warnings
from types import FrameType
from typing import NamedTuple

from tests.fuzz.targets import TARGETS, Refusals, make_input, work_folder

BATCH = 250
MAX_SECONDS = 2.0  # of processor time
MAX_MEGABYTES = 500.0
_HANGS = 20  # seconds of processor time after which an input is interrupted
_MEMORY = 4 << 30  # bytes of address space


class Batch(NamedTuple):
    """The inputs of a target from one index to another."""

    target: str
    seed: int
    start: int
    end: int


class Outcome(NamedTuple):
    """An input that failed, and why."""

    target: str
    seed: int
    number: int
    problem: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.target} #{self.number} (seed {self.seed}): {self.problem}"


class Done(NamedTuple):
    """The result of a batch."""

    inputs: int
    refused: int
    slowest: tuple[float, int]
    largest: tuple[float, int]
    failures: list[Outcome]


class Totals:
    """The results of all batches of a target."""

    def __init__(self) -> None:
        self.inputs = self.refused = self.failures = 0
        self.slowest, self.slowest_index = 0.0, 0
        self.largest, self.largest_index = 0.0, 0

    def add(self, done: Done) -> None:
        self.inputs += done.inputs
        self.refused += done.refused
        self.failures += len(done.failures)
        self.slowest, self.slowest_index = max((self.slowest, self.slowest_index), done.slowest)
        self.largest, self.largest_index = max((self.largest, self.largest_index), done.largest)


class Hang(BaseException):
    """An input takes too long. Not an `Exception`, so that nothing handles it."""


def run_batch(batch: Batch) -> Done:
    """Run a batch in a worker process."""
    os.environ.pop("CALLMARK_TRUST", None)
    folder = work_folder()
    os.environ |= {"CALLMARK_CACHE": str(folder / "cache.sqlite"), "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ResourceWarning)
    signal.signal(signal.SIGPROF, _interrupt)
    run_inputs(batch.target, batch.seed, [0])  # imports are not measured
    return run_inputs(batch.target, batch.seed, range(batch.start, batch.end))


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Hang


def run_inputs(target: str, seed: int, indexes: "range | list[int]") -> Done:
    """Run inputs of a target, one after the other."""
    failures: list[Outcome] = []
    slowest, largest = (0.0, 0), (0.0, 0)
    refused = 0
    for index in indexes:
        data = make_input(target, seed, index)
        before, memory = Refusals.count, _peak()
        problem, seconds = run_input(target, data)
        megabytes = _peak() - memory
        refused += Refusals.count > before
        slowest, largest = max(slowest, (seconds, index)), max(largest, (megabytes, index))
        if not problem and seconds > MAX_SECONDS:
            problem = f"took {seconds:.1f} s"
        if not problem and megabytes > MAX_MEGABYTES:
            problem = f"took {megabytes:,.0f} MB"
        if problem:
            failures.append(Outcome(target, seed, index, problem, data))
    return Done(len(indexes), refused, slowest, largest, failures)


def run_input(target: str, data: bytes) -> tuple[str, float]:
    """Run one input; return what went wrong, if anything, and the processor time."""
    started = time.process_time()
    problem = ""
    signal.setitimer(signal.ITIMER_PROF, _HANGS)
    try:
        TARGETS[target].read(data)
    except Hang:
        problem = f"interrupted after {_HANGS} s"
    except Exception as error:  # what the tests are for
        where = [line for line in traceback.format_exception(error) if "/callmark/" in line]
        problem = f"{type(error).__name__}: {str(error)[:300]} {' '.join(where[-1:])[-300:]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return problem, time.process_time() - started


def _peak() -> float:
    """Return the greatest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
