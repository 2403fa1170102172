"""Make text from data safe to print: control characters, escape sequences, bidirectional controls and lone surrogates are escaped
(`\\x1b`), so that no row can control a terminal.
"""

import re
from collections.abc import Sequence

from callmark.wording import shorten_all, shorten_middle

_LONGEST_NAME = 1000  # characters of a name that are looked at: hostile names are endless
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")


def escape_controls(text: str) -> str:
    """Escape everything that could control a terminal. Line breaks and tabs stay."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, limit: int) -> str:
    """Return the text escaped and on one line, cut with `…` where it is longer than `limit`."""
    flat = " ".join(escape_controls(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def short_name(name: str, limit: int) -> str:
    """Return the name of a file, tool, model or run escaped and on one line, shortened in the middle to `limit` characters."""
    return shorten_middle(one_line(name, _LONGEST_NAME), limit)


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """Return names as `short_name` does, but wider where different names would look alike."""
    return shorten_all([one_line(name, _LONGEST_NAME) for name in names], limit)


def fold_text(text: str, limit: int | None) -> str:
    """Return the text escaped, cut after `limit` characters with the number of those left out; None keeps all of it."""
    if limit is None or len(text) <= limit:
        return escape_controls(text)
    return f"{escape_controls(text[:limit])}… (+{len(text) - limit:,} characters)"
