"""Slot filling: values in user texts such as `the title is …`, `priority=High`, `for the IT department`, `John Smith, by Friday`."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from callmark.worlds.helpdesk.dates import find_date
from callmark.worlds.helpdesk.language import is_non_answer, mask_quotes, quoted_texts, strip_small_talk, trim_value

TEXT_SLOTS = ("title", "description", "expected_outcome")

Choices = Mapping[str, Mapping[str, str]]  # by slot: the spoken form in lower case, and the value

_LABELS = {
    "title": r"(?:ticket |item )?title|subject|headline",
    "department_code": r"department(?:[ _]code)?|dept\.?|team",
    "priority": r"priority(?: level)?|prio|urgency|severity",
    "workflow_type": r"work[ -]?flow(?:[ _]type)?",
    "description": r"description|details?|desc",
    "expected_outcome": r"(?:expected|desired|wanted)[ _](?:outcome|result)|outcome",
    "status": r"status|state",
    "assigned_to": r"assigned[ _]to|assignee|(?:re)?assign(?:ed)?(?: (?:it|this|that|them))? to|owner|responsible(?: person)?|"
    r"person in charge",
    "due_date": r"due[ _]date|deadline|due(?: on| by)?",
    "query": r"query|search (?:terms?|words?)|keywords?",
}
_SYNONYMS = {  # accepted when that very slot was requested; read back before anything is written
    "priority": {
        "Critical": r"top|highest|urgent|emergency|as urgent as|most urgent|show ?stopper|blocker|immediately",
        "High": r"important|pressing|quite urgent|soon",
        "Medium": r"normal|regular|average|moderate|middle|usual",
        "Low": r"minor|not urgent|no rush|whenever|no hurry|lowest|trivial",
    },
    "workflow_type": {
        "Expedited": r"expedite|fast(?:[ -]?track)?|rush|quick|speed\w*|priority lane",
        "Standard": r"normal|regular|usual|default|ordinary",
        "Scheduled": r"schedule|planned|on a (?:fixed|set|agreed)? ?date",
        "Compliance": r"legal review|audit|review by legal|compliant",
    },
    "status": {
        "Closed": r"clos(?:e|ing)",
        "Resolved": r"resolve|fixed|solved?|sorted",
        "On Hold": r"hold|paused?|waiting|parked?",
        "In Progress": r"progress|working on|started|under ?way",
        "Open": r"re-?open",
        "Done": r"complete[d]?|finished|finish|closed?",
    },
}
_BOUNDARY = (
    r"(?:^|[,;:.!?\n|(]|--|\b(?:and|with|but|set|make|change|update|put|raise|lower|bump|increase|decrease|use|please|actually|no|yes|"
    r"wait|sorry|also|then|of|"
    r"has|plus|having|switch|want|move|edit|adjust|correct|ticket|item|TKT-\d+|AI-\d+)\b(?!\s*\n))[\s\"'*-]*"
    r"(?:(?:that|for|the|its|a|an|my|to|as|this|ticket's|item's|new|is)\s+)*"
)
_SELF_DELIMITED_SLOTS = ("assigned_to", "due_date")  # `… assigned to John Smith due 2025-05-10` needs no comma
_ANYWHERE = rf"(?:{_BOUNDARY}|\s+)"
_AS_FOR = r"\b(?:as for|for|regarding|concerning|as)\s+(?:the|its)\s+"  # `for the priority, high`
_CONNECTOR = (
    r"\**\s*(?:(?:[:=]|->|→|\b(?:is|are|(?:should|would|will|must|could|might|can|may)(?: probably)? (?:be|read|say)|reads|says|to be|"
    r"to|as)\b|['’]s\b|\s[-–—]\s)\s*(?:set to\s+|that\s+(?=[\"“]))?:?\s*"
    r"|\s+(?=[\"“'«‘]))\**"
)
_TITLE_LEAD = re.compile(r"\b(?:titled|entitled|called|named)\s*:?\s*", re.IGNORECASE)
_JOINER = re.compile(r"(?:[\s,;|(*-]|\b(?:and|with|but|the|its|a|an|also|then|please|set|make)\b)+$", re.IGNORECASE)
_EMPTY_ANSWER = re.compile(
    r"^(?:all )?(?:fine|right|correct|good|ok(?:ay)?|perfect|great|wrong|not (?:right|correct)|missing|needed)\W*$", re.IGNORECASE
)
_NEGATED = r"\b(?:not|instead of|rather than|from|isn'?t|no longer)\s+(?:the\s+|a\s+)?"
_CHANGED = re.compile(
    r"\b(?:actually|wait|sorry|correction|scratch that|second thought|i meant?|i'?d rather|instead|rather|make (?:it|that)|change|"
    r"should be|"
    r"must be|oops|better|switch|no)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:[^\W\d_a-z][\w'’.-]*)(?:\s+(?:(?:van|von|de|der|da|del|di|la|el|bin|al)\s+)*[^\W\d_a-z][\w'’.-]*){0,3}")
_NOT_IN_NAMES = (
    "a an and assign assigned by can can't due for give he her him his i i'd i'll i'm it it's let let's make may my no oh ok okay our "
    "please put "
    "she so sure thanks that that's the their they this to us we well who will with would yes you your just maybe ask have hand owner "
    "responsible "
    "title description priority department january february march april june july august september october november december monday "
    "tuesday "
    "wednesday thursday friday saturday sunday tkt ai"
)
_NON_NAME_WORDS = frozenset(_NOT_IN_NAMES.split())
_PERSON = re.compile(
    r"^(?:(?:please |let'?s |i'?d |we'?ll |we can |can you |could you )*(?:assign|give|hand|leave)\s+(?:it|this|"
    r"that)?\s*(?:over )?(?:to|with)?|"
    r"(?:(?:it|that|this)(?: one)? )?(?:goes|should go|is) (?:to|for)|ask|have|let|put|for)\s+|"
    r"\s+(?:should|will|would|can|could|is|has|shall|takes|does)\b.*$",
    re.IGNORECASE,
)


class _SlotLabel(NamedTuple):
    """The position of a slot's label, and where its value starts."""

    slot: str
    start: int
    value_start: int


def extract_slots(
    text: str, slots: Collection[str], *, requested_slots: Sequence[str] = (), choices: Choices, today: str
) -> dict[str, str]:
    """Return the values that a text gives for these slots, {} for none. Requested slots also match values without a label."""
    labels = _labels(text, frozenset(slots), anywhere=() if requested_slots else _SELF_DELIMITED_SLOTS)
    values: dict[str, str] = {}
    for index, label in enumerate(labels):
        end = labels[index + 1].start if index + 1 < len(labels) else len(text)
        value = _labeled_value(label.slot, text[label.value_start : end], choices, today) if label.slot in slots else None
        if value is not None:
            values[label.slot] = value
    rest = text[: labels[0].start] if labels else text
    requested_text_slot = next((slot for slot in requested_slots if slot in TEXT_SLOTS and slot not in values), None)
    for slot in requested_slots if requested_text_slot else ():
        if slot in choices and slot not in values:
            value, rest = _cut_choice(slot, rest, choices)
            values |= {slot: value} if value else {}
    adjacent = {
        slot: adjacent_value
        for slot in requested_slots or slots
        if slot not in values and (adjacent_value := _choice_beside_noun(slot, rest, choices))
    }
    values |= adjacent
    if requested_slots and adjacent:
        rest = ""  # the words around it belong to it
    if (
        "title" in slots
        and "title" not in values
        and (title_lead := _TITLE_LEAD.search(rest))
        and (value := _title_after_name(rest[title_lead.end() :]))
    ):
        values["title"] = value
        rest = rest[: title_lead.start()]
    missing_slots = [slot for slot in requested_slots if slot not in values]
    if missing_slots and _JOINER.sub("", rest).strip():
        values |= _unlabeled_values(rest, missing_slots, choices, today)
    return values


def extract_changes(text: str, current: Mapping[str, str], slots: Collection[str], *, choices: Choices, today: str) -> dict[str, str]:
    """Return the values that differ from the current ones: `the title should be …`, `make that High`, `not IT, HR`, `12 May instead`."""
    values = extract_slots(text, slots, choices=choices, today=today)
    if not values:
        for slot in slots:
            if slot in choices and (value := find_choice(slot, text, choices, exclude=current.get(slot))):
                values[slot] = value
        if "due_date" in slots and (day := find_date(text, today)):
            values["due_date"] = day.iso
        if "assigned_to" in slots and not values and (match := re.search(r"\b(?:to|give it to|ask)\s+(?=[A-Z])", text)):
            person = find_person(text[match.end() :])
            if person:
                values["assigned_to"] = person
    return {
        slot: value
        for slot, value in values.items()
        if value != current.get(slot) and not (slot in TEXT_SLOTS and _EMPTY_ANSWER.search(value))
    }


def find_slot_name(text: str, slots: Collection[str]) -> str | None:
    """Return the only slot that the text names, with or without a value; None for none or several."""
    title_lead = [slot for slot in slots if re.search(rf"\b(?:{_LABELS[slot]})\b", mask_quotes(text), re.IGNORECASE)]
    return title_lead[0] if len(title_lead) == 1 else None


def is_change_of_mind(text: str) -> bool:
    """Return whether the text takes back an earlier statement instead of answering the question."""
    return len(text.split()) <= 16 and _CHANGED.search(mask_quotes(text)) is not None


def find_choice(slot: str, text: str, choices: Choices, *, allow_synonyms: bool = False, exclude: str | None = None) -> str | None:
    """Return the only value of a fixed set that the text names; None for none or several. The value `exclude` does not count."""
    spoken_values = choices.get(slot, {})
    whole = re.sub(r"^the | (?:department|dept|team|priority|one|workflow|please)$", "", trim_value(text).casefold())
    if whole in spoken_values and spoken_values[whole] != exclude:
        return spoken_values[whole]
    masked = _remove_negated(text, spoken_values)
    values = {value: None for words, value in spoken_values.items() if re.search(_value_pattern(words), masked)}
    values.pop(exclude or "", None)
    if len(values) == 1:
        return next(iter(values))
    if values or not allow_synonyms:
        return None
    hints = [
        value
        for value, words in _SYNONYMS.get(slot, {}).items()
        if value in spoken_values.values() and re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)
    ]
    return hints[-1] if len(hints) == 1 or (slot == "priority" and "Low" in hints) else None


def find_person(text: str) -> str:
    """Return the name of a person or team; "" for none."""
    values = quoted_texts(text)
    if len(values) == 1:
        return values[0]
    name_text = _PERSON.sub("", _PERSON.sub("", strip_small_talk(text))).strip(" ,.;:")
    names = [name for match in _NAME.finditer(name_text) if (name := _as_name(match[0]))]
    if names:
        return max(names, key=lambda name: len(name.split()))
    return name_text if name_text and len(name_text.split()) <= 4 and not is_non_answer(name_text) else ""


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_name(words: str) -> str:
    kept_labels = words.split()
    while kept_labels and kept_labels[0].casefold().strip(".,") in _NON_NAME_WORDS:
        kept_labels.pop(0)
    while kept_labels and kept_labels[-1].casefold().strip(".,") in _NON_NAME_WORDS:
        kept_labels.pop()
    return " ".join(kept_labels).rstrip(".,'’")


@lru_cache(maxsize=2048)  # a stateless agent parses every message again at each turn
def _labels(text: str, slots: frozenset[str], *, anywhere: tuple[str, ...]) -> list[_SlotLabel]:
    """Return the labels that are followed by a possible value, in order.

    Labels start a clause; those of the slots in `anywhere` may appear anywhere.
    """
    masked = mask_quotes(text)
    labels: list[_SlotLabel] = []
    for slot in _LABELS:
        for form in _label_forms(slot, wanted=slot in slots, anywhere=slot in anywhere):
            for match in form.finditer(text):
                inside_quotes = not masked[match.end("before") : match.start("connector")].strip()
                labels += [] if inside_quotes else [_SlotLabel(slot, match.start(), match.end())]
    labels.sort(key=lambda label: (label.start, -label.value_start))
    kept_labels: list[_SlotLabel] = []
    for label in labels:
        if not kept_labels or label.start >= kept_labels[-1].value_start - 1:
            kept_labels.append(label)
    return kept_labels


@lru_cache
def _label_forms(slot: str, *, wanted: bool, anywhere: bool) -> tuple[re.Pattern[str], ...]:
    """Return patterns for a slot's label:

    `the title is`, `for the title,`, `title:`. A label that was not requested only ends the value before it.
    """
    connector = _CONNECTOR
    if slot in _SELF_DELIMITED_SLOTS:
        connector = r"(?:\s*[:=]?\s*(?:is\s+|to\s+)?)(?=\S)"
    elif slot not in TEXT_SLOTS and slot != "query":
        connector = rf"(?:{_CONNECTOR}|\s+(?=\S))"
    forms = [(_ANYWHERE if anywhere else _BOUNDARY, connector), (_AS_FOR, r"\s*[,:]\s*"), (r"\s", r"\s*[:=]\s*")]
    return tuple(
        re.compile(rf"(?P<before>{begins})(?:-*\b(?:{_LABELS[slot]})\b|--(?:{_LABELS[slot]}))(?P<connector>{connects})", re.IGNORECASE)
        for begins, connects in (forms if wanted else [(_BOUNDARY, r"\s*[:=]\s*")])
    )


def _labeled_value(slot: str, text: str, choices: Choices, today: str) -> str | None:
    """Return the value in the text after a label, or None."""
    if slot in choices:
        return find_choice(slot, " ".join(text.split()[:6]), choices, allow_synonyms=True)
    if slot == "due_date":
        day = find_date(text, today)
        return day.iso if day else None
    piece = text.strip()
    starts_quoted = quoted_texts(piece)
    if starts_quoted and not mask_quotes(piece)[:1].strip():
        return starts_quoted[0]
    if slot == "assigned_to":
        day = find_date(piece, today)
        return find_person(piece[: day.start] if day and day.start else piece) or None
    value = trim_value(_JOINER.sub("", piece))
    if slot in ("title", "query"):
        value = re.split(r"(?<=\w)[.!?]\s+(?=[A-Z])", value)[0]
    if not value or is_non_answer(value):
        return None
    return capitalize(value) if slot in TEXT_SLOTS else value


def _title_after_name(text: str) -> str:
    values = quoted_texts(text)
    if values and not mask_quotes(text)[:1].strip():
        return values[0]
    value = trim_value(re.split(r"[,;.!?\n]|\s(?:for the|with|and)\s", text)[0])
    return capitalize(value)


def _choice_beside_noun(slot: str, text: str, choices: Choices) -> str | None:
    """Return the value in `a high priority ticket`, `for the IT department` or `critical ticket`, not in `I am from the IT department`."""
    spoken_values = choices.get(slot)
    if not spoken_values:
        return None
    noun = _LABELS[slot]
    after = rf"[ -](?:{noun})\b" + (r"|\s+(?:support )?(?:ticket|issue|incident)\b" if slot in ("priority", "department_code") else "")
    before = r"\b(?:ticket|issue|incident|request)\b[^.!?\n]{0,80}?\s(?:for|to|in)\s+(?:the\s+)?" if slot == "department_code" else None
    values = set()
    masked = _remove_negated(mask_quotes(text), spoken_values)
    for words, value in spoken_values.items():
        for match in re.finditer(rf"{_value_pattern(words)}(?:{after})", masked):
            lead = masked[max(0, match.start() - 24) : match.start()].casefold()
            if not re.search(r"(?:i'?m|i am|we are|we'?re|from|work (?:in|at|for)|here)\s+(?:\w+\s+){0,2}$", lead):
                values.add(value)
        if before and re.search(
            rf"(?i:{before}){_value_pattern(words)}(?=\s*(?:[,.;!?\n]|$|(?i:department|team|called|titled|with|and|please)\b))", masked
        ):
            values.add(value)
    return values.pop() if len(values) == 1 else None


def _unlabeled_values(text: str, missing_slots: Sequence[str], choices: Choices, today: str) -> dict[str, str]:
    """Return values without a label: `Printer jam, IT`, `High, Standard`, `John Smith by Friday`."""
    values: dict[str, str] = {}
    rest = text
    if "due_date" in missing_slots and (day := find_date(rest, today)):
        values["due_date"] = day.iso
        rest = (rest[: day.start].rstrip(" ,;-") + " " + rest[day.end :].lstrip(" ,;")).strip() if "assigned_to" in missing_slots else ""
    text_slots = [slot for slot in missing_slots if slot in TEXT_SLOTS]
    for slot in missing_slots:
        if slot in choices and not text_slots and (value := find_choice(slot, rest, choices, allow_synonyms=True)):
            values[slot] = value
    if "assigned_to" in missing_slots and not is_non_answer(rest) and (person := find_person(rest)):
        values["assigned_to"] = person
    if "query" in missing_slots and not is_non_answer(rest) and (query := strip_small_talk(rest)):
        values["query"] = query
    if len(text_slots) == 1 and not is_non_answer(rest):
        value = strip_small_talk(_JOINER.sub("", rest), sentence=text_slots[0] != "title")
        if text_slots[0] == "expected_outcome":
            value = re.sub(
                r"^(?:(?:we|i)(?:['’]d| would)? (?:want|expect|hope|like)(?: to (?:see|have))?(?: that)?|(?:the )?(?:goal|aim|"
                r"idea) is(?: that)?)\s*:?\s+",
                "",
                value,
                flags=re.IGNORECASE,
            )
        if value and not is_non_answer(value):
            values[text_slots[0]] = capitalize(value)
    return values


def _cut_choice(slot: str, text: str, choices: Choices) -> tuple[str | None, str]:
    """Return a value of a fixed set in its own clause (such as after a comma), and the text without it."""
    spoken_values = choices.get(slot, {})
    noun = _LABELS[slot]
    lines = [line for line in text.split("\n") if line.strip()]
    naming_lines = [line for line in lines if find_choice(slot, mask_quotes(line), choices)] if len(lines) > 1 else []
    if len(naming_lines) == 1:  # one line per slot: the rest of the line belongs to it
        return find_choice(slot, naming_lines[0], choices), "\n".join(line for line in lines if line is not naming_lines[0])
    for words in sorted(spoken_values, key=len, reverse=True):
        separate_value = re.compile(
            rf"(?i:(?:[,;.!|\n/–—-]+\s*|\s+(?:and|for|in|to|with|at)\s+|^)(?:and\s+)?(?:(?:it'?s|it is|that'?s|goes|it goes|"
            rf"this is)\s+)?(?:(?:for|in|to|with|at)\s+)?(?:the\s+|a\s+)?)"
            rf"{_value_pattern(words)}(?i:\s+(?:{noun}|level))?\s*(?=[,;.!|\n/]|$|\s+and\s)"
        )
        match = separate_value.search(text)
        if match:
            return spoken_values[words], (text[: match.start()] + " " + text[match.end() :].lstrip(" ,;.|")).strip()
    return None, text


@lru_cache
def _value_pattern(words: str) -> str:
    """Return a pattern for a spoken value. A short code that is also a word (`it`) matches in capitals only."""
    return rf"\b{re.escape(words.upper())}\b" if len(words) <= 2 else rf"(?i:\b{re.escape(words)}\b)"


def _remove_negated(text: str, spoken_values: Mapping[str, str]) -> str:
    spoken = "|".join(_value_pattern(words) for words in sorted(spoken_values, key=len, reverse=True))
    return re.sub(rf"(?i:{_NEGATED})(?:{spoken})", " ", text) if spoken else text
