"""Providers with an OpenAI-compatible chat API: find the address and the key of a model.

A key is only ever sent to its own provider, or to an address that the user named. An address in a spec gets CALLMARK_API_KEY (or
VLLM_API_KEY), or the variable that `api_key_env` names.
"""

import re
from collections.abc import Collection, Iterable
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import ENV_FILE, Keys, Url, read_url
from callmark.models.model import Capabilities, Model, ModelSettings
from callmark.models.provider import REQUEST_SETTINGS, Provider, ProviderStatus, Spec
from callmark.models.redaction import HIDDEN
from callmark.trust import Action

BATCH_PATH = "/v1/chat/completions"
_CHAT_PATH = "/chat/completions"
_NO_KEY = "requests"
_PORTS = {"http": 80, "https": 443}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class TokenSource(Protocol):
    """Source of access tokens."""

    async def current(self) -> str:
        """Return a valid token; raise `ModelError` if there is none."""
        ...

    async def close(self) -> None: ...


class Endpoint(Struct, frozen=True):
    """Address and headers of a chat API: `headers` include the key, `shown` is the address without secrets.

    `credential` describes how requests are authenticated (`the key from OPENAI_API_KEY`) and is empty if they are not. With `needs_token`,
    the token comes from the provider's token source. `query` is the part of the address that `shown` may mask.
    """

    address: str
    shown: str
    headers: dict[str, str]
    credential: str = ""
    query: str = ""
    needs_token: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"


class ChatProvider(Provider, frozen=True, kw_only=True):
    """Provider of models that are sent chat completion requests.

    `url` is the default base URL, `url_variable` the environment variable that overrides it; an override without a path gets the path of
    `url`. `url_example` is shown in messages if there is no default. `key_variables` are the environment variables for the key; the first
    that is set is used. `token_label` names the source of a token that is used instead of a key. `labels_by_name`: a model is labeled by
    its name alone, because the server is self-hosted.
    """

    capabilities: Capabilities = Capabilities(16, sends_requests=True, batch_path=BATCH_PATH)
    settings: tuple[str, ...] = REQUEST_SETTINGS
    params: tuple[str, ...] | None = None
    url: str = ""
    url_variable: str = ""
    url_example: str = ""
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    token_label: str = ""
    labels_by_name: bool = False

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        from callmark.models.chat import ChatModel

        return ChatModel(self, spec, settings, keys)

    def name_in(self, text: str) -> str:
        return scrub(super().name_in(text))

    def status(self, keys: Keys) -> ProviderStatus:
        spec = Spec(self, "NAME", self.spec_url_example(), self.example)
        needs_key = self.needs_key
        address = ""
        problems: list[str] = []
        try:
            url = self.base_url(spec, ModelSettings(), keys)
            needs_key = needs_key and not url.user
            address = keys.hide(url.shown) if self.url_variable and keys.get(self.url_variable) else ""
        except BadInput as problem:
            problems.append(str(problem))
        try:
            self.key_variable(spec, ModelSettings(), keys, required=needs_key)
        except BadInput as problem:
            problems.append(str(problem))
        missing = "; ".join(problem.removeprefix(f"{spec.shown}: ") for problem in problems)
        return ProviderStatus(self.name, self.example, missing, address)

    def spec_url_example(self) -> str:
        """Return an example address if specs of this provider contain one, else an empty string."""
        return ""

    def endpoint(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Endpoint:
        """Return the address and headers for requests. Raise `BadInput` for a missing or invalid key and for an invalid address."""
        url = self.model_url(self.base_url(spec, settings, keys), spec.name, keys)
        url = replace(url, path=url.path.removesuffix(_CHAT_PATH) + _CHAT_PATH)
        variable = self.key_variable(spec, settings, keys, required=self.needs_key and not url.user)
        if variable is None:
            return Endpoint(url.address, keys.hide(url.shown), {}, f"the token from {self.token_label}", url.query, needs_token=True)
        key = keys.get(variable) if variable else ""
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise BadInput(
                f"{variable} is not a valid key: it contains spaces, control characters or non-ASCII characters", "Copy the key again."
            )
        keys.add(key)
        headers, credential = {}, ""
        if url.user:
            headers, credential = {"Authorization": f"Basic {url.user}"}, "the user and password in the URL"
        if variable and (header := self.key_header(variable, key))[0] not in headers:  # one header cannot hold both
            headers[header[0]] = header[1]
            credential = f"the key from {variable}"
        return Endpoint(url.address, keys.hide(url.shown), headers, credential, url.query)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        """Yield what is sent to an address that a file names, and a key that is not the provider's own.

        The provider's own address gets its own key without a question. An address that only `.env` sets is named by `.env`.
        """
        url = self.base_url(spec, settings, keys)
        address = f"{url.scheme}://{url.host}{url.path}"
        in_file = not settings.base_url and not spec.url and keys.is_from_file(self.url_variable)
        is_named = spec.url or (settings.base_url and "base_url" not in given)
        own_key = not settings.api_key_env or "api_key_env" in given or settings.api_key_env in self.key_variables
        if own_key and (not (in_file or is_named) or _origin(address) == _origin(self.url)):
            return
        variable = self.key_variable(spec, settings, keys, required=self.needs_key and not url.user)
        token = f"the token from {self.token_label}" if self.token_label else _NO_KEY
        sent = token if variable is None else variable or _NO_KEY
        possible = () if settings.api_key_env else (*self.key_variables, token, _NO_KEY)
        where = f" ({self.url_variable})" if in_file else ""
        for each in dict.fromkeys((sent, *possible)):
            what = f"{each} to {keys.show(url.shown)}{where}"
            yield Action("send", what, ENV_FILE if in_file else "", f"{each} to {url.address}", applies=each == sent)

    def base_url(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Url:
        """Return the base URL: from the settings, the spec, the environment, or the default. Settings and spec cannot both have one."""
        if settings.base_url and spec.url:
            raise BadInput(f"{spec.shown} contains a URL, but base_url is also set", "Remove one of them.")
        if settings.base_url:
            text, where = settings.base_url.strip(), "base_url"
        elif spec.url:
            text, where = spec.url, "the URL"
        elif self.url_variable and (override := keys.get(self.url_variable)):
            text, where = self.read_override(override), self.url_variable
        elif self.url:
            text, where = self.url, "the URL"
        else:
            hint = _where_to_set(self.url_variable, self.url_example)
            raise BadInput(f"{spec.shown}: {self.url_variable} is not set", hint)
        url = read_url(text, keys, where=where, example=self.url or self.url_example)
        return url if url.path or not self.url else replace(url, path=urlsplit(self.url).path)

    def read_override(self, text: str) -> str:
        """Return the address for a value of `url_variable`."""
        return text

    def model_url(self, url: Url, name: str, keys: Keys) -> Url:
        """Return the address of one model, for providers with an address per model."""
        return url

    def key_variable(self, spec: Spec, settings: ModelSettings, keys: Keys, *, required: bool) -> str | None:
        """Return the variable that holds the key; empty if no key is set and none is required, None if a token is used instead.

        A missing required key raises `BadInput`.
        """
        if settings.api_key_env:
            if keys.get(settings.api_key_env):
                return settings.api_key_env
            if not _VARIABLE.fullmatch(settings.api_key_env):  # often it is the key itself
                raise BadInput(
                    f"{spec.shown}: api_key_env: expected the name of an environment variable",
                    "Set api_key_env to the name of the variable that holds the key, such as MY_API_KEY, not to the key itself.",
                )
            raise BadInput(f"{spec.shown}: {settings.api_key_env} is not set (api_key_env)", _where_to_set(settings.api_key_env))
        for variable in self.key_variables:
            if keys.get(variable):
                return variable
        if required:
            either = " nor ".join(self.key_variables)
            unset = f"neither {either} is set" if len(self.key_variables) > 1 else f"{either} is not set"
            raise BadInput(f"{spec.shown}: {unset}", _where_to_set(self.key_variables[0]))
        return ""

    def key_header(self, variable: str, key: str) -> tuple[str, str]:
        """Return name and value of the header for a key."""
        return "Authorization", f"Bearer {key}"

    def token_source(self, keys: Keys) -> TokenSource:
        """Return the token source for an endpoint that `needs_token`."""
        raise NotImplementedError


def _origin(address: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _where_to_set(variable: str, example: str = HIDDEN) -> str:
    return f"Set {variable} in the environment, or add it to {ENV_FILE}: {variable}={example}"
