"""Model specs: find the provider and open the model.

    openai:NAME    azure:DEPLOYMENT    anthropic:NAME    gemini:NAME    ollama:NAME    vllm:NAME@URL    http://host:port/v1#NAME
    replay:FILE    python:module:function    cmd:COMMAND    scripted:NAME    chatbot:URL    local:

Installed packages may add providers (entry points in the group `callmark.models`).
"""

import re
from collections.abc import Collection
from typing import NoReturn

from callmark import registry
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.chat_request import check_params
from callmark.models.keys import Keys, mask_address
from callmark.models.model import Model, ModelSettings
from callmark.models.module_files import suggest_python
from callmark.models.provider import Provider, ProviderStatus, Spec
from callmark.trust import Action, authorize, named_by
from callmark.wording import did_you_mean

_SCHEMES = {"https": "http"}  # the scheme of an address is its provider
_ADDRESS = "http://localhost:8000/v1#NAME"
_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d+(?:[/#?]|$)")


def read_spec(text: str, keys: Keys) -> Spec:
    """Parse a model spec; raise `BadInput` if it is invalid. Secrets in an address are hidden from now on."""
    text = text.strip()
    word, colon, _ = text.partition(":")
    name = word.lower()
    if not is_provider(name) or (name in _SCHEMES and not colon):
        _refuse_unknown(text, name, keys)
    return find_provider(_SCHEMES.get(name, name)).read(text, keys)


def open_model(settings: ModelSettings, keys: Keys) -> tuple[Model, Spec]:
    """Return the model of these settings, not yet entered, and its spec. Invalid settings raise `BadInput` before any request."""
    spec = read_spec(settings.model, keys)
    check_params(settings.params)
    spec.provider.check_settings(spec, settings)
    authorize(model_actions(settings, keys))  # an address in .env needs consent even if the user names the model
    try:
        return spec.provider.open(spec, settings, keys), spec
    except BadInput as error:  # the message of a failed import may contain a key
        raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None


def model_actions(settings: ModelSettings, keys: Keys, *, source: str = "", given: Collection[str] = ()) -> list[Action]:
    """Return what opening a model would run, import or send, and needs the user's consent.

    `source` is the file or run folder that names the model; empty if the user does. `given` are the names of the settings that the user
    gave. An invalid spec, and a missing key, raise `BadInput`.
    """
    spec = read_spec(settings.model, keys)
    spec.provider.check_settings(spec, settings)
    return named_by(source, spec.provider.actions(spec, settings, keys, given=given))


def lacks_scheme(text: str) -> bool:
    """Return whether a text looks like an address without `http://`, such as `localhost:8000/v1`."""
    return _WITHOUT_SCHEME.match(text) is not None


def is_provider(name: str) -> bool:
    """Return whether specs may start with this word. Nothing is imported."""
    return name in _SCHEMES or registry.is_known("models", name)


def find_provider(name: str) -> Provider:
    """Return a provider by name; raise `BadInput` if it is unknown, or if its entry point is not a provider of that name."""
    found = registry.find("models", name)
    found = found() if isinstance(found, type) else found
    if not isinstance(found, Provider) or found.name != name:
        kind = f"the provider {found.name!r}" if isinstance(found, Provider) else type(found).__name__
        raise BadInput(f"entry point {name!r} of callmark.models: expected a callmark.Provider named {name!r}, got {kind}")
    return found


def list_providers(keys: Keys) -> list[ProviderStatus]:
    """Return the status of every provider, built-ins first; a provider that cannot be imported is listed with the reason."""
    found = []
    for name in registry.names("models"):
        try:
            found.append(find_provider(name).status(keys))
        except BadInput as error:
            found.append(ProviderStatus(name, f"{name}:", str(error)))
    return found


def _refuse_unknown(text: str, word: str, keys: Keys) -> NoReturn:
    names = registry.names("models")
    hint = f"Supported: {', '.join(status.example for status in list_providers(keys))}"
    shown = mask_address(text, keys)
    if not text:
        raise BadInput("the model is empty", hint)
    if "://" in text:
        raise BadInput(f"expected a URL that starts with http:// or https://, as in {_ADDRESS}, got {shown}")
    if lacks_scheme(text):
        raise BadInput(f"{shown} looks like a URL without http://; expected a URL like {_ADDRESS}")
    near = did_you_mean(word, names) or suggest_python(shown, "FUNCTION")
    if ":" not in text:
        raise BadInput(f"unknown model {shown!r}: expected PROVIDER:NAME{near or f'. Did you mean openai:{shown}?'}", hint)
    raise BadInput(f"unknown provider {scrub(keys.hide(word))!r}{near}", hint)
