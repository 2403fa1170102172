"""Model specs: the provider that a text names, and the model that it opens.

    openai:NAME    azure:DEPLOYMENT    anthropic:NAME    gemini:NAME    ollama:NAME    vllm:NAME@URL    http://host:port/v1#NAME
    replay:FILE    python:module:function    cmd:COMMAND    scripted:NAME    chatbot:URL    local:

and whatever installed packages add (entry points of the group `callmark.models`).
"""

import re
from typing import NoReturn

from callmark import registry
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.chat_request import check_params
from callmark.models.keys import Keys, mask_address
from callmark.models.model import Model, ModelSettings
from callmark.models.provider import Provider, ProviderStatus, Spec
from callmark.wording import did_you_mean

_SCHEMES = {"https": "http"}  # an address names its provider by its scheme
_ADDRESS = "http://localhost:8000/v1#NAME"
_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d+(?:[/#?]|$)")


def read_spec(text: str, keys: Keys) -> Spec:
    """Return the model that a spec names; anything else raises `BadInput`. Secrets in an address are hidden everywhere from now on."""
    text = text.strip()
    word, colon, _ = text.partition(":")
    name = word.lower()
    if not is_provider(name) or (name in _SCHEMES and not colon):
        _refuse_unknown(text, name, keys)
    return find_provider(_SCHEMES.get(name, name)).read(text, keys)


def open_model(settings: ModelSettings, keys: Keys) -> tuple[Model, Spec]:
    """Return the model of these settings, not yet entered, and its spec. What cannot work raises `BadInput` before any request."""
    spec = read_spec(settings.model, keys)
    check_params(settings.params)
    spec.provider.check_settings(spec, settings)
    try:
        return spec.provider.open(spec, settings, keys), spec
    except BadInput as error:  # what a module raised while it was imported may have a key in it
        raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None


def is_provider(name: str) -> bool:
    """Return whether specs may begin with this word; nothing is imported for it."""
    return name in _SCHEMES or registry.is_known("models", name)


def find_provider(name: str) -> Provider:
    """Return a provider by its name; raise `BadInput` for an unknown one, and for an entry point that offers something else."""
    found = registry.find("models", name)
    found = found() if isinstance(found, type) else found
    if not isinstance(found, Provider) or found.name != name:
        kind = f"the provider {found.name!r}" if isinstance(found, Provider) else type(found).__name__
        raise BadInput(f"the entry point {name!r} of callmark.models is {kind}, a callmark.Provider called {name!r} was expected")
    return found


def list_providers(keys: Keys) -> list[ProviderStatus]:
    """Return the status of every provider, built-ins first; one that cannot be imported is listed with the reason."""
    found = []
    for name in registry.names("models"):
        try:
            found.append(find_provider(name).status(keys))
        except BadInput as error:
            found.append(ProviderStatus(name, f"{name}:", str(error)))
    return found


def _refuse_unknown(text: str, word: str, keys: Keys) -> NoReturn:
    names = registry.names("models")
    hint = f"A model is named {', '.join(status.example for status in list_providers(keys))}."
    shown = mask_address(text, keys)
    if not text:
        raise BadInput("no model is named", hint)
    if "://" in text:
        raise BadInput(f"{shown} does not begin with http:// or https://, {_ADDRESS} was expected", hint)
    if _WITHOUT_SCHEME.match(text):
        raise BadInput(f"{shown} looks like an address without http:// before it, {_ADDRESS} was expected", hint)
    if ":" not in text:
        near = did_you_mean(word, names) or f". Is it openai:{shown}?"
        raise BadInput(f"{shown} names no provider{near}", hint)
    raise BadInput(f"there is no provider called {scrub(keys.hide(word))}{did_you_mean(word, names)}", hint)
