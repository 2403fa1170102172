"""Read predictions from chat completion responses."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats.json_fields import Fields, decode_fields, describe_keys, json_kind, read_value, text_field
from callmark.formats.prediction_text import parse_prediction, with_parsed_text
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
    tools: Sequence[Tool] = (),
    hint: StatusHint = lambda status: "",
) -> Prediction:
    """Return the prediction in a response, without a case id.

    Raises `ModelError` for an error status, an error object, invalid JSON and missing choices. Malformed calls, a response without calls
    and filtered content are predictions. If the server returned no calls and `parses_text`, text is parsed for calls, with the `tools` of
    the case. A text in an unrecognized tool-call format is an error. `hint` returns advice for an error status.
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
    if not found.calls and found.text:
        found = _parse_text(found, settings, tools)
        if found.error:
            raise ModelError(found.error)
    calls = found.calls
    if mended != body:
        calls = tuple(map(reject_surrogates, calls))
    return Prediction("", 0, calls, found.text, found.thinking, finish_reason=finish_reason, usage=_usage(fields))


def _parse_text(found: Prediction, settings: ModelSettings, tools: Sequence[Tool]) -> Prediction:
    if settings.tools_in_prompt == "constrained" and settings.parse is None:
        return with_parsed_text(found, parse_constrained(found.text, tools))
    return parse_prediction(found, "raw" if parses_text(settings) else "response", parse=settings.parse, tools=tools)


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
