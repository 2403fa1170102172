"""Tags of a run: names with or without a value, to find it again: `nightly`, `branch=main`."""

import re
from collections.abc import Mapping, Sequence

from callmark.errors import BadInput

_KEY = re.compile(r"[\w./-]{1,100}")
_MAX_VALUE = 200  # characters


def read_tags(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Return tags by key; the value of a tag without one is empty. They are given as `KEY` or `KEY=VALUE`, or as a mapping.

    An invalid key or value and a key that is given twice raise `BadInput`.
    """
    tags: dict[str, str] = {}
    pairs = given.items() if isinstance(given, Mapping) else map(_split, [given] if isinstance(given, str) else given)
    for key, value in pairs:
        if not isinstance(key, str) or not isinstance(value, str) or not _KEY.fullmatch(key):
            raise BadInput(
                f"--tag: expected KEY or KEY=VALUE, got {f'{key}={value}' if value else key!r:.80}",
                "A key may contain only letters, digits and . _ / -",
            )
        if len(value) > _MAX_VALUE or not value.isprintable():
            raise BadInput(f"--tag: {key}: expected at most {_MAX_VALUE} printable characters, got {value!r:.80}")
        if key in tags:
            raise BadInput(f"--tag: {key} is given twice")
        tags[key] = value
    return tags


def has_tag(tags: Mapping[str, str], tag: str) -> bool:
    """Return whether a run with these tags has the tag `KEY` (with any value) or `KEY=VALUE`."""
    key, equals, value = tag.partition("=")
    return key in tags and (not equals or tags[key] == value)


def _split(tag: str) -> tuple[str, str]:
    key, _, value = str(tag).partition("=")
    return key.strip(), value.strip()
