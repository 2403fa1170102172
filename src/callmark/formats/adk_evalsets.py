"""Evaluation sets of google-adk: `{"eval_set_id", "eval_cases": […]}`, or one evaluation case per row.

    {"eval_id", "conversation": [{"user_content", "intermediate_data", "final_response", "app_details"}]}
    {"eval_id", "conversation_scenario": {"starting_prompt", "conversation_plan"}}

    intermediate_data   {"tool_uses", "tool_responses", "intermediate_responses"}, or {"invocation_events": [{"author", "content"}]}
    app_details         the agents' instructions and tools; those of the first turn that has them

Contents are those of the Gemini API (`gemini.py`). A case with a conversation is a conversation: the expected trajectory. One with a
conversation scenario is a scenario that states no calls. Keys are in snake_case or in camelCase. Unknown keys of the intermediate data
raise `BadInput`, as they may hold calls.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, structs

from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats import gemini
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.types import Case, Conversation, Place, SourceRow

_KEYS = frozenset({"tool_uses", "tool_responses", "intermediate_responses", "invocation_events"})
_CAMEL = re.compile(r"(?<=[a-z0-9])[A-Z]")

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with the id of an evaluation case and a conversation or a scenario."""
    has_id = "eval_id" in fields or "evalId" in fields
    return 0.9 if has_id and any(_snake(key) in ("conversation", "conversation_scenario") for key in fields) else 0.0


def split(row: bytes) -> list[Raw] | None:
    """Return the cases of an evaluation set; None for a row."""
    if b"eval_cases" not in row and b"evalCases" not in row:
        return None
    try:
        fields = _decode_fields(row)
        cases = fields.get("eval_cases", fields.get("evalCases"))
        return None if cases is None or "eval_id" in fields or "evalId" in fields else _decode_list(cases)
    except (ValueError, RecursionError):
        return None


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation of an evaluation case, or its scenario."""
    check_utf8(row)
    try:
        value = parse(row)
    except NotStrict as problem:
        raise BadInput(f"not valid JSON: {problem}") from None
    fields = _object(value, "row")
    name = row_id(fields.get("eval_id"), place)
    if fields.get("conversation") is None:
        return _scenario(name, fields, row, place, context)
    contents: list[Any] = []
    details: dict[str, Any] = {}
    for index, invocation in enumerate(_list(fields["conversation"], "conversation")):
        where = f"conversation[{index}]"
        turn = _object(invocation, where)
        contents.append({"role": "user", **_content(turn.get("user_content"), f"{where}.user_content")})
        contents += _steps(turn.get("intermediate_data"), f"{where}.intermediate_data")
        if turn.get("final_response") is not None:
            contents.append({**_content(turn["final_response"], f"{where}.final_response"), "role": "model"})
        details = details or _details(turn.get("app_details"))
    try:
        found = gemini.read(dump({"contents": contents, **details}).encode(), place, context)
    except BadInput as error:
        raise BadInput(f"conversation, as {error}", error.hint) from None
    return structs.replace(found, id=name, original=structs.replace(found.original, row=row))


def _scenario(name: str, fields: dict[str, Any], row: bytes, place: Place, context: ReadContext) -> Case:
    scenario = _object(fields.get("conversation_scenario"), "conversation_scenario")
    parts = [scenario.get(key) for key in ("starting_prompt", "conversation_plan")]
    instructions = "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    if not instructions:
        raise BadInput("conversation_scenario: expected a conversation_plan, got nothing")
    raw_tools, tools = context.default_tools
    original = SourceRow((), tools, row, b"", (), raw_tools)
    return Case(name, (), tools, place, original, instructions=instructions, states_expectation=False)


def _steps(data: Any, where: str) -> list[Any]:
    """Return the contents between the user's and the final one. Results that are listed apart from the calls follow their calls."""
    if data is None:
        return []
    fields = _object(data, where)
    unknown = [key for key, value in fields.items() if key not in _KEYS and value]
    if unknown:
        raise BadInput(f"{where}: unknown keys: {', '.join(unknown)[:80]}")
    events = [_content(_object(event, where).get("content"), f"{where}.content") for event in _list(fields.get("invocation_events"), where)]
    contents: list[Any] = [{**event, "role": _role(event)} for event in events if event]
    said = [each for each in _list(fields.get("intermediate_responses"), where) if isinstance(each, list) and len(each) == 2]
    contents += ({"role": "model", "parts": parts} for _, parts in said)
    responses = _list(fields.get("tool_responses"), where)
    for call in _list(fields.get("tool_uses"), where):
        contents.append({"role": "model", "parts": [{"functionCall": call}]})
        response = next((one for one in responses if _answers(one, call)), None)
        if response is not None:
            responses.remove(response)
            contents.append({"role": "user", "parts": [{"functionResponse": response}]})
    return contents + [{"role": "user", "parts": [{"functionResponse": one}]} for one in responses]


def _answers(response: Any, call: Any) -> bool:
    """Return whether a result belongs to a call: by their ids, or by their names if one of them has no id."""
    if not isinstance(response, dict) or not isinstance(call, dict):
        return False
    first, second = response.get("id"), call.get("id")
    return first == second if first and second else response.get("name") == call.get("name")


def _role(content: Mapping[str, Any]) -> str:
    """Return the role of an event's content: results come from the user's side."""
    given = content.get("role")
    if isinstance(given, str) and given:
        return given
    parts = content.get("parts") or []
    has_results = any(isinstance(part, dict) and (part.get("function_response") or part.get("functionResponse")) for part in parts)
    return "user" if has_results else "model"


def _content(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    fields = _object(value, where)
    return {**fields, "parts": _list(fields.get("parts"), f"{where}.parts")}


def _details(value: Any) -> dict[str, Any]:
    """Return the instructions and tools of the agents of an app, as a row of the Gemini API has them."""
    agents = _object(value, "app_details").get("agent_details") if value is not None else None
    if not isinstance(agents, dict):
        return {}
    known = [_object(agent, "app_details.agent_details") for agent in agents.values()]
    instructions = [agent["instructions"] for agent in known if isinstance(agent.get("instructions"), str) and agent["instructions"]]
    tools = [tool for agent in known for tool in _list(agent.get("tool_declarations"), "app_details.tool_declarations")]
    system = {"systemInstruction": {"parts": [{"text": text} for text in instructions]}} if instructions else {}
    return {**system, **({"tools": tools} if tools else {})}


def _object(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return {_snake(key): inner for key, inner in value.items()}
    raise BadInput(f"{where}: expected an object, got {dump(value)[:40]}")


def _list(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, list):
        return [*value]
    raise BadInput(f"{where}: expected a list, got {dump(value)[:40]}")


def _snake(key: str) -> str:
    return _CAMEL.sub(lambda letter: f"_{letter[0]}", key).lower()


FORMAT = Format("adk-evalsets", "google-adk evaluation sets", detect, read, split=split)
