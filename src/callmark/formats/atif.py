"""Trajectories in the Agent Trajectory Interchange Format (ATIF), as Harbor and other agent harnesses write them.

    {"schema_version": "ATIF-v1.8", "session_id", "agent": {"name", "version", "tool_definitions"}, "steps": [
        {"step_id", "source": "system" | "user" | "agent", "message", "reasoning_content",
         "tool_calls": [{"tool_call_id", "function_name", "arguments"}],
         "observation": {"results": [{"source_call_id", "content"}]}}]}

Each trajectory is a conversation; those of subagents inside one are left out, and counted. An observation that names no call becomes a
message of the user. Steps that were copied from another trajectory are kept: they are what the agent saw.
"""

from collections.abc import Iterable, Mapping

from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    build_conversation,
    content_of,
    known_part,
    optional_text,
    other_part,
    read_list,
    read_object,
    read_objects,
    read_part_call,
    read_row,
    refuse_calls,
    result_message,
    text_part,
)
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import json_kind, read_text
from callmark.types import Conversation, Place

_VERSION = "ATIF-v1."
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_ROW_KEYS = frozenset({"schema_version", "session_id", "trajectory_id", "agent", "steps"})
_STEP_KEYS = frozenset({"tool_calls", "llm_call_count"})
_SUBAGENTS = "trajectories of subagents"


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with a schema version of ATIF."""
    return 0.95 if bytes(fields.get("schema_version", b"")).startswith(b'"ATIF-') and "steps" in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a trajectory. An unknown major version, and a step of an unknown source, raise `BadInput`."""
    fields = read_row(row)
    version = optional_text(fields, "schema_version", "")
    if not version.startswith(_VERSION):
        raise BadInput(f"schema_version: expected {_VERSION}x, got {version[:40]!r}" if version else "missing key 'schema_version'")
    if "steps" not in fields:
        raise BadInput("missing key 'steps'")
    messages: list[Fields] = []
    for index, step in enumerate(read_objects(fields["steps"], "steps")):
        messages += _read_step(step, f"steps[{index}]")
    if "subagent_trajectories" in fields:
        context.left_out[_SUBAGENTS] += len(read_list(fields["subagent_trajectories"], "subagent_trajectories"))
    agent = read_object(fields["agent"], "agent") if "agent" in fields else {}
    tools = bytes(agent.get("tool_definitions", b""))
    given_id = fields.get("trajectory_id", fields.get("session_id"))
    return build_conversation(messages, tools, given_id=given_id, row=row, place=place, context=context)


def _read_step(step: Members, where: str) -> list[Fields]:
    source = optional_text(step, "source", where)
    if source not in _ROLES:
        raise BadInput(f"{where}.source: expected system, user or agent, got {source[:40]!r}" if source else f"{where}.source is missing")
    refuse_calls(step.keys() - _STEP_KEYS, where)
    turn = Turn(_ROLES[source])
    turn.parts = [part for part in _content(step.get("message", Raw(b'""')), f"{where}.message") if part != text_part("")]
    if "reasoning_content" in step:
        turn.thinking.append(optional_text(step, "reasoning_content", where))
    names: dict[str, str] = {}
    if "tool_calls" in step:
        for index, item in enumerate(read_objects(step["tool_calls"], f"{where}.tool_calls")):
            call = read_part_call(item, call_id=optional_text(item, "tool_call_id", f"{where}.tool_calls[{index}]"), ignore=("extra",))
            turn.calls.append(call)
            names[call.id or ""] = call.name
    if "observation" in step:
        for index, result in enumerate(read_objects(read_object(step["observation"], where).get("results", Raw(b"[]")), where)):
            at = f"{where}.observation.results[{index}]"
            content = content_of(_content(result.get("content", Raw(b'""')), f"{at}.content")) or ""
            call_id = optional_text(result, "source_call_id", at)
            turn.add_result(result_message(content, call_id, names.get(call_id, "")) if call_id else {"role": "user", "content": content})
    return turn.messages()


def _content(raw: Raw, where: str) -> list[Fields]:
    if json_kind(raw) == '"':
        return [text_part(read_text(raw))]
    parts: list[Fields] = []
    for index, part in enumerate(read_objects(raw, where)):
        at = f"{where}[{index}]"
        kind = optional_text(part, "type", at)
        if kind == "text":
            parts.append(text_part(optional_text(part, "text", at)))
        elif kind in ("image", "audio"):
            parts.append(known_part(kind))
        else:
            parts.append(other_part(kind or "part", part, at))
    return parts


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in read_row(row) if key not in _ROW_KEYS)


FORMAT = Format("atif", "agent trajectories (ATIF)", detect, read, leftover_keys=_leftover_keys)
