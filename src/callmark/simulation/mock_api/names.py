"""Names as APIs write them (`order_id`, `dueOn`, `OrderSummary`), in words."""

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID = ("id", "ids", "uuid", "guid")
_KEYS = (*_ID, "number", "numbers", "no", "code", "codes", "reference", "ref", "sku", "isbn", "slug")
_ABOUT = frozenset(  # words of a schema's name that do not say of what kind it is
    {"summary", "detail", "details", "response", "result", "info", "record", "view", "dto", "list", "page", "created", "updated", "full"}
    | {"brief", "base", "out", "read", "get", "found", "model", "schema", "entity", "object", "data", "new", "output", "collection"}
)
_SAME = frozenset(
    {"series", "species", "news", "status", "address", "class", "business", "access", "process", "analysis", "details", "lens"}
)
_IE = frozenset({"movies", "cookies", "calories", "zombies", "ties", "pies", "selfies", "rookies"})
_VOWEL = re.compile(r"[aeiou]|h(?:our|onest|onou?r|eir)", re.IGNORECASE)
_NO_VOWEL = re.compile(r"on(?:e|ce)\b|eu|u(?:ni(?![nmd]|ss)|s[aeu]|sb\b|t[eio]|r[il]\b|uid|rin|ran)", re.IGNORECASE)
PEOPLE = frozenset(
    {"user", "customer", "member", "patient", "client", "guest", "student", "employee", "person", "passenger", "subscriber", "account"}
    | {"contact", "tenant", "applicant", "borrower", "reader", "patron", "owner", "driver", "traveler", "traveller", "resident", "profile"}
)
RECORDS = frozenset({"account", "profile"})  # which may be somebody's rather than somebody
PROFESSIONS = frozenset(
    {"doctor", "teacher", "instructor", "agent", "staff", "physician", "nurse", "trainer", "author", "therapist", "vet"}
)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """`("order", "id")` for `order_id`, `orderId` and `Order-ID`; empty for a name without letters or digits."""
    return tuple(word.lower() for word in _WORD.findall(name[:2000]))


def singular(word: str) -> str:
    """A noun of which there is one; a word that is no plural as it is."""
    if word in _SAME or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and word not in _IE:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes", "lenses")) else word[:-1]


def plural(noun: str) -> str:
    """`orders` for `order`, `payment methods` for `payment method`."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh", "z")) else f"{noun}s"


def noun_of(name: str) -> str:
    """Of what kind a schema, a field or a part of a path is by its name: `order` for `OrderSummary`, `orders` and `order_list`."""
    words = [word for word in words_of(name.replace("ListItem", "")) if word not in _ABOUT] or list(words_of(name))
    return "_".join([*words[:-1], singular(words[-1])]) if words else ""


def key_stem(name: str) -> str | None:
    """What a key is a key of: `order` for `order_id`, `""` for a mere `id`; None for a name that is no key's."""
    words = words_of(name)
    if not words or words[-1] not in _KEYS:
        return None
    return "_".join(words[:-1]) if words[-1] in _ID or len(words) > 1 else words[-1]


def is_id(name: str) -> bool:
    """Whether the name says that it is an id, and nothing else."""
    words = words_of(name)
    return bool(words) and words[-1] in _ID


def has_article(noun: str) -> str:
    """The noun with `a` or `an` before it, by how it is spoken: `an umbrella`, `a unit`, `an hour`."""
    return f"{'an' if _VOWEL.match(noun) and not _NO_VOWEL.match(noun) else 'a'} {noun}"
