"""Three conversations with nine calls, in a form that belongs to no format; every shape of `test_conformance.py` is made from them.

The arguments are strings in several scripts, numbers, booleans, nested arrays and objects, empty ones, none, text that looks like tags and
JSON, and a value that looks like a matcher.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from callmark.types import Call


class Sample(Struct, frozen=True):
    """A conversation: messages with `role`, `text`, `calls` (of an assistant), `call_id` and `name` (of a result); and its tools."""

    id: str
    messages: tuple["SampleMessage", ...]
    tools: tuple[dict[str, Any], ...]

    @property
    def calls(self) -> list[Call]:
        return [call for message in self.messages for call in message.calls]

    @property
    def system(self) -> str:
        """The text of the system message; empty if there is none."""
        return next((message.text for message in self.messages if message.role == "system"), "")

    @property
    def turns(self) -> list["SampleMessage"]:
        """The messages without the system message."""
        return [message for message in self.messages if message.role != "system"]


class SampleMessage(Struct, frozen=True):
    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    name: str = ""


def arguments_text(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)


def openai_tools(sample: Sample) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in sample.tools]


def _tool(name: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"The tool {name}.", "parameters": schema}


_STRING, _NUMBER, _INTEGER, _BOOLEAN = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))
TOOLS = (
    _tool("find_flights", {"origin": _STRING, "destination": _STRING, "seats": _INTEGER, "direct": _BOOLEAN}, ["origin", "destination"]),
    _tool("convert_amount", {"amount": _NUMBER, "currency": _STRING}, ["amount"]),
    _tool("list_orders", {}),
    _tool(
        "create_order",
        {
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": _STRING, "count": _INTEGER}}},
            "address": {"type": "object", "properties": {"street": _STRING, "zip": _STRING}},
            "gift": _BOOLEAN,
        },
        ["items"],
    ),
    _tool(
        "set_limits",
        {
            "limits": {"type": "array", "items": _NUMBER},
            "flags": {"type": "array", "items": _BOOLEAN},
            "matrix": {"type": "array", "items": {"type": "array", "items": _INTEGER}},
        },
    ),
    _tool("send_message", {"to": _STRING, "text": _STRING}, ["to", "text"]),
    _tool("add_note", {"text": _STRING, "tags": {"type": "array", "items": _STRING}, "meta": {"type": "object"}}),
    _tool("search", {"query": {"type": "object"}}),
)
CALLS = (
    Call("find_flights", {"origin": "東京", "destination": "Zürich", "seats": 2, "direct": True}, "call_1"),
    Call("convert_amount", {"amount": -12.5, "currency": "EUR"}, "call_2"),
    Call("list_orders", {}, "call_3"),
    Call(
        "create_order",
        {
            "items": [{"sku": "A-1", "count": 3}, {"sku": "Ž/β", "count": 1}],
            "address": {"street": "شارع النيل ٥", "zip": "04109"},
            "gift": False,
        },
        "call_4",
    ),
    Call("set_limits", {"limits": [0, 0.001, 10000000000], "flags": [True, False], "matrix": [[1, 2], [3]]}, "call_5"),
    Call("send_message", {"to": "Ольга", "text": 'line one\nline "two" {not JSON} </tool_call>'}, "call_6"),
    Call("find_flights", {"origin": "서울", "destination": "São Paulo", "seats": 1, "direct": False}, "call_7"),
    Call("add_note", {"text": "", "tags": [], "meta": {}}, "call_8"),
    Call("search", {"query": {"$any": True}}, "call_9"),
)


def samples(calls: Sequence[Call] = CALLS) -> list[Sample]:
    """Return three conversations with these nine calls: one by one, in parallel, and with text before a call."""
    a, b, c, d, e, f, g, h, i = calls
    return [
        Sample("first", (_user("Fly to Zürich."), _calls(a), _result(a), _calls(b), _result(b), _text("Done.")), TOOLS),
        Sample("second", (_user("Three things."), _calls(c, d, e), _result(c), _result(d), _result(e), _text("All three done.")), TOOLS),
        Sample(
            "third",
            (
                SampleMessage("system", "You are an assistant. Отвечайте кратко."),
                _user("Write to Ольга, then fly."),
                _calls(f, text="I write to her."),
                _result(f),
                _calls(g),
                _result(g),
                _text("Written and booked."),
                _user("Also take notes."),
                _calls(h, i),
                _result(h),
                _result(i),
                _text("Noted."),
            ),
            TOOLS,
        ),
    ]


def with_other_arguments(call: Call) -> Call:
    """Return a call with one argument changed, removed or added, so that `exact` calls it different."""
    if not call.arguments:
        return structs.replace(call, arguments={"page": 2})
    key, value = next(iter(call.arguments.items()))
    return structs.replace(call, arguments={**call.arguments, key: "other" if isinstance(value, str) else [value, value]})


def _user(text: str) -> SampleMessage:
    return SampleMessage("user", text)


def _text(text: str) -> SampleMessage:
    return SampleMessage("assistant", text)


def _calls(*calls: Call, text: str = "") -> SampleMessage:
    return SampleMessage("assistant", text, calls)


def _result(call: Call) -> SampleMessage:
    return SampleMessage("tool", f"result of {call.id}", (), call.id or "", call.name)
