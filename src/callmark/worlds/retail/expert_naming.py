"""How the expert words what it found: goods with their prices, variants, ways to pay, addresses, money."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.worlds.retail.naming import SIZES, is_plural, noun, several, version
from callmark.worlds.retail.phrasing import listed

SLOWLY, AT_ONCE = "within 5 to 7 business days", "right away"

Row = Mapping[str, Any]


def money(sum_: float) -> str:
    """An amount, in dollars and cents."""
    return f"${sum_:.2f}"


def goods(items: Sequence[Row]) -> str:
    """Items in a row, each with its price: `a desk lamp ($38.50) and running shoes ($89.99)`."""
    named, seen = [], []
    for item in items:
        name = noun(item["name"])
        if item["name"] in seen:
            counted = f"another pair of {name}" if is_plural(name) else f"another {name}"
        else:
            counted = name if is_plural(name) else with_article(name)
        seen.append(item["name"])
        named.append(f"{counted} ({money(item['price'])})")
    return listed(named)


def the_goods(items: Sequence[Row]) -> str:
    """The same things where it is known which: `the desk lamp and the running shoes`; of two that are alike `both`."""
    numbers: dict[str, int] = {}
    for item in items:
        numbers[item["name"]] = numbers.get(item["name"], 0) + 1
    return listed([f"the {noun(name)}" if number == 1 else _counted(name, number) for name, number in numbers.items()])


def variant(name: str, options: Mapping[str, str]) -> str:
    """A variant with all its options: `a black desk lamp powered by USB and with 800 lumens`."""
    plural = is_plural(name)
    words = version(options, noun(name), plural=plural)
    return words if plural else with_article(words)


def one_of(name: str, options: Mapping[str, str]) -> str:
    """A variant where it is known of what: `a black one powered by USB and with 800 lumens`, `white ones in size 9`."""
    plural = is_plural(name)
    words = version(options, "ones" if plural else "one", plural=plural)
    return words if plural or words.startswith("one ") else with_article(words)


def choice(option: str, value: str) -> str:
    """An option as something that can be chosen; its value tells whether it is one that is there or not."""
    if value not in ("yes", "no", "none"):
        return option
    return f"{option} or not" if option in ("waterproof", "polarized") else f"with or without {option}"


def size_of(value: str) -> float:
    """Where a value stands among others of the same option: by its number, or by how large it is; alike for all that have no order."""
    number = value.partition(" ")[0]
    if number.replace(".", "", 1).isdigit():
        return float(number)
    return float(SIZES.index(value)) if value in SIZES else 0.0


def method(payment: Row) -> str:
    """The customer's payment method, as the store calls it to them."""
    if payment["source"] == "credit_card":
        return f"your {str(payment['brand']).capitalize()} ending in {payment['last_four']}"
    return "your PayPal account" if payment["source"] == "paypal" else "your gift card"


def method_with_balance(payment: Row) -> str:
    """The same, and of a gift card what is on it."""
    return f"{method(payment)} (balance {money(payment['balance'])})" if payment["source"] == "gift_card" else method(payment)


def when(payment: Row) -> str:
    """When a refund is there."""
    return AT_ONCE if payment["source"] == "gift_card" else SLOWLY


def place(address: Row) -> str:
    """An address in a line, without the country."""
    parts = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join(part for part in parts if part)


def with_article(words: str) -> str:
    """`a desk lamp`, `an air fryer`."""
    return f"{_article(words)} {words}"


def _article(words: str) -> str:
    return "an" if words[:1].lower() in "aeio" or words.startswith(("8", "11 ", "18 ")) else "a"


def _counted(name: str, number: int) -> str:
    return f"{'both' if number == 2 else f'all {number}'} {f'pairs of {noun(name)}' if is_plural(name) else several(name)}"
