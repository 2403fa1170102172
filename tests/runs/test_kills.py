"""Runs that are killed, and gone on with. More of them in `benchmarks/running_kills.py`."""

from pathlib import Path

from tests.runs.kills import Moment, killed_and_resumed, run_command, run_to_end, served, torn_everywhere, write_cases

CASES, TRIALS, AT_ONCE = 50, 2, 4


def test_a_run_that_is_killed_and_gone_on_with_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    with served(tmp_path / "log", "--latency", "0.02") as server:
        cases, model = write_cases(tmp_path / "cases.jsonl", CASES), f"{server.url}#model"
        more = ("--trials", str(TRIALS), "--concurrency", str(AT_ONCE))
        seconds = run_to_end(run_command(cases, model, tmp_path, "undisturbed", *more), tmp_path)
        moments = [Moment(seconds=seconds / 4), Moment(recorded=1), Moment(recorded=CASES)]
        command = run_command(cases, model, tmp_path, "killed", *more)
        folder, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
        outcome = killed_and_resumed(command, folder, server, undisturbed, moments=moments, trials=TRIALS, at_once=AT_ONCE)
    assert outcome.problems == []
    assert not any(kill.ended for kill in outcome.kills)
    assert all(kill.recorded < CASES * TRIALS for kill in outcome.kills)


def test_a_last_line_that_was_cut_anywhere_is_asked_for_again_and_nothing_else(tmp_path: Path) -> None:
    with served(tmp_path / "log") as server:
        cases, model = write_cases(tmp_path / "cases.jsonl", 2), f"{server.url}#model"
        run_to_end(run_command(cases, model, tmp_path, "torn"), tmp_path)
        cuts, problems = torn_everywhere(cases, model, tmp_path / "torn", server, step=12)
    assert problems == []
    assert cuts > 10
