"""Split an agent's text into sentences and clauses, and find those that ask for something.

Markup is removed. Only the start and the end of a very long text are read: questions usually come last.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from msgspec import Struct

MAX_LENGTH = 6000  # characters
_HEAD_LENGTH = 2000  # characters of these, from the start

_MARKUP = re.compile(r"<[^<>\n]{1,200}>|(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)|^\s{0,8}#{1,6}\s", re.MULTILINE)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "？": "?", "！": "!", "。": ".", "：": ":", "\t": " ", "\xa0": " "})
_BULLET = re.compile(r"^\s{0,12}(?:[-*•–·▪►]|\(?[0-9]{1,2}[.)]|\(?[a-hA-H]\))\s+")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)")
_SHORT_FORMS = re.compile(r"\b(e\.g|i\.e|etc|approx|dept|no|mr|mrs|ms|dr)\.(?=\s|,)", re.IGNORECASE)
_CLAUSE_BREAK = re.compile(
    r"[;,]\s*(?:and |but |or |so )?|\s+[-–—]\s+|\s+(?:and|but|or)\s+(?=(?:by when|to whom|for whom|what|which|who|whom|when|where|why|"
    r"how|should|shall|do|does|is|are|would|can|could|may)\b)|:\s+"
)
_QUESTION_START = re.compile(
    r"(?:(?:and|so|now|then|also|but|or|ok|okay|please|next|first|finally|lastly|great|well|just)\s+)*(?:(?:to|for|by|in|from|at|on|"
    r"under|until)\s+)?(?:what|which|who|whom|whose|when|where|why|how|should|shall|do|does|did|is|are|would|will|can|could|may|have|"
    r"has|any|tell|give|provide|enter|specify|describe|let|choose|select|pick|state|supply|type|want|need|i need|i'd need|"
    r"i still need|i'll need)(?:'s|'re|'d)?\b"
)
_REQUEST = re.compile(
    r"^(?:(?:and|so|now|then|also|but|ok|okay|great|thanks|next|first|finally|well|just|sure|alright|perfect|to continue|"
    r"to proceed)[,.!:]?\s+)*(?:please|kindly|could you|can you|tell|give|provide|enter|specify|describe|share|let me know|"
    r"let us know|choose|select|pick|state|supply|type|fill|send|explain|mention|name|indicate|say|reply|respond|answer|confirm|"
    r"remind|help me understand|let's (?:give|have|start))\b|\b(?:i|we)(?:'ll| will|'d| would| do| still| also| just| only|"
    r" really)* (?:need|require|like to (?:know|hear)|want to know|miss)\b(?!.{0,30}\banything)|\b(?:still |is |are )(?:missing|"
    r"needed|required|outstanding)\b|\bplease (?:tell|give|provide|enter|specify|describe|share|let|choose|select|pick|state|supply|"
    r"type|confirm|say|name|explain|indicate|add|include|send|reply|respond|fill|list|mention)\b|\bwaiting for\b|^(?:missing|needed|"
    r"required)\b|\b(?:can't|cannot|can not|unable to|won't)\b.{0,60}\bwithout\b|\bi'm missing|\bwe're missing|\bmay i (?:have|know|"
    r"ask)\b|\bi wonder\b|\bwaiting on\b|\bplease\W*$"
)
_ASIDE = re.compile(
    r"^(?:(?:thanks|thank you|thx|got it|noted|great|good|ok|okay|perfect|alright|all right|understood|sure|excellent|certainly|"
    r"of course|right|fine|awesome|hi|hello|sorry|no problem|absolutely|very well|i see|wonderful|lovely|super|splendid|cool|yes|"
    r"well)\b|i(?:'ve| have)\b|with (?:the|that|a)\b|since\b|now that\b|as for\b|given\b|because\b|before (?:i|we|it|you)\b|so that\b|"
    r"in order to\b|so (?:i|we|the|they|that)\b|to (?:create|open|log|file|complete|finish|set|add|submit|register|help|proceed|route|"
    r"process|raise|update|get|make|continue|move|be|do|find)\b|once\b|after\b|if\b|when (?:it|you|the|this|that|they|we|i)\b|"
    r"as soon as\b|for (?:the|your|this|that) (?:\w+ ){0,3}(?:ticket|item|request|order|task|case)\b)"
)
_REQUEST_WORDS = re.compile(r"\b(?:need|require|missing|tell me|provide|like to know)\b")
_MAX_ACKNOWLEDGMENT = 3  # words of an aside that ends with its own comma
_FORM_PROMPT = re.compile(r"^[\w /()',-]{1,60}(?:\([^()]{1,120}\))?:$")


class Sentence(Struct, frozen=True):
    """A sentence, with whether it asks for something, and whether it is a list item or a table row."""

    text: str
    is_question: bool
    is_list_item: bool = False


def clean_text(text: str) -> str:
    """Return the text without markup, with plain quotes, shortened to the maximum length."""
    if len(text) > MAX_LENGTH:
        text = f"{text[:_HEAD_LENGTH]}\n{text[_HEAD_LENGTH - MAX_LENGTH :]}"
    return _SHORT_FORMS.sub(r"\1", _MARKUP.sub("", unescape(text).translate(_QUOTES)))


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a cleaned text. Items of a list after a request (`I need the following:`) are questions too."""
    list_is_question = False
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        bullet = _BULLET.match(line)
        body = line[bullet.end() :].strip() if bullet else line.strip()
        if bullet or line.lstrip().startswith("|"):
            yield Sentence(body, list_is_question or body.endswith("?"), True)
            continue
        list_is_question = False
        for part in _SENTENCE_BREAK.split(body):
            asks = is_question(part)
            list_is_question = part.endswith(":") and (asks or "following" in part.casefold())
            yield Sentence(part, asks or (number == len(lines) and _FORM_PROMPT.match(part) is not None))


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks for something: a question, or `please tell me …`, `I still need …`."""
    return sentence.rstrip("\"') ").endswith("?") or "?" in sentence[-3:] or _REQUEST.search(sentence.casefold()) is not None


def clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of a sentence in lower case, each with whether it starts like a question.

    Asides (`thanks for the title`, `before I create it`) are left out.
    """
    aside = False
    found: list[tuple[str, bool]] = []
    parts = [part.strip() for part in _CLAUSE_BREAK.split(sentence.casefold()) if part and part.strip()]
    for number, part in enumerate(parts, 1):
        starts_question = _QUESTION_START.match(part) is not None
        if _ASIDE.match(part) and not starts_question and not _REQUEST_WORDS.search(part):
            aside = len(part.split()) > _MAX_ACKNOWLEDGMENT
            if number == len(parts) and not found:
                found.append((part, starts_question))
            continue
        if aside and not starts_question:
            continue
        aside = False
        found.append((part, starts_question))
    yield from found


def list_items(parts: Iterable[Sentence]) -> list[str]:
    """Return the texts of the list items."""
    return [sentence.text for sentence in parts if sentence.is_list_item]


def is_wh_question(clause: str) -> bool:
    """Return whether a clause starts with a question word."""
    return (
        re.match(
            r"(?:(?:and|so|now|then|also|but|or|please|ok|okay)\s+)*(?:(?:to|for|by|in|from|at|on|under|until)\s+)?(?:what|which|who|"
            r"whom|whose|when|where|why|how)\b",
            clause,
        )
        is not None
    )
