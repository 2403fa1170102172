"""What the expert makes of what a customer said: whether what is needed stands in it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

ORDER = re.compile(r"#W\d+")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ORIGINAL = re.compile(r"\boriginal|\bpaid with\b|\bsame (?:card|account|method|payment|way|one)\b|\bthe one i (?:used|paid)\b")
_REASON = re.compile(
    r"\bneed|\bmistake|\baccident|\berror\b|\bchanged (?:my|our) mind\b|\bnot (?:meant|intended)\b|\btwice\b|\bwant(?:ed)? it any ?more\b"
)
_ALL = re.compile(r"\b(?:all|everything|whole|entire|both|complete)\b")
_YES_OR_NO = frozenset({"yes", "no", "none"})

Row = Mapping[str, Any]


def says(text: str, value: str) -> bool:
    """Whether the value stands in the text, case aside, as words of its own: the `m` of `I'm` is no size."""
    return re.search(rf"(?<![\w'’]){re.escape(value.casefold())}(?!\w)", text.casefold()) is not None


def says_all(text: str, values: Iterable[str]) -> bool:
    """Whether all of them do; blank ones need not."""
    return all(says(text, value) for value in values if value)


def names_options(text: str, options: Mapping[str, str]) -> bool:
    """Whether every option is named by its value; of a yes or no by its name."""
    return says_all(text, [name if value in _YES_OR_NO else value for name, value in options.items()])


def names_items(text: str, items: Iterable[Row], *, all_items: bool = False) -> bool:
    """Whether every item is named, or all are meant and that is said."""
    if all_items and _ALL.search(text.casefold()):
        return True
    return all(item["name"].casefold().rstrip("s") in text.casefold() for item in items)


def names_payment(text: str, payment: Row, paid_with: Row | None = None) -> bool:
    """Whether that payment method is named; as the original one where it is."""
    said = text.casefold()
    if paid_with and paid_with["payment_method_id"] == payment["payment_method_id"] and _ORIGINAL.search(said):
        return True
    if payment["source"] == "paypal":
        return "paypal" in said
    if payment["source"] == "gift_card":
        return re.search(r"\bgift ?card", said) is not None
    return says(said, payment["last_four"]) or says(said, payment["brand"]) or "credit card" in said


def names_address(text: str, address: Row) -> bool:
    """Whether all parts of the address are said; the country need not be."""
    return says_all(text, [address[part] for part in ("address1", "address2", "city", "state", "zip")])


def names_reason(text: str, reason: str) -> bool:
    """Whether a reason to cancel is given: the text itself, or in other words."""
    said = text.casefold()
    return reason.casefold() in said or _REASON.search(said) is not None
