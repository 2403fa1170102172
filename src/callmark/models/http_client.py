"""HTTP client for all models over HTTP: send JSON to an address, read the complete response.

Connection errors get their own messages, because the library's messages contain the address with its secrets. Redirects are not followed,
because they would forward the key.
"""

import re
from collections.abc import Mapping
from errno import ECONNREFUSED
from io import BytesIO

from aiohttp import (
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientPayloadError,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    DummyCookieJar,
    InvalidURL,
    TCPConnector,
)

from callmark.models.http_response import HttpResponse
from callmark.models.model import ModelError

MAX_RESPONSE_BYTES = 32 << 20
_LARGE_REQUEST = 1 << 20  # for larger bodies, aiohttp warns unless it gets a file


class HttpClient:
    """Connections to one address, opened inside an event loop. `shown_address` is the address without secrets."""

    def __init__(self, address: str, shown_address: str, headers: Mapping[str, str], *, timeout: float) -> None:
        self._address = address
        self._shown_address = shown_address
        self._timeout = timeout
        self._session = ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            headers={"Content-Type": "application/json", "User-Agent": "callmark", **headers},
            timeout=ClientTimeout(total=timeout),
        )

    async def post(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Send a POST request to the address, as `request` does."""
        return await self.request("POST", self._address, body, headers=headers)

    async def request(
        self,
        method: str,
        address: str,
        body: bytes | None,
        *,
        headers: Mapping[str, str] | None = None,
        until: bytes | None = None,
        shown_address: str = "",
    ) -> HttpResponse:
        """Return the response, whatever its status; raise `ModelError` if there is none or it is incomplete.

        With `until`, the rest of a response after this line is not waited for. `shown_address` is that of another address, for messages.
        """
        shown = shown_address or self._shown_address
        data = body if body is None or len(body) <= _LARGE_REQUEST else BytesIO(body)
        try:
            async with self._session.request(method, address, data=data, headers=headers, allow_redirects=False) as response:
                chunks, size, tail = [], 0, b"\n"
                while chunk := await response.content.readany():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > MAX_RESPONSE_BYTES:
                        response.close()
                        raise ModelError(f"{shown} returned more than {MAX_RESPONSE_BYTES >> 20} MB, which is the limit")
                    if until is not None:
                        tail = tail[-len(until) - 1 :] + chunk
                        if re.search(rb"[\r\n]%b[\r\n]" % re.escape(until), tail):
                            response.close()
                            break
                return HttpResponse(response.status, dict(response.headers), b"".join(chunks))
        except (OSError, ValueError, RuntimeError, ClientError) as error:
            raise _connection_error(error, shown, self._timeout) from None

    async def close(self) -> None:
        await self._session.close()


def _connection_error(error: Exception, address: str, timeout: float) -> ModelError:
    """Return the error for a connection without a complete response."""
    match error:
        case TimeoutError():
            return ModelError(f"{address} did not respond within {timeout:g} s", retryable=True)
        case ClientSSLError():
            return ModelError(f"cannot connect to {address}: TLS error: {error.os_error.strerror or 'handshake failed'}", fatal=True)
        case ClientConnectorDNSError():
            return ModelError(f"cannot connect to {address}: unknown host", retryable=True, fatal=True)
        case ClientConnectorError():
            refused = error.os_error.errno == ECONNREFUSED
            reason = "connection refused" if refused else error.os_error.strerror or "no connection"
            return ModelError(f"cannot connect to {address}: {reason}", retryable=True, fatal=True)
        case ClientPayloadError():
            return ModelError(f"{address} closed the connection before the response was complete", retryable=True)
        case InvalidURL() | UnicodeError():  # an impossible host name
            return ModelError(f"{address} is not a valid URL", fatal=True)
    return ModelError(f"{address} closed the connection, or is not an HTTP server", retryable=True)
