"""The parts of a message's content as text. A part that may hold a tool call is never skipped: it raises `BadInput`.

    {"type": "text", "text"}    its text
    {"type": "image_url", …}    `[image_url]`; so are all other known parts without text
    {"type": "tool_use", …}     `BadInput`: an unknown part with `tool`, `function` or `call` in its type or keys
    {"type": "sticker", …}      `[sticker]`; an unknown part, which is counted in `counting.counter`

The content of a tool result may be any JSON, so its parts are data.
"""

import re
from collections import Counter
from threading import local
from typing import Any

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput

KNOWN_PARTS = frozenset(
    [
        "text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking", "reasoning", "summary_text",
        "image", "image_url", "input_image", "audio", "audio_url", "input_audio", "video", "video_url", "input_video",
        "file", "input_file", "document", "search_result",
    ]
)  # fmt: skip
CALL_WORD = re.compile(r"tool|function|call", re.IGNORECASE)
_TEXT_KEYS = ("text", "content", "refusal")
_RESULT_PARTS = re.compile(r"(?:tool|function)[-_]?(?:call[-_]?output|result|response)", re.IGNORECASE)
_ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result"})
_MAX_SHOWN = 60


class _Counting(local):
    """The counter of unknown parts of the dataset that this thread is reading; None outside of one."""

    counter: Counter[str] | None = None


counting = _Counting()  # faster than a context variable, which is set and reset for every row


def content_text(content: Any, *, is_result: bool = False) -> str:
    """Return the content of a message as text. Parts are joined by line breaks; a part without text is shown as `[image_url]`.

    A part that may hold a tool call raises `BadInput`, which begins with its index: `[1]: …`. In a tool result, only a part that is itself
    a result does, because the id of its call would be lost.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join([part if isinstance(part, str) else _part_text(part, index, is_result) for index, part in enumerate(content)])
    if isinstance(content, dict) and not is_result:
        _refuse_call(content, "")
    return dump(content)


def _part_text(part: Any, index: int, is_result: bool) -> str:
    if not isinstance(part, dict):
        return dump(part)
    kind = part.get("type")
    if is_result:
        if isinstance(kind, str) and _RESULT_PARTS.fullmatch(kind):
            raise _unknown_part(kind, f"[{index}]")
    elif not (isinstance(kind, str) and kind in KNOWN_PARTS) and not (kind is None and _TEXT_KEYS[0] in part):
        _refuse_call(part, f"[{index}]")
        _count(kind if isinstance(kind, str) else "part")
    for key in _TEXT_KEYS:
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{kind if kind is not None else 'part'}]"


def _refuse_call(part: dict[str, Any], where: str) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and CALL_WORD.search(kind):
        raise _unknown_part(kind, where)
    key = next((key for key in part if CALL_WORD.search(key) and part[key] is not None), None)
    if key is not None:
        raise BadInput(f"{where}: unknown content part with the key {scrub(key)[:_MAX_SHOWN]!r}, which may hold a tool call", _hint(""))


def _unknown_part(kind: str, where: str) -> BadInput:
    return BadInput(f"{where}: unknown content part of type {scrub(kind)[:_MAX_SHOWN]!r}, which may hold a tool call", _hint(kind))


def _hint(kind: str) -> str:
    if kind in _ANTHROPIC_PARTS:
        return "It is Anthropic's format: pass --from anthropic."
    return "If the file is in another format, pass --from FORMAT."


def _count(kind: str) -> None:
    counter = counting.counter
    if counter is not None:
        counter[scrub(kind)[:_MAX_SHOWN]] += 1
