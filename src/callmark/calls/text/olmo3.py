"""Olmo 3: calls as lines of code between `<function_calls>` and `</function_calls>`."""

from collections.abc import Mapping

from callmark.calls.text.code_block import CodeBlock
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Tool

_MARKS = compile_marks(r"<function_calls>(?!\s*+<)")  # with a tag inside, it is another format
_BLOCK = CodeBlock(r"</function_calls>|(?=<function_calls>)")


def parse_olmo3(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls between tags, whether or not their tools are known."""
    return scan(text, _MARKS, _BLOCK.read)


FORMAT = TextFormat("olmo3", "Olmo 3", parse_olmo3, ("<function_calls>",))
