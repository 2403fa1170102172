"""Rules of a policy over patterns of calls, as a YAML file has them:

    rules:
      - id: look-first
        says: A ticket is looked up before it is changed.
        before: {first: "*get_support_ticket", then: "*update_*"}      # each call of `then` has an earlier call of `first`
      - id: ask-first
        says: Nothing is written that the user did not confirm.
        confirmed: ["*create_*", "*update_*"]                          # the last thing the user said before such a call is a yes
      - id: one-at-a-time
        says: A yes is for one thing.
        once_per_confirmation: ["*create_*", "*update_*"]              # each such call uses up the yes before it
      - id: no-loop
        says: Nobody starts over twice in a row.
        never: "*start_over > *start_over"                             # no such call, or sequence of calls
      - id: few-searches
        says: Three searches are enough.
        at_most: {times: 3, calls: "*search_*"}

Patterns are one, or a list of which any may match. A call matches a sequence when it is its last step. `words: [ja, genau]` beside
`confirmed` or `once_per_confirmation` replaces the usual words of a yes. A malformed call matches nothing.
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
    """A rule on `calls`: `first` is for `before`, `times` for `at_most`, `words` (those of a yes) are for confirmations."""

    id: str
    says: str
    kind: RuleKind
    calls: tuple[CallPattern, ...]
    first: tuple[CallPattern, ...] = ()
    times: int = 0
    words: tuple[str, ...] = ()

    @property
    def needs_transcript(self) -> bool:
        """Whether calls alone are not enough: it depends on what the user said, or on the result of a call."""
        steps = [step for pattern in (*self.calls, *self.first) for step in pattern.steps]
        return self.kind in _CONFIRMATIONS or any(value.kind == "result" for step in steps for _, value in step.arguments)


def read_rules(value: Any) -> tuple[Rule, ...]:
    """Return the rules in the content of a YAML file. What cannot be understood raises `BadInput` that names the rule."""
    if not isinstance(value, Mapping) or "rules" not in value:
        found = f"its keys are {', '.join(map(str, value)) or 'none'}" if isinstance(value, Mapping) else f"it is {_kind(value)}"
        raise BadInput(f"a policy has `rules:`, a list of rules; {found}")
    for key in value:
        if key != "rules":
            raise BadInput(f"there is no key called {key!r} beside rules{did_you_mean(str(key), ('rules',))}")
    if not isinstance(value["rules"], list) or not value["rules"]:
        raise BadInput(f"rules is {_kind(value['rules'])}, a list with at least one rule was expected")
    rules: dict[str, Rule] = {}
    for number, content in enumerate(value["rules"], 1):
        rule = _read_rule(content, f"rule {number}")
        if rule.id in rules:
            raise BadInput(f"rule {number}: the id {rule.id!r} stands for two rules")
        rules[rule.id] = rule
    return tuple(rules.values())


def _read_rule(content: Any, where: str) -> Rule:
    if not isinstance(content, Mapping):
        raise BadInput(f"{where} is {_kind(content)}, an object with id, says and what it asks for was expected")
    identifier = _read_text(content, "id", where)
    where = f"rule {identifier!r}"
    kinds = [kind for kind in KINDS if kind in content]
    known = ("id", "says", *KINDS, "words")
    for key in content:
        if key not in known:
            raise BadInput(f"{where}: there is no key called {key!r}{did_you_mean(str(key), known)}", f"The keys are {', '.join(known)}.")
    if len(kinds) != 1:
        raise BadInput(f"{where} has {' and '.join(kinds) or 'nothing that it asks for'}, one of {', '.join(KINDS)} was expected")
    kind, says, body = kinds[0], _read_text(content, "says", where), content[kinds[0]]
    if "words" in content and kind not in _CONFIRMATIONS:
        raise BadInput(f"{where}: words belong to {' and '.join(_CONFIRMATIONS)}, not to {kind}")
    words = tuple(_read_texts(content["words"], "words", where)) if "words" in content else ()
    for word in words:
        if not any(map(str.isalnum, word)):
            raise BadInput(f"{where}: words has {word[:40]!r}, in which there is no word: nothing that anybody says would be a yes")
    if kind == "before":
        parts = _read_object(body, kind, ("first", "then"), where)
        return Rule(identifier, says, kind, _read_patterns(parts["then"], "then", where), _read_patterns(parts["first"], "first", where))
    if kind == "at_most":
        parts = _read_object(body, kind, ("times", "calls"), where)
        times = parts["times"]
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise BadInput(f"{where}: times is {times!r}, a whole number from 0 on was expected")
        return Rule(identifier, says, kind, _read_patterns(parts["calls"], "calls", where), times=times)
    return Rule(identifier, says, kind, _read_patterns(body, kind, where), words=words)


def _read_object(content: Any, name: str, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise BadInput(f"{where}: {name} is {_kind(content)}, an object with {' and '.join(keys)} was expected")
    for key in content:
        if key not in keys:
            raise BadInput(f"{where}: there is no key called {key!r} in {name}{did_you_mean(str(key), keys)}")
    for key in keys:
        if key not in content:
            raise BadInput(f"{where}: {name} has no {key}")
    return content


def _read_patterns(content: Any, name: str, where: str) -> tuple[CallPattern, ...]:
    try:
        return tuple(map(read_pattern, _read_texts(content, name, where, "a pattern of calls")))
    except BadInput as error:
        raise BadInput(str(error) if str(error).startswith(where) else f"{where}: {name}: {error}", error.hint) from None


def _read_texts(content: Any, name: str, where: str, what: str = "a text") -> list[str]:
    """Return a text or a list of texts as a list."""
    texts = content if isinstance(content, list) else [content]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"{where}: {name} is {_kind(text)}, {what} or a list of such was expected")
    if not texts:
        raise BadInput(f"{where}: {name} is an empty list, {what} or a list of such was expected")
    return texts


def _read_text(content: Mapping[str, Any], key: str, where: str) -> str:
    value = content.get(key)
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
