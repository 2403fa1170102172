"""LFM2: calls as code, or JSON, between `<|tool_call_start|>` and `<|tool_call_end|>`."""

from collections.abc import Mapping

from callmark.calls.text.code_block import CodeBlock
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Tool

_MARKS = compile_marks(r"<\|tool_call_start\|>")
_BLOCK = CodeBlock(r"<\|tool_call_end\|>|(?=<\|tool_call_start\|>)")


def parse_lfm2(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls between markers, whether or not their tools are known."""
    return scan(text, _MARKS, _BLOCK.read)


FORMAT = TextFormat("lfm2", "LFM2", parse_lfm2, ("<|tool_call_start|>",))
