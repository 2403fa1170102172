"""What a reply without a tool call does: ask for information, decline, or answer. A heuristic (docs/reference/metrics.md, section 20).

1. Web addresses, whose punctuation ends no sentence, and closing offers ("Anything else?", "Let me know if you need more help.") are
   dropped.
2. `ask` if a sentence ends in a question mark (`?`, `？`, `؟`) or requests information ("Please provide your order number.").
3. `decline` if a sentence says that something is not possible or not available ("I cannot help with that.", "I don't have access to …").
4. `answer` otherwise, and for an empty reply.

The patterns are English: of a reply in another language, only questions are recognized. Texts are bounded, so the time is linear.
"""

import re

from callmark.types import Behavior

_LONGEST_REPLY = 20_000  # characters at its end that are looked at
_LONGEST_SENTENCE = 1000  # characters at its beginning
_ADDRESS = re.compile(r"(?:https?://|www\.)\S*[^\s.!?？؟。！,;:)\]\"'”’]")
_SENTENCE = re.compile(r"[^.!?？؟。！\n]+[.!?？؟。！]*+")
_QUESTION_MARKS = ("?", "？", "؟")
_QUOTES = "\"'”’»)]*_` "
_END = _QUOTES + ".!?？؟。！,-–—#>"

_MORE = r"(?:anything|something) (?:else|more|further)|(?:other|further|more|additional) (?:questions?|help|assistance|information|details)"
_GIVE = (
    "provide|specify|share|tell|give|send|confirm|clarify|enter|supply|state|indicate|let me know|choose|select|describe|type|name|"
    "include|upload|attach"
)
_DO = (
    "help|assist|do|provide|access|perform|process|complete|fulfill|answer|retrieve|find|check|get|give|make|book|cancel|change|offer|"
    "support|handle|look|fetch|determine|search|send|tell|share|set|create|execute|run"
)
_MEANS = (
    "access|(?:the|any|a) (?:ability|capability|tools?|means|information|necessary|function|functions|way)|real-time|tools?|information"
)

OFFERS = (  # whole sentences
    rf"(?:is there |was there |do you need |would you like |will there be )?(?:any |some )?(?:{_MORE}).*",
    rf"(?:can|may|could) i (?:help|assist)\b.*(?:{_MORE}).*",
    r"(?:how|what) (?:else )?(?:can|may|could) i (?:help|assist|do)\b.*",
    rf"(?:please |just |and |so )*(?:let me know|feel free to|do not hesitate to|don't hesitate to)\b.*(?:\bif\b|\bshould\b|{_MORE}).*",
    rf"if (?:you|there)\b.*(?:{_MORE}|just ask|just let me know).*",
    r"i(?:'m| am) (?:always )?here (?:to help|if)\b.*",
)
REQUESTS = (
    rf"\b(?:please|kindly|could you|can you|would you)(?: please| kindly| also| then| first)? (?:{_GIVE})\b",
    r"\b(?:i|we)(?:'ll|'d| will| would| do)?(?: still| also| first)? (?:need|require)\b",
    r"\b(?:i|we)(?:'d| would)? (?:like|want) to (?:know|confirm|clarify)\b",
    r"\blet me know (?:the|your|which|what|when|where|who|how|whether)\b",
    r"\bmay i have\b",
)
REFUSALS = (
    rf"\b(?:i|we) (?:cannot|can't|can not|couldn't|could not|won't|will not)(?: currently| directly| actually)? (?:{_DO})\b",
    r"\b(?:i|we)(?:'m| am|'re| are)(?: \w+)? (?:unable to|not able to|not allowed to|not capable of|not authorized to|not equipped to)\b",
    rf"\b(?:i|we)(?: currently)? (?:do not|don't)(?: currently)? (?:have (?:{_MEANS})|support|offer|provide)\b",
    r"\b(?:that|this|it|which)(?:'s| is) (?:not (?:possible|something i|within my|supported|available)|beyond|outside)\b",
    r"\b(?:beyond|outside)(?: of)? (?:my|the scope of my) (?:\w+ )?(?:capabilities|abilities|scope|knowledge|tools|functionality)\b",
    r"\bnone of (?:the|my) (?:\w+ )?(?:tools|functions)\b",
    r"\bno (?:\w+ )?(?:tool|function) (?:is |that |for |to |which )?(?:available|can|could|allows|provided)",
)

_OFFER, _REQUEST, _REFUSAL = (re.compile("|".join(f"(?:{pattern})" for pattern in listed)) for listed in (OFFERS, REQUESTS, REFUSALS))


def reply_behavior(text: str) -> Behavior:
    """Return what a reply does. Of a long reply only the end is looked at, of a long sentence only the beginning and the last character."""
    sentences = [_fold(sentence) for sentence in _SENTENCE.findall(_ADDRESS.sub("", text[-_LONGEST_REPLY:]))]
    sentences = [sentence for sentence in sentences if sentence and not _OFFER.fullmatch(_start(sentence).strip(_END))]
    if any(sentence.rstrip(_QUOTES).endswith(_QUESTION_MARKS) or _REQUEST.search(_start(sentence)) for sentence in sentences):
        return "ask"
    return "decline" if any(_REFUSAL.search(_start(sentence)) for sentence in sentences) else "answer"


def _fold(sentence: str) -> str:
    return " ".join(sentence.casefold().replace("’", "'").split())


def _start(sentence: str) -> str:
    return sentence[:_LONGEST_SENTENCE]
