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
        arguments_key: The key of a call's arguments, which the first fault renames.
        role: The role of the assistant, which the second fault replaces; empty if the shape has no roles.
        call_part: The key that holds a call, or the type of one, which the third fault renames; empty if the shape has neither.
        keeps_ids: Whether the shape has ids of calls.
        keeps_nulls: Whether the shape can tell a null argument from a missing one.
    """

    name: str
    format_name: str
    rows: Callable[[Sequence[Sample]], list[Any]]
    arguments_key: str = "arguments"
    role: str = "assistant"
    call_part: str = ""
    keeps_ids: bool = True
    keeps_nulls: bool = True


class PredictionShape(Struct, frozen=True):
    """A shape of prediction rows. `row` returns the row with these calls; the other attributes are those of `Shape`."""

    name: str
    row: Callable[[Sequence[Call]], Any]
    arguments_key: str = "arguments"
    role: str = ""
    call_part: str = ""


def with_fault(shape: Shape | PredictionShape, fault: FaultName, rows: list[Any]) -> list[Any]:
    """Return rows of a shape with a fault in every place where it is possible; the same rows if the shape has no such place."""
    match fault:
        case "renamed arguments key":
            return [_rename(row, {shape.arguments_key: "payload"}, {}) for row in rows]
        case "unknown role":
            return [_rename(row, {}, {shape.role: "narrator"}) for row in rows] if shape.role else rows
        case "unknown call part":
            new = f"{shape.call_part}_call_v9"
            return [_rename(row, {shape.call_part: new}, {shape.call_part: new}) for row in rows] if shape.call_part else rows


def _rename(value: Any, keys: Mapping[str, str], words: Mapping[str, str]) -> Any:
    """Return a JSON value with other keys, and other strings in place of whole strings; tool definitions and what was renamed stay."""
    if isinstance(value, dict):
        return {
            keys.get(key, key): inner if key in keys or key in _DEFINITIONS else _rename(inner, keys, words) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_rename(inner, keys, words) for inner in value]
    return words.get(value, value) if isinstance(value, str) else value
