"""The rules of a policy, over patterns of calls, as a YAML file has them:

    rules:
      - id: look-first
        says: A ticket is looked up before it is changed.
        before: {first: "*get_support_ticket", then: "*update_*"}      # each call of `then` has an earlier call of `first`
      - id: ask-first
        says: Nothing is written that the user did not confirm.
        confirmed: ["*create_*", "*update_*"]                          # what the user said last before such a call is a yes
      - id: one-at-a-time
        says: A yes is for one thing.
        once_per_confirmation: ["*create_*", "*update_*"]              # each such call uses up the yes before it
      - id: no-loop
        says: Nobody starts over twice in a row.
        never: "*start_over > *start_over"                             # no such call, or sequence of calls
      - id: few-searches
        says: Three searches are enough.
        at_most: {times: 3, calls: "*search_*"}

A pattern is one, or a list of which any may fit. A call fits a sequence when it is its last step. `words: [ja, genau]` beside `confirmed`
or `once_per_confirmation` counts as a yes instead of the usual words. A malformed call fits nothing.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from callmark.calls.sequence import CallPattern, read_pattern
from callmark.errors import BadInput
from callmark.wording import did_you_mean

RuleKind = Literal["before", "confirmed", "once_per_confirmation", "never", "at_most"]
KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
_OF_WORDS = ("confirmed", "once_per_confirmation")


class Rule(Struct, frozen=True):
    """What is asked of `calls`; of `before` what comes `first`, of `at_most` how many `times`, of confirmations which `words` are a yes."""

    id: str
    says: str
    kind: RuleKind
    calls: tuple[CallPattern, ...]
    first: tuple[CallPattern, ...] = ()
    times: int = 0
    words: tuple[str, ...] = ()

    @property
    def needs_transcript(self) -> bool:
        """Whether calls alone do not tell: it depends on what was said, or on what a call gave back."""
        steps = [step for pattern in (*self.calls, *self.first) for step in pattern.steps]
        return self.kind in _OF_WORDS or any(wanted.kind == "result" for step in steps for _, wanted in step.arguments)


def read_rules(value: Any) -> tuple[Rule, ...]:
    """The rules that a YAML file holds, as its reader gave it. What cannot be understood raises `BadInput` that names the rule."""
    if not isinstance(value, Mapping) or "rules" not in value:
        found = f"its keys are {', '.join(map(str, value)) or 'none'}" if isinstance(value, Mapping) else f"it is {_kind(value)}"
        raise BadInput(f"a policy has `rules:`, a list of rules; {found}")
    for key in value:
        if key != "rules":
            raise BadInput(f"there is no key called {key!r} beside rules{did_you_mean(str(key), ('rules',))}")
    if not isinstance(value["rules"], list) or not value["rules"]:
        raise BadInput(f"rules is {_kind(value['rules'])}, a list with at least one rule was expected")
    rules: dict[str, Rule] = {}
    for number, given in enumerate(value["rules"], 1):
        rule = _rule(given, f"rule {number}")
        if rule.id in rules:
            raise BadInput(f"rule {number}: the id {rule.id!r} stands for two rules")
        rules[rule.id] = rule
    return tuple(rules.values())


def _rule(given: Any, where: str) -> Rule:
    if not isinstance(given, Mapping):
        raise BadInput(f"{where} is {_kind(given)}, an object with id, says and what it asks for was expected")
    identifier = _text(given, "id", where)
    where = f"rule {identifier!r}"
    kinds = [kind for kind in KINDS if kind in given]
    known = ("id", "says", *KINDS, "words")
    for key in given:
        if key not in known:
            raise BadInput(f"{where}: there is no key called {key!r}{did_you_mean(str(key), known)}", f"The keys are {', '.join(known)}.")
    if len(kinds) != 1:
        raise BadInput(f"{where} has {' and '.join(kinds) or 'nothing that it asks for'}, one of {', '.join(KINDS)} was expected")
    kind, says, body = kinds[0], _text(given, "says", where), given[kinds[0]]
    if "words" in given and kind not in _OF_WORDS:
        raise BadInput(f"{where}: words belong to {' and '.join(_OF_WORDS)}, not to {kind}")
    words = tuple(_texts(given["words"], "words", where)) if "words" in given else ()
    for word in words:
        if not any(map(str.isalnum, word)):
            raise BadInput(f"{where}: words has {word[:40]!r}, in which there is no word: nothing that anybody says would be a yes")
    if kind == "before":
        parts = _object(body, kind, ("first", "then"), where)
        return Rule(identifier, says, kind, _patterns(parts["then"], "then", where), _patterns(parts["first"], "first", where))
    if kind == "at_most":
        parts = _object(body, kind, ("times", "calls"), where)
        times = parts["times"]
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise BadInput(f"{where}: times is {times!r}, a whole number from 0 on was expected")
        return Rule(identifier, says, kind, _patterns(parts["calls"], "calls", where), times=times)
    return Rule(identifier, says, kind, _patterns(body, kind, where), words=words)


def _object(given: Any, name: str, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise BadInput(f"{where}: {name} is {_kind(given)}, an object with {' and '.join(keys)} was expected")
    for key in given:
        if key not in keys:
            raise BadInput(f"{where}: there is no key called {key!r} in {name}{did_you_mean(str(key), keys)}")
    for key in keys:
        if key not in given:
            raise BadInput(f"{where}: {name} has no {key}")
    return given


def _patterns(given: Any, name: str, where: str) -> tuple[CallPattern, ...]:
    try:
        return tuple(map(read_pattern, _texts(given, name, where, "a pattern of calls")))
    except BadInput as error:
        raise BadInput(str(error) if str(error).startswith(where) else f"{where}: {name}: {error}", error.hint) from None


def _texts(given: Any, name: str, where: str, what: str = "a text") -> list[str]:
    """A text or a list of texts, as a list."""
    listed = given if isinstance(given, list) else [given]
    for one in listed:
        if not isinstance(one, str) or not one.strip():
            raise BadInput(f"{where}: {name} is {_kind(one)}, {what} or a list of such was expected")
    if not listed:
        raise BadInput(f"{where}: {name} is an empty list, {what} or a list of such was expected")
    return listed


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{where} has no {key}" if value is None else f"{where}: {key} is {_kind(value)}, text was expected")
    return value.strip()


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case str():
            return f"the text {value[:40]!r}" if value.strip() else "an empty text"
        case list():
            return "a list" if value else "an empty list"
        case Mapping():
            return "an object"
        case _:
            return repr(value)[:40]
