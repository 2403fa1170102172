"""A folder for simulations: notes as tools, agents, scripted scenarios. Every simulated conversation adds a line to `executed.log`."""

import json
from pathlib import Path
from typing import Any

from tests.rows import write_rows

TOOLS = '''
class Notes:
    """Notes of one conversation."""

    def __init__(self):
        self.notes = {}

    def add_note(self, title: str, text: str = "") -> str:
        """Add a note.

        Args:
            title: The title.
            text: The content.
        """
        self.notes[f"N-{len(self.notes) + 1}"] = {"title": title, "text": text}
        return f"N-{len(self.notes)}"

    def state(self):
        return {"notes": self.notes}
'''

AGENT = """
import json, os, time

LOG = os.path.abspath("executed.log")

def _title(messages):
    said = [message["content"] for message in messages if message["role"] == "user"]
    if len(said) == 1:
        with open(LOG, "a") as log:
            log.write(said[0].split()[-1].rstrip(".") + "\\n")
    return said[0].split()[-1].rstrip("."), len(said)

def _call(title):
    return {"id": "1", "type": "function", "function": {"name": "add_note", "arguments": json.dumps({"title": title})}}

def answer(messages, tools):
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": "It is there."}
    title, turn = _title(messages)
    if turn > 1:
        return {"role": "assistant", "content": "Goodbye."}
    if os.path.exists("broken") and title == "n2":
        raise RuntimeError("the agent fell over")
    return {"role": "assistant", "content": None, "tool_calls": [_call(title)]}

def slow(messages, tools):
    time.sleep(0.02)
    return answer(messages, tools)

def wrong(messages, tools):
    return {"role": "assistant", "content": "I cannot do that." if len(messages) == 1 else "Goodbye."}

def chatbot(messages, tools):
    title, turn = _title(messages)
    return {"role": "assistant", "content": "It is there.", "tool_calls": [_call(title)] if turn == 1 else []}
"""


def scenario(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"s{number}",
        "description": "a note",
        "scenarioType": "add",
        "instructions": f"Have a note called n{number} added.",
        "task_completion_condition": "The user has said goodbye",
        "expected_function_calls": [{"functionName": "add_note", "arguments": {"title": f"n{number}"}}],
        "data": {"script": [f"Please add n{number}.", "Thanks, bye."]},
        **more,
    }


def write_folder(folder: Path, count: int = 4) -> None:
    (folder / "notes.py").write_text(TOOLS, encoding="utf-8")
    (folder / "noting.py").write_text(AGENT, encoding="utf-8")
    write_rows(folder / "scenarios.jsonl", *[scenario(number) for number in range(count)])


def lines(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def executed(folder: Path | str = ".") -> list[str]:
    log = Path(folder, "executed.log")
    return sorted(log.read_text(encoding="utf-8").split()) if log.exists() else []
