"""Jamba, Hunyuan A13B, MiniMax M1: calls as JSON, in a list or on lines, between `<tool_calls>` and `</tool_calls>`."""

from callmark.calls.text.json_block import json_block_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "jamba", "Jamba, Hunyuan", json_block_parser(opening=r"<tool_calls>(?!\s*+<)", closing=r"</tool_calls>"), ("<tool_calls>",)
)
