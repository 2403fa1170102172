"""What the policy forbids: each rule that the store enforces is tried to be broken, and the database stays as it was."""

import pytest

from callmark.worlds.retail import tools
from callmark.worlds.retail.store.payments import net_payments
from callmark.worlds.retail.store.store import EXCHANGED, MODIFIED, RETURNED, Store
from tests.worlds.retail.store_calls import (
    ADDRESS,
    NEEDS,
    Row,
    a_replacement,
    an_order,
    another,
    arguments,
    done,
    method,
    product_of,
    refusal,
    two_ways_to_pay,
    user_of,
)

STATUSES = ("pending", "processed", "delivered", "cancelled", MODIFIED, RETURNED, EXCHANGED)
LEADS_TO = {MODIFIED: tools.MODIFY_ORDER_ITEMS, RETURNED: tools.RETURN_ITEMS, EXCHANGED: tools.EXCHANGE_ITEMS}
REPLACING = (tools.MODIFY_ORDER_ITEMS, tools.EXCHANGE_ITEMS)


@pytest.mark.parametrize("tool, status", [(tool, status) for tool in NEEDS for status in STATUSES if status != NEEDS[tool]])
def test_an_order_in_another_status_is_left_as_it_is(store: Store, tool: str, status: str) -> None:
    """Also: items are modified once, after which nothing can be changed or cancelled, and an order is returned or exchanged once."""
    leads = LEADS_TO.get(status)
    order = an_order(store, NEEDS[leads] if leads else status, two_ways_to_pay)
    given = arguments(store, tool, order)
    if leads:
        done(store, leads, arguments(store, leads, order))
    assert f"{order['order_id']} is {status}, only an order that is {NEEDS[tool]} can be" in refusal(store, tool, given)


@pytest.mark.parametrize("tool", NEEDS)
def test_an_order_that_is_not_there_is_refused(store: Store, tool: str) -> None:
    given = arguments(store, tool, an_order(store, NEEDS[tool], two_ways_to_pay))
    for order_id in ("#W0000000", given["order_id"].removeprefix("#"), given["order_id"].lower()):
        assert f'there is no order "{order_id}"' in refusal(store, tool, {**given, "order_id": order_id})


@pytest.mark.parametrize(
    "tool, given, says",
    [
        (tools.FIND_BY_EMAIL, {"email": "nobody@example.com"}, 'there is no customer with the email "nobody@example.com"'),
        (tools.FIND_BY_EMAIL, {"email": "%"}, "there is no customer"),
        (tools.FIND_BY_NAME_ZIP, {"first_name": "No", "last_name": "Body", "zip": "10001"}, 'no customer called "No Body"'),
        (tools.GET_USER, {"user_id": "no_body_1"}, 'there is no customer "no_body_1", an id such as sara_doe_496 was expected'),
        (tools.GET_ORDER, {"order_id": "W1234567"}, 'there is no order "W1234567", an id such as #W1234567 was expected'),
        (tools.GET_PRODUCT, {"product_id": "Running Shoes"}, 'there is no product "Running Shoes"'),
        (tools.MODIFY_USER_ADDRESS, {"user_id": "no_body_1", **ADDRESS}, 'there is no customer "no_body_1"'),
        (tools.CALCULATE, {"expression": "__import__('os')"}, "is no expression"),
        ("refund_order", {}, 'there is no tool "refund_order", one of calculate,'),
    ],
)
def test_what_is_not_there_is_refused(store: Store, tool: str, given: Row, says: str) -> None:
    assert says in refusal(store, tool, given)


@pytest.mark.parametrize("reason", ["changed my mind", "No longer needed", "", " no longer needed"])
def test_an_order_is_cancelled_for_one_of_two_reasons(store: Store, reason: str) -> None:
    given = {"order_id": an_order(store, "pending")["order_id"], "reason": reason}
    assert "reason is" in refusal(store, tools.CANCEL_ORDER, given)


@pytest.mark.parametrize("tool", [*REPLACING, tools.RETURN_ITEMS])
def test_items_must_be_in_the_order_and_as_often_as_asked_for(store: Store, tool: str) -> None:
    order = an_order(store, NEEDS[tool], lambda order, user: len({item["item_id"] for item in order["items"]}) > 1)
    given = arguments(store, tool, order)
    ids = [item["item_id"] for item in order["items"]]
    item_id = next(item_id for item_id in ids if ids.count(item_id) == 1)
    stranger = another(store, item_id, fits=lambda variant: variant["item_id"] not in ids)
    for item_ids, says in (
        ([stranger], f"is not in {order['order_id']}"),
        ([item_id, stranger], f"is not in {order['order_id']}"),
        ([item_id, item_id], "1 times and is asked for 2 times"),
        (["no such item"], f"is not in {order['order_id']}"),
        ([], "a list with at least one text was expected"),
    ):
        new = {"new_item_ids": [another(store, item_id)] * len(item_ids)} if "new_item_ids" in given else {}
        assert says in refusal(store, tool, {**given, "item_ids": item_ids, **new})


@pytest.mark.parametrize("tool", REPLACING)
def test_an_item_is_replaced_by_another_available_variant_of_the_same_product(store: Store, tool: str) -> None:
    order = an_order(store, NEEDS[tool])
    given = arguments(store, tool, order)
    item_id = given["item_ids"][0]
    elsewhere = next(
        one["item_id"]
        for product_id, product in store.state()["products"].items()
        if product_id != product_of(store, item_id)["product_id"]
        for one in product["variants"]
        if one["available"]
    )
    sold_out = an_order(store, NEEDS[tool], lambda order, user: _has_sold_out(store, order["items"][0]["item_id"]))
    for wrong, says in (
        ({"new_item_ids": [elsewhere]}, "an item of the same product was expected"),
        ({"new_item_ids": [item_id]}, "would be replaced by itself"),
        ({"new_item_ids": ["1"]}, 'there is no item "1"'),
        ({"new_item_ids": given["new_item_ids"] * 2}, "item_ids has 1 and new_item_ids has 2 entries"),
        (
            {**arguments(store, tool, sold_out), "new_item_ids": [another(store, sold_out["items"][0]["item_id"], available=False)]},
            "is not available",
        ),
    ):
        assert says in refusal(store, tool, {**given, **wrong})


def _has_sold_out(store: Store, item_id: str) -> bool:
    return any(not one["available"] and one["item_id"] != item_id for one in product_of(store, item_id)["variants"])


@pytest.mark.parametrize("tool", [*REPLACING, tools.RETURN_ITEMS, tools.MODIFY_ORDER_PAYMENT])
def test_a_payment_method_of_somebody_else_is_refused(store: Store, tool: str) -> None:
    order = an_order(store, NEEDS[tool], two_ways_to_pay)
    given = arguments(store, tool, order)
    other = next(user for key, user in store.state()["users"].items() if key != order["user_id"] and method(user, "gift_card"))
    for one in (*other["payment_methods"], {"payment_method_id": "credit_card_0000000"}):
        said = refusal(store, tool, {**given, "payment_method_id": one["payment_method_id"]})
        assert "is no payment method of this customer" in said


@pytest.mark.parametrize("tool", REPLACING)
def test_a_payment_method_of_somebody_else_is_refused_also_where_there_is_nothing_to_pay(store: Store, tool: str) -> None:
    order, _, old, new = a_replacement(store, NEEDS[tool], lambda card, old, new: bool(new["price"] == old["price"]))
    given = {"order_id": order["order_id"], "item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]]}
    assert "is no payment method of this customer" in refusal(store, tool, {**given, "payment_method_id": "paypal_0000000"})


@pytest.mark.parametrize("tool", REPLACING)
def test_a_gift_card_must_cover_the_difference(store: Store, tool: str) -> None:
    order, card, old, new = a_replacement(store, NEEDS[tool], lambda card, old, new: new["price"] - old["price"] > card["balance"])
    given = {"order_id": order["order_id"], "item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]]}
    said = refusal(store, tool, {**given, "payment_method_id": card["payment_method_id"]})
    assert f"there are {card['balance']:.2f} on {card['payment_method_id']}, and {new['price'] - old['price']:.2f} would be paid" in said


def test_a_gift_card_must_cover_the_whole_order_that_it_is_to_pay(store: Store) -> None:
    def fits(order: Row, user: Row) -> bool:
        card = method(user, "gift_card")
        return (
            card is not None
            and card["payment_method_id"] not in net_payments(order)
            and card["balance"] < order["payment_history"][0]["amount"]
        )

    order = an_order(store, "pending", fits)
    card = method(user_of(store, order), "gift_card")
    assert card is not None
    given = {"order_id": order["order_id"], "payment_method_id": card["payment_method_id"]}
    assert "would be paid with it" in refusal(store, tools.MODIFY_ORDER_PAYMENT, given)


def test_the_method_that_an_order_is_paid_with_is_no_other_method(store: Store) -> None:
    order = an_order(store, "pending", two_ways_to_pay)
    first = order["payment_history"][0]["payment_method_id"]
    assert "already, another payment method was expected" in refusal(
        store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": first}
    )
    given = arguments(store, tools.MODIFY_ORDER_PAYMENT, order)
    done(store, tools.MODIFY_ORDER_PAYMENT, given)
    assert "already" in refusal(store, tools.MODIFY_ORDER_PAYMENT, given)


def test_a_refund_goes_to_what_paid_or_to_a_gift_card_and_nowhere_else(store: Store) -> None:
    order = an_order(store, "delivered", lambda order, user: two_ways_to_pay(order, user) and method(user, "gift_card") is not None)
    given = arguments(store, tools.RETURN_ITEMS, order)
    user = user_of(store, order)
    for one in user["payment_methods"]:
        asked = {**given, "payment_method_id": one["payment_method_id"]}
        if one["source"] != "gift_card" and one["payment_method_id"] not in net_payments(order):
            assert "a refund goes there or to a gift card" in refusal(store, tools.RETURN_ITEMS, asked)
        else:
            assert done(store.copy(), tools.RETURN_ITEMS, asked)["return_payment_method_id"] == one["payment_method_id"]


@pytest.mark.parametrize("part", [part for part in ADDRESS if part != "address2"])
@pytest.mark.parametrize("value", ["", "   ", None])
def test_an_address_has_all_its_parts(store: Store, part: str, value: str | None) -> None:
    order = an_order(store, "pending")
    address = {**ADDRESS, part: value}
    assert part in refusal(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **address})
    assert part in refusal(store, tools.MODIFY_USER_ADDRESS, {"user_id": order["user_id"], **address})
