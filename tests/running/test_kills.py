"""Runs that are killed, and gone on with. More of them in `benchmarks/running_kills.py`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running.kills import Moment, Served, killed_and_resumed, run_command, run_to_end, served, torn_everywhere, write_cases

CASES, TRIALS, AT_ONCE = 60, 2, 4
LATENCY = 0.01


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "log", "--latency", str(LATENCY)) as started:
        yield started


def test_a_run_that_is_killed_and_gone_on_with_ends_as_if_it_had_not_been(tmp_path: Path, server: Served) -> None:
    cases, model = write_cases(tmp_path / "cases.jsonl", CASES), f"{server.url}#model"
    more = ("--trials", str(TRIALS), "--concurrency", str(AT_ONCE))
    seconds = run_to_end(run_command(cases, model, tmp_path, "undisturbed", *more), tmp_path)
    moments = [Moment(seconds=seconds / 4), Moment(recorded=1), Moment(recorded=CASES)]
    command = run_command(cases, model, tmp_path, "killed", *more)
    outcome = killed_and_resumed(command, tmp_path / "killed", server, tmp_path / "undisturbed", moments=moments, trials=TRIALS)
    assert outcome.problems == []
    assert not any(kill.ended for kill in outcome.kills)
    assert [kill.recorded < CASES * TRIALS for kill in outcome.kills] == [True] * 3


def test_a_last_line_that_was_cut_anywhere_is_asked_for_again_and_nothing_else(tmp_path: Path, server: Served) -> None:
    cases, model = write_cases(tmp_path / "cases.jsonl", 2), f"{server.url}#model"
    run_to_end(run_command(cases, model, tmp_path, "torn"), tmp_path)
    cuts, problems = torn_everywhere(cases, model, tmp_path / "torn", server, step=9)
    assert problems == []
    assert cuts > 10
