"""Make text from data safe to print: control characters, escape sequences, bidirectional controls and lone surrogates are escaped
(`\\x1b`), so that no row can control a terminal; in Markdown, text from data is in code, where nothing is a link or a mention.

`safe_stream` applies `escape_controls` or `escape_json` to everything that is printed, and escapes the commands of CI logs. A caller that
prints a name on a line of its own, or that measures text, escapes it before.
"""

import re
from collections.abc import Sequence
from json import dumps

from callmark.wording import shorten_all, shorten_middle

_LONGEST_NAME = 1000  # characters of a name that are looked at: hostile names are endless
_INVISIBLE = "\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]")
COMMAND_ANYWHERE = re.compile(r"(?P<first>#)#(?=\[|vso\[|teamcity\[)")  # of Azure Pipelines and TeamCity
_COMMAND_AT_START = re.compile(r"^(?P<space>\s*):(?=:)", re.MULTILINE)  # of GitHub Actions
_ASCII_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])


def escape_controls(text: str) -> str:
    """Escape everything that could control a terminal. Line breaks and tabs stay."""
    return _UNSAFE.sub(lambda found: escape_character(found[0]), text)


def escape_log_commands(text: str) -> str:
    """Escape what a CI system would read as a command if a file with this text were printed in a log: `::error::` and `##[error]`."""
    text = COMMAND_ANYWHERE.sub(lambda found: escape_character("#") + "#", text)
    return _COMMAND_AT_START.sub(lambda found: found["space"] + escape_character(":"), text)


def escape_json(text: str) -> str:
    """Escape the same in a JSON text, whose value stays the same. CR, which is white space there, becomes a space, except before LF."""
    if text.isascii() and len(text.encode().translate(None, _ASCII_CONTROLS)) == len(text):
        return text  # ten times as fast, and nearly always so
    return _UNSAFE.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    if found[0] != "\r":
        return escape_json_character(found[0])
    return "\r" if found.string.startswith("\n", found.end()) else " "


def escape_character(character: str) -> str:
    """Return the escape of a character: `\\x1b`, `\\u202e`."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_json_character(character: str) -> str:
    """Return the escape of a character in a JSON string: `\\u001b`. Two of them above U+FFFF."""
    return f"\\u{ord(character):04x}" if character.isascii() else dumps(character)[1:-1]


def escape_breaks(text: str) -> str:
    """Return the text escaped, line breaks and tabs included: what was one name stays on one line, and can be told from others."""
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def indent_breaks(text: str) -> str:
    """Return the text escaped, with all lines but the first indented: a line break in data cannot make a line that looks like ours."""
    return escape_controls(text).replace("\n", "\n  ")


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


def markdown_code(text: str, limit: int) -> str:
    """Return the text on one line as Markdown code, in which nothing is markup, a link, a mention, an issue or a commit; cut at `limit`.

    A vertical bar is escaped (`\\x7c`), because it would end the cell of a table, and so are the commands of CI logs.
    """
    flat = escape_log_commands(one_line(text, limit)).replace("|", escape_character("|")) or "(empty)"
    fence = "`" * (_longest_run(flat) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{space}{flat}{space}{fence}"


def markdown_block(text: str, language: str = "") -> str:
    """Return a text that is escaped already as a Markdown code block, which none of its lines ends."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
