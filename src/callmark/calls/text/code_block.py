"""Calls as code between two markers: `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`."""

import re

from callmark.calls.text.python_code import malformed_call, read_code_calls, starts_like_code
from callmark.calls.text.scan import begins_line, ends_line, find_end, json_brackets, json_spans, read_json_calls
from callmark.types import Call


class CodeBlock:
    """Code, or JSON, between two markers, given as patterns; `first` is the first character of the closing one."""

    def __init__(self, closing: str, first: str = "<") -> None:
        self._end = re.compile(closing)
        self._brackets = json_brackets(first, closing)

    def read(self, text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        """Return the calls after an opening marker, and where they end: with the text, if the closing marker is missing.

        Where neither code nor JSON follows, the marker is text. But it opens a malformed call if nothing follows, and if it begins a line
        that ends with the closing marker.
        """
        stop, end = find_end(self._end, text, mark.end())
        inside = text[mark.end() : stop].strip()
        if starts_like_code(inside):
            return read_code_calls(inside), end
        if spans := list(json_spans(text, mark.end(), self._brackets)):
            stop, end = find_end(self._end, text, spans[-1][1])
            return read_json_calls(text, spans), end
        if begins_line(text, mark.start()) and (ends_line(text, end) if stop < end else not inside.strip("[")):
            return read_code_calls(inside) or [malformed_call("", "empty call", inside)], end
        return None, mark.end()
