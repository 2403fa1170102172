"""The data of the fine-tune: short conversations with a retail store, in three parts that share no conversation.

`prepare` synthesizes conversations, shortens them, keeps those without errors and hallucinated values, and splits them: `train` to learn
from, `validation` for the learning curve, `held-out` for the result. It writes

    held-out.jsonl, validation.jsonl    test cases: every call of a conversation, and one turn where none is expected
    train.json, validation.json         prompts and completions for training: a list of conversations, each a list of turns

A turn is what the model should say at a decision point, after the messages of the request that `callmark run --model local:
--tools-in-prompt` sends for it: the model is trained on the text that it is run with. The completion is written as the same request repeats
it in later turns. Conversations of which a decision point is in the held-out part, or nearly so, are not trained on, and counted.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import callmark
from callmark import Case, Conversation
from callmark.models.chat_request import request_body
from callmark.models.tools_in_prompt import messages_as_text
from callmark.training_data.leaks import TestSet

SYSTEM = "You are the assistant of a retail store."
MAX_CHARACTERS = 5000  # of a prompt; about 1,800 tokens, a quarter of them digits
_SETTINGS = callmark.ModelSettings(model="local:", tools_in_prompt="free")


class Sizes(Struct, frozen=True):
    """The number of conversations to synthesize, and how many of them are held out, and are for validation."""

    conversations: int = 460
    held_out: int = 28
    validation: int = 8


class Counts(Struct, frozen=True):
    """How much data there is. `calls` and `replies` are held-out cases with and without a call; `leaks` are counted by how they leak."""

    synthesized: int
    kept: int
    train: int
    train_turns: int
    held_out: int
    calls: int
    replies: int
    leaks: dict[str, int]


class Turn(Struct, frozen=True):
    """What the model should say after these messages. A reply without a call is a turn, too."""

    messages: list[dict[str, str]]
    completion: str
    is_call: bool


def prepare(folder: Path, sizes: Sizes, *, seed: int = 7) -> Counts:
    """Write the data, and return how much there is. The same sizes and seed give the same data."""
    callmark.synth(folder / "synthesized", number=sizes.conversations, valid=0, system=SYSTEM, seed=seed)
    rows = [json.loads(line) for line in (folder / "synthesized" / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    _write_rows(folder / "short.jsonl", map(shorten, rows))
    kept = callmark.filter(folder / "short.jsonl", clean=True, grounded=True, out=folder / "good.jsonl").counts.kept
    callmark.split(folder / "good.jsonl", valid=sizes.held_out / kept, seed=seed, out=folder / "parts")
    rest = kept - sizes.held_out
    callmark.split(folder / "parts" / "train.jsonl", valid=sizes.validation / rest, seed=seed, out=folder / "learning")
    held_out = _read(folder / "parts" / "valid.jsonl")
    train, leaks = without_leaks(_read(folder / "learning" / "train.jsonl"), held_out)
    validation, _ = without_leaks(_read(folder / "learning" / "valid.jsonl"), held_out)
    cases = [case for row in held_out for case in cases_of(row)]
    callmark.write(cases, folder / "held-out.jsonl")
    callmark.write([case for row in validation for case in cases_of(row)], folder / "validation.jsonl")
    turns = [turns_of(row) for row in train]
    _write_turns(folder / "train.json", turns)
    _write_turns(folder / "validation.json", map(turns_of, validation))
    with_call = sum(bool(case.expected) for case in cases)
    total = sum(map(len, turns))
    return Counts(len(rows), kept, len(train), total, len(held_out), with_call, len(cases) - with_call, dict(leaks))


def shorten(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with fewer tokens: the first sentence of each tool, parameters without descriptions, results without spaces.

    No value is lost that a call could need.
    """
    return {
        **row,
        "tools": [{**tool, "function": _short_tool(tool["function"])} for tool in row["tools"]],
        "messages": [
            {**message, "content": _compact(message["content"])} if message["role"] == "tool" else message for message in row["messages"]
        ],
    }


def decision_points(row: Conversation) -> list[Case]:
    """Return the decision points of a conversation, with and without a call, up to the first whose prompt is too long."""
    points = []
    for case in callmark.expand([row], abstain=True, parallel="together"):
        if sum(len(message["content"]) for message in prompt(case)) > MAX_CHARACTERS:
            break
        points.append(case)
    return points


def cases_of(row: Conversation) -> list[Case]:
    """Return the test cases of a conversation: every decision point with a call, and the last one without."""
    points = decision_points(row)
    last_reply = next((case for case in reversed(points) if not case.expected), None)
    return [case for case in points if case.expected or case is last_reply]


def prompt(case: Case) -> list[dict[str, str]]:
    """Return the messages that `callmark run --model local: --tools-in-prompt` sends for a case."""
    messages: list[dict[str, str]] = json.loads(request_body(case, "smollm2", _SETTINGS))["messages"]
    return messages


def turns_of(row: Conversation) -> list[Turn]:
    """Return what the model should say at each decision point of a conversation."""
    turns = []
    for case in decision_points(row):
        assert case.source is not None
        said = row.messages[case.source.message]
        turns.append(Turn(prompt(case), messages_as_text([said], "", constrained=False)[0]["content"], bool(said.calls)))
    return turns


def without_leaks(rows: Iterable[Conversation], held_out: Iterable[Conversation]) -> tuple[list[Conversation], Counter[str]]:
    """Return the conversations that share no decision point with the held-out ones, and how the others do."""
    tests = TestSet([*held_out, *(case for row in held_out for case in callmark.expand([row]))])
    kept, leaks = [], Counter[str]()
    for row in rows:
        leak = next(filter(None, map(tests.leak, callmark.expand([row]))), None)
        if leak is None:
            kept.append(row)
        else:
            leaks[leak] += 1
    return kept, leaks


def _short_tool(function: dict[str, Any]) -> dict[str, Any]:
    parameters = function["parameters"]
    properties = {
        name: {key: value for key, value in field.items() if key != "description"} for name, field in parameters["properties"].items()
    }
    first = function["description"].split(". ")[0].rstrip(".") + "."
    return {**function, "description": first, "parameters": {**parameters, "properties": properties}}


def _compact(text: str) -> str:
    try:
        return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return text


def _read(path: Path) -> list[Conversation]:
    return list(callmark.load(path))


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


def _write_turns(path: Path, conversations: Iterable[list[Turn]]) -> None:
    path.write_bytes(msgspec.json.encode(list(conversations)))
