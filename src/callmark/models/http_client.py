"""HTTP client: one POST of JSON to one address, one whole response. Every model over HTTP uses it.

Connection problems are described in our own words, as the library's messages contain the address with all its secrets. Redirects are not
followed: they would take a key along.
"""

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
_LARGE_REQUEST = 1 << 20  # beyond it aiohttp wants a file


class HttpClient:
    """Connections to one address, opened inside an event loop. `shown_address` is the address without anything secret."""

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
        """Return the response, whatever its status; raise `ModelError` where none came, or not all of it."""
        data = body if len(body) <= _LARGE_REQUEST else BytesIO(body)
        try:
            async with self._session.post(self._address, data=data, headers=headers, allow_redirects=False) as response:
                chunks, size = [], 0
                while chunk := await response.content.readany():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > MAX_RESPONSE_BYTES:
                        response.close()
                        raise ModelError(f"{self._shown_address} answered with more than {MAX_RESPONSE_BYTES >> 20} MB, which is not read")
                return HttpResponse(response.status, response.headers, b"".join(chunks))
        except (OSError, ValueError, RuntimeError, ClientError) as error:
            raise _connection_error(error, self._shown_address, self._timeout) from None

    async def close(self) -> None:
        await self._session.close()


def _connection_error(error: Exception, address: str, timeout: float) -> ModelError:
    """Return why there was no whole response."""
    match error:
        case TimeoutError():
            return ModelError(f"{address} did not answer within {timeout:g} seconds", retryable=True)
        case ClientSSLError():
            return ModelError(f"no safe connection to {address} can be made: {error.os_error.strerror or 'TLS failed'}", fatal=True)
        case ClientConnectorDNSError():
            return ModelError(f"the host of {address} is not known", retryable=True, fatal=True)
        case ClientConnectorError():
            refused = error.os_error.errno == ECONNREFUSED
            reason = "the connection was refused" if refused else error.os_error.strerror or "no connection can be made"
            return ModelError(f"nobody answers at {address}: {reason}", retryable=True, fatal=True)
        case ClientPayloadError():
            return ModelError(f"{address} broke off in the middle of its answer", retryable=True)
        case InvalidURL() | UnicodeError():  # a name that no host can have
            return ModelError(f"{address} is no address that can be asked", fatal=True)
    return ModelError(f"{address} closed the connection, or does not speak HTTP", retryable=True)
