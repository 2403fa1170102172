"""Runs that are killed and resumed. More of them in `benchmarks/running_kills.py`."""

from pathlib import Path

from tests.runs.kills import KillTime, cut_everywhere, kill_and_resume, run_command, run_to_end, start_chat_server, write_cases

CASES, TRIALS, CONCURRENCY = 50, 2, 4


def test_killed_and_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    with start_chat_server(tmp_path / "log", "--latency", "0.02") as server:
        cases, model = write_cases(tmp_path / "cases.jsonl", CASES), f"{server.url}#model"
        more = ("--trials", str(TRIALS), "--concurrency", str(CONCURRENCY))
        seconds = run_to_end(run_command(cases, model, tmp_path, "undisturbed", *more), tmp_path)
        moments = [KillTime(seconds=seconds / 4), KillTime(recorded=1), KillTime(recorded=CASES)]
        command = run_command(cases, model, tmp_path, "killed", *more)
        folder, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
        outcome = kill_and_resume(command, folder, server, undisturbed, moments=moments, trials=TRIALS, concurrency=CONCURRENCY)
    assert outcome.problems == []
    assert not any(kill.ended for kill in outcome.kills)
    assert all(kill.recorded < CASES * TRIALS for kill in outcome.kills)


def test_a_cut_off_last_line_is_requested_again_and_nothing_else(tmp_path: Path) -> None:
    with start_chat_server(tmp_path / "log") as server:
        cases, model = write_cases(tmp_path / "cases.jsonl", 2), f"{server.url}#model"
        run_to_end(run_command(cases, model, tmp_path, "torn"), tmp_path)
        cuts, problems = cut_everywhere(cases, model, tmp_path / "torn", server, step=12)
    assert problems == []
    assert cuts > 10
