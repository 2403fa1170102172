"""Models that are asked over HTTP, in OpenAI's chat protocol: one POST to `/chat/completions`, one whole answer.

What comes back is a reply, or there is none and the sentence says why: who was asked, what they said, what may help. A key is sent to
the address and goes nowhere else; redirects are not followed, as they would take it along.
"""

import asyncio
import re
from collections.abc import Container, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from io import BytesIO
from time import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import Raw

from callmark.calls.parsing import parse_calls
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.responses import Fields, Said, decode_fields, error_in, error_text, kind, read_value, said_in, shown_keys, text_in
from callmark.formats.surrogates import with_surrogate, written_out
from callmark.models.keys import Keys, masked
from callmark.models.model import ModelSettings, NoReply, Question, Reply
from callmark.models.prompts import read_constrained, request_body
from callmark.models.specs import HTTP, Endpoint, Spec, endpoint

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

LARGEST_BODY = 32 << 20
_LARGE_REQUEST = 1 << 20  # what aiohttp wants to be handed in pieces
_LONGEST_SAID, _LONGEST_BEGINNING, _LONGEST_WORD = 300, 100, 60
_SCOPE = "https://cognitiveservices.azure.com/.default"
_BEFORE_IT_ENDS = 300  # seconds that a token must still be good for

_AGAIN = frozenset({408, 409, 425, 429})  # and every 5xx
_CROWDED = frozenset({429, 503, 529})
_HOPELESS = frozenset({401, 402, 403, 404})
_MEANT = (  # the status that an error's code or type stands for, the first that is found
    ("quota", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("overloaded", 529),
    ("api_key", 401),
    ("authentication", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid", 400),
    ("context_length", 400),
    ("content_filter", 400),
)
_OWN_WORDS = {529: "Overloaded"}
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?")
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,300})", re.IGNORECASE)
_PAGE = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body)\b", re.IGNORECASE | re.DOTALL)

_decode_choices = msgspec.json.Decoder(list[dict[str, Raw]]).decode


class ChatModel:
    """A model behind an address. Raises `BadInput` where it cannot be asked at all: a key is missing, an address is none."""

    def __init__(self, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self._spec = spec
        self._settings = settings
        self._keys = keys
        self._endpoint = endpoint(spec, settings, keys)
        self._entra = _Entra(keys) if self._endpoint.entra else None
        self._session: ClientSession | None = None
        self._reads_text = settings.tools_in_prompt in ("free", "constrained") or settings.parse is not None

    @property
    def label(self) -> str:
        return self._spec.shown

    @property
    def concurrency(self) -> int:
        return HTTP[self._spec.provider].concurrency

    def fingerprint(self, question: Question) -> bytes:
        """The address without its secrets, and the body. What a query may not tell is there as a digest, as it may shape the answer."""
        place = self._endpoint.shown
        if self._endpoint.query and not place.endswith(self._endpoint.query):
            from hashlib import blake2b

            place += f" {blake2b(self._endpoint.query.encode(), digest_size=16).hexdigest()}"
        return b"%b\n%b" % (place.encode(), request_body(question.case, self._spec.name, self._settings))

    async def ask(self, question: Question) -> Reply:
        """Its reply; raises `NoReply`, and nothing else."""
        names = frozenset(tool.name for tool in question.case.tools) if self._reads_text else ()
        there = self._endpoint
        try:
            body = request_body(question.case, self._spec.name, self._settings)
            status, headers, answer = await self._post(body)
            answer = self._keys.hide_bytes(answer)
            return read_reply(answer, status, headers, self._settings, address=there.shown, refused=self._refused(status), names=names)
        except BadInput as problem:
            raise NoReply(self._keys.hide(str(problem))) from None
        except NoReply as problem:
            sentence = self._keys.hide(str(problem))
            raise NoReply(
                sentence, again=problem.again, wait=problem.wait, crowded=problem.crowded, hopeless=problem.hopeless
            ) from None

    async def __aenter__(self) -> Self:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        self._session = ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            headers={"Content-Type": "application/json", "User-Agent": "callmark", **self._endpoint.headers},
            timeout=ClientTimeout(total=self._settings.timeout),
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
