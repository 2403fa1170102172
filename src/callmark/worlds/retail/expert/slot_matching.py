"""Slot matching: whether a user's text mentions the value of a slot."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

ORDER_ID = re.compile(r"#W\d+")
EMAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ORIGINAL = re.compile(r"\boriginal|\bpaid with\b|\bsame (?:card|account|method|payment|way|one)\b|\bthe one i (?:used|paid)\b")
_REASON = re.compile(
    r"\bneed|\bmistake|\baccident|\berror\b|\bchanged (?:my|our) mind\b|\bnot (?:meant|intended)\b|\btwice\b|\bwant(?:ed)? it any ?more\b"
)
_ALL = re.compile(r"\b(?:all|everything|whole|entire|both|complete)\b")
_YES_OR_NO = frozenset({"yes", "no", "none"})

Row = Mapping[str, Any]


def mentions(text: str, value: str) -> bool:
    """Return whether the text contains the value as whole words, ignoring case: the `m` of `I'm` is not a size."""
    return re.search(rf"(?<![\w'’]){re.escape(value.casefold())}(?!\w)", text.casefold()) is not None


def mentions_all(text: str, values: Iterable[str]) -> bool:
    """Return whether the text contains every value; blank ones do not count."""
    return all(mentions(text, value) for value in values if value)


def mentions_options(text: str, options: Mapping[str, str]) -> bool:
    """Return whether the text contains the value of every option; for yes-or-no options, the option's name."""
    return mentions_all(text, [name if value in _YES_OR_NO else value for name, value in options.items()])


def mentions_items(text: str, items: Iterable[Row], *, all_items: bool = False) -> bool:
    """Return whether the text names every item, or, with `all_items`, says that all are meant."""
    if all_items and _ALL.search(text.casefold()):
        return True
    return all(item["name"].casefold().rstrip("s") in text.casefold() for item in items)


def mentions_payment(text: str, payment: Row, original_payment: Row | None = None) -> bool:
    """Return whether the text names the payment method, or calls it the original one if it is."""
    folded = text.casefold()
    if original_payment and original_payment["payment_method_id"] == payment["payment_method_id"] and _ORIGINAL.search(folded):
        return True
    if payment["source"] == "paypal":
        return "paypal" in folded
    if payment["source"] == "gift_card":
        return re.search(r"\bgift ?card", folded) is not None
    return mentions(folded, payment["last_four"]) or mentions(folded, payment["brand"]) or "credit card" in folded


def mentions_address(text: str, address: Row) -> bool:
    """Return whether the text contains every part of the address except the country."""
    return mentions_all(text, [address[part] for part in ("address1", "address2", "city", "state", "zip")])


def mentions_cancel_reason(text: str, reason: str) -> bool:
    """Return whether the text gives the reason to cancel, literally or in other words."""
    folded = text.casefold()
    return reason.casefold() in folded or _REASON.search(folded) is not None
