"""Split the names in an API (`order_id`, `dueOn`, `OrderSummary`) into words, and interpret them."""

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID = ("id", "ids", "uuid", "guid")
_KEYS = (*_ID, "number", "numbers", "no", "code", "codes", "reference", "ref", "sku", "isbn", "slug")
_GENERIC_WORDS = frozenset(  # words that do not name a kind of resource
    {"summary", "detail", "details", "response", "result", "info", "record", "view", "dto", "list", "page", "created", "updated", "full"}
    | {"brief", "base", "out", "read", "get", "found", "model", "schema", "entity", "object", "data", "new", "output", "collection"}
)
_SAME_IN_SINGULAR = frozenset(
    {"series", "species", "news", "status", "address", "class", "business", "access", "process", "analysis", "details", "lens"}
)
_PLURALS_IN_IES = frozenset({"movies", "cookies", "calories", "zombies", "ties", "pies", "selfies", "rookies"})
_VOWEL_SOUND = re.compile(r"[aeiou]|h(?:our|onest|onou?r|eir)", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(r"on(?:e|ce)\b|eu|u(?:ni(?![nmd]|ss)|s[aeu]|sb\b|t[eio]|r[il]\b|uid|rin|ran)", re.IGNORECASE)
PEOPLE = frozenset(
    {"user", "customer", "member", "patient", "client", "guest", "student", "employee", "person", "passenger", "subscriber", "account"}
    | {"contact", "tenant", "applicant", "borrower", "reader", "patron", "owner", "driver", "traveler", "traveller", "resident", "profile"}
)
RECORDS = frozenset({"account", "profile"})  # a person, or something that belongs to one
PROFESSIONS = frozenset(
    {"doctor", "teacher", "instructor", "agent", "staff", "physician", "nurse", "trainer", "author", "therapist", "vet"}
)


@lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, ...]:
    """Return `("order", "id")` for `order_id`, `orderId` and `Order-ID`; empty for a name without letters or digits."""
    return tuple(word.lower() for word in _WORD.findall(name[:2000]))


def singular(word: str) -> str:
    """Return the singular of a noun; any other word unchanged."""
    if word in _SAME_IN_SINGULAR or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and word not in _PLURALS_IN_IES:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes", "lenses")) else word[:-1]


def plural(noun: str) -> str:
    """Return `orders` for `order`, `payment methods` for `payment method`."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh", "z")) else f"{noun}s"


def resource_noun(name: str) -> str:
    """Return the kind of resource for the name of a schema, field or path segment: `order` for `OrderSummary` and `orders`."""
    words = [word for word in split_name(name.replace("ListItem", "")) if word not in _GENERIC_WORDS] or list(split_name(name))
    return "_".join([*words[:-1], singular(words[-1])]) if words else ""


def key_stem(name: str) -> str | None:
    """Return what a key identifies: `order` for `order_id`, `""` for `id`; None for a name that is not a key."""
    words = split_name(name)
    if not words or words[-1] not in _KEYS:
        return None
    return "_".join(words[:-1]) if words[-1] in _ID or len(words) > 1 else words[-1]


def is_id(name: str) -> bool:
    """Return whether a name is that of an id, by its last word."""
    words = split_name(name)
    return bool(words) and words[-1] in _ID


def with_article(noun: str) -> str:
    """Return the noun with `a` or `an`, by its sound: `an umbrella`, `a unit`, `an hour`."""
    return f"{'an' if _VOWEL_SOUND.match(noun) and not _CONSONANT_SOUND.match(noun) else 'a'} {noun}"
