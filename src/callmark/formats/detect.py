"""Find a format by its name, by the name of a file, or by the first row of a file."""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec
from msgspec import Raw

from callmark import registry
from callmark.errors import BadInput
from callmark.formats.format import Format

_COMPRESSED = (".gz", ".zst")
_COMMON_EXTENSIONS = (".jsonl", ".json", ".ndjson", ".txt")  # of files in any format

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


@cache
def find_format(name: str) -> Format:
    """Return the format of that name; an unknown name raises `BadInput` with the nearest."""
    found: Format = registry.find("formats", name)
    return found


def detect_format(row: bytes) -> Format:
    """Return the format of a row. Where none recognizes it, `BadInput` names the keys that were found.

    Formats of installed packages are tried where no built-in one recognizes the row.
    """
    fields = _decode_fields(row)
    found = _most_confident(built_in_formats(), fields) or _most_confident(installed_formats(), fields)
    if found is not None:
        return found
    keys = ", ".join(list(fields)[:8]) or "none"
    raise BadInput(
        f"no format recognises the row: its keys are {keys}; messages, conversations or expected_function_calls was expected",
        f"--from names a format: {', '.join(registry.names('formats'))}.",
    )


def format_by_extension(path: str) -> Format | None:
    """Return the format to which the extension of a file belongs; None for an extension that is common or unknown."""
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    if path.endswith(_COMMON_EXTENSIONS) or "." not in path.rpartition("/")[2]:
        return None
    formats = (*built_in_formats(), *installed_formats())
    return next((one for one in formats if one.extensions and path.endswith(one.extensions)), None)


@cache
def built_in_formats() -> tuple[Format, ...]:
    """Return the built-in formats in registry order."""
    return tuple(registry.built_in("formats"))


@cache
def installed_formats() -> tuple[Format, ...]:
    """Return the formats of installed packages, in the order of their names."""
    return tuple(registry.installed("formats"))


def _most_confident(formats: Iterable[Format], fields: Mapping[str, Raw]) -> Format | None:
    """Return the first of the most confident formats; None where none recognizes the fields."""
    best: Format | None = None
    best_confidence = 0.0
    for candidate in formats:
        confidence = float(candidate.detect(fields))
        if confidence > best_confidence:
            best, best_confidence = candidate, confidence
    return best
