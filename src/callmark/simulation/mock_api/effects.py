"""What an operation does to a thing, and when it may, as far as its name and its description say so: `Cancel a pending order` is for orders
that are pending, and makes them `cancelled`.
"""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from msgspec import Struct

from callmark.simulation.mock_api.kinds import Kind
from callmark.simulation.mock_api.names import plural, words_of
from callmark.simulation.mock_api.shapes import shape
from callmark.simulation.openapi import Operation

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_BECOMES = r"(?:becomes?|changed? to|set to|marked(?: as)?|turns(?: to)?|is now|will be)\s+[\"'“`]?{value}\b"
_LONGER = frozenset({"renew", "extend", "prolong", "postpone"})
_ENDS = frozenset({"due", "expires", "expiry", "until", "end", "ends", "return"})
_MOST_STAGES = 30
_LONGEST = 500  # characters of a sentence that are read
_MORE = timedelta(days=21)


class Effect(Struct, frozen=True):
    """`sets` are fields and what they become; `only` are values of a field with which alone it may be done, and `says` is the sentence that
    says so; `longer`: whatever is due is due later.
    """

    sets: dict[str, Any] = {}
    field: str = ""
    only: tuple[str, ...] = ()
    says: str = ""
    longer: bool = False

    def applied(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be changed in a row beside what was asked for."""
        changes = {name: value for name, value in self.sets.items() if name in row}
        for name, value in row.items() if self.longer else ():
            if isinstance(value, str) and _ENDS & {*words_of(name)}:
                try:
                    changes[name] = (date.fromisoformat(value[:10]) + _MORE).isoformat() + value[10:]
                except ValueError:
                    continue
        return changes

    def allows(self, row: Mapping[str, Any]) -> bool:
        return not self.only or row.get(self.field) in (*self.only, None)


def effect(operation: Operation, kind: Kind, policy: str = "") -> Effect:
    """What is known of what it does to things of a kind; nothing for one that only reads. `policy` is what is said of all operations."""
    if not operation.writes:
        return Effect()
    name = " ".join(words_of(operation.tool.name))
    said = [name[:_LONGEST], *_sentences(operation.tool.description)]
    sets: dict[str, Any] = {}
    for field, values in _stages(kind).items():
        value = _becomes(values, " ".join(said)) or _by_verb(values, words_of(operation.tool.name)[:1])
        if value is not None:
            sets[field] = value
    field, only, says = _condition(kind, said, _sentences(policy), words_of(operation.tool.name)[:1])
    return Effect(sets, field, only, says, bool(_LONGER & {*words_of(operation.tool.name)}))


def _sentences(text: str) -> list[str]:
    """Those of a text, none for an empty one; a long one as far as anybody says a rule in it."""
    return [line[:_LONGEST] for line in _SENTENCES.split(text) if line]


def _stages(kind: Kind) -> dict[str, list[str]]:
    """The fields that say how far a thing is: those with a few values to choose from."""
    found = {}
    for name, schema in kind.schemas.items():
        values = shape(schema).get("enum")
        if isinstance(values, list) and len(values) <= _MOST_STAGES and {*words_of(name)} & {"status", "state", "stage", "phase"}:
            found[name] = [value for value in values if isinstance(value, str) and value]
    return found


def _becomes(values: list[str], said: str) -> str | None:
    fitting = [value for value in values if re.search(_BECOMES.format(value=re.escape(value)), said, re.IGNORECASE)]
    return max(fitting, key=len, default=None)


def _by_verb(values: list[str], verb: tuple[str, ...]) -> str | None:
    stem = verb[0].removesuffix("e") if verb else ""
    return next((value for value in values if len(stem) > 3 and value.lower().startswith(stem)), None)


def _condition(kind: Kind, said: list[str], policy: list[str], verb: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """`(field, values, sentence)` of what must be so; empty where nothing is said of it."""
    noun = kind.name.replace("_", " ")
    things = f"(?:{re.escape(noun)}|{re.escape(plural(noun))})"
    stem = verb[0].removesuffix("e") if verb else ""
    about = [line for line in policy if stem and stem in line.lower() and line.lower().lstrip(" -*").startswith("only ")]
    for field, values in _stages(kind).items():
        for line in [*said, *about]:
            if re.search(r"\b(?:cannot|can't|not|never)\b", line, re.IGNORECASE):
                continue
            before = re.search(rf"((?:[\w-]{{1,40}},? ){{1,5}}){things}\b", line.replace("_", " "), re.IGNORECASE)
            near = before[1].lower() if before else ""
            only = tuple(value for value in values if re.search(rf"\b{re.escape(value.lower())}\b", near))
            if only and len(only) < len(values):
                rules = [
                    rule for rule in (*about, line) if only[0] in rule.lower() and re.search(r"\b(?:only|must)\b", rule, re.IGNORECASE)
                ]
                best = rules[0] if rules else ""
                return field, only, best.strip(" -*\n")
    return "", (), ""
