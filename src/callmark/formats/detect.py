"""Find a format by name, by file extension, or from the first row of a file."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import msgspec
from msgspec import Raw

from callmark import registry
from callmark.errors import BadInput
from callmark.formats.format import Format
from callmark.formats.json_fields import describe_keys

_COMPRESSED = (".gz", ".zst")
_COMMON_EXTENSIONS = (".jsonl", ".json", ".ndjson", ".txt")  # extensions shared by all formats

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


@cache
def find_format(name: str) -> Format:
    """Return the format with this name. An unknown name raises `BadInput` with the closest match."""
    found: Format = registry.find("formats", name)
    return found


def detect_format(row: bytes) -> Format:
    """Return the format of a row. If none is detected, raise `BadInput` with the keys that were found.

    Formats of installed packages are tried after the built-in ones.
    """
    fields = _decode_fields(row)
    found = _most_confident(built_in_formats(), fields) or _most_confident(installed_formats(), fields)
    if found is not None:
        return found
    raise BadInput(
        f"unknown format: expected the key messages, conversations or expected_function_calls, got {describe_keys(fields)}",
        f"Pass --from to choose a format: {', '.join(registry.names('formats'))}.",
    )


def format_by_extension(path: str) -> Format | None:
    """Return the format that a file extension belongs to; None for a common or unknown extension."""
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    if path.endswith(_COMMON_EXTENSIONS) or "." not in path.rpartition("/")[2]:
        return None
    formats = (*built_in_formats(), *installed_formats())
    return next((one for one in formats if one.extensions and path.endswith(one.extensions)), None)


def split_container(row: bytes) -> Sequence[bytes | Raw] | None:
    """Return the rows in an object that holds rows, such as a log; None for a row."""
    if not row.startswith(b"{"):
        return None
    for candidate in (*built_in_formats(), *installed_formats()):
        if candidate.split is not None and (rows := candidate.split(row)) is not None:
            return rows
    return None


@cache
def built_in_formats() -> tuple[Format, ...]:
    """Return the built-in formats, in registry order."""
    return tuple(registry.built_in("formats"))


@cache
def installed_formats() -> tuple[Format, ...]:
    """Return the formats of installed packages, sorted by name."""
    return tuple(registry.installed("formats"))


def _most_confident(formats: Iterable[Format], fields: Mapping[str, Raw]) -> Format | None:
    """Return the most confident format, the first one on a tie; None if none recognizes the fields."""
    best: Format | None = None
    best_confidence = 0.0
    for candidate in formats:
        confidence = float(candidate.detect(fields))
        if confidence > best_confidence:
            best, best_confidence = candidate, confidence
    return best
