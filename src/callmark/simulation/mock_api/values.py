"""Values that a schema allows and that look as if somebody had entered them: by format, by the field's name, by the example that is given.

The same place of the same seed has always the same value. Fields of one thing belong together: its name, email and city are one person's.
"""

import re
import string
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any

from msgspec import Struct

from callmark.simulation.mock_api import stock
from callmark.simulation.mock_api.amounts import amount
from callmark.simulation.mock_api.names import PEOPLE, PROFESSIONS, RECORDS, is_id, key_stem, singular, words_of
from callmark.simulation.mock_api.patterns import fitting
from callmark.simulation.mock_api.shapes import properties, required, shape

_DEEPEST = 6  # objects and lists inside of each other
_MOST_ITEMS = 20
_LONGEST = 1000  # characters of a text
_TRIES = 20  # for a list in which nothing stands twice
_SUCH_AS = re.compile(r"(?:such as|e\.g\.,?|for example,?|like|example:)\s+['\"`]([^'\"`]{2,60})['\"`]", re.IGNORECASE)
_FUTURE = frozenset(
    ("due", "expires", "expiry", "expiration", "until", "start", "starts", "end", "ends", "scheduled", "appointment", "needed")
)
_FUTURE_TOO = frozenset(
    ("delivery", "departure", "arrival", "checkin", "checkout", "check", "next", "by", "visit", "deadline", "available")
)
_CODE = re.compile(r"[A-Za-z]{0,4}[-_#]?\d{1,8}[A-Za-z]?")  # a seat, a room, a gate
_PERSON_KEY = re.compile(r"([a-z]{2,})_([a-z]{2,})_\d{2,4}")
_THINGS = frozenset(("card", "credit", "gift", "pay", "order", "user", "item", "customer", "account"))
STAGES = (("status",), ("state",), ("stage",))  # what a name ends with that says how far a thing is
_CODES = frozenset({"iban", "plate", "registration", "licence", "license", "serial", "barcode", "imei", "voucher", "coupon"})
_PERSONAL = frozenset(
    {
        "email",
        "phone",
        "mobile",
        "telephone",
        "tel",
        "name",
        "forename",
        "surname",
        "firstname",
        "lastname",
        "username",
        "login",
        "nickname",
    }
    | {"handle", "1", "2", "street", "address", "zip", "zipcode", "postcode", "postal", "city", "town", "province", "state", "location"}
)
_NAMES = frozenset(("name", "title", "label"))


class About(Struct, frozen=True):
    """What a value belongs to: a kind of thing, and which one of it."""

    kind: str
    key: str

    @property
    def is_person(self) -> bool:
        return bool({*self.kind.split("_")} & (PEOPLE | PROFESSIONS))


class Values:
    """Values of one seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._people: dict[About, tuple[str, str]] = {}
        self._places: dict[About, tuple[str, ...]] = {}

    def random(self, *place: str) -> Random:
        """Chance at a place, the same for the same seed."""
        return Random("/".join((self._seed, *place)))

    def made(self, schema: Any, name: str, about: About, *, random: Random | None = None, depth: int = 0) -> Any:
        """A value for the field of that name, always the same unless chance is lent. What no schema tells is text; too deep inside of one
        another, objects and lists are empty.
        """
        given = shape(schema)
        random = random or self.random(about.kind, about.key, name)
        if "const" in given:
            return given["const"]
        if isinstance(given.get("enum"), list) and given["enum"]:
            return given["enum"][
                _early(len(given["enum"]), random) if words_of(name)[-1:] in STAGES else random.randrange(len(given["enum"]))
            ]
        match given.get("type"):
            case "object":
                return self._object(given, name, about, random, depth)
            case "array":
                return self._array(given, name, about, random, depth)
            case "integer" | "number":
                return amount(given, name, random)
            case "boolean":
                return given["default"] if isinstance(given.get("default"), bool) else random.random() < 0.7
            case "null":
                return None
            case "string":
                return self._text(given, name, about, random)
        if "example" in given:
            return given["example"]
        return self._text(given, name, about, random)

    def _object(self, given: Mapping[str, Any], name: str, about: About, random: Random, depth: int) -> dict[str, Any]:
        fields = properties(given)
        if not fields:
            if isinstance(given.get("example"), dict):
                return dict(given["example"])
            more = given.get("additionalProperties")
            if not isinstance(more, dict) or not more or depth > _DEEPEST:
                return {}
            keys = random.sample(stock.NAMED, 3)
            return {key.lower(): self.made(more, name, about, random=random, depth=depth + 1) for key in keys}
        needed = required(given)
        shown = fields if depth <= _DEEPEST else {key: fields[key] for key in needed if key in fields and depth <= 4 * _DEEPEST}
        return {key: self.made(each, key, about, random=random, depth=depth + 1) for key, each in shown.items()}

    def _array(self, given: Mapping[str, Any], name: str, about: About, random: Random, depth: int) -> list[Any]:
        items = given.get("items")
        if not isinstance(items, dict) or depth > _DEEPEST:
            return list(given["example"]) if isinstance(given.get("example"), list) else []
        least = _count(given.get("minItems"), 1)
        most = max(least, _count(given.get("maxItems"), max(least, 3)))
        made: list[Any] = []
        wanted = random.randint(least, min(most, max(least, 3)))
        for number in range(wanted + _TRIES):
            value = self.made(items, name, about, random=random, depth=depth + 1)
            if value not in made or number >= wanted + _TRIES - least:  # the same again only where there have to be so many
                made.append(value)
            if len(made) >= wanted:
                break
        return made

    def _text(self, given: Mapping[str, Any], name: str, about: About, random: Random) -> str:
        pattern = given.get("pattern")
        if isinstance(pattern, str) and (text := fitting(pattern, random)) is not None:
            return text
        text = self._formatted(str(given.get("format", "")), name, random) or self._named(given, name, about, random)
        least, most = given.get("minLength"), given.get("maxLength")
        while isinstance(least, int) and len(text) < min(least, _LONGEST):
            text = f"{text} {text}" if " " in text else text + random.choice(string.ascii_uppercase if text.isupper() else string.digits)
        return text[:most] if isinstance(most, int) and most >= 0 else text

    def _formatted(self, form: str, name: str, random: Random) -> str:
        match form:
            case "date":
                return _day(name, random).isoformat()
            case "date-time":
                moment = datetime.combine(_day(name, random), time(random.randint(8, 17), random.choice((0, 15, 30, 45))), UTC)
                return moment.isoformat().replace("+00:00", "Z")
            case "time":
                return f"{random.randint(8, 17):02}:{random.choice((0, 15, 30, 45)):02}:00Z"
            case "uuid":
                return str(uuid.UUID(int=random.getrandbits(128), version=4))
            case "uri" | "url":
                return f"https://example.com/{'-'.join(words_of(name)) or 'page'}/{random.randint(100, 999)}"
            case "ipv4":
                return f"192.0.2.{random.randint(1, 254)}"
            case "hostname":
                return "www.example.com"
            case "byte":
                return "ZXhhbXBsZQ=="
        return ""

    def _named(self, given: Mapping[str, Any], name: str, about: About, random: Random) -> str:
        """By what the field is called; else as in an example; else the name itself."""
        examples = [text for text in _examples(given) if text]
        if examples and (is_id(name) or key_stem(name) is not None):
            return _like(random.choice(examples), random, self.person(about))
        if key_stem(name) is not None:
            return _key(name, about, random)
        if len(examples) > 1:
            return random.choice(examples)
        words = words_of(name)
        of_place = self._of_person_or_place(words, given, about, random)
        if of_place:
            return of_place
        if _NAMES & {*words[-1:]} and (about.is_person or {*words[:-1]} & (PEOPLE | PROFESSIONS)):
            return " ".join(self.person(about))
        kind = (words[-2] if len(words) > 1 else about.kind.rpartition("_")[2]) if _NAMES & {*words[-1:]} else ""
        if things := stock.THINGS.get(stock.LIKE.get(kind, kind)):
            return random.choice(things)
        if examples:
            return _like(examples[0], random, self.person(about)) if _CODE.fullmatch(examples[0]) else examples[0]
        if words[-1:] in (("url",), ("urls",), ("uri",), ("link",), ("website",)):
            return self._formatted("uri", name, random)
        if kind:
            return f"{random.choice(stock.NAMED)} {kind.replace('_', ' ').title()}".strip()
        if {"date", "day"} & {*words} or words[-1:] in (("on",), ("at",)):
            return _day(name, random).isoformat()
        if words[-1:] == ("time",):
            return f"{random.randint(8, 17):02}:{random.choice((0, 15, 30, 45)):02}"
        for word in (*reversed(words), *map(singular, reversed(words))):
            if word in stock.BY_WORD:
                return random.choice(stock.BY_WORD[word])
        if isinstance(given.get("default"), str):
            return str(given["default"])
        if {*words[-1:]} & (PEOPLE | PROFESSIONS) - RECORDS:
            return " ".join(self.person(About(words[-1], about.key)))
        return _code(words[-1], random) if words and _is_code(words[-1]) else random.choice(stock.NAMED)

    def person(self, about: About) -> tuple[str, str]:
        """First and last name of whoever this is about; those that stand in the key, if it is made of them."""
        if about not in self._people:
            parts = _PERSON_KEY.fullmatch(about.key)
            random = self.random(about.kind, about.key, "person")
            drawn = random.choice(stock.FIRST_NAMES), random.choice(stock.LAST_NAMES)
            self._people[about] = (parts[1].title(), parts[2].title()) if parts and not {parts[1], parts[2]} & _THINGS else drawn
        return self._people[about]

    def place(self, about: About) -> tuple[str, ...]:
        """City, state, zip code, what a phone number begins with, and a street with a number."""
        if about not in self._places:
            random = self.random(about.kind, about.key, "place")
            self._places[about] = (*random.choice(stock.PLACES), f"{random.randint(12, 980)} {random.choice(stock.STREETS)}")
        return self._places[about]

    def _of_person_or_place(self, words: tuple[str, ...], given: Mapping[str, Any], about: About, random: Random) -> str:
        name, end = "_".join(words), words[-1] if words else ""
        if given.get("format") != "email" and end not in _PERSONAL and not name.endswith(("phone_number", "postal_code", "zip_code")):
            return ""
        first, last = self.person(about)
        city, state, code, phone, street = self.place(about)
        if end == "email" or given.get("format") == "email":
            return f"{first}.{last}{random.randint(10, 99)}@example.com".lower()
        if end in ("phone", "mobile", "telephone", "tel") or name.endswith("phone_number"):
            return f"{phone}-555-01{random.randint(10, 99)}"
        if name in ("first_name", "given_name", "forename", "firstname"):
            return first
        if name in ("last_name", "family_name", "surname", "lastname"):
            return last
        if end in ("username", "login", "nickname", "handle"):
            return f"{first}{last[0]}".lower()
        if name in ("address_1", "address_line_1", "line_1", "street", "street_address"):
            return street
        if name in ("address_2", "address_line_2", "line_2"):
            return f"Apt {random.randint(1, 40)}"
        if end in ("zip", "zipcode", "postcode") or name.endswith(("postal_code", "zip_code", "postal")):
            return code
        of_place = {"city": city, "town": city, "province": state, "address": f"{street}, {city}, {state} {code}", "location": city}
        return state if name == "state" and "enum" not in given else of_place.get(end, "")


def _examples(given: Mapping[str, Any]) -> list[str]:
    found = given.get("examples")
    texts = [*([given["example"]] if "example" in given else []), *(found if isinstance(found, list) else [])]
    said = given.get("description")
    return [text for text in texts if isinstance(text, str)] or (_SUCH_AS.findall(said[:1000])[:3] if isinstance(said, str) else [])


def _like(example: str, random: Random, person: tuple[str, str]) -> str:
    """A key as the example has it: `#W2378156` for `#W0000000`, `mei_chen_312` for `sara_doe_496`."""
    if (parts := _PERSON_KEY.fullmatch(example)) and not {parts[1], parts[2]} & _THINGS:
        return f"{person[0]}_{person[1]}_{random.randint(100, 999)}".lower()
    if not any(map(str.isdigit, example)):
        return f"{example}-{random.randint(1000, 9999)}"
    digits = (random.choice(string.digits if index else "123456789") for index in range(len(example)))
    return "".join(next(digits) if sign.isdigit() else sign for sign in example)


def _key(name: str, about: About, random: Random) -> str:
    stem = key_stem(name) or about.kind
    letters = "".join(word[0] for word in stem.split("_")) if "_" in stem else stem[:3]
    return f"{letters.upper() or 'ID'}-{random.randint(10000, 99999)}"


def _is_code(word: str) -> bool:
    """Whether people call something so that is made of letters and digits: `plate`, and what cannot be pronounced (`mrn`)."""
    return word in _CODES or (1 < len(word) <= 5 and word.isalpha() and not {*word} & {*"aeiouy"})


def _code(word: str, random: Random) -> str:
    if word == "iban":
        return f"DE{random.randint(10, 99)}{random.randrange(10**17, 10**18)}"
    letters = "".join(random.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=3))
    return f"{letters}-{random.randint(1000, 9999)}"


def _day(name: str, random: Random) -> date:
    words = set(words_of(name))
    if "birth" in words or "dob" in words or "born" in words:
        return stock.TODAY - timedelta(days=random.randint(20 * 365, 70 * 365))
    if words & {"since", "joined", "registered", "hired"}:
        return stock.TODAY - timedelta(days=random.randint(200, 3000))
    if words & (_FUTURE | _FUTURE_TOO) or words in ({"date"}, {"day"}):
        return stock.TODAY + timedelta(days=random.randint(3, 60))
    return stock.TODAY - timedelta(days=random.randint(2, 60))


def _count(value: Any, otherwise: int) -> int:
    return min(max(value, 0), _MOST_ITEMS) if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _early(number: int, random: Random) -> int:
    """One of so many stages; most things are in one of the first."""
    return min(random.randrange(number), random.randrange(number))
