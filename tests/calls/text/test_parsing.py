import json
import keyword
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callmark import registry
from callmark.calls.text import ParsedText, TextFormat, check_text_format, detect, parse_calls, text_format_names
from callmark.calls.text.python_code import LONGEST_CODE
from callmark.errors import BadInput
from callmark.types import Call, Tool
from tests.conftest import Cli
from tests.rows import call, row, user, write_rows

FORMATS = text_format_names()
F = Call("f", {"a": 1})
G = Call("g")
F_JSON = '{"name": "f", "arguments": {"a": 1}}'
G_JSON = '{"name": "g", "arguments": {}}'
DEEP = '{"name": "f", "arguments": {"a": ' + "[" * 10_000 + "]" * 10_000 + "}}"

HERMES = [
    (f"<tool_call>{F_JSON}</tool_call>", [F]),
    (f"<tool_call>\n{F_JSON}\n</tool_call>\n<tool_call>\n{G_JSON}\n</tool_call>", [F, G]),
    (f"<tool_call>{F_JSON}</tool_call>" * 2, [F, F]),
    (f"<tool_call>[{F_JSON}, {G_JSON}]</tool_call>", [F, G]),
    (f"<tool_call>{F_JSON}\n{G_JSON}</tool_call>", [F, G]),
    ('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', [F]),
    ('<tool_call>{"id": "7", "function": {"name": "f", "arguments": {"a": 1}}}</tool_call>', [Call("f", {"a": 1}, "7")]),
    ('<tool_call>{"name": "f", "arguments": {"a": {"b": [{"c": "}"}]}}}</tool_call>', [Call("f", {"a": {"b": [{"c": "}"}]}})]),
    ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>', [Call("f", {"a": "</tool_call>"})]),
    ('<tool_call>{"name": "f", "arguments": {"a": "<tool_call>{"}}</tool_call>', [Call("f", {"a": "<tool_call>{"})]),
    ('<tool_call>{"name": "f", "arguments": {"a": "<think>x</think>"}}</tool_call>', [Call("f", {"a": "<think>x</think>"})]),
    (f"<tool_call>{F_JSON}", [F]),
    (f"<tool_call>{F_JSON}<tool_call>{G_JSON}</tool_call>", [F, G]),
    (f"<tool_call>{F_JSON}</tool_call><|im_end|>\n", [F]),
]
QWEN3_CODER = [
    ("<tool_call><function=f><parameter=a>1</parameter></function></tool_call>", [F]),
    ("<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>", [F]),
    ("<function=f><parameter=a>1</parameter></function></tool_call>", [F]),
    ("<tool_call><function=g></function></tool_call>", [G]),
    ('<function=f>{"a": 1}</function>', [F]),
    ('<function=f>{"a": 1}', [F]),
    ('<function=f>{"a": "</function>"}</function><function=g>{}</function>', [Call("f", {"a": "</function>"}), G]),
]
MISTRAL = [
    (f"[TOOL_CALLS] [{F_JSON}, {G_JSON}]", [F, G]),
    (f"[TOOL_CALLS]{F_JSON}</s>", [F]),
    (f'[TOOL_CALLS] [{{"name": "f", "arguments": {{"a": 1}}, "id": "abc"}}]{" "}', [Call("f", {"a": 1}, "abc")]),
    ('[TOOL_CALLS]f[ARGS]{"a": 1}', [F]),
    ('[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}', [F, G]),
    ('[TOOL_CALLS]f[ARGS]{"a": 1}g[ARGS]{}</s>', [F, G]),
    ('[TOOL_CALLS]f[CALL_ID]abc[ARGS]{"a": 1}', [Call("f", {"a": 1}, "abc")]),
    ('[TOOL_CALLS]f{"a": 1}', [F]),
    ('[TOOL_CALLS]f[ARGS]{"a": "[TOOL_CALLS]"}', [Call("f", {"a": "[TOOL_CALLS]"})]),
    ("[TOOL_CALLS] []", []),
]
LLAMA3 = [
    ('<|python_tag|>{"name": "f", "parameters": {"a": 1}}<|eom_id|>', [F]),
    (f"<|python_tag|>{F_JSON}<|eot_id|><|eot_id|>", [F]),
    (f'<|python_tag|>{{"name": "f", "parameters": {{"a": 1}}}}; {G_JSON}', [F, G]),
    (f"<|python_tag|>{F_JSON}\n{G_JSON}", [F, G]),
    (f"<|python_tag|>{F_JSON}<|python_tag|>{G_JSON}", [F, G]),
    ('<|python_tag|>{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}', [F]),
    ('{"name": "f", "parameters": {"a": 1}}', [F]),
    ('{"type": "function", "name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": null}', [F, G]),
    ('<function=f>{"a": 1}</function><|eom_id|>', [F]),
    ('<|python_tag|><function=f>{"a": 1}</function>', [F]),
    ('<|python_tag|>brave_search.call(query="x")', [Call("brave_search.call", {"query": "x"})]),
]
PYTHONIC = [
    ("[f(a=1)]", [F]),
    ("f(a=1)", [F]),
    ("[f(a=1), g()]", [F, G]),
    ("f(a=1)\ng()", [F, G]),
    ("f(a=1); g()", [F, G]),
    ("[\n  f(\n    a=1,\n  ),\n  g(),\n]", [F, G]),
    ("```python\n[f(a=1)]\n```", [F]),
    (
        """[a.b-c(s="x", t='(', l=[1, -2.5], d={"k": (None, True)}, n=null, y=true, z=false)]""",
        [Call("a.b-c", {"s": "x", "t": "(", "l": [1, -2.5], "d": {"k": [None, True]}, "n": None, "y": True, "z": False})],
    ),
    ('f(a="""it\'s ) "quoted" """)', [Call("f", {"a": 'it\'s ) "quoted" '})]),
    (r'f(a="\d")', [Call("f", {"a": "\\d"})]),
    ('f(a="x" "y")', [Call("f", {"a": "xy"})]),
]
JSON = [
    (F_JSON, [F]),
    (f"[{F_JSON}, {G_JSON}]", [F, G]),
    (f"{F_JSON}\n{G_JSON}", [F, G]),
    (f"```json\n{F_JSON}\n```", [F]),
    (f"```\n[{F_JSON}]\n```", [F]),
    (f"```json\n{F_JSON}\n{G_JSON}\n```", [F, G]),
    ('{"name": "f", "parameters": {"a": 1}}', [F]),
    ('{"id": "7", "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}', [Call("f", {"a": 1}, "7")]),
    ('{"tool": {"name": "f", "arguments": {"a": 1}}}', [F]),
    ('{"functionName": "f", "arguments": {"a": 1}}', [F]),
    ('{"type": "tool_use", "name": "f", "input": {"a": 1}}', [F]),
    ('{"name": "f", "kwargs": {"a": 1}}', [F]),
    ('{"functionName": "g"}', [G]),
    ('{"name": "f", "arguments": {"a": "```"}}', [Call("f", {"a": "```"})]),
]
TABLES: dict[str, list[tuple[str, list[Call]]]] = {
    "hermes": HERMES,
    "qwen3-coder": QWEN3_CODER,
    "mistral": MISTRAL,
    "llama3": LLAMA3,
    "pythonic": PYTHONIC,
    "json": JSON,
}
CASES = [(format_name, text, calls) for format_name, table in TABLES.items() for text, calls in table]


@pytest.mark.parametrize("format_name, text, calls", CASES)
def test_a_text_of_calls_leaves_no_text(format_name: str, text: str, calls: list[Call]) -> None:
    assert parse_calls(text, format_name) == ParsedText(tuple(calls))


@pytest.mark.parametrize("text, calls", [(text, calls) for _, text, calls in CASES if calls])
def test_auto_reads_what_the_format_itself_reads(text: str, calls: list[Call]) -> None:
    assert parse_calls(text) == ParsedText(tuple(calls))


@pytest.mark.parametrize("format_name, text", [(format_name, text) for format_name, text, calls in CASES if calls])
def test_text_before_the_calls_is_kept(format_name: str, text: str) -> None:
    alone = parse_calls(text, format_name)
    tools = [Tool(call.name) for call in alone.calls]
    assert parse_calls(f"Let me see (first):\n{text}", format_name, tools=tools) == ParsedText(alone.calls, "Let me see (first):")


@pytest.mark.parametrize(
    "text, format_name",
    [
        (f"One\n<tool_call>{F_JSON}</tool_call> two <tool_call>{G_JSON}</tool_call> three", "hermes"),
        (f"One {F_JSON} two\n```json\n{G_JSON}\n```\nthree", "json"),
        ("One\nf(a=1)\ntwo [g()]\nthree", "pythonic"),
        (f"One [TOOL_CALLS] [{F_JSON}] two [TOOL_CALLS] [{G_JSON}] three", "mistral"),
        (f"One <|python_tag|>{F_JSON} two <|python_tag|>{G_JSON} three", "llama3"),
    ],
)
def test_text_between_calls_is_kept(text: str, format_name: str) -> None:
    assert parse_calls(text, format_name, tools=[Tool("f"), Tool("g")]) == ParsedText((F, G), "One\ntwo\nthree")


@pytest.mark.parametrize(
    "written, value",
    [
        ("5", 5),
        ("05", "05"),
        ("true", True),
        ("null", None),
        ('{"k": [1]}', {"k": [1]}),
        ('"quoted"', '"quoted"'),
        ("NaN", "NaN"),
        ("", ""),
        ("\nTwo\nlines\n", "Two\nlines"),
        ("\n\n x \n\n", "\n x \n"),
        ("if a < b: </tool_call>", "if a < b: </tool_call>"),
    ],
)
def test_parameter_is_json_unless_that_is_a_string_or_invalid(written: str, value: Any) -> None:
    text = f"<tool_call>\n<function=f>\n<parameter=a>{written}</parameter>\n</function>\n</tool_call>"
    assert parse_calls(text).calls == (Call("f", {"a": value}),)


MALFORMED: list[tuple[str, str, list[str], str]] = [
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 1', ["f"], '{"name": "f", "arguments": {"a": 1'),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>', ["f"], '{"name": "f", "arguments": {"a": 1}'),
    ("hermes", f"<tool_call>{F_JSON}}}</tool_call>", ["f"], F_JSON + "}"),
    ("hermes", f"<tool_call>{F_JSON}}}", ["f"], F_JSON + "}"),
    ("hermes", f"<tool_call>{F_JSON} and more</tool_call>", ["f"], F_JSON + " and more"),
    ("hermes", "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>", ["f"], "{'name': 'f', 'arguments': {}}"),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>', ["f"], '{"name": "f", "arguments": {"a": NaN}}'),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": "x\ny"}}</tool_call>', ["f"], '{"name": "f", "arguments": {"a": "x\ny"}}'),
    ("hermes", '<tool_call>{"name": "f", "arguments": [1]}</tool_call>', ["f"], "[1]"),
    ("hermes", f"<tool_call>{DEEP}</tool_call>", ["f"], DEEP),
    ("hermes", "<tool_call>no JSON</tool_call>", [""], "no JSON"),
    ("hermes", "<tool_call>5</tool_call>", [""], "5"),
    ("hermes", "<tool_call>[]</tool_call>", [""], "[]"),
    ("hermes", "<tool_call></tool_call>", [""], ""),
    ("hermes", "<tool_call>", [""], ""),
    ("hermes", '<tool_call>{"arguments": {"a": 1}}</tool_call>', [""], '{"a":1}'),
    ("qwen3-coder", "<tool_call><function=f><parameter=a>1", ["f"], "<parameter=a>1"),
    ("qwen3-coder", "<tool_call><function=f><parameter=a>1</parameter></tool_call>", ["f"], "<parameter=a>1</parameter>"),
    ("qwen3-coder", "<tool_call><function=f>a is 1</function></tool_call>", ["f"], "a is 1"),
    ("qwen3-coder", "<tool_call><function=f", ["f"], ""),
    ("qwen3-coder", '<function=f>{"a": </function>', ["f"], '{"a": '),
    ("qwen3-coder", '<function=f>{"a": 1} and</function>', ["f"], '{"a": 1} and'),
    ("mistral", '[TOOL_CALLS] [{"name": "f", "argum', ["f"], '{"name": "f", "argum'),
    ("mistral", '[TOOL_CALLS]f[ARGS]{"a": ', ["f"], '{"a":'),
    ("mistral", "[TOOL_CALLS]f[ARGS]a is 1", ["f"], "a is 1"),
    ("llama3", '<|python_tag|>{"name": "f", "parameters": {"a"', ["f"], '{"name": "f", "parameters": {"a"'),
    ("llama3", '{"name": "f", "parameters": [1]}', ["f"], "[1]"),
    ("pythonic", "f(1)", ["f"], "f(1)"),
    ("pythonic", "[f(x=y)]", ["f"], "f(x=y)"),
    ("pythonic", "f(a=open('x'))", ["f"], "f(a=open('x'))"),
    ("pythonic", "f(a=1, a=2)", ["f"], "f(a=1, a=2)"),
    ("pythonic", "f(**{'a': 1})", ["f"], "f(**{'a': 1})"),
    ("pythonic", "f(a={1: 2})", ["f"], "f(a={1: 2})"),
    ("pythonic", "f(a={1, 2})", ["f"], "f(a={1, 2})"),
    ("pythonic", "f(a=b'x')", ["f"], "f(a=b'x')"),
    ("pythonic", "f(a=1e999)", ["f"], "f(a=1e999)"),
    ("pythonic", f"f(a=0x{'f' * 9000})", ["f"], f"f(a=0x{'f' * 9000})"),
    ("pythonic", "f(a='\ud800')", ["f"], "f(a='\\ud800')"),
    ("pythonic", "f(a=1 b=2)", ["f"], "f(a=1 b=2)"),
    ("pythonic", "[f(a=1, b=", ["f"], "f(a=1, b="),
    ("pythonic", "I call\nf(a='x", ["f"], "f(a='x"),
    ("pythonic", "f(a=" + "[" * 10_000 + "]" * 10_000 + ")", ["f"], "f(a=" + "[" * 10_000 + "]" * 10_000 + ")"),
    ("json", '{"name": "f", "arguments": {"a": 1,}}', ["f"], '{"name": "f", "arguments": {"a": 1,}}'),
    ("json", '```json\n{"name": "f", "arguments": {"a": 1\n```', ["f"], '{"name": "f", "arguments": {"a": 1'),
    ("json", F_JSON + "}", ["f"], F_JSON + "}"),
    ("json", DEEP, ["f"], DEEP),
]


@pytest.mark.parametrize("format_name, text, names, kept", MALFORMED)
def test_a_broken_call_is_malformed_with_its_name_and_text(format_name: str, text: str, names: list[str], kept: str) -> None:
    parsed = parse_calls(text, format_name, tools=[Tool("f")])
    assert [call.name for call in parsed.calls] == names
    assert all(call.malformed and not call.arguments for call in parsed.calls)
    assert parsed.calls[-1].text.strip() == kept.strip()


@pytest.mark.parametrize(
    "format_name, text",
    [
        ("hermes", f'<tool_call>{{"name": "f", "arguments": {{</tool_call><tool_call>{G_JSON}</tool_call>'),
        ("hermes", f'<tool_call>{{"name": "f", "arguments": {{"a": "x<tool_call>{G_JSON}</tool_call>'),
        ("hermes", f'<tool_call>[{{"name": "f", "arguments": {{"a": oops}}}}, {G_JSON}]</tool_call>'),
        ("qwen3-coder", "<tool_call><function=f><parameter=a>1<function=g></function></tool_call>"),
        ("mistral", f'[TOOL_CALLS] [{{"name": "f", "arguments": {{"a": oops}}}}, {G_JSON}]'),
        ("llama3", f'<|python_tag|>{{"name": "f", "parameters": {{"a": oops}}}}; {G_JSON}'),
        ("pythonic", "[f(oops), g()]"),
        ("json", f'[{{"name": "f", "arguments": {{"a": oops}}}}, {G_JSON}]'),
        ("json", f'[{{"name": "f", "arguments": {{"a": NaN}}}}, {G_JSON}]'),
    ],
)
def test_a_broken_call_does_not_swallow_the_next(format_name: str, text: str) -> None:
    broken, whole = parse_calls(text, format_name).calls
    assert broken.name == "f"
    assert broken.malformed
    assert whole == G


def test_complete_calls_of_a_truncated_list_are_well_formed() -> None:
    first, second = parse_calls(f'[TOOL_CALLS] [{F_JSON}, {{"name": "g", "argu').calls
    assert first == F
    assert (second.name, bool(second.malformed)) == ("g", True)


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "The order is on its way (two parcels).",
        "The item(s) cost 5, see [1] and {x}.",
        'The customer is {"customer": "Ann", "age": 5}.',
        '```json\n{"status": "ok"}\n```',
        "[1, 2, 3]",
        '{"a": {"b": 1}}',
        "```python\nx = [1]\n```",
    ],
)
def test_plain_text_has_no_call(format_name: str, text: str) -> None:
    assert parse_calls(text, format_name) == ParsedText((), text.strip())


@pytest.mark.parametrize(
    "text", ['{"name": "Ann", "age": 5}', '[{"name": "Ann", "age": 5}]', "Note(this one)", "See f(a=1) for that.", "f"]
)
def test_auto_does_not_take_data_or_prose_for_calls(text: str) -> None:
    assert parse_calls(text) == ParsedText((), text)


def test_code_is_a_call_where_it_stands_alone_and_its_tool_is_known() -> None:
    assert parse_calls("I use\nf(a=1)\nnot\nh(a=1)", tools=[Tool("f")]) == ParsedText((F,), "I use\nnot\nh(a=1)")
    assert parse_calls("I use\nf(a=1)", tools=[Tool("g")]) == ParsedText((), "I use\nf(a=1)")
    assert parse_calls("I use f(a=1), not h(a=1).", tools=[Tool("f")]).calls == (), "within a sentence it is a mention"
    assert parse_calls("Let me see: f(a=1)", tools=[Tool("f")]) == ParsedText((F,), "Let me see:")
    for mention in ("Let me see: f(a=1)", "The only function: f()", "The format: f(x)"):
        assert parse_calls(mention, tools=[Tool("f")] if "a=1" not in mention else []).calls == ()
    (malformed,) = parse_calls('{"name": "Ann", "age": 5}', tools=[Tool("Ann")]).calls
    assert malformed == Call("Ann", malformed="unknown keys: age", text='"age":5')


def test_a_list_in_which_one_tool_is_known_is_a_list_of_calls() -> None:
    assert parse_calls("[f(a=1), h()]", tools=[Tool("f")]).calls == (F, Call("h"))


def test_auto_prefers_the_strongest_marker() -> None:
    parsed = parse_calls(f"{G_JSON} g() [TOOL_CALLS] <tool_call>{F_JSON}</tool_call>")
    assert parsed == ParsedText((F,), f"{G_JSON} g() [TOOL_CALLS]")


@pytest.mark.parametrize(
    "call", [f"<tool_call>{F_JSON}</tool_call>", f"[TOOL_CALLS] [{F_JSON}]", f"<|python_tag|>{F_JSON}", F_JSON, "[f(a=1)]"]
)
@pytest.mark.parametrize(
    "written, thought",
    [
        ("<think>So.</think>", "So."),
        (f"<think>Perhaps <tool_call>{G_JSON}</tool_call> or g()?</think>", f"Perhaps <tool_call>{G_JSON}</tool_call> or g()?"),
        (f"<thinking>\nPerhaps {G_JSON}\n</thinking>", f"Perhaps {G_JSON}"),
        ("The prompt had opened this one.</think>", "The prompt had opened this one."),
        ("<think>One.</think>\n<think>Two.</think>", "One.\nTwo."),
    ],
)
def test_calls_within_thinking_are_ignored(written: str, thought: str, call: str) -> None:
    assert parse_calls(f"{written}\n\n{call}") == ParsedText((F,), "", thought)


def test_thinking_between_calls_is_separated() -> None:
    parsed = parse_calls(f"<tool_call>{F_JSON}</tool_call><think>Now g.</think>Next <tool_call>{G_JSON}</tool_call>")
    assert parsed == ParsedText((F, G), "Next", "Now g.")


def test_unclosed_thinking_counts_only_at_the_start() -> None:
    assert parse_calls(" <think>Hm, g()") == ParsedText((), "", "Hm, g()")
    assert parse_calls("About <think> tags") == ParsedText((), "About <think> tags")


def test_a_stray_closing_tag_removes_no_call() -> None:
    assert parse_calls(f"<tool_call>{F_JSON}</tool_call></think>") == ParsedText((F,), "</think>")


def test_code_is_never_run() -> None:
    (call,) = parse_calls("f(a=__import__('os').abort())", "pythonic").calls
    assert call.malformed


def test_a_megabyte_of_argument_is_still_an_argument() -> None:
    long = "x" * 1_000_000
    for text in (
        f'f(a="{long}")',
        json.dumps({"name": "f", "arguments": {"a": long}}),
        f"<function=f><parameter=a>{long}</parameter></function>",
    ):
        assert parse_calls(text).calls == (Call("f", {"a": long}),)


def test_code_too_long_to_parse_is_malformed() -> None:
    (call,) = parse_calls(f"f(a=[{'1,' * LONGEST_CODE}])").calls
    assert (call.name, call.malformed) == ("f", "arguments: code longer than 250,000 characters")


HOSTILE = [
    *(marker for text_format in registry.built_in("text_formats") for marker in text_format.markers),
    *("<tool_call>f<arg_key>a</arg_key>", "<arg_key>a</arg_key><arg_value>", '<invoke name="f">', '<invoke name="f"><parameter name="a">'),
    *(
        '<｜DSML｜invoke name="f">',
        "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{",
        "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{",
        '<|open|>call tool="f"<|sep|>',
    ),
    *(
        "<|channel|>commentary to=functions.f<|message|>{",
        "<|start|>x",
        "commentary to=functions.f json{",
        "<|tool_call>call:f{a:",
        "<|tool_call>call:f{a:[[",
    ),
    *(
        "<start_function_call>call:f{a:<escape>",
        ']<]minimax[>[<invoke name="f">',
        "]<]minimax[>[<a>",
        "<|tools_prefix|>[{",
        '{"tool_calls": [',
        '{"tool_calls": [{"',
    ),
    *(
        "Action: f\nAction Input: {",
        "Action: f\n",
        "\nAction:",
        "Thought:",
        "```tool_code\nf(",
        "<tool_code>",
        "`",
        "``",
        "`x` ",
        "<tool_use>",
        "<my_tool_call",
        "tool_call",
    ),
    *("<think>", "<|START_THINKING|>", "[THINK]", "\nf(a=1)", "\nf(", "[f(", " [f(a=1)", "{\n", '\n{"'),
    *(
        "<tool_call>",
        "[",
        "(",
        "{",
        "]",
        "f(",
        "f(a=",
        "f(a=1),",
        '"',
        "'",
        "\\",
        '{"',
        '{"a":',
        '["',
        '[{"',
        "```",
        "```json\n{",
        "</s>",
        "<",
    ),
    *("<think>", "x<think>", "</think>", "<thinking></think>", "<|python_tag|>", "<|python_tag|>f(", "[TOOL_CALLS]", "[TOOL_CALLS]f[ARGS]"),
    *(
        "[TOOL_CALLS]f[ARGS]{",
        "<function=f>",
        "<function=",
        "<function=f><parameter=a>",
        "<function=f>{",
        "<tool_call>{",
        '<tool_call>{"a": "',
    ),
    *(
        '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>',
        "</tool_call>",
        "<tool_call></tool_call>",
        '{"name": "f", ',
        '"\\"',
        "a.",
        "a-",
    ),
    *(
        '{"name": "f", "arguments": ',
        "{x}",
        '{"x"}',
        "f()",
        "f() x ",
        "-",
        "9",
        " ",
        "\n",
        "[ ",
        "\n[\n",
        ", ",
        "'''",
        '"""',
        "f('''",
        "\ud800",
        "é(",
    ),
]


@pytest.mark.parametrize("format_name", ["auto", "hermes", "react", "json", "pythonic"])  # auto tries every format whose marker is there
def test_repetitive_text_is_parsed_in_linear_time(format_name: str) -> None:
    for unit in HOSTILE:
        for head in ("", f"x{unit}<tool_call>{{"):
            assert _seconds(head + unit * (20_000 // len(unit)), format_name) < 0.5, (head, unit)


@pytest.mark.parametrize(
    "unit", ["<tool_call>", "[", "(", "{", "f(", '{"a":', "[TOOL_CALLS]", "<|python_tag|>", "```", "x<think>", "word "]
)
def test_a_megabyte_of_markers_is_parsed_in_about_a_second(unit: str) -> None:
    assert _seconds(unit * (1_000_000 // len(unit)), "auto") < 3


def _seconds(text: str, format_name: str) -> float:
    start = time.process_time()
    parse_calls(text, format_name, tools=[Tool("f")])
    return time.process_time() - start


MARKS = st.sampled_from(
    [
        *HOSTILE,
        F_JSON,
        G_JSON,
        "</function>",
        "</parameter>",
        "</think>",
        "[ARGS]",
        "[CALL_ID]",
        "}",
        ")",
        "]",
        ",",
        ";",
        "=",
        ":",
        "name",
        "a=1",
    ]
)


@pytest.mark.laws
@given(st.lists(MARKS | st.text(max_size=5), max_size=12).map("".join), st.sampled_from(FORMATS), st.sets(st.sampled_from(["f", "g"])))
@example("<function=\ud800>{}</function>", "auto", set())
@example("[TOOL_CALLS]\ud800[CALL_ID]\udc00[ARGS]{}", "auto", set())
@example('{"name": "f", "arguments": {"a": "\ud83d\ude00"}}', "auto", set())
def test_any_text_is_parsed_and_the_result_can_be_encoded(text: str, format_name: str, names: set[str]) -> None:
    parsed = parse_calls(text, format_name, tools=[Tool(name) for name in names])
    for parsed_call in parsed.calls:
        assert parsed_call.malformed or parsed_call.name
        (
            parsed_call.name
            + parsed_call.text
            + parsed_call.malformed
            + (parsed_call.id or "")
            + json.dumps(parsed_call.arguments, ensure_ascii=False)
        ).encode()
    (parsed.text + parsed.thinking).encode()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | MARKS.filter(str.isascii),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda word: not keyword.iskeyword(word))
CALLS = st.lists(st.builds(Call, WORDS, st.dictionaries(WORDS, VALUES, max_size=3)), min_size=1, max_size=4)


def _json(call: Call, key: str = "arguments") -> str:
    return json.dumps({"name": call.name, key: call.arguments})


def _code(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


@pytest.mark.laws
@given(CALLS)
def test_well_formed_calls_read_back_from_every_format(calls: list[Call]) -> None:
    written: list[tuple[str, str]] = [
        ("hermes", "\n".join(f"<tool_call>\n{_json(call)}\n</tool_call>" for call in calls)),
        ("qwen3-coder", "".join(f"<function={call.name}>{json.dumps(call.arguments)}</function>" for call in calls)),
        ("mistral", f"[TOOL_CALLS] [{', '.join(map(_json, calls))}]</s>"),
        ("mistral", "".join(f"[TOOL_CALLS]{call.name}[ARGS]{json.dumps(call.arguments)}" for call in calls)),
        ("llama3", f"<|python_tag|>{'; '.join(_json(call, 'parameters') for call in calls)}<|eom_id|>"),
        ("pythonic", f"[{', '.join(map(_code, calls))}]"),
        ("pythonic", "\n".join(map(_code, calls))),
        ("json", f"[{', '.join(map(_json, calls))}]"),
        ("json", "\n".join(f"```json\n{_json(call)}\n```" for call in calls)),
    ]
    for format_name, text in written:
        assert parse_calls(text, format_name) == ParsedText(tuple(calls)), format_name


PLAIN = st.from_regex(r"[A-Za-zé ,.()\n<>{}]{0,20}", fullmatch=True).filter(
    lambda text: not text.startswith("\n") and not text.endswith("\n")
)


@pytest.mark.laws
@given(WORDS, st.dictionaries(WORDS, PLAIN.filter(lambda text: text.strip() not in ("{}", "true", "false", "null"))))
def test_plain_parameters_read_back_as_they_were(name: str, arguments: dict[str, str]) -> None:
    inside = "\n".join(f"<parameter={key}>\n{value}\n</parameter>" for key, value in arguments.items())
    assert parse_calls(f"<tool_call>\n<function={name}>\n{inside}\n</function>\n</tool_call>") == ParsedText((Call(name, arguments),))


def parse_arrows(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    names = [line.removeprefix("=> ") for line in text.splitlines() if line.startswith("=> ")]
    return ParsedText(tuple(Call(name) for name in names if not tools or name in tools))


ARROWS = TextFormat("arrows", "Arrow models", parse_arrows, ("=> ",))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The text format above, as if a package had installed it."""
    points = {"arrows": EntryPoint("arrows", f"{__name__}:ARROWS", "callmark.text_formats")}
    monkeypatch.setattr(registry, "_entry_points", lambda kind: points if kind == "text_formats" else {})
    detect._find.cache_clear()
    detect._installed.cache_clear()
    detect._markers.cache_clear()
    yield
    detect._find.cache_clear()
    detect._installed.cache_clear()
    detect._markers.cache_clear()


def test_text_format_names_are_auto_and_the_registered_ones() -> None:
    names = text_format_names()
    assert names[0] == "auto"
    assert {"hermes", "mistral", "llama3", "json", "pythonic"} < set(names)


def test_unknown_text_format_is_rejected() -> None:
    with pytest.raises(BadInput, match="unknown text format 'hermse'. Did you mean hermes?"):
        parse_calls("x", "hermse")
    check_text_format("auto")
    check_text_format("json")


@pytest.mark.usefixtures("installed")
def test_a_text_format_of_an_installed_package_is_used(cli: Cli, tmp_path: Path) -> None:
    assert parse_calls("=> f\n=> g", "arrows").calls == (Call("f"), Call("g"))
    assert parse_calls("=> f", tools=[Tool("f")]).calls == (Call("f"),), "auto tries it where no built-in format finds a call"
    assert parse_calls("<tool_call>=> f</tool_call>").calls[0].malformed, "built-in formats come first"
    cases = write_rows(tmp_path / "c.jsonl", row(user("x"), id="1", expected_output={"tool_calls": [call("f")]}))
    predictions = write_rows(tmp_path / "p.jsonl", {"id": "1", "text": "=> f"})
    graded = cli("grade", cases, "-p", predictions, "--parse", "arrows", "--out", tmp_path / "runs", "--json")
    assert json.loads(graded.out)["summary"]["metrics"]["call.score"]["mean"] == 1
    refused = cli("grade", cases, "-p", predictions, "--parse", "arows")
    assert (refused.status, "--parse: expected auto, " in refused.err) == (2, True)
