"""Things that are commonly asked for, and the words in which people ask for them: `who` and `assign` ask for `assigned_to`.

A question is matched in lower case, one clause at a time. What a concept has matched is taken out of the clause before the next is tried,
so the narrower stand before the wider: a short description is a title.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASKED = r"(?:^|[,;:(\-–—]|\b(?:and|or|also|but|so|by|until|till|me|us|know|say|specify|state|mention|please|then|exactly|then|now)\b)\W*"
_THING = r"(?:it|this|that|the|your|a|an|my|our)"
_RECORD = r"(?:tickets?|items?|orders?|requests?|cases?|issues?|records?|entr(?:y|ies)|bookings?|reservations?|tasks?|incidents?)"


class Concept(Struct, frozen=True):
    """`label` is what people call it; `names` fits the names of arguments, `asked` the questions for it, `read_back` what stands before its
    value when it is read back. `free` text is quoted when it stands in a sentence. `values` are those it usually has.
    """

    key: str
    label: str
    names: str
    asked: str
    read_back: str = ""
    free: bool = False
    values: tuple[str, ...] = ()

    def find(self, clause: str) -> re.Match[str] | None:
        """Where a clause asks for it."""
        return _compiled(self.asked).search(clause)


CONCEPTS: Sequence[Concept] = (
    Concept(
        "title",
        "title",
        r"title|subject|headline|heading|caption|summary",
        rf"titl|subject|\bheadline|\bheading|\bcaption|\bcall(?:ed)? (?:{_THING}|them)\b|\bbe (?:called|named|labell?ed)|\bsummar|"
        rf"\bnamed?\b (?:for|of|{_THING})\b.{{0,30}}(?:{_RECORD}|\bit\b)|\b(?:what|which) name\b|\bgive it a name|\bname (?:it|this|"
        rf"the {_RECORD})|\bin (?:a few|a couple of|one or two) words|\bone[- ]lin|\bshort (?:name|description|text)|\bin short\b|"
        r"\bname should\b",
        r"title|subject|titled|called|summary|headline",
        True,
    ),
    Concept(
        "outcome",
        "expected outcome",
        r"outcome|expected result|desired result|resolution|result",
        r"outcome|\b(?:expected|desired|hoped|wanted|intended|end|target) (?:\w+ )?(?:results?|state)|\bwhat results?\b|"
        r"\blook like (?:when|once|if|after)|\b(?:what|how) (?:\w+ ){0,3}(?:you|they|everyone)(?:'d| would| are| do)? ?(?:expect|hop|"
        r"hope|hoping|aiming|want to (?:see|have|achieve)|like to (?:see|achieve|have))|\bachiev|\bsuccess|\bresolution|"
        r"\bbe (?:satisfied|happy|solved|resolved|fixed|considered)|\bshould (?:it )?happen|\bgood result|\bbe different|"
        r"\bhow (?:will|would|do|shall|can) (?:we|you|i) (?:know|tell)|\bhappy with|\bcount as (?:solved|done|fixed|resolved)|"
        r"\bdefinition of done|\bconsider (?:it|this) (?:solved|done|fixed|resolved)",
        r"expected outcome|outcome|expected result|desired outcome|desired result",
        True,
    ),
    Concept(
        "due",
        "due date",
        r"due date|due|deadline|due by|finish by|target date|until",
        rf"\bdue\b|deadline|{_ASKED}when\b(?! (?:did|was|were|has|have|had)\b)|\bby when|\buntil when|\bwhat date|\bwhich (?:date|day)|"
        r"\bwhat day|\bhow soon|\bdate\b|\btime ?frame|\btime ?line|\b(?:be )?(?:finish|complet|done|ready|deliver)\w* by\b|"
        r"\bby what\b|\btime limit|\btarget date|\bhow much time|\bhow long (?:do|does|can|may) (?:we|they|he|she|i)\b",
        r"due date|due|deadline|due on|due by|to be done by",
    ),
    Concept(
        "assignee",
        "assignee",
        r"assigned to|assignee|assigned|assign to|owner|responsible|assignee name|person responsible",
        rf"\bassign|{_ASKED}(?:to |for )?who(?:m|se|'s|'ll)?\b(?! (?:are you|is (?:affected|this|calling|speaking)|am i|(?:is|"
        r"was) reporting))|\bowner|\bown (?:it|this)|\bresponsible|\bin charge|\bwhich (?:person|colleague|engineer|employee|"
        r"technician)|\bperson (?:to|who|for)|\bpick it up|\btake (?:it|this|that|care of|on)\b|\bwhose\b|\bname of the (?:person|"
        r"colleague|owner)|\bhandled by\b|\bdelegate",
        r"assigned to|assignee|owner|responsible|assign to|assigned",
    ),
    Concept(
        "department",
        "department",
        r"department|dept|team|division|unit|department code",
        r"department|\bdept|\bteams?\b|\bdivision|\bbusiness unit|\bwhich (?:unit|area|group|part of)|\bpart of the (?:company|"
        r"organi)|\bgroup (?:should|will|is|to)",
        r"department code|department|dept\.?|team|division",
    ),
    Concept(
        "priority",
        "priority",
        r"priority|urgency|severity|importance|priority level",
        r"priorit|\burgen|\bhow (?:\w+ )?(?:important|critical|severe|serious|pressing|quick|quickly|fast|bad)\b|severity|"
        r"\bimportance|\bimpact\b|\bcan (?:it|this) wait|\bemergency|\bhurry|\brush\b|\bprioriti[sz]e",
        r"priority level|priority|urgency|severity",
        False,
        ("low", "medium", "high", "critical", "urgent", "normal"),
    ),
    Concept(
        "workflow",
        "workflow type",
        r"workflow|workflow type|process type|process|procedure",
        r"work ?flow|\bwhich (?:process|procedure|track|route)|\bwhat (?:process|procedure|track|route)|\bprocess(?:ing)? (?:type|"
        r"track|should|do|would)|\bprocess (?:it|this)|\bfast[- ]?track|\btrack\b|\bprocedure|\bkind of (?:process|handling)|"
        r"\btype of (?:process|handling)|\bhow (?:should|shall) \w+ be (?:handled|processed)",
        r"workflow type|workflow|process|procedure",
        False,
        ("standard", "expedited"),
    ),
    Concept(
        "status",
        "status",
        r"status|state|new status|ticket status",
        r"\bstatus|\b(?:which|what|new|current) state\b|\bmark(?:ed)? (?:it|this|the \w+)? ?as\b|\bmove(?:d)? (?:it )?to\b|"
        r"\bset (?:it|this) to\b",
        r"new status|status|state",
    ),
    Concept(
        "query",
        "search term",
        r"query|keywords?|search|search (?:text|term|query|terms)|text|q|term",
        r"\bsearch|\blook(?:ing)? (?:for|up)|\bkey ?word|\bto find\b|\bfind (?:it|them)\b|\bterms?\b|\bwhat (?:\w+ ){0,4}find\b",
        r"search term|query|keywords?|search for",
    ),
    Concept(
        "email",
        "email address",
        r"email|e mail|email address|mail",
        r"\be-?mail|\bmail address",
        r"e-?mail address|e-?mail",
    ),
    Concept(
        "phone",
        "phone number",
        r"phone|phone number|telephone|mobile|cell|contact number",
        r"\bphone|telephone|\bmobile|\bcell\b|\bnumber (?:can|to|do|should|may) .{0,20}(?:reach|call)|\bcall you (?:back|on|at)|"
        r"\bcontact number",
        r"phone number|phone|telephone|mobile",
    ),
    Concept(
        "id",
        "ID",
        r".* id|id|.* number|.* reference|reference|number|.* key",
        r"\bids?\b|\bidentifier|\b(?:ticket|item|order|case|reference|request|booking|reservation|confirmation|account|user|customer|"
        rf"incident|task|record) (?:numbers?|no\b|ref|code|key)|\breference\b|\b(?:which|what) (?:\w+ )?{_RECORD}\b|\bwhich one|"
        rf"\bwhich of (?:these|them|those)|\bnumber of (?:the|that|this|your) {_RECORD}\b",
        "",
    ),
    Concept(
        "quantity",
        "quantity",
        r"quantity|count|amount of .*|number of .*|.* count|units",
        r"\bhow many|quantit|\bnumber of\b(?! (?:the|that|this|your)\b)|\bcount\b",
        r"quantity|count|number",
    ),
    Concept(
        "amount",
        "amount",
        r"amount|price|cost|budget|total|sum",
        r"\bhow much\b|\bamount|\bprice|\bcosts?\b|\bbudget|\bspend",
        r"amount|price|cost|budget|total",
    ),
    Concept("time", "time", r"time|start time|hour", r"\bwhat time|\bwhich hour|\bwhat hour|\btime\b|\bo'?clock", r"time"),
    Concept(
        "duration",
        "duration",
        r"duration|length|nights|days|hours",
        r"\bhow long|\bduration|\bhow many (?:nights|days|hours|weeks)",
        r"duration",
    ),
    Concept(
        "origin",
        "origin",
        r"origin|from|departure|from city|source",
        r"\borigin\b|\bfrom where|\bwhere .{0,40}\bfrom\b|\bdepart(?:ure|ing|s)?\b|\bleav(?:e|ing) from|\bstarting (?:point|from)",
        r"origin|from|departure",
    ),
    Concept(
        "destination",
        "destination",
        r"destination|to|arrival|to city|target",
        r"\bdestination|\bwhere .{0,40}\b(?:to|go|going|fly|travel|head)\b|\barriv|\bto where",
        r"destination|to|arrival",
    ),
    Concept(
        "date",
        "date",
        r"date|day|start date|date of .*|when",
        rf"\bdate\b|{_ASKED}when\b(?! (?:did|was|were|has|have|had)\b)|\b(?:what|which) day\b|\bwhen (?:should|would|do|is|does)",
        r"date|day",
    ),
    Concept(
        "name",
        "name",
        r"name|full name|your name|customer name|first name|user name",
        r"\b(?:your|full|first|last|customer'?s?|the) name\b|\bname,? please|\bwho am i (?:speaking|talking)|\bcalled\b",
        r"name",
    ),
    Concept(
        "address",
        "address",
        r"address|street|shipping address|delivery address",
        r"\baddress|\bstreet|\bwhere .{0,40}(?:deliver|ship|send|sent)",
        r"address",
    ),
    Concept(
        "location",
        "location",
        r"location|city|place|town|office|site|room|building",
        rf"\blocation|{_ASKED}where\b|\bcity|\bplace\b|\btown|\bwhich (?:office|site|building|room|city)|\bwhat (?:city|place)",
        r"location|city|place|office",
    ),
    Concept(
        "reason", "reason", r"reason|cause|justification", rf"\breason|{_ASKED}why\b|\bcause\b|\bhow come|\bjustif", r"reason|cause", True
    ),
    Concept(
        "comment",
        "comment",
        r"comments?|notes?|remarks?|message",
        r"\bcomment|\bnotes?\b|\bremark|\bmessage\b",
        r"comment|note|remark",
        True,
    ),
    Concept(
        "category",
        "category",
        r"category|type|kind|.* type",
        r"\bcategor|\b(?:what|which) (?:kind|type|sort)|\b(?:kind|type|sort) of\b",
        r"category|type|kind",
    ),
    Concept(
        "description",
        "description",
        r"description|details?|body|problem|issue|explanation|content",
        r"descri(?:be|ption|bing)|\bwent wrong|\bdetail|\bwhat(?:'s| is| was|'re)? (?:exactly |actually |really )?(?:happen\w*|"
        r"going on|wrong|broken|the (?:exact )?(?:problem|issue|matter|trouble))|\btell (?:me|us) (?:more|about|a (?:bit|little)|"
        r"what (?:is|has|happen\w*|went|goes))|\bexplain|\belaborat|\bmore (?:about|information|info|context)|\bwhat seems|"
        r"\bbackground|\bwhat (?:exactly )?(?:has happened|happened|happens|needs? to be done|has to be done|should be done|"
        r"needs doing|(?:exactly |precisely )?(?:do|does|will|must|should) \w+(?: \w+)? (?:have|need) to do|"
        r"is the \w+ about|is (?:it|this) about|does (?:it|this) involve|does (?:the|that) (?:\w+ )+(?:involve|consist))|"
        r"\bin (?:more|your own) (?:words|depth)|\bwalk me through|\bsymptom|\bbody\b|\bwhat (?:are you|is the user) experiencing",
        r"description|details|problem",
        True,
    ),
)

_WIDER = {"description": "title", "title": "description", "date": "due", "due": "date"}  # asked for one, a person gives the other


_SAYS_LITTLE = ("name", "code", "type", "text", "value", "level")  # at the end of an argument's name


def concept_of(name: str) -> Concept | None:
    """What kind of thing an argument is, by its name; None for a name that says nothing common."""
    words = " ".join(name_words(name))
    found = next((concept for concept in CONCEPTS if _compiled(concept.names).fullmatch(words)), None)
    if found is None and len(words.split()) > 1:
        parts = words.split()
        shorter = [" ".join(parts[1:]), " ".join(parts[:-1]), parts[-1]]
        if parts[-1] in _SAYS_LITTLE:
            shorter[:2] = shorter[1], shorter[0]
        found = next((concept for words in shorter for concept in CONCEPTS if _compiled(concept.names).fullmatch(words)), None)
    if found is not None and found.key in ("id", "name", "date", "time", "category", "location", "address", "quantity", "amount"):
        return Concept(found.key, _labelled(words), found.names, found.asked, _read_back(words, found), found.free, found.values)
    return found


def name_words(name: str) -> list[str]:
    """`dueDate`, `due_date`, `due-date` → `due date`, in lower case."""
    return re.sub(r"[^\w]+|_", " ", _CAMEL.sub(" ", name)).casefold().split() or [name.casefold()]


def instead_of(key: str) -> str:
    """What a person tells who does not know what is asked for, but knows something near it; empty where there is nothing near."""
    return _WIDER.get(key, "")


def _labelled(words: str) -> str:
    return re.sub(r"\bid\b", "ID", words)


def _read_back(words: str, found: Concept) -> str:
    return f"{re.escape(words)}|{found.read_back}" if found.read_back and found.key != "id" else re.escape(words)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
