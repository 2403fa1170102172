"""Simulations that are killed and resumed; `benchmarks/simulation_kills.py` has more of them."""

from pathlib import Path

from tests.runs.kills import KillTime, run_to_end
from tests.simulation.kills import kill_and_resume, simulate_command
from tests.simulation.notes_case import write_folder

CASES, TRIALS, AT_ONCE = 20, 2, 4


def test_killed_and_resumed_simulation_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    write_folder(tmp_path, CASES)
    seconds = run_to_end(simulate_command("undisturbed", trials=TRIALS, concurrency=AT_ONCE), tmp_path)
    (tmp_path / "executed.log").unlink()
    moments = [KillTime(seconds=seconds / 4), KillTime(recorded=1), KillTime(recorded=CASES)]
    command = simulate_command("killed", trials=TRIALS, concurrency=AT_ONCE)
    outcome = kill_and_resume(command, tmp_path, "killed", "undisturbed", moments=moments, trials=TRIALS, concurrency=AT_ONCE)
    assert outcome.problems == []
    assert not any(kill.ended for kill in outcome.kills)
    assert sum(0 < kill.recorded < CASES * TRIALS for kill in outcome.kills) >= 2
