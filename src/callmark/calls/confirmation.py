"""Decide whether a user's text is a confirmation: an explicit go-ahead before something is done for them.

A confirmation begins with a clear yes (`Yes, please`), or contains a go-ahead (`In that case, go ahead.`). Filler words (`okay`, `sure`,
`sounds good`) confirm only if the text says nothing else: `Sure, my name is Li` gives a name. A request (`Please cancel it`) is not a
confirmation, because its details have not been shown yet. Neither is a yes with a condition (`yes, but …`, `not yet`) or a question
(`OK?`). With several sentences, the last decisive one counts. When in doubt, the text is not a confirmation. The phrases are English;
`words` replaces them for other languages.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from callmark.calls.words import normalize

_SENTENCES = re.compile(r"([^.!?;\n–—]+)([.!?;\n–—]*)")
_TOKENS = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|,")
_MAX_TEXT = 20_000  # characters: no confirmation is longer
_SPELLINGS = (("’", "'"), ("`", "'"), ("o.k.", "ok"), ("👍", " yes "), ("all right", "alright"), ("--", "—"))

Phrases = Mapping[str, Sequence[tuple[str, ...]]]  # by first word


def _phrases(*lines: str) -> Phrases:
    return _by_first_word([tuple(phrase.split()) for line in lines for phrase in line.split(" | ")])


def _by_first_word(phrases: Sequence[tuple[str, ...]]) -> Phrases:
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], []).append(phrase)
    return found


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_CLEAR_YES = _phrases(  # at the beginning of a sentence, whatever follows
    "yes | yeah | yep | yup | yea | aye | affirmative | absolutely | definitely | certainly | correct | confirmed | confirm | agreed",
    "approved | exactly | indeed | of course | by all means | i confirm | i agree | i approve | i'm sure | please yes",
)
_GO_AHEAD = _phrases(  # anywhere in a sentence that does not negate it
    "go ahead | go for it | proceed | please do | please continue | do it | do that | do so | let's do | make it so | i confirm",
    "you may proceed | you can proceed | yes please | that's right | that is right | thats right | that's correct | that is correct",
    "thats correct | all correct | looks correct | looks right | that's acceptable",
)
_FILLER = _phrases(  # at the beginning, if the sentence says nothing else
    "ok | okay | okey | k | kk | sure | alright | fine | right | sure thing | very well | good to go | that works | works for me",
    "fine by me | fine with me | that's fine | that is fine | thats fine | that's ok | that's okay | that is ok | that is okay",
    "looks good | looks great | that looks good | that looks great | everything looks good | sounds good | sounds right | sounds great",
    "sounds perfect | that sounds good | that sounds great | that sounds right",
)
_AFTER_FILLER = _words(
    "yes yeah yep ok okay sure alright fine please thanks thank you very much so then great perfect good cool and to for me"
)
_OPENERS = _phrases(
    "oh | ah | well | great | perfect | good | awesome | excellent | wonderful | cool | thanks | thank you | hi | hello | um | uh | so",
    "and | then | now | actually",
)
_NEGATIONS = _words(
    "not don't dont never can't cannot cant won't wouldn't shouldn't didn't doesn't isn't isnt aren't ain't no without before until if",
    "should shall would could can may did who when i'll you'll",
)
_REQUESTS = _words("can could would will")  # … you go ahead?
_NO = _phrases("no | nope | nah | negative | never | stop | not | neither | don't | dont | do not | please don't | please do not")
_AFTER_NO = _words("that's that thats it i i'd i'm please don't dont not way thank thanks sorry stop wait you we never this let's ,")
_RETRACTIONS = _phrases(  # anywhere
    "but | however | except | unless | though | although | instead | maybe | perhaps | not yet | not quite | not sure | not really",
    "hold on | hang on | hold off | only if | as long as | provided that | one moment | before you | before we | before i | almost",
    "i'm not | i am not | not done | changed my mind | one change | small change | one correction | on second thought",
)
_RETRACTIONS_FIRST = _phrases("wait | actually | hmm | also wait | sorry wait | oh wait | no wait")  # after a comma, or at the beginning


Verdict = Literal["yes", "perhaps", "no", "thanks", "else"]  # "perhaps": a filler word; "thanks": nothing but politeness


def is_confirmation(text: str, words: Sequence[str] = ()) -> bool:
    """Return whether a user's text is a confirmation, as the `policy` evaluator decides: an explicit go-ahead, such as "Yes, please."

    Args:
        text: The text of the user. An empty text is not a confirmation, nor is a question or a yes with a condition.
        words: Words or phrases that replace the default English ones; they count anywhere in a sentence.
    """
    folded = normalize(text[:_MAX_TEXT], "NFKC").casefold()
    for spelling, usual in _SPELLINGS:
        folded = folded.replace(spelling, usual)
    phrases = _by_first_word([phrase for phrase in (tuple(_TOKENS.findall(word.casefold())) for word in words) if phrase])
    verdicts: list[Verdict] = []
    for sentence, end in _SENTENCES.findall(folded):
        if tokens := _TOKENS.findall(sentence):
            if _is_retracted(tokens):
                return False
            verdicts.append(_verdict_by_phrases(tokens, phrases) if words else _verdict(tokens, is_question="?" in end))
    decided = [verdict for verdict in verdicts if verdict in ("yes", "no")]
    return decided[-1] == "yes" if decided else "perhaps" in verdicts and "else" not in verdicts


def _verdict(tokens: list[str], *, is_question: bool) -> Verdict:
    at = 0
    while length := 1 if tokens[at : at + 1] == [","] else _match_length(tokens, _OPENERS, at):
        at += length
    rest = tokens[at:]
    if _is_refusal(rest):
        return "no"
    if clear := _match_length(rest, _CLEAR_YES):
        after = [token for token in rest[clear:] if token != ","]
        return "else" if is_question and not after else "no" if _match_length(after, _NO) else "yes"
    if _has_go_ahead(rest, _GO_AHEAD, is_question=is_question):
        return "yes"
    filler = _match_length(rest, _FILLER)
    after = [token for token in rest[filler:] if token != ","]
    if filler and not is_question and _match_length(after, _CLEAR_YES):
        return "yes"
    if is_question or not _AFTER_FILLER.issuperset(after):
        return "else"
    return "perhaps" if filler else "thanks"


def _verdict_by_phrases(tokens: list[str], phrases: Phrases) -> Verdict:
    if _is_refusal(tokens) and not _match_length(tokens, phrases):
        return "no"
    return "yes" if _has_go_ahead(tokens, phrases, is_question=False) else "else"


def _has_go_ahead(tokens: list[str], phrases: Phrases, *, is_question: bool) -> bool:
    """Return whether one of the phrases occurs and nothing in its clause negates it. A question counts only if it is a request."""
    start = 0
    for at, token in enumerate(tokens):
        if token == ",":
            start = at + 1
        elif (length := _match_length(tokens, phrases, at)) and tokens[at + length : at + length + 1] not in (["nothing"], ["not"]):
            before = tokens[start:at]
            is_request = any(word in _REQUESTS and following == "you" for word, following in pairwise(before))
            return is_request or (not is_question and _NEGATIONS.isdisjoint(before))
    return False


def _is_refusal(tokens: list[str]) -> bool:
    if tokens[:1] == ["no"]:  # `no insurance` is a request, `no, thanks` a refusal
        return len(tokens) == 1 or tokens[1] in _AFTER_NO
    return bool(_match_length(tokens, _NO))


def _is_retracted(tokens: list[str]) -> bool:
    for at in range(len(tokens)):
        first = at == 0 or tokens[at - 1] == ","
        length = _match_length(tokens, _RETRACTIONS, at) or (first and _match_length(tokens, _RETRACTIONS_FIRST, at))
        if length and not _yes_follows(tokens, at + length):
            return True
    return False


def _yes_follows(tokens: list[str], at: int) -> bool:
    """Return whether a yes follows immediately, as in `it is expensive, but yes`."""
    while tokens[at : at + 1] in ([","], ["please"]):
        at += 1
    return any(_match_length(tokens, phrases, at) for phrases in (_CLEAR_YES, _FILLER, _GO_AHEAD))


def _match_length(tokens: list[str], phrases: Phrases, at: int = 0) -> int:
    """Return the number of tokens of the longest phrase that starts at `at`; 0 if there is none."""
    if at >= len(tokens) or tokens[at] not in phrases:
        return 0
    return max((len(phrase) for phrase in phrases[tokens[at]] if tuple(tokens[at : at + len(phrase)]) == phrase), default=0)
