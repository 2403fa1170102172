"""Models with an OpenAI-compatible chat API: one POST to `/chat/completions` per prediction, without streaming.

A key is sent only to its own address. Redirects are not followed, because they would forward the key.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import structs

from callmark.errors import BadInput
from callmark.models.chat_provider import ChatProvider
from callmark.models.chat_request import request_body
from callmark.models.chat_response import read_completion
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, ModelError, ModelSettings
from callmark.models.provider import Spec
from callmark.types import Case, Prediction

if TYPE_CHECKING:
    from callmark.models.http_client import HttpClient

_UNAUTHORIZED, _NOT_FOUND = (401, 403), 404


class ChatModel:
    """A model at an address. Raises `BadInput` for a missing key or an invalid address."""

    def __init__(self, provider: ChatProvider, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self._provider = provider
        self._spec = spec
        self._settings = settings
        self._keys = keys
        self._endpoint = provider.endpoint(spec, settings, keys)
        self._token = provider.token_source(keys) if self._endpoint.needs_token else None
        self._client: HttpClient | None = None

    @property
    def label(self) -> str:
        """The spec, or only the model name for a self-hosted server."""
        return self._keys.hide(self._spec.name) if self._provider.labels_by_name else self._spec.shown

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return the address without its secrets, the response settings, and the request body; None if there is no body.

        A secret query is included as a digest, because it may affect the response.
        """
        try:
            body = request_body(case, self._spec.name, self._settings)
        except BadInput:
            return None
        address = self._endpoint.shown
        if not address.endswith(self._endpoint.query):
            from hashlib import blake2b

            address += f" {blake2b(self._endpoint.query.encode(), digest_size=16).hexdigest()}"
        return f"{address}\n{self._settings.parse} {self._settings.tools_in_prompt}\n".encode() + body

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Send one request and return the prediction in its response. The caller handles retries."""
        assert self._client is not None, "open the model with `async with` before it predicts"
        try:
            token = {"Authorization": f"Bearer {await self._token.current()}"} if self._token else None
            response = await self._client.post(request_body(case, self._spec.name, self._settings), headers=token)
            response = self._keys.redact(response)  # before a message is cut, so that no part of a key remains
            prediction = read_completion(response, self._settings, address=self._endpoint.shown, tools=case.tools, hint=self._hint)
        except BadInput as problem:
            raise ModelError(self._keys.hide(str(problem))) from None
        except ModelError as problem:
            problem.args = (self._keys.hide(str(problem)),)
            raise problem from None
        return structs.replace(prediction, case=case.id, trial=trial)

    async def __aenter__(self) -> Self:
        from callmark.models.http_client import HttpClient  # aiohttp is slow to import

        self._client = HttpClient(self._endpoint.address, self._endpoint.shown, self._endpoint.headers, timeout=self._settings.timeout)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        if self._token is not None:
            await self._token.close()

    def _hint(self, status: int) -> str:
        """Return advice for an HTTP status."""
        if status in _UNAUTHORIZED:
            if self._endpoint.credential:
                return f"the request was sent with {self._endpoint.credential}"
            variables = self._provider.key_variables
            return f"the request was sent without a key: {f'{variables[0]} is not set' if variables else 'set api_key_env'}"
        return f"check that the model {self._spec.name} exists at this URL" if status == _NOT_FOUND else ""
