"""How the expert words goods, variants and ways to pay."""

import pytest

from callmark.worlds.retail.expert_naming import choice, goods, method, method_with_balance, one_of, place, the_goods, variant, when

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
def test_goods_are_told_with_their_prices_and_then_known(items: list[dict[str, object]], named: str, known: str) -> None:
    assert goods(items) == named
    assert the_goods(items) == known


def test_a_variant_is_a_thing_or_one_of_them() -> None:
    assert variant("Desk Lamp", {"color": "black"}) == "a black desk lamp"
    assert variant("Bike Helmet", {"color": "orange"}) == "an orange bike helmet"
    assert variant("Sneakers", {"color": "white", "size": "9"}) == "white sneakers in size 9"
    assert one_of("Desk Lamp", {"color": "black"}) == "a black one"
    assert one_of("Dumbbell Set", {"weight": "20 lb"}).startswith("one ")
    assert one_of("Sneakers", {"color": "white"}) == "white ones"


def test_what_is_there_or_not_is_chosen_with_or_without() -> None:
    assert choice("color", "black") == "color"
    assert choice("waterproof", "no") == "waterproof or not"
    assert choice("laptop sleeve", "yes") == "with or without laptop sleeve"


def test_payment_methods_are_told_apart() -> None:
    card = {"source": "credit_card", "brand": "visa", "last_four": "0042"}
    gift = {"source": "gift_card", "balance": 12.5}
    assert method(card) == method_with_balance(card) == "your Visa ending in 0042"
    assert method({"source": "paypal"}) == "your PayPal account"
    assert method_with_balance(gift) == "your gift card (balance $12.50)"
    assert when(gift) != when(card)


def test_an_address_leaves_out_what_it_has_not() -> None:
    address = {"address1": "12 Oak Street", "address2": "", "city": "Austin", "state": "TX", "country": "USA", "zip": "78701"}
    assert place(address) == "12 Oak Street, Austin, TX 78701"
    assert place(address | {"address2": "Apt 4"}) == "12 Oak Street, Apt 4, Austin, TX 78701"
