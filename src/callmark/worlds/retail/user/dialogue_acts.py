"""Dialogue act recognition: what an agent asks or says in a text, from its words alone."""

import re
from typing import Literal

from callmark.worlds.retail.language.grammar import split_sentences

DialogueAct = Literal[
    "ask_email",
    "ask_name_zip",
    "inform_not_found",
    "ask_goal",
    "ask_order",
    "inform_wrong_order",
    "ask_items",
    "ask_replacement",
    "offer_alternatives",
    "ask_payment",
    "other_payment",
    "ask_reason",
    "ask_address",
    "ask_topic",
    "ask_confirmation",
    "inform_done",
    "inform_refused",
    "inform_declined",
    "inform_transfer",
    "goodbye",
]

_MAX_LENGTH = 20_000  # characters; the rest is ignored
_REQUEST = re.compile(  # a sentence that asks for an answer
    r"\?|\(yes/no\)|\byes or no\b|"
    r"^(?:(?:and|then|so|also|first|next|sure|of course)\W+)*(?:please|kindly|tell me|let me (?:know|have)|give me)\b|"
    r"^i(?:'d|'ll| will| would| just| also| still| only)* need\b|"
    r"\bplease (?:tell|give|provide|let|share|send|name|confirm|enter|reply|say|choose|check)\b"
)
_MORE = re.compile(
    r"\b(?:any|some)thing (?:else|more|further)\b|\b(?:more|else) (?:that )?(?:i|we) can\b|\bwhat else\b|\bis that all\b|"
    r"\bwill that be (?:all|everything)\b|\bany other (?:question|request|matter)|\bfurther (?:help|assistance)\b"
)
_SORRY = re.compile(
    r"\b(?:sorry|unfortunately|afraid|regret|unable|not (?:able|possible|allowed)|cannot|can't|can not|isn't possible|have to decline|"
    r"must decline)\b"
)
_UNCHANGED = re.compile(
    r"\b(?:changed|done|touched) nothing\b|\bnothing (?:was|is|has been) (?:changed|done)\b|\b(?:unchanged|untouched)\b|\bno changes?\b|"
    r"\bas (?:it|they) (?:is|are|was|were|stands?)\b|\b(?:left|leave) (?:it|everything|things)\b|\bnot (?:changed|done)\b"
)
_TRANSFER = re.compile(
    r"\b(?:transferring|transferred|transfer you)\b|"
    r"\b(?:hand|pass|connect|put|switch)(?:ing|ed)? (?:you|this|your [\w ]{1,30}) (?:over|on|through|to|with)\b"
)
_NOT_FOUND = re.compile(
    r"\b(?:could not|couldn't|cannot|can't|did not|didn't|unable to|not able to) (?:\w+ )?(?:find|locate|see|match)\b|"
    r"\bno (?:account|order|customer|match)\b"
)
_SOLD_OUT = re.compile(r"\b(?:sold out|out of stock|not (?:currently |in stock|available)|isn't available|aren't available|unavailable)\b")
_OTHER_PAYMENT = re.compile(r"\b(?:another|a different|other|different) (?:payment|way (?:to pay|of paying))")
_CONFIRM = re.compile(
    r"\byes\b|\bconfirm\w*|\bgo(?:ing)? ahead\b|\bproceed\w*|\bshall i\b|\bshould i\b|\b(?:want|like) me to\b|"
    r"\b(?:is|does|do) (?:that|this|it|everything) (?:\w+ )?(?:correct|right|okay|ok|fine|look|sound)|"
    r"(?<!why )\b(?:would you like|do you want) to\b"
)
_OPEN = re.compile(r"\b(?:what|which)\b|\bconfirm (?:your|the) (?:e-?mail|name|zip)\b|\border (?:number|id)\b")  # asks for more than a yes
_LEAVE = re.compile(
    r"\b(?:good)?bye\b|\bwelcome\b|\bpleasure\b|\btake care\b|\bhave a \w+ (?:day|evening|one|rest|week)|\benjoy your\b|\ball the best\b|"
    r"\bglad i could\b|\buntil next time\b|\banytime\b|\bthank(?:s| you) for (?:contacting|getting|reaching|shopping)"
)
_PARTS_OF_AN_ADDRESS = re.compile(r"\b(?:street|city|state)\b")
_REQUESTS: tuple[tuple[DialogueAct, re.Pattern[str]], ...] = (
    ("ask_email", re.compile(r"(?<!no )\be-?mail\b")),
    ("ask_name_zip", re.compile(r"\b(?:first|last|full|your) name\b|\bname\b.*\bzip\b|\bzip\b.*\bname\b")),
    ("ask_order", re.compile(r"\border (?:number|id)\b|\b(?:which|what) (?:of your |one of your )?orders?\b")),
    (
        "ask_items",
        re.compile(r"\b(?:which|what) (?:of the |of these |of those )?(?:items?|articles?|products?)\b|\bwhich of (?:them|these)\b"),
    ),
    ("ask_replacement", re.compile(r"\binstead\b|\bin place of\b|\b(?:which|what) (?:options?|version|variant|color|size)\b")),
    ("ask_payment", re.compile(r"\bpayment method\b|\bhow (?:would|do) you [\w ]{0,20}pay\b|\brefund\w* (?:go )?to\b")),
    ("ask_reason", re.compile(r"\breasons?\b|\bwhy\b")),
    ("ask_address", re.compile(r"(?<!e-mail )(?<!email )\baddress\b|\bwhere (?:should|shall|would) [\w ]{0,20}(?:sent|ship|go|deliver)")),
    ("ask_topic", re.compile(r"\bwhat (?:it|this|that) is about\b|\bwhat(?: is|'s) (?:it|this|that) about\b")),
    (
        "ask_goal",
        re.compile(r"\b(?:what|how) (?:can|may|could|shall) (?:i|we)\b|\bwhat (?:would|do) you (?:like|want|need)\b|\bwhat brings you\b"),
    ),
)


def parse_dialogue_acts(text: str) -> tuple[DialogueAct, ...]:
    """Return the agent's acts in the order in which a user answers them; () for an empty or unrecognized text."""
    text_folded = text[:_MAX_LENGTH].casefold().replace("’", "'").strip()
    if "?" not in text_folded and _TRANSFER.search(text_folded):
        return ("inform_transfer",)
    requests = [sentence for sentence in split_sentences(text_folded) if _REQUEST.search(sentence)]
    if not requests:
        return ("goodbye",) if _LEAVE.search(text_folded) else ()
    request_text = " ".join(requests)
    if _MORE.search(request_text):
        return (_closing_act(text_folded),)
    if _NOT_FOUND.search(text_folded):
        if "zip" in request_text:
            return ("inform_not_found",)
        if "order number" in text_folded or "which order" in request_text:
            return ("inform_wrong_order",)
    if _SOLD_OUT.search(text_folded):
        return ("offer_alternatives",)
    if _OTHER_PAYMENT.search(request_text) and _SORRY.search(text_folded):
        return ("other_payment",)
    acts = {act for act, pattern in _REQUESTS if pattern.search(request_text)}
    last = requests[-1]
    if _CONFIRM.search(last) and ("(yes/no)" in last or not acts or not _OPEN.search(last)):
        return ("ask_confirmation",)
    return tuple(act for act, _ in _REQUESTS if act in acts and not _is_incidental(act, acts, request_text))


def _closing_act(text_folded: str) -> DialogueAct:
    """Return the act that precedes the offer of further help."""
    if _SORRY.search(text_folded):
        return "inform_refused"
    return "inform_declined" if _UNCHANGED.search(text_folded) else "inform_done"


def _is_incidental(act: DialogueAct, acts: set[DialogueAct], request_text: str) -> bool:
    """Return whether an act is only part of another one's wording: an email address, the zip code of a street, `what would you like
    instead`.
    """
    if act == "ask_name_zip":
        return "ask_address" in acts and "name" not in request_text
    if act == "ask_address":
        return bool(acts & {"ask_email", "ask_name_zip", "ask_payment"}) and not _PARTS_OF_AN_ADDRESS.search(request_text)
    if act == "ask_replacement":
        return bool(acts & {"ask_name_zip", "ask_items", "ask_payment"})
    return act == "ask_goal" and len(acts) > 1
