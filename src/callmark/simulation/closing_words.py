"""Recognize the words with which a user ends a conversation: those that the scenario's instructions give for it ("end the conversation by
saying "the session is finished""), or a plain statement that the session is over.

A question, a condition ("once the session is finished") and a negation do not end a conversation.
"""

import re

from callmark.calls.words import words

_QUOTED = r"[\"“”]([^\"“”\n]{2,120})[\"“”]|(?<!\w)['‘]([^'‘’\n]{2,120})['’](?!\w)"
_SAYING = (
    r"\b(?:say(?:ing|s)?|writ(?:e|ing)|repl(?:y|ying)|respond(?:ing)?|answer(?:ing)?|tell(?:ing)?|typ(?:e|ing)|send(?:ing)?|with|words?|"
    r"phrase|sentence|message)\b"
)
_OVER = (
    r"\b(?:the|this|our) (?:session|conversation|chat) (?:is|has been|has|can be) (?:now )?(?:finished|over|ended|complete|completed|"
    r"closed|done|concluded)\b"
)
_NAMED = re.compile(rf"{_SAYING}[^\"“'‘\n]{{0,30}}(?:{_QUOTED})|{_SAYING}(?: that)? ({_OVER})", re.IGNORECASE)
_ENDING = re.compile(
    r"\b(?:end|ends|ending|finish|finishing|close|closing|conclude|leave|stop|terminate)\b[^.]{0,20}\b(?:session|conversation|chat|"
    r"dialogue?)\b|\b(?:end|finish|close|conclude) (?:with|by)\b|\b(?:task|goal|request) (?:is|has been) (?:completed?|done|finished|"
    r"achieved)\b",
    re.IGNORECASE,
)
_COMMON_REPLIES: tuple[list[str], ...] = ([], ["yes"], ["no"], ["ok"], ["okay"], ["thanks"], ["please"])
_STATEMENT_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+|\n+")
_SESSION_OVER = re.compile(_OVER)
_GUARDS = frozenset(
    (
        *("when", "once", "until", "till", "before", "after", "if", "unless", "whether", "as", "soon"),
        *("not", "never", "isn't", "don't", "doesn't", "didn't"),
        *("say", "saying", "think", "believe"),
    )
)
_MAX_AFTER = 4  # words after the closing words: "thank you very much"
_MAX_READ = 400  # characters from the end of a turn
_MAX_INSTRUCTIONS = 20_000  # characters
_MAX_AROUND = 1000  # characters of a sentence on each side of a match


def closing_words(instructions: str) -> str:
    """Return the words with which the instructions tell the user to end the conversation; empty if they name none."""
    for line in instructions[:_MAX_INSTRUCTIONS].splitlines():
        for found in _NAMED.finditer(line):
            named = next(group for group in found.groups() if group).strip()
            if _ENDING.search(_sentence_around(line, found.start(), found.end())) and words(named) not in _COMMON_REPLIES:
                return named
    return ""


def ends_conversation(text: str, closing: str = "") -> bool:
    """Return whether one of the last two sentences of a turn ends the conversation, with these closing words or in plain words."""
    named = words(closing)
    return any(_ends(sentence, named) for sentence in _STATEMENT_END.split(text[-_MAX_READ:].strip())[-2:])


def _ends(sentence: str, named: list[str]) -> bool:
    if sentence.rstrip('"”’) ').endswith("?"):
        return False
    spoken = words(sentence)
    if named and len(named) < 3:  # a word such as "stop" also has other uses
        return spoken == named
    for start in range(len(spoken) - len(named) + 1) if named else ():
        if spoken[start : start + len(named)] == named and _is_plain(spoken[:start], spoken[start + len(named) :]):
            return True
    joined = " ".join(spoken)
    over = _SESSION_OVER.search(joined)
    return over is not None and _is_plain(joined[: over.start()].split(), joined[over.end() :].split())


def _is_plain(before: list[str], after: list[str]) -> bool:
    return len(after) <= _MAX_AFTER and not _GUARDS & {*before, *after}


def _sentence_around(line: str, start: int, end: int) -> str:
    """Return the sentence with a match, without the match: from the previous sentence's end to the next one's."""
    before = re.split(r"[.!?]\s", line[max(start - _MAX_AROUND, 0) : start])[-1]
    after = re.split(r"[.!?](?:\s|$)", line[end : end + _MAX_AROUND], maxsplit=1)[0]
    return f"{before} {line[start:end].split(chr(34), 1)[0]} {after}"
