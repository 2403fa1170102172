"""Find the slots that a question is about: by name, concept, description, or the values it mentions."""

import re
from collections.abc import Mapping, Sequence

from callmark.simulation.users.rule_based.concepts import CONCEPTS, name_words
from callmark.simulation.users.rule_based.phrases import IDENTIFIER, INLINE_OPTIONS, READ_BACK
from callmark.simulation.users.rule_based.sentences import Sentence, list_items
from callmark.simulation.users.rule_based.tasks import Slot

_GENERIC_WORDS = re.compile(
    r"id|code|type|name|number|date|text|value|key|new|the|of|to|by|for|at|in|is|has|on|and|or|a|an|it|be|level|ticket|item|"
    r"user"
)
_STEM = re.compile(r"(?:ies|es|s|ed|ing|d)$")
_COMMON_WORDS = re.compile(
    r"what|which|this|that|with|from|have|should|would|could|will|your|please|ticket|item|issue|they|them|there|when"
)  # of descriptions
_WORD = re.compile(r"[^\W_][\w'-]*")
_INLINE_LIST = re.compile(r"[^\n.?!,:(]{1,60}(?:(?:,|/| or | and )[^\n.?!,:(/]{1,30}?){2,12}(?=[\n.?!)]|$)")
_LIST_SEPARATOR = re.compile(r"\s*(?:,\s*(?:or|and)\b|,|/|\bor\b|\band\b)\s*")


def find_named_slots(clause: str, slots: Mapping[str, Slot]) -> tuple[list[str], list[str]]:
    """Return the slots that a clause names, in order, and the other concepts it asks for."""
    found: dict[str, int] = {}
    by_name = {name: place for name, slot in slots.items() if (place := _find_slot_name(clause, slot)) >= 0}
    found |= by_name
    remaining = clause
    missing: dict[str, int] = {}
    for concept in CONCEPTS:
        match = concept.find(remaining)
        if match is None:
            continue
        own_slots = [name for name, slot in slots.items() if slot_key(slot) == concept.key]
        with_own_name = [name for name in own_slots if name in by_name]
        for name in with_own_name or own_slots:
            found.setdefault(name, match.start())
        if own_slots:
            remaining = f"{remaining[: match.start()]}{' ' * len(match[0])}{remaining[match.end() :]}"
        else:
            missing.setdefault(concept.key, match.start())
    return sorted(found, key=found.__getitem__), sorted(missing, key=missing.__getitem__)


def _find_slot_name(clause: str, slot: Slot) -> int:
    """Return the index of a slot's name, or of its last specific word, in a clause; -1 if it is missing."""
    words = name_words(slot.name)
    whole = re.search(rf"\b{'[ _-]?'.join(map(re.escape, words))}", clause)
    if whole:
        return whole.start()
    specific = [word for word in words if not _GENERIC_WORDS.fullmatch(word)]
    if not specific or slot.concept is not None:
        return -1
    match = re.search(rf"\b{re.escape(_stem(specific[-1]))}(?:y|ies|e|es|s|d|ed|ing)?\b", clause)
    return match.start() if match else -1


def find_slots_by_description(clause: str, slots: Mapping[str, Slot]) -> list[str]:
    """Return the slots whose description shares the most words with a clause: at least two, or one that no other description has."""
    question_words = _specific_words(clause)
    description = {name: _specific_words(slot.description.casefold()) for name, slot in slots.items()}
    scores = {}
    for name, words in description.items():
        shared = words & question_words
        unique = [word for word in shared if len(word) > 4 and sum(word in other for other in description.values()) == 1]
        if len(shared) > 1 or unique:
            scores[name] = len(shared) + len(unique)
    best_score = max(scores.values(), default=0)
    return [name for name, score in scores.items() if score == best_score]


def find_slots_by_choice(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """Return the slots whose value is one of the alternatives in a question: `Standard or Expedited?`"""
    lower_text = text.casefold()
    if " or " not in lower_text and "/" not in lower_text:
        return []
    found = []
    for name, slot in slots.items():
        value = slot.text.casefold()
        if not value or len(value.split()) > 3 or (len(value) < 4 and slot.text not in text):
            continue
        shown = re.escape(value)
        if re.search(rf"(?:\bor|/)\s*(?:(?:rather|is it|a|an|the|be|be it|more)\s+)?[\"']?{shown}\b", lower_text) or re.search(
            rf"\b{shown}[\"']?(?:\s+\w+)?(?:,?\s+or\b(?! (?:do|would|should|shall|is|are|not|no|change|can|you|need|want)\b)|\s?/\s?\w|"
            r"(?:,\s*[\w -]{1,25}){1,6},?\s+or\b)",
            lower_text,
        ):
            found.append(name)
    return found


def find_slots_by_list(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """Return the slots whose value is in a list of at least three: `Standard, Expedited, Scheduled.`"""
    found = []
    for name, slot in slots.items():
        value = re.escape(slot.text)
        if (
            slot.text
            and len(slot.text.split()) <= 3
            and any(
                re.search(rf"(?:^|[\s:(]){value}$", item, re.IGNORECASE) or re.match(rf"{value}(?:$|[\s.;)])", item, re.IGNORECASE)
                for inline_list in _INLINE_LIST.findall(text)
                for item in _LIST_SEPARATOR.split(inline_list)
            )
        ):
            found.append(name)
    return found


def find_slots_by_value(lower_text: str, slots: Mapping[str, Slot]) -> list[str]:
    """Return the slots for which a lower-case text mentions one of the choices: `Do you need this expedited?`"""
    return [
        name
        for name, slot in slots.items()
        if any(len(value) > 2 and re.search(rf"\b{re.escape(value.casefold())}\b", lower_text) for value in slot.choices)
    ]


def find_options(parts: Sequence[Sentence]) -> list[str]:
    """Return the options that an agent offers: items of a list, or an inline list with `or`."""
    items = [line for line in list_items(parts) if not READ_BACK.match(line) or IDENTIFIER.search(line)]
    if len(items) > 1:
        return items[:30]
    for sentence in parts:
        if sentence.is_question and (match := INLINE_OPTIONS.search(sentence.text)):
            inline_options = next(filter(None, match.groups()))
            found = [part.strip(" .?!\"'") for part in re.split(r",|/|\bor\b|;|\|", inline_options) if part.strip(" .?!\"'")]
            if len(found) > 1:
                return found
    return items


def slot_key(slot: Slot) -> str:
    """Return the key of a slot's concept, else its name."""
    return slot.concept.key if slot.concept else slot.name


def _stem(word: str) -> str:
    return _STEM.sub("", word) if len(word) > 4 else word


def _specific_words(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text) if len(word) > 3 and not _COMMON_WORDS.fullmatch(word)}
