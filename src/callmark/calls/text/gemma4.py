"""Gemma 4: `<|tool_call>call:NAME{key:<|"|>VALUE<|"|>,count:5}<tool_call|>`."""

from callmark.calls.text.gemma_calls import gemma_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "gemma4",
    "Gemma 4",
    gemma_parser(opening=r"<\|tool_call>", closing=r"<tool_call\|>|<turn\|>", delimiter='<|"|>'),
    ("<|tool_call>",),
)
