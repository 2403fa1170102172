"""Azure OpenAI: `azure:DEPLOYMENT`. Each resource has its own endpoint; the URL contains deployment and API version.

Without a key, a Microsoft Entra token is used.
"""

import asyncio
from importlib import import_module
from time import time
from urllib.parse import quote

from msgspec.structs import replace

from callmark.models.chat_provider import ChatProvider, TokenSource
from callmark.models.keys import Keys, Url
from callmark.models.model import Capabilities, ModelError, ModelSettings
from callmark.models.provider import Spec, is_installed

API_VERSION = "2024-10-21"  # unless OPENAI_API_VERSION is set
_TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"
_SCOPE = "https://cognitiveservices.azure.com/.default"
_RENEW_BEFORE = 300  # seconds before a token expires
_LONGEST_MESSAGE = 200


class AzureProvider(ChatProvider, frozen=True, kw_only=True):
    """Azure OpenAI: the deployment is part of the URL, and the key is sent in the `api-key` header."""

    def model_url(self, url: Url, name: str, keys: Keys) -> Url:
        """Return the URL of a deployment. An endpoint that ends in /openai/v1 is Azure's newer API, which has no versions."""
        if url.path.endswith("/openai/v1"):
            return url
        url = replace(url, path=f"{url.path.removesuffix('/openai')}/openai/deployments/{quote(name, safe='')}")
        if "api-version=" in url.query:
            return url
        version = keys.get("OPENAI_API_VERSION") or keys.get("AZURE_OPENAI_API_VERSION") or API_VERSION
        query, shown = (f"{each}{'&' if each else ''}api-version={quote(version)}" for each in (url.query, url.shown_query))
        return replace(url, query=query, shown_query=shown)

    def key_variable(self, spec: Spec, settings: ModelSettings, keys: Keys, *, required: bool) -> str | None:
        """Return the variable that holds the key, or None (use an Entra token) if none is set and azure-identity is installed."""
        by_entra = required and is_installed("azure.identity")
        return super().key_variable(spec, settings, keys, required=required and not by_entra) or (None if by_entra else "")

    def key_header(self, variable: str, key: str) -> tuple[str, str]:
        return super().key_header(variable, key) if variable == _TOKEN_VARIABLE else ("api-key", key)

    def token_source(self, keys: Keys) -> TokenSource:
        return EntraToken(keys)


class EntraToken:
    """Entra token of the signed-in identity, from azure-identity. Requested when needed and renewed before it expires."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._credential = import_module("azure.identity").DefaultAzureCredential()
        self._token = ""
        self._expires = 0.0
        self._lock = asyncio.Lock()

    async def current(self) -> str:
        """Return the token. Raise `ModelError` if no identity is signed in."""
        async with self._lock:
            if time() > self._expires - _RENEW_BEFORE:
                try:
                    found = await asyncio.to_thread(self._credential.get_token, _SCOPE)
                except Exception as error:  # each credential type raises its own exceptions
                    message = " ".join(str(error).split())[:_LONGEST_MESSAGE]
                    raise ModelError(f"azure-identity returned no token for Azure: {self._keys.hide(message)}", fatal=True) from None
                self._token, self._expires = found.token, found.expires_on
                self._keys.add(self._token)
        return self._token

    async def close(self) -> None:
        await asyncio.to_thread(self._credential.close)


PROVIDER = AzureProvider(
    name="azure",
    example="azure:DEPLOYMENT",
    capabilities=Capabilities(16, sends_requests=True, batch_path="/chat/completions"),
    url_variable="AZURE_OPENAI_ENDPOINT",
    url_example="https://NAME.openai.azure.com",
    key_variables=("AZURE_OPENAI_API_KEY", _TOKEN_VARIABLE),
    token_label="azure-identity",
)
