"""Providers of models behind an address that speak OpenAI's chat protocol: which address, and which key.

A key is only ever sent to its own provider: to an address that was typed in goes CALLMARK_API_KEY (or VLLM_API_KEY), or what `api_key_env`
names.
"""

import re
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import ENV_FILE, HIDDEN, Keys, Url, read_url
from callmark.models.model import Capabilities, Model, ModelSettings
from callmark.models.provider import REQUEST_SETTINGS, Provider, ProviderStatus, Spec

BATCH_PATH = "/v1/chat/completions"
_CHAT_PATH = "/chat/completions"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class TokenSource(Protocol):
    """Source of an access token that has to be requested."""

    async def current(self) -> str:
        """Return a token that is still valid; raise `ModelError` where there is none."""
        ...

    async def close(self) -> None: ...


class Endpoint(Struct, frozen=True):
    """Address and headers of a chat API: `headers` carry the key, `shown` is the address without anything secret.

    `credential` names what is sent to be let in (`the key from OPENAI_API_KEY`), empty where nothing is; `needs_token` says that a token is
    to be requested from the provider's token source. `query` is the part of the address that `shown` does not tell in full.
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

    `url` is the usual base URL, `url_variable` the environment variable that overrides it; an override without a path gets the path of
    `url`. `url_example` stands in messages where there is no usual one. `key_variables` may hold the key, the first that is set counts.
    `token_label` is what messages call a token that is requested instead of a key. `labels_by_name`: a model is labeled by its name alone,
    as the address is the user's own.
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
        missing: list[str] = []
        try:
            url = self.base_url(spec, ModelSettings(), keys)
            needs_key = needs_key and not url.user
            address = keys.hide(url.shown) if self.url_variable and keys.get(self.url_variable) else ""
        except BadInput as problem:
            missing.append(str(problem).partition(", and ")[0])
        try:
            self.key_variable(spec, ModelSettings(), keys, required=needs_key)
        except BadInput as problem:
            missing.append(str(problem).partition(", and ")[0])
        return ProviderStatus(self.name, self.example, "; ".join(missing), address)

    def spec_url_example(self) -> str:
        """Return an address as a spec would give it; empty where a spec needs none."""
        return ""

    def endpoint(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Endpoint:
        """Return where requests go. Raise `BadInput` for a key that is missing or cannot be one, and for an invalid address."""
        url = self.model_url(self.base_url(spec, settings, keys), spec.name, keys)
        url = replace(url, path=url.path.removesuffix(_CHAT_PATH) + _CHAT_PATH)
        variable = self.key_variable(spec, settings, keys, required=self.needs_key and not url.user)
        if variable is None:
            return Endpoint(url.address, keys.hide(url.shown), {}, f"the key from {self.token_label}", url.query, needs_token=True)
        key = keys.get(variable) if variable else ""
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise BadInput(f"the value of {variable} cannot be a key: it has blanks, or letters that no key has", "Copy it again.")
        keys.add(key)
        headers, credential = {}, ""
        if url.user:
            headers, credential = {"Authorization": f"Basic {url.user}"}, "the user and password in the address"
        if variable and (header := self.key_header(variable, key))[0] not in headers:  # one header cannot hold both
            headers[header[0]] = header[1]
            credential = f"the key from {variable}"
        return Endpoint(url.address, keys.hide(url.shown), headers, credential, url.query)

    def base_url(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Url:
        """Return the address that counts: the settings', the spec's, the environment's, the usual one. The first two exclude each other."""
        if settings.base_url and spec.url:
            raise BadInput(f"{spec.shown} has an address, and base_url gives another", "Leave one of them out.")
        if settings.base_url:
            text, where = settings.base_url.strip(), "base_url"
        elif spec.url:
            text, where = spec.url, "the address"
        elif self.url_variable and (override := keys.get(self.url_variable)):
            text, where = self.read_override(override), self.url_variable
        elif self.url:
            text, where = self.url, "the address"
        else:
            hint = _where_to_set(self.url_variable, self.url_example)
            raise BadInput(f"{self.url_variable} is not set, and {spec.shown} needs it", hint)
        url = read_url(text, keys, where=where, example=self.url or self.url_example)
        return url if url.path or not self.url else replace(url, path=urlsplit(self.url).path)

    def read_override(self, text: str) -> str:
        """Return the address that the value of `url_variable` stands for."""
        return text

    def model_url(self, url: Url, name: str, keys: Keys) -> Url:
        """Return the address of one model, where each has its own."""
        return url

    def key_variable(self, spec: Spec, settings: ModelSettings, keys: Keys, *, required: bool) -> str | None:
        """Return the variable that holds the key; empty where there is none and none is required, None where a token is requested instead.

        A required key that is missing raises `BadInput`.
        """
        if settings.api_key_env:
            if keys.get(settings.api_key_env):
                return settings.api_key_env
            if not _VARIABLE.fullmatch(settings.api_key_env):  # often it is the key itself
                raise BadInput(
                    f"api_key_env of {spec.shown} names no variable that is set", "It is the name of a variable, not a key: MY_API_KEY."
                )
            raise BadInput(
                f"{settings.api_key_env} is not set, and {spec.shown} is to take its key from it (api_key_env)",
                _where_to_set(settings.api_key_env),
            )
        for variable in self.key_variables:
            if keys.get(variable):
                return variable
        if required:
            either = " nor ".join(self.key_variables)
            unset = f"neither {either} is set" if len(self.key_variables) > 1 else f"{either} is not set"
            raise BadInput(f"{unset}, and {spec.shown} needs a key", _where_to_set(self.key_variables[0]))
        return ""

    def key_header(self, variable: str, key: str) -> tuple[str, str]:
        """Return the name and the value of the header that carries a key."""
        return "Authorization", f"Bearer {key}"

    def token_source(self, keys: Keys) -> TokenSource:
        """Return the source of tokens for an endpoint that `needs_token`."""
        raise NotImplementedError


def _where_to_set(variable: str, example: str = HIDDEN) -> str:
    return f"Set {variable} in the environment, or write {variable}={example} into a file {ENV_FILE} in this folder."
