"""Rows of `blowups.py`: compressed files, arrays, and conversations that are cut into decision points."""

import gzip
import json
from collections.abc import Iterable
from typing import Any

from blowups import FOLDER, Run, blowup
from callmark import grade, load, write
from callmark.api.expanding import inline_sizes, points, refuse_growth
from callmark.formats import Dataset
from callmark.formats.rows import Rows

BLOCK = 10_000  # repetitions written at once


def packed(name: str, head: bytes, piece: bytes, count: int, tail: bytes) -> str:
    """Write a gzip file of a repeated piece, and return its path."""
    path = FOLDER / name
    with gzip.open(path, "wb") as file:
        file.write(head)
        for _ in range(count // BLOCK):
            file.write(piece * BLOCK)
        file.write(tail)
    return str(path)


def read_rows(path: str, rows: int) -> Run:
    def run() -> str | None:
        assert sum(1 for _ in Rows(path)) == rows
        return None

    return run


def read_all(path: str, **options: Any) -> Run:
    def run() -> str | None:
        for _ in load(path, **options):
            pass
        return None

    return run


@blowup("gzip: array over many lines", n=500_000)
def _array(n: int) -> Run:
    return read_rows(packed("array.gz", b"[\n", b'{"a": 1},\n', n, b"{}\n]"), n + 1)


@blowup("gzip: array on one line", n=500_000)
def _array_on_one_line(n: int) -> Run:
    return read_rows(packed("array.gz", b"[", b'{"a": 1},', n, b"{}]"), n + 1)


@blowup("gzip: rows that cannot be read, skipped", n=50_000)
def _skipped(n: int) -> Run:
    path = packed("skipped.gz", b"[\n", b"{},\n", n, b'{"messages": []}\n]')

    def run() -> str | None:
        dataset = Dataset(path, format_name="openai", on_bad=lambda bad: None)
        assert len(list(dataset)) == 1
        return None

    return run


@blowup("gzip: one row of empty lists", n=8_000_000)
def _one_row(n: int) -> Run:
    path = packed("row.gz", b'{"messages": [{"role": "user", "content": [', b"[],", n, b"[]]}]}\n")
    return read_all(path)


@blowup("gzip: one element of an array", n=20_000_000)
def _one_element(n: int) -> Run:
    path = packed("element.gz", b'[{"a": 1},\n{"messages": [{"role": "user", "content": "', b"x\\n", n, b'"}]}]')
    return read_all(path, format_name="openai", skip_bad=True)


@blowup("gzip: white space in an array", n=40_000_000)
def _white_space(n: int) -> Run:
    path = packed("space.gz", b"[1,", b"\n", n, b"2]")
    return read_rows(path, 2)


@blowup("gzip: tools", n=20_000_000)
def _tools(n: int) -> Run:
    path = packed("tools.gz", b"[", b"1,", n, b"1]")

    def run() -> str | None:
        load([], tools=path)
        return None

    return run


@blowup("array in a plain file", n=500_000)
def _plain(n: int) -> Run:
    path = FOLDER / "plain.json"
    path.write_bytes(b"[" + b'{"a": 1},\n' * n + b"{}]")
    return read_rows(str(path), n + 1)


def conversation(n: int, *, parallel: bool) -> str:
    """Write a conversation with n calls, in one message each or all in one, and return the path."""
    calls = [{"id": f"c{k}", "type": "function", "function": {"name": "f", "arguments": json.dumps({"x": "a" * 100})}} for k in range(n)]
    results = [{"role": "tool", "tool_call_id": f"c{k}", "content": "ok " * 30} for k in range(n)]
    messages: Iterable[dict[str, Any]]
    if parallel:
        messages = [{"role": "assistant", "content": "All.", "tool_calls": calls}, *results]
    else:
        pairs = zip(calls, results, strict=True)
        messages = [each for one, result in pairs for each in ({"role": "assistant", "tool_calls": [one]}, result)]
    path = FOLDER / "conversation.jsonl"
    path.write_text(json.dumps({"id": "long", "messages": [{"role": "user", "content": "go"}, *messages]}) + "\n")
    return str(path)


def by_reference(n: int, *, parallel: bool = False) -> str:
    path = str(FOLDER / "by-reference.jsonl")
    write((point for point, _ in points(load(conversation(n, parallel=parallel)))), path, by_reference=True)
    return path


@blowup("expand: one conversation", n=2000)
def _expand(n: int) -> Run:
    path = conversation(n, parallel=False)
    return lambda: refuse_growth(inline_sizes(load(path)), "long.jsonl")


@blowup("expand: one message", n=2000)
def _expand_message(n: int) -> Run:
    path = conversation(n, parallel=True)
    return lambda: refuse_growth(inline_sizes(load(path)), "long.jsonl")


@blowup("expand --inline: one conversation", n=2000)
def _inline(n: int) -> Run:
    path = by_reference(n)
    return lambda: refuse_growth(inline_sizes(load(path)), "by-reference.jsonl")


@blowup("expand --by-reference: one conversation", n=2000)
def _by_reference(n: int) -> Run:
    path = conversation(n, parallel=False)
    return lambda: None if write((point for point, _ in points(load(path))), FOLDER / "out.jsonl", by_reference=True) == n else "lost rows"


@blowup("expand --by-reference: one message", n=2000)
def _by_reference_message(n: int) -> Run:
    path = conversation(n, parallel=True)
    return lambda: None if write((point for point, _ in points(load(path))), FOLDER / "out.jsonl", by_reference=True) == n else "lost rows"


def write_and_read(n: int, *, parallel: bool) -> Run:
    """Return a function that reads all records of one conversation. Each has references to all messages before it, so it is bounded."""
    path = conversation(n, parallel=parallel)

    def run() -> str | None:
        out = FOLDER / "by-reference.jsonl"
        write((point for point, _ in points(load(path))), out, by_reference=True)
        assert sum(1 for _ in load(out)) == n
        return None

    return run


@blowup("by reference: records of one conversation", n=20_000)
def _records(n: int) -> Run:
    return write_and_read(n, parallel=False)


@blowup("by reference: records of one message", n=20_000)
def _message_records(n: int) -> Run:
    return write_and_read(n, parallel=True)


@blowup("grade by reference: hallucinated values", n=1000)
def _grade_records(n: int) -> Run:
    cases, predictions = by_reference(n), FOLDER / "predictions.jsonl"
    with predictions.open("w") as file:
        for number, case in enumerate(load(cases)):
            file.write(json.dumps({"id": case.id, "calls": [{"name": "f", "arguments": {"x": f"b{number}"}}]}) + "\n")

    def run() -> str | None:
        assert grade(cases, predictions=predictions, out=FOLDER / "runs", name="mine").summary().scored == n
        return None

    return run


@blowup("by reference: conversations before their records", n=2000)
def _conversations_first(n: int) -> Run:
    path = FOLDER / "first.jsonl"
    messages = [{"role": "user", "content": "x" * 1000}, {"role": "assistant", "content": "no"}]
    with path.open("w") as file:
        for k in range(n):
            file.write(json.dumps({"conversation": {"id": str(k), "messages": messages}}) + "\n")
        for k in range(n):
            source = {"conversation": str(k * 7919 % n), "message": 1, "call": None}
            file.write(json.dumps({"id": str(k), "source": source, "expected_output": {"tool_calls": []}}) + "\n")
    return lambda: None if sum(1 for _ in load(path)) == n else "lost rows"
