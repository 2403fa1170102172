"""Simulations that are killed, and gone on with. More of them in `benchmarks/simulation_kills.py`."""

from pathlib import Path

from tests.runs.kills import Moment, run_to_end
from tests.simulation.kills import killed_and_resumed, simulate_command
from tests.simulation.notes_case import write_folder

CASES, TRIALS, AT_ONCE = 20, 2, 4


def test_a_simulation_that_is_killed_and_gone_on_with_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    write_folder(tmp_path, CASES)
    seconds = run_to_end(simulate_command("undisturbed", trials=TRIALS, at_once=AT_ONCE), tmp_path)
    (tmp_path / "held.log").unlink()
    moments = [Moment(seconds=seconds / 4), Moment(recorded=1), Moment(recorded=CASES)]
    command = simulate_command("killed", trials=TRIALS, at_once=AT_ONCE)
    outcome = killed_and_resumed(command, tmp_path, "killed", "undisturbed", moments=moments, trials=TRIALS, at_once=AT_ONCE)
    assert outcome.problems == []
    assert not any(kill.ended for kill in outcome.kills)
    assert sum(0 < kill.recorded < CASES * TRIALS for kill in outcome.kills) >= 2
