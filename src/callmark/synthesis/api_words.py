"""An API's things and operations in the words of people: what an operation does for somebody, what a value is called, how one thing is told
from another.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from callmark.simulation.mock_api.amounts import is_money
from callmark.simulation.mock_api.api import Meaning
from callmark.simulation.mock_api.names import PEOPLE, has_article, plural, singular, words_of
from callmark.simulation.openapi import Operation

_VERB_LIST = """
accept activate add adjust apply approve archive arrange assign attach authorize block book borrow buy calculate call cancel
change check check-in claim close complete confirm connect convert copy create deactivate delete deliver deposit disable dispatch
download edit enable end enroll exchange export extend fetch file find finish flag follow freeze generate get give grant handle
hold import insert invite issue join leave link list load lock log look make mark merge modify move notify open order park patch
pause pay pick place post print process publish purchase put query rate read rebook record redeem refund register reject release
remind remove rename renew rent reopen repair replace reply report request reschedule reserve reset resolve restore resume
retrieve return review revoke save schedule search see select send set share show sign start stop submit subscribe suspend swap
switch sync terminate top track transfer unblock unlock unsubscribe update upgrade upload validate verify view withdraw write
"""
_VERBS = frozenset(_VERB_LIST.split())
_SEEING = {"get": "see", "retrieve": "see", "fetch": "see", "show": "see", "return": "see", "read": "see", "view": "see", "list": "see"}
_BY_METHOD = {"get": "see", "post": "make", "put": "update", "patch": "update", "delete": "delete"}
_MACHINE_WORDS = {"post": "add", "put": "update", "patch": "update"}  # verbs that only a program's names have
_PERSON = "|".join(sorted(PEOPLE, key=len, reverse=True))
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_SHORT = {
    **{word: word.upper() for word in ("id", "isbn", "iban", "bic", "mrn", "vin", "sku", "ean", "url")},
    "ids": "IDs",
    "dob": "date of birth",
    "born": "date of birth",
    "body": "information",
}
_LAST = {"zip": "zip code", "email": "email address", "phone": "phone number"}
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST = 90  # characters of a phrase
_READABLE = 24  # characters of a key


def wish_of(meaning: Meaning) -> str:
    """What somebody asks for who wants the operation done: `cancel a pending order`. Begins with a verb, and has the speaker for the person
    that the operation is about.
    """
    verb, rest = _phrase(meaning)
    if not meaning.operation.writes:
        rest = re.sub(r" by .*$", "", rest)
    if not meaning.operation.writes and verb in _SEEING:
        verb = "see" if rest.startswith(("the ", "all ", "my ")) else "look up"
    wish = re.sub(rf"^send (.+) to (?:a|an|the) (?:{_PERSON})\b", r"get \1", f"{verb} {rest}", flags=re.IGNORECASE)
    return _personal(wish, "my", "me")


def deed_of(meaning: Meaning) -> str:
    """What the operation does, as the one says it who does it for somebody: `send a coupon to you`. The things that it takes are known."""
    deed = _personal(" ".join(_phrase(meaning)), "your", "you")
    for kind in dict.fromkeys(meaning.keys.values()):
        deed = re.sub(rf"\b(?:a|an) ((?:[\w-]+ )?{re.escape(kind.replace('_', ' '))})\b", r"the \1", deed, flags=re.IGNORECASE)
    return deed


def _phrase(meaning: Meaning) -> tuple[str, str]:
    """What the operation does as a verb and what follows it: by its summary, the first sentence of its description, or its name."""
    operation = meaning.operation
    said = operation.summary or re.split(r"(?<=\w)[.!?](?:\s|$)", operation.tool.description.strip(), maxsplit=1)[0]
    verb, rest = _verb_first(said) if len(said) <= _LONGEST else ("", "")
    if verb:
        return verb, _with_article(rest, meaning.kind)
    words = list(words_of(operation.tool.name))
    if words == [*words_of(f"{operation.method} {operation.path}")]:
        return _phrase_of_path(operation)
    named = bool(words) and words[0] in _VERBS
    nouns = [word for word in (words[1:] or words) if word not in ("by", "id", "details")]
    many = meaning.subject is not None and meaning.subject.many
    noun = " ".join(nouns if many else [*nouns[:-1], *map(singular, nouns[-1:])])
    verb = _MACHINE_WORDS.get(words[0], words[0]) if named else _BY_METHOD.get(operation.method, "use")
    return verb, (noun if many else has_article(noun)) if noun else "that"


def _phrase_of_path(operation: Operation) -> tuple[str, str]:
    """The same for an operation that has no name but its method and path: `see the trips of a vehicle` for `GET /vehicles/{plate}/trips`,
    `cancel a visit` for `POST /visits/{id}/cancel`.
    """
    parts = [part for part in operation.path.split("/") if words_of(part)]
    nouns = [" ".join(words_of(part)) for part in parts if "{" not in part]
    verb = _MACHINE_WORDS.get(operation.method, operation.method)
    if not nouns:
        return verb, "that"
    noun = nouns.pop()
    if noun in _VERBS and nouns and "{" not in parts[-1]:
        verb, noun = noun, singular(nouns.pop())
        return verb, has_article(noun)
    one = "{" in parts[-1] or operation.method == "post"
    thing = has_article(singular(noun)) if one else f"the {noun}"
    if not nouns or not any("{" in part for part in parts[:-1]):
        return verb, thing
    return verb, f"{thing} {'for' if verb == 'add' else 'of'} {has_article(singular(nouns[-1]))}"


def _verb_first(said: str) -> tuple[str, str]:
    words = said.strip().rstrip(".").split()
    verb = words[0].lower() if words else ""
    for form in (verb, verb.removesuffix("s"), verb.removesuffix("es")):
        if form in _VERBS and len(words) > 1:
            second = words[1].lower() if words[1] in ("A", "An", "The", "All") else words[1]
            return form, " ".join([second, *words[2:]])
    return "", ""


def _with_article(rest: str, kind: str) -> str:
    """`a user` for a mere `user`, and things in small letters."""
    nouns = {*kind.split("_"), *map(plural, kind.split("_"))} if kind else set()
    words = [word.lower() if word.lower() in nouns | PEOPLE else word for word in rest.split()]
    return f"{has_article(words[0])} {' '.join(words[1:])}".strip() if words[0] in PEOPLE | {kind} else " ".join(words)


def _personal(text: str, my: str, me: str) -> str:
    """The text with the speaker for the person that an operation is about."""
    person = rf"(?:a|an|the) (?:{_PERSON})\b"
    text = re.sub(rf"\b(?:a|an|the|all)? ?(?:{_PERSON})(?:'s|s')(?= )", f" {my}", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:a|an|the|all) ((?:[\w-]+ ){{0,3}}?[\w-]+) (?:of|for) {person}", rf"{my} \1", text, flags=re.IGNORECASE)
    text = re.sub(rf" (?:of|for) {person}", "", text, flags=re.IGNORECASE)
    text = re.sub(rf"^(\w+(?: up)?) {person}$", rf"\1 {my} account", text, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", re.sub(rf"\b{person}", me, text, flags=re.IGNORECASE)).strip()


def plainly(wish: str, values: Sequence[str]) -> str:
    """The wish as somebody says it who does not know the words for how far a thing is: `cancel an order` for `cancel a pending order`."""
    for value in values:
        wish = re.sub(
            rf"\b(?:a|an) {re.escape(value)} (\w+(?:[ -]\w+)?)",
            lambda found: has_article(found[1]),
            wish,
            flags=re.IGNORECASE,
        )
    return wish


def about(wish: str, thing: str, which: str) -> str:
    """The wish about a thing that was spoken of before: `cancel that same order`."""
    if not thing:
        return wish
    named = rf"\b(?:one of my {re.escape(plural(thing))}|(?:a|an|my) (?:[\w-]+ )?{re.escape(thing)}\b(?: of mine)?)"
    return re.sub(named, f"{which} {thing}", wish, flags=re.IGNORECASE)


def of_mine(wish: str, thing: str, random: Random) -> str:
    """The wish about a thing of the speaker's own, as it comes: `cancel one of my orders`."""
    mine = random.choice((has_article(thing), f"one of my {plural(thing)}", f"my {thing}", f"{has_article(thing)} of mine"))
    return re.sub(rf"\b(?:a|an) {re.escape(thing)}\b(?!')", mine, wish, flags=re.IGNORECASE)


def as_yours(wish: str) -> str:
    """What somebody wants, as the one says it who does it: `change your address`."""
    for mine, yours in (("mine", "yours"), ("my", "your"), ("me", "you"), ("I", "you")):
        wish = re.sub(rf"\b{mine}\b", yours, wish)
    return wish


def label_of(name: str) -> str:
    """What a parameter or field is called in a talk: `order ID`, `zip code`, `due on`."""
    parts = words_of(name)
    if parts[-2:] in (("address", "1"), ("line", "1")):
        return "street"
    if parts[-2:] in (("address", "2"), ("line", "2")):
        return "apartment"
    words = [_SHORT.get(word, word) for word in parts[:-1]] + [_LAST.get(word, _SHORT.get(word, word)) for word in parts[-1:]]
    return " ".join(words) or "value"


def asked_of(name: str) -> str:
    """What is asked for by a parameter of that name: `needed-by date` for `neededBy`."""
    label = label_of(name)
    return f"{label.replace(' ', '-')} date" if label.endswith((" by", " on", " until", " since")) else label


def thing_of(name: str) -> str:
    """What a parameter that is a key stands for: `payment method` for `payment_method_id`, `new items` for `new_item_ids`."""
    words = list(words_of(name))
    if words[-1:] in (["id"], ["ids"], ["uuid"]) and len(words) > 1:
        return " ".join(words[:-1]) if words[-1] != "ids" else plural(" ".join(words[:-1]))
    return label_of(name)


def spoken(value: Any) -> str:
    """A value as it is written in a talk."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return listed([spoken(each) for each in value])
    if isinstance(value, dict):
        return ", ".join(f"{label_of(name)} {spoken(each)}" if is_bare(name, each) else spoken(each) for name, each in value.items())
    return str(value)


def dated(day: str, *, long: bool) -> str:
    """A date as people write it; anything else as it is."""
    if not long or not _ISO.fullmatch(day):
        return day
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return day
    return f"{_MONTHS[found.month - 1]} {found.day}, {found.year}"


def listed(texts: Sequence[str], word: str = "and") -> str:
    """`a, b and c`."""
    texts = list(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}" if len(texts) > 1 else "".join(texts)


def traits(told: Mapping[str, Any], key: str) -> list[str]:
    """What tells a thing from others of its kind, as an answer shows it, the best first: its name, the names of what is in it, a choice, a
    date. The key itself comes last.
    """
    found: list[str] = []
    for name in ("name", "title", "label"):
        value = told.get(name)
        if isinstance(value, str) and value:
            found.append(value)
    for value in told.values():
        if isinstance(value, list):
            names = [each.get("name") or each.get("title") for each in value if isinstance(each, dict)]
            found += [f"the one with the {inside}" for inside in names if isinstance(inside, str)]
        elif isinstance(value, dict):
            texts = [each for each in value.values() if isinstance(each, str)]
            plain = texts and len(texts) == len(value) <= 3 and "name" not in value
            found += [f"the {' '.join(texts)} one"] if plain else []
    for name, value in told.items():
        if isinstance(value, str) and name != key and words_of(name)[-1:] in (("status",), ("state",), ("source",), ("type",), ("branch",)):
            found.append(f"the {value.replace('_', ' ')} one")
        elif isinstance(value, str) and _ISO.fullmatch(value):
            said = label_of(name)
            found.append(f"the one {said} {value}" if said.endswith((" on", " by", " until", " since")) else f"the one with {said} {value}")
        elif isinstance(value, str) and words_of(name) in (("last", "four"), ("last", "4")):
            found.append(f"the one ending in {value}")
        elif isinstance(value, float) and is_money(name):
            found.append(f"the one {'with' if 'balance' in words_of(name) else 'for'} ${value:,.2f}")
    owners = [each["name"] for each in told.values() if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return [*dict.fromkeys(found), *(f"the one of {owner}" for owner in owners), str(told.get(key, ""))]


def option(told: Mapping[str, Any], key: str) -> str:
    """A thing in a list, by its key and what is told of it; a key that nobody can read is left out."""
    text, own = described(told, key), str(told.get(key, ""))
    return (f"{own} ({text})" if len(own) <= _READABLE else text) if text and own else text or own or ", ".join(map(str, told.values()))


def described(told: Mapping[str, Any], key: str) -> str:
    """A thing in a list that somebody chooses from."""
    parts: list[str] = []
    for name, value in told.items():
        if name == key or words_of(name)[-1:] in (("id",), ("uuid",), ("number",)):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) <= 40:
            money = is_money(name) and not isinstance(value, str)
            parts.append(
                f"${value:,.2f}" if money else f"{label_of(name)} {value}" if is_bare(name, value) else str(value).replace("_", " ")
            )
        elif isinstance(value, dict) and len(value) <= 3:
            parts += [str(each) for each in value.values() if isinstance(each, str)]
        elif isinstance(value, list):
            names = [each.get("name") or each.get("title") for each in value if isinstance(each, dict)]
            parts += [listed([name for name in names if isinstance(name, str)])] if all(names) and names else []
    return ", ".join(parts[:4])


def is_bare(name: str, value: Any) -> bool:
    """Whether a value says too little without what it is."""
    if words_of(name) in (("value",), ("amount",)):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and (_ISO.match(value) is not None or value.isdigit()))
