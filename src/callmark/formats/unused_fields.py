"""Find the fields of a row that its format does not use, whatever the format is.

Every field is changed in turn, and the row is read again: if the result is the same, the field was not used. Fields with the same path
(`messages[].weight`) are changed together, so a row is read about as often as it has different paths.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, structs

from callmark.calls.shapes import METADATA_KEYS
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.types import Conversation, SourceRow

Read = Callable[[bytes], Conversation]
_Path = tuple[str, ...]  # keys, with `[]` for every item of a list

_ITEM = "[]"
_MAX_READ = 1 << 23  # bytes read in total; with a long row, some of its paths are not tried
_MAX_DEPTH = 60
_OTHER = "other "  # makes a string another one, of the same type


class Unused(Struct, frozen=True):
    """The unused fields of a row, as paths: `metadata.source`, `messages[].weight`. `complete` is False if some were not tried."""

    fields: tuple[str, ...] = ()
    complete: bool = True


def unused_fields(row: bytes, read: Read) -> Unused:
    """Return the fields of a row that can change without a change in what `read` returns, or in whether it refuses the row.

    An object or list of which nothing is used is named as a whole. Nulls and empty values are left out, as is the metadata of calls. A row
    that is not JSON has none.
    """
    try:
        value = json.loads(row)
        before = _content(read(row))
    except (ValueError, RecursionError, BadInput):
        return Unused()
    paths = dict.fromkeys(_leaves(value, ()))
    tries = max(1, _MAX_READ // max(len(row), 1))
    unused = {path for path in list(paths)[:tries] if _is_same(value, path, read, before)}
    shown = dict.fromkeys(_widest(path, paths, unused) for path in paths if path in unused)
    return Unused(tuple(map(_text, shown)), len(paths) <= tries)


def _leaves(value: Any, path: _Path) -> Iterator[_Path]:
    """Yield the path of every value that is neither null nor empty, down to strings, numbers and booleans."""
    if len(path) > _MAX_DEPTH or value is None or value in ("", [], {}):
        return
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in METADATA_KEYS or not _is_call(value):
                yield from _leaves(member, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, (*path, _ITEM))
    else:
        yield path


def _is_call(value: dict[str, Any]) -> bool:
    return any(key in value for key in ("name", "function", "functionCall", "toolUse", "toolName", "tool_name"))


def _is_same(value: Any, path: _Path, read: Read, before: Conversation) -> bool:
    try:
        return _content(read(json.dumps(_changed(value, path)).encode())) == before
    except (ValueError, RecursionError, BadInput):
        return False


def _changed(value: Any, path: _Path) -> Any:
    """Return a value with everything at a path changed."""
    if not path:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return value + 1
        return _OTHER + value if isinstance(value, str) else value
    key, *rest = path
    if key == _ITEM and isinstance(value, list):
        return [_changed(item, tuple(rest)) for item in value]
    if isinstance(value, dict) and key in value:
        return {**value, key: _changed(value[key], tuple(rest))}
    return value


def _widest(path: _Path, paths: dict[_Path, None], unused: set[_Path]) -> _Path:
    """Return the shortest part of a path under which nothing is used."""
    for length in range(1, len(path)):
        start = path[:length]
        if all(other in unused for other in paths if other[:length] == start):
            return start
    return path


def _text(path: _Path) -> str:
    text = "".join(key if key == _ITEM else f".{scrub(key)}" for key in path).removeprefix(".")
    return text if len(path) > 1 and path[-1] != _ITEM else text.removesuffix(_ITEM)


def _content(row: Conversation) -> Conversation:
    """Return what was understood of a row, without where it is from."""
    return structs.replace(row, place=None, original=SourceRow())
