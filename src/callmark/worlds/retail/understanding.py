"""What the customer makes of what the shop says: which acts stand in a text. It goes by words alone, and knows nothing but the text."""

import re
from typing import Literal

from callmark.worlds.retail.phrasing import sentences

Act = Literal[
    "ask_email",
    "ask_name_zip",
    "not_found",
    "ask_wish",
    "ask_order",
    "wrong_order",
    "ask_items",
    "ask_wanted",
    "offer_others",
    "ask_payment",
    "other_payment",
    "ask_reason",
    "ask_address",
    "ask_topic",
    "confirm",
    "done_more",
    "refuse_more",
    "declined_more",
    "transferred",
    "goodbye",
]

_LONGEST = 20_000  # characters that are looked at
_REQUEST = re.compile(  # a sentence that wants an answer
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
_LEFT_AS_IT_IS = re.compile(
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
_OPEN = re.compile(r"\b(?:what|which)\b|\bconfirm (?:your|the) (?:e-?mail|name|zip)\b|\border (?:number|id)\b")  # wants more than a yes
_LEAVE = re.compile(
    r"\b(?:good)?bye\b|\bwelcome\b|\bpleasure\b|\btake care\b|\bhave a \w+ (?:day|evening|one|rest|week)|\benjoy your\b|\ball the best\b|"
    r"\bglad i could\b|\buntil next time\b|\banytime\b|\bthank(?:s| you) for (?:contacting|getting|reaching|shopping)"
)
_PARTS_OF_AN_ADDRESS = re.compile(r"\b(?:street|city|state)\b")
_ASKED: tuple[tuple[Act, re.Pattern[str]], ...] = (
    ("ask_email", re.compile(r"(?<!no )\be-?mail\b")),
    ("ask_name_zip", re.compile(r"\b(?:first|last|full|your) name\b|\bname\b.*\bzip\b|\bzip\b.*\bname\b")),
    ("ask_order", re.compile(r"\border (?:number|id)\b|\b(?:which|what) (?:of your |one of your )?orders?\b")),
    (
        "ask_items",
        re.compile(r"\b(?:which|what) (?:of the |of these |of those )?(?:items?|articles?|products?)\b|\bwhich of (?:them|these)\b"),
    ),
    ("ask_wanted", re.compile(r"\binstead\b|\bin place of\b|\b(?:which|what) (?:options?|version|variant|color|size)\b")),
    ("ask_payment", re.compile(r"\bpayment method\b|\bhow (?:would|do) you [\w ]{0,20}pay\b|\brefund\w* (?:go )?to\b")),
    ("ask_reason", re.compile(r"\breasons?\b|\bwhy\b")),
    ("ask_address", re.compile(r"(?<!e-mail )(?<!email )\baddress\b|\bwhere (?:should|shall|would) [\w ]{0,20}(?:sent|ship|go|deliver)")),
    ("ask_topic", re.compile(r"\bwhat (?:it|this|that) is about\b|\bwhat(?: is|'s) (?:it|this|that) about\b")),
    (
        "ask_wish",
        re.compile(r"\b(?:what|how) (?:can|may|could|shall) (?:i|we)\b|\bwhat (?:would|do) you (?:like|want|need)\b|\bwhat brings you\b"),
    ),
)


def acts_of(text: str) -> tuple[Act, ...]:
    """What the shop does in a text, in the order in which a customer answers it. What is not understood, and an empty text, is ()."""
    said = text[:_LONGEST].casefold().replace("’", "'").strip()
    if "?" not in said and _TRANSFER.search(said):
        return ("transferred",)
    requests = [sentence for sentence in sentences(said) if _REQUEST.search(sentence)]
    if not requests:
        return ("goodbye",) if _LEAVE.search(said) else ()
    asked = " ".join(requests)
    if _MORE.search(asked):
        return (_ending(said),)
    if _NOT_FOUND.search(said):
        if "zip" in asked:
            return ("not_found",)
        if "order number" in said or "which order" in asked:
            return ("wrong_order",)
    if _SOLD_OUT.search(said):
        return ("offer_others",)
    if _OTHER_PAYMENT.search(asked) and _SORRY.search(said):
        return ("other_payment",)
    found = {act for act, words in _ASKED if words.search(asked)}
    last = requests[-1]
    if _CONFIRM.search(last) and ("(yes/no)" in last or not found or not _OPEN.search(last)):
        return ("confirm",)
    return tuple(act for act, _ in _ASKED if act in found and not _is_by_the_way(act, found, asked))


def _ending(said: str) -> Act:
    """What it was that the shop told before it asks for more."""
    if _SORRY.search(said):
        return "refuse_more"
    return "declined_more" if _LEFT_AS_IT_IS.search(said) else "done_more"


def _is_by_the_way(act: Act, found: set[Act], asked: str) -> bool:
    """Whether an act is only in the words of another: an email address, the zip code of a street, `what would you like instead`."""
    if act == "ask_name_zip":
        return "ask_address" in found and "name" not in asked
    if act == "ask_address":
        return bool(found & {"ask_email", "ask_name_zip", "ask_payment"}) and not _PARTS_OF_AN_ADDRESS.search(asked)
    if act == "ask_wanted":
        return bool(found & {"ask_name_zip", "ask_items", "ask_payment"})
    return act == "ask_wish" and len(found) > 1
