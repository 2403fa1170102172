"""The cells of a table as JSON: one function per type of column, over whole columns at a time.

A column of a table has one type, so structs are padded: each has the fields of all. A null in a struct means a missing key, and is left
out, at any depth; nulls in lists stay. A null in the arguments of a call stays if the tool of the row requires it, because it was passed. A
call or message of which every field is null is null itself.

Columns in JSON (Arrow's JSON type, or text under a key of `JSON_COLUMNS`) hold a value, not text. Bytes are read as text, or as Base64 if
they are not UTF-8. Dates and times are text in ISO 8601. A type that JSON has no value for raises `BadInput`.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.shapes import ARGUMENT_KEYS, NAME_KEYS
from callmark.errors import BadInput

JSON_COLUMNS = frozenset(
    [
        "messages", "conversations", "conversation", "contents", "tools", "functions", "function", "expected_output", "item", "sample",
        "source", "tool_calls", "output_tools", "calls", "function_calls", "function_call", "toolCalls", "expected_function_calls",
        "expected_tool_calls", "reference_tool_calls", "ground_truth", "question", "choices", "message", "traj", "info",
        "systemInstruction", "system_instruction", "toolConfig", "tool_config", "config", "inputs", "outputs", "events",
        "extra", "answers", "reward_info", "task", "chosen_response", "rejected_response",
    ]
)  # fmt: skip
"""Keys that hold a list or an object in some format, and never the text that a model wrote."""
MESSAGE_COLUMNS = frozenset({"input", "output", "system", "prompt", "completion", "chosen", "rejected", "content", "result"})
"""Keys that hold a text, or a list of messages."""
_ITEM_TYPES = frozenset({"message", "function_call", "function_call_output", "reasoning", "text", "tool_use", "tool_result"})
_NAMES = frozenset({*NAME_KEYS, "role", "from"})
_DEFINITIONS = ("tools", "functions")

Fragments = list[bytes | None]  # the JSON of each cell; None for a null
Required = Callable[[int, str], Sequence[str]]  # the arguments that a tool of a row requires, by the index of the row and its name

_encode = msgspec.json.Encoder().encode
_skip = msgspec.json.Decoder(Raw).decode
_decode_items = msgspec.json.Decoder(list[Any] | dict[str, Any]).decode
_decode_text = msgspec.json.Decoder(str).decode


def read_batch(batch: Any, name: str) -> Iterator[bytes]:
    """Yield the JSON of each row of a record batch. `name` is the name of the file in messages."""
    keys = [_encode(key) for key in batch.schema.names]
    tools = _Tools(batch)
    reader = _ColumnReader(name, tools.required)
    rows = list(range(batch.num_rows))
    columns = [
        reader.repeated(column, key) if key in _DEFINITIONS else reader.column(column, rows, key, key)
        for key, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    only_ids = [key in _ID_KEYS for key in batch.schema.names]
    for cells in zip(*columns, strict=True) if columns else ():
        given = [b"%b:%b" % (key, cell) for key, cell in zip(keys, cells, strict=True) if cell is not None]
        if all(cell is None or is_id for cell, is_id in zip(cells, only_ids, strict=True)):  # its nulls are what the row says
            given = [b"%b:%b" % (key, b"null" if cell is None else cell) for key, cell in zip(keys, cells, strict=True)]
        yield b"{" + b",".join(given) + b"}"


_ID_KEYS = frozenset({"id", "case", "case_id", "custom_id", "inputs.id", "trial", "repeat"})


def json_cell(key: str, text: str) -> bytes:
    """Return the JSON of a text in a column: of the value in it, if the column is in JSON, otherwise of the text."""
    if key in JSON_COLUMNS and text.lstrip()[:1] in ("[", "{"):
        return _json_text(text)
    if key in MESSAGE_COLUMNS and text.lstrip()[:1] in ("[", "{") and _is_messages(key, text):
        return _json_text(text)
    return encode_text(text)


def _is_messages(key: str, text: str) -> bool:
    """Return whether a text is a JSON list of messages, parts or items, or an object with one in `messages`; any other JSON is a text."""
    try:
        found = _decode_items(text)
    except (ValueError, RecursionError):
        return False
    items = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return False
    if key == "result":  # calls of the Berkeley leaderboard, {NAME: "JSON of the arguments"}
        return bool(items) and all(len(item) == 1 and isinstance(next(iter(item.values())), str) for item in items)
    return bool(items) and all("role" in item or item.get("type") in _ITEM_TYPES or item.keys() == {"text"} for item in items)


def encode_text(text: str) -> bytes:
    """Return the JSON of a text. A lone surrogate stays one, as an escape sequence, so that the row is refused or repaired as in JSONL."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def _json_text(text: str) -> bytes:
    """Return a JSON text as it is, on one line; if it is not valid JSON, the JSON of the text."""
    try:
        return _json_bytes(text.encode())
    except UnicodeEncodeError:
        return encode_text(text)


def _json_bytes(text: bytes) -> bytes:
    """Return a JSON text as it is, on one line; if it is not valid JSON, the JSON of the text."""
    try:
        _skip(text)
    except (ValueError, RecursionError):
        return encode_text(text.decode("utf-8", "surrogateescape"))
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


class _Tools:
    """The arguments that the tools of each row require, looked up only where a call has null arguments."""

    def __init__(self, batch: Any) -> None:
        self._columns = [batch.schema.names.index(key) for key in _DEFINITIONS if key in batch.schema.names]
        self._batch = batch
        self._texts: list[Fragments] | None = None
        self._cache: dict[bytes, Mapping[str, Sequence[str]]] = {}

    def required(self, row: int, name: str) -> Sequence[str]:
        if self._texts is None:
            reader = _ColumnReader("", lambda row, name: ())
            names = self._batch.schema.names
            self._texts = [reader.repeated(self._batch.column(at), names[at]) for at in self._columns]
        text = next((found[row] for found in self._texts if found[row] is not None), None) or b"[]"
        if text not in self._cache:
            self._cache[text] = _required_arguments(text)
        return self._cache[text].get(name, ())


def _required_arguments(text: bytes) -> Mapping[str, Sequence[str]]:
    from callmark.calls.toolsets import ToolListCache

    try:
        _, tools = ToolListCache().read(text)
    except (BadInput, ValueError):  # reported when the row is read
        return {}
    found = {tool.name: tool.parameters.get("required") for tool in tools}
    return {name: needed for name, needed in found.items() if isinstance(needed, list)}


class _ColumnReader:
    def __init__(self, name: str, required: Required) -> None:
        import pyarrow
        import pyarrow.compute

        self._arrow = pyarrow
        self._types = pyarrow.types
        self._compute = pyarrow.compute
        self._name = name
        self._required = required

    def column(self, array: Any, rows: list[int], key: str, path: str) -> Fragments:
        """Return the JSON of each cell of a column. `rows` are the rows that the cells belong to, `key` is the last key of `path`."""
        types, kind = self._types, array.type
        if array.null_count == len(array) or types.is_null(kind):
            return [None] * len(array)
        if isinstance(kind, self._arrow.BaseExtensionType):
            if kind.extension_name == "arrow.json":
                return [None if text is None else _json_bytes(text) for text in array.storage.cast(self._arrow.large_binary()).to_pylist()]
            return self.column(array.storage, rows, key, path)
        if types.is_dictionary(kind):
            values = self.column(array.dictionary, [0] * len(array.dictionary), key, path)
            indexes = array.indices.to_pylist()
            return [None if index is None else values[index] for index in indexes]
        if types.is_run_end_encoded(kind):
            return self.column(self._compute.run_end_decode(array), rows, key, path)
        if types.is_struct(kind):
            return self._structs(array, rows, key, path)
        if types.is_map(kind):
            return self._maps(array, rows, path)
        if types.is_nested(kind):
            return self._lists(array, rows, key, path)
        return self._scalars(array, key, path)

    def repeated(self, array: Any, key: str) -> Fragments:
        """Return the JSON of each cell of a column in which neighbors are mostly equal, such as the tools: each is read once."""
        if not self._types.is_nested(array.type):
            return self.column(array, list(range(len(array))), key, key)
        cells = [array.slice(place, 1) for place in range(len(array))]
        starts = [place for place in range(len(cells)) if not place or not cells[place].equals(cells[place - 1])]
        different = self.column(array.take(self._arrow.array(starts, self._arrow.int64())), starts, key, key)
        ends = [*starts[1:], len(cells)]
        return [cell for cell, start, end in zip(different, starts, ends, strict=True) for _ in range(end - start)]

    def _scalars(self, array: Any, key: str, path: str) -> Fragments:
        types, kind = self._types, array.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return self._strings(array, key if key == path else "")
        if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
            return [None if value is None else _bytes_cell(key, value) for value in array.to_pylist()]
        if types.is_boolean(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_float32(kind) or types.is_float16(kind):
            return [None if text is None else _number(text) for text in array.cast(self._arrow.string()).to_pylist()]
        if types.is_float64(kind):
            return [None if value is None else _number(repr(value)) for value in array.to_pylist()]
        if types.is_duration(kind):
            return self._scalars(array.cast(self._arrow.int64()), key, path)
        if types.is_temporal(kind):
            return [None if text is None else _encode(text.replace(" ", "T", 1)) for text in array.cast(self._arrow.string()).to_pylist()]
        raise BadInput(
            f"{self._name}: column {path}: values of type {kind} are not supported",
            "Remove the column, or convert it to text.",
        )

    def _strings(self, array: Any, key: str) -> Fragments:
        """Return the JSON of texts. `key` is that of a column of the table; empty for a text inside a value."""
        texts = self._texts(array)
        if key in JSON_COLUMNS or key in MESSAGE_COLUMNS:
            return [None if text is None else json_cell(key, text) for text in texts]
        try:
            return [None if text is None else _encode(text) for text in texts]
        except UnicodeEncodeError:
            return [None if text is None else encode_text(text) for text in texts]

    def _texts(self, array: Any) -> list[str | None]:
        """Return the texts of an array. One that is not UTF-8 has lone surrogates in place of the bytes."""
        try:
            found: list[str | None] = array.to_pylist()
        except UnicodeDecodeError:
            binary = array.cast(self._arrow.large_binary()).to_pylist()
            return [None if value is None else value.decode("utf-8", "surrogateescape") for value in binary]
        return found

    def _structs(self, array: Any, rows: list[int], key: str, path: str) -> Fragments:
        fields = [array.type.field(index) for index in range(array.type.num_fields)]
        children = array.flatten()  # null where the struct is
        columns = [self.column(child, rows, field.name, f"{path}.{field.name}") for field, child in zip(fields, children, strict=True)]
        keys = [_encode(field.name) + b":" for field in fields]
        names = [field.name for field in fields]
        is_nameable = not _NAMES.isdisjoint(names)
        name = next((index for index, field in enumerate(names) if field in NAME_KEYS), None)
        if name is not None and path.partition(".")[0].removesuffix("[]") not in _DEFINITIONS:
            for index, field in enumerate(fields):
                if field.name in ARGUMENT_KEYS and self._types.is_struct(field.type):
                    columns[index] = self._with_required(columns[index], array.field(index), columns[name], rows)
        members: list[list[bytes]] = [[] for _ in range(len(array))]
        for prefix, cells in zip(keys, columns, strict=True):
            for place, cell in enumerate(cells):
                if cell is not None:
                    members[place].append(prefix + cell)
        if is_nameable:
            return [b"{" + b",".join(given) + b"}" if given else None for given in members]
        if not array.null_count:
            return [b"{" + b",".join(given) + b"}" for given in members]
        valid = array.is_valid().to_pylist()
        return [b"{" + b",".join(given) + b"}" if is_valid else None for given, is_valid in zip(members, valid, strict=True)]

    def _with_required(self, cells: Fragments, arguments: Any, names: Fragments, rows: list[int]) -> Fragments:
        """Return arguments with the nulls that the tool requires."""
        keys = [arguments.type.field(index).name for index in range(arguments.type.num_fields)]
        null = [(key, column.is_null().to_pylist()) for key, column in zip(keys, arguments.flatten(), strict=True) if column.null_count]
        found = list(cells)
        for index, cell in enumerate(cells):
            name = names[index]
            missing = [key for key, is_null in null if is_null[index]] if cell is not None and name is not None else []
            if not missing or not name or not name.startswith(b'"'):
                continue
            required = self._required(rows[index], _decode_text(name))
            kept = [_encode(key) + b":null" for key in missing if key in required]
            if cell is not None and kept:
                found[index] = b"{" + b",".join([*kept, *([cell[1:-1]] if cell != b"{}" else [])]) + b"}"
        return found

    def _lists(self, array: Any, rows: list[int], key: str, path: str) -> Fragments:
        if not (self._types.is_list(array.type) or self._types.is_large_list(array.type)):
            array = array.cast(self._arrow.large_list(array.type.value_type))
        lengths = array.value_lengths().to_pylist()
        owners = [row for row, length in zip(rows, lengths, strict=True) for _ in range(length or 0)]
        items = [b"null" if item is None else item for item in self.column(array.flatten(), owners, key, f"{path}[]")]
        ends = accumulate((length or 0 for length in lengths), initial=0)
        return [
            None if length is None else b"[" + b",".join(items[start:end]) + b"]"
            for length, (start, end) in zip(lengths, pairwise(ends), strict=True)
        ]

    def _maps(self, array: Any, rows: list[int], path: str) -> Fragments:
        kind = self._arrow.list_(self._arrow.struct([("key", array.type.key_type), ("value", array.type.item_type)]))
        lists = array.cast(kind)
        lengths = lists.value_lengths().to_pylist()
        owners = [row for row, length in zip(rows, lengths, strict=True) for _ in range(length or 0)]
        pairs = lists.flatten()
        keys = [text if isinstance(text, str) else str(text) for text in pairs.field("key").to_pylist()]
        values = self.column(pairs.field("value"), owners, "", f"{path}[]")
        members = [_encode(key) + b":" + (b"null" if value is None else value) for key, value in zip(keys, values, strict=True)]
        ends = accumulate((length or 0 for length in lengths), initial=0)
        return [
            None if length is None else b"{" + b",".join(members[start:end]) + b"}"
            for length, (start, end) in zip(lengths, pairwise(ends), strict=True)
        ]


def _number(text: str) -> bytes:
    """Return a number as JSON. NaN and infinity stay as they are, which is how JSON files have them too: a row with one is refused."""
    return {"nan": b"NaN", "inf": b"Infinity", "-inf": b"-Infinity"}.get(text) or text.encode()


def _bytes_cell(key: str, value: bytes) -> bytes:
    try:
        return json_cell(key, value.decode())
    except UnicodeDecodeError:
        return _encode(base64.b64encode(value).decode())
