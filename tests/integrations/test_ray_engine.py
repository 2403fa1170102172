"""The Ray executor, with a stand-in for Ray: how errors of workers become sentences. `make ray-proof` uses a cluster."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from callmark.errors import BadInput, BrokenRow
from callmark.formats.partitions import Partition
from callmark.integrations.ray_engine import RayExecutor
from callmark.runs.prediction_index import PartToIndex


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__("a traceback")
        self.cause = cause


class StandIn(ModuleType):
    """Runs each task when its result is asked for, the last one first."""

    def __init__(self, cpus: int = 2) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.started: list[dict[str, Any]] = []
        self.options: dict[str, Any] = {}
        self.most = self.running = self.cancelled = 0
        self.is_shut = False
        self._cpus = cpus

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        self.started.append(options)

    def shutdown(self) -> None:
        self.is_shut = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self._cpus}

    def remote(self, function: Callable[..., Any]) -> Any:
        def options(**given: Any) -> Any:
            self.options = given
            return SimpleNamespace(remote=submit)

        def submit(*arguments: Any) -> Any:
            self.running += 1
            self.most = max(self.most, self.running)
            return lambda: function(*arguments)

        return SimpleNamespace(options=options)

    def wait(self, references: list[Any], *, num_returns: int) -> tuple[list[Any], list[Any]]:
        self.running -= num_returns
        return references[-num_returns:], references[:-num_returns]

    def get(self, reference: Callable[[], Any]) -> Any:
        try:
            return reference()
        except RayError:
            raise
        except Exception as error:
            raise RayTaskError(error) from error

    def cancel(self, reference: Any, *, force: bool) -> None:
        self.cancelled += 1


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn()
    monkeypatch.setitem(sys.modules, "ray", found)
    return found


def test_all_tasks_run_and_few_are_queued(ray: StandIn) -> None:
    with RayExecutor() as executor:
        assert sorted(executor(abs, range(-20, 0))) == list(range(1, 21))
    assert ray.most == 4
    assert (ray.options["num_cpus"], ray.options["max_retries"]) == (1, 4)
    assert ray.is_shut


def test_a_cluster_of_its_own_reports_no_usage(ray: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    with RayExecutor():
        assert ray.started == [{"address": "local", "include_dashboard": False, "log_to_driver": False, "logging_level": "error"}]
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_task_runs_in_the_folder_of_the_driver(ray: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with RayExecutor("auto") as executor:
        results = executor(_folder, [0])
        assert list(results) == [str(tmp_path)]
    assert ray.started[0]["address"] == "auto"


def _folder(task: int) -> str:
    return str(Path.cwd())


def test_the_sentence_of_a_bad_row_is_raised_and_the_rest_is_cancelled(ray: StandIn) -> None:
    def refuse(task: int) -> int:
        raise BrokenRow("cases.jsonl, line 7: not valid JSON.", "Fix it.")

    with RayExecutor() as executor, pytest.raises(BrokenRow, match="cases.jsonl, line 7: not valid JSON.") as raised:
        list(executor(refuse, [1, 2, 3]))
    assert raised.value.hint == "Fix it."
    assert ray.cancelled == 2


def test_a_worker_that_always_dies_is_reported_with_its_part(ray: StandIn) -> None:
    def die(task: PartToIndex) -> int:
        raise RayError("The worker died unexpectedly\nwhile executing this task.")

    part = PartToIndex(Partition(3, "/data/cases.jsonl", "cases.jsonl", "line", 0, 10, 4001, 0, 10), "out")
    with (
        RayExecutor() as executor,
        pytest.raises(BadInput, match="the worker of cases.jsonl from line 4,001 died 5 times: The worker") as raised,
    ):
        list(executor(die, [part]))
    assert raised.value.hint.startswith("What is done stays done: run the same command again.")


def test_errors_of_the_program_are_not_hidden(ray: StandIn) -> None:
    def fail(task: int) -> int:
        raise KeyError(task)

    with RayExecutor() as executor, pytest.raises(RayTaskError):
        list(executor(fail, [1]))


def test_an_address_where_nothing_listens_is_refused_at_once(ray: StandIn) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(BadInput, match=f"--address {address}: no Ray cluster: Connection refused") as raised:
        RayExecutor(address).__enter__()
    assert raised.value.hint == "Start one with: ray start --head"
    assert ray.started == []
