"""FunctionGemma: `<start_function_call>call:NAME{key:<escape>VALUE<escape>,count:5}<end_function_call>`."""

from callmark.calls.text.gemma_calls import gemma_parser
from callmark.calls.text.text_format import TextFormat

FORMAT = TextFormat(
    "functiongemma",
    "FunctionGemma",
    gemma_parser(opening="<start_function_call>", closing="<end_function_call>", delimiter="<escape>"),
    ("<start_function_call>",),
)
