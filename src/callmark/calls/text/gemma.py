"""Gemma 2 and 3: calls as code in a fenced block with the language `tool_code`, also `print(f(a=1))`."""

from collections.abc import Mapping

from callmark.calls.text.code_block import CodeBlock
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Tool

_MARKS = compile_marks(r"```tool_(?:code|call)\b|<tool_code>")
_BLOCK = CodeBlock("```|</tool_code>|(?=<tool_code>)", first="`")


def parse_gemma(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in blocks of tool code, whether or not their tools are known."""
    return scan(text, _MARKS, _BLOCK.read)


FORMAT = TextFormat("gemma", "Gemma 2, Gemma 3", parse_gemma, ("```tool_code", "```tool_call", "<tool_code>"))
