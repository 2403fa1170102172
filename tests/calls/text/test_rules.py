"""The rules that hold for all text formats: types of values, markers that no format knows, thinking, code spans."""

from typing import Any

import pytest

from callmark.calls.text import ParsedText, parse_calls
from callmark.types import Call, Tool

XML = {
    "qwen3-coder": "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>",
    "invoke": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">{}</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax-m3": ']<]minimax[>[<invoke name="f">]<]minimax[>[<a>{}]<]minimax[>[</a>]<]minimax[>[</invoke>',
}
STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


@pytest.mark.parametrize("format_name", XML)
@pytest.mark.parametrize(
    "schema, written, value",
    [
        (STRING, "5", "5"),
        (STRING, "true", "true"),
        (STRING, '{"k": 1}', '{"k": 1}'),
        (STRING, '"quoted"', '"quoted"'),
        (INTEGER, "5", 5),
        (INTEGER, "five", "five"),
        (NUMBER, "12.50", 12.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "True", True),
        ({"type": "array", "items": STRING}, '["5"]', ["5"]),
        ({"type": "object"}, '{"k": 1}', {"k": 1}),
        ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [STRING, INTEGER]}, "5", 5),
        ({"anyOf": [STRING, {"type": "null"}]}, "5", "5"),
        ({}, "5", 5),
        (None, "5", 5),
        (None, "05", "05"),
        (None, "True", "True"),
    ],
)
def test_values_that_are_written_as_text_follow_the_schema(format_name: str, schema: Any, written: str, value: Any) -> None:
    tool = Tool("f", "", {"type": "object", "properties": {} if schema is None else {"a": schema}})
    text = XML[format_name].replace("{}", written)
    for name in (format_name, "auto"):
        assert parse_calls(text, name, tools=[tool]).calls == (Call("f", {"a": value}),)


@pytest.mark.parametrize(
    "text, marker",
    [
        ('<tool_use>{"name": "f", "input": {}}</tool_use>', "<tool_use>"),
        ('<function_call> {"name": "f", "arguments": {}}', "<function_call>"),
        ('<functioncall> {"name": "f", "arguments": {}}', "<functioncall>"),
        ('<function name="f"><param name="a">1</param></function>', '<function name="f">'),
        ('[TOOL_REQUEST]{"name": "f"}[END_TOOL_REQUEST]', "[TOOL_REQUEST]"),
        ("I call it now. <|new_tool_call|>f(a=1)", "<|new_tool_call|>"),
        ("<tool_call>f{a: 1}", "<tool_call>"),
    ],
)
def test_a_call_in_an_unknown_format_is_unrecognized(text: str, marker: str) -> None:
    for tools in ([Tool("g")], [Tool("f")]):
        parsed = parse_calls(text, tools=tools)
        assert parsed.calls or parsed.unrecognized == f'"{marker}"', parsed
    assert parse_calls(text, tools=[Tool("g")]) == ParsedText((), text, "", f'"{marker}"')
    assert parse_calls(f"`{text}` is a call.", tools=[Tool("g")]).unrecognized == ""
    assert parse_calls(f"<think>{text}</think>Hello.", tools=[Tool("g")]).unrecognized == ""


def test_the_marker_of_a_format_that_is_off_is_named_with_its_models() -> None:
    call = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
    text = f"<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"
    assert parse_calls(text, "hermes") == ParsedText((), text, "", '"<|tool_calls_section_begin|>" (Kimi)')
    assert parse_calls(f"Write `{text}` to call f.", "hermes").unrecognized == ""


def test_a_call_ends_thinking_that_is_never_closed() -> None:
    parsed = parse_calls('<think>I need f.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')
    assert parsed == ParsedText((Call("f"),), "", "I need f.")
    assert parse_calls("<think>I need\nf(a=1)") == ParsedText((), "", "I need\nf(a=1)"), "without a marker, it is still thinking"


def test_channels_of_harmony_are_text_and_thinking() -> None:
    parsed = parse_calls("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>")
    assert parsed == ParsedText((), "Hello.", "Hm.")


def test_a_single_text_input_of_react_is_the_only_parameter() -> None:
    tool = Tool("search", "", {"type": "object", "properties": {"query": {"type": "string"}}})
    text = "Thought: I look it up.\nAction: search\nAction Input: weather in Bonn\n"
    assert parse_calls(text, tools=[tool]) == ParsedText((Call("search", {"query": "weather in Bonn"}),), "", "I look it up.")


def test_an_empty_list_of_calls_is_no_call() -> None:
    for text in ('{"tool_calls": []}', "[TOOL_CALLS] []"):
        assert parse_calls(text) == ParsedText()
