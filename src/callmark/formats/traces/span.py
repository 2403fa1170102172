"""A span of a trace, whatever format it was read from, its attributes, and the spans around it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import Struct

from callmark.calls.strict import is_deeper_than
from callmark.errors import BadInput

T = TypeVar("T")

_MAX_DEPTH = 200  # nested values of an attribute
_MAX_LIST = 100_000  # an index in a flattened list
_VERBATIM = frozenset({"json_schema", "arguments"})  # values that are not attributes themselves
_FIELDS = {
    "arrayValue": "array",
    "array_value": "array",
    "kvlistValue": "object",
    "kvlist_value": "object",
    "intValue": "int",
    "int_value": "int",
    "stringValue": "value",
    "string_value": "value",
    "boolValue": "value",
    "bool_value": "value",
    "doubleValue": "value",
    "double_value": "value",
    "bytesValue": "value",
    "bytes_value": "value",
}


class Event(Struct, frozen=True, gc=False):
    """Something that happened during a span: a name and attributes. `body` is the body of a log record."""

    name: str
    attributes: dict[str, Any] = {}
    body: Any = None
    time: int = 0


class Span(Struct, frozen=True, gc=False):
    """One operation. Times are nanoseconds; 0 if not known. `lost` is the number of attributes and events that the exporter dropped."""

    id: str
    parent: str = ""
    trace: str = ""
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: dict[str, Any] = {}
    events: tuple[Event, ...] = ()
    failed: str = ""
    lost: int = 0


class Ancestry:
    """The spans of a group by id, and what is around each. A span that is its own ancestor raises `BadInput`.

    `orphans` is the number of spans whose parent is missing.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = {span.id: span for span in spans}
        self.orphans = sum(bool(span.parent) and span.parent not in self._spans for span in spans)
        self._refuse_cycles(spans)

    def nearest(self, values: Mapping[str, T], *, with_own: bool) -> dict[str, T]:
        """Return for each span the value of the nearest span around it that has one, or its own value; spans without any are left out."""
        found: dict[str, T] = {}
        known: dict[str, T | None] = {}  # of the span itself, or around it
        for span in self._spans.values():
            path: list[Span] = []
            current: Span | None = span
            while current is not None and current.id not in known:
                path.append(current)
                current = self._spans.get(current.parent)
            value = known[current.id] if current is not None else None
            for one in reversed(path):
                value = known[one.id] = values.get(one.id, value)
        for span in self._spans.values():
            around = known.get(span.id) if with_own else known.get(span.parent)
            if around is not None:
                found[span.id] = around
        return found

    def _refuse_cycles(self, spans: Sequence[Span]) -> None:
        safe: set[str] = set()
        for span in spans:
            path: set[str] = set()
            current: Span | None = span
            while current is not None and current.id not in safe:
                if current.id in path:
                    raise BadInput(f"span {current.id[:40]!r} is its own ancestor")
                path.add(current.id)
                current = self._spans.get(current.parent)
            safe |= path


def any_value(value: Any) -> Any:
    """Return the value of an OTLP `AnyValue`; any other value raises `BadInput`."""
    if is_deeper_than(value, 2 * _MAX_DEPTH):
        raise BadInput("an attribute is nested too deeply")
    return _any_value(value)


def key_values(pairs: Any) -> dict[str, Any]:
    """Return the attributes in a list of OTLP key-value pairs. A list that is not one raises `BadInput`."""
    if pairs is None:
        return {}
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) and isinstance(pair.get("key"), str) for pair in pairs):
        raise BadInput("attributes: expected a list of objects with key and value")
    return {pair["key"]: any_value(pair.get("value")) for pair in pairs}


def _any_value(value: Any) -> Any:
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or len(value) != 1 or (key := next(iter(value))) not in _FIELDS:
        raise BadInput('attributes: expected a value such as {"stringValue": …}')
    inner = value[key]
    match _FIELDS[key]:
        case "array":
            return [_any_value(item) for item in _values(inner)]
        case "object":
            return {str(pair.get("key")): _any_value(pair.get("value")) for pair in _values(inner) if isinstance(pair, dict)}
        case "int":
            try:
                return int(inner)
            except (TypeError, ValueError):
                raise BadInput("attributes: expected an integer as intValue") from None
        case _:
            return inner


def _values(holder: Any) -> list[Any]:
    found = holder.get("values") if isinstance(holder, dict) else None
    return found if isinstance(found, list) else []


def nested(attributes: Mapping[str, Any], prefix: str) -> Any:
    """Return what is under a prefix, as nested objects and lists: `{"a.0.b": 1}` and `{"a": [{"b": 1}]}` are the same for prefix `a`.

    Lists of objects may have dotted keys themselves. None if there is nothing.
    """
    direct = attributes.get(prefix)
    if direct is not None:
        return _unfolded(direct)
    dotted = f"{prefix}."
    flat = {key[len(dotted) :]: value for key, value in attributes.items() if key.startswith(dotted)}
    if flat:
        return _unfolded(flat)
    found = lookup(attributes, prefix)
    return _unfolded(found) if found is not None else None


def _unfolded(value: Any, depth: int = 0) -> Any:
    """Return a value with dotted keys as nested objects, and objects with the keys 0, 1, … as lists."""
    if depth > _MAX_DEPTH:
        raise BadInput("an attribute is nested too deeply")
    if isinstance(value, list):
        return [_unfolded(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    groups: dict[str, Any] = {}
    for key, item in value.items():
        first, dot, rest = str(key).partition(".")
        if not dot:
            inner = groups.get(first)
            if isinstance(inner, dict) and isinstance(item, Mapping):
                inner.update(item)
            else:
                groups[first] = dict(item) if isinstance(item, Mapping) else item
            continue
        inner = groups.setdefault(first, {})
        if isinstance(inner, dict):
            inner[rest] = item
    if groups and all(key.isascii() and key.isdigit() and int(key[:7]) < _MAX_LIST for key in groups):
        return [_unfolded(groups[key], depth + 1) for key in sorted(groups, key=int)]
    return {key: item if key in _VERBATIM and isinstance(item, dict) else _unfolded(item, depth + 1) for key, item in groups.items()}


def lookup(attributes: Mapping[str, Any], name: str) -> Any:
    """Return the value of an attribute as it is, whether its name is one key or the path to it; None if there is none."""
    if name in attributes:
        return attributes[name]
    holder: Any = attributes
    for word in name.split("."):
        holder = holder.get(word) if isinstance(holder, Mapping) else None
    return holder


def nanoseconds(value: Any) -> int:
    """Return a time as nanoseconds: a number of them, as a number or text, or an ISO 8601 time. 0 for anything else."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int | float):
        return int(value) if 0 <= value < 2**63 else 0
    if not isinstance(value, str):
        return 0
    if value.isascii() and value.isdigit():
        return int(value) if len(value) < 20 else 0
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return 0
    try:
        seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return 0
    return max(0, int(seconds) * 1_000_000_000 + time.microsecond * 1000)
