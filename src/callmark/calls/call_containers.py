"""The keys under which a message, a row or an expected output may hold tool calls.

A key that looks like a place for calls is read as one or refused, never ignored: a call that is overlooked would count as no call.
"""

import re
from collections.abc import Container, Mapping, Sequence

from msgspec import Raw

from callmark.calls.content_parts import CALL_WORD
from callmark.calls.strict import scrub
from callmark.errors import BadInput

OTHER_CALL_KEYS = (
    "toolCalls", "tool_call", "toolCall", "function_calls", "functionCalls", "functionCall", "calls", "tool_uses", "toolUses", "toolUse",
    "output_tools", "invalid_tool_calls",
)  # fmt: skip
"""Keys that hold calls in the messages of other programs. They are read like `tool_calls`."""

MESSAGE_KEYS = frozenset(
    [
        "tool_calls", "function_call", "tool_call_id", "toolCallId", "tool_use_id", "tool_name", "toolName", "tool_choice",
        "parallel_tool_calls", "tool_plan", "tools", "functions", "caller",
    ]
)  # fmt: skip
"""Keys of messages and rows with `tool`, `function` or `call` in them that are known, and that hold no calls, `tool_calls` and
`function_call` excepted."""

_ROW_CONTAINER = re.compile(r"(?:.*_)?calls?|.*(?:tool|function)_?(?:calls?|uses?)(?:_.*)?", re.IGNORECASE)
_HINT = "Rename it to tool_calls if it holds calls, or remove it. If the file is in another format, pass --from FORMAT."


def unread_containers(fields: Mapping[str, Raw], known: Container[str] = MESSAGE_KEYS) -> Sequence[str]:
    """Return the keys of a message that may hold calls and are not `known`. A null, a number and an empty value hold none."""
    return [key for key, value in fields.items() if key not in known and CALL_WORD.search(key) and _may_hold_calls(value)]


def refuse_row_containers(fields: Mapping[str, Raw], known: Container[str], where: str = "") -> None:
    """Raise `BadInput` for a key of a row that is named like a list of calls, and holds a list or an object."""
    for key, value in fields.items():
        if key not in known and key not in MESSAGE_KEYS and _ROW_CONTAINER.fullmatch(key) and bytes(value).lstrip(b'"')[:1] in (b"[", b"{"):
            raise unknown_container(f"{where}{scrub(key)}")


def unknown_container(field: str) -> BadInput:
    """Return the error for a field that may hold calls, but is not one that is read."""
    return BadInput(f"{field}: unknown key, which may hold tool calls (expected tool_calls)", _HINT)


def _may_hold_calls(value: Raw) -> bool:
    return bytes(value)[:1] in (b"[", b"{", b'"') and bytes(value) not in (b'""', b"[]", b"{}")
