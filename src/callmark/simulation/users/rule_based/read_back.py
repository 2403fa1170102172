"""Compare an agent's read-back with what the user wants, and find wrong or missing values.

A value is wrong only if another value is in its place: after its label, or next to it (`a High priority ticket`). Other spellings
(`Information Technology` for `IT`, `10 May 2025` for `2025-05-10`) are the same value.
"""

import re
from collections.abc import Mapping, Sequence

from callmark.calls.dates import find_dates, parse_date
from callmark.calls.words import words
from callmark.simulation.users.rule_based.sentences import clean_text
from callmark.simulation.users.rule_based.tasks import Slot

_MAX_VALUE = 500
_EMPTY_VALUE = re.compile(r"(?:none|n/?a|not (?:set|given|specified)|unspecified|unknown|tbd|missing|empty|unassigned|[-–—?])?")
_FILLER_WORDS = re.compile(
    r"the|a|an|to|for|of|on|by|in|is|it|be|team|department|level|priority|workflow|type|process|status|code|date|due|as|this|"
    r"that"
)
_CODE = re.compile(r"[A-Z]{2,5}")
_VALUE_END = re.compile(r"[,;|\n(?]|\.(?:\s|$)|\s(?:and|with|due|by|assigned|for|in|as|at|on)\s")
_LABEL_SEPARATOR = (  # between a label and its value
    r"\s*(?:\(\w{1,20}\)\s*)?(?:code|type|level|date|id)?\s*"
    r"(?:[:=|]|->|→|\s[-–—]\s|\b(?:is now|is set to|is|was|will be|set to|to|of|as)\b)\s*"
)


def find_wrong_values(
    text: str, slots: Mapping[str, Slot], expected: Mapping[str, str], *, other_slots: Sequence[Slot] = (), is_update: bool = False
) -> dict[str, str]:
    """Return the slots with a wrong value in a text, each with that value (empty: the text says that there is none).

    `expected` is the value of each slot as text. A value of one of the `other_slots` (from another task) is not wrong. With `is_update`,
    the text may contain the old value too.
    """
    text = clean_text(text)
    found = {}
    for name, slot in slots.items():
        if is_update and mentions_value(text, expected[name]):
            continue
        other_values = [other.text for other in other_slots if other.label == slot.label]
        stated = _find_wrong_value(
            text, slot, [expected[name], *([slot.says] if slot.says and expected[name] == slot.text else []), *other_values]
        )
        if stated is not None:
            found[name] = stated
    return found


def mentions_value(text: str, value: str) -> bool:
    """Return whether a text mentions a value. A short value must match exactly: `IT` is not `it`."""
    value = value.strip()
    if not value:
        return True
    if len(value) <= 3:
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
    date = parse_date(value)
    if date is not None and any(str(found)[:10] == str(date)[:10] for found in find_dates(text)):
        return True
    return f" {' '.join(words(value))} " in f" {' '.join(words(text))} "


def is_same_value(value: str, stated: str) -> bool:
    """Return whether a stated value means the same as a value, leniently."""
    date = parse_date(value)
    if date is not None and (dates := find_dates(stated)):
        return any(str(found)[:10] == str(date)[:10] for found in dates)
    value_words, stated_words = words(value), words(stated)
    if value_words == stated_words or not value_words:
        return True
    value_text, stated_text = " ".join(value_words), " ".join(stated_words)
    if f" {value_text} " in f" {stated_text} " or (
        len(stated_words) >= max(2, len(value_words) // 2) and f" {stated_text} " in f" {value_text} "
    ):
        return True
    specific = {word for word in value_words if not _FILLER_WORDS.fullmatch(word)}
    if specific and specific == {word for word in stated_words if not _FILLER_WORDS.fullmatch(word)}:
        return True
    return _CODE.fullmatch(value) is not None and bool(stated_words) and _abbreviates(value.casefold(), stated_words)


def _find_wrong_value(text: str, slot: Slot, correct: Sequence[str]) -> str | None:
    labels = "|".join(filter(None, (re.escape(slot.label), slot.concept.read_back_labels if slot.concept else "", re.escape(slot.name))))
    wrong_value: str | None = None
    for match in re.finditer(rf"(?<!\w)(?:{labels})(?!\w)['\"]?{_LABEL_SEPARATOR}", text, re.IGNORECASE):
        stated = text[match.end() : match.end() + _MAX_VALUE].partition("\n")[0].strip().strip("\"'|").strip()
        if any(_starts_with(stated, value) for value in correct):
            return None
        stated_value = _VALUE_END.split(stated, maxsplit=1)[0].strip(" .!\"'|*_")
        if _EMPTY_VALUE.fullmatch(stated_value.casefold()):
            wrong_value = "" if wrong_value is None and ":" in match[0] else wrong_value
        elif any(is_same_value(value, stated_value) for value in correct):
            return None
        elif _can_be_value(stated_value, slot, match[0]):
            wrong_value = wrong_value or stated_value
    if wrong_value is not None:
        return wrong_value
    return _wrong_value_beside_label(text, slot, correct)


def _can_be_value(stated: str, slot: Slot, label: str) -> bool:
    """Return whether the text after a label can be a value. In a sentence, only a known value counts."""
    if re.search(r"[:=|→]|->", label):
        return True
    return stated.casefold() in {choice.casefold() for choice in slot.choices} or parse_date(stated) is not None


def _wrong_value_beside_label(text: str, slot: Slot, correct: Sequence[str]) -> str | None:
    """Return another choice right before the label (`High priority`), or another date if it is the only one in the text; else None."""
    for choice in slot.choices:
        if any(is_same_value(value, choice) for value in correct):
            continue
        pattern = rf"(?<!\w){re.escape(choice)}[\"']?[ -](?:{re.escape(slot.label.split()[0])})(?!\w)"
        if re.search(pattern, text, re.IGNORECASE) and not any(mentions_value(text.casefold(), value.casefold()) for value in correct):
            return choice
    date = next((found for value in correct if (found := parse_date(value))), None)
    if date is not None:
        stated = find_dates(text)
        if len(stated) == 1 and str(stated[0])[:10] != str(date)[:10] and re.search(r"\b(?:due|deadline|by|until)\b", text, re.IGNORECASE):
            return str(stated[0])[:10]
    return None


def _starts_with(stated: str, value: str) -> bool:
    value_words = words(value)
    return bool(value_words) and words(stated)[: len(value_words)] == value_words


def _abbreviates(code: str, stated: Sequence[str]) -> bool:
    """Return whether a code may abbreviate these words: their initials, or letters of the first word in order."""
    specific_words = [word for word in stated if not _FILLER_WORDS.fullmatch(word)] or list(stated)
    if "".join(word[0] for word in specific_words).startswith(code):
        return True
    letters = iter(specific_words[0])
    return specific_words[0][:1] == code[0] and all(letter in letters for letter in code)
