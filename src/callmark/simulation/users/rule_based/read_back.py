"""What an agent reads back before it acts, held against what the user wants: which of their values are wrong there, which are missing.

A value is only called wrong where something else stands in its place: after its label, or beside it (`a High priority ticket`). What is
said in other words (`Information Technology` for `IT`, `10 May 2025` for `2025-05-10`) is the same.
"""

import re
from collections.abc import Mapping, Sequence

from callmark.calls.dates import dates_in, written_date
from callmark.calls.words import words
from callmark.simulation.users.rule_based.sentences import plain
from callmark.simulation.users.rule_based.tasks import Slot

_LONGEST_VALUE = 500
_NOTHING = re.compile(r"(?:none|n/?a|not (?:set|given|specified)|unspecified|unknown|tbd|missing|empty|unassigned|[-–—?])?")
_FILLER = re.compile(
    r"the|a|an|to|for|of|on|by|in|is|it|be|team|department|level|priority|workflow|type|process|status|code|date|due|as|this|"
    r"that"
)
_CODE = re.compile(r"[A-Z]{2,5}")
_CUT = re.compile(r"[,;|\n(?]|\.(?:\s|$)|\s(?:and|with|due|by|assigned|for|in|as|at|on)\s")
_SET = (  # what stands between a label and its value
    r"\s*(?:\(\w{1,20}\)\s*)?(?:code|type|level|date|id)?\s*"
    r"(?:[:=|]|->|→|\s[-–—]\s|\b(?:is now|is set to|is|was|will be|set to|to|of|as)\b)\s*"
)


def wrong_in(
    text: str, slots: Mapping[str, Slot], wanted: Mapping[str, str], *, besides: Sequence[Slot] = (), updating: bool = False
) -> dict[str, str]:
    """The slots that a text says wrongly, each with what it says instead (empty: that there is none).

    `wanted` is what each should be, as text. A value that is right for one of the slots `besides` (another task's) is no mistake. Where
    something is changed that there is (`updating`), the old value may stand there too.
    """
    text = plain(text)
    found = {}
    for name, slot in slots.items():
        if updating and is_said(text, wanted[name]):
            continue
        others = [other.text for other in besides if other.label == slot.label]
        said = _said_wrongly(text, slot, [wanted[name], *([slot.says] if slot.says and wanted[name] == slot.text else []), *others])
        if said is not None:
            found[name] = said
    return found


def is_said(text: str, value: str) -> bool:
    """Whether a value stands in a text. A short one must stand there as it is written: `IT` is not `it`."""
    value = value.strip()
    if not value:
        return True
    if len(value) <= 3:
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
    date = written_date(value)
    if date is not None and any(str(other)[:10] == str(date)[:10] for other in dates_in(text)):
        return True
    return f" {' '.join(words(value))} " in f" {' '.join(words(text))} "


def same(value: str, said: str) -> bool:
    """Whether what was said is the value, for a person who does not split hairs."""
    date = written_date(value)
    if date is not None and (others := dates_in(said)):
        return any(str(other)[:10] == str(date)[:10] for other in others)
    ours, theirs = words(value), words(said)
    if ours == theirs or not ours:
        return True
    one, other = " ".join(ours), " ".join(theirs)
    if f" {one} " in f" {other} " or (len(theirs) >= max(2, len(ours) // 2) and f" {other} " in f" {one} "):
        return True
    telling = {word for word in ours if not _FILLER.fullmatch(word)}
    if telling and telling == {word for word in theirs if not _FILLER.fullmatch(word)}:
        return True
    return _CODE.fullmatch(value) is not None and bool(theirs) and _short_for(value.casefold(), theirs)


def _said_wrongly(text: str, slot: Slot, right: Sequence[str]) -> str | None:
    labels = "|".join(filter(None, (re.escape(slot.label), slot.concept.read_back if slot.concept else "", re.escape(slot.name))))
    wrong: str | None = None
    for match in re.finditer(rf"(?<!\w)(?:{labels})(?!\w)['\"]?{_SET}", text, re.IGNORECASE):
        said = text[match.end() : match.end() + _LONGEST_VALUE].partition("\n")[0].strip().strip("\"'|").strip()
        if any(_begins_with(said, value) for value in right):
            return None
        short = _CUT.split(said, maxsplit=1)[0].strip(" .!\"'|*_")
        if _NOTHING.fullmatch(short.casefold()):
            wrong = "" if wrong is None and ":" in match[0] else wrong
        elif any(same(value, short) for value in right):
            return None
        elif _is_value(short, slot, match[0]):
            wrong = wrong or short
    if wrong is not None:
        return wrong
    return _beside(text, slot, right)


def _is_value(said: str, slot: Slot, label: str) -> bool:
    """Whether what stands after a label can be meant as a value at all. In a sentence only what is known to be one is taken for it."""
    if re.search(r"[:=|→]|->", label):
        return True
    return said.casefold() in {other.casefold() for other in slot.others} or written_date(said) is not None


def _beside(text: str, slot: Slot, right: Sequence[str]) -> str | None:
    """Another of the values that a thing can have, right before its label (`High priority`); or another date, where there is but one."""
    for other in slot.others:
        if any(same(value, other) for value in right):
            continue
        pattern = rf"(?<!\w){re.escape(other)}[\"']?[ -](?:{re.escape(slot.label.split()[0])})(?!\w)"
        if re.search(pattern, text, re.IGNORECASE) and not any(is_said(text.casefold(), value.casefold()) for value in right):
            return other
    date = next((found for value in right if (found := written_date(value))), None)
    if date is not None:
        said = dates_in(text)
        if len(said) == 1 and str(said[0])[:10] != str(date)[:10] and re.search(r"\b(?:due|deadline|by|until)\b", text, re.IGNORECASE):
            return str(said[0])[:10]
    return None


def _begins_with(said: str, value: str) -> bool:
    ours = words(value)
    return bool(ours) and words(said)[: len(ours)] == ours


def _short_for(code: str, said: Sequence[str]) -> bool:
    """Whether a code may stand for these words: their initials, or letters of the first in their order."""
    told = [word for word in said if not _FILLER.fullmatch(word)] or list(said)
    if "".join(word[0] for word in told).startswith(code):
        return True
    letters = iter(told[0])
    return told[0][:1] == code[0] and all(letter in letters for letter in code)
