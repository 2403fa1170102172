"""Read predictions from chat completion responses."""

from collections.abc import Collection

import msgspec
from msgspec import Raw

from callmark.calls.text import parse_calls
from callmark.errors import BadInput
from callmark.formats.json_fields import Fields, decode_fields, describe_keys, json_kind, read_value, text_field
from callmark.formats.responses import error_text, read_response
from callmark.formats.surrogates import escape_surrogates, reject_surrogates
from callmark.models.http_response import HttpResponse, StatusHint, describe_body, payload_error, response_error, shorten
from callmark.models.model import ModelError, ModelSettings
from callmark.models.tools_in_prompt import parse_constrained
from callmark.types import Prediction, Tool, Usage

_CONTENT_FILTER = "content_filter"
_MAX_FINISH_REASON = 60  # characters
_MAX_DIGITS = 12  # in a token count

_decode_choices = msgspec.json.Decoder(list[dict[str, Raw]]).decode


def read_completion(
    response: HttpResponse,
    settings: ModelSettings,
    *,
    address: str = "the server",
    tool_names: Collection[str] = (),
    hint: StatusHint = lambda status: "",
) -> Prediction:
    """Return the prediction in a response, without a case id.

    Raises `ModelError` for an error status, an error object, invalid JSON and missing choices. Malformed calls, a response without calls
    and filtered content are predictions. If the server returned no calls and `parses_text`, text is parsed for calls, with the help of
    `tool_names`. `hint` returns advice for an error status.
    """
    if not response.is_success:
        raise response_error(response, address=address, hint=hint)
    body = response.body
    mended = escape_surrogates(body)
    finish_reason = ""
    try:
        fields = decode_fields(mended)
        finish_reason = _finish_reason(fields)
        read = read_response(fields)
        found = read.prediction if read is not None else Prediction("")
        error = read_value(fields["error"]) if "error" in fields else None
    except BadInput as problem:
        if finish_reason != _CONTENT_FILTER:
            raise ModelError(f"{address} returned an invalid response: {problem}", retryable=True) from None
        found, error = Prediction(""), None
    except (ValueError, RecursionError):
        raise ModelError(f"{address}: expected a JSON object, got {describe_body(body)}", retryable=True) from None
    if message := error_text(error):
        raise payload_error(error, message, response, address=address, hint=hint)
    if "choices" not in fields:
        raise ModelError(f"{address} returned a response without choices, with {describe_keys(fields)}", retryable=True)
    if found.error and finish_reason != _CONTENT_FILTER:
        raise ModelError(f"{address} returned no prediction: {shorten(found.error)}", retryable=True)
    calls, text, thinking = found.calls, found.text, found.thinking
    if not calls and text and parses_text(settings):
        constrained = settings.tools_in_prompt == "constrained" and settings.parse is None
        parsed = (
            parse_constrained(text, tool_names)
            if constrained
            else parse_calls(text, settings.parse or "auto", tools=[Tool(name) for name in tool_names])
        )
        calls, text = parsed.calls, parsed.text
        thinking = "\n".join(part for part in (thinking, parsed.thinking) if part)
    if mended != body:
        calls = tuple(map(reject_surrogates, calls))
    return Prediction("", 0, calls, text, thinking, finish_reason=finish_reason, usage=_usage(fields))


def parses_text(settings: ModelSettings) -> bool:
    """Return whether text is parsed for calls: a text format is set, or the tools are in the prompt."""
    return settings.parse is not None or settings.tools_in_prompt in ("free", "constrained")


def _finish_reason(fields: Fields) -> str:
    """Return the finish reason as the server wrote it; empty if there is none."""
    try:
        choices = _decode_choices(fields["choices"])
    except (KeyError, ValueError):
        return ""
    return text_field(choices[0], "finish_reason")[:_MAX_FINISH_REASON] if choices else ""


def _usage(fields: Fields) -> Usage | None:
    """Return the token counts; None if there are none, 0 for a count that is not an integer."""
    if "usage" not in fields or json_kind(fields["usage"]) != "{":
        return None
    try:
        usage = decode_fields(fields["usage"])
    except (ValueError, RecursionError):  # a key that is not UTF-8: decode_fields skips nested objects without checking them
        return None
    digits = [bytes(usage.get(key, b"0")) for key in ("prompt_tokens", "completion_tokens")]
    input_tokens, output_tokens = (int(text) if text.isdigit() and len(text) < _MAX_DIGITS else 0 for text in digits)
    return Usage(0.0, input_tokens, output_tokens) if input_tokens or output_tokens else None
