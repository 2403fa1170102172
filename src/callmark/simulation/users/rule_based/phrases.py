"""Patterns for the meaning of an agent's sentence: a request for confirmation, a report, a refusal, an offer. They match lower-case text,
except for `IDENTIFIER`.
"""

import re

ASKS_CONFIRMATION = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b(?! (?:help|do for|assist|use|call|put|ask|have|know|get|see|bother|offer|do (?:any|"
    r"some|more|else)))|\b(?:is|are|was|does|do|did) (?:that|this|these|those|it|everything|all|the|they|my|i|"
    r"what i)\b.{0,80}\b(?:correct|right|ok|okay|fine|accurate|good|alright|correctly|as you'?d? ?(?:want\w*|expect\w*|like\w*)|"
    r"in order|complete|match|matches)\b|\b(?:looks?|sounds?|seems?) (?:\w+ )?(?:good|right|ok|okay|fine|correct|alright|accurate)|"
    r"\bconfirm|\b(?:go|going) ahead\b|\bproceed\b|\bok(?:ay)? (?:to|for me to|if i)\b|\bready (?:to|for me to)\b|\bare you sure|"
    r"\bdo you (?:agree|approve)|\byes or no|\by/n\b|\b(?:want|like|wish|prefer)(?: for)? me to\b|(?:^|[\s,])(?:correct|right|ok|okay|"
    r"agreed|yes|approved|all good|good to go|deal)\W*$|\b(?:reply|say|type|answer|respond|write|enter|send)\b.{0,30}\b(?:yes|ok|"
    r"confirm|y)\b|\b(?:your|for) (?:confirmation|approval|go-?ahead|consent)|\bdid i (?:get|understand|catch)|\bhave i (?:got|"
    r"understood)|\bdo i have (?:that|it|this|everything)|\botherwise i'?(?:ll| will)|\bgreen light|\b(?:everything|all) (?:is |"
    r"looks |seems )?(?:correct|right|ok|okay|fine|good)\b|\bgood to go|\bsubmit (?:it|this|that)\b|\bapprove"
)
IDENTIFY = re.compile(
    r"\b(?:is|was) (?:this|that|it) (?:the|your) (?:one|\w+ (?:you|that)|right|correct|ticket|item|record|order)|\bdo you mean\b|"
    r"\bdid you mean\b|\bis that the one\b|\bthe one you mean"
)
INTENT = re.compile(r"(?<!do )(?<!would )\byou(?:'d| would|'re| are)? (?:want|like|wish|need|looking|trying) to\b")
WOULD_ADD = re.compile(r"\b(?:i|we|me to) (?:set|add|include|specify|put|attach|note|record|enter)\b")
ALSO = re.compile(r"\b(?:also|another|as well|too|additionally|in addition|further|next)\b")
ASKS_ANYTHING_ELSE = re.compile(
    r"\b(?:any|some)(?:thing|body)? ?else\b|\b(?:any|some)thing (?:further|more|other)\b|\bwhat else\b|\bfurther (?:assistance|help|"
    r"questions)|\b(?:an)?other (?:questions?|requests?|issues?|matters?)|\b(?:let me|let us) know if (?:you|there|i can)|\bmore (?:i|"
    r"we) can (?:do|help)|\belse (?:i|we) can|\bfeel free to|\bhappy to help with\b|\banything you need\b|\bis that all\b|"
    r"\bwill that be all|\bwould that be all|\bare we (?:done|finished)|\bis there more\b|\byour only (?:matter|thing|request|issue|"
    r"question|concern)|\b(?:do|have) you (?:have |got )?(?:anything )?more\b"
)
LEAVING = re.compile(r"\b(?:end|close|finish) (?:the|this|our) (?:session|chat|conversation)")
ANYTHING_TO_ADD = re.compile(
    r"\b(?:to|you'd like to|want to|should|i should|you want to|like me to) (?:add|include|change|mention|adjust|correct|know|note|"
    r"modify)|\bbefore i\b|\bto (?:the|this|that) (?:ticket|item|request|order|description)\b|\babout (?:the|this) (?:ticket|item|"
    r"issue|problem|request)\b"
)
OPEN_QUESTION = re.compile(
    r"\b(?:how|what) (?:can|may|could|might|should) (?:i|we) (?:\w+ )?(?:help|do for|do you|assist|be of)|\bwhat (?:would|do|"
    r"did) you (?:like|want|need|wish)(?: me)?(?: to do| help(?: with)?| done| today| from me)?\W*$|\bwhat can i do|\bhow (?:can|"
    r"may) i\b|\b(?:what|which)\b.{0,20} brings you|\bwhat do you need|\bwhat(?:'s| is) your (?:request|question|concern)|"
    r"\bwhat are you (?:after|"
    r"trying to do)|\bwhat is it you|\brephrase|\bsay that again|\b(?:didn't|did not|could not|couldn't|don't|do not|can't|"
    r"cannot) (?:quite |really )?(?:understand|get that|get it|catch|follow|make (?:that|this|it|anything) ?out)|"
    r"\bon your mind|\bnot sure (?:what|i understand)|"
    r"\bcould you clarify|\bwhat can we do"
)
WHAT_TO_CHANGE = re.compile(
    r"\b(?:what|which|how)\b.{0,60}\b(?:chang|updat|edit|modif|alter|correct(?:ed|ion)|adjust)|\bwhich fields?\b|\bnew values?\b"
)
ALL_DETAILS = re.compile(
    r"\b(?:all|any|the|following|some|necessary|required|more|few|your|these|relevant|remaining|its|with) (?:\w+ ){0,2}(?:details|"
    r"information|info|specifics|fields|particulars|data)\b|\bin one go\b|\ball at once\b|\bfill (?:in|out)\b"
)
OFFER = re.compile(
    r"\b(?:would|do|will|shall|should|can|could|may) (?:you|i|we)\b.{0,20}\b(?:like|want|need|also|wish|care|add|set|create|assign|"
    r"attach|link|notify|send|prefer)\b|\bwant (?:to|me)\b|\binterested in\b"
)
REFUSAL = re.compile(
    r"\b(?:i|we|you|this|that|it|which)(?: am|'m| are|'re| is|'s|'ll| will)? (?:\w+ ){0,2}?(?:can't|cannot|can not|could not|couldn't|"
    r"won't|unable|not able|not allowed|not permitted|not possible|not authori[sz]ed|not supported|not available)\b|\b(?:isn't|aren't|"
    r"not) (?:something|allowed|permitted|possible|supported|within|in my power)|\bagainst (?:\w+ )?(?:policy|policies|rules)|"
    r"\b(?:policy|rules) (?:doesn't|does not|do not|don't|prohibits?|forbids?)|\b(?:don't|do not) have (?:\w+ )?(?:permission|access|"
    r"the ability|a way|the right|authority)|\bno (?:way|permission|can do)\b|\bforbidden|\bprohibited|\b(?:must|have to) (?:decline|"
    r"refuse)|\bi refuse|\bdeclined?\b|\bonly (?:\w+ )?(?:admin\w*|managers?|supervisors?|staff) (?:can|may)|\b(?:outside|"
    r"beyond) (?:of )?(?:what|my)|\b(?:failed|went wrong|error occurred|didn't work|did not work)\b|\bthere(?:'s| is) no (?:function|"
    r"option|tool|way)"
)
ALTERNATIVE = re.compile(r"\binstead\b|\balternativ|\bbut (?:i|we) can\b|\bwhat i can do\b|\bhowever,? i can\b|\brather\b|\bi can only\b")
_WHOLE_DONE = (
    r"created|opened|saved|submitted|logged|assigned|closed|registered|filed|raised|booked|cancelled|canceled|completed|scheduled|"
    r"removed|deleted|sent|finished|reopened|resolved|placed|stored|linked|attached|processed|generated|issued|set up|escalated|done|"
    r"in place|on file|in (?:the|our) system|taken care of|sorted|all set|set for you"
)
_PART_DONE = r"added|updated|changed|set|entered|applied|modified|adjusted|moved|marked|edited"
DONE = re.compile(rf"\b(?:(?P<whole>{_WHOLE_DONE})|(?P<part>{_PART_DONE}))\b")
NOT_YET = re.compile(
    r"\b(?:will|would|'ll|shall|to be|be|not|once|after|before|if|when|until|could|can|cannot|unless|about to|ready|going|draft|"
    r"should|must|needs?|want|being|never|may|how|nothing|almost|get|getting|while)\b|n't\b|'ll\b|'d\b"
)
DONE_AUXILIARY = re.compile(r"\b(?:has|have|was|were|is|are|been|successfully|now|just|i|we|all|it|that|everything)\b|'ve\b|'s\b|^\W*$")
GIVES_REFERENCE = re.compile(
    r"\b(?:reference|number|id|ticket)\b.{0,20}\b(?:is|:)\s*[a-z]{0,10}[-#]?[0-9]|\byou(?:'ll| will| can) find it (?:as|under)"
)
ABOUT_EXISTING = re.compile(r"\b(?:found|matching|matches|currently|existing|located)\b")
PAST_DATE = re.compile(
    r"\s+(?:on (?:\w{3,9} )?[0-9]|on (?:mon|tue|wed|thu|fri|sat|sun)|last\b|yesterday|in [0-9]{4}|[0-9a-z]+ (?:days?|weeks?) ago)"
)
FOUND = re.compile(
    r"\bfound\b|\bhere (?:is|are)\b|\bhere's\b|\bthere (?:is|are)\b|\b(?:results?|answer|matches)\b|\bno (?:\w+ )?(?:tickets|results|"
    r"matches|items)\b|\bcurrently\b|\bshows?\b|\bit is\b|\bhave a look\b"
)
CHOICE = re.compile(r"\b(?:which|choose|choice|pick|select|options?|one of|prefer|either|following)\b|(?:\bor\b|/)")
INLINE_OPTIONS = re.compile(
    r"\(([^()\n]{3,200})\)|:\s*([^:?\n]{3,200}\bor\b[^:?\n]{1,60})|\b((?:[\w'-]{1,30}(?: [\w'-]{1,30})?, ?){1,8}(?:or|"
    r"and/or) [\w'-]{1,30}(?: [\w'-]{1,30})?)"
)
NOT_A_CONFIRMATION = re.compile(
    r"\b(?:confirmed|thanks|thank you|confirms|will (?:be )?confirm|email|confirmation (?:number|e-?mail|message))\b"
)
READ_BACK = re.compile(r"^[^:=|\n]{1,40}(?::|=|\s\|)\s*\S")
IDENTIFIER = re.compile(r"\b[A-Z]{2,10}[-#_ ]?[0-9]{1,10}\b|#[0-9]{1,10}\b")
