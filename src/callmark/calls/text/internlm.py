"""InternLM: `<|action_start|><|plugin|>{"name", "parameters"}<|action_end|>`."""

from callmark.calls.text.json_block import json_block_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "internlm",
    "InternLM",
    json_block_parser(opening=r"<\|action_start\|>\s*+<\|plugin\|>", closing=r"<\|action_end\|>"),
    ("<|action_start|>",),
)
