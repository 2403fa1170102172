"""A row that is read without what it repeats of the row before it is read as if it were alone."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.errors import BadInput
from callmark.formats.format import ReadContext
from callmark.formats.openai import read, write
from callmark.types import Conversation, Place
from tests.rows import WEATHER, assistant, call, result, user, write_rows

OTHER = {"type": "function", "function": {"name": "other", "parameters": {}}}
PLACE = Place("f", 1)
TRICKY = ["hi", 'a","tools":[]', '"messages":[', ',"expected_output":{}', "]", "é", "\\", "\u2028", ""]

messages = st.lists(
    st.sampled_from(TRICKY).map(user)
    | st.sampled_from(TRICKY).map(lambda text: assistant(call("get_weather", {"city": text})))
    | st.sampled_from(TRICKY).map(result),
    max_size=4,
)
extras: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["source", "group", "note", "meta", "item"]),
    st.sampled_from(["x", 5, None, {"conversation": "c", "message": 1}, {"messages": [], "tools": [], "expected_output": {}}]),
    max_size=2,
)


@st.composite
def files(draw: st.DrawFn) -> list[str]:
    """Rows of a file: each with the same tools or others, the same history or another, keys in one order or another."""
    rows = []
    history: list[Any] = []
    for index in range(draw(st.integers(1, 6))):
        history = [*(history if draw(st.booleans()) else []), *draw(messages)]
        tools = draw(st.sampled_from([[WEATHER], [WEATHER], [OTHER], []]))
        fields: dict[str, Any] = {"id": f"r{index}", "messages": history}
        ending = {"expected_output": {"role": "assistant", "tool_calls": [call("get_weather", {"city": draw(st.sampled_from(TRICKY))})]}}
        middle = {"tools": tools}
        more = draw(extras)
        row = draw(st.sampled_from([{**fields, **middle, **ending, **more}, {**fields, **more, **middle}, {**fields, **ending, **middle}]))
        compact = draw(st.booleans())
        rows.append(json.dumps(row, separators=(",", ":") if compact else None, ensure_ascii=draw(st.booleans())))
    return rows


def alone(row: bytes) -> Conversation | str:
    try:
        return read(row, PLACE, ReadContext())
    except BadInput as error:
        return str(error)


@pytest.mark.laws
@given(files())
def test_a_row_reads_the_same_alone_and_after_others(rows: list[str]) -> None:
    reading = ReadContext()
    for text in rows:
        row = text.encode()
        expected = alone(row)
        try:
            found: Conversation | str = read(row, PLACE, reading)
        except BadInput as error:
            found = str(error)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected
            continue
        for field in expected.__struct_fields__:
            if field != "original":
                assert getattr(found, field) == getattr(expected, field), field
        assert write(found) == write(expected)


def test_messages_of_the_previous_row_are_not_decoded_again(tmp_path: Path) -> None:
    talk = write_rows(
        tmp_path / "talk.jsonl",
        {"messages": [user("one"), assistant(call("get_weather", {"city": "x"})), result("fine"), assistant(call("get_weather", {}))]}
        | {"tools": [WEATHER]},
    )
    callmark.write(callmark.expand(callmark.load(talk)), tmp_path / "eval.jsonl")
    rows = (tmp_path / "eval.jsonl").read_bytes().splitlines()
    reading = ReadContext()
    read(rows[0], PLACE, reading)
    second = read(rows[1], PLACE, reading)
    third = read(rows[1], PLACE, reading)
    assert third.messages[0] is second.messages[0]
    assert third.messages == alone(rows[1]).messages  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "broken",
    [
        b'{"id":"b","messages":[{"role":"user","content":"one"}],,"tools":TOOLS,"expected_output":{"tool_calls":[]}}',
        b'{"id":"b","messages":[{"role":"user","content":"one"}]"tools":TOOLS,"expected_output":{"tool_calls":[]}}',
        b'{"id":"b","messages":[{"role":"user","content":"one"},],"tools":TOOLS,"expected_output":{"tool_calls":[]}}',
        b'{"id":"b","messages":[{"role":"user","content":"one"}],"note":"cut,"tools":TOOLS,"expected_output":{"tool_calls":[]}}',
        b'{"id":"b","messages":[{"role":"user","content":"\xff"}],"tools":TOOLS,"expected_output":{"tool_calls":[]}}',
    ],
)
def test_a_broken_row_stays_broken_after_a_good_one(broken: bytes) -> None:
    good = b'{"id":"a","messages":[{"role":"user","content":"one"}],"tools":TOOLS,"expected_output":{"tool_calls":[]}}'
    tools = json.dumps([WEATHER], separators=(",", ":")).encode()
    reading = ReadContext()
    for _ in range(2):
        read(good.replace(b"TOOLS", tools), PLACE, reading)
    with pytest.raises((BadInput, ValueError)):
        read(broken.replace(b"TOOLS", tools), PLACE, reading)


def test_a_row_with_an_invalid_byte_anywhere_is_broken_after_good_ones() -> None:
    tools = [{**WEATHER, "note": "é"}]
    rows = [
        json.dumps(
            {"id": "a", "messages": said, "tools": tools, "expected_output": {"tool_calls": [call("get_weather", {"city": "é"})]}},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()
        for said in ([user("é")], [user("é")], [user("é"), assistant("é"), user("ü")])
    ]
    for at in range(len(rows[-1]) + 1):
        reading = ReadContext()
        for row in rows:
            read(row, PLACE, reading)
        with pytest.raises((UnicodeDecodeError, msgspec.DecodeError)):
            read(rows[-1][:at] + b"\xff" + rows[-1][at:], PLACE, reading)


TOOLS = json.dumps([WEATHER], separators=(",", ":"))
EXPECTED = '"expected_output":{"role":"assistant","tool_calls":[]}'
SAID = '{"role":"user","content":"one"}'
MORE = '{"role":"user","content":"two"}'


@pytest.mark.parametrize(
    "last",
    [
        f'{{"id":"c","messages":[{SAID}],"transcript":[{SAID},{MORE}],"tools":{TOOLS},{EXPECTED}}}',
        f'{{"id":"c","messages":[{SAID}],"group":[{SAID},{MORE}],"tools":{TOOLS},{EXPECTED}}}',
        f'{{"id":"c","messages":[{SAID}],{EXPECTED},"meta":{{"k":1,"tools":{TOOLS},{EXPECTED}}}}}',
        f'{{"id":"c","messages":[{SAID},{MORE}],"messages":[{MORE}],"tools":{TOOLS},{EXPECTED}}}',
        f'{{"id":"c","messages":[{SAID}],"expected_output":{{"k":1,"tools":{TOOLS},{EXPECTED}}}}}',
        f'{{"id":"c","messages":[{SAID}],{EXPECTED},"source":{{"conversation":"x","message":1,"k":[],"tools":{TOOLS},{EXPECTED}}}}}',
    ],
)
def test_apparent_repetitions_are_read_in_full(last: str) -> None:
    reading = ReadContext()
    for _ in range(2):
        read(f'{{"id":"a","messages":[{SAID}],"tools":{TOOLS},{EXPECTED}}}'.encode(), PLACE, reading)
        read(f'{{"id":"b","messages":[{SAID}],"transcript":[{SAID}],"tools":{TOOLS},{EXPECTED}}}'.encode(), PLACE, reading)
    found, expected = read(last.encode(), PLACE, reading), alone(last.encode())
    assert not isinstance(expected, str)
    assert (found.messages, found.tools) == (expected.messages, expected.tools)
