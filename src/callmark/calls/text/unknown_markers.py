"""Find markers of tool calls that no text format knows, so that a new format is an error and never "no call".

A marker is a tag or a token whose name speaks of calling tools, followed by what opens a call: a bracket, another tag, or a name with one.
"""

import re
from functools import cache

from callmark.calls.text.scan import compile_marks, scan
from callmark.types import Call

_WORDS = r"(?:tools?|functions?|plugins?|actions?)"
_VERBS = r"(?:calls?|use|uses|request|requests|invoke|invocation|begin|start|prefix|exec)"
_NAME = rf"[\w:.▁-]{{0,40}}?{_WORDS}[\s_▁:|-]?{_VERBS}[\w:.▁-]{{0,40}}+"
_MARKER = (
    rf"<[|｜]?(?!/){_NAME}[|｜]?>|<functioncall>|<function\s++name=[\"'][^<>]*+>|<(?:tool|function|action)\s++name=[\"'][^<>]*+>"
    r"|<\w++:(?:invoke|tool_call|call)\b[^<>]*+>|\[(?:TOOL|FUNCTION)_?(?:CALLS?|REQUEST|USE)\]"
)
_OPENING = r"(?=\s*+(?:\{|\[\s*+[{\"\w]|<\w|[^\W\d][\w.:-]*+(?:[({\[]|<\w)))"
_HINT = re.compile(r"[<\[]")
_LONGEST = 60  # characters of a marker that are shown


@cache
def _marks() -> re.Pattern[str]:
    return compile_marks(rf"(?P<marker>{_MARKER}){_OPENING}")


def find_unknown_marker(text: str) -> str:
    """Return the first marker outside code spans and thinking; empty if there is none."""
    if not _HINT.search(text):
        return ""
    found: list[str] = []

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        found.append(mark["marker"])
        return None, len(text)

    scan(text, _marks(), read, is_marked=False)
    return found[0][:_LONGEST] if found else ""
