"""Slot matching: what counts as mentioned."""

import pytest

from callmark.worlds.retail.expert.slot_matching import (
    EMAIL_ADDRESS,
    mentions,
    mentions_address,
    mentions_cancel_reason,
    mentions_items,
    mentions_options,
    mentions_payment,
)

VISA = {"payment_method_id": "credit_card_1", "source": "credit_card", "brand": "Visa", "last_four": "0042"}
PAYPAL = {"payment_method_id": "paypal_1", "source": "paypal", "brand": "", "last_four": ""}
GIFT = {"payment_method_id": "gift_card_1", "source": "gift_card", "brand": "", "last_four": ""}
ADDRESS = {"address1": "12 Oak Street", "address2": "Apt 4", "city": "St. Louis", "state": "MO", "country": "USA", "zip": "63101"}


@pytest.mark.parametrize(
    ("text", "value", "is_said"),
    [
        ("in size M, please", "M", True),
        ("I'm in a hurry", "M", False),
        ("it’s fine", "S", False),
        ("with 18 gears", "18", True),
        ("order #W1184321", "18", False),
        ("the BLACK one", "black", True),
        ("blackout", "black", False),
        ("8 x 10 ft.", "8 x 10 ft", True),
        ("a T-shirt", "T-Shirt", True),
        ("80 %", "80 %", True),
    ],
)
def test_value_matches_whole_words_only(text: str, value: str, is_said: bool) -> None:
    assert mentions(text, value) is is_said


@pytest.mark.parametrize(
    ("text", "payment", "original_payment", "is_named"),
    [
        ("my Visa", VISA, None, True),
        ("the card ending in 0042", VISA, None, True),
        ("my credit card", VISA, None, True),
        ("my mastercard", VISA, None, False),
        ("the gift card", VISA, None, False),
        ("PayPal is fine", PAYPAL, None, True),
        ("use my giftcard", GIFT, None, True),
        ("the original payment method", VISA, VISA, True),
        ("the same card", VISA, VISA, True),
        ("the original payment method", VISA, PAYPAL, False),
        ("whatever I paid with", PAYPAL, PAYPAL, True),
        ("", PAYPAL, None, False),
    ],
)
def test_payment_method_matches_by_name_or_as_the_original_one(
    text: str, payment: dict[str, str], original_payment: dict[str, str] | None, is_named: bool
) -> None:
    assert mentions_payment(text, payment, original_payment) is is_named


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("12 Oak Street, Apt 4, St. Louis, MO 63101", True),
        ("12 oak street apt 4, st. louis mo, 63101, usa", True),
        ("12 Oak Street, St. Louis, MO 63101", False),
        ("12 Oak Street, Apt 4, St. Louis, 63101", False),
        ("112 Oak Street, Apt 4, St. Louis, MO 63101", False),
    ],
)
def test_address_matches_only_completely(text: str, is_whole: bool) -> None:
    assert mentions_address(text, ADDRESS) is is_whole


def test_address_without_a_second_line_matches() -> None:
    assert mentions_address("12 Oak Street, St. Louis, MO 63101", ADDRESS | {"address2": ""})


@pytest.mark.parametrize(
    ("text", "is_given"),
    [
        ("I don't need it any more", True),
        ("ordered by accident", True),
        ("I changed my mind", True),
        ("please cancel order #W1234567", False),
        ("Because I found it cheaper somewhere else.", True),
    ],
)
def test_cancel_reason_matches_in_other_words(text: str, is_given: bool) -> None:
    assert mentions_cancel_reason(text, "I found it cheaper somewhere else") is is_given


def test_items_match_by_name_or_as_all() -> None:
    items = [{"name": "Desk Lamp"}, {"name": "Running Shoes"}]
    assert mentions_items("the desk lamps and my running shoes", items)
    assert not mentions_items("the desk lamp", items)
    assert not mentions_items("everything", items)
    assert mentions_items("everything", items, all_items=True)


def test_yes_or_no_options_match_by_name() -> None:
    assert mentions_options("the blue one without a laptop sleeve", {"color": "blue", "laptop sleeve": "no"})
    assert not mentions_options("the blue one, no", {"color": "blue", "laptop sleeve": "no"})


@pytest.mark.parametrize("text", ["kai.moore29@example", "kai.moore29example.com", "", "@", "kai @ example.com"])
def test_incomplete_email_does_not_match(text: str) -> None:
    assert EMAIL_ADDRESS.search(text) is None


def test_email_ends_before_the_period() -> None:
    found = EMAIL_ADDRESS.search("It's kai.moore29@example.com.")
    assert found is not None
    assert found[0] == "kai.moore29@example.com"
