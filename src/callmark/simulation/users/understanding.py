"""What an agent's text comes to for a user: what is asked, offered, refused, done. By words alone, and of no one agent's wording.

Nothing raises; a text in which nothing is understood, in whatever language, comes to nothing, or to a question that is not understood.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from callmark.simulation.users.concepts import CONCEPTS, name_words
from callmark.simulation.users.sentences import Sentence, bullets, clauses, plain, sentences
from callmark.simulation.users.tasks import Slot

IDENTIFIER = re.compile(r"\b[A-Z]{2,10}[-#_ ]?[0-9]{1,10}\b|#[0-9]{1,10}\b")
_GENERIC = frozenset(
    "id code type name number date text value key new the of to by for at in is has on and or a an it be level ticket item user".split()
)
_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|(?<!\w)'([^'\n]{3,400})'(?!\w)")
_STEM = re.compile(r"(?:ies|es|s|ed|ing|d)$")
_WORD = re.compile(r"[^\W_][\w'-]*")
_READ_BACK = re.compile(r"^[^:=|\n]{1,40}(?::|=|\s\|)\s*\S")

_CONFIRM = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b(?! (?:help|do for|assist|use|call|put|ask|have|know))|\b(?:is|are|was|does|do|did) (?:that|this|these|those|it|everything|all|the|they|my|i|what i)"
    r"\b.{0,80}\b(?:correct|right|ok|okay|fine|accurate|good|alright|correctly|as you want|in order|complete|match|matches)\b|\b(?:looks?|sounds?|seems?) (?:\w+ )?(?:good|right|ok|okay|fine|"
    r"correct|alright|accurate)|\bconfirm|\b(?:go|going) ahead\b|\bproceed\b|\bok(?:ay)? (?:to|for me to|if i)\b|\bready (?:to|for me to)\b|\bare you sure|\bdo you (?:agree|approve)|"
    r"\byes or no|\by/n\b|\b(?:want|like|wish|prefer)(?: for)? me to\b|(?:^|[\s,])(?:correct|right|ok|okay|agreed|yes|approved|all good|good to go|deal)\W*$|"
    r"\b(?:reply|say|type|answer|respond|write|enter|send)\b.{0,30}\b(?:yes|ok|confirm|y)\b|\b(?:your|for) (?:confirmation|approval|go-?ahead|consent)|\bdid i (?:get|understand|catch)|"
    r"\bhave i (?:got|understood)|\bdo i have (?:that|it|this|everything)|\botherwise i'?(?:ll| will)|\bgreen light|\bgood to go|\bsubmit (?:it|this|that)\b|\bcreate it\?|\bapprove"
)
_IDENTIFY = re.compile(
    r"\b(?:is|was) (?:this|that|it) (?:the|your) (?:one|\w+ (?:you|that)|right|correct|ticket|item|record|order)|\bdo you mean\b|\bdid you mean\b|\bis that the one\b|\bthe one you mean"
)
_ALSO = re.compile(r"\b(?:also|another|as well|too|additionally|in addition|further|next)\b")
_CLOSING = re.compile(
    r"\b(?:any|some)(?:thing)? ?(?:else|further|more)\b|\bwhat else\b|\bfurther (?:assistance|help|questions)|\bother (?:questions|requests|issues|matters)|\b(?:let me|let us) know if (?:you|there|i can)|"
    r"\bmore (?:i|we) can (?:do|help)|\belse (?:i|we) can|\bfeel free to|\bhappy to help with\b|\banything you need\b|\bis that all\b|\bwill that be all|\bwould that be all|\bend (?:the|this|our) (?:session|chat|"
    r"conversation)|\bare we (?:done|finished)|\bis there more\b"
)
_MORE = re.compile(
    r"\b(?:to|you'd like to|want to|should|i should|you want to|like me to) (?:add|include|change|mention|adjust|correct|know|note|modify)|\bbefore i\b|\bto (?:the|this|that) (?:ticket|item|"
    r"request|order|description)\b|\babout (?:the|this) (?:ticket|item|issue|problem|request)\b"
)
_OPEN = re.compile(
    r"\b(?:how|what) (?:can|may|could|might|should) (?:i|we) (?:\w+ )?(?:help|do for|do you|assist|be of)|\bwhat (?:would|do|did) you (?:like|want|need|wish)(?: me)?(?: to do| help(?: with)?| done| today| from me)?\W*$|"
    r"\bwhat can i do|\bhow (?:can|may) i\b|\bwhat brings you|\bwhat do you need|\bwhat(?:'s| is) your (?:request|question|concern)|\bwhat are you (?:after|trying to do)|\bwhat is it you|\brephrase|\bsay that again|"
    r"\bdidn't (?:understand|get|catch)|\bdid not (?:understand|get|catch)|\bdon't understand|\bnot sure (?:what|i understand)|\bcould you clarify|\bwhat can we do"
)
_CHANGE = re.compile(r"\b(?:what|which)\b.{0,60}\b(?:chang|updat|edit|modif|alter|correct(?:ed|ion)|adjust)|\bwhich fields?\b|\bnew values?\b")
_EVERYTHING = re.compile(
    r"\b(?:all|any|the|following|some|necessary|required|more|few|your|these|relevant|remaining|its|with) (?:\w+ ){0,2}(?:details|information|info|specifics|fields|particulars|data)\b|\bin one go\b|\ball at once\b|"
    r"\bfill (?:in|out)\b"
)
_OFFER = re.compile(
    r"\b(?:would|do|will|shall|should|can|could|may) (?:you|i|we)\b.{0,20}\b(?:like|want|need|also|wish|care|add|set|create|assign|attach|link|notify|send|prefer)\b|\bwant (?:to|me)\b|\binterested in\b"
)
_REFUSAL = re.compile(
    r"\b(?:i|we|you|this|that|it|which)(?: am|'m| are|'re| is|'s|'ll| will)? (?:\w+ ){0,2}?(?:can't|cannot|can not|could not|couldn't|won't|unable|not able|not allowed|not permitted|not possible|not authori[sz]ed|not supported|not available)\b|"
    r"\b(?:isn't|aren't|not) (?:something|allowed|permitted|possible|supported|within|in my power)|\bagainst (?:\w+ )?(?:policy|policies|rules)|\b(?:policy|rules) (?:doesn't|does not|do not|don't|prohibits?|forbids?)|"
    r"\b(?:don't|do not) have (?:\w+ )?(?:permission|access|the ability|a way|the right|authority)|\bno (?:way|permission)\b|\bforbidden|\bprohibited|\b(?:must|have to) (?:decline|refuse)|\bi refuse|\bdeclined?\b|\bonly (?:\w+ )?(?:admin\w*|managers?|"
    r"supervisors?|staff) (?:can|may)|\boutside (?:of )?(?:what|my)|\b(?:failed|went wrong|error occurred|didn't work|did not work)\b|\bthere(?:'s| is) no (?:function|option|tool|way)"
)
_ALTERNATIVE = re.compile(r"\binstead\b|\balternativ|\bbut (?:i|we) can\b|\bwhat i can do\b|\bhowever,? i can\b|\brather\b|\bi can only\b")
_DID = (
    r"created|opened|saved|submitted|logged|assigned|closed|registered|filed|raised|booked|cancelled|canceled|completed|scheduled|removed|deleted|sent|finished|reopened|resolved|placed|stored|"
    r"linked|attached|processed|generated|issued|set up|escalated|done|in place|on file|in the system|taken care of|sorted|all set|set for you"
)
_DID_PART = r"added|updated|changed|set|entered|applied|modified|adjusted|moved|marked|edited"
_DONE = re.compile(rf"\b(?:(?P<whole>{_DID})|(?P<part>{_DID_PART}))\b")
_NOT_YET = re.compile(
    r"\b(?:will|would|'ll|shall|to be|be|not|once|after|before|if|when|until|could|can|cannot|unless|about to|ready|going|draft|should|must|needs?|want|being|never|may|how|nothing|almost|get|getting|while)\b|n't\b|'ll\b|'d\b"
)
_HAS = re.compile(r"\b(?:has|have|was|were|is|are|been|successfully|now|just|i|we|all|it|that|everything)\b|'ve\b|'s\b|^\W*$")
_NUMBER_IS = re.compile(r"\b(?:reference|number|id|ticket)\b.{0,20}\b(?:is|:)\s*[a-z]{0,10}[-#]?[0-9]|\byou(?:'ll| will| can) find it (?:as|under)")
_FOUND = re.compile(
    r"\bfound\b|\bhere (?:is|are)\b|\bhere's\b|\bthere (?:is|are)\b|\b(?:results?|answer|matches)\b|\bno (?:\w+ )?(?:tickets|results|matches|items)\b|\bcurrently\b|\bshows?\b|\bit is\b|\bhave a look\b"
)
_CHOICE = re.compile(
    r"\b(?:which|choose|choice|pick|select|options?|one of|prefer|either|following)\b|(?:\bor\b|/)"
)
_INLINE = re.compile(r"\(([^()\n]{3,200})\)|:\s*([^:?\n]{3,200}\bor\b[^:?\n]{1,60})|\b((?:[\w'-]{1,30}(?: [\w'-]{1,30})?, ?){1,8}(?:or|and/or) [\w'-]{1,30}(?: [\w'-]{1,30})?)")
_UPDATING = re.compile(r"\b(?:updat|chang|edit|set|clos|mov|mark|add|assign|modif|adjust|reopen|resolv)")


class Heard(Struct):
    """What was understood of a text.

    `slots`: what is asked for, by the names of the user's own slots; `missing`: what is asked for that they have no slot for, by concept.
    `confirm`: a yes is asked for what the agent is about to do; `identify`: whether this is the one meant; `more`: whether there is
    something to add; `closing`: anything else; `wish`: what they want at all; `everything`, `change`: details in general, what is to be other.
    `offer` is a question whether they want something besides; `question` one that was not understood.
    """

    slots: list[str] = []
    missing: list[str] = []
    options: list[str] = []
    asked: str = ""
    confirm: bool = False
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


def understand(text: str, slots: Mapping[str, Slot], *, goal: str = "") -> Heard:
    """What a text comes to for somebody who knows these things and wants that."""
    text = plain(text)
    heard = Heard()
    parts = list(sentences(text))
    updating = _UPDATING.search(goal.casefold()) is not None
    for sentence in parts:
        bare = _without_values(sentence.text, slots)
        if sentence.asks:
            heard.asked += f" {bare.casefold()}"
            _ask(sentence, bare, slots, heard)
        elif not sentence.listed:
            _told(sentence.text, bare.casefold(), slots, heard, updating=updating)
    heard.options = _options(parts) if heard.asked and _CHOICE.search(heard.asked) else []
    heard.slots = list(dict.fromkeys(heard.slots))
    heard.missing = [key for key in dict.fromkeys(heard.missing) if key not in {_key(slots[name]) for name in heard.slots}]
    if any(name for name in heard.slots if _key(slots[name]) != "description"):
        heard.everything = False
    return heard


def asked_slots(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slots that the questions in a text are about."""
    return understand(text, slots).slots


def _ask(sentence: Sentence, bare: str, slots: Mapping[str, Slot], heard: Heard) -> None:
    low = bare.casefold()
    if _IDENTIFY.search(low):
        heard.identify = True
        return
    if _CLOSING.search(low) and not _CONFIRM.search(low):
        if _MORE.search(low):
            heard.more = True
        else:
            heard.closing = True
        return
    chosen = _by_choice(sentence.text, slots)
    if chosen:
        heard.slots += chosen
        return
    asking, confirming = "", False
    kind = ""
    for clause, led in clauses(bare):
        if led or not kind:
            confirms = _CONFIRM.search(clause) is not None and not _is_wh(clause)
            kind = "confirm" if confirms else "ask"
            confirming = confirming or confirms
        if kind == "ask":
            asking += f"{clause}, "
    if not confirming and _CONFIRM.search(low) and not _is_wh(asking.strip() or low) and not sentence.listed:
        confirming, asking = True, ""
    if confirming:
        if _ALSO.search(low):
            heard.offer = low
        else:
            heard.confirm = True
    asking = asking.strip(", ")
    if asking:
        _what_is_asked(asking, low, sentence, slots, heard, confirming=confirming)


def _what_is_asked(asking: str, low: str, sentence: Sentence, slots: Mapping[str, Slot], heard: Heard, *, confirming: bool) -> None:
    found, missing = _named(asking, slots)
    if _CHANGE.search(low) and not found:
        heard.change = True
        return
    everything = _EVERYTHING.search(low) is not None
    if everything and all(_key(slots[name]) == "description" for name in found):
        heard.everything = True
        heard.slots += found
        return
    if found:
        heard.slots += found
        return
    if _OPEN.search(low):
        heard.wish = True
    elif missing and not confirming:
        heard.missing += missing
    elif described := _by_description(asking, slots):
        heard.slots += described
    elif sentence.listed or confirming:
        pass
    elif _OFFER.search(low):
        heard.offer = low
    else:
        heard.question = True


def _told(text: str, low: str, slots: Mapping[str, Slot], heard: Heard, *, updating: bool) -> None:
    if _CLOSING.search(low):
        heard.closing = True
    if _CONFIRM.search(low) and re.search(r"\b(?:confirm|yes|approval|go-?ahead|otherwise)\b", low) and not _NOT_ASKED.search(low):
        heard.confirm = True
    if _READ_BACK.match(text) and not _DONE.search(low.partition(":")[0]):
        return
    if _REFUSAL.search(low):
        heard.refusal = True
    if _ALTERNATIVE.search(low):
        heard.alternative = True
    if _OPEN.search(low):
        heard.wish = True
    if _is_done(text, low, slots, updating=updating):
        heard.done = True
    if _FOUND.search(low):
        heard.found = True


_NOT_ASKED = re.compile(r"\b(?:confirmed|thanks|thank you|confirms|will (?:be )?confirm|email|confirmation (?:number|e-?mail|message))\b")


def _is_done(text: str, low: str, slots: Mapping[str, Slot], *, updating: bool) -> bool:
    if _NUMBER_IS.search(low):
        return True
    for match in _DONE.finditer(low):
        before = re.split(r"[;,.!]", low[: match.start()])[-1]
        if _NOT_YET.search(before):
            continue
        if match["part"] and not updating and _mentions_label(low[match.end() :], slots):
            continue
        if _HAS.search(before) or IDENTIFIER.search(text):
            return True
    return False


def _mentions_label(text: str, slots: Mapping[str, Slot]) -> bool:
    return any(re.search(rf"\b(?:{_labels(slot)})\b", text) for slot in slots.values())


def _labels(slot: Slot) -> str:
    return "|".join(filter(None, (re.escape(slot.label.casefold()), slot.concept.read_back if slot.concept else "")))


def _named(clause: str, slots: Mapping[str, Slot]) -> tuple[list[str], list[str]]:
    """The slots that a clause names, in the order in which it does, and the concepts that it asks for besides."""
    found: dict[str, int] = {}
    by_name = {name: place for name, slot in slots.items() if (place := _own_name(clause, slot)) >= 0}
    found |= by_name
    left = clause
    missing: dict[str, int] = {}
    for concept in CONCEPTS:
        match = concept.find(left)
        if match is None:
            continue
        ours = [name for name, slot in slots.items() if _key(slot) == concept.key]
        named = [name for name in ours if name in by_name]
        for name in named or ours:
            found.setdefault(name, match.start())
        if ours:
            left = f"{left[: match.start()]}{' ' * len(match[0])}{left[match.end() :]}"
        else:
            missing.setdefault(concept.key, match.start())
    return sorted(found, key=found.__getitem__), sorted(missing, key=missing.__getitem__)


def _own_name(clause: str, slot: Slot) -> int:
    """Where a clause says the name of a slot: all of it, or its last word that means something."""
    words = name_words(slot.name)
    whole = re.search(rf"\b{'[ _-]?'.join(map(re.escape, words))}", clause)
    if whole:
        return whole.start()
    telling = [word for word in words if word not in _GENERIC]
    if not telling or slot.concept is not None:
        return -1
    match = re.search(rf"\b{re.escape(_stem(telling[-1]))}(?:y|ies|e|es|s|d|ed|ing)?\b", clause)
    return match.start() if match else -1


def _stem(word: str) -> str:
    return _STEM.sub("", word) if len(word) > 4 else word


def _by_description(clause: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slot whose description in the tools shares most words with a clause; at least two, or one that no other description has."""
    asked = {_stem(word) for word in _WORD.findall(clause) if len(word) > 3}
    described = {
        name: {_stem(word) for word in _WORD.findall(slot.described.casefold()) if len(word) > 3} - _COMMON for name, slot in slots.items()
    }
    scores = {}
    for name, words in described.items():
        shared = words & asked
        alone = [word for word in shared if len(word) > 4 and sum(word in other for other in described.values()) == 1]
        if len(shared) > 1 or alone:
            scores[name] = len(shared) + len(alone)
    best = max(scores.values(), default=0)
    return [name for name, score in scores.items() if score == best]


_COMMON = frozenset(_stem(word) for word in "what which this that with from have should would could will your please ticket item issue they them there when".split())


def _by_choice(text: str, slots: Mapping[str, Slot]) -> list[str]:
    """The slots whose value is one of the alternatives that a question names: `Standard or Expedited?`"""
    low = text.casefold()
    if " or " not in low and "/" not in low:
        return []
    found = []
    for name, slot in slots.items():
        value = slot.text.casefold()
        if not value or len(value.split()) > 3 or (len(value) < 4 and slot.text not in text):
            continue
        shown = re.escape(value)
        if re.search(rf"(?:\bor|/)\s*(?:(?:rather|is it|a|an|the)\s+)?[\"']?{shown}\b", low) or re.search(
            rf"\b{shown}[\"']?(?:\s+\w+)?(?:,?\s+or\b(?! (?:do|would|should|shall|is|are|not|no|change|can|you|need|want)\b)|\s?/\s?\w|(?:,\s*[\w -]{{1,25}}){{1,6}},?\s+or\b)", low
        ):
            found.append(name)
    return found


def _options(parts: Sequence[Sentence]) -> list[str]:
    """What may be chosen from: the lines of a list, or what stands between commas and `or`."""
    listed = [line for line in bullets(parts) if not _READ_BACK.match(line) or IDENTIFIER.search(line)]
    if len(listed) > 1:
        return listed[:30]
    for sentence in parts:
        if sentence.asks and (match := _INLINE.search(sentence.text)):
            inside = next(filter(None, match.groups()))
            found = [part.strip(" .?!\"'") for part in re.split(r",|/|\bor\b|;|\|", inside) if part.strip(" .?!\"'")]
            if len(found) > 1:
                return found
    return listed


def _without_values(text: str, slots: Mapping[str, Slot]) -> str:
    """The text without what is quoted in it and without the user's own longer values: words in these ask for nothing."""
    text = _QUOTED.sub(lambda match: match[0] if len((match[1] or match[2]).split()) < 3 else " it ", text)
    for slot in slots.values():
        value = slot.text
        if len(value.split()) > 2 and value.casefold() in text.casefold():
            text = re.sub(re.escape(value), "it", text, flags=re.IGNORECASE)
    return text


def _is_wh(clause: str) -> bool:
    return re.match(r"(?:(?:and|so|now|then|also|but|or|please|ok|okay)\s+)*(?:(?:to|for|by|in|from|at|on|under|until)\s+)?(?:what|which|who|whom|whose|when|where|why|how)\b", clause) is not None


def _key(slot: Slot) -> str:
    return slot.concept.key if slot.concept else slot.name
