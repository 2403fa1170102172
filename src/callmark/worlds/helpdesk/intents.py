"""Intent detection: what a user wants from the help desk, in the order of the text."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from callmark.worlds.helpdesk.language import mask_quotes, quoted_texts

IntentKind = Literal["open ticket", "add item", "find", "change ticket", "change item", "list items", "explain", "list reference", "refuse"]

_TICKET = r"(?:support )?(?:tickets?|issues?|incidents?|requests?|cases?)\b"
_ITEM = r"(?:action[ -]?(?:items?|points?)|follow[- ]?ups?|to-?dos?|(?:sub)?tasks?)\b"
_TICKET_ID, _ITEM_ID = r"\btkt-?\s?\d+", r"\bai-\d+"
_FIELD = r"(?:priority|status|department|title|description|work ?flow(?: type)?|(?:expected )?outcome|urgency)\b"
_ITEM_FIELD = r"(?:due date|deadline|assignee|owner)\b"
_FEW = r"(?:[\s,:]+(?!\b(?:and|then|that|because)\b)[\w'’\"-]+){0,%d}?[\s,:]+"  # up to %d words in between, within a clause
_NO_TICKET = _FEW.replace("(?!", "(?!\\b(?:ticket|issue)\\b(?!\\s+tkt)|", 1)  # `a ticket with an action item` asks for a ticket first
_CHANGE = (
    r"(?:update|change|set|mark|move|close|resolve|re-?open|bump|escalate|lower|raise|increase|decrease|modify|edit|adjust|reassign|"
    r"transfer|"
    r"put|switch|make|correct|upgrade|downgrade|postpone|complete|finish|extend)"
)
_NEW = r"(?:open|create|raise|log|file|submit|make|start|register|report|put in|new|another|add|place|set up|write|enter)"
_LOOK = (
    r"(?:find|search|look(?:ing)?(?: up| for| at| into)?|show|list|see|which|what|check|any|are there|is there|do we have|how many|get|"
    r"pull up|view|"
    r"display|locate|where|status of|tell me about|read|know)"
)
_WANT = r"(?:need|want|like|have|require|get)"

_CERTAIN = rf"(?:{_TICKET}|{_TICKET_ID}|{_ITEM}|{_ITEM_ID}|records?\b|history\b|it\b|them\b|this\b|that\b|everything\b)"
_MONEY = r"\b(?:budgets?|purchases?|expens\w*|spend\w*|costs?|invoices?|payments?|money|funds?|orders?|[$€£]\s?\d+)"
_ARTICLES = r"(?:\s+(?:up|a|an|another|new|one|this|my|the|first|second|some)\b)*"

# the earliest match in a text wins; among matches at the same position, the first in this list
_PATTERNS: tuple[tuple[IntentKind, str, tuple[str, ...]], ...] = (
    ("refuse", "delete", (rf"\b(?:delet\w*|remov\w*|eras\w*|purg\w*|wip\w*|get(?:ting)? rid of|destroy\w*){_FEW % 5}{_CERTAIN}",)),
    (
        "refuse",
        "number",
        (
            r"\brenumber\w*",
            rf"\b(?:{_CHANGE}|give|assign|swap|replace|rename){_FEW % 6}(?:ticket(?:'s|’s)? (?:number|id)|number|id|identifier)\b",
        ),
    ),
    (
        "refuse",
        "budget",
        (
            rf"\b(?:approv\w*|sign(?:ing)? off|authori[sz]\w*|grant\w*|releas\w*|sanction\w*)\b.{{0,60}}?{_MONEY}",
            r"\bbudget\b.{0,40}\bapprov\w*",
        ),
    ),
    ("refuse", "confirmation", (r"\b(?:skip|bypass|without|ignore)\b.{0,20}\b(?:confirm\w*|approval|workflow|rules?|polic\w+|process)\b",)),
    ("refuse", "merge", (rf"\bmerg\w*{_FEW % 5}(?:{_TICKET}|{_TICKET_ID})",)),
    (
        "change item",
        "",
        (
            rf"\b{_CHANGE}\b{_FEW % 7}(?:{_ITEM_ID})",
            rf"{_ITEM_ID}.{{0,40}}\b(?:done|complete|finished|progress|due|assigned)",
            rf"\b(?:update|change|mark|edit|modify|reassign|complete|finish|close){_FEW % 4}(?:the |that |this |an |existing ){_ITEM}",
        ),
    ),
    ("list items", "", (rf"\b{_LOOK}\b{_FEW % 5}{_ITEM}",)),
    (
        "add item",
        "",
        (
            rf"\b(?:{_NEW}|{_WANT}|needs|wants|gets|assign|include|attach|second|also|next|one more|first|two|three|with|plus)\b"
            rf"{_NO_TICKET % 6}{_ITEM}",
        ),
    ),
    (
        "list reference",
        "",
        (rf"\b{_LOOK}\b.{{0,24}}\b(?:departments|priorities|work ?flow types|priority levels)\b(?!.{{0,30}}\b(?:ticket|tkt))",),
    ),
    (
        "open ticket",
        "",
        (
            rf"\b(?:{_NEW})\b(?:\s+(?:me|us))?{_ARTICLES}(?:\s+(?!{_FIELD}|{_CHANGE}\b|{_LOOK}\b)[\w'’/-]+){{0,4}}?\s+{_TICKET}"
            r"(?!\s+(?:status|number|id)\b)",
        ),
    ),
    (
        "open ticket",
        "",
        (
            rf"\b{_WANT}(?:\s+to have)?\s+(?:a|an|another|one|some|new)\b(?:\s+(?!{_CHANGE}\b|{_LOOK}\b)[\w'’/-]+){{0,3}}?\s+{_TICKET}",
            r"^\W*(?:(?:new|support)\s+)*ticket\s*[:,-]",
            r"\breport\s+(?:a|an|that|some)\b",
            r"\b(?:ticket|request)\s+(?:is\s+)?(?:needed|wanted|required|please)\b",
            r"\b(?:ticket|request)\s+for\b",
        ),
    ),
    ("find", "", (rf"\b{_LOOK}\b{_FEW % 9}(?:{_TICKET}|{_TICKET_ID})", rf"\b{_LOOK}\s+(?:{_TICKET_ID})")),
    (
        "change ticket",
        "",
        (
            rf"\b{_CHANGE}\b{_FEW % 8}(?:{_TICKET}|{_TICKET_ID}|{_FIELD})",
            rf"\b{_CHANGE}\s+(?:it|that|this|its)\b(?!\s+(?:happen|possible|so|work)\b)",
            rf"{_TICKET_ID}(?:['’]s)?[\s:,]+(?:\w+\s+){{0,3}}?(?:{_FIELD}|(?:to|as|should|is|needs|must)\b(?!{_FEW % 3}{_ITEM}))",
            rf"\b(?:wrong|another|different|other|higher|lower|new)\s+{_FIELD}",
            rf"\b{_FIELD}(?:\s+\w+){{0,3}}?\s+(?:chang|wrong|rais|lower|increas|fit|match|becom)",
            r"\bhand(?:ed|ing)?\s+(?:\w+\s+){0,3}?over\b",
        ),
    ),
    ("change item", "", (rf"\b{_CHANGE}\b{_FEW % 6}{_ITEM_FIELD}",)),
    (
        "explain",
        "",
        (
            r"\bhow (?:does|do|is) (?:this|it|the|that|things|everything|you|i)\b.{0,30}\b(?:work|process|go|handled|proceed)",
            r"\bexplain\b",
            r"\bwhat can (?:you|i) (?:do|ask)",
            r"^\W*help\W*$",
            r"\b(?:the|your) (?:work ?flow|process|steps|rules)\b.{0,30}\?",
            r"\bwhat (?:are|is) (?:the|your) (?:steps|rules|process|work ?flow)",
        ),
    ),
    ("find", "", (_TICKET_ID,)),
    ("add item", "", (rf"\b{_ITEM}",)),
)
_COMPILED = tuple((kind, topic, re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)) for kind, topic, patterns in _PATTERNS)
_TROUBLE = re.compile(
    r"\b(?:broken?|not work\w*|doesn'?t|does not|isn'?t|can'?t|cannot|crash\w*|errors?|fail\w*|down|slow|problems?|trouble|outage|stuck|"
    r"leak\w*|"
    r"missing|wrong|lost|locked|dead|faulty|damaged)\b",
    re.IGNORECASE,
)
_FIELDS = re.compile(r"\b(?:title|department|priority|description|outcome|workflow)\w*\s*[=:]", re.IGNORECASE)
_NUMBERS = {"two": 2, "2": 2, "couple": 2, "both": 2, "three": 3, "3": 3, "four": 4, "4": 4}


_COUNTED = re.compile(rf"\b({'|'.join(_NUMBERS)})\b(?:\s+\w+){{0,3}}?\s+{_ITEM}", re.IGNORECASE)
# intents that may follow another in the same text; words in a new ticket's details are not intents
_MAY_FOLLOW: dict[IntentKind, tuple[IntentKind, ...]] = {
    "open ticket": ("add item",),
    "find": ("change ticket", "add item", "change item", "list items", "refuse"),
}


_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning|mention(?:ing|s)|contain(?:ing|s)|with the words?|related to|involving|called|titled|named|matching|"
    r"with the title|search(?:ing)? for|look(?:ing)? for|find)\s+(?!(?:all |any |me |the |a |an |open |my |our )*(?:tickets?|issues?|it|"
    r"one|this|that|them)\b)(.+)",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE_NOUN = re.compile(r"\b(?:the|that|a|an|our|my|any)\s+((?:[\w'’-]+\s+){1,4}?)(?:tickets?|issues?|one)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[.,;!?\n]|\s(?:and|then|so|to|in (?:the )?(?=[A-Z])|for (?:the )?(?=[A-Z]{2})|with (?:status|priority|high|low|medium|critical)|"
    r"that (?:is|are)|"
    r"which (?:is|are)|please|tickets?\b)",
    re.IGNORECASE,
)
_NOT_IN_QUERIES = (
    "a an the our my your that this these those any all some one ticket tickets issue issues support request open closed resolved high "
    "low medium "
    "critical priority it is new existing right same first second third current department finance legal facilities operations "
    "marketing me for "
    "please on of with in last hr"
)
_NO_QUERY = frozenset(_NOT_IN_QUERIES.split())


class Intent(NamedTuple):
    """A request. `text` is the part of the message about it, `topic` the reason to refuse it, if it must be refused."""

    kind: IntentKind
    text: str
    topic: str = ""


def detect_intents(text: str) -> list[Intent]:
    """Return the intents of a text in order; empty for small talk and nonsense. Two action items are two intents."""
    return list(_detect_intents(text))


@lru_cache(maxsize=2048)  # a stateless agent parses every message again at each turn
def _detect_intents(text: str) -> list[Intent]:
    masked = mask_quotes(text)
    detected: list[tuple[int, IntentKind, str]] = []
    position = 0
    while position < len(masked) and len(detected) < 5:
        matches = [
            (match.start(), order, match, kind, topic)
            for order, (kind, topic, pattern) in enumerate(_COMPILED)
            if (match := pattern.search(masked, position))
        ]
        if not matches:
            break
        _, _, match, kind, topic = min(matches, key=lambda each: each[:2])
        if not detected or kind != detected[-1][1]:
            detected.append((match.start(), kind, topic))
        position = match.end()
    kept = [intent for index, intent in enumerate(detected) if index == 0 or intent[1] in _MAY_FOLLOW.get(detected[0][1], ())]
    ends = [*(start for start, _, _ in kept[1:]), len(text)]
    starts = [0, *ends[:-1]]
    intents = [Intent(kind, text[begin:end], topic) for (_, kind, topic), begin, end in zip(kept, starts, ends, strict=False)]
    if intents and intents[-1].kind == "add item" and (number := _COUNTED.search(masked)):
        intents += [Intent("add item", "")] * (_NUMBERS[number[1].lower()] - 1)
    return intents


def describes_problem(text: str) -> bool:
    """Return whether the text describes a malfunction or consists of ticket details: a reason to open a ticket."""
    return _TROUBLE.search(text) is not None or _FIELDS.search(text) is not None


def find_ticket_id(text: str) -> str | None:
    """Return the ticket id in the text in the desk's notation, or None."""
    match = re.search(r"\bTKT[-\s]?(\d+)", text, re.IGNORECASE)
    return f"TKT-{match[1]}" if match else None


def find_item_id(text: str) -> str | None:
    """Return the action item id in the text in the desk's notation, or None."""
    match = re.search(r"\bAI-(\d+)", text, re.IGNORECASE)
    return f"AI-{match[1]}" if match else None


def find_query(text: str) -> str:
    """Return the search words for a ticket: `printer` for `the ticket about the printer`; "" for none."""
    detected = quoted_texts(text)
    if len(detected) == 1:
        return detected[0]
    topic = _ABOUT.search(text)
    words = _CLAUSE.split(topic[1])[0] if topic else (noun[1] if (noun := _BEFORE_NOUN.search(text)) else "")
    kept = words.split()
    while kept and kept[0].casefold() in _NO_QUERY:
        kept.pop(0)
    while kept and kept[-1].casefold() in _NO_QUERY:
        kept.pop()
    return " ".join(kept).strip(" .,;:!?'\"’")
