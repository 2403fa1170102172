"""Find secrets in text, however the text encodes them, and replace them by `…`.

A secret is found as it is, with any of its characters escaped as in JSON, Python, a URL or HTML (`\\u0041`, `\\x41`, `%41`, `&#65;`), also
where the text around it was escaped again, and in Base64, wherever it is inside an encoded text. The result is checked once more: a text
that still contains a secret, in a mixture of encodings that is not known here, is replaced as a whole.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar, cast

from msgspec import Struct, structs

T = TypeVar("T")

HIDDEN = "…"
MIN_LENGTH = 8  # characters of a secret: shorter ones, such as `1` and `admin`, occur in ordinary text too

_ROUNDS = 3  # encodings inside one another
_ESCAPE = re.compile(
    r"""\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/])|([nrtbf]))"""
    r"|((?:%(?:25)*[0-9a-fA-F]{2})+)"
    r"|&(?:#0*([0-9]{1,7})|#[xX]0*([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));?"
)
_CODED_CHARACTER = r"\\[ux][0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|&[#aglq]"
_PERCENT = re.compile(r"%(?:25)*([0-9a-fA-F]{2})")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BACKSLASHED = {'"': '"', "'": "'", "\\": "\\", "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_LETTERS = {letter: character for character, letter in _BACKSLASHED.items()}
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_URL_SAFE = str.maketrans("+/", "-_")
_MAX_CODE = 0x10FFFF
_LONGEST_WORD, _LONGEST_ESCAPE = 1000, 8  # characters of a word, and of what is left of an escape
_MAX_BITS = 10_000  # of an integer that Python writes
_BACKSLASHES = r"(?<!\\)\\++"  # a whole run, looked at once


class Secrets:
    """A set of secrets to look for. Those that are too short are ignored."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long_enough = {secret for secret in secrets if len(secret) >= MIN_LENGTH}
        self._secrets = [_Secret(secret) for secret in sorted(long_enough, key=len, reverse=True)]  # one may contain another

    def hide(self, text: str) -> str:
        """Return the text with every secret replaced by `…`."""
        if not self.is_in(text):
            return text
        hidden = text
        for secret in self._secrets:
            hidden = secret.hide(hidden)
        return HIDDEN if self.is_in(hidden) else hidden

    def hide_in_message(self, text: str) -> str:
        """Return a message with every secret replaced by `…`; so is what is left of one where the message was cut, which a `…` marks."""
        pieces = self.hide(text).split(HIDDEN)
        forms = [form for secret in self._secrets for form in secret.forms] if len(pieces) > 1 else []
        pieces[:-1] = [_without_cut_end(piece, forms) for piece in pieces[:-1]]
        pieces[1:] = [_without_cut_start(piece, forms) for piece in pieces[1:]]
        return HIDDEN.join(pieces)

    def redact(self, value: T) -> T:
        """Return a value of any kind (text, bytes, JSON, a `Struct`) without secrets in its texts, at any depth; keys of objects included.

        A number that contains a secret becomes `…`, except in a field of a `Struct`. A value without secrets is returned unchanged.
        """
        if not self._secrets or not self.is_in("\n".join(_texts(value))):  # one search in place of one for each text
            return value
        return cast("T", self._redact(value))

    def is_in(self, text: str) -> bool:
        """Return whether a secret is in the text."""
        if not self._secrets:
            return False
        if self._finds(text):
            return True
        is_coded = ("\\" in text or "%" in text or "&" in text) and self._coded_character.search(text) is not None
        return is_coded and self._finds(decode_escapes(text))

    def _redact(self, value: Any) -> Any:
        match value:
            case str():
                return self.hide(value)
            case bytes():
                hidden = self.hide(value.decode("utf-8", "surrogateescape"))
                return hidden.encode("utf-8", "surrogateescape")
            case dict():
                return {self._redact(key): self._redact(item) for key, item in value.items()}
            case list() | tuple():
                return type(value)(map(self._redact, value))
            case Struct():
                fields = {name: getattr(value, name) for name in value.__struct_fields__}
                return structs.replace(value, **{name: self._redact(item) for name, item in fields.items() if not _is_number(item)})
        return HIDDEN if _is_number(value) and self.is_in(str(value)) else value

    def _finds(self, text: str) -> bool:
        return self._search(text.encode("utf-8", "surrogatepass")) is not None

    @cached_property
    def _search(self) -> Any:
        import re2  # one pass for any number of secrets

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        forms = {form.encode("utf-8", "surrogatepass") for secret in self._secrets for form in secret.forms}
        return re2.compile(b"|".join(map(re2.escape, sorted(forms))), options).search

    @cached_property
    def _coded_character(self) -> re.Pattern[str]:
        """Match where decoding can matter. Most texts have line breaks and quotes with a backslash, and most secrets have neither."""
        letters = {_BACKSLASHED[character] for secret in self._secrets for character in secret.text if character in _BACKSLASHED}
        return re.compile(_CODED_CHARACTER + (rf"|\\[{re.escape(''.join(sorted(letters)))}]" if letters else ""))


class _Secret:
    """One secret, and the forms in which it is looked for in a text whose escapes are decoded."""

    def __init__(self, text: str) -> None:
        self.text = text
        decoded = decode_escapes(text)
        plain = {text, decoded} if len(decoded) >= MIN_LENGTH else {text}
        self._base64 = sorted(set(_base64_forms(text)))
        self.forms = plain | set(self._base64) | {form.translate(_URL_SAFE) for form in self._base64}

    def hide(self, text: str) -> str:
        """Replace the secret in a text."""
        decoded = decode_escapes(text)
        if not any(form in text or form in decoded for form in self.forms):
            return text
        return self._pattern.sub(HIDDEN, text.replace(self.text, HIDDEN))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join([_escaped_pattern(self.text), *(_escaped_pattern(form, {"+": "-", "/": "_"}) for form in self._base64)]))


def _without_cut_end(text: str, forms: Iterable[str]) -> str:
    """Return the text without its last word, if that ends in the beginning of a secret. The cut may be inside an escape."""
    word = "" if text[-1:].isspace() or not text else text.split()[-1]
    decoded = decode_escapes(word[-_LONGEST_WORD:])
    for form in forms:
        start = decoded.rfind(form[:MIN_LENGTH])
        if start >= 0 and form.startswith(decoded[start : len(decoded) - _LONGEST_ESCAPE]):
            return text.removesuffix(word)
    return text


def _without_cut_start(text: str, forms: Iterable[str]) -> str:
    """Return the text without its first word, if that starts with the end of a secret. The cut may be inside an escape."""
    word = "" if text[:1].isspace() or not text else text.split()[0]
    decoded = decode_escapes(word[:_LONGEST_WORD])
    for form in forms:
        start = decoded.find(form[-MIN_LENGTH:])
        if start >= 0 and form.endswith(decoded[_LONGEST_ESCAPE : start + MIN_LENGTH]):
            return text.removeprefix(word)
    return text


def decode_escapes(text: str) -> str:
    """Return the text with the escapes of JSON, Python, URLs and HTML decoded, one inside another too."""
    for _ in range(_ROUNDS):
        decoded = _SURROGATE_PAIR.sub(_join_pair, _ESCAPE.sub(_decode, text))
        if decoded == text:
            break
        text = decoded
    return text


def _decode(found: re.Match[str]) -> str:
    unicode, byte, character, letter, percents, decimal, hexadecimal, entity = found.groups()
    if percents:
        return bytes(int(code, 16) for code in _PERCENT.findall(percents)).decode("utf-8", "surrogateescape")
    if entity:
        return _ENTITIES[entity]
    if character or letter:
        return _LETTERS[character or letter]
    code = int(decimal) if decimal else int(unicode or byte or hexadecimal, 16)
    return chr(code) if code <= _MAX_CODE else found[0]


def _join_pair(found: re.Match[str]) -> str:
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _base64_forms(secret: str) -> Iterator[str]:
    """Yield the characters of a Base64 text that depend on the secret alone, for each of its three positions in the text."""
    data = secret.encode("utf-8", "surrogateescape" if _is_escaped(secret) else "surrogatepass")
    for before in range(3):
        encoded = b64encode(b"\0" * before + data).decode()
        yield encoded[-(-before * 4 // 3) : (before + len(data)) * 4 // 3]


def _is_escaped(text: str) -> bool:
    """Return whether all surrogates in a text stand for bytes that are not UTF-8, as in the environment."""
    return all("\udc80" <= character <= "\udcff" for character in text if "\ud800" <= character <= "\udfff")


def _escaped_pattern(text: str, also: dict[str, str] | None = None) -> str:
    """Return a pattern for the text with each character as it is or escaped."""
    once = re.sub(r"\\+", r"\\", text)  # escaping changes the number of backslashes
    return "".join(f"(?:{'|'.join(_alternatives(character, (also or {}).get(character)))})" for character in once)


def _alternatives(character: str, also: str | None) -> Iterator[str]:
    code = ord(character)
    if character == "\\":
        yield _BACKSLASHES
    yield re.escape(character)
    if also:
        yield re.escape(also)
    if character in _BACKSLASHED and character != "\\":
        yield f"{_BACKSLASHES}{re.escape(_BACKSLASHED[character])}"
    if character == " ":
        yield r"\+"
    units = character.encode("utf-16-be", "surrogatepass")
    yield "(?i:" + "".join(f"{_BACKSLASHES}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + ")"
    if code < 0x100:
        yield f"(?i:{_BACKSLASHES}x{code:02x})"
    yield "(?i:" + "".join(f"%(?:25)*{byte:02x}" for byte in character.encode("utf-8", "surrogatepass")) + ")"
    yield rf"&\#0*+{code};?"
    yield rf"(?i:&\#x0*+{code:x};?)"
    yield from (f"&{name};?" for name, meant in _ENTITIES.items() if meant == character)


def _texts(value: object) -> list[str]:
    """Return the texts and numbers in a value, and the keys of its objects, in any order."""
    found: list[str] = []
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            rest += item
            rest += item.values()
        elif isinstance(item, list | tuple):
            rest += item
        elif isinstance(item, Struct):
            rest += [getattr(item, name) for name in item.__struct_fields__]
        elif isinstance(item, bytes):
            found.append(item.decode("utf-8", "surrogateescape"))
        elif item is not None and _is_number(item):
            found.append(str(item))
    return found


def _is_number(value: object) -> bool:
    """Return whether a value is a number that can be written."""
    if isinstance(value, float):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < _MAX_BITS
