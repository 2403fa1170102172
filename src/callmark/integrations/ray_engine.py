"""Run the tasks of a partitioned job as Ray tasks (extra `ray`), on a cluster or on all cores of this machine.

Plain tasks, not Ray Data: a task is one part of a file, reads it itself and writes its results itself, so that no data passes through the
object store, and a part that is done stays done whatever happens to the driver. Ray runs a task again if its worker or its node dies; a
task whose worker dies every time raises `BadInput`. Every node needs callmark, and the inputs and results under the same paths. A task runs
in the current folder of the driver where the node has it, so that evaluators of one's own are found.

A cluster that this process starts does not report usage, and ends with it.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from callmark.errors import BadInput, CallmarkError
from callmark.runs.partitioned import Result, Task

INSTALL = "Install it with: pip install 'callmark[ray]'"
_RETRIES = 4
_PATIENCE = 10.0  # seconds
_QUEUED = 2  # tasks for each CPU: enough to keep all busy


class RayExecutor:
    """An `Executor` on a Ray cluster: `address` as for `ray.init`, or a new one on this machine. It is a context manager.

    Without Ray, and for an address where there is no cluster, `BadInput` is raised.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise BadInput("--engine ray needs Ray, which is not installed", INSTALL) from None
        self._ray: Any = ray
        self._address = address
        self._is_mine = False

    def __enter__(self) -> Self:
        ray = self._ray
        if ray.is_initialized():
            return self
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        try:
            if self._address is None:
                os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
                ray.init(address="local", include_dashboard=False, **quiet)
            else:
                _refuse_unreachable(self._address)
                ray.init(address=self._address, **quiet)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            problem = " ".join(str(error).split())[:200]
            where = "a Ray cluster cannot be started" if self._address is None else f"--address {self._address}: no Ray cluster"
            raise BadInput(f"{where}: {problem}", "Start one with: ray start --head") from None
        self._is_mine = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._is_mine:
            self._ray.shutdown()

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Run the function for each task, and yield the results as they come."""
        ray = self._ray
        remote = ray.remote(_run).options(num_cpus=1, max_retries=_RETRIES, name=f"callmark {getattr(function, '__name__', 'task')}")
        rest = iter(tasks)
        running: dict[Any, Task] = {}
        folder = os.getcwd()
        try:
            while True:
                for task in _first(rest, self._room() - len(running)):
                    running[remote.remote(function, task, folder)] = task
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1)
                for reference in done:
                    yield self._result(reference, running.pop(reference))
        finally:
            for reference in running:
                with suppress(Exception):
                    ray.cancel(reference, force=True)

    def _room(self) -> int:
        return max(1, _QUEUED * int(self._ray.cluster_resources().get("CPU", 1)))

    def _result(self, reference: Any, task: object) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, CallmarkError):
                raise error.cause from None
            raise
        except errors.RayError as error:
            problem = " ".join(str(error).split())[:200]
            raise BadInput(
                f"the worker of {_describe(task)} died {_RETRIES + 1} times: {problem}",
                "What is done stays done: run the same command again. If memory ran out, use fewer CPUs for each node.",
            ) from None


def _refuse_unreachable(address: str) -> None:
    """Raise `ConnectionError` if nothing listens at an address: Ray would try for ten minutes."""
    host, _, port = address.rpartition("://")[2].partition(":")
    if port.isdigit():
        try:
            socket.create_connection((host, int(port)), _PATIENCE).close()
        except OSError as error:
            raise ConnectionError(error.strerror or str(error)) from None


def _run(function: Callable[[Task], Result], task: Task, folder: str) -> Result:
    """Run a task in a worker."""
    with suppress(OSError):
        os.chdir(folder)
    return function(task)


def _first(rest: Iterator[Task], number: int) -> Iterator[Task]:
    for _ in range(number):
        try:
            yield next(rest)
        except StopIteration:
            return


def _describe(task: object) -> str:
    partition = getattr(task, "partition", None)
    return f"{partition.name} from {partition.unit} {partition.first:,}" if partition is not None else "a task"
