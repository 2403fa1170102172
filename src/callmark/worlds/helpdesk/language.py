"""Recognition of yes, no, goodbye and the like, and removal of small talk around a value."""

import re

from callmark import is_confirmation

_QUOTES = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|‘([^’]+)’|(?<!\w)'((?:[^'\n]|'(?=\w))+)'(?!\w)|`([^`]+)`")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")

_SHORT_YES = re.compile(
    r"^\W*(?:y|k|perfect|all good|(?:create|submit|save|make|change|update|add) (?:it|that|this|the change))\W*$", re.IGNORECASE
)
_NO = re.compile(
    r"^\W*(?:oh,? |well,? |um+,? |hmm+,? |sorry,? |actually,? )*"
    r"(?:n|no(?! (?:problem|worries|doubt))|nope|nah|not|wait|hold on|stop|don'?t|do not|incorrect|wrong|negative|never)\b",
    re.IGNORECASE,
)
_ACCEPTS = re.compile(
    r"\b(?:i (?:understand|see|accept)|understood|got it|fair enough|too bad|never ?mind|al(?:l )?right|leave it|i'?ll live|no problem|"
    r"makes sense)\b",
    re.IGNORECASE,
)
_INSISTS = re.compile(r"\b(?:do (?:it|that|so)|anyway|exception|but|must|go ahead|yes)\b", re.IGNORECASE)
_DONE = re.compile(
    r"\b(?:that(?:'s|’s| is|'ll be| will be| was| would be|s) (?:all|it|everything|enough)|nothing (?:else|more|further)|no thanks?|"
    r"no,? thank you|"
    r"(?:i'?m|i am|we'?re|we are) (?:done|good|finished|all set|all good)|all (?:done|set)|(?:good)?bye(?: bye)?|no more|see you|"
    r"have a (?:nice|good|great|lovely) (?:day|one|weekend|evening)|not (?:right now|today|at the moment)|"
    r"(?:done|finished) (?:here|for (?:now|today))|so long|that does it|that covers (?:it|everything))\b|"
    r"^\W*(?:done|finished|cheers|thanks?|thank you|thx)\W*$",
    re.IGNORECASE,
)
_LEAVING = re.compile(r"^\W*(?:(?:ok(?:ay)?|thanks?|thank you|well|alright),?\s+)*(?:good)?bye\b|\bgoodbye\b", re.IGNORECASE)
_START_OVER = re.compile(
    r"\b(?:(?:start|begin|starting|beginning) (?:\w+ ){0,3}?(?:over|again|anew|afresh)|restart|from scratch|reset (?:this|everything|"
    r"it all|the form))\b",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"\b(?:cancel (?:it|this|that|everything|the (?:ticket|action item|request|change))|never ?mind|forget (?:it|about it|this|that)|"
    r"scrap (?:it|that)|"
    r"(?:don'?t|do not) (?:create|open|add|change|write|save|do) (?:it|that|this|anything|the (?:ticket|action item)))\b|^\W*cancel\W*$",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"^\W*(?:i (?:really )?(?:don'?t|do not) (?:know|care|have)|(?:i have )?no idea|(?:i'?m )?not sure|dunno|idk|whatever|skip|none|"
    r"nothing|n/?a|"
    r"you (?:decide|choose|pick|tell me)|up to you|any|what|huh|why|sorry|pardon|come again|hm+|um+|yes|yeah|yep|no|nope|ok(?:ay)?|sure|"
    r"hi|hello)\b"
    r"[\w\s'’,]{0,24}\W*$",
    re.IGNORECASE,
)
_NO_PREFERENCE = re.compile(
    r"^\W*(?:\w+,?\s+){0,3}?(?:i (?:\w+ ){0,2}?(?:don['’]?t|do not|can['’]?t|cannot|couldn['’]?t|have no)\s+"
    r"(?:know|care|mind|say|tell|idea|preference|clue)|no (?:idea|preference|clue)|not sure|whatever (?:you|is)|anything is (?:fine|ok))\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"^\W*(?:what|which|how|why|who|where|can|could|do|does|is|are|will|would)\b[^.!]*\?\W*$", re.IGNORECASE)
_GREETING = re.compile(r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|dear)\b", re.IGNORECASE)

_LEADING = re.compile(  # words that could also start a title count only before punctuation
    r"^(?:(?:sure(?: thing)?|ok(?:ay)?|yes|yeah|yep|well|so|please|alright|all right|right|certainly|absolutely|of course|hi|hello|hey|"
    r"great|good|perfect|thanks?|thank you|no problem|let me (?:see|think)|let'?s see|just|simply|actually|sorry|there you go|"
    r"here (?:you go|it is)|fine|good question|easy|ideally)(?:\s*[,!.:;…–—-]+\s*|$)|"
    r"(?:hmm+|u[hm]+|oo+h|oh|ah|i (?:think|guess|believe|suppose)|i'?d say|maybe|perhaps|basically|ideally)(?:\s*[,!.:;…–—-]+\s*|\s+|$))+",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:it|that|this)(?:['’]s| is|(?: would| should| will| must| has to|['’]d|['’]ll) be| reads| should (?:read|say))"
    r"(?: (?:called|titled|named|simply|just|about))?|"
    r"(?:(?:let'?s|let us|please|you can|we can|i'?d|i would|just) )*(?:call|name|title|label) it|(?:something|anything) like|how about|"
    r"what about|the (?:answer|value) is|(?:please )?make (?:it|that)|(?:please )?go (?:with|for)|"
    r"(?:(?:i'?d|i would|i'?ll|let'?s|we'?d|you can) )(?:please |just )?(?:like it to be|go (?:with|for)|"
    r"put(?: (?:it|down))*|write(?: (?:it|down))*|use|"
    r"pick|choose|take|make (?:it|that)|say|enter|note(?: down)?)(?: like this| this way| as follows)?|"
    r"(?:please |just )*(?:put|write|use|pick|choose|take|say|enter|note)(?: down)?(?=:))(?:\s*[:,–—-]+\s*|\s+)",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(  # `Here is the story: …`: the value follows the colon
    r"^(?:here|this|that|as (?:a|an|the|for)|for (?:the|its)|i|i['’]?d|i['’]?ll|we|my|our|when|once|name|"
    r"heading|to (?:cut|put|sum|be|make)|in (?:short|a word|brief))\b[^:.!?\n]{0,60}:\s+(?=\S)",
    re.IGNORECASE,
)
_ITSELF = re.compile(r"(?:it|that|this)\b", re.IGNORECASE)
_TRAILING = re.compile(
    r"(?:\s*[,;.!–—-]+\s*|\s+)(?:please|thanks?(?: (?:a lot|so much|in advance|again))?|thank you(?: (?:so|very) much)?|thx|cheers|"
    r"if (?:possible|you (?:can|could|would|please)))\W*$|"
    r"\s*[,;.!–—-]+\s*(?:i (?:think|guess|believe|suppose|would say)|that(?:'s|’s| is) (?:it|all)|as i said|for now|ok(?:ay)?|right|"
    r"and (?:please )?hurry(?: up)?|quickly|asap|now)\W*$",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:thank|thanks|thx|hurry|come on|asap|let'?s (?:go|move|get)|move on|can we|could we|can you|could you|hope (?:that|this|it)|"
    r"does that|"
    r"is that (?:ok|enough|all|clear|fine)|anything else|sorry|appreciate|no time|i don'?t have (?:all|much|the)|i'?m (?:in a|busy|"
    r"really|so|afraid)|"
    r"let me know|as i said|i already|there you go|here you go|make it (?:quick|fast)|what else|what'?s next|next\??$|good question|"
    r"sure thing|"
    r"let me (?:see|think)|i (?:hope|really hope|should have|was just|had to think)|sounds good|that'?s (?:easy|it|all|what|how)|"
    r"quick(?:ly)? please|get on with|how long|take(?:s)? (?:so )?long|is this going|just (?:do|get) (?:it|this)|you know|if that helps|"
    r"nice of you|"
    r"so (?:glad|kind)|happy to)\b",
    re.IGNORECASE,
)


def is_yes(text: str) -> bool:
    """Return whether the text is a yes, including single words and letters that are a yes only after a question."""
    return is_confirmation(text) or _SHORT_YES.search(text) is not None


def accepts_refusal(text: str) -> bool:
    """Return whether the user accepts a refusal."""
    return _INSISTS.search(text) is None and (is_yes(text) or _ACCEPTS.search(text) is not None)


def is_no(text: str) -> bool:
    """Return whether the text starts with a no."""
    return _NO.search(text) is not None


def is_finished(text: str) -> bool:
    """Return whether the user has no further requests, when asked for any."""
    return _DONE.search(mask_quotes(text)) is not None


def is_goodbye(text: str) -> bool:
    """Return whether the text is a goodbye, whatever the question was."""
    return _LEAVING.search(mask_quotes(text)) is not None


def wants_to_start_over(text: str) -> bool:
    """Return whether the user wants to start over. Long texts do not count."""
    return _START_OVER.search(mask_quotes(text)) is not None and len(text.split()) <= 25


def wants_to_cancel(text: str) -> bool:
    """Return whether the user wants to cancel the task. Long texts do not count."""
    return _CANCEL.search(mask_quotes(text)) is not None and len(text.split()) <= 15


def is_greeting(text: str) -> bool:
    """Return whether the text starts with a greeting."""
    return _GREETING.search(text) is not None


def has_no_preference(text: str) -> bool:
    """Return whether the user leaves the choice to the agent."""
    return len(text.split()) <= 20 and _NO_PREFERENCE.search(text) is not None


def is_non_answer(text: str) -> bool:
    """Return whether the text cannot be a title or description: empty, a shrug, a counter-question."""
    return not re.search(r"\w", text) or _UNSURE.search(text) is not None or _QUESTION.search(text) is not None or has_no_preference(text)


def quoted_texts(text: str) -> list[str]:
    """Return every text in quotation marks."""
    return [next(part for part in match.groups() if part is not None).strip() for match in _QUOTES.finditer(text)]


def mask_quotes(text: str) -> str:
    """Return the text with quoted parts blanked out, so that words of a value do not count as the user's own. Positions do not change."""
    return _QUOTES.sub(lambda match: " " * len(match[0]), text)


def strip_small_talk(text: str, *, sentence: bool = False) -> str:
    """Return an answer without the small talk around it: `Printer jam` for `Sure! Let's call it Printer jam, please.` May be empty.

    With `sentence`, an opening such as `It is …` is kept, unless a new clause follows it.
    """
    quotes = quoted_texts(text)
    if len(quotes) == 1 and len(mask_quotes(text).split()) <= 14:
        return quotes[0]
    value = trim_value(text)
    before = None
    while value != before:
        before = value
        value = _ANNOUNCED.sub("", _LEADING.sub("", value))
        opening = _OPENING.match(value)
        if opening and not (sentence and _ITSELF.match(value) and value[opening.end() :][:1].islower()):
            value = value[opening.end() :]
        value = value.strip()
    return trim_value(value)


def trim_value(text: str) -> str:
    """Return a value without trailing small talk, sentences of small talk, quotation marks, and the period of a single sentence."""
    sentences = [part for part in _SENTENCE.split(text.strip()) if part.strip()]
    while len(sentences) > 1 and _is_filler(sentences[-1]):
        sentences.pop()
    while len(sentences) > 1 and _is_filler(sentences[0]):
        sentences.pop(0)
    value = " ".join(sentences).strip()
    before = None
    while value != before:
        before = value
        value = _TRAILING.sub("", value).strip(" \t,;:-–—|")
    quotes = quoted_texts(value)
    if quotes and not re.search(r"\w", mask_quotes(value)):
        return quotes[0]
    if value.endswith(".") and not re.search(r"[.!?]\s", value):
        value = value.rstrip(".").rstrip()
    return value


def _is_filler(sentence: str) -> bool:
    return sentence.rstrip().endswith(("!", "?")) or _FILLER.search(sentence) is not None or not re.search(r"\w", sentence)
