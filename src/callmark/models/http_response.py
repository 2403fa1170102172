"""HTTP responses, and the `ModelError` for an error response: address, status, message, advice, and whether to retry."""

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import Any

from msgspec import Struct

from callmark.formats.json_fields import read_value
from callmark.formats.responses import error_text
from callmark.formats.surrogates import escape_surrogates
from callmark.models.keys import Keys, mask_address
from callmark.models.model import ModelError

_MAX_MESSAGE, _MAX_EXCERPT = 300, 100  # characters
_OK, _REDIRECT, _CLIENT_ERROR, _SERVER_ERROR = 200, 300, 400, 500
_PAYMENT_REQUIRED, _TOO_MANY_REQUESTS = 402, 429
_RETRYABLE = frozenset({408, 409, 425, 429})  # and server errors
_RATE_LIMITED = frozenset({429, 503, 529})
_FATAL = frozenset({401, 402, 403, 404})
_STATUS_OF_ERROR_CODE = (  # the first match in the code or type of an error object wins
    ("insufficient_quota", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("quota", 429),
    ("exhausted", 429),
    ("overloaded", 529),
    ("unavailable", 503),
    ("api_key", 401),
    ("authentication", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid", 400),
    ("context_length", 400),
    ("content_filter", 400),
)
_QUOTA_EXCEEDED = ("insufficient_quota", "billing_hard_limit")  # sent with a 429, although waiting does not help
_REASON_PHRASES = {529: "Overloaded"}  # missing from http.HTTPStatus
_SECONDS = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{0,9})?)\s*")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|!--)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,300})", re.IGNORECASE)

StatusHint = Callable[[int], str]  # advice for a status, or an empty string


class HttpResponse(Struct, frozen=True):
    """Status, headers and complete body of a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return _OK <= self.status < _REDIRECT


def response_error(response: HttpResponse, *, address: str, hint: StatusHint = lambda status: "") -> ModelError:
    """Return the error for a response with an error status."""
    status = response.status
    sentence = f"{address}: rate limited (HTTP 429)" if status == _TOO_MANY_REQUESTS else f"{address} returned {_describe_status(status)}"
    return _error(status, _message(response.body), response.headers, sentence, hint)


def payload_error(error: Any, message: str, response: HttpResponse, *, address: str, hint: StatusHint = lambda status: "") -> ModelError:
    """Return the error for an error object that came with a success status."""
    return _error(_status_of(error), shorten(message), response.headers, f"{address} returned an error", hint)


def describe_body(body: bytes) -> str:
    """Describe a body that is not JSON: empty, an HTML page, or how its text starts."""
    if not body.strip():
        return "an empty response"
    if not _HTML.match(body):
        return f"text that starts with {_one_line(body, _MAX_EXCERPT)!r}"
    title = _TITLE.search(body)
    return f"an HTML page titled {_one_line(title[1], _MAX_EXCERPT)!r}" if title else "an HTML page"


def shorten(message: str) -> str:
    """Return a server's message, cut to the maximum length with an ellipsis."""
    return message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}…"


def _error(status: int, message: str, headers: Mapping[str, str], sentence: str, hint: StatusHint) -> ModelError:
    lower = {name.lower(): value for name, value in headers.items()}
    if status < _CLIENT_ERROR:
        target = mask_address(lower.get("location", ""), Keys())
        redirect = f"{sentence}, a redirect{' to ' if target else ''}{target}"
        return ModelError(f"{redirect}; redirects are not followed, so use the final URL", fatal=True)
    if message.startswith(_QUOTA_EXCEEDED):
        status = _PAYMENT_REQUIRED
    advice = hint(status)
    retryable = status in _RETRYABLE or status >= _SERVER_ERROR
    return ModelError(
        f"{sentence}{': ' if message else ''}{message}{'; ' if advice else ''}{advice}",
        retryable=retryable,
        retry_after=_retry_after(lower) if retryable else None,
        rate_limited=status in _RATE_LIMITED,
        fatal=status in _FATAL,
    )


def _status_of(error: Any) -> int:
    """Return the HTTP status for an error object; 500 if it is unclear."""
    codes = [str(error[key]) for key in ("code", "status", "type") if error.get(key)] if isinstance(error, dict) else []
    for code in codes:
        if code.isdecimal() and len(code) == 3 and int(code) >= _CLIENT_ERROR:
            return int(code)
    text = " ".join(codes).lower().replace(" ", "_").replace("-", "_")
    return next((status for word, status in _STATUS_OF_ERROR_CODE if word in text), _SERVER_ERROR)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from the response headers; None if they are missing or invalid."""
    if found := _SECONDS.fullmatch(headers.get("retry-after-ms", "")):
        return float(found[1]) / 1000
    after = headers.get("retry-after", "")
    if found := _SECONDS.fullmatch(after):
        return float(found[1])
    until = _timestamp(after)
    if until is None:
        return None
    now = _timestamp(headers.get("date", ""))  # by the server's clock, if it sends one
    return max(0.0, until - (time() if now is None else now))


def _timestamp(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _describe_status(status: int) -> str:
    try:
        return f"HTTP {status} {_REASON_PHRASES.get(status) or HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _message(body: bytes) -> str:
    """Return the server's message on one line: from its error object, the title of its HTML page, or the start of its text."""
    try:
        return shorten(error_text(read_value(escape_surrogates(body))))
    except (ValueError, RecursionError):
        return describe_body(body) if _HTML.match(body) else _one_line(body, _MAX_MESSAGE)


def _one_line(text: bytes, length: int) -> str:
    return " ".join(text[: length * 4].decode("utf-8", "replace").split())[:length]
