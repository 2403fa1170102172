"""Whether what somebody said is a yes: an explicit go-ahead, as a person gives it before something is done for them.

A yes begins with one (`Yes, please`), or says one on its way (`In that case, go ahead.`). Words that also fill pauses (`okay`, `sure`,
`sounds good`) are one only where nothing else is said: `Sure, my name is Li` gives a name. A request (`Please cancel it`) is none: what was
asked for has not been shown yet. A yes with a condition (`yes, but …`, `not yet`) is none, nor is one that is asked (`OK?`). Of several
sentences the last that says either counts. In doubt it is no yes. The table is English; for other words there is `words`.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from callmark.calls.words import normalize

_SENTENCES = re.compile(r"([^.!?;\n–—]+)([.!?;\n–—]*)")
_TOKENS = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|,")
_LONGEST = 20_000  # characters that are looked at: nobody says yes in more
_SPELLINGS = (("’", "'"), ("`", "'"), ("o.k.", "ok"), ("👍", " yes "), ("all right", "alright"), ("--", "—"))

Phrases = Mapping[str, Sequence[tuple[str, ...]]]  # by their first word


def _phrases(*lines: str) -> Phrases:
    return _by_first_word([tuple(phrase.split()) for line in lines for phrase in line.split(" | ")])


def _by_first_word(phrases: Sequence[tuple[str, ...]]) -> Phrases:
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], []).append(phrase)
    return found


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_CLEAR = _phrases(  # at the beginning of a sentence, whatever follows
    "yes | yeah | yep | yup | yea | aye | affirmative | absolutely | definitely | certainly | correct | confirmed | confirm | agreed",
    "approved | exactly | indeed | of course | by all means | i confirm | i agree | i approve | i'm sure | please yes",
)
_GO_AHEAD = _phrases(  # anywhere in a sentence, where nothing turns it round
    "go ahead | go for it | proceed | please do | please continue | do it | do that | do so | let's do | make it so | i confirm",
    "you may proceed | you can proceed | yes please | that's right | that is right | thats right | that's correct | that is correct",
    "thats correct | all correct | looks correct | looks right | that's acceptable",
)
_FILLING = _phrases(  # at the beginning, where nothing else is said
    "ok | okay | okey | k | kk | sure | alright | fine | right | sure thing | very well | good to go | that works | works for me",
    "fine by me | fine with me | that's fine | that is fine | thats fine | that's ok | that's okay | that is ok | that is okay",
    "looks good | looks great | that looks good | that looks great | everything looks good | sounds good | sounds right | sounds great",
    "sounds perfect | that sounds good | that sounds great | that sounds right",
)
_AFTER_FILLING = _words(
    "yes yeah yep ok okay sure alright fine please thanks thank you very much so then great perfect good cool and to for me"
)
_BEFORE = _phrases(
    "oh | ah | well | great | perfect | good | awesome | excellent | wonderful | cool | thanks | thank you | hi | hello | um | uh | so",
    "and | then | now | actually",
)
_TURNS = _words(
    "not don't dont never can't cannot cant won't wouldn't shouldn't didn't doesn't isn't isnt aren't ain't no without before until if",
    "should shall would could can may did who when i'll you'll",
)
_ASKS = _words("can could would will")  # … you go ahead?
_NO = _phrases("no | nope | nah | negative | never | stop | not | neither | don't | dont | do not | please don't | please do not")
_AFTER_NO = _words("that's that thats it i i'd i'm please don't dont not way thank thanks sorry stop wait you we never this let's ,")
_TAKEN_BACK = _phrases(  # anywhere
    "but | however | except | unless | though | although | instead | maybe | perhaps | not yet | not quite | not sure | not really",
    "hold on | hang on | hold off | only if | as long as | provided that | one moment | before you | before we | before i | almost",
    "i'm not | i am not | not done | changed my mind | one change | small change | one correction | on second thought",
)
_TAKEN_BACK_FIRST = _phrases("wait | actually | hmm | also wait | sorry wait | oh wait | no wait")  # after a comma, or at the beginning


Verdict = Literal["yes", "perhaps", "no", "thanks", "else"]  # "perhaps": a word that fills a pause; "thanks": nothing but politeness


def is_confirmation(text: str, words: Sequence[str] = ()) -> bool:
    """Whether a text is a yes; an empty one is none. Where `words` (or phrases) are given, they count instead of the usual ones, anywhere
    in a sentence.
    """
    said = normalize(text[:_LONGEST], "NFKC").casefold()
    for spelling, usual in _SPELLINGS:
        said = said.replace(spelling, usual)
    own = _by_first_word([phrase for phrase in (tuple(_TOKENS.findall(word.casefold())) for word in words) if phrase])
    verdicts: list[Verdict] = []
    for sentence, end in _SENTENCES.findall(said):
        if tokens := _TOKENS.findall(sentence):
            if _taken_back(tokens):
                return False
            verdicts.append(_by_own(tokens, own) if words else _verdict(tokens, asked="?" in end))
    decided = [verdict for verdict in verdicts if verdict in ("yes", "no")]
    return decided[-1] == "yes" if decided else "perhaps" in verdicts and "else" not in verdicts


def _verdict(tokens: list[str], *, asked: bool) -> Verdict:
    at = 0
    while length := 1 if tokens[at : at + 1] == [","] else _begins(tokens, _BEFORE, at):
        at += length
    rest = tokens[at:]
    if _says_no(rest):
        return "no"
    if clear := _begins(rest, _CLEAR):
        after = [token for token in rest[clear:] if token != ","]
        return "else" if asked and not after else "no" if _begins(after, _NO) else "yes"
    if _goes_ahead(rest, _GO_AHEAD, asked=asked):
        return "yes"
    filling = _begins(rest, _FILLING)
    after = [token for token in rest[filling:] if token != ","]
    if filling and not asked and _begins(after, _CLEAR):
        return "yes"
    if asked or not _AFTER_FILLING.issuperset(after):
        return "else"
    return "perhaps" if filling else "thanks"


def _by_own(tokens: list[str], own: Phrases) -> Verdict:
    if _says_no(tokens) and not _begins(tokens, own):
        return "no"
    return "yes" if _goes_ahead(tokens, own, asked=False) else "else"


def _goes_ahead(tokens: list[str], phrases: Phrases, *, asked: bool) -> bool:
    """Whether one of the phrases stands there and nothing in the same part turns it round; of a question, whether it asks for it."""
    start = 0
    for at, token in enumerate(tokens):
        if token == ",":
            start = at + 1
        elif (length := _begins(tokens, phrases, at)) and tokens[at + length : at + length + 1] not in (["nothing"], ["not"]):
            before = tokens[start:at]
            asks = any(one in _ASKS and other == "you" for one, other in pairwise(before))
            return asks or (not asked and _TURNS.isdisjoint(before))
    return False


def _says_no(tokens: list[str]) -> bool:
    if tokens[:1] == ["no"]:  # `no insurance` is a wish, `no, thanks` an answer
        return len(tokens) == 1 or tokens[1] in _AFTER_NO
    return bool(_begins(tokens, _NO))


def _taken_back(tokens: list[str]) -> bool:
    for at in range(len(tokens)):
        first = at == 0 or tokens[at - 1] == ","
        length = _begins(tokens, _TAKEN_BACK, at) or (first and _begins(tokens, _TAKEN_BACK_FIRST, at))
        if length and not _is_answer(tokens, at + length):
            return True
    return False


def _is_answer(tokens: list[str], at: int) -> bool:
    """Whether a yes follows at once, as in `it is expensive, but yes`."""
    while tokens[at : at + 1] in ([","], ["please"]):
        at += 1
    return any(_begins(tokens, phrases, at) for phrases in (_CLEAR, _FILLING, _GO_AHEAD))


def _begins(tokens: list[str], phrases: Phrases, at: int = 0) -> int:
    """How many tokens the longest of the phrases takes that stands at that place; 0 where none does."""
    if at >= len(tokens) or tokens[at] not in phrases:
        return 0
    return max((len(phrase) for phrase in phrases[tokens[at]] if tuple(tokens[at : at + len(phrase)]) == phrase), default=0)
