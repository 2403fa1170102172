"""Open datasets: the layouts that they really have, what is malformed, and what is refused with its field."""

import json
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.python_schemas import json_schema_tools
from callmark.formats.toolace import read_code_calls
from callmark.types import Case, Conversation

TOOLACE_TOOL = {
    "name": "Market Trends API",
    "description": "Trends",
    "parameters": {"type": "dict", "properties": {"kind": {"type": "string"}, "days": {"type": "int"}}, "required": ["kind"]},
    "required": None,
}
TOOLACE_SYSTEM = (
    f"You are an expert. Here is a list of functions in JSON format that you can invoke:\n{json.dumps([TOOLACE_TOOL])}.\n"
    "Put it in the format of [func1(params_name=params_value, params_name2=params_value2...), func2(params)]"
)
GLAIVE_SYSTEM = (
    "SYSTEM: You are a helpful assistant with access to the following functions. Use them if required -\n"
    '{\n    "name": "search",\n    "description": "Search",\n'
    '    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}\n}\n\n'
    '{\n    "name": "ping",\n    "parameters": {}\n}\n'
)


def read(row: Any) -> Conversation:
    [found] = callmark.load([row])
    return found


def read_case(row: Any) -> Case:
    [found] = callmark.load([row], cases=True)
    assert isinstance(found, Case)
    return found


def toolace(*turns: tuple[str, str]) -> dict[str, Any]:
    return {"system": TOOLACE_SYSTEM, "conversations": [{"from": speaker, "value": value} for speaker, value in turns]}


def glaive(chat: str) -> dict[str, Any]:
    return {"system": GLAIVE_SYSTEM, "chat": chat}


def when2call(kind: str, **others: Any) -> dict[str, Any]:
    answers = {
        "direct": "It is 5.",
        "tool_call": '{"name": "f", "arguments": {"a": 1}}',
        "request_for_info": "Which?",
        "cannot_answer": "No.",
    }
    return {"uuid": "u1", "question": "How many?", "correct_answer": kind, "answers": answers, "tools": ['{"name": "f"}'], **others}


class TestToolAce:
    def test_tools_come_from_the_system_prompt_with_the_types_of_json_schema(self) -> None:
        [tool] = read(toolace(("user", "hi"))).tools
        assert tool.name == "Market Trends API"
        assert tool.parameters["properties"] == {"kind": {"type": "string"}, "days": {"type": "integer"}}
        assert (tool.parameters["type"], tool.parameters["required"]) == ("object", ["kind"])

    @pytest.mark.parametrize(
        "text, calls",
        [
            ('[Market Trends API(kind="A", days=3)]', ['Market Trends API(kind="A", days=3)']),
            ("[a.b/c(x=[1, 2]), d()]", ["a.b/c(x=[1, 2])", "d()"]),
            ("[f(text='a) b', on=true)]", ['f(text="a) b", on=true)']),
            ("[Market Trends API(kind=", ["Market Trends API(‹malformed: Market Trends API(kind=›)"]),
            ("[Market Trends API(5)]", ["Market Trends API(‹malformed: Market Trends API(5)›)"]),
            ("[1] See the source (page 3).", None),
            ("I called [f(a=1)] for you.", None),
            ("[]", None),
            ("", None),
        ],
    )
    def test_a_turn_is_calls_or_text(self, text: str, calls: list[str] | None) -> None:
        found = read_code_calls(text, {"Market Trends API"})
        assert found is None if calls is None else [str(one) for one in found or ()] == calls

    def test_each_call_has_its_result(self) -> None:
        results = json.dumps([{"name": "f", "results": {"x": 1}}, {"name": "g", "results": "two"}])
        messages = read(toolace(("user", "hi"), ("assistant", "[f(), g()]"), ("tool", results), ("assistant", "Done."))).messages
        assert [(message.name, message.text) for message in messages if message.role == "tool"] == [("f", '{"x":1}'), ("g", "two")]

    def test_an_unknown_speaker_is_refused(self) -> None:
        with pytest.raises(BadInput, match=r"conversations\[0\].from: unknown speaker 'narrator', expected user, human, assistant"):
            read(toolace(("narrator", "hi")))


class TestGlaive:
    def test_turns_tools_calls_and_results_are_read(self) -> None:
        said = (
            'USER: Find it.\n\n\nASSISTANT: Sure. <functioncall> {"name": "search", "arguments": \'{"q": "what\'s up"}\'} <|endoftext|>'
            '\n\n\nFUNCTION RESPONSE: {"hits": 1}\n\n\nASSISTANT: Found.\n\nNote: one hit. <|endoftext|>\n\n\n'
        )
        found = read(glaive(said))
        assert [tool.name for tool in found.tools] == ["search", "ping"]
        assert [(message.role, message.text) for message in found.messages[1:]] == [
            ("user", "Find it."),
            ("assistant", "Sure."),
            ("tool", '{"hits": 1}'),
            ("assistant", "Found.\n\nNote: one hit."),
        ]
        assert found.calls[0].arguments == {"q": "what's up"}

    @pytest.mark.parametrize(
        "inside, call",
        [
            ('{"name": "f", "arguments": {"a": 1}}', "f(a=1)"),
            ("""{"name": "f", "arguments": '{"a": "it\\'s"}'}""", 'f(a="it\'s")'),
            ('{"name": "f"}', "f()"),
            ("""{"name": "f", "arguments": '{"a": }'}""", 'f(‹malformed: {"a": }›)'),
            ("""{"name": "f", "payload": '{"a": 1}'}""", """f(‹malformed: {"name": "f", "payload": '{"a": 1}'}›)"""),
            ("search it", "(‹malformed: search it›)"),
        ],
    )
    def test_a_call_is_read_or_malformed(self, inside: str, call: str) -> None:
        [found] = read(glaive(f"USER: x\n\n\nASSISTANT: <functioncall> {inside} <|endoftext|>")).calls
        assert str(found) == call

    @pytest.mark.parametrize(
        "chat, reason",
        [
            ("Hello there", "chat: expected text that begins with USER:, ASSISTANT: or FUNCTION RESPONSE:"),
            ("USER: x\n\n\nNARRATOR: y", "chat: unknown turn 'NARRATOR', expected USER, ASSISTANT or FUNCTION RESPONSE"),
        ],
    )
    def test_another_text_is_refused(self, chat: str, reason: str) -> None:
        with pytest.raises(BadInput, match=reason):
            list(callmark.load([glaive(chat)], format_name="glaive"))


class TestWhen2Call:
    @pytest.mark.parametrize(
        "kind, calls, behavior",
        [("tool_call", ["f(a=1)"], ""), ("request_for_info", [], "ask"), ("cannot_answer", [], "decline"), ("direct", [], "answer")],
    )
    def test_the_right_answer_is_expected(self, kind: str, calls: list[str], behavior: str) -> None:
        case = read_case(when2call(kind))
        assert (case.id, [str(call) for call in case.expected], case.behavior) == ("u1", calls, behavior)

    def test_the_behavior_is_written_and_read_back(self, tmp_path: Any) -> None:
        callmark.write([read_case(when2call("request_for_info"))], tmp_path / "cases.jsonl")
        [case] = callmark.load(tmp_path / "cases.jsonl")
        assert isinstance(case, Case)
        assert (case.behavior, case.expected) == ("ask", ())

    @pytest.mark.parametrize(
        "row, reason",
        [
            (when2call("maybe"), "correct_answer: expected one of tool_call, request_for_info, cannot_answer, direct, got 'maybe'"),
            (when2call("direct", answers={}), "answers.direct is missing, but it is the correct answer"),
            (
                {"messages": [{"role": "narrator", "content": "x"}, {"role": "assistant", "content": "y"}], "tools": ['{"name": "f"}']},
                r"messages\[0\].role: unknown role 'narrator', expected system, user, assistant",
            ),
            (
                {"messages": [{"role": "user", "content": "x"}], "tools": ['{"name": "f"}']},
                "expected an assistant message at the end",
            ),
        ],
    )
    def test_another_row_is_refused(self, row: Any, reason: str) -> None:
        with pytest.raises(BadInput, match=reason):
            read_case(row)


HAMMERBENCH: dict[str, Any] = {
    "id": "Based_0_2",
    "messages": [
        {"role": "user", "content": "Check my car."},
        {"role": "function call", "content": {"name": "query", "arguments": {}}},
        {"role": "assistant", "content": "Which city?"},
        {"role": "user", "content": "Bonn"},
        {"role": "function call", "content": {"name": "query", "arguments": {"city": "Bonn"}}},
    ],
    "multiple_tools": [{"name": "query", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "single_tool": [],
}


class TestHammerBench:
    def test_earlier_calls_are_part_of_the_conversation_but_not_of_the_input(self) -> None:
        assert [str(call) for call in read(HAMMERBENCH).calls] == ["query()", 'query(city="Bonn")']
        case = read_case(HAMMERBENCH)
        assert [message.role for message in case.messages] == ["user", "assistant", "user"]
        assert [str(call) for call in case.expected] == ['query(city="Bonn")']

    @pytest.mark.parametrize(
        "messages, reason",
        [
            ([], "messages: expected a 'function call' at the end, got no messages"),
            (HAMMERBENCH["messages"][:3], "messages: expected a 'function call' at the end, got a message with the role 'assistant'"),
            (
                [{"role": "narrator", "content": "x"}, HAMMERBENCH["messages"][-1]],
                "messages.0..role: unknown role 'narrator', expected user",
            ),
            ([{"role": "user", "content": 5}, HAMMERBENCH["messages"][-1]], "messages.0..content: expected a string, got a number"),
        ],
    )
    def test_another_row_is_refused(self, messages: Any, reason: str) -> None:
        with pytest.raises(BadInput, match=reason):
            read({**HAMMERBENCH, "messages": messages})


class TestXlam:
    @pytest.mark.parametrize(
        "answers, reason",
        [
            ("what?", "answers: expected a list of calls, got a string that is not JSON"),
            (5, "answers: expected a list of calls, got a number"),
        ],
    )
    def test_answers_that_are_not_calls_are_refused(self, answers: Any, reason: str) -> None:
        with pytest.raises(BadInput, match=reason):
            read({"query": "x", "tools": [], "answers": answers})

    def test_no_answer_expects_no_call(self) -> None:
        assert read_case({"id": 3, "query": "x", "tools": "[]", "answers": "[]"}).expected == ()


@pytest.mark.parametrize(
    "parameters, properties, required",
    [
        ({"a": {"type": "str", "description": "d"}}, {"a": {"type": "string", "description": "d"}}, ["a"]),
        ({"a": {"type": "int, optional", "default": 5}}, {"a": {"type": "integer", "default": 5}}, []),
        ({"a": {"type": "int, optional", "default": ""}}, {"a": {"type": "integer"}}, []),
        ({"a": {"type": "str", "default": "Seattle"}}, {"a": {"type": "string"}}, []),
        ({"a": {"type": "List[Dict[str, int]]"}}, {"a": {"type": "array", "items": {"type": "object"}}}, ["a"]),
        ({"a": {"type": "Union[int, str]"}}, {"a": {}}, ["a"]),
        ({"a": {"type": "float", "required": False}}, {"a": {"type": "number"}}, []),
        ({"a": {"type": "bool", "required": True, "default": True}}, {"a": {"type": "boolean"}}, ["a"]),
    ],
)
def test_python_types_become_json_schemas(parameters: Any, properties: Any, required: list[str]) -> None:
    [tool] = json.loads(json_schema_tools([{"name": "f", "parameters": parameters}]))
    assert tool["parameters"] == {"type": "object", "properties": properties, "required": required}


@pytest.mark.parametrize(
    "tools, reason",
    [
        (5, "tools: expected a list of tools, got a number"),
        ([5], r"tools\[0\]: expected an object with a name, got a number"),
        (["{"], r"tools\[0\]: expected a tool, got a string that is not JSON"),
    ],
)
def test_tools_that_are_not_tools_are_refused(tools: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        json_schema_tools(tools)


@pytest.mark.parametrize(
    "row",
    [
        {"conversations": [{"from": "narrator", "value": "x"}]},
        {"messages": [{"role": "human", "content": "x"}, {"role": "narrator", "content": "x"}]},
    ],
)
def test_an_unknown_speaker_is_refused_with_the_known_ones(row: Any) -> None:
    with pytest.raises(BadInput, match=r"unknown speaker 'narrator', expected one of human, user, system"):
        read(row)


def test_calls_in_the_text_of_a_later_row_are_not_overlooked(tmp_path: Any) -> None:
    """The format is detected from the first row, which may have no call."""
    tagged = {"role": "assistant", "content": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'}
    rows = [{"messages": [{"role": "user", "content": "x"}, last]} for last in ({"role": "assistant", "content": "y"}, tagged)]
    with pytest.raises(BadInput, match=r"messages\[1\].content: calls in the text \(<tool_call>\), expected tool_calls") as error:
        list(callmark.load(rows))
    assert error.value.hint == "Pass --from hermes."
    assert [len(row.calls) for row in callmark.load(rows, format_name="hermes")] == [0, 1]
    about = {"role": "assistant", "content": 'Write `<tool_call>{"name": "f"}</tool_call>` to call it.'}
    assert read({"messages": [{"role": "user", "content": "x"}, about], "tools": [{"name": "g"}]}).calls == ()
