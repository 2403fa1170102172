"""What customers call things: goods, their options, ways to pay, addresses. Values stand as they are."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from callmark.worlds.retail.phrasing import listed

_BEFORE = frozenset(
    {"color", "material", "type", "connection", "firmness", "operation", "bag", "wood"}
)  # options that stand before the noun
SIZES = ("S", "M", "L", "XL")  # of what is worn
_YES_OR_NO = frozenset({"yes", "no", "none"})
_AS_ADJECTIVE = frozenset({"waterproof", "polarized"})
_AFTER: Mapping[str, str] = {
    "neckline": "with a {}",
    "fit": "in a {} fit",
    "waist": "with waist {}",
    "lining": "with {} lining",
    "length": "in {}",
    "lens": "with {} lenses",
    "capacity": "with a capacity of {}",
    "memory": "with {} of memory",
    "storage": "with {} of storage",
    "battery": "with {} of battery",
    "switch": "with {} switches",
    "backlight": "with {} backlight",
    "layout": "in the {} layout",
    "resolution": "in {}",
    "power": "powered by {}",
    "brightness": "with {}",
    "armrests": "with {} armrests",
    "height": "in {}",
    "filling": "with {} filling",
    "pressure": "with {}",
    "slots": "with {} slots",
    "speeds": "with {} speeds",
    "controls": "with {} controls",
    "diameter": "in {}",
    "thickness": "in {}",
    "weight": "in {}",
    "coating": "with {} coating",
    "gears": "with {} gears",
    "vents": "with {} vents",
    "sleeps": "for {}",
    "seasons": "for {} seasons",
    "pieces": "with {} pieces",
    "theme": "with the {} theme",
    "level": "at {} level",
}
_PLACES = "in for with without powered at that"  # in which order they stand after the noun
_UNCOUNTED = frozenset({"lining", "cellular", "noise cancelling", "backlight", "blackout"})


def noun(name: str) -> str:
    """A product as it stands within a sentence."""
    return name.lower().replace("t-shirt", "T-shirt").replace("bluetooth", "Bluetooth")


def is_plural(name: str) -> bool:
    """Whether one piece of it is spoken of in the plural, as shoes are."""
    return name.endswith("s")


def option(name: str, value: str) -> tuple[str, str]:
    """A value as words before the noun and words after it: one of the two is empty."""
    if value in _YES_OR_NO:
        if name in _AS_ADJECTIVE:
            return (name, "") if value == "yes" else ("", f"that {'{'}is{'}'} not {name}")
        thing = name if name in _UNCOUNTED else f"{article(name)} {name}"
        return "", f"{'with' if value == 'yes' else 'without'} {thing}"
    if name in _BEFORE:
        return value, ""
    if name == "size":
        sized = value in SIZES or value.isdigit()
        return "", f"in size {value}" if sized else f"in {value}" if any(map(str.isdigit, value)) else f"in {value} size"
    return "", _AFTER.get(name, f"with {article(value)} {{}} {name}").format(value)


def version(options: Mapping[str, str], head: str, *, plural: bool = False) -> str:
    """A thing with these options: `black one in size 9 with a rubber sole` for the head `one`; the head alone where there are none."""
    sides = [option(name, options[name]) for name in sorted(options, key=lambda name: name != "color")]
    before = [one for one, _ in sides if one]
    after: dict[str, list[str]] = {}  # by their first word, which is said once
    for _, other in sides:
        if other:
            first, _, rest = other.partition(" ")
            after.setdefault(first, []).append(rest)
    behind = [f"{first} {listed(rests)}" for first, rests in sorted(after.items(), key=lambda one: _PLACES.find(one[0]))]
    return " ".join([*before, head, *behind]).replace("{is}", "are" if plural else "is")


def called(item: Mapping[str, Any], chance: Random) -> str:
    """An item as its owner speaks of it: `the running shoes`, often with their color."""
    color = item["options"].get("color", "")
    whose = chance.choice(("the", "the", "my"))
    return f"{whose} {color} {noun(item['name'])}" if color and chance.random() < 0.5 else f"{whose} {noun(item['name'])}"


def all_called(items: Sequence[Mapping[str, Any]], chance: Random) -> str:
    """Several items in a row; each name once, with how many there are of it."""
    numbers: dict[str, int] = {}
    for item in items:
        numbers[item["name"]] = numbers.get(item["name"], 0) + 1
    by_name = {item["name"]: item for item in items}
    return listed(
        [
            called(by_name[name], chance) if number == 1 else f"{'both' if number == 2 else f'all {number}'} {several(name)}"
            for name, number in numbers.items()
        ]
    )


def wanted(items: Sequence[Mapping[str, Any]], chance: Random) -> str:
    """What they want in place of the items, by the options that change: `the black ones in size 9`; for several items each by its name."""
    if len(items) == 1:
        item = items[0]
        plural = is_plural(item["name"])
        one = "ones" if plural else "one"
        head = chance.choice((one, one, noun(item["name"])))
        return f"the {version(item['changes'], head, plural=plural)}"
    return listed([f"the {version(item['changes'], noun(item['name']), plural=is_plural(item['name']))}" for item in items])


def in_place_of(item: Mapping[str, Any]) -> str:
    """The one option that changes, with what it was: `red instead of black`; an empty text where that cannot be said in a few words."""
    changes = [(name, value) for name, value in item["changes"].items() if value not in _YES_OR_NO]
    if len(changes) != 1 or len(item["changes"]) != 1:
        return ""
    name, value = changes[0]
    one = "ones" if is_plural(item["name"]) else "one"
    old = item["options"].get(name, "none")
    if old in _YES_OR_NO:
        return ""
    before, after = option(name, value)
    if name == "size":
        return f"{after.removeprefix('in ')} instead of {old}"
    return f"{before or f'the {one} {after}'} instead of {old}"


def way_to_pay(payment: Mapping[str, Any], chance: Random, *, before: Mapping[str, Any] | None = None) -> str:
    """A way to pay as its owner calls it; `before` is how the order was paid, which may be called the original one."""
    if before and before["payment_method_id"] == payment["payment_method_id"] and chance.random() < 0.45:
        same = ["the original payment method", "the same payment method as before", "whatever I paid with"]
        return chance.choice([*same, "the card I paid with", "the same card"] if payment["source"] == "credit_card" else same)
    if payment["source"] == "paypal":
        return chance.choice(("my PayPal account", "PayPal", "my PayPal"))
    if payment["source"] == "gift_card":
        return chance.choice(("my gift card", "the gift card", "the gift card on my account", "my store gift card"))
    brand, digits = payment["brand"].capitalize(), payment["last_four"]
    return chance.choice(
        (
            f"my {brand} ending in {digits}",
            f"the {brand} ending in {digits}",
            f"my credit card ending in {digits}",
            f"the card that ends in {digits}",
            f"my {brand}, the one ending in {digits}",
        )
    )


def written_address(address: Mapping[str, str], chance: Random) -> str:
    """An address in one line, every part as it is."""
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    state = f"{address['state']}{chance.choice((' ', ' ', ', '))}{address['zip']}"
    country = f", {address['country']}" if address["country"] and chance.random() < 0.6 else ""
    return f"{street}, {address['city']}, {state}{country}"


def article(word: str) -> str:
    """`a` or `an`, as it stands before the word."""
    return "an" if word[:1].lower() in "aeiou" or word.startswith(("8 ", "11 ", "18 ", "80 ")) else "a"


def several(name: str) -> str:
    """More than one of it."""
    word = noun(name)
    if is_plural(name):
        return word
    return f"{word[:-1]}ves" if word.endswith("shelf") else f"{word}es" if word.endswith(("ch", "sh")) else f"{word}s"
