"""Runs and simulations in a process that may open 64 files: every case is done."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.runs.kills import run_command, start_chat_server, write_cases
from tests.simulation.mcp_servers import raw_server
from tests.simulation.notes_case import write_folder

LIMIT = 64
SERVER = 'TOOLS = [{"name": "add_note", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}}]'


def run_limited(command: Sequence[str], folder: Path) -> str:
    """Run a command that may open few files, and return what it prints on standard error."""
    limited = ["bash", "-c", f'ulimit -n {LIMIT}; exec "$@"', "bash", *command]
    done = subprocess.run(limited, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def recorded(folder: Path) -> Counter[str]:
    """Return how often each case is recorded; an error fails."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in (folder / "predictions.jsonl").read_bytes().splitlines()]
    assert [row["error"] for row in rows if row.get("error")] == []
    return Counter(row["case"] for row in rows)


def test_requests_are_sent_fewer_at_a_time(tmp_path: Path) -> None:
    with start_chat_server(tmp_path / "log", "--latency", "0.05") as server:
        cases = write_cases(tmp_path / "cases.jsonl", 100)
        printed = run_limited(run_command(cases, f"{server.url}#m", tmp_path, "mine", "--concurrency", "100", "--retries", "0"), tmp_path)
    assert "concurrency lowered from 100 to " in printed
    assert "ulimit -n" in printed
    assert recorded(tmp_path / "mine") == Counter(f"case-{number}" for number in range(100))


def test_tool_servers_are_started_fewer_at_a_time(tmp_path: Path) -> None:
    write_folder(tmp_path, 16)
    agent = (tmp_path / "noting.py").read_text(encoding="utf-8").replace("0.02", "0.05")
    (tmp_path / "noting.py").write_text(agent, encoding="utf-8")
    given = ["scenarios.jsonl", "--agent", "python:noting:slow", "--user", "script", "--tools", f"mcp:{raw_server(tmp_path, SERVER)}"]
    printed = run_limited(
        [sys.executable, "-m", "callmark", "simulate", *given, "-o", ".", "--name", "mine", "--concurrency", "16"], tmp_path
    )
    assert "concurrency lowered from 16 to " in printed
    assert recorded(tmp_path / "mine") == Counter(f"s{number}" for number in range(16))
