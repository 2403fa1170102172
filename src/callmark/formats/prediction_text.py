"""Parse the tool calls in the text of a prediction, with the tools of its case. Every prediction passes here: graded, replayed or live.

A text that contains a tool call of a family that is not being parsed is an error, never a prediction without calls: it says nothing about
the model.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from callmark.calls.shapes import unwrap
from callmark.calls.text import AUTO, ParsedText, parse_calls
from callmark.types import Prediction, Tool

TextKind = Literal["read", "response", "raw"]
"""What the text of a prediction is: `raw` text, which may contain its calls; the text of a `response` that has a place for calls, but no
calls; or text that was `read` already, such as that of callmark's own lines."""

UNRECOGNIZED = "unrecognized tool-call format"
_UNMARKED = "json"  # a text format without markers: parsing it finds the marker of any other


def parse_prediction(prediction: Prediction, kind: TextKind, *, parse: str | None, tools: Sequence[Tool]) -> Prediction:
    """Return the prediction with the calls in its text, or with an error if they are in an unrecognized format. Errors are unchanged.

    `parse` is the text format; detected if None. The text of a response is parsed only if `parse` is given: a server that returns calls
    as text is configured wrongly, so their marker is an error that says so.
    """
    if kind == "read" or prediction.error or not prediction.text:
        return prediction
    if kind == "response" and parse is None:
        marker = parse_calls(prediction.text, _UNMARKED, tools=tools).unrecognized
        problem = f"{UNRECOGNIZED}: {marker} in the text of a response without calls (--parse auto parses it)"
        return structs.replace(prediction, error=problem) if marker else prediction
    return with_parsed_text(prediction, parse_calls(prediction.text, parse or AUTO, tools=tools))


def with_parsed_text(prediction: Prediction, parsed: ParsedText) -> Prediction:
    """Return a prediction with the calls, text and thinking of its parsed text; with an error, and its text, if it is unrecognized."""
    if parsed.unrecognized:
        return structs.replace(prediction, error=f"{UNRECOGNIZED}: {parsed.unrecognized}")
    thinking = "\n".join(part for part in (prediction.thinking, parsed.thinking) if part)
    return structs.replace(prediction, calls=unwrap(parsed.calls), text=parsed.text, thinking=thinking)


def unrecognized_marker(prediction: Prediction) -> str:
    """Return the marker that an error of `parse_prediction` names, with its family; empty for any other prediction."""
    named = prediction.error.removeprefix(f"{UNRECOGNIZED}: ") if prediction.error.startswith(UNRECOGNIZED) else ""
    return named.partition(" in the text of a response")[0]
