"""Reply checks: conditions on the text of a reply, of a case (`expected_output.reply`) or of all cases (`[reply]` in `callmark.toml`).

    contains, not_contains   a string or a list of strings; case is ignored, and any white space is one space
    regex                    a pattern of linear time (RE2), searched in the text
    max_words                a number of words, which are separated by white space
    json_schema              the whole text is JSON that fits the schema

`read_reply_checks` raises for what cannot be checked when a file is read; the functions here say what is wrong with a text.
"""

from collections.abc import Callable, Iterator
from typing import Any

from callmark.calls.matchers import compile_regex
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.validation import Validator, compile_schema
from callmark.errors import BadInput
from callmark.types import ReplyChecks
from callmark.wording import did_you_mean, pluralize

CHECKS = ReplyChecks.__struct_fields__
_SHOWN = 40  # characters of an invalid value in a message
_SHOWN_TEXT = 80  # characters of a text or pattern in a reason
_MAX_VIOLATIONS = 3  # of a schema, in a reason


def read_reply_checks(given: Any, where: str) -> ReplyChecks | None:
    """Return the checks of an object; None if it has none, because it is missing, null or empty, or all its values are null.

    An unknown check, a value of the wrong type, an empty text, an invalid pattern and an invalid schema raise `BadInput` that begins with
    `where` and the name of the check.
    """
    if given is None:
        return None
    if not isinstance(given, dict):
        raise BadInput(f"{where}: expected an object with checks, got {dump(given)[:_SHOWN]}", f"Checks: {', '.join(CHECKS)}.")
    for name in given:
        if name not in CHECKS:
            raise BadInput(f"{where}: unknown check {name!r}{did_you_mean(str(name), CHECKS)}", f"Checks: {', '.join(CHECKS)}.")
    checks = {name: _READERS[name](given[name], f"{where}.{name}") for name in CHECKS if given.get(name) is not None}
    return ReplyChecks(**checks) if checks else None


def failed_checks(text: str, checks: ReplyChecks) -> dict[str, str]:
    """Return why the text fails, by the name of each check that it fails. A blank text fails `contains`, `regex` and `json_schema`."""
    return {name: reason for name, reason in _outcomes(text, checks) if reason}


def count_checks(checks: ReplyChecks) -> int:
    """Return the number of checks that are set."""
    return sum(getattr(checks, name) != default for name, default in zip(CHECKS, ReplyChecks.__struct_defaults__, strict=True))


def join_checks(general: ReplyChecks | None, own: ReplyChecks | None) -> ReplyChecks | None:
    """Return the checks of a case: its own, and the general ones that it does not set itself."""
    if general is None or own is None:
        return own or general
    defaults = zip(CHECKS, ReplyChecks.__struct_defaults__, strict=True)
    return ReplyChecks(*(getattr(general if getattr(own, name) == default else own, name) for name, default in defaults))


def _outcomes(text: str, checks: ReplyChecks) -> Iterator[tuple[str, str]]:
    """Yield each check that is set with the reason why the text fails it, or an empty text."""
    folded = _fold(text)
    if checks.contains:
        missing = [wanted for wanted in checks.contains if _fold(wanted) not in folded]
        yield "contains", f"does not contain {_quote_all(missing)}" if missing else ""
    if checks.not_contains:
        found = [unwanted for unwanted in checks.not_contains if _fold(unwanted) in folded]
        yield "not_contains", f"contains {_quote_all(found)}" if found else ""
    if checks.regex:
        matches = bool(folded) and compile_regex(checks.regex).search(text) is not None
        yield "regex", "" if matches else f"does not match {_shorten(checks.regex)}"
    if checks.max_words is not None:
        words = len(text.split())
        yield "max_words", f"{pluralize(words, 'word')}, expected at most {checks.max_words:,}" if words > checks.max_words else ""
    if checks.json_schema is not None:
        yield "json_schema", _schema_problem(text, checks.json_schema)


def _schema_problem(text: str, schema: Any) -> str:
    if not text.strip():
        return "the reply is empty, expected JSON"
    try:
        value = parse(text)
    except NotStrict as problem:
        return f"not valid JSON: {problem}"
    validator = compile_schema(dump(schema).encode())
    assert isinstance(validator, Validator)  # it was checked when it was read
    violations = validator.violations(value)
    shown = [f"{'.'.join(map(str, path))}: {message}" if path else message for path, message in violations[:_MAX_VIOLATIONS]]
    more = f"; and {len(violations) - len(shown):,} more" if len(violations) > len(shown) else ""
    return f"does not fit the schema: {'; '.join(map(_shorten, shown))}{more}" if violations else ""


def _read_texts(given: Any, where: str) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{where}: expected a string or a list of strings, got {dump(given)[:_SHOWN]}")
    if not texts or not all(map(_fold, texts)):
        raise BadInput(f"{where}: expected text to look for, got {'an empty list' if not texts else 'an empty string'}")
    return tuple(texts)


def _read_regex(given: Any, where: str) -> str:
    if not isinstance(given, str) or not given:
        raise BadInput(f"{where}: expected a pattern, got {dump(given)[:_SHOWN]}")
    if isinstance(compiled := compile_regex(given), str):
        raise BadInput(f"{where}: not a valid RE2 pattern: {compiled}")
    return given


def _read_max_words(given: Any, where: str) -> int:
    if given.__class__ is not int or given < 0:
        raise BadInput(f"{where}: expected an integer of at least 0, got {dump(given)[:_SHOWN]}")
    return int(given)


def _read_json_schema(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(f"{where}: expected a JSON Schema, got {dump(given)[:_SHOWN]}")
    if isinstance(problem := compile_schema(dump(given).encode()), str):
        raise BadInput(f"{where}: not a valid JSON Schema: {problem}")
    return given


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "contains": _read_texts,
    "not_contains": _read_texts,
    "regex": _read_regex,
    "max_words": _read_max_words,
    "json_schema": _read_json_schema,
}


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _quote_all(texts: list[str]) -> str:
    return ", ".join(dump(_shorten(text)) for text in texts)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
