"""Granite 3: a list of calls after `<|tool_call|>` (3.0) or `<tool_call>` (3.1), which is not closed. Granite 4 writes as Hermes."""

from callmark.calls.text.json_block import json_block_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "granite",
    "Granite 3",
    json_block_parser(opening=r"<\|tool_call\|>|<tool_call>", closing=r"</tool_call>|<\|/tool_call\|>"),
    ("<|tool_call|>", "<tool_call>"),
)
