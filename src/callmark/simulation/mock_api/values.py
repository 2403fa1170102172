"""Generate values that fit a schema and look realistic: by format, by the name of the field, or like the example in the schema.

The same seed always gives the same value in the same place. The fields of a resource belong together: name, email and city are those of one
person.
"""

import re
import string
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any

from msgspec import Struct

from callmark.simulation.mock_api import sample_data
from callmark.simulation.mock_api.amounts import generate_number
from callmark.simulation.mock_api.names import PEOPLE, PROFESSIONS, RECORDS, is_id, key_stem, singular, split_name
from callmark.simulation.mock_api.patterns import text_matching
from callmark.simulation.mock_api.schemas import properties, required, simplify_schema

_MAX_DEPTH = 6  # of nested objects and lists
_DEEP, _DEEP_FIELDS = 2, 6  # from this depth on, objects have fewer optional fields and lists one item
_MAX_ITEMS = 20
_MAX_TEXT = 1000  # characters
_MAX_CODE = 3  # letters
_TRIES = 20  # for a list without duplicates
_QUOTED = r"['\"`]([^'\"`]{2,60})['\"`]"
_EXAMPLES_IN_TEXT = re.compile(
    rf"(?:such as|e\.g\.,?|for example,?|like|example:)\s+({_QUOTED}(?:(?:,| or|, or| and|/)\s*{_QUOTED}){{0,3}})", re.IGNORECASE
)
_QUOTE = re.compile(_QUOTED)
_FUTURE = frozenset(
    {"due", "expires", "expiry", "expiration", "until", "start", "starts", "end", "ends", "scheduled", "appointment", "needed"}
    | {"delivery", "departure", "arrival", "checkin", "checkout", "check", "next", "by", "visit", "deadline", "available"}
)
_CODE = re.compile(r"[A-Za-z]{0,4}[-_#]?\d{1,8}[A-Za-z]?")  # a seat, a room, a gate
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SUM = re.compile(rf"{_NUMBER.pattern}(?: [-+*/] {_NUMBER.pattern})+")
_PERSON_KEY = re.compile(r"([a-z]{2,})_([a-z]{2,})_\d{2,4}")
_NOT_NAMES = frozenset(("card", "credit", "gift", "pay", "order", "user", "item", "customer", "account"))
STATUS_WORDS = (("status",), ("state",), ("stage",))  # last word of a status field
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


class ValueContext(Struct, frozen=True):
    """The resource that a value belongs to, by kind and key."""

    kind: str
    key: str

    @property
    def is_person(self) -> bool:
        return bool({*self.kind.split("_")} & (PEOPLE | PROFESSIONS))


class ValueGenerator:
    """Generates plausible values; the same seed gives the same values."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._people: dict[ValueContext, tuple[str, str]] = {}
        self._places: dict[ValueContext, tuple[str, ...]] = {}

    def random(self, *place: str) -> Random:
        """Return a random number generator for a place; the same seed gives the same numbers."""
        return Random("/".join((self._seed, *place)))

    def generate(self, raw_schema: Any, name: str, context: ValueContext, *, random: Random | None = None, depth: int = 0) -> Any:
        """Return a value for a field with this name: always the same, unless `random` is given. Without a type, it is a string; objects and
        lists that are nested too deeply are empty.
        """
        schema = simplify_schema(raw_schema)
        random = random or self.random(context.kind, context.key, name)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return schema["enum"][
                _early_index(len(schema["enum"]), random)
                if split_name(name)[-1:] in STATUS_WORDS
                else random.randrange(len(schema["enum"]))
            ]
        match schema.get("type"):
            case "object":
                return self._object(schema, name, context, random, depth)
            case "array":
                return self._array(schema, name, context, random, depth)
            case "integer" | "number":
                return generate_number(schema, name, random)
            case "boolean":
                return schema["default"] if isinstance(schema.get("default"), bool) else random.random() < 0.7
            case "null":
                return None
            case "string":
                return self._text(schema, name, context, random)
        if "example" in schema:
            return schema["example"]
        return self._text(schema, name, context, random)

    def _object(self, schema: Mapping[str, Any], name: str, context: ValueContext, random: Random, depth: int) -> dict[str, Any]:
        fields = properties(schema)
        if not fields:
            if isinstance(schema.get("example"), dict):
                return dict(schema["example"])
            value_schema = schema.get("additionalProperties")
            if not isinstance(value_schema, dict) or not value_schema or depth > _MAX_DEPTH:
                return {}
            keys = random.sample(sample_data.PROPER_NAMES, 3)
            return {key.lower(): self.generate(value_schema, name, context, random=random, depth=depth + 1) for key in keys}
        whose = singular((split_name(name) or ("",))[-1])
        if whose in PEOPLE - RECORDS and not context.is_person:
            context = ValueContext(whose, f"{context.key}/{name}")  # a guest, with the name of a person
        required_names = required(schema)
        if depth > _MAX_DEPTH:
            selected = {key: fields[key] for key in required_names if key in fields and depth <= 4 * _MAX_DEPTH}
        elif depth >= _DEEP:
            selected = {key: each for index, (key, each) in enumerate(fields.items()) if index < _DEEP_FIELDS or key in required_names}
        else:
            selected = fields
        return {key: self.generate(each, key, context, random=random, depth=depth + 1) for key, each in selected.items()}

    def _array(self, schema: Mapping[str, Any], name: str, context: ValueContext, random: Random, depth: int) -> list[Any]:
        items = schema.get("items")
        if not isinstance(items, dict) or depth > _MAX_DEPTH:
            return list(schema["example"]) if isinstance(schema.get("example"), list) else []
        low = _item_count(schema.get("minItems"), 1)
        high = max(low, _item_count(schema.get("maxItems"), max(low, 3)))
        values: list[Any] = []
        count = random.randint(low, min(high, max(low, 3 if depth < _DEEP else 1)))
        for attempt in range(count + _TRIES):
            value = self.generate(items, name, context, random=random, depth=depth + 1)
            if value not in values or attempt >= count + _TRIES - low:  # duplicates only if the minimum requires them
                values.append(value)
            if len(values) >= count:
                break
        return values

    def _text(self, schema: Mapping[str, Any], name: str, context: ValueContext, random: Random) -> str:
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and (text := text_matching(pattern, random)) is not None:
            return text
        text = self._by_format(str(schema.get("format", "")), name, random) or self._by_name(schema, name, context, random)
        low, high = schema.get("minLength"), schema.get("maxLength")
        while isinstance(low, int) and len(text) < min(low, _MAX_TEXT):
            text = f"{text} {text}" if " " in text else text + random.choice(string.ascii_uppercase if text.isupper() else string.digits)
        return text[:high] if isinstance(high, int) and high >= 0 else text

    def _by_format(self, format_name: str, name: str, random: Random) -> str:
        match format_name:
            case "date":
                return _generate_date(name, random).isoformat()
            case "date-time":
                moment = datetime.combine(_generate_date(name, random), time(random.randint(8, 17), random.choice((0, 15, 30, 45))), UTC)
                return moment.isoformat().replace("+00:00", "Z")
            case "time":
                return f"{random.randint(8, 17):02}:{random.choice((0, 15, 30, 45)):02}:00Z"
            case "uuid":
                return str(uuid.UUID(int=random.getrandbits(128), version=4))
            case "uri" | "url":
                return f"https://example.com/{'-'.join(split_name(name)) or 'page'}/{random.randint(100, 999)}"
            case "ipv4":
                return f"192.0.2.{random.randint(1, 254)}"
            case "hostname":
                return "www.example.com"
            case "byte":
                return "ZXhhbXBsZQ=="
        return ""

    def _by_name(self, schema: Mapping[str, Any], name: str, context: ValueContext, random: Random) -> str:
        """Return a value by the name of the field, else one like its examples."""
        examples = [text for text in _examples(schema) if text]
        is_code = key_stem(name) is not None and not is_id(name)
        if examples and is_code and all(len(text) <= _MAX_CODE and text.isalpha() for text in examples):
            return random.choice(examples)  # the code of a country, a currency or a language
        if examples and (is_id(name) or key_stem(name) is not None):
            return _vary_example(random.choice(examples), random, self.person(context))
        if key_stem(name) is not None:
            return _generate_key(name, context, random)
        if len(examples) > 1:
            return random.choice(examples)
        words = split_name(name)
        personal = self._by_person_or_place(words, schema, context, random)
        if personal:
            return personal
        if _NAMES & {*words[-1:]} and (context.is_person or {*words[:-1]} & (PEOPLE | PROFESSIONS)):
            return " ".join(self.person(context))
        kind = (words[-2] if len(words) > 1 else context.kind.rpartition("_")[2]) if _NAMES & {*words[-1:]} else ""
        if samples := sample_data.NAMES_BY_KIND.get(sample_data.SIMILAR_KINDS.get(kind, kind)):
            return random.choice(samples)
        if examples and _SUM.fullmatch(examples[0]):
            return _NUMBER.sub(lambda _: str(random.randint(2, 99)), examples[0])
        if examples:
            return _vary_example(examples[0], random, self.person(context)) if _CODE.fullmatch(examples[0]) else examples[0]
        if words[-1:] in (("url",), ("urls",), ("uri",), ("link",), ("website",)):
            return self._by_format("uri", name, random)
        if kind:
            return f"{random.choice(sample_data.PROPER_NAMES)} {kind.replace('_', ' ').title()}".strip()
        if {"date", "day"} & {*words} or words[-1:] in (("on",), ("at",)):
            return _generate_date(name, random).isoformat()
        if words[-1:] == ("time",):
            return f"{random.randint(8, 17):02}:{random.choice((0, 15, 30, 45)):02}"
        for word in (*reversed(words), *map(singular, reversed(words))):
            if word in sample_data.VALUES_BY_WORD:
                return random.choice(sample_data.VALUES_BY_WORD[word])
        if isinstance(schema.get("default"), str):
            return str(schema["default"])
        if {*words[-1:]} & (PEOPLE | PROFESSIONS) - RECORDS:
            return " ".join(self.person(ValueContext(words[-1], context.key)))
        return _generate_code(words[-1], random) if words and _is_code(words[-1]) else random.choice(sample_data.PROPER_NAMES)

    def person(self, context: ValueContext) -> tuple[str, str]:
        """Return first and last name of the person; those in the key, if it contains a name."""
        if context not in self._people:
            parts = _PERSON_KEY.fullmatch(context.key)
            random = self.random(context.kind, context.key, "person")
            generated = random.choice(sample_data.FIRST_NAMES), random.choice(sample_data.LAST_NAMES)
            self._people[context] = (parts[1].title(), parts[2].title()) if parts and not {parts[1], parts[2]} & _NOT_NAMES else generated
        return self._people[context]

    def place(self, context: ValueContext) -> tuple[str, ...]:
        """Return city, state, zip code, area code, and street with number."""
        if context not in self._places:
            random = self.random(context.kind, context.key, "place")
            self._places[context] = (*random.choice(sample_data.PLACES), f"{random.randint(12, 980)} {random.choice(sample_data.STREETS)}")
        return self._places[context]

    def _by_person_or_place(self, words: tuple[str, ...], schema: Mapping[str, Any], context: ValueContext, random: Random) -> str:
        name, end = "_".join(words), words[-1] if words else ""
        if schema.get("format") != "email" and end not in _PERSONAL and not name.endswith(("phone_number", "postal_code", "zip_code")):
            return ""
        first, last = self.person(context)
        city, state, code, phone, street = self.place(context)
        if end == "email" or schema.get("format") == "email":
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
        personal = {"city": city, "town": city, "province": state, "address": f"{street}, {city}, {state} {code}", "location": city}
        return state if name == "state" and "enum" not in schema else personal.get(end, "")


def _examples(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("examples")
    texts = [*([schema["example"]] if "example" in schema else []), *(found if isinstance(found, list) else [])]
    description = schema.get("description")
    return [text for text in texts if isinstance(text, str)] or (
        [example for found in _EXAMPLES_IN_TEXT.finditer(description[:1000]) for example in _QUOTE.findall(found[1])][:4]
        if isinstance(description, str)
        else []
    )


def _vary_example(example: str, random: Random, person: tuple[str, str]) -> str:
    """Return a key in the form of the example: `#W2378156` for `#W0000000`, `mei_chen_312` for `sara_doe_496`."""
    if (parts := _PERSON_KEY.fullmatch(example)) and not {parts[1], parts[2]} & _NOT_NAMES:
        return f"{person[0]}_{person[1]}_{random.randint(100, 999)}".lower()
    if not any(map(str.isdigit, example)):
        return f"{example}-{random.randint(1000, 9999)}"
    digits = (random.choice(string.digits if index else "123456789") for index in range(len(example)))
    return "".join(next(digits) if character.isdigit() else character for character in example)


def _generate_key(name: str, context: ValueContext, random: Random) -> str:
    stem = key_stem(name) or context.kind
    letters = "".join(word[0] for word in stem.split("_")) if "_" in stem else stem[:3]
    return f"{letters.upper() or 'ID'}-{random.randint(10000, 99999)}"


def _is_code(word: str) -> bool:
    """Return whether a word names a code of letters and digits: `plate`, or a word without vowels (`mrn`)."""
    return word in _CODES or (1 < len(word) <= 5 and word.isalpha() and not {*word} & {*"aeiouy"})


def _generate_code(word: str, random: Random) -> str:
    if word == "iban":
        return f"DE{random.randint(10, 99)}{random.randrange(10**17, 10**18)}"
    letters = "".join(random.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=3))
    return f"{letters}-{random.randint(1000, 9999)}"


def _generate_date(name: str, random: Random) -> date:
    words = set(split_name(name))
    if "birth" in words or "dob" in words or "born" in words:
        return sample_data.TODAY - timedelta(days=random.randint(20 * 365, 70 * 365))
    if words & {"since", "joined", "registered", "hired"}:
        return sample_data.TODAY - timedelta(days=random.randint(200, 3000))
    if words & _FUTURE or words in ({"date"}, {"day"}):
        return sample_data.TODAY + timedelta(days=random.randint(3, 60))
    return sample_data.TODAY - timedelta(days=random.randint(2, 60))


def _item_count(value: Any, default: int) -> int:
    return min(max(value, 0), _MAX_ITEMS) if isinstance(value, int) and not isinstance(value, bool) else default


def _early_index(number: int, random: Random) -> int:
    """Return the index of a status; the first ones are more likely."""
    return min(random.randrange(number), random.randrange(number))
