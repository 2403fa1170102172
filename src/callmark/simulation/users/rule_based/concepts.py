"""Concepts that agents commonly ask for, and how they ask for them: `who` and `assign` ask for `assigned_to`.

A question is matched in lower case, clause by clause. The text that a concept matches is removed before the next concept is tried, so
specific concepts come before general ones: a short description is a title.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASKING = r"(?:^|[,;:(\-–—]|\b(?:and|or|also|but|so|by|until|till|me|us|know|say|specify|state|mention|please|then|exactly|then|now)\b)\W*"
_ARTICLE = r"(?:it|this|that|the|your|a|an|my|our)"
_RECORD_NOUN = r"(?:tickets?|items?|orders?|requests?|cases?|issues?|records?|entr(?:y|ies)|bookings?|reservations?|tasks?|incidents?)"


class Concept(Struct, frozen=True):
    """A kind of slot. `label` is the name that people use. Patterns match argument names, questions, and the label in a read-back.

    Free text is quoted in sentences. `values` are common values.
    """

    key: str
    label: str
    argument_names: str
    questions: str
    read_back_labels: str = ""
    is_free_text: bool = False
    values: tuple[str, ...] = ()

    def find(self, clause: str) -> re.Match[str] | None:
        """Return the match where a clause asks for the concept, or None."""
        return _compiled(self.questions).search(clause)


CONCEPTS: Sequence[Concept] = (
    Concept(
        "title",
        "title",
        r"title|subject|headline|heading|caption|summary",
        rf"titl|subject|\bheadline|\bheading|\bcaption|\bcall(?:ed)? (?:{_ARTICLE}|them)\b|\bbe (?:called|named|labell?ed)|\bsummar|"
        rf"\bnamed?\b (?:for|of|{_ARTICLE})\b.{{0,30}}(?:{_RECORD_NOUN}|\bit\b)|\b(?:what|which) name\b|\bgive it a name|\bname (?:it|this|"
        rf"the {_RECORD_NOUN})|\bin (?:a few|a couple of|one or two) words|\bone[- ]lin|\bshort (?:name|description|text)|\bin short\b|"
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
        rf"\bdue\b|deadline|{_ASKING}when\b(?! (?:did|was|were|has|have|had)\b)|\bby when|\buntil when|\bwhat date|\bwhich (?:date|day)|"
        r"\bwhat day|\bhow soon|\bdate\b|\btime ?frame|\btime ?line|\b(?:be )?(?:finish|complet|done|ready|deliver)\w* by\b|"
        r"\bby what\b|\btime limit|\btarget date|\bhow much time|\bhow long (?:do|does|can|may) (?:we|they|he|she|i)\b",
        r"due date|due|deadline|due on|due by|to be done by",
    ),
    Concept(
        "assignee",
        "assignee",
        r"assigned to|assignee|assigned|assign to|owner|responsible|assignee name|person responsible",
        rf"\bassign|{_ASKING}(?:to |for )?who(?:m|se|'s|'ll)?\b(?! (?:are you|is (?:affected|this|calling|speaking)|am i|(?:is|"
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
        rf"incident|task|record) (?:numbers?|no\b|ref|code|key)|\breference\b|\b(?:which|what) (?:\w+ )?{_RECORD_NOUN}\b|\bwhich one|"
        rf"\bwhich of (?:these|them|those)|\bnumber of (?:the|that|this|your) {_RECORD_NOUN}\b",
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
        rf"\bdate\b|{_ASKING}when\b(?! (?:did|was|were|has|have|had)\b)|\b(?:what|which) day\b|\bwhen (?:should|would|do|is|does)",
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
        rf"\blocation|{_ASKING}where\b|\bcity|\bplace\b|\btown|\bwhich (?:office|site|building|room|city)|\bwhat (?:city|place)",
        r"location|city|place|office",
    ),
    Concept(
        "reason",
        "reason",
        r"reason|cause|justification",
        rf"\breason|{_ASKING}why\b|\bcause\b|\bhow come|\bjustif",
        r"reason|cause",
        True,
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

# a user who is asked for one may answer with the other
_RELATED = {"description": "title", "title": "description", "date": "due", "due": "date"}
_GENERIC_SUFFIXES = ("name", "code", "type", "text", "value", "level")  # of argument names


def find_concept(name: str) -> Concept | None:
    """Return the concept of an argument by its name, or None for an uncommon name."""
    words = " ".join(name_words(name))
    concept = next((each for each in CONCEPTS if _compiled(each.argument_names).fullmatch(words)), None)
    if concept is None and len(words.split()) > 1:
        parts = words.split()
        partial_names = [" ".join(parts[1:]), " ".join(parts[:-1]), parts[-1]]
        if parts[-1] in _GENERIC_SUFFIXES:
            partial_names[:2] = partial_names[1], partial_names[0]
        concept = next((each for part in partial_names for each in CONCEPTS if _compiled(each.argument_names).fullmatch(part)), None)
    if concept is not None and concept.key in ("id", "name", "date", "time", "category", "location", "address", "quantity", "amount"):
        return Concept(
            concept.key,
            _label(words),
            concept.argument_names,
            concept.questions,
            _read_back_pattern(words, concept),
            concept.is_free_text,
            concept.values,
        )
    return concept


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case: `due date` for `dueDate`, `due_date` and `due-date`."""
    return re.sub(r"[^\w]+|_", " ", _CAMEL.sub(" ", name)).casefold().split() or [name.casefold()]


def related_concept(key: str) -> str:
    """Return the concept that a user answers with instead of an unknown one; empty if there is none."""
    return _RELATED.get(key, "")


def _label(words: str) -> str:
    return re.sub(r"\bid\b", "ID", words)


def _read_back_pattern(words: str, concept: Concept) -> str:
    return f"{re.escape(words)}|{concept.read_back_labels}" if concept.read_back_labels and concept.key != "id" else re.escape(words)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
