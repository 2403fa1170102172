"""A share of `make fuzz`, always the same inputs; and everything that fuzzing found, which must not fail again."""

import json
from pathlib import Path

import pytest

from tests.fuzz import targets, worker
from tests.fuzz.targets import CORPUS, CORPUS_OF, TARGETS, make_input
from tests.fuzz.worker import run_input, run_inputs

SHARE = 6000  # inputs
SEED = 0
NAMES = {target: CORPUS_OF.get(target, target) for target in TARGETS}
CASES = [(target, path) for target, name in NAMES.items() for path in sorted((CORPUS / name).iterdir())]


@pytest.fixture(autouse=True)
def _fresh_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("CALLMARK_TRUST", raising=False)


@pytest.mark.parametrize("target, path", CASES, ids=[f"{target}-{path.name}" for target, path in CASES])
def test_corpus_is_read_without_failure(target: str, path: Path) -> None:
    problem, _ = run_input(target, path.read_bytes())
    assert problem == ""


@pytest.mark.parametrize("target", TARGETS)
def test_share_of_mutated_inputs_is_read_without_failure(target: str) -> None:
    done = run_inputs(target, SEED, range(max(30, round(SHARE * TARGETS[target].share))))
    assert [str(failure) for failure in done.failures if not failure.problem.startswith("took ")] == []  # time depends on the machine


def test_same_seed_gives_the_same_inputs() -> None:
    for target in TARGETS:
        first, again = ([make_input(target, 5, index) for index in range(20)] for _ in range(2))
        assert first == again
        assert len(set(first)) > 10
        assert make_input(target, 6, 0) != first[0] or make_input(target, 6, 1) != first[1]


def test_failure_is_reported_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> None:
        if b"get_order" not in data:
            raise KeyError("get_order")

    monkeypatch.setitem(TARGETS, "rows", TARGETS["rows"]._replace(read=read))
    done = run_inputs("rows", SEED, range(50))
    assert 0 < len(done.failures) < 50
    assert all(b"get_order" not in failure.data for failure in done.failures)
    assert str(done.failures[0]).startswith(f"rows #{done.failures[0].number} (seed 0): KeyError: ")


def test_slow_and_large_inputs_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_SECONDS", -1.0)
    assert run_inputs("text", SEED, [0]).failures[0].problem.startswith("took 0.0 s")
    monkeypatch.setattr(worker, "MAX_SECONDS", 100.0)
    monkeypatch.setattr(worker, "MAX_MEGABYTES", -1.0)
    assert run_inputs("text", SEED, [0]).failures[0].problem == "took 0 MB"


def test_command_that_prints_a_control_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "run_command", lambda arguments: print("\x1b[31m") or 0)  # noqa: T201
    problem, _ = run_input("shown", b"{}")
    assert problem.startswith("AssertionError")


def test_corpus_of_runs_is_complete() -> None:
    for path in (CORPUS / "runs").iterdir():
        assert "run.json" in json.loads(path.read_bytes())["files"]
