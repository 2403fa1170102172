"""Read what a scenario's instructions tell a user: the values that they name, and what the user wants, in the first person.

Values are named in a list (`- due_date: "2025-05-31"`, under a heading such as `Action item data:`) or in a sentence (`the title is "…"`).
Instructions in another form name no values, and the user then wants "some help".
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from callmark.simulation.users.rule_based.concepts import name_words

_MAX_LENGTH = 20_000  # characters
_HEADING = re.compile(r"^\s{0,8}(?![-*•])([^:\n]{1,80}):\s*$")
_LIST_ITEM = re.compile(r"^\s{0,12}[-*•]\s+([A-Za-z][\w .'/()-]{0,60}?)\s*[:=]\s+(\S.*)$")
_STATED = re.compile(
    r"\b(?:the |your |its )?([A-Za-z][\w-]{0,40}(?: [\w-]{1,40}){0,2}?) (?:is|are|should be|will be) \"([^\"\n]{1,400})\"", re.IGNORECASE
)
_TOKEN = re.compile(r"\"([^\"\n]{1,200})\"|(?<!\w)'([^'\n]{1,200})'(?!\w)|([^\s\"'(),;]+)")
_TASK_HEADING = re.compile(r"\b(?:your|the) (?:task|goal|request|problem)\b[^:\n]{0,40}:\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_ABOUT_BEHAVIOR = re.compile(  # how to act, not what to want
    r"\W*(?:you are (?!trying|looking|calling|writing|unable|not able|missing)|you have access|you play|your name is|act\b|behave|never\b|"
    r"do not|don't|stay|speak|use\b|follow|begin|respond|insist|when\b|if\b|once\b|after\b|confirm|give\b|be\b|answer|accept|only\b|always|"
    r"start\b|here is|remember|keep\b|then\b|your goal is (?:achieved|to complete a))",
    re.IGNORECASE,
)
_WANTS_TO = re.compile(
    r"\W*(?:you(?:'d| would| also|'re| are)* (?:want|like|wish|need|have|are trying|trying|are looking|looking) to|your (?:task|goal|aim|"
    r"job|request) is to|(?:please |try to )?ask (?:the |an? )?(?:agent|assistant|chatbot|bot|support|them|it) to|try to)\s+",
    re.IGNORECASE,
)
_STATES = re.compile(r"\W*you(?:r\b|'d\b|'re\b|'ve\b|\b)", re.IGNORECASE)
_ASKS_AGENT = re.compile(
    r"\bask (?:the |an? )?(?:agent|assistant|chatbot|bot|support|them) (?=for\b|about\b|whether\b|if\b|wh|how\b)", re.IGNORECASE
)
_FIRST_PERSON = (
    (r"\byou are\b", "I am"),
    (r"\byou're\b", "I'm"),
    (r"\b(?:you were)\b", "I was"),
    (r"\byou've\b", "I've"),
    (r"\byou'd\b", "I'd"),
    (r"\byou'll\b", "I'll"),
    (r"\byours\b", "mine"),
    (r"\byourself\b", "myself"),
    (r"\byour\b", "my"),
    (r"\b(to|for|with|from|of|tell|give|gives?|send|sends?|show|help|let|at|by|on|about) you\b", r"\1 me"),
    (r"\byou\b(?=\W*$)", "me"),
    (r"\byou\b", "I"),
)


class NamedValue(Struct, frozen=True):
    """A value in the instructions, with its name there and the heading that it is under; both may be any words."""

    name: str
    value: str
    heading: str = ""


class Wish(Struct, frozen=True):
    """What a user wants: a goal to say it with ("cancel my order"), and the user's own sentence, if the instructions have one."""

    goal: str
    opening: str = ""


def named_values(instructions: str) -> list[NamedValue]:
    """Return the values that instructions name, in order; a name under the same heading counts once, with its first value."""
    found: dict[tuple[str, str], NamedValue] = {}
    heading = ""
    for line in instructions[:_MAX_LENGTH].splitlines():
        if titled := _HEADING.match(line):
            heading = titled[1].strip()
        elif item := _LIST_ITEM.match(line.rstrip()):
            _add(found, NamedValue(item[1].strip(), item[2].strip("\"'“”"), heading))
        else:
            for stated in _STATED.finditer(line):
                _add(found, NamedValue(stated[1].strip(), stated[2].strip()))
    return list(found.values())


def mentioned_texts(instructions: str) -> Iterator[str]:
    """Yield the quoted texts and the words of the instructions, without punctuation at their end."""
    for token in _TOKEN.finditer(instructions[:_MAX_LENGTH]):
        yield (token[1] or token[2] or token[3]).rstrip(".,;:!?")


def read_wish(instructions: str) -> Wish:
    """Return what the instructions say that the user wants."""
    sentence = _wish_sentence(instructions[:_MAX_LENGTH]).strip(" .!")
    if not any(map(str.isalpha, sentence)):
        return Wish("get some help")
    if wants := _WANTS_TO.match(sentence):
        goal = _first_person(sentence[wants.end() :])
        return Wish(goal[:1].lower() + goal[1:])
    if _STATES.match(sentence):
        spoken = _first_person(sentence)
        return Wish("get that done", f"{spoken[:1].upper()}{spoken[1:]}.")
    goal = _first_person(_ASKS_AGENT.sub("ask ", re.sub(r"^\W*please\s+", "", sentence, flags=re.IGNORECASE)))
    return Wish(goal if goal[:2].isupper() else goal[:1].lower() + goal[1:])


def _add(found: dict[tuple[str, str], NamedValue], named: NamedValue) -> None:
    if named.value:
        found.setdefault((named.heading, " ".join(name_words(named.name))), named)


def _wish_sentence(instructions: str) -> str:
    """Return the sentence that says what to want: the first after a heading such as `Here is your task:`, else the first that does not say
    how to behave.
    """
    if heading := _TASK_HEADING.search(instructions):
        instructions = instructions[heading.end() :]
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(instructions.strip()) if sentence.strip()]
    return next((sentence for sentence in sentences if heading or not _ABOUT_BEHAVIOR.match(sentence)), "")


def _first_person(text: str) -> str:
    for pattern, replacement in _FIRST_PERSON:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text.strip()
