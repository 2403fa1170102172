"""Keys: where they come from, and how they are kept out of everything that is stored, printed or raised.

A key is a variable of the environment or of `.env` in the current folder; the environment goes first, and nothing is written into it.
What counts as a secret is the value of every variable that has KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL as a word of its name, and
whatever was taken out of an address. Values of fewer than 8 characters are not looked for: `1` and `admin` are words of answers too.
"""

import asyncio
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from importlib import import_module
from io import StringIO
from pathlib import Path
from time import time
from urllib.parse import SplitResult, quote, quote_plus, unquote, urlsplit

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.model import ModelError

HIDDEN = "…"
FILE = ".env"

_SHORTEST = 8
_TELLING = frozenset({"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "CREDENTIALS"})
_SAME_ANYWHERE = re.compile("[A-Za-z0-9]+")  # what every spelling of a secret has in common, so that one look for it is enough
_ESCAPED = re.compile("%[0-9A-F]{2}")
_SECRET_PARTS = re.compile(r"^.*@|(?<=\?)[^#]+|(?<=:)(?![0-9]{1,6}(?:[/?#]|$))[^/?#]+", re.DOTALL)  # the last: no port
_WRONG_PORT = "has a port that is no number from 1 to 65535"
_LONGEST = 200
_SCOPE = "https://cognitiveservices.azure.com/.default"
_BEFORE_IT_ENDS = 300  # seconds that a token is still good for when the next is fetched
_NEVER_SECRET = frozenset({"api-version"})  # Azure's; a date, and so a value that answers have too


class Keys:
    """The variables that are known, and every secret among them. `repr` shows no value."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._secrets: dict[str, bool] = {}  # and whether each was sent to somebody
        self._in_text: list[tuple[str, list[str]]] = []
        self._in_bodies: list[tuple[bytes, list[bytes]]] = []
        self._take(values or {})

    @classmethod
    def here(cls) -> "Keys":
        """What the environment and `.env` of the current folder say. No file is no variables; a broken one raises `BadInput`."""
        keys = cls(_read_file(Path(FILE)))
        keys._take(os.environ)
        return keys

    def get(self, name: str) -> str:
        """The value of a variable, without blanks around it; empty where it is not set or blank."""
        return self._values.get(name, "").strip()

    def add(self, secret: str) -> None:
        """Hides one more secret from now on. A short one cannot be hidden without harm, and is not."""
        self._learn(secret, sent=True)

    def hide(self, text: str) -> str:
        """The text with `…` for every secret, however it is written: as it is, percent-encoded, in JSON, in HTML."""
        for mark, spellings in self._in_text:
            if mark in text:
                for spelling in spellings:
                    text = text.replace(spelling, HIDDEN)
        return text

    def hide_bytes(self, data: bytes) -> bytes:
        """The same for what a server or a process said.

        A variable whose value is a mere word (`DB_PASSWORD=postgres`) stays: nobody was sent it, and an answer may say the word.
        """
        for mark, spellings in self._in_bodies:
            if mark in data:
                for spelling in spellings:
                    data = data.replace(spelling, HIDDEN.encode())
        return data

    def __repr__(self) -> str:
        return f"Keys({len(self._values)} variables)"

    def _take(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            self._values[name] = value
            if not _TELLING.isdisjoint(name.upper().split("_")):
                self._learn(value.strip(), sent=False)

    def _learn(self, secret: str, *, sent: bool) -> None:
        if len(secret) < _SHORTEST or (secret in self._secrets and self._secrets[secret] >= sent):
            return
        self._secrets[secret] = sent
        self._in_text, self._in_bodies = [], []
        for each in sorted(self._secrets, key=len, reverse=True):  # the longest first: one within another then leaves nothing of it
            mark = max(_SAME_ANYWHERE.findall(each), key=len, default="")
            spellings = sorted(set(_spellings(each)), key=len, reverse=True)
            self._in_text.append((mark, spellings))
            if self._secrets[each] or not _is_words(each):
                self._in_bodies.append((mark.encode(), [spelling.encode("utf-8", "backslashreplace") for spelling in spellings]))


class EntraToken:
    """A token for Azure from whoever is signed in, as azure-identity finds out; fetched when it is needed, and again before it ends."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._credential = import_module("azure.identity").DefaultAzureCredential()
        self._token = ""
        self._ends = 0.0
        self._fetching = asyncio.Lock()

    async def current(self) -> str:
        """The token. Raises `ModelError` where nobody is signed in."""
        async with self._fetching:
            if time() > self._ends - _BEFORE_IT_ENDS:
                try:
                    found = await asyncio.to_thread(self._credential.get_token, _SCOPE)
                except Exception as error:  # it tries many ways in, each with errors of its own
                    said = " ".join(str(error).split())[:_LONGEST]
                    raise ModelError(f"azure-identity gives no token for Azure: {self._keys.hide(said)}", hopeless=True) from None
                self._token, self._ends = found.token, found.expires_on
                self._keys.add(self._token)
        return self._token

    async def close(self) -> None:
        await asyncio.to_thread(self._credential.close)


class Url(Struct, frozen=True):
    """An address taken apart. Nothing but `shown` may be shown of it: `user` is who asks, as Basic sends it, and `query` may hold a key."""

    scheme: str
    host: str
    path: str = ""
    query: str = ""
    shown_query: str = ""
    user: str = ""

    @property
    def address(self) -> str:
        """What is asked; a user and a password are no part of it."""
        return f"{self.scheme}://{self.host}{self.path}{'?' if self.query else ''}{self.query}"

    @property
    def shown(self) -> str:
        user = f"{HIDDEN}@" if self.user else ""
        return f"{self.scheme}://{user}{self.host}{self.path}{'?' if self.query else ''}{self.shown_query}"

    @property
    def secret(self) -> bool:
        """Whether there is anything in it that may not be shown."""
        return bool(self.user) or self.query != self.shown_query

    def __repr__(self) -> str:
        return f"Url({self.shown!r})"


def read_url(text: str, keys: Keys, *, where: str, example: str) -> Url:
    """An address over HTTP; its user, its password and the values in its query are secrets from now on.

    Anything else raises `BadInput` with one sentence, in which nothing secret stands: `where` names the place, `example` what was expected.
    """
    try:
        parts = urlsplit(text)
        problem = _problem(text, parts)
    except ValueError as error:
        problem = _WRONG_PORT if "port" in str(error).lower() else "cannot be read"
    if problem:
        raise BadInput(f"{where} {problem}: {masked(text, keys)}; {example} was expected")
    user, _, host = parts.netloc.rpartition("@")
    basic = ""
    if user:
        name, _, password = map(unquote, user.partition(":"))
        basic = b64encode(f"{name}:{password}".encode()).decode()
        for secret in (user, f"{name}:{password}", password or name, basic.rstrip("=")):  # beside a password a name is no secret
            keys.add(secret)
    shown = "&".join(_shown_parameter(parameter, keys) for parameter in parts.query.split("&"))
    return Url(parts.scheme, host, parts.path.rstrip("/"), parts.query, shown, basic)


def masked(text: str, keys: Keys) -> str:
    """A text that may be an address, for a message about what is wrong with it: whatever could be secret in it is `…`."""
    start, scheme, rest = text.partition("://")
    if scheme:
        text = start + scheme + _SECRET_PARTS.sub(lambda found: f"{HIDDEN}@" if found[0].endswith("@") else HIDDEN, rest)
    return scrub(keys.hide(text))[:_LONGEST]


def _problem(text: str, parts: SplitResult) -> str:
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        return "has blanks in it"
    if parts.scheme not in ("http", "https"):
        return "does not begin with http:// or https://"
    if not parts.hostname:
        return "has no host"
    return _WRONG_PORT if parts.port == 0 else ""


def _shown_parameter(parameter: str, keys: Keys) -> str:
    name, equals, value = parameter.partition("=")
    if not equals:  # `?TOKEN` may be all there is
        name, value = "", parameter
    if not value or name.lower() in _NEVER_SECRET:
        return parameter
    keys.add(value)
    keys.add(unquote(value))
    return f"{name}{equals}{HIDDEN}"


def _read_file(path: Path) -> dict[str, str]:
    """The variables of the file as they stand: a `$NAME` in a value is not filled in. A name without a value is not set."""
    if not path.is_file():  # a folder of that name is somebody's virtual environment
        return {}
    from dotenv.parser import parse_stream  # dotenv_values only logs the lines that it cannot read

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text") from None
    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text)):
        if binding.error:
            whole = binding.original.string
            line = binding.original.line + whole[: len(whole) - len(whole.lstrip())].count("\n")
            raise BadInput(f"{path}, line {line} cannot be read, NAME=value was expected", "Quote a value that has quotes in it.")
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values


def _spellings(secret: str) -> Iterator[str]:
    """How a secret may stand in a text, a URL, a JSON string, a page, or in what Python shows of it."""
    for plain in (quote(secret, safe="", errors="replace"), quote(secret, errors="replace"), quote_plus(secret, errors="replace")):
        yield plain
        yield _ESCAPED.sub(lambda escaped: escaped[0].lower(), plain)
    for written in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1], escape(secret)):
        yield written
        yield written.replace("/", "\\/")


def _is_words(secret: str) -> bool:
    return all(part.isalpha() and (part.islower() or part.isupper() or part.istitle()) for part in secret.replace("-", "_").split("_"))
