"""Chat completion requests, and tools in the prompt."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import callmark
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.models.chat_request import check_params, count_dropped_messages, request_body
from callmark.models.model import ModelSettings
from callmark.models.tools_in_prompt import parse_constrained
from callmark.types import Call, Case, Message, Tool
from tests.rows import WEATHER, assistant, call, row, user, write_rows

AS_TOOLS, FREE, CONSTRAINED = ModelSettings(), ModelSettings(tools_in_prompt="free"), ModelSettings(tools_in_prompt="constrained")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "$defs",
        "format",
        "minItems",
        "not",
        "a",
    ]
)
WORDS = st.sampled_from(["object", "array", "string", "#", "#/$defs/a", "#/properties/a", "http://elsewhere/x", "date", "null", "a"])
SCHEMAS = st.recursive(
    WORDS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=20,
)


def points(path: Path, *rows: dict[str, Any]) -> list[Case]:
    return list(callmark.expand(callmark.load(str(write_rows(path / "rows.jsonl", *rows)))))


def decoded_request(case: Case, settings: ModelSettings = AS_TOOLS) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(request_body(case, "m", settings)))


def case_of(*messages: Message, tools: Any = (WEATHER,)) -> Case:
    return Case("c", messages, read_tools(list(tools)))


def schema_for(parameters: dict[str, Any]) -> Any:
    body = decoded_request(Case("c", (Message("user", "hi"),), (Tool("f", "", parameters),)), CONSTRAINED)
    return body["response_format"]["json_schema"]["schema"]["anyOf"][0]["properties"]["arguments"]


def test_messages_and_tools_are_sent_unchanged(tmp_path: Path) -> None:
    tools = [{**WEATHER, "x-own": 1.50}]
    first = {"role": "user", "content": [{"type": "text", "text": "héllo"}], "x-kept": {"a": [1, 2]}}
    [case] = points(tmp_path, row(first, assistant(call("get_weather", {"city": "Oslo"})), tools=tools))
    assert decoded_request(case) == {"model": "m", "messages": [first], "tools": tools}


def test_hint_that_a_tool_is_read_only_is_not_sent(tmp_path: Path) -> None:
    hinted = {**WEATHER, "annotations": {"readOnlyHint": True}}
    (case,) = points(tmp_path, row(user("hi"), assistant(call("get_weather", {"city": "Bonn"})), tools=[hinted]))
    assert case.tools[0].read_only
    assert decoded_request(case)["tools"] == [WEATHER]


def test_params_override_settings_in_the_request() -> None:
    settings = ModelSettings(temperature=0.5, tool_choice="required", params={"temperature": 0.1, "max_tokens": 9})
    body = decoded_request(case_of(Message("user", "hi")), settings)
    assert (body["temperature"], body["max_tokens"], body["tool_choice"]) == (0.1, 9, "required")


@pytest.mark.parametrize("settings", [AS_TOOLS, FREE, CONSTRAINED])
def test_request_without_tools_has_no_tool_parameters(settings: ModelSettings) -> None:
    more = structs.replace(settings, tool_choice="auto", params={"parallel_tool_calls": False, "seed": 1})
    assert decoded_request(case_of(Message("user", "hi"), tools=()), more) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "seed": 1,
    }


def test_nonstandard_calls_are_rewritten_for_servers(tmp_path: Path) -> None:
    flat = {"role": "assistant", "content": None, "tool_calls": [{"name": "get_weather", "arguments": {"city": "Rom"}}]}
    older = {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": '{"city": "Bern"}'}}
    conversation = row(
        user("hi"),
        flat,
        {"role": "tool", "content": "warm"},
        older,
        {"role": "function", "name": "get_weather", "content": "cold"},
        assistant(call("get_weather")),
    )
    messages = decoded_request(points(tmp_path, conversation)[-1])["messages"]
    calls_sent = [message["tool_calls"][0] for message in messages if "tool_calls" in message]
    assert [json.loads(each["function"]["arguments"]) for each in calls_sent] == [{"city": "Rom"}, {"city": "Bern"}]
    answers = [message for message in messages if message["role"] == "tool"]
    assert [each["tool_call_id"] for each in answers] == [each["id"] for each in calls_sent]
    assert len({each["id"] for each in calls_sent}) == 2
    assert [each["content"] for each in answers] == ["warm", "cold"]
    assert not any("function_call" in message for message in messages)


@pytest.mark.parametrize(
    ("roles", "setting", "dropped"),
    [
        (["user"], "drop", 0),
        (["user", "assistant"], "drop", 1),
        (["user", "assistant", "assistant"], "drop", 2),
        (["user", "assistant"], "keep", 0),
        (["user", "assistant", "tool"], "drop", 0),
        (["assistant", "assistant"], "drop", 0),  # nothing would be left
    ],
)
def test_trailing_assistant_messages_are_dropped_and_counted(roles: list[str], setting: Any, dropped: int) -> None:
    case = case_of(*(Message(role, f"{place}", (), "c1" if role == "tool" else None) for place, role in enumerate(roles)))
    settings = ModelSettings(trailing_assistant=setting)
    assert count_dropped_messages(case, settings) == dropped
    assert [message["role"] for message in decoded_request(case, settings)["messages"]] == roles[: len(roles) - dropped]


@pytest.mark.parametrize(
    "params",
    [
        {"model": "x"},
        {"messages": []},
        {"tools": []},
        {"stream": True},
        {"n": 2},
        {"api_key": "x"},
        {"Authorization": "x"},
        {"apikey": "x"},
        {"X-Api-Key": "x"},
        {"key": "x"},
        {"user": "Bearer abc"},
        {"user": "sk-abcdefghijklmnopqrstuvwxyz"},
        {"extra_body": {"data_sources": [{"parameters": {"authentication": {"value": "x"}}}]}},
        {"a": float("nan")},
        {"a": object()},
        {"a": "\ud800"},
    ],
)
def test_reserved_or_secret_params_are_rejected(params: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        check_params(params)
    assert "abcdefg" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(BadInput):
        request_body(case_of(Message("user", "hi")), "m", ModelSettings(params=params))


@pytest.mark.parametrize("name", ["max_tokens", "prompt_cache_key", "stop_token_ids", "seed", "metadata", "top_p", "author"])
def test_common_params_are_accepted(name: str) -> None:
    check_params({name: 1})


@pytest.mark.parametrize("settings", [ModelSettings(temperature=float("nan")), ModelSettings(temperature=float("inf"))])
def test_temperature_that_is_not_finite_is_rejected(settings: ModelSettings) -> None:
    with pytest.raises(BadInput, match="^temperature: expected a finite number, got (nan|inf)$"):
        request_body(case_of(Message("user", "hi")), "m", settings)


@pytest.mark.parametrize("settings", [AS_TOOLS, FREE, CONSTRAINED])
def test_case_without_messages_is_rejected(settings: ModelSettings) -> None:
    with pytest.raises(BadInput, match="^case c has no messages to send$"):
        request_body(Case("c", instructions="you are a guest"), "m", settings)


def test_tools_in_prompt_produce_text_messages_with_alternating_roles() -> None:
    calls_sent = (Call("get_weather", {"city": "Oslo"}), Call("get_weather", {"city": "Rom"}))
    case = case_of(
        Message("developer", "Be kind."),
        Message("user", "one"),
        Message("user", "two"),
        Message("assistant", "Looking."),
        Message("assistant", "", calls_sent),
        Message("tool", "cold", (), "c1"),
        Message("tool", "warm", (), "c2"),
        Message("user", "and?"),
    )
    messages = decoded_request(case, FREE)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"].startswith("Be kind.\n\n# Tools\n\n- get_weather(city: string, unit?: ")
    assert messages[1]["content"] == "one\n\ntwo"
    assert messages[2]["content"].startswith(
        'Looking.\n\n<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>\n<tool_call>'
    )
    assert messages[3]["content"].count("<tool_response>") == 2
    assert messages[3]["content"].endswith("and?")


def test_tools_create_a_system_message_if_there_is_none() -> None:
    body = decoded_request(case_of(Message("user", "hi")), FREE)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "<tool_call>" in body["messages"][0]["content"]
    assert "plain text" in body["messages"][0]["content"]
    assert body.keys() == {"model", "messages"}


def test_constrained_schema_allows_one_call_of_a_known_tool_or_a_reply() -> None:
    body = decoded_request(case_of(Message("user", "hi")), CONSTRAINED)
    form = body["response_format"]
    assert form["type"] == "json_schema"
    calls_sent, reply = form["json_schema"]["schema"]["anyOf"]
    assert calls_sent["properties"]["name"] == {"const": "get_weather"}
    assert calls_sent["properties"]["arguments"]["required"] == ["city"]
    assert reply["properties"] == {"reply": {"type": "string"}}


@pytest.mark.parametrize(
    ("choice", "names", "reply"),
    [
        ("auto", ["get_weather", "other"], True),
        ("required", ["get_weather", "other"], False),
        ({"type": "function", "function": {"name": "other"}}, ["other"], False),
    ],
)
def test_tool_choice_applies_to_tools_in_prompt(choice: Any, names: list[str], reply: bool) -> None:
    case = case_of(Message("user", "hi"), tools=(WEATHER, {"name": "other"}))
    body = decoded_request(case, ModelSettings(tools_in_prompt="constrained", tool_choice=choice))
    options = body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [option["properties"]["name"]["const"] for option in options if "name" in option["properties"]] == names
    assert any("reply" in option["properties"] for option in options) is reply
    assert ("reply" in body["messages"][0]["content"]) is reply
    assert "tool_choice" not in body
    none = decoded_request(case, ModelSettings(tools_in_prompt="constrained", tool_choice="none"))
    assert none["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("schema", "simple"),
    [
        ({"type": "string", "pattern": "^a+$", "minLength": 3}, {"type": "string"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "email"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "null"}, {"type": "string"}]}),
        ({"const": 3}, {"enum": [3]}),
        ({"$ref": "#/$defs/one"}, {"type": "integer", "minimum": 1}),
        ({"$ref": "#/$defs/one", "description": "d"}, {"type": "integer", "minimum": 1, "description": "d"}),
        ({"allOf": [{"$ref": "#/$defs/one"}]}, {"type": "integer", "minimum": 1}),
        ({"type": "array", "items": {"type": "number"}, "maxItems": 10**9}, {"type": "array", "items": {"type": "number"}}),
        ({"oneOf": [{"type": "number"}, {"type": "boolean"}]}, {"anyOf": [{"type": "number"}, {"type": "boolean"}]}),
        ({"type": "object"}, {"type": "object"}),
    ],
)
def test_schema_is_simplified_for_constrained_decoding(schema: dict[str, Any], simple: dict[str, Any]) -> None:
    parsed = schema_for({"type": "object", "properties": {"a": schema}, "$defs": {"one": {"type": "integer", "minimum": 1}}})["properties"][
        "a"
    ]
    for each in (parsed, simple):
        if "anyOf" in each:
            each["anyOf"].sort(key=lambda option: str(option["type"]))
    assert parsed == simple


@pytest.mark.parametrize("schema", [{}, {"$ref": "http://elsewhere/x"}, {"$ref": "#/$defs/none"}, {"type": "str"}, True, {"not": {}}])
def test_unsupported_schema_allows_anything(schema: Any) -> None:
    assert "object" in schema_for({"type": "object", "properties": {"a": schema}})["properties"]["a"]["type"]


@pytest.mark.parametrize("parameters", [{}, {"type": "string"}, {"description": "none"}, {"enum": [1]}, {"anyOf": [{"type": "null"}]}])
def test_arguments_schema_is_always_an_object(parameters: dict[str, Any]) -> None:
    assert schema_for(parameters) == {"type": "object"}


def test_tool_without_parameters_takes_no_arguments() -> None:
    empty = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert schema_for({"type": "object", "properties": {}}) == empty


def test_recursive_schema_terminates() -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "more": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert len(json.dumps(schema_for(tree))) < 5_000


def test_multiplying_references_terminate() -> None:
    twice = {f"d{at}": {"type": "object", "properties": {key: {"$ref": f"#/$defs/d{at + 1}"} for key in "abcdefgh"}} for at in range(9)}
    assert len(json.dumps(schema_for({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": twice}))) < 1_000_000


@pytest.mark.parametrize(
    ("text", "calls", "expected_text"),
    [
        ('{"reply": "Good \\"day\\""}', [], 'Good "day"'),
        ('\n{ "reply" : "Good', [], "Good"),
        ('{"reply": "Good\\', [], "Good"),
        ('{"reply": "a \\u00', [], "a \\u00"),
        ('```json\n{"reply": "a"}\n```', [], "a"),
        ('{"reply": "{\\"name\\": \\"f\\", \\"arguments\\": {}}"}', [], '{"name": "f", "arguments": {}}'),
        ('{"name": "f", "arguments": {"a": 1}}', [("f", {"a": 1}, False)], ""),
        ('{"name": "f", "arguments": {"a"', [("f", {}, True)], ""),
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call>', [("f", {}, False)], ""),
        ("f(a=1)", [("f", {"a": 1}, False)], ""),
        ("Hello.", [], "Hello."),
        ("", [], ""),
    ],
)
def test_constrained_output_is_parsed(text: str, calls: list[Any], expected_text: str) -> None:
    parsed = parse_constrained(text, [Tool("f")])
    assert [(each.name, each.arguments, bool(each.malformed)) for each in parsed.calls] == calls
    assert parsed.text == expected_text


def test_thinking_before_constrained_output_is_separated() -> None:
    parsed = parse_constrained('<think>Hm.</think>{"reply": "Yes."}')
    assert (parsed.text, parsed.thinking, parsed.calls) == ("Yes.", "Hm.", ())


@given(st.text() | st.text().map(lambda text: f'{{"reply": "{text}'))
def test_constrained_parsing_never_raises(text: str) -> None:
    parse_constrained(text)


@given(
    st.lists(st.builds(Message, st.text(), st.text(), st.just(()), st.none() | st.text(), st.none() | st.text()), max_size=4),
    SCHEMAS,
    JSON_VALUES,
)
def test_hostile_tools_and_messages_become_json_or_bad_input(messages: list[Message], schema: Any, value: Any) -> None:
    calls_sent = Message("assistant", "\ud800", (Call("f\ud800", {"a": value}), Call("", malformed="no name", text="{\ud800")))
    tool = Tool("f", "d\ud800", {"type": "object", "properties": {"a": schema}, "$defs": {"a": schema}})
    for settings in (AS_TOOLS, FREE, CONSTRAINED):
        try:
            body = request_body(Case("c", (*messages, calls_sent, Message("user", "x")), (tool,)), "m\ud800", settings)
        except BadInput:
            continue
        assert json.loads(body)["messages"]


def test_arguments_nested_too_deeply_are_rejected() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    for settings in (AS_TOOLS, FREE, CONSTRAINED):
        with pytest.raises(BadInput):
            request_body(Case("c", (Message("user", "hi"),), (Tool("f", "", deep),)), "m", settings)
