"""Phrase operations, fields and rows of an API in natural language."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from callmark.simulation.mock_api.amounts import is_money
from callmark.simulation.mock_api.api import OperationMeaning
from callmark.simulation.mock_api.names import PEOPLE, PROFESSIONS, plural, singular, split_name, with_article
from callmark.simulation.operations import Operation

_VERB_LIST = """
accept activate add adjust apply approve archive arrange assign attach authorize block book borrow buy calculate call cancel
change check check-in claim close commit compare complete compress confirm connect convert copy count create deactivate
delete deliver demonstrate deposit describe disable dispatch download echo edit enable end enroll estimate exchange execute
export extend fetch file find finish flag follow freeze generate get give grant handle hold import insert invite issue join
leave link list load lock log look make mark merge modify move notify open order park patch pause pay pick place post print
process publish purchase put query rate read rebook record redeem refund register reject release remind remove rename renew
rent reopen repair replace reply report request reschedule reserve reset resolve restore resume retrieve return review revoke
run save schedule search see select send set share show sign simulate stage start stop submit subscribe summarize suspend
swap switch sync terminate toggle top track transfer translate trigger unblock unlock unsubscribe update upgrade upload
validate verify view withdraw write
"""
_VERBS = frozenset(_VERB_LIST.split())
_READ_VERBS = {"get": "see", "retrieve": "see", "fetch": "see", "show": "see", "return": "see", "read": "see", "view": "see", "list": "see"}
_BY_METHOD = {"get": "see", "post": "make", "put": "update", "patch": "update", "delete": "delete"}
_METHOD_VERBS = {"post": "add", "put": "update", "patch": "update"}  # instead of verbs that people do not use
_PERSON = "|".join(sorted(PEOPLE, key=len, reverse=True))
_AFTER_PERSON = (
    r"(?:to|from|by|with|of|in|into|out|for|and|or|on|at|as|if|is|has|who|whose|that|when|using|via|up)\b"  # no noun: `a user to`
)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_LABEL_WORDS = {
    **{word: word.upper() for word in ("id", "isbn", "iban", "bic", "mrn", "vin", "sku", "ean", "url")},
    "ids": "IDs",
    "dob": "date of birth",
    "born": "date of birth",
    "body": "information",
}
_LAST_LABEL_WORDS = {"zip": "zip code", "email": "email address", "phone": "phone number"}
_PERSONAL_LABELS = frozenset(
    {"email address", "full name", "name", "zip code", "phone", "phone number", "card number", "address", "date of birth"}
    | {"first name", "last name", "username", "password", "birth date", "delivery address", "shipping address", "account number"}
)
_OWN_NAMES = frozenset({"name", "title"})  # of people and of things
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_RECORD_TIMES = (("created", "at"), ("updated", "at"), ("created", "on"), ("updated", "on"))
_ADDRESS_WORDS = frozenset({"city", "zip", "postcode", "postal", "street", "country"})
_PREPOSITIONS = frozenset({"by", "of", "for", "to", "from", "in", "with", "on"})
_DETERMINERS = frozenset({"a", "an", "the", "all", "any", "each", "every", "one", "several", "multiple", "my", "your", "this", "that"})
_MAX_PHRASE = 90  # characters
_MAX_READABLE_KEY = 24  # characters


def phrase_wish(meaning: OperationMeaning) -> str:
    """Return the user's wish for an operation, starting with a verb and in the first person: `cancel a pending order`."""
    verb, rest = _phrase(meaning)
    if not meaning.operation.writes:
        rest = re.sub(r" by .*$", "", rest)
    if not meaning.operation.writes and verb in _READ_VERBS:
        verb = "see" if rest.startswith(("the ", "all ", "my ")) else "look up"
    wish = re.sub(rf"^send (.+) to (?:a|an|the) (?:{_PERSON})\b", r"get \1", f"{verb} {rest}", flags=re.IGNORECASE)
    return _with_first_person(wish, "my", "me")


def phrase_action(meaning: OperationMeaning) -> str:
    """Return what the operation does, in the agent's words: `send a coupon to you`; resources that it takes get `the`."""
    action = _with_first_person(" ".join(_phrase(meaning)), "your", "you")
    for kind in dict.fromkeys(meaning.keys.values()):
        action = re.sub(rf"\b(?:a|an) ((?:[\w-]+ )?{re.escape(kind.replace('_', ' '))})\b", r"the \1", action, flags=re.IGNORECASE)
    return action


def _phrase(meaning: OperationMeaning) -> tuple[str, str]:
    """Return the verb and the rest of a phrase for an operation: from its summary, its description's first sentence, or its name."""
    operation = meaning.operation
    summary = operation.summary or re.split(r"(?<=\w)[.!?](?:\s|$)", operation.tool.description.strip(), maxsplit=1)[0]
    summary = _plain_summary(summary, operation.tool.description)
    verb, rest = _split_verb(summary) if len(summary) <= _MAX_PHRASE else ("", "")
    if verb:
        many = meaning.subject is not None and meaning.subject.many
        return verb, _add_article(rest, meaning.kind, many=many)
    words = list(split_name(operation.tool.name))
    if words == [*split_name(f"{operation.method} {operation.path}")]:
        return _phrase_from_path(operation)
    has_verb = bool(words) and words[0] in _VERBS
    nouns = [word for word in (words[1:] or words) if word not in ("by", "id", "details")]
    many = meaning.subject is not None and meaning.subject.many
    noun = " ".join(nouns if many else [*nouns[:-1], *map(singular, nouns[-1:])])
    verb = _METHOD_VERBS.get(words[0], words[0]) if has_verb else _BY_METHOD.get(operation.method, "use")
    return verb, (noun if many else with_article(noun)) if noun else "that"


def _phrase_from_path(operation: Operation) -> tuple[str, str]:
    """Return the verb and the rest of a phrase for an operation without a name.

    `see the trips of a vehicle` for `GET /vehicles/{plate}/trips`, `cancel a visit` for `POST /visits/{id}/cancel`.
    """
    parts = [part for part in operation.path.split("/") if split_name(part)]
    nouns = [" ".join(split_name(part)) for part in parts if "{" not in part]
    verb = _METHOD_VERBS.get(operation.method, operation.method)
    if not nouns:
        return verb, "that"
    noun = nouns.pop()
    if noun in _VERBS and nouns and "{" not in parts[-1]:
        verb, noun = noun, singular(nouns.pop())
        return verb, with_article(noun)
    is_single = "{" in parts[-1] or operation.method == "post"
    noun_phrase = with_article(singular(noun)) if is_single else f"the {noun}"
    if not nouns or not any("{" in part for part in parts[:-1]):
        return verb, noun_phrase
    return verb, f"{noun_phrase} {'for' if verb == 'add' else 'of'} {with_article(singular(nouns[-1]))}"


def _split_verb(summary: str) -> tuple[str, str]:
    words = summary.strip().rstrip(".").split()
    verb = words[0].lower() if words else ""
    for form in (verb, verb.removesuffix("s"), verb.removesuffix("es")):
        if form in _VERBS and len(words) > 1:
            second = words[1].lower() if words[1] in ("A", "An", "The", "All") else words[1]
            return form, " ".join([second, *words[2:]])
    return "", ""


def _plain_summary(summary: str, description: str) -> str:
    """Return a summary without what is in brackets, and with titles and words of the description in lower case: `Delete a Pet`."""
    words = re.sub(r"\s*[\[(][^\])]*[\])]", "", summary).split()
    text = {*re.findall(r"[a-z][a-z'-]+", description)}
    long = [word for word in words[1:] if len(word) > 3]
    is_title = len(long) > 1 and all(map(_is_titled, long))
    plain = (word.lower() if _is_titled(word) and (is_title or word.lower() in text) else word for word in words[1:])
    return " ".join([*words[:1], *plain])


def _is_titled(word: str) -> bool:
    return word[:1].isupper() and word[1:].islower()


def _add_article(rest: str, kind: str, *, many: bool = False) -> str:
    """Add an article to a bare noun, and convert resource names to lower case; what is `many` has none."""
    nouns = {*kind.split("_"), *map(plural, kind.split("_"))} if kind else set()
    words = [word.lower() if word.lower() in nouns | PEOPLE else word for word in rest.split()]
    if len(words) > 1 and words[1].lower() in ("resource", "object", "entity") and words[0] in PEOPLE | nouns:
        del words[1]
    head = next((index for index, word in enumerate(words) if word in _PREPOSITIONS), len(words)) - 1
    is_bare = 0 < head < 3 and not {word.lower() for word in words[:head]} & _DETERMINERS and not any("'" in word for word in words)
    if kind and not many and is_bare and words[head] == kind.rpartition("_")[2] and singular(words[0]) == words[0]:
        return " ".join([with_article(words[0]), *words[1:]])
    return f"{with_article(words[0])} {' '.join(words[1:])}".strip() if words[0] in PEOPLE | {kind} else " ".join(words)


def _with_first_person(text: str, possessive: str, pronoun: str) -> str:
    """Replace the person that an operation is about with the given pronouns."""
    person = rf"(?:a|an|the) (?:{_PERSON})\b"
    text = re.sub(rf"\b(?:a|an|the|all)? ?(?:{_PERSON})(?:'s|s')(?= )", f" {possessive}", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(?:a|an|the|all) ((?:[\w-]+ ){{0,3}}?[\w-]+) (?:of|for) {person}", rf"{possessive} \1", text, flags=re.IGNORECASE)
    text = re.sub(rf" (?:of|for) {person}", "", text, flags=re.IGNORECASE)
    text = re.sub(rf"^(\w+(?: up)?) {person}$", rf"\1 {possessive} account", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b{person}(?= (?!{_AFTER_PERSON})\w)", possessive, text, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", re.sub(rf"\b{person}", pronoun, text, flags=re.IGNORECASE)).strip()


def drop_conditions(wish: str, values: Sequence[str]) -> str:
    """Return a wish without conditions on the status: `cancel an order` for `cancel a pending order`."""
    for value in values:
        wish = re.sub(
            rf"\b(?:a|an) {re.escape(value)} (\w+(?:[ -]\w+)?)",
            lambda found: with_article(found[1]),
            wish,
            flags=re.IGNORECASE,
        )
    return wish


def refer_to_known(wish: str, noun_phrase: str, determiner: str) -> str:
    """Return a wish that refers to a known resource: `cancel that same order`."""
    if not noun_phrase:
        return wish
    pattern = rf"\b(?:one of my {re.escape(plural(noun_phrase))}|(?:a|an|my) (?:[\w-]+ )?{re.escape(noun_phrase)}\b(?: of mine)?)"
    return re.sub(pattern, f"{determiner} {noun_phrase}", wish, flags=re.IGNORECASE)


def phrase_as_own(wish: str, noun_phrase: str, random: Random) -> str:
    """Return a wish about one of the user's own resources: `cancel one of my orders`."""
    own = random.choice(
        (with_article(noun_phrase), f"one of my {plural(noun_phrase)}", f"my {noun_phrase}", f"{with_article(noun_phrase)} of mine")
    )
    return re.sub(rf"\b(?:a|an) {re.escape(noun_phrase)}\b(?!')", own, wish, flags=re.IGNORECASE)


def to_second_person(wish: str) -> str:
    """Return a wish in the second person: `change your address`."""
    for own, yours in (("mine", "yours"), ("my", "your"), ("me", "you"), ("I", "you")):
        wish = re.sub(rf"\b{own}\b", yours, wish)
    return wish


def field_label(name: str) -> str:
    """Return the label of a parameter or field: `order ID`, `zip code`, `due on`."""
    parts = split_name(name)
    if parts[-2:] in (("address", "1"), ("line", "1")):
        return "street"
    if parts[-2:] in (("address", "2"), ("line", "2")):
        return "apartment"
    words = [_LABEL_WORDS.get(word, word) for word in parts[:-1]] + [
        _LAST_LABEL_WORDS.get(word, _LABEL_WORDS.get(word, word)) for word in parts[-1:]
    ]
    return " ".join(words) or "value"


def is_personal(label: str) -> bool:
    """Return whether a label is that of a detail of a person: `email address`; not `order ID`."""
    return label.removeprefix("new ") in _PERSONAL_LABELS


def label_of(label: str, noun: str, *, is_person: bool) -> tuple[str, bool]:
    """Return the label of a detail of a resource, and whether it is a detail of the user: a pet's name is the `name of the pet`."""
    if label.removeprefix("new ") in _OWN_NAMES and not is_person:
        return (f"{label} of the {noun}" if noun else label), False
    return label, is_personal(label)


def question_label(name: str) -> str:
    """Return the label of a parameter in a question: `needed-by date` for `neededBy`."""
    label = field_label(name)
    return f"{label.replace(' ', '-')} date" if label.endswith((" by", " on", " until", " since")) else label


def reference_label(name: str) -> str:
    """Return a label for what a key parameter refers to: `payment method` for `payment_method_id`, `new items` for `new_item_ids`."""
    words = list(split_name(name))
    if words[-1:] in (["id"], ["ids"], ["uuid"]) and len(words) > 1:
        return " ".join(words[:-1]) if words[-1] != "ids" else plural(" ".join(words[:-1]))
    return field_label(name)


def format_value(value: Any) -> str:
    """Return a value as text for a conversation."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return join_texts([format_value(item) for item in value])
    if isinstance(value, dict):
        return ", ".join(
            f"{field_label(name)} {format_value(item)}" if needs_label(name, item) else format_value(item) for name, item in value.items()
        )
    return str(value)


def format_date(day: str, *, long: bool) -> str:
    """Return a date in long form, if `long` is set; anything else unchanged."""
    if not long or not _ISO_DATE.fullmatch(day):
        return day
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return day
    return f"{_MONTHS[found.month - 1]} {found.day}, {found.year}"


def join_texts(texts: Sequence[str], word: str = "and") -> str:
    """Return `a, b and c`."""
    texts = list(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}" if len(texts) > 1 else "".join(texts)


def distinguishing_traits(fields: Mapping[str, Any], key: str) -> list[str]:
    """Return what distinguishes a row from others of its kind, best first: its name, names in it, a status, a date; the key last."""
    found: list[str] = []
    for name in sorted(filter(_is_name, fields), key=len):
        value = fields[name]
        if isinstance(value, str) and value and name != key:
            found.append(value)
    for name, value in fields.items():
        if isinstance(value, list):
            names = [item.get("name") or item.get("title") for item in value if isinstance(item, dict)]
            article = "" if {*split_name(name), *map(singular, split_name(name))} & (PEOPLE | PROFESSIONS | {"people"}) else "the "
            found += [f"the one with {article}{inside}" for inside in names if isinstance(inside, str)]
        elif isinstance(value, dict):
            texts = [item for item in value.values() if isinstance(item, str)]
            plain = texts and len(texts) == len(value) <= 3 and "name" not in value
            found += [f"the {' '.join(texts)} one"] if plain else []
    for name, value in fields.items():
        if (
            isinstance(value, str)
            and name != key
            and split_name(name)[-1:] in (("status",), ("state",), ("source",), ("type",), ("branch",))
            and not is_part_of_address(name, fields)
        ):
            found.append(f"the {value.replace('_', ' ')} one")
        elif isinstance(value, str) and _ISO_DATE.fullmatch(value):
            label = re.sub(r" at$", " on", field_label(name))
            found.append(
                f"the one {label} {value}" if label.endswith((" on", " by", " until", " since")) else f"the one with {label} {value}"
            )
        elif isinstance(value, str) and split_name(name) in (("last", "four"), ("last", "4")):
            found.append(f"the one ending in {value}")
        elif isinstance(value, float) and is_money(name):
            found.append(f"the one {'with' if 'balance' in split_name(name) else 'for'} {format_money(value, fields)}")
    owners = [item["name"] for item in fields.values() if isinstance(item, dict) and isinstance(item.get("name"), str)]
    return [*dict.fromkeys(found), *(f"the one of {owner}" for owner in owners), str(fields.get(key, ""))]


def format_option(fields: Mapping[str, Any], key: str, *, long_keys: bool = False) -> str:
    """Return a row as an option: key and description; a long key is left out, unless `long_keys` is set."""
    text, key_text = describe_row(fields, key), str(fields.get(key, ""))
    return (
        (f"{key_text} ({text})" if long_keys or len(key_text) <= _MAX_READABLE_KEY else text)
        if text and key_text
        else text or key_text or ", ".join(map(str, fields.values()))
    )


def describe_row(fields: Mapping[str, Any], key: str) -> str:
    """Return a short description of a row, without its key: names first, when it was made last, no addresses of pages."""
    parts: list[str] = []
    for name in sorted(fields, key=lambda name: -1 if _is_name(name) else split_name(name)[-2:] in _RECORD_TIMES):
        value = fields[name]
        if name == key or split_name(name)[-1:] in (("id",), ("uuid",), ("number",)) or _is_link(value):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) <= 40:
            money = is_money(name) and not isinstance(value, str)
            label = "" if money or not needs_label(name, value) else f"{field_label(name)} "
            parts.append(format_money(value, fields) if money else f"{label}{value}" if label else str(value).replace("_", " "))
        elif isinstance(value, dict) and len(value) <= 3:
            parts += [str(item) for item in value.values() if isinstance(item, str) and not _is_link(item)]
        elif isinstance(value, list):
            names = [item.get("name") or item.get("title") for item in value if isinstance(item, dict)]
            parts += [join_texts([name for name in names if isinstance(name, str)])] if all(names) and names else []
    return ", ".join(parts[:4])


def _is_name(field: str) -> bool:
    return field in ("name", "title", "label") or (split_name(field)[-1:] in (("name",), ("title",)) and len(split_name(field)) == 2)


def _is_link(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def is_part_of_address(name: str, fields: Mapping[str, Any]) -> bool:
    """Return whether a field is the state of an address, and not the state of a resource."""
    return split_name(name)[-1:] == ("state",) and any({*split_name(other)} & _ADDRESS_WORDS for other in fields)


def format_money(value: Any, fields: Mapping[str, Any]) -> str:
    """Return an amount with its currency: that of the row, if it has one, else dollars."""
    currency = next((each for name, each in fields.items() if split_name(name)[-1:] == ("currency",) and isinstance(each, str)), "USD")
    return f"${value:,.2f}" if currency.upper() in ("", "USD") else f"{value:,.2f} {currency.upper()}"


def needs_label(name: str, value: Any) -> bool:
    """Return whether a value is hard to understand without its label."""
    if split_name(name) in (("value",), ("amount",)):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and (_ISO_DATE.match(value) is not None or value.isdigit()))
