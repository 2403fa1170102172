"""Which of a user's slots a question is about: by name, by what is commonly asked for so, by description, by the values that it names."""

import re
from collections.abc import Mapping, Sequence

from callmark.simulation.users.rule_based.concepts import CONCEPTS, name_words
from callmark.simulation.users.rule_based.phrases import IDENTIFIER, INLINE, READ_BACK
from callmark.simulation.users.rule_based.sentences import Sentence, bullets
from callmark.simulation.users.rule_based.tasks import Slot

_GENERIC = re.compile(
    r"id|code|type|name|number|date|text|value|key|new|the|of|to|by|for|at|in|is|has|on|and|or|a|an|it|be|level|ticket|item|"
    r"user"
)
_STEM = re.compile(r"(?:ies|es|s|ed|ing|d)$")
_COMMON = re.compile(
    r"what|which|this|that|with|from|have|should|would|could|will|your|please|ticket|item|issue|they|them|there|when"
)  # in descriptions, where they tell nothing
_WORD = re.compile(r"[^\W_][\w'-]*")
_LISTED = re.compile(r"[^\n.?!,:(]{1,60}(?:(?:,|/| or | and )[^\n.?!,:(/]{1,30}?){2,12}(?=[\n.?!)]|$)")
_BETWEEN = re.compile(r"\s*(?:,\s*(?:or|and)\b|,|/|\bor\b|\band\b)\s*")


def named(clause: str, slots: Mapping[str, Slot]) -> tuple[list[str], list[str]]:
    """The slots that a clause names, in the order in which it does, and the concepts that it asks for besides."""
    found: dict[str, int] = {}
    by_name = {name: place for name, slot in slots.items() if (place := _own_name(clause, slot)) >= 0}
    found |= by_name
    left = clause
    missing: dict[str, int] = {}
    for concept in CONCEPTS:
        match = concept.find(left)
        if match is None:
            continue
        ours = [name for name, slot in slots.items() if key_of(slot) == concept.key]
        named = [name for name in ours if name in by_name]
        for name in named or ours:
            found.setdefault(name, match.start())
        if ours:
            left = f"{left[: match.start()]}{' ' * len(match[0])}{left[match.end() :]}"
        else:
            missing.setdefault(concept.key, match.start())
    return sorted(found, key=found.__getitem__), sorted(missing, key=missing.__getitem__)


def _own_name(clause: str, slot: Slot) -> int:
    """Where a clause says the name of a slot: all of it, or its last word that means something."""
    words = name_words(slot.name)
    whole = re.search(rf"\b{'[ _-]?'.join(map(re.escape, words))}", clause)
    if whole:
        return whole.start()
    telling = [word for word in words if not _GENERIC.fullmatch(word)]
    if not telling or slot.concept is not None:
        return -1
    match = re.search(rf"\b{re.escape(_stem(telling[-1]))}(?:y|ies|e|es|s|d|ed|ing)?\b", clause)
    return match.start() if match else -1


def by_description(clause: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slot whose description in the tools shares most words with a clause; at least two, or one that no other description has."""
    asked = _telling(clause)
    described = {name: _telling(slot.described.casefold()) for name, slot in slots.items()}
    scores = {}
    for name, words in described.items():
        shared = words & asked
        alone = [word for word in shared if len(word) > 4 and sum(word in other for other in described.values()) == 1]
        if len(shared) > 1 or alone:
            scores[name] = len(shared) + len(alone)
    best = max(scores.values(), default=0)
    return [name for name, score in scores.items() if score == best]


def by_choice(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slots whose value is one of the alternatives that a question names: `Standard or Expedited?`"""
    low = text.casefold()
    if " or " not in low and "/" not in low:
        return []
    found = []
    for name, slot in slots.items():
        value = slot.text.casefold()
        if not value or len(value.split()) > 3 or (len(value) < 4 and slot.text not in text):
            continue
        shown = re.escape(value)
        if re.search(rf"(?:\bor|/)\s*(?:(?:rather|is it|a|an|the|be|be it|more)\s+)?[\"']?{shown}\b", low) or re.search(
            rf"\b{shown}[\"']?(?:\s+\w+)?(?:,?\s+or\b(?! (?:do|would|should|shall|is|are|not|no|change|can|you|need|want)\b)|\s?/\s?\w|"
            r"(?:,\s*[\w -]{1,25}){1,6},?\s+or\b)",
            low,
        ):
            found.append(name)
    return found


def by_list(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slots whose value stands in a list of at least three: `Standard, Expedited, Scheduled.` before a question which of them."""
    found = []
    for name, slot in slots.items():
        value = re.escape(slot.text)
        if (
            slot.text
            and len(slot.text.split()) <= 3
            and any(
                re.search(rf"(?:^|[\s:(]){value}$", item, re.IGNORECASE) or re.match(rf"{value}(?:$|[\s.;)])", item, re.IGNORECASE)
                for listed in _LISTED.findall(text)
                for item in _BETWEEN.split(listed)
            )
        ):
            found.append(name)
    return found


def by_value(low: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slots of which a text in lower case names one of the values that there are: `Do you need this expedited?`"""
    return [
        name
        for name, slot in slots.items()
        if any(len(value) > 2 and re.search(rf"\b{re.escape(value.casefold())}\b", low) for value in slot.others)
    ]


def options_in(parts: Sequence[Sentence]) -> list[str]:
    """What may be chosen from: the lines of a list, or what stands between commas and `or`."""
    listed = [line for line in bullets(parts) if not READ_BACK.match(line) or IDENTIFIER.search(line)]
    if len(listed) > 1:
        return listed[:30]
    for sentence in parts:
        if sentence.asks and (match := INLINE.search(sentence.text)):
            inside = next(filter(None, match.groups()))
            found = [part.strip(" .?!\"'") for part in re.split(r",|/|\bor\b|;|\|", inside) if part.strip(" .?!\"'")]
            if len(found) > 1:
                return found
    return listed


def key_of(slot: Slot) -> str:
    return slot.concept.key if slot.concept else slot.name


def _stem(word: str) -> str:
    return _STEM.sub("", word) if len(word) > 4 else word


def _telling(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text) if len(word) > 3 and not _COMMON.fullmatch(word)}
