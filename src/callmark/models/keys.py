"""API keys: where they come from, and how they are kept out of everything that is stored, printed or raised.

A key is a variable in the environment or in `.env` in the current folder. The environment overrides `.env` and is never modified. Secrets
are the value of every variable with KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL as a word in its name, and the secret parts of an address.
Values shorter than 8 characters are not hidden, because `1` and `admin` occur in ordinary text too.
"""

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.regular_files import read_regular
from callmark.models.redaction import HIDDEN, MIN_LENGTH, Secrets

T = TypeVar("T")

ENV_FILE = ".env"
_MAX_ENV_FILE = 1_000_000  # bytes

_SECRET_WORDS = frozenset({"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "CREDENTIALS"})
_SECRET_PARTS = re.compile(r"^.*@|(?<=\?)[^#]+|(?<=:)(?![0-9]{1,6}(?:[/?#]|$))[^/?#]+", re.DOTALL)  # the last: not a port
_INVALID_PORT = "has an invalid port (expected 1 to 65535)"
_MAX_SHOWN = 200
_SECRET_IN_COMMAND = re.compile(
    r"""(?:key|token|secret|password|credentials?|bearer)(?:=|\s+)["']?([^\s"']+)|\b(sk-[\w-]{16,})""", re.IGNORECASE
)
_PLAIN_WORD = re.compile(r"[\w.-]{8,}", re.ASCII)
_TEMPLATE = re.compile(r"\{\w+\}")  # a placeholder of an agent's URL
_NEVER_SECRET = frozenset({"api-version"})  # Azure's is a date, which may occur in predictions


class Keys:
    """Environment variables and the secrets among them. `repr` does not show values."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.passed_on: dict[str, str] = {}  # variables that every program gets
        self._values: dict[str, str] = {}
        self._file_names: frozenset[str] = frozenset()
        self._secrets: dict[str, bool] = {}  # True if the secret was sent to a server
        self._add_variables(values or {})

    @classmethod
    def here(cls) -> "Keys":
        """Return the variables of the environment and of `.env` in the current folder; an invalid file raises `BadInput`."""
        in_file = _read_env_file(Path(ENV_FILE))
        keys = cls(in_file)
        keys._file_names = frozenset(in_file.keys() - os.environ.keys())
        keys._add_variables(os.environ)
        return keys

    def get(self, name: str) -> str:
        """Return the value of a variable, stripped; empty if it is not set."""
        return self._values.get(name, "").strip()

    def is_from_file(self, name: str) -> bool:
        """Return whether a variable is set in `.env` only. Such a variable may be a key, but not decide where keys are sent."""
        return name in self._file_names

    def add(self, secret: str) -> None:
        """Hide one more secret from now on, unless it is too short."""
        self._add_secret(secret, sent=True)

    def reveal(self, name: str) -> str:
        """Return the value of a variable for a program that callmark starts, and hide it from now on; empty if it is not set."""
        value = self._values.get(name, "")
        self._add_secret(value.strip(), sent=False)
        return value

    def add_from_command(self, command: str) -> None:
        """Hide what looks like a key among the arguments of a command (`--api-key VALUE`) from now on."""
        for found in _SECRET_IN_COMMAND.finditer(command):
            self.add(found[1] or found[2])

    def hide(self, text: str) -> str:
        """Replace every secret in a message by `…`, in any encoding, and what is left of one where the message was cut."""
        return self._in_messages.hide_in_message(text)

    def redact(self, value: T) -> T:
        """Return what came from a server, a program or a tool (text, bytes, JSON, a `Struct`) with every secret in it replaced by `…`.

        A variable whose value is an ordinary word (`DB_PASSWORD=postgres`) and was not sent is kept: a prediction may contain the word.
        """
        return self._in_data.redact(value)

    def show(self, text: str) -> str:
        """Return a text that a file names, for a question about it. Only secrets of the environment are hidden: `.env` could make anything
        look like a secret, and so hide what the question is about.
        """
        return self._in_environment.hide(text)

    def show_command(self, command: str) -> str:
        """Return a command for a question about it, as `show` does. Plain words after `--api-key` and the like are hidden too."""
        text = self.show(command)
        for found in _SECRET_IN_COMMAND.finditer(text):
            secret = found[1] or found[2]
            if _PLAIN_WORD.fullmatch(secret):
                text = text.replace(secret, HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"Keys({len(self._values)} variables)"

    @cached_property
    def _in_messages(self) -> Secrets:
        return Secrets(self._secrets)

    @cached_property
    def _in_data(self) -> Secrets:
        return Secrets(secret for secret, sent in self._secrets.items() if sent or not _is_words(secret))

    @cached_property
    def _in_environment(self) -> Secrets:
        return Secrets(
            value.strip() for name, value in self._values.items() if _is_secret_name(name) and name not in self._file_names
        )  # fmt: skip

    def _add_variables(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            self._values[name] = value
            if _is_secret_name(name):
                self._add_secret(value.strip(), sent=False)

    def _add_secret(self, secret: str, *, sent: bool) -> None:
        if len(secret) < MIN_LENGTH or (secret in self._secrets and self._secrets[secret] >= sent):
            return
        self._secrets[secret] = sent
        for name in ("_in_messages", "_in_data"):
            self.__dict__.pop(name, None)


class Url(Struct, frozen=True):
    """A parsed address. Only `shown` may be displayed: `user` is the Basic authentication, and `query` may contain a key."""

    scheme: str
    host: str
    path: str = ""
    query: str = ""
    shown_query: str = ""
    user: str = ""

    @property
    def address(self) -> str:
        """The address for requests, without user and password."""
        return f"{self.scheme}://{self.host}{self.path}{'?' if self.query else ''}{self.query}"

    @property
    def shown(self) -> str:
        user = f"{HIDDEN}@" if self.user else ""
        return f"{self.scheme}://{user}{self.host}{self.path}{'?' if self.query else ''}{self.shown_query}"

    @property
    def secret(self) -> bool:
        """Whether the address contains a secret."""
        return bool(self.user) or self.query != self.shown_query

    def __repr__(self) -> str:
        return f"Url({self.shown!r})"


def read_url(text: str, keys: Keys, *, where: str, example: str) -> Url:
    """Parse an HTTP address; its user, its password and its query values are hidden from now on.

    Anything else raises `BadInput` without secrets in its message: `where` says where the address comes from, `example` what one looks
    like.
    """
    try:
        parts = urlsplit(text)
        problem = _url_problem(text, parts)
    except ValueError as error:
        problem = _INVALID_PORT if "port" in str(error).lower() else "is not valid"
    if problem:
        raise BadInput(f"{where} {problem}: expected a URL like {example}, got {mask_address(text, keys)}")
    user, _, host = parts.netloc.rpartition("@")
    basic = ""
    if user:
        name, _, password = map(unquote, user.partition(":"))
        basic = b64encode(f"{name}:{password}".encode()).decode()
        for secret in (user, f"{name}:{password}", password or name, basic.rstrip("=")):  # a name with a password is not a secret
            keys.add(secret)
    shown = "&".join(_shown_parameter(parameter, keys) for parameter in parts.query.split("&"))
    return Url(parts.scheme, host, parts.path.rstrip("/"), parts.query, shown, basic)


def mask_address(text: str, keys: Keys) -> str:
    """Return a text that may be an address, for an error message: every part that may be secret is replaced by `…`."""
    start, scheme, rest = text.partition("://")
    if scheme:
        text = start + scheme + _SECRET_PARTS.sub(lambda found: f"{HIDDEN}@" if found[0].endswith("@") else HIDDEN, rest)
    return scrub(keys.hide(text))[:_MAX_SHOWN]


def _url_problem(text: str, parts: SplitResult) -> str:
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        return "contains spaces"
    if parts.scheme not in ("http", "https"):
        return "does not start with http:// or https://"
    if not parts.hostname:
        return "has no host"
    return _INVALID_PORT if parts.port == 0 else ""


def _shown_parameter(parameter: str, keys: Keys) -> str:
    name, equals, value = parameter.partition("=")
    if not equals:  # the whole query may be a token: `?TOKEN`
        name, value = "", parameter
    if not value or name.lower() in _NEVER_SECRET or _TEMPLATE.fullmatch(value):
        return parameter
    keys.add(value)
    keys.add(unquote(value))
    return f"{name}{equals}{HIDDEN}"


def _read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file. A `$NAME` in a value is not expanded; a name without a value is skipped."""
    if not path.is_file():  # a folder named .env may be a virtual environment
        return {}
    from dotenv.parser import parse_stream  # dotenv_values only logs invalid lines

    try:
        text = read_regular(str(path), str(path), most=_MAX_ENV_FILE).decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text") from None
    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text, newline=None)):
        if binding.error:
            whole = binding.original.string
            line = binding.original.line + whole[: len(whole) - len(whole.lstrip())].count("\n")
            if re.match(r"""\s*(?:export\s+)?[^=\s]+\s*=\s*["']""", whole):
                raise BadInput(f"{path}, line {line}: the quotation mark is not closed")
            raise BadInput(f"{path}, line {line}: expected NAME=value", "Put quotes around a value that contains quotes.")
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values


def _is_secret_name(name: str) -> bool:
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def _is_words(secret: str) -> bool:
    return all(part.isalpha() and (part.islower() or part.isupper() or part.istitle()) for part in secret.replace("-", "_").split("_"))
