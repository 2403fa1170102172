"""Text from data made safe to show: control characters, escape sequences, bidirectional controls and lone surrogates are written
out (`\\x1b`), so that no row can steer a terminal.
"""

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")


def safe(text: str) -> str:
    """The text with everything that could steer a terminal written out. Line breaks and tabs stay."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, limit: int) -> str:
    """The text on one line, safe, folded in the end with `…`."""
    flat = " ".join(safe(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def folded(text: str, limit: int | None) -> str:
    """The text, safe, cut after `limit` characters with the number of those left out."""
    if limit is None or len(text) <= limit:
        return safe(text)
    return f"{safe(text[:limit])}… (+{len(text) - limit:,} characters)"
