"""An agent's text taken apart: sentences, which of them ask for something, and the clauses of these.

Markup is taken out, and a very long text is looked at from both ends: what is asked mostly stands last.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from msgspec import Struct

LONGEST = 6000  # characters that are looked at
_FIRST = 2000  # of them, from the beginning

_MARKUP = re.compile(r"<[^<>\n]{1,200}>|(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)|^\s{0,8}#{1,6}\s", re.MULTILINE)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "？": "?", "！": "!", "。": ".", "：": ":", "\t": " ", "\xa0": " "})
_BULLET = re.compile(r"^\s{0,12}(?:[-*•–·▪►]|\(?[0-9]{1,2}[.)]|\(?[a-hA-H]\))\s+")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)")
_SHORT_FORMS = re.compile(r"\b(e\.g|i\.e|etc|approx|dept|no|mr|mrs|ms|dr)\.(?=\s|,)", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[;,]\s*(?:and |but |or |so )?|\s+[-–—]\s+|\s+(?:and|but|or)\s+(?=(?:by when|to whom|for whom|what|which|who|whom|when|where|why|"
    r"how|should|shall|do|does|is|are|would|can|could|may)\b)|:\s+"
)
_LED = re.compile(
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
_ASKS = re.compile(r"\b(?:need|require|missing|tell me|provide|like to know)\b")
_PLAIN_ACKS = 3  # words of an aside that ends with its own comma
_PROMPT = re.compile(r"^[\w /()',-]{1,60}(?:\([^()]{1,120}\))?:$")


class Sentence(Struct, frozen=True):
    """One sentence, as it stands: whether it asks for something, and whether it is a line of a list or table."""

    text: str
    asks: bool
    listed: bool = False


def plain(text: str) -> str:
    """The text without markup, with plain quotes, no longer than is looked at."""
    if len(text) > LONGEST:
        text = f"{text[:_FIRST]}\n{text[_FIRST - LONGEST :]}"
    return _SHORT_FORMS.sub(r"\1", _MARKUP.sub("", unescape(text).translate(_QUOTES)))


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text that `plain` has made. The lines of a list that something asks for (`I need the following:`) ask too."""
    asking = False
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        bullet = _BULLET.match(line)
        body = line[bullet.end() :].strip() if bullet else line.strip()
        if bullet or line.lstrip().startswith("|"):
            yield Sentence(body, asking or body.endswith("?"), True)
            continue
        asking = False
        for part in _END.split(body):
            asks = is_asking(part)
            asking = part.endswith(":") and (asks or "following" in part.casefold())
            yield Sentence(part, asks or (number == len(lines) and _PROMPT.match(part) is not None))


def is_asking(sentence: str) -> bool:
    """Whether a sentence asks for something: a question, or `please tell me …`, `I still need …`."""
    return sentence.rstrip("\"') ").endswith("?") or "?" in sentence[-3:] or _REQUEST.search(sentence.casefold()) is not None


def clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a sentence, in lower case, each with whether it begins like a question. What is said by the way (`thanks for the
    title`, `before I create it`) is left out, with what hangs on it.
    """
    aside = False
    parts: list[tuple[str, bool]] = []
    found = [part.strip() for part in _CLAUSE.split(sentence.casefold()) if part and part.strip()]
    for number, part in enumerate(found):
        led = _LED.match(part) is not None
        if _ASIDE.match(part) and not led and not _ASKS.search(part):
            aside = len(part.split()) > _PLAIN_ACKS
            if number == len(found) - 1 and not parts:
                parts.append((part, led))
            continue
        if aside and not led:
            continue
        aside = False
        parts.append((part, led))
    yield from parts


def bullets(found: Iterable[Sentence]) -> list[str]:
    """The lines of lists."""
    return [sentence.text for sentence in found if sentence.listed]


def is_wh(clause: str) -> bool:
    return (
        re.match(
            r"(?:(?:and|so|now|then|also|but|or|please|ok|okay)\s+)*(?:(?:to|for|by|in|from|at|on|under|until)\s+)?(?:what|which|who|"
            r"whom|whose|when|where|why|how)\b",
            clause,
        )
        is not None
    )
