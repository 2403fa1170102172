"""What an agent's text comes to for a user: what is asked, offered, refused, done. By words alone, and of no one agent's wording.

Nothing raises; a text in which nothing is understood, in whatever language, comes to nothing, or to a question that is not understood.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from callmark.simulation.users.rule_based.asked import by_choice, by_description, by_list, by_value, key_of, named, options_in
from callmark.simulation.users.rule_based.phrases import (
    ADDING,
    ALSO,
    ALTERNATIVE,
    CHANGE,
    CHOICE,
    CLOSING,
    CONFIRM,
    DONE,
    EVERYTHING,
    FOUND,
    HAS,
    IDENTIFIER,
    IDENTIFY,
    INTENT,
    LEAVING,
    LONG_AGO,
    MORE,
    NOT_ASKED,
    NOT_YET,
    NUMBER_IS,
    OFFER,
    OPEN,
    READ_BACK,
    REFUSAL,
    SEEN,
)
from callmark.simulation.users.rule_based.sentences import Sentence, clauses, is_wh, plain, sentences
from callmark.simulation.users.rule_based.tasks import Slot

_MOST_SENTENCES = 60  # that are looked at, from the end; and a quarter of that from the beginning
_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|(?<!\w)'([^'\n]{3,400})'(?!\w)")


class Heard(Struct):
    """What was understood of a text.

    `slots`: what is asked for, by the names of the user's own slots; `missing`: what is asked for that they have no slot for, by concept.
    `confirm`: a yes is asked for what the agent is about to do; `intent`: for what it takes them to want; `identify`: whether this is the
    one meant; `more`: whether there is something to add; `closing`: anything else; `wish`: what they want at all; `everything`, `change`:
    details in general, what is to be other. `offer` is a question whether they want something besides; `question` one that was not
    understood.
    """

    slots: list[str] = []
    missing: list[str] = []
    options: list[str] = []
    asked: str = ""
    confirm: bool = False
    intent: bool = False
    identify: bool = False
    more: bool = False
    closing: bool = False
    wish: bool = False
    everything: bool = False
    change: bool = False
    offer: str = ""
    question: bool = False
    refusal: bool = False
    alternative: bool = False
    done: bool = False
    found: bool = False


def understand(text: str, slots: Mapping[str, Slot], *, updates: bool = False) -> Heard:
    """What a text comes to for somebody who knows these things. `updates`: they want something changed, so a change may be all of it."""
    text = plain(text)
    heard = Heard()
    parts = list(sentences(text))
    if len(parts) > _MOST_SENTENCES:
        parts = parts[: _MOST_SENTENCES // 4] + parts[-_MOST_SENTENCES:]
    for sentence in parts:
        bare = _without_values(sentence.text, slots)
        if sentence.asks:
            heard.asked += f" {bare.casefold()}"
            _ask(sentence, bare, slots, heard)
        elif not sentence.listed:
            _told(sentence.text, bare.casefold(), slots, heard, updates=updates)
    if (heard.question or heard.missing) and not (heard.slots or heard.confirm or heard.closing or heard.identify):
        heard.slots += by_list(text, slots)
    heard.intent = heard.confirm and INTENT.search(heard.asked) is not None
    heard.options = options_in(parts) if heard.asked and CHOICE.search(heard.asked) else []
    heard.slots = list(dict.fromkeys(heard.slots))
    heard.missing = [key for key in dict.fromkeys(heard.missing) if key not in {key_of(slots[name]) for name in heard.slots}]
    heard.question = heard.question and not (heard.slots or heard.confirm or heard.closing or heard.more)
    if any(name for name in heard.slots if key_of(slots[name]) != "description"):
        heard.everything = False
    return heard


def _ask(sentence: Sentence, bare: str, slots: Mapping[str, Slot], heard: Heard) -> None:
    low = bare.casefold()
    if IDENTIFY.search(low) and not is_wh(low):
        heard.identify = True
        return
    if LEAVING.search(low) or (CLOSING.search(low) and not CONFIRM.search(low)):
        if MORE.search(low):
            heard.more = True
        else:
            heard.closing = True
        return
    chosen = by_choice(sentence.text, slots)
    if chosen:
        heard.slots += chosen
        return
    asking, confirming = "", False
    kind = ""
    for clause, led in clauses(bare):
        if led or not kind:
            confirms = CONFIRM.search(clause) is not None and not is_wh(clause)
            kind = "confirm" if confirms else "ask"
            confirming = confirming or confirms
        if kind == "ask":
            asking += f"{clause}, "
    if not confirming and CONFIRM.search(low) and not is_wh(asking.strip() or low) and not sentence.listed:
        confirming, asking = True, ""
    if confirming and ADDING.search(low) and not READ_BACK.search(sentence.text) and (about := named(low, slots)[0]):
        heard.slots += [name for name in about if slots[name].text.casefold() not in sentence.text.casefold()]
        heard.confirm = heard.confirm or not heard.slots
        return
    if confirming:
        if ALSO.search(low):
            heard.offer = low
        else:
            heard.confirm = True
    asking = asking.strip(", ")
    if asking:
        _what_is_asked(asking, low, sentence, slots, heard, confirming=confirming)


def _what_is_asked(asking: str, low: str, sentence: Sentence, slots: Mapping[str, Slot], heard: Heard, *, confirming: bool) -> None:
    found, missing = named(asking, slots)
    if CHANGE.search(low) and not found:
        heard.change = True
        return
    everything = EVERYTHING.search(low) is not None
    if everything and all(key_of(slots[name]) == "description" for name in found):
        heard.everything = True
        heard.slots += found
        return
    if found:
        heard.slots += found
        return
    if OPEN.search(low):
        heard.wish = True
    elif described := by_description(asking, slots):
        heard.slots += described
    elif missing and not confirming:
        heard.missing += missing
    elif sentence.listed or confirming:
        pass
    elif OFFER.search(low) and (about := by_value(low, slots)):
        heard.slots += about
    elif OFFER.search(low):
        heard.offer = low
    else:
        heard.question = True


def _told(text: str, low: str, slots: Mapping[str, Slot], heard: Heard, *, updates: bool) -> None:
    if CLOSING.search(low):
        heard.closing = True
    if CONFIRM.search(low) and re.search(r"\b(?:confirm|yes|approval|go-?ahead|otherwise)\b", low) and not NOT_ASKED.search(low):
        heard.confirm = True
    if FOUND.search(low):
        heard.found = True
    if READ_BACK.match(text) and not DONE.search(low.partition(":")[0]):
        return
    if OPEN.search(low):
        heard.wish = True
    elif REFUSAL.search(low):
        heard.refusal = True
    if ALTERNATIVE.search(low):
        heard.alternative = True
    if _is_done(text, low, slots, updates=updates):
        heard.done = True


def _is_done(text: str, low: str, slots: Mapping[str, Slot], *, updates: bool) -> bool:
    if SEEN.search(low):
        return False
    if NUMBER_IS.search(low):
        return True
    for match in DONE.finditer(low):
        before = re.split(r"[;,.!]", low[: match.start()])[-1]
        if NOT_YET.search(before) or LONG_AGO.match(low, match.end()):
            continue
        if match["part"] and not updates and _mentions_label(low[match.end() :], slots):
            continue
        if HAS.search(before) or IDENTIFIER.search(text) or (match["whole"] and len(before.split()) < 4):
            return True
    return False


def _mentions_label(text: str, slots: Mapping[str, Slot]) -> bool:
    return any(re.search(rf"\b(?:{_labels(slot)})\b", text) for slot in slots.values())


def _labels(slot: Slot) -> str:
    return "|".join(filter(None, (re.escape(slot.label.casefold()), slot.concept.read_back if slot.concept else "")))


def _without_values(text: str, slots: Mapping[str, Slot]) -> str:
    """The text without what is quoted in it and without the user's own longer values: words in these ask for nothing."""
    text = _QUOTED.sub(lambda match: match[0] if len((match[1] or match[2]).split()) < 3 else " it ", text)
    for slot in slots.values():
        value = slot.text
        if len(value.split()) > 2 and value.casefold() in text.casefold():
            text = re.sub(re.escape(value), "it", text, flags=re.IGNORECASE)
    return text
