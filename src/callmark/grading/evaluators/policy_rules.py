"""Policy rules about patterns of calls, in YAML:

    rules:
      - id: look-first
        says: Look a ticket up before you change it.
        before: {first: "*get_support_ticket", then: "*update_*"}      # each `then` call needs an earlier `first` call
      - id: ask-first
        says: Write only what the user has confirmed.
        confirmed: ["*create_*", "*update_*"]                          # the user's last message before the call is a confirmation
      - id: one-at-a-time
        says: A confirmation is for one write.
        once_per_confirmation: ["*create_*", "*update_*"]              # each call uses up the confirmation before it
      - id: no-loop
        says: Do not start over twice in a row.
        never: "*start_over > *start_over"                             # no call, or sequence of calls, like this
      - id: few-searches
        says: Search at most three times.
        at_most: {times: 3, calls: "*search_*"}

A pattern may be replaced by a list of patterns, any of which may match. A call matches a sequence if it is its last step. A malformed call
matches nothing. `words: [ja, genau]` next to `confirmed` or `once_per_confirmation` replaces the default confirmation phrases.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from callmark.calls.sequence import CallPattern, read_pattern
from callmark.errors import BadInput
from callmark.wording import did_you_mean

RuleKind = Literal["before", "confirmed", "once_per_confirmation", "never", "at_most"]
KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
_CONFIRMATIONS = ("confirmed", "once_per_confirmation")


class Rule(Struct, frozen=True):
    """A rule about `calls`. `first` belongs to `before`, `times` to `at_most`, `words` (confirmation phrases) to confirmations."""

    id: str
    says: str
    kind: RuleKind
    calls: tuple[CallPattern, ...]
    first: tuple[CallPattern, ...] = ()
    times: int = 0
    words: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """The globs of the tools whose calls may violate the rule. If no tool matches, it can never be violated."""
        return tuple(pattern.steps[-1].name for pattern in self.calls)

    @property
    def needs_transcript(self) -> bool:
        """Whether the rule depends on user messages or results, so that calls alone are not enough to check it."""
        steps = [step for pattern in (*self.calls, *self.first) for step in pattern.steps]
        return self.kind in _CONFIRMATIONS or any(value.kind == "result" for step in steps for _, value in step.arguments)


def read_rules(value: Any) -> tuple[Rule, ...]:
    """Return the rules in the content of a YAML file. An invalid rule raises `BadInput` that names it."""
    if not isinstance(value, Mapping) or "rules" not in value:
        found = (
            f"the key{'s' if len(value) > 1 else ''} {', '.join(map(str, value))}" if isinstance(value, Mapping) and value else _kind(value)
        )
        raise BadInput(f"expected an object with the key rules, got {found}")
    for key in value:
        if key != "rules":
            raise BadInput(f"unknown key {key!r}{did_you_mean(str(key), ('rules',))}", "The only key is rules.")
    if not isinstance(value["rules"], list) or not value["rules"]:
        raise BadInput(f"rules: expected a list of at least one rule, got {_kind(value['rules'])}")
    rules: dict[str, Rule] = {}
    for number, content in enumerate(value["rules"], 1):
        rule = _read_rule(content, f"rule {number}")
        if rule.id in rules:
            raise BadInput(f"rule {number}: the ID {rule.id!r} is already used by another rule")
        rules[rule.id] = rule
    return tuple(rules.values())


def _read_rule(content: Any, where: str) -> Rule:
    if not isinstance(content, Mapping):
        raise BadInput(f"{where}: expected an object with id, says and a check, got {_kind(content)}", f"Checks: {', '.join(KINDS)}.")
    identifier = _read_text(content, "id", where)
    where = f"rule {identifier!r}"
    kinds = [kind for kind in KINDS if kind in content]
    known = ("id", "says", *KINDS, "words")
    for key in content:
        if key not in known:
            raise BadInput(f"{where}: unknown key {key!r}{did_you_mean(str(key), known)}", f"Known keys: {', '.join(known)}.")
    if len(kinds) != 1:
        raise BadInput(f"{where}: expected one of {', '.join(KINDS)}, got {' and '.join(kinds) or 'none'}")
    kind, says, body = kinds[0], _read_text(content, "says", where), content[kinds[0]]
    if "words" in content and kind not in _CONFIRMATIONS:
        raise BadInput(f"{where}: words can be used only with {' and '.join(_CONFIRMATIONS)}, not with {kind}")
    words = tuple(_read_texts(content["words"], "words", where)) if "words" in content else ()
    for word in words:
        if not any(map(str.isalnum, word)):
            raise BadInput(f"{where}: words: expected letters or digits, got {word[:40]!r}")
    if kind == "before":
        parts = _read_object(body, kind, ("first", "then"), where)
        return Rule(identifier, says, kind, _read_patterns(parts["then"], "then", where), _read_patterns(parts["first"], "first", where))
    if kind == "at_most":
        parts = _read_object(body, kind, ("times", "calls"), where)
        times = parts["times"]
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise BadInput(f"{where}: times: expected an integer of at least 0, got {times!r:.40}")
        return Rule(identifier, says, kind, _read_patterns(parts["calls"], "calls", where), times=times)
    return Rule(identifier, says, kind, _read_patterns(body, kind, where), words=words)


def _read_object(content: Any, name: str, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise BadInput(f"{where}: {name}: expected an object with {' and '.join(keys)}, got {_kind(content)}")
    for key in content:
        if key not in keys:
            raise BadInput(f"{where}: {name}: unknown key {key!r}{did_you_mean(str(key), keys)}", f"Known keys: {', '.join(keys)}.")
    for key in keys:
        if key not in content:
            raise BadInput(f"{where}: {name}: missing key {key!r}")
    return content


def _read_patterns(content: Any, name: str, where: str) -> tuple[CallPattern, ...]:
    try:
        return tuple(map(read_pattern, _read_texts(content, name, where, "a pattern")))
    except BadInput as error:
        raise BadInput(str(error) if str(error).startswith(where) else f"{where}: {name}: {error}", error.hint) from None


def _read_texts(content: Any, name: str, where: str, what: str = "a string") -> list[str]:
    """Return a string or a list of strings as a list."""
    texts = content if isinstance(content, list) else [content]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"{where}: {name}: expected {what} or a list of them, got {_kind(text)}")
    if not texts:
        raise BadInput(f"{where}: {name}: expected {what} or a list of them, got an empty list")
    return texts


def _read_text(content: Mapping[str, Any], key: str, where: str) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{where}: missing key {key!r}" if value is None else f"{where}: {key}: expected a string, got {_kind(value)}")
    return value.strip()


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case str():
            return repr(value[:40]) if value.strip() else "an empty string"
        case list():
            return "a list" if value else "an empty list"
        case Mapping():
            return "an object" if value else "an empty object"
        case _:
            return repr(value)[:40]
