"""Noun phrases of the expert: items with prices, variants, payment methods, addresses, amounts."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.worlds.retail.language.grammar import join_phrases
from callmark.worlds.retail.language.noun_phrases import SIZES, is_plural, plural_noun, product_noun, variant_phrase

REFUND_DAYS, IMMEDIATELY = "within 5 to 7 business days", "right away"

Row = Mapping[str, Any]


def format_money(amount: float) -> str:
    """Return an amount in dollars and cents."""
    return f"${amount:.2f}"


def priced_items_phrase(items: Sequence[Row]) -> str:
    """Return items with their prices: `a desk lamp ($38.50) and running shoes ($89.99)`."""
    phrases, seen_names = [], []
    for item in items:
        name = product_noun(item["name"])
        if item["name"] in seen_names:
            noun_phrase = f"another pair of {name}" if is_plural(name) else f"another {name}"
        else:
            noun_phrase = name if is_plural(name) else with_article(name)
        seen_names.append(item["name"])
        phrases.append(f"{noun_phrase} ({format_money(item['price'])})")
    return join_phrases(phrases)


def items_phrase_definite(items: Sequence[Row]) -> str:
    """Return known items: `the desk lamp and the running shoes`, with `both` for two of the same."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item["name"]] = counts.get(item["name"], 0) + 1
    return join_phrases([f"the {product_noun(name)}" if count == 1 else _counted(name, count) for name, count in counts.items()])


def indefinite_variant_phrase(name: str, options: Mapping[str, str]) -> str:
    """Return a variant with all its options: `a black desk lamp powered by USB and with 800 lumens`."""
    plural = is_plural(name)
    words = variant_phrase(options, product_noun(name), plural=plural)
    return words if plural else with_article(words)


def pronoun_variant_phrase(name: str, options: Mapping[str, str]) -> str:
    """Return a variant of a known product: `a black one powered by USB and with 800 lumens`, `white ones in size 9`."""
    plural = is_plural(name)
    words = variant_phrase(options, "ones" if plural else "one", plural=plural)
    return words if plural or words.startswith("one ") else with_article(words)


def option_choice_phrase(option: str, value: str) -> str:
    """Return an option as a choice. The value shows whether it is a yes-or-no option."""
    if value not in ("yes", "no", "none"):
        return option
    return f"{option} or not" if option in ("waterproof", "polarized") else f"with or without {option}"


def option_sort_key(value: str) -> float:
    """Return the rank of a value among those of its option, by number or by size; 0 for values without an order."""
    count = value.partition(" ")[0]
    if count.replace(".", "", 1).isdigit():
        return float(count)
    return float(SIZES.index(value)) if value in SIZES else 0.0


def payment_method_phrase(payment: Row) -> str:
    """Return the user's payment method as the store names it to them."""
    if payment["source"] == "credit_card":
        return f"your {str(payment['brand']).capitalize()} ending in {payment['last_four']}"
    return "your PayPal account" if payment["source"] == "paypal" else "your gift card"


def payment_method_with_balance(payment: Row) -> str:
    """Return the payment method, with the balance of a gift card."""
    return (
        f"{payment_method_phrase(payment)} (balance {format_money(payment['balance'])})"
        if payment["source"] == "gift_card"
        else payment_method_phrase(payment)
    )


def refund_time(payment: Row) -> str:
    """Return when a refund arrives."""
    return IMMEDIATELY if payment["source"] == "gift_card" else REFUND_DAYS


def address_line(address: Row) -> str:
    """Return an address in one line, without the country."""
    parts = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join(part for part in parts if part)


def with_article(words: str) -> str:
    """Return the words with an indefinite article: `a desk lamp`, `an air fryer`."""
    return f"{_article(words)} {words}"


def _article(words: str) -> str:
    return "an" if words[:1].lower() in "aeio" or words.startswith(("8", "11 ", "18 ")) else "a"


def _counted(name: str, count: int) -> str:
    return f"{'both' if count == 2 else f'all {count}'} {f'pairs of {product_noun(name)}' if is_plural(name) else plural_noun(name)}"
