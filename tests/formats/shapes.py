"""A shape of a dataset, for `test_conformance.py`, and the three faults that are put into its rows.

To add shapes, write a module like `chat_shapes.py` with a tuple of `Shape`, and add the tuple to `test_conformance.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from callmark.types import Call
from tests.formats.samples import Sample

FaultName = Literal["renamed arguments key", "unknown role", "unknown call part"]
FAULTS: tuple[FaultName, ...] = ("renamed arguments key", "unknown role", "unknown call part")
_DEFINITIONS = frozenset({"tools", "functions", "toolConfig", "tool_config", "config"})  # tool definitions have no fault


class Shape(Struct, frozen=True):
    """A shape of rows.

    Attributes:
        name: Name of the shape.
        format_name: Name of the format that is detected.
        rows: Returns the rows of these conversations.
        arguments_key: The key of a call's arguments, which the first fault renames; empty if it is only part of a longer key.
        role: The role of the assistant, which the second fault replaces; empty if the shape has no roles.
        call_part: The key that holds a call, or the type of one, which the third fault renames; empty if the shape has neither.
        keeps_ids: Whether the shape has ids of calls.
        keeps_nulls: Whether the shape can tell a null argument from a missing one.
        in_text: Whether the calls are JSON inside a text, where the first fault renames the key.
        own_system: Whether the shape has a system prompt of its own.
        splits_messages: Whether text and calls of one message are two messages in the shape.
    """

    name: str
    format_name: str
    rows: Callable[[Sequence[Sample]], list[Any]]
    arguments_key: str = "arguments"
    role: str = "assistant"
    call_part: str = ""
    keeps_ids: bool = True
    keeps_nulls: bool = True
    in_text: bool = False
    own_system: bool = False
    splits_messages: bool = False


class ExchangeShape(Struct, frozen=True):
    """A shape of rows with one input and one output: `row` returns the row of a user's message and these calls.

    `is_conversation` is False for a shape that is only a case. `rejects` means that the row also has another output, without a call, which
    is a prediction. The other attributes are those of `Shape`.
    """

    name: str
    format_name: str
    row: Callable[[str, Sequence[Call]], Any]
    arguments_key: str = "arguments"
    role: str = "assistant"
    call_part: str = ""
    in_text: bool = False
    is_conversation: bool = True
    rejects: bool = False


class PredictionShape(Struct, frozen=True):
    """A shape of prediction rows. `row` returns the row with these calls; the other attributes are those of `Shape`."""

    name: str
    row: Callable[[Sequence[Call]], Any]
    arguments_key: str = "arguments"
    role: str = ""
    call_part: str = ""


def with_fault(shape: Shape | ExchangeShape | PredictionShape, fault: FaultName, rows: list[Any]) -> list[Any]:
    """Return rows of a shape with a fault in every place where it is possible; the same rows if the shape has no such place."""
    match fault:
        case "renamed arguments key":
            if not isinstance(shape, PredictionShape) and shape.in_text:
                return [_rename_in_text(row, f'"{shape.arguments_key}"', '"payload"') for row in rows]
            return [_rename(row, {shape.arguments_key: "payload"}, {}) for row in rows]
        case "unknown role":
            return [_rename(row, {}, {shape.role: "narrator"}) for row in rows] if shape.role else rows
        case "unknown call part":
            new = f"{shape.call_part}_call_v9"
            return [_rename(row, {shape.call_part: new}, {shape.call_part: new}) for row in rows] if shape.call_part else rows


def _rename_in_text(value: Any, before: str, after: str) -> Any:
    """Return a JSON value with a word replaced in every text, those of tool definitions excepted."""
    if isinstance(value, dict):
        return {key: inner if key in _DEFINITIONS else _rename_in_text(inner, before, after) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rename_in_text(inner, before, after) for inner in value]
    return value.replace(before, after) if isinstance(value, str) else value


def _rename(value: Any, keys: Mapping[str, str], words: Mapping[str, str]) -> Any:
    """Return a JSON value with other keys, and other strings in place of whole strings; tool definitions and what was renamed stay."""
    if isinstance(value, dict):
        return {
            keys.get(key, key): inner if key in keys or key in _DEFINITIONS else _rename(inner, keys, words) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_rename(inner, keys, words) for inner in value]
    return words.get(value, value) if isinstance(value, str) else value
