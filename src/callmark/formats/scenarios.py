"""Scenarios: ground truth for whole conversations (`id, description, scenarioType, instructions, task_completion_condition,
expected_function_calls`, and optionally `group`, `tools`, `data` and `expected_output.reply`; in the copy of a folder also `place`, where
the row was). Each is a case without messages. A scenario without instructions or expected calls, with a field of the wrong type, or with
invalid `data` or `expected_output` raises `BadInput` that names the field.

`data` is for a user that is not a model (rule-based or scripted). All fields are optional:

    {"style": "terse", "turns": 3, "script": ["…", …], "closing": "…",
     "tasks": [{"goal": "…", "opening": "…", "slots": {"priority": "High"}, "says": {"priority": "quite urgent"},
                "changes": {"priority": "Critical"}, "words": ["ticket"]}, …],
     "plan": {…}}      # for the user of a world, in a form that the world defines (`callmark synth`)
"""

from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from callmark.calls.dependencies import stated_dependencies
from callmark.calls.expected import escape_globs, read_expected_call_text
from callmark.calls.messages import expected_texts, explain_validation_error
from callmark.calls.shapes import unwrap
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.formats.openai import read_reply
from callmark.types import Call, Case, Conversation, Place, ReplyChecks, SourceRow
from callmark.wording import did_you_mean

STYLES = ("plain", "terse", "chatty", "impatient")


class _Row(Struct):
    id: str | int | None = None
    description: str | None = None
    scenarioType: str | None = None  # noqa: N815 - the name in the file
    task_completion_condition: str | None = None
    instructions: str | None = None
    expected_function_calls: list[Raw] | None = None
    tools: Raw = Raw(b"")
    group: str | None = None
    data: Raw = Raw(b"")
    place: Place | None = None
    expected_output: Raw = Raw(b"")


class TaskData(Struct):
    """One task of the user."""

    goal: str = ""
    opening: str = ""
    slots: dict[str, Any] = {}
    says: dict[str, Any] = {}  # checked below, so that the error names the slot
    changes: dict[str, Any] = {}
    words: list[str] = []


class UserData(Struct):
    """The data of a user that is not a model. `tasks` is None if the scenario does not list any."""

    style: str = "plain"
    turns: Any = 1  # checked below
    script: list[str] = []
    closing: str = ""
    tasks: list[TaskData] | None = None
    plan: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Row).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the scenario in a row, as a case."""
    check_utf8(row)
    wire = _decode(row)
    if not wire.instructions or not wire.instructions.strip():
        raise BadInput("missing key 'instructions'")
    if wire.expected_function_calls is None:
        raise BadInput("missing key 'expected_function_calls'")
    raw_tools, tools = context.read_tools(bytes(wire.tools))
    calls = tuple([read_expected_call_text(bytes(call)) for call in wire.expected_function_calls])
    expected = unwrap(calls)
    edges = stated_dependencies(wire.expected_function_calls, expected, "expected_function_calls") if expected is calls else ()
    return Case(
        row_id(wire.id, place),
        (),
        tools,
        wire.place or place,
        SourceRow((), tools, row, b"", (), raw_tools, False, expected, wire.expected_function_calls if expected is calls else ()),
        expected=expected,
        dependencies=(edges,) if edges else (),
        instructions=wire.instructions,
        completion=wire.task_completion_condition or "",
        description=wire.description or "",
        scenario_type=wire.scenarioType or "",
        group=wire.group,
        data=_parse_data(bytes(wire.data)),
        file=wire.place.file if wire.place else "",
        reply=_read_reply(bytes(wire.expected_output)),
    )


def write(conversation: Conversation) -> bytes:
    """Return one line in this format. A conversation that is not a scenario raises `BadInput`."""
    if not isinstance(conversation, Case) or not conversation.is_scenario:
        raise BadInput(
            f"{conversation.id}: expected a scenario, got a conversation or decision point, which has no instructions for a user",
            "Only scenarios can be converted with --to scenarios; for other rows, choose another format, such as --to openai.",
        )
    calls = [Raw(bytes(text)) for text in expected_texts(conversation, _write_call)]
    fields: dict[str, Any] = {
        "id": conversation.id,
        "description": conversation.description,
        "scenarioType": conversation.scenario_type,
        "task_completion_condition": conversation.completion,
        "instructions": conversation.instructions,
        "expected_function_calls": calls,
    }
    if conversation.group is not None:
        fields["group"] = conversation.group
    if conversation.tools:
        fields["tools"] = Raw(tools_text(conversation))
    if conversation.file and conversation.place is not None:
        fields["place"] = conversation.place
    if conversation.data:
        fields["data"] = Raw(dump(conversation.data).encode())
    if conversation.reply:
        fields["expected_output"] = {"reply": conversation.reply}
    return msgspec.json.encode(fields)


def read_data(given: Any) -> UserData:
    """Return `data` as a struct. An invalid field raises `BadInput` that names it."""
    try:
        data = msgspec.convert(given, UserData)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "data")) from None
    _refuse_unknown(given, UserData.__struct_fields__, "data", "field")
    if data.style not in STYLES:
        suggestion = did_you_mean(data.style[:99], STYLES)
        raise BadInput(f"data.style: expected one of {', '.join(STYLES)}, got {data.style!r}{suggestion}")
    if data.turns.__class__ is not int or data.turns < 1:
        raise BadInput(f"data.turns: expected an integer of at least 1, got {dump(data.turns)}")
    if data.tasks is not None and not data.tasks:
        raise BadInput("data.tasks: expected at least one task, got an empty list", "Omit tasks to use the expected calls as tasks.")
    for index, task in enumerate(data.tasks or ()):
        where = f"data.tasks[{index}]"
        _refuse_unknown(given["tasks"][index], TaskData.__struct_fields__, where, "field")
        _refuse_unknown(task.says, task.slots, f"{where}.says", "slot")
        _refuse_unknown(task.changes, task.slots, f"{where}.changes", "slot")
        for key, phrase in task.says.items():
            if not isinstance(phrase, str):
                raise BadInput(f"{where}.says.{key}: expected a string, got {dump(phrase)[:40]}")
    for index, task in enumerate(data.tasks or ()):
        if not (task.goal or task.opening or task.slots):
            raise BadInput(f"data.tasks[{index}]: expected a goal, an opening or slots, got none of them")
    return data


def _parse_data(text: bytes) -> dict[str, Any]:
    """Return the value of `data`; empty if it is missing or null."""
    if not text or text == b"null":
        return {}
    try:
        found = parse(text)
    except NotStrict as problem:
        raise BadInput(f"data: {problem}") from None
    read_data(found)
    return cast("dict[str, Any]", found)


def _read_reply(text: bytes) -> ReplyChecks | None:
    """Return the checks of the reply in the JSON of `expected_output`, which has no other key; None if it is missing or null."""
    if not text or text == b"null":
        return None
    try:
        fields = _decode_fields(text)
    except msgspec.ValidationError:
        raise BadInput(f"expected_output: expected an object with the key 'reply', got {text.decode()[:40]}") from None
    _refuse_unknown(fields, ("reply",), "expected_output", "key")
    return read_reply(fields)


def _refuse_unknown(given: Collection[str], known: Collection[str], where: str, noun: str) -> None:
    for key in given:
        if key not in known:
            raise BadInput(f"{where}: unknown {noun} {key!r}{did_you_mean(key, known)}", f"Known {noun}s: {', '.join(known) or 'none'}.")


def _write_call(call: Call) -> bytes:
    arguments = {key: escape_globs(value) for key, value in call.arguments.items()}
    return msgspec.json.encode({"functionName": call.name, "arguments": call.text if call.malformed else Raw(dump(arguments).encode())})


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `expected_function_calls`."""
    return 0.6 if "expected_function_calls" in fields else 0.0


FORMAT = Format("scenarios", "scenarios", detect, read, write, writes_cases=True, drafts_cases=True)
