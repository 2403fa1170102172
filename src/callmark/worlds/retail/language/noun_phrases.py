"""Noun phrases of users: items, options, payment methods, addresses. Values appear unchanged."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from callmark.worlds.retail.language.grammar import join_phrases

_PREMODIFIER_OPTIONS = frozenset(
    {"color", "material", "type", "connection", "firmness", "operation", "bag", "wood"}
)  # options that precede the noun
SIZES = ("S", "M", "L", "XL")  # of clothing
_YES_OR_NO = frozenset({"yes", "no", "none"})
_ADJECTIVE_OPTIONS = frozenset({"waterproof", "polarized"})
_POSTMODIFIER_TEMPLATES: Mapping[str, str] = {
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
_PREPOSITION_ORDER = "in for with without powered at that"  # of options after the noun
_UNCOUNTABLE_OPTIONS = frozenset({"lining", "cellular", "noise cancelling", "backlight", "blackout"})


def product_noun(name: str) -> str:
    """Return a product name as it reads within a sentence."""
    return name.lower().replace("t-shirt", "T-shirt").replace("bluetooth", "Bluetooth")


def is_plural(name: str) -> bool:
    """Return whether a single item has a plural name, as shoes do."""
    return name.endswith("s")


def option_phrase(name: str, value: str) -> tuple[str, str]:
    """Return a value as words before the noun and words after it; one of the two is empty."""
    if value in _YES_OR_NO:
        if name in _ADJECTIVE_OPTIONS:
            return (name, "") if value == "yes" else ("", f"that {'{'}is{'}'} not {name}")
        noun = name if name in _UNCOUNTABLE_OPTIONS else f"{article(name)} {name}"
        return "", f"{'with' if value == 'yes' else 'without'} {noun}"
    if name in _PREMODIFIER_OPTIONS:
        return value, ""
    if name == "size":
        is_clothing_size = value in SIZES or value.isdigit()
        return "", f"in size {value}" if is_clothing_size else f"in {value}" if any(map(str.isdigit, value)) else f"in {value} size"
    return "", _POSTMODIFIER_TEMPLATES.get(name, f"with {article(value)} {{}} {name}").format(value)


def variant_phrase(options: Mapping[str, str], head: str, *, plural: bool = False) -> str:
    """Return a head noun with options: `black one in size 9 with a rubber sole` for the head `one`; the head alone without options."""
    phrases = [option_phrase(name, options[name]) for name in sorted(options, key=lambda name: name != "color")]
    premodifiers = [words for words, _ in phrases if words]
    complements_by_preposition: dict[str, list[str]] = {}  # by preposition, which is said once
    for _, phrase in phrases:
        if phrase:
            preposition, _, complement = phrase.partition(" ")
            complements_by_preposition.setdefault(preposition, []).append(complement)
    postmodifiers = [
        f"{preposition} {join_phrases(complements)}"
        for preposition, complements in sorted(complements_by_preposition.items(), key=lambda entry: _PREPOSITION_ORDER.find(entry[0]))
    ]
    return " ".join([*premodifiers, head, *postmodifiers]).replace("{is}", "are" if plural else "is")


def item_phrase(item: Mapping[str, Any], rng: Random) -> str:
    """Return an item as its owner names it: `the running shoes`, often with the color."""
    color = item["options"].get("color", "")
    determiner = rng.choice(("the", "the", "my"))
    return (
        f"{determiner} {color} {product_noun(item['name'])}"
        if color and rng.random() < 0.5
        else f"{determiner} {product_noun(item['name'])}"
    )


def items_phrase(items: Sequence[Mapping[str, Any]], rng: Random) -> str:
    """Return several items, each name once with its count."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item["name"]] = counts.get(item["name"], 0) + 1
    by_name = {item["name"]: item for item in items}
    return join_phrases(
        [
            item_phrase(by_name[name], rng) if count == 1 else f"{'both' if count == 2 else f'all {count}'} {plural_noun(name)}"
            for name, count in counts.items()
        ]
    )


def replacement_phrase(items: Sequence[Mapping[str, Any]], rng: Random) -> str:
    """Return the replacements of items by the options that change: `the black ones in size 9`; several items are named."""
    if len(items) == 1:
        item = items[0]
        plural = is_plural(item["name"])
        pronoun = "ones" if plural else "one"
        head = rng.choice((pronoun, pronoun, product_noun(item["name"])))
        return f"the {variant_phrase(item['changes'], head, plural=plural)}"
    return join_phrases(
        [f"the {variant_phrase(item['changes'], product_noun(item['name']), plural=is_plural(item['name']))}" for item in items]
    )


def contrast_phrase(item: Mapping[str, Any]) -> str:
    """Return the one option that changes with its old value: `red instead of black`; "" if that takes more words."""
    changes = [(name, value) for name, value in item["changes"].items() if value not in _YES_OR_NO]
    if len(changes) != 1 or len(item["changes"]) != 1:
        return ""
    name, value = changes[0]
    pronoun = "ones" if is_plural(item["name"]) else "one"
    old = item["options"].get(name, "none")
    if old in _YES_OR_NO:
        return ""
    premodifier, postmodifier = option_phrase(name, value)
    if name == "size":
        return f"{postmodifier.removeprefix('in ')} instead of {old}"
    return f"{premodifier or f'the {pronoun} {postmodifier}'} instead of {old}"


def payment_phrase(payment: Mapping[str, Any], rng: Random, *, original: Mapping[str, Any] | None = None) -> str:
    """Return a payment method as its owner names it. One that equals `original` may be called the original one."""
    if original and original["payment_method_id"] == payment["payment_method_id"] and rng.random() < 0.45:
        same = ["the original payment method", "the same payment method as before", "whatever I paid with"]
        return rng.choice([*same, "the card I paid with", "the same card"] if payment["source"] == "credit_card" else same)
    if payment["source"] == "paypal":
        return rng.choice(("my PayPal account", "PayPal", "my PayPal"))
    if payment["source"] == "gift_card":
        return rng.choice(("my gift card", "the gift card", "the gift card on my account", "my store gift card"))
    brand, digits = payment["brand"].capitalize(), payment["last_four"]
    return rng.choice(
        (
            f"my {brand} ending in {digits}",
            f"the {brand} ending in {digits}",
            f"my credit card ending in {digits}",
            f"the card that ends in {digits}",
            f"my {brand}, the one ending in {digits}",
        )
    )


def address_phrase(address: Mapping[str, str], rng: Random) -> str:
    """Return an address in one line."""
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    state = f"{address['state']}{rng.choice((' ', ' ', ', '))}{address['zip']}"
    country = f", {address['country']}" if address["country"] and rng.random() < 0.6 else ""
    return f"{street}, {address['city']}, {state}{country}"


def article(word: str) -> str:
    """Return the indefinite article for a word."""
    return "an" if word[:1].lower() in "aeiou" or word.startswith(("8 ", "11 ", "18 ", "80 ")) else "a"


def plural_noun(name: str) -> str:
    """Return the plural of a product name."""
    word = product_noun(name)
    if is_plural(name):
        return word
    return f"{word[:-1]}ves" if word.endswith("shelf") else f"{word}es" if word.endswith(("ch", "sh")) else f"{word}s"
