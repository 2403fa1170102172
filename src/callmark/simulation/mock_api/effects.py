"""Infer the effect of an operation on a resource from its name and description: `Cancel a pending order` applies to orders that are
`pending` and makes them `cancelled`.
"""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from msgspec import Struct

from callmark.simulation.mock_api.names import plural, split_name
from callmark.simulation.mock_api.resource_kinds import ResourceKind
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.operations import Operation

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_BECOMES_PATTERN = r"(?:becomes?|changed? to|set to|marked(?: as)?|turns(?: to)?|is now|will be)\s+[\"'“`]?{value}\b"
_EXTENDING_VERBS = frozenset({"renew", "extend", "prolong", "postpone"})
_END_DATE_WORDS = frozenset({"due", "expires", "expiry", "until", "end", "ends", "return"})
_MAX_STATUSES = 30
_MAX_SENTENCE = 500  # characters
_EXTENSION = timedelta(days=21)


class Effect(Struct, frozen=True):
    """New values of fields, and the condition: `field` must have one of the allowed values, if there are any; `rule` is the sentence with
    the condition. `extends_dates`: end dates are moved to a later date.
    """

    new_values: dict[str, Any] = {}
    field: str = ""
    allowed_values: tuple[str, ...] = ()
    rule: str = ""
    extends_dates: bool = False

    def changes_to(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes to a row, in addition to those by the arguments."""
        changes = {name: value for name, value in self.new_values.items() if name in row}
        for name, value in row.items() if self.extends_dates else ():
            if isinstance(value, str) and _END_DATE_WORDS & {*split_name(name)}:
                try:
                    changes[name] = (date.fromisoformat(value[:10]) + _EXTENSION).isoformat() + value[10:]
                except ValueError:
                    continue
        return changes

    def allows(self, row: Mapping[str, Any]) -> bool:
        """Return whether the operation is allowed for a row."""
        return not self.allowed_values or row.get(self.field) in (*self.allowed_values, None)


def find_effect(operation: Operation, kind: ResourceKind, policy: str = "") -> Effect:
    """Return the effect of an operation on resources of a kind; a read has none. `policy` is the description of the API."""
    if not operation.writes:
        return Effect()
    name = " ".join(split_name(operation.tool.name))
    texts = [name[:_MAX_SENTENCE], *_sentences(operation.tool.description)]
    new_values: dict[str, Any] = {}
    for field, values in _status_fields(kind).items():
        value = _value_by_text(values, " ".join(texts)) or _value_by_verb(values, split_name(operation.tool.name)[:1])
        if value is not None:
            new_values[field] = value
    field, allowed_values, rule = _condition(kind, texts, _sentences(policy), split_name(operation.tool.name)[:1])
    return Effect(new_values, field, allowed_values, rule, bool(_EXTENDING_VERBS & {*split_name(operation.tool.name)}))


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each truncated to a maximum length."""
    return [sentence[:_MAX_SENTENCE] for sentence in _SENTENCES.split(text) if sentence]


def _status_fields(kind: ResourceKind) -> dict[str, list[str]]:
    """Return the status fields of a kind, with their values."""
    found = {}
    for name, schema in kind.schemas.items():
        values = simplify_schema(schema).get("enum")
        if isinstance(values, list) and len(values) <= _MAX_STATUSES and {*split_name(name)} & {"status", "state", "stage", "phase"}:
            found[name] = [value for value in values if isinstance(value, str) and value]
    return found


def _value_by_text(values: list[str], texts: str) -> str | None:
    candidates = [value for value in values if re.search(_BECOMES_PATTERN.format(value=re.escape(value)), texts, re.IGNORECASE)]
    return max(candidates, key=len, default=None)


def _value_by_verb(values: list[str], verb: tuple[str, ...]) -> str | None:
    stem = verb[0].removesuffix("e") if verb else ""
    return next((value for value in values if len(stem) > 3 and value.lower().startswith(stem)), None)


def _condition(kind: ResourceKind, texts: list[str], policy: list[str], verb: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """Return field, allowed values and sentence of the condition; all empty if there is none."""
    noun = kind.name.replace("_", " ")
    noun_pattern = f"(?:{re.escape(noun)}|{re.escape(plural(noun))})"
    stem = verb[0].removesuffix("e") if verb else ""
    policy_rules = [text for text in policy if stem and stem in text.lower() and text.lower().lstrip(" -*").startswith("only ")]
    for field, values in _status_fields(kind).items():
        for text in [*texts, *policy_rules]:
            if re.search(r"\b(?:cannot|can't|not|never)\b", text, re.IGNORECASE):
                continue
            match = re.search(rf"((?:[\w-]{{1,40}},? ){{1,5}}){noun_pattern}\b", text.replace("_", " "), re.IGNORECASE)
            words_before = match[1].lower() if match else ""
            allowed_values = tuple(value for value in values if re.search(rf"\b{re.escape(value.lower())}\b", words_before))
            if allowed_values and len(allowed_values) < len(values):
                rules = [
                    rule
                    for rule in (*policy_rules, text)
                    if allowed_values[0] in rule.lower() and re.search(r"\b(?:only|must)\b", rule, re.IGNORECASE)
                ]
                sentence = rules[0] if rules else ""
                return field, allowed_values, sentence.strip(" -*\n")
    return "", (), ""
