"""Read YAML: templates, rules and OpenAPI files. Plain values only, as in JSON; every other YAML text raises `BadInput` with its line.

JSON is read as JSON, because YAML does not have all of its escapes.

The parser's events are read one by one, without recursion, so that nesting, the size with aliases resolved, and the work are bounded.
Rejected: duplicate keys (one of the two values would be lost), tags of other types, aliases that contain themselves, NaN and infinity,
numbers outside the double range, nesting deeper than 200, and values that are too large. Dates and times stay strings.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from callmark.calls.strict import DEEPEST, NotStrict, parse, repeated_key
from callmark.errors import BadInput

MAX_CHARACTERS = 50_000_000  # of the text, and of the value with aliases resolved
MAX_VALUES = 5_000_000
_LONGEST_NUMBER = 400
_MERGE = "<<"
_CORE = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_YES = frozenset({"yes", "Yes", "YES", "on", "On", "ON"})
_NO = frozenset({"no", "No", "NO", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class InvalidYaml(BadInput):
    """The text is not YAML."""


def read_yaml(text: str | bytes, name: str, *, hint: str = "", json_booleans: bool = False) -> Any:
    """Return the value of a YAML text; None for an empty one. `name` is the file in messages; it may be empty.

    With `json_booleans`, only true and false are booleans; otherwise yes, no, on and off are too.
    """
    import yaml

    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"{_place(name)}expected at most {MAX_CHARACTERS:,} characters of YAML, got {len(text):,}")
    if text.lstrip()[:1] in ("{", "[", b"{", b"["):
        try:
            value = parse(text)
        except NotStrict:  # YAML that looks like JSON, perhaps
            pass
        else:
            if key := repeated_key(text):
                raise BadInput(f"{_place(name)}duplicate key {key!r}")
            return value
    try:
        return _Builder(name, json_booleans).build(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        lines = text.count("\n" if isinstance(text, str) else b"\n") + 1  # type: ignore[arg-type]
        place = _place(name, min(error.problem_mark.line + 1, lines)) if error.problem_mark else _place(name)
        raise InvalidYaml(f"{place}not valid YAML: {error.problem or error.context}", hint) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise InvalidYaml(f"{_place(name)}not valid YAML: {' '.join(str(error).split())}") from None


def _place(name: str, line: int | None = None) -> str:
    """Return `rules.yaml, line 3: `."""
    parts = [*([name] if name else []), *([f"line {line}"] if line is not None else [])]
    return f"{', '.join(parts)}: " if parts else ""


class _Collection:
    """A mapping or a sequence that is being read."""

    def __init__(self, value: Any, line: int, anchor: str | None) -> None:
        self.value = value
        self.line = line
        self.anchor = anchor
        self.key: Any = None
        self.has_key = False
        self.merged: list[dict[str, Any]] = []
        self.before = (0, 0)


class _Builder:
    """Builds the value of a YAML text from the parser's events."""

    def __init__(self, name: str, json_booleans: bool) -> None:
        self._name = name
        self._booleans = (_TRUE, _FALSE) if json_booleans else (_TRUE | _YES, _FALSE | _NO)
        self._open: list[_Collection] = []
        self._anchors: dict[str, tuple[Any, tuple[int, int]]] = {}
        self._size = (0, 0)  # values and characters, with aliases resolved
        self._root: Any = None
        self._documents = 0
        self._line = 1

    def build(self, events: Iterator[Any]) -> Any:
        import yaml

        for event in events:
            self._line = event.start_mark.line + 1
            match event:
                case yaml.ScalarEvent():
                    before = self._size
                    value = self._scalar(event)
                    self._grow(1, len(event.value))
                    self._remember(event.anchor, value, before)
                    self._add(value)
                case yaml.AliasEvent():
                    self._alias(str(event.anchor))
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._start(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1:
                        raise self._problem("expected one document, got several")
        return self._root

    def _start(self, event: Any, value: Any) -> None:
        if event.tag is not None and event.tag not in ("!", _CORE + ("map" if isinstance(value, dict) else "seq")):
            raise self._problem(f"expected plain values, got the tag {event.tag[:80]}")
        if len(self._open) >= DEEPEST:
            raise self._problem(f"nesting deeper than {DEEPEST}")
        collection = _Collection(value, self._line, event.anchor)
        collection.before = self._size
        self._grow(1, 0)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._open.append(collection)

    def _end(self) -> None:
        collection = self._open.pop()
        if collection.merged:
            own, collection.value = collection.value, {}
            for source in (*reversed(collection.merged), own):  # the first source wins, and the mapping's own keys win
                collection.value.update(source)
        self._remember(collection.anchor, collection.value, collection.before)
        self._add(collection.value)

    def _remember(self, anchor: str | None, value: Any, before: tuple[int, int]) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, (self._size[0] - before[0], self._size[1] - before[1]))

    def _alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            inside = any(collection.anchor == anchor for collection in self._open)
            raise self._problem(f"the alias *{anchor[:80]} {'contains itself' if inside else 'has no anchor'}")
        value, size = self._anchors[anchor]
        self._grow(*size)
        self._add(value)

    def _grow(self, values: int, characters: int) -> None:
        self._size = self._size[0] + values, self._size[1] + characters
        if self._size[0] > MAX_VALUES:
            raise self._problem(f"more than {MAX_VALUES:,} values, with aliases resolved")
        if self._size[1] > MAX_CHARACTERS:
            raise self._problem(f"more than {MAX_CHARACTERS:,} characters, with aliases resolved")

    def _add(self, value: Any) -> None:
        if not self._open:
            self._root = value
            return
        collection = self._open[-1]
        if isinstance(collection.value, list):
            collection.value.append(value)
        elif collection.has_key:
            self._add_item(collection, value)
        else:
            self._add_key(collection, value)

    def _add_key(self, collection: _Collection, key: Any) -> None:
        if isinstance(key, dict | list):
            raise self._problem("expected a plain key, got a collection")
        if key != _MERGE and key in collection.value:
            raise BadInput(f"{_place(self._name, collection.line)}duplicate key {key!r}")
        collection.key, collection.has_key = key, True

    def _add_item(self, collection: _Collection, value: Any) -> None:
        collection.has_key = False
        if collection.key != _MERGE:
            collection.value[collection.key] = value
            return
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._problem("<< expected a mapping, or a list of them")
        collection.merged += sources

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if _SURROGATE.search(text):
            text = self._join_surrogates(text)
        if event.tag not in (None, "!", *(_CORE + kind for kind in ("str", "int", "float", "bool", "null"))):
            raise self._problem(f"expected plain values, got the tag {event.tag[:80]}")
        if event.tag in ("!", f"{_CORE}str") or (event.tag is None and not event.implicit[0]):
            return text
        value = self._plain(text)
        if event.tag == f"{_CORE}float" and type(value) is int:
            return float(value)
        kind = "null" if value is None else type(value).__name__
        if event.tag is not None and event.tag != _CORE + kind:
            raise self._problem(f"expected {event.tag.removeprefix(_CORE)}, got {text[:80]!r}")
        return value

    def _join_surrogates(self, text: str) -> str:
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._problem("lone surrogate") from None

    def _plain(self, text: str) -> Any:
        """Return the value of a text without quotes: null, a boolean, a number, or the text."""
        if text in _NULLS:
            return None
        if text in self._booleans[0]:
            return True
        if text in self._booleans[1]:
            return False
        if not text[0].isdigit() and text[0] not in "+-.":
            return text
        if _NOT_FINITE.fullmatch(text):
            raise self._problem(f"expected a finite number, got {text}")
        if not (integer := _INTEGER.fullmatch(text)) and not _FLOAT.fullmatch(text):
            return text
        digits = text.replace("_", "")
        if len(digits) > _LONGEST_NUMBER:
            raise self._problem("number outside the double range")
        number = _integer(digits) if integer else float(digits)
        try:
            finite = isfinite(float(number))
        except OverflowError:
            finite = False
        if not finite:
            raise self._problem("number outside the double range")
        return number

    def _problem(self, sentence: str) -> BadInput:
        return BadInput(f"{_place(self._name, self._line)}{sentence}")


def _integer(digits: str) -> int:
    """Return the value of an integer: decimal, 0b, 0x, and octal with 0 or 0o."""
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if digits[:2] in ("0b", "0x", "0o"):
        return sign * (int(digits, 0) if len(digits) > 2 else 0)
    return sign * int(digits, 8 if digits.startswith("0") and len(digits) > 1 else 10)
