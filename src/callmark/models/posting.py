"""One POST of JSON to one address, one whole answer: what every model over HTTP shares.

What is wrong with the connection is said in words of our own, as the library's have the address in them, with all its secrets. Redirects
are not followed: they would take a key along.
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

from callmark.models.model import ModelError

LARGEST_BODY = 32 << 20
_LARGE_REQUEST = 1 << 20  # beyond it aiohttp wants a file


class Post:
    """Connections to one address, made inside an event loop. `shown` is the address without anything secret."""

    def __init__(self, address: str, shown: str, headers: Mapping[str, str], *, timeout: float) -> None:
        self._address = address
        self._shown = shown
        self._timeout = timeout
        self._session = ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            headers={"Content-Type": "application/json", "User-Agent": "callmark", **headers},
            timeout=ClientTimeout(total=timeout),
        )

    async def __call__(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer; `ModelError` where none came, or not all of it."""
        data = body if len(body) <= _LARGE_REQUEST else BytesIO(body)
        try:
            async with self._session.post(self._address, data=data, headers=headers, allow_redirects=False) as answer:
                pieces, size = [], 0
                while piece := await answer.content.readany():
                    pieces.append(piece)
                    size += len(piece)
                    if size > LARGEST_BODY:
                        answer.close()
                        raise ModelError(f"{self._shown} answered with more than {LARGEST_BODY >> 20} MB, which is not read")
                return answer.status, answer.headers, b"".join(pieces)
        except (OSError, ValueError, RuntimeError, ClientError) as error:
            raise _no_answer(error, self._shown, self._timeout) from None

    async def close(self) -> None:
        await self._session.close()


def _no_answer(error: Exception, address: str, timeout: float) -> ModelError:
    """Why there was no whole answer."""
    match error:
        case TimeoutError():
            return ModelError(f"{address} did not answer within {timeout:g} seconds", again=True)
        case ClientSSLError():
            return ModelError(f"no safe connection to {address} can be made: {error.os_error.strerror or 'TLS failed'}", hopeless=True)
        case ClientConnectorDNSError():
            return ModelError(f"the host of {address} is not known", again=True, hopeless=True)
        case ClientConnectorError():
            refused = error.os_error.errno == ECONNREFUSED
            reason = "the connection was refused" if refused else error.os_error.strerror or "no connection can be made"
            return ModelError(f"nobody answers at {address}: {reason}", again=True, hopeless=True)
        case ClientPayloadError():
            return ModelError(f"{address} broke off in the middle of its answer", again=True)
        case InvalidURL() | UnicodeError():  # a name that no host can have
            return ModelError(f"{address} is no address that can be asked", hopeless=True)
    return ModelError(f"{address} closed the connection, or does not speak HTTP", again=True)
