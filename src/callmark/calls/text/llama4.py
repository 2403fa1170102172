"""Llama 4: calls as code, `[f(a=1, b="x"), g()]`, also between `<|python_start|>` and `<|python_end|>`."""

from collections.abc import Mapping

from callmark.calls.text.code_block import CodeBlock
from callmark.calls.text.pythonic import parse_pythonic
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Tool

_MARKS = compile_marks(r"<\|python_start\|>")
_BLOCK = CodeBlock(r"<\|python_end\|>|(?=<\|python_start\|>)")


def parse_llama4(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker; without one, the calls as bare code."""
    parsed = scan(text, _MARKS, _BLOCK.read)
    return parsed if parsed.calls else parse_pythonic(text, tools)


FORMAT = TextFormat("llama4", "Llama 4", parse_llama4, ("<|python_start|>",))
