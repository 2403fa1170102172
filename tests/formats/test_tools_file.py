"""Tools that are in a file of their own."""

import json
from pathlib import Path

import callmark
from tests.rows import assistant, call, row, user, write_rows


def test_multiline_tools_are_written_on_one_line(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools, indent=2))
    data = callmark.load(write_rows(tmp_path / "x.jsonl", row(user("x"), assistant(call("f")), tools=[])), tools=tmp_path / "tools.json")
    assert callmark.write(callmark.expand(data), tmp_path / "out.jsonl") == 1
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(line)["tools"] == tools
