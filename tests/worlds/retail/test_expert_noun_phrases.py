"""The expert's noun phrases for items, variants and payment methods."""

import pytest

from callmark.worlds.retail.expert.noun_phrases import (
    address_line,
    indefinite_variant_phrase,
    items_phrase_definite,
    option_choice_phrase,
    payment_method_phrase,
    payment_method_with_balance,
    priced_items_phrase,
    pronoun_variant_phrase,
    refund_time,
)

LAMP, SHOES = {"name": "Desk Lamp", "price": 38.5}, {"name": "Running Shoes", "price": 89.99}


@pytest.mark.parametrize(
    ("items", "named", "known"),
    [
        ([], "", ""),
        ([LAMP], "a desk lamp ($38.50)", "the desk lamp"),
        ([LAMP, SHOES], "a desk lamp ($38.50) and running shoes ($89.99)", "the desk lamp and the running shoes"),
        ([LAMP, LAMP], "a desk lamp ($38.50) and another desk lamp ($38.50)", "both desk lamps"),
        ([SHOES, SHOES], "running shoes ($89.99) and another pair of running shoes ($89.99)", "both pairs of running shoes"),
        ([LAMP] * 3, "a desk lamp ($38.50), another desk lamp ($38.50) and another desk lamp ($38.50)", "all 3 desk lamps"),
    ],
)  # fmt: skip
def test_items_are_listed_with_prices_or_with_definite_articles(items: list[dict[str, object]], named: str, known: str) -> None:
    assert priced_items_phrase(items) == named
    assert items_phrase_definite(items) == known


def test_variant_is_named_by_noun_or_pronoun() -> None:
    assert indefinite_variant_phrase("Desk Lamp", {"color": "black"}) == "a black desk lamp"
    assert indefinite_variant_phrase("Bike Helmet", {"color": "orange"}) == "an orange bike helmet"
    assert indefinite_variant_phrase("Sneakers", {"color": "white", "size": "9"}) == "white sneakers in size 9"
    assert pronoun_variant_phrase("Desk Lamp", {"color": "black"}) == "a black one"
    assert pronoun_variant_phrase("Dumbbell Set", {"weight": "20 lb"}).startswith("one ")
    assert pronoun_variant_phrase("Sneakers", {"color": "white"}) == "white ones"


def test_yes_or_no_option_is_offered_as_with_or_without() -> None:
    assert option_choice_phrase("color", "black") == "color"
    assert option_choice_phrase("waterproof", "no") == "waterproof or not"
    assert option_choice_phrase("laptop sleeve", "yes") == "with or without laptop sleeve"


def test_payment_methods_are_distinguished() -> None:
    card = {"source": "credit_card", "brand": "visa", "last_four": "0042"}
    gift = {"source": "gift_card", "balance": 12.5}
    assert payment_method_phrase(card) == payment_method_with_balance(card) == "your Visa ending in 0042"
    assert payment_method_phrase({"source": "paypal"}) == "your PayPal account"
    assert payment_method_with_balance(gift) == "your gift card (balance $12.50)"
    assert refund_time(gift) != refund_time(card)


def test_address_omits_an_empty_second_line() -> None:
    address = {"address1": "12 Oak Street", "address2": "", "city": "Austin", "state": "TX", "country": "USA", "zip": "78701"}
    assert address_line(address) == "12 Oak Street, Austin, TX 78701"
    assert address_line(address | {"address2": "Apt 4"}) == "12 Oak Street, Apt 4, Austin, TX 78701"
