"""The values in what people say: `the title is …`, `priority=High`, `for the IT department`, `John Smith, by Friday`, or just the value."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from callmark.worlds.helpdesk.days import day_in
from callmark.worlds.helpdesk.language import bare, is_no_answer, quoted, trimmed, without_quotes

TEXTS = ("title", "description", "expected_outcome")

Choices = Mapping[str, Mapping[str, str]]  # of an argument: how a value is said, in small letters, and the value

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
_LOOSE = {  # what is understood when that very thing was asked for; it is read back before anything is written
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
_CLEAR = ("assigned_to", "due_date")  # `… assigned to John Smith due 2025-05-10` needs no comma
_ANYWHERE = rf"(?:{_BOUNDARY}|\s+)"
_AS_FOR = r"\b(?:as for|for|regarding|concerning|as)\s+(?:the|its)\s+"  # `for the priority, high`
_CONNECTOR = (
    r"\**\s*(?:(?:[:=]|->|→|\b(?:is|are|(?:should|would|will|must|could|might|can|may)(?: probably)? (?:be|read|say)|reads|says|to be|"
    r"to|as)\b|['’]s\b|\s[-–—]\s)\s*(?:set to\s+|that\s+(?=[\"“]))?:?\s*"
    r"|\s+(?=[\"“'«‘]))\**"
)
_NAMED = re.compile(r"\b(?:titled|entitled|called|named)\s*:?\s*", re.IGNORECASE)
_JOINER = re.compile(r"(?:[\s,;|(*-]|\b(?:and|with|but|the|its|a|an|also|then|please|set|make)\b)+$", re.IGNORECASE)
_SHRUG = re.compile(
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
_NO_NAME = frozenset(_NOT_IN_NAMES.split())
_PERSON = re.compile(
    r"^(?:(?:please |let'?s |i'?d |we'?ll |we can |can you |could you )*(?:assign|give|hand|leave)\s+(?:it|this|"
    r"that)?\s*(?:over )?(?:to|with)?|"
    r"(?:(?:it|that|this)(?: one)? )?(?:goes|should go|is) (?:to|for)|ask|have|let|put|for)\s+|"
    r"\s+(?:should|will|would|can|could|is|has|shall|takes|does)\b.*$",
    re.IGNORECASE,
)


class _Labelled(NamedTuple):
    """Where a slot is named, and where its value begins."""

    slot: str
    start: int
    value_start: int


def read_values(text: str, slots: Collection[str], *, asked: Sequence[str] = (), choices: Choices, today: str) -> dict[str, str]:
    """What the text says about these slots; of those that were asked for, also what it says without naming them. {} for nothing."""
    labels = _labels(text, frozenset(slots), anywhere=() if asked else _CLEAR)
    found: dict[str, str] = {}
    for index, label in enumerate(labels):
        end = labels[index + 1].start if index + 1 < len(labels) else len(text)
        value = _value(label.slot, text[label.value_start : end], choices, today) if label.slot in slots else None
        if value is not None:
            found[label.slot] = value
    left = text[: labels[0].start] if labels else text
    wanted_text = next((slot for slot in asked if slot in TEXTS and slot not in found), None)
    for slot in asked if wanted_text else ():
        if slot in choices and slot not in found:
            value, left = _cut_choice(slot, left, choices)
            found |= {slot: value} if value else {}
    beside = {slot: near for slot in asked or slots if slot not in found and (near := _beside_its_noun(slot, left, choices))}
    found |= beside
    if asked and beside:
        left = ""  # what is said around it belongs to it
    if "title" in slots and "title" not in found and (named := _NAMED.search(left)) and (value := _named(left[named.end() :])):
        found["title"] = value
        left = left[: named.start()]
    wanting = [slot for slot in asked if slot not in found]
    if wanting and _JOINER.sub("", left).strip():
        found |= _without_names(left, wanting, choices, today)
    return found


def read_change(text: str, now: Mapping[str, str], slots: Collection[str], *, choices: Choices, today: str) -> dict[str, str]:
    """What the text makes different from what it is now: `the title should be …`, `make that High`, `not IT, HR`, `12 May instead`."""
    found = read_values(text, slots, choices=choices, today=today)
    if not found:
        for slot in slots:
            if slot in choices and (value := choice_in(slot, text, choices, besides=now.get(slot))):
                found[slot] = value
        if "due_date" in slots and (day := day_in(text, today)):
            found["due_date"] = day.iso
        if "assigned_to" in slots and not found and (match := re.search(r"\b(?:to|give it to|ask)\s+(?=[A-Z])", text)):
            person = person_in(text[match.end() :])
            if person:
                found["assigned_to"] = person
    return {slot: value for slot, value in found.items() if value != now.get(slot) and not (slot in TEXTS and _SHRUG.search(value))}


def slot_in(text: str, slots: Collection[str]) -> str | None:
    """The one of these slots that the text names, whatever it says about it; None for none and for several."""
    named = [slot for slot in slots if re.search(rf"\b(?:{_LABELS[slot]})\b", without_quotes(text), re.IGNORECASE)]
    return named[0] if len(named) == 1 else None


def is_change_of_mind(text: str) -> bool:
    """Whether it takes something back that was said before, rather than answering."""
    return len(text.split()) <= 16 and _CHANGED.search(without_quotes(text)) is not None


def choice_in(slot: str, text: str, choices: Choices, *, loose: bool = False, besides: str | None = None) -> str | None:
    """The one value of a fixed set that the text names; None for none and for several. What is `besides` is not meant."""
    said = choices.get(slot, {})
    whole = re.sub(r"^the | (?:department|dept|team|priority|one|workflow|please)$", "", trimmed(text).casefold())
    if whole in said and said[whole] != besides:
        return said[whole]
    seen = _without_negated(text, said)
    found = {value: None for words, value in said.items() if re.search(_spoken(words), seen)}
    found.pop(besides or "", None)
    if len(found) == 1:
        return next(iter(found))
    if found or not loose:
        return None
    hints = [
        value
        for value, words in _LOOSE.get(slot, {}).items()
        if value in said.values() and re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)
    ]
    return hints[-1] if len(hints) == 1 or (slot == "priority" and "Low" in hints) else None


def person_in(text: str) -> str:
    """The name of a person or a team; "" for none."""
    found = quoted(text)
    if len(found) == 1:
        return found[0]
    said = _PERSON.sub("", _PERSON.sub("", bare(text))).strip(" ,.;:")
    names = [name for match in _NAME.finditer(said) if (name := _as_name(match[0]))]
    if names:
        return max(names, key=lambda name: len(name.split()))
    return said if said and len(said.split()) <= 4 and not is_no_answer(said) else ""


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_name(words: str) -> str:
    kept = words.split()
    while kept and kept[0].casefold().strip(".,") in _NO_NAME:
        kept.pop(0)
    while kept and kept[-1].casefold().strip(".,") in _NO_NAME:
        kept.pop()
    return " ".join(kept).rstrip(".,'’")


@lru_cache(maxsize=2048)  # an agent that keeps nothing hears every answer again and again
def _labels(text: str, slots: frozenset[str], *, anywhere: tuple[str, ...]) -> list[_Labelled]:
    """Where a slot is named and something follows that could be its value, in order: where a clause begins, some of them `anywhere`."""
    seen = without_quotes(text)
    labels: list[_Labelled] = []
    for slot in _LABELS:
        for form in _label_forms(slot, wanted=slot in slots, anywhere=slot in anywhere):
            for match in form.finditer(text):
                inside_quotes = not seen[match.end("before") : match.start("connector")].strip()
                labels += [] if inside_quotes else [_Labelled(slot, match.start(), match.end())]
    labels.sort(key=lambda label: (label.start, -label.value_start))
    kept: list[_Labelled] = []
    for label in labels:
        if not kept or label.start >= kept[-1].value_start - 1:
            kept.append(label)
    return kept


@lru_cache
def _label_forms(slot: str, *, wanted: bool, anywhere: bool) -> tuple[re.Pattern[str], ...]:
    """How a slot is named: `the title is`, `for the title,`, `title:`. One that is not wanted only ends the value before it."""
    connector = _CONNECTOR
    if slot in _CLEAR:
        connector = r"(?:\s*[:=]?\s*(?:is\s+|to\s+)?)(?=\S)"
    elif slot not in TEXTS and slot != "query":
        connector = rf"(?:{_CONNECTOR}|\s+(?=\S))"
    forms = [(_ANYWHERE if anywhere else _BOUNDARY, connector), (_AS_FOR, r"\s*[,:]\s*"), (r"\s", r"\s*[:=]\s*")]
    return tuple(
        re.compile(rf"(?P<before>{begins})(?:-*\b(?:{_LABELS[slot]})\b|--(?:{_LABELS[slot]}))(?P<connector>{connects})", re.IGNORECASE)
        for begins, connects in (forms if wanted else [(_BOUNDARY, r"\s*[:=]\s*")])
    )


def _value(slot: str, text: str, choices: Choices, today: str) -> str | None:
    """The value that a labelled piece of text gives; None where it is none."""
    if slot in choices:
        return choice_in(slot, " ".join(text.split()[:6]), choices, loose=True)
    if slot == "due_date":
        day = day_in(text, today)
        return day.iso if day else None
    piece = text.strip()
    starts_quoted = quoted(piece)
    if starts_quoted and not without_quotes(piece)[:1].strip():
        return starts_quoted[0]
    if slot == "assigned_to":
        day = day_in(piece, today)
        return person_in(piece[: day.start] if day and day.start else piece) or None
    value = trimmed(_JOINER.sub("", piece))
    if slot in ("title", "query"):
        value = re.split(r"(?<=\w)[.!?]\s+(?=[A-Z])", value)[0]
    if not value or is_no_answer(value):
        return None
    return capitalised(value) if slot in TEXTS else value


def _named(text: str) -> str:
    found = quoted(text)
    if found and not without_quotes(text)[:1].strip():
        return found[0]
    value = trimmed(re.split(r"[,;.!?\n]|\s(?:for the|with|and)\s", text)[0])
    return capitalised(value)


def _beside_its_noun(slot: str, text: str, choices: Choices) -> str | None:
    """`a high priority ticket`, `for the IT department`, `critical ticket`; not `I am from the IT department`."""
    said = choices.get(slot)
    if not said:
        return None
    noun = _LABELS[slot]
    after = rf"[ -](?:{noun})\b" + (r"|\s+(?:support )?(?:ticket|issue|incident)\b" if slot in ("priority", "department_code") else "")
    before = r"\b(?:ticket|issue|incident|request)\b[^.!?\n]{0,80}?\s(?:for|to|in)\s+(?:the\s+)?" if slot == "department_code" else None
    found = set()
    seen = _without_negated(without_quotes(text), said)
    for words, value in said.items():
        for match in re.finditer(rf"{_spoken(words)}(?:{after})", seen):
            lead = seen[max(0, match.start() - 24) : match.start()].casefold()
            if not re.search(r"(?:i'?m|i am|we are|we'?re|from|work (?:in|at|for)|here)\s+(?:\w+\s+){0,2}$", lead):
                found.add(value)
        if before and re.search(
            rf"(?i:{before}){_spoken(words)}(?=\s*(?:[,.;!?\n]|$|(?i:department|team|called|titled|with|and|please)\b))", seen
        ):
            found.add(value)
    return found.pop() if len(found) == 1 else None


def _without_names(text: str, wanting: Sequence[str], choices: Choices, today: str) -> dict[str, str]:
    """What an answer says that names no slot: `Printer jam, IT`, `High, Standard`, `John Smith by Friday`."""
    found: dict[str, str] = {}
    left = text
    if "due_date" in wanting and (day := day_in(left, today)):
        found["due_date"] = day.iso
        left = (left[: day.start].rstrip(" ,;-") + " " + left[day.end :].lstrip(" ,;")).strip() if "assigned_to" in wanting else ""
    wants_text = [slot for slot in wanting if slot in TEXTS]
    for slot in wanting:
        if slot in choices and not wants_text and (value := choice_in(slot, left, choices, loose=True)):
            found[slot] = value
    if "assigned_to" in wanting and not is_no_answer(left) and (person := person_in(left)):
        found["assigned_to"] = person
    if "query" in wanting and not is_no_answer(left) and (query := bare(left)):
        found["query"] = query
    if len(wants_text) == 1 and not is_no_answer(left):
        value = bare(_JOINER.sub("", left), sentence=wants_text[0] != "title")
        if wants_text[0] == "expected_outcome":
            value = re.sub(
                r"^(?:(?:we|i)(?:['’]d| would)? (?:want|expect|hope|like)(?: to (?:see|have))?(?: that)?|(?:the )?(?:goal|aim|"
                r"idea) is(?: that)?)\s*:?\s+",
                "",
                value,
                flags=re.IGNORECASE,
            )
        if value and not is_no_answer(value):
            found[wants_text[0]] = capitalised(value)
    return found


def _cut_choice(slot: str, text: str, choices: Choices) -> tuple[str | None, str]:
    """A value of a fixed set that stands apart from the rest (after a comma, in a clause of its own), and the rest."""
    said = choices.get(slot, {})
    noun = _LABELS[slot]
    lines = [line for line in text.split("\n") if line.strip()]
    naming = [line for line in lines if choice_in(slot, without_quotes(line), choices)] if len(lines) > 1 else []
    if len(naming) == 1:  # a line each: whatever else it says belongs to it
        return choice_in(slot, naming[0], choices), "\n".join(line for line in lines if line is not naming[0])
    for words in sorted(said, key=len, reverse=True):
        apart = re.compile(
            rf"(?i:(?:[,;.!|\n/–—-]+\s*|\s+(?:and|for|in|to|with|at)\s+|^)(?:and\s+)?(?:(?:it'?s|it is|that'?s|goes|it goes|"
            rf"this is)\s+)?(?:(?:for|in|to|with|at)\s+)?(?:the\s+|a\s+)?)"
            rf"{_spoken(words)}(?i:\s+(?:{noun}|level))?\s*(?=[,;.!|\n/]|$|\s+and\s)"
        )
        match = apart.search(text)
        if match:
            return said[words], (text[: match.start()] + " " + text[match.end() :].lstrip(" ,;.|")).strip()
    return None, text


@lru_cache
def _spoken(words: str) -> str:
    """A pattern for how a value is said. A short code that is also a word (`it`) counts in capital letters only."""
    return rf"\b{re.escape(words.upper())}\b" if len(words) <= 2 else rf"(?i:\b{re.escape(words)}\b)"


def _without_negated(text: str, said: Mapping[str, str]) -> str:
    spoken = "|".join(_spoken(words) for words in sorted(said, key=len, reverse=True))
    return re.sub(rf"(?i:{_NEGATED})(?:{spoken})", " ", text) if spoken else text
