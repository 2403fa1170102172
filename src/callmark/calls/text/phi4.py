"""Phi-4: `<|tool_call|>[{"name", "arguments"}]<|/tool_call|>`; Phi-4-mini also `functools[{"name", "arguments"}]`."""

from callmark.calls.text.json_block import json_block_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "phi4",
    "Phi-4",
    json_block_parser(opening=r"<\|tool_call\|>|\bfunctools(?=\s*+\[\s*+\{)", closing=r"<\|/tool_call\|>"),
    ("<|tool_call|>", "functools["),
)
