import subprocess
import sys
from pathlib import Path

from tests.conftest import Cli

PROGRAM = """
import grader
item = {"expected_output": {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}}
print(grader.grade({"output_tools": [{"name": "f", "arguments": '{"a": "1"}'}]}, item), grader.grade({"output_tools": []}, item))
"""


def test_exported_grader_runs_on_its_own(cli: Cli, tmp_path: Path) -> None:
    completed = cli("export", "grader", "-o", tmp_path / "grader.py")
    assert completed.status == 0
    assert f"→ {tmp_path / 'grader.py'}" in completed.out
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
    printed = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "1.0 0.0\n"


def test_grader_is_written_to_standard_output(cli: Cli) -> None:
    assert "def grade(" in cli("export", "grader", "-o", "-").out
