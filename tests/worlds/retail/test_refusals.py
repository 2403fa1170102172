"""Rules that the store enforces: each violation is refused, and the database stays unchanged."""

import pytest

from callmark.worlds.retail import tools
from callmark.worlds.retail.store.payments import net_payments
from callmark.worlds.retail.store.store import EXCHANGED, MODIFIED, RETURNED, Store
from tests.worlds.retail.store_calls import (
    ADDRESS,
    NEEDS,
    Row,
    call_tool,
    find_method,
    find_order,
    find_product,
    find_replacement,
    find_swap,
    find_user,
    has_other_method,
    refusal_sentence,
    valid_arguments,
)

STATUSES = ("pending", "processed", "delivered", "cancelled", MODIFIED, RETURNED, EXCHANGED)
LEADS_TO = {MODIFIED: tools.MODIFY_ORDER_ITEMS, RETURNED: tools.RETURN_ITEMS, EXCHANGED: tools.EXCHANGE_ITEMS}
REPLACING = (tools.MODIFY_ORDER_ITEMS, tools.EXCHANGE_ITEMS)


@pytest.mark.parametrize("tool, status", [(tool, status) for tool in NEEDS for status in STATUSES if status != NEEDS[tool]])
def test_order_with_another_status_is_not_changed(store: Store, tool: str, status: str) -> None:
    """Items are modified once, and then nothing can be changed or cancelled; an order is returned or exchanged once."""
    leads = LEADS_TO.get(status)
    order = find_order(store, NEEDS[leads] if leads else status, has_other_method)
    arguments = valid_arguments(store, tool, order)
    if leads:
        call_tool(store, leads, valid_arguments(store, leads, order))
    assert f"{order['order_id']} is {status}; only an order that is {NEEDS[tool]} can be" in refusal_sentence(store, tool, arguments)


@pytest.mark.parametrize("tool", NEEDS)
def test_unknown_order_is_refused(store: Store, tool: str) -> None:
    arguments = valid_arguments(store, tool, find_order(store, NEEDS[tool], has_other_method))
    for order_id in ("#W0000000", arguments["order_id"].removeprefix("#"), arguments["order_id"].lower()):
        assert f'there is no order "{order_id}"' in refusal_sentence(store, tool, {**arguments, "order_id": order_id})


@pytest.mark.parametrize(
    "tool, arguments, sentence",
    [
        (tools.FIND_BY_EMAIL, {"email": "nobody@example.com"}, 'there is no customer with the email "nobody@example.com"'),
        (tools.FIND_BY_EMAIL, {"email": "%"}, "there is no customer"),
        (tools.FIND_BY_NAME_ZIP, {"first_name": "No", "last_name": "Body", "zip": "10001"}, 'no customer named "No Body"'),
        (tools.GET_USER, {"user_id": "no_body_1"}, 'there is no customer "no_body_1"; expected an id such as sara_doe_496'),
        (tools.GET_ORDER, {"order_id": "W1234567"}, 'there is no order "W1234567"; expected an id such as #W1234567'),
        (tools.GET_PRODUCT, {"product_id": "Running Shoes"}, 'there is no product "Running Shoes"'),
        (tools.MODIFY_USER_ADDRESS, {"user_id": "no_body_1", **ADDRESS}, 'there is no customer "no_body_1"'),
        (tools.CALCULATE, {"expression": "__import__('os')"}, "is not an expression"),
        ("refund_order", {}, 'there is no tool "refund_order"; expected one of calculate,'),
    ],
)
def test_unknown_id_is_refused(store: Store, tool: str, arguments: Row, sentence: str) -> None:
    assert sentence in refusal_sentence(store, tool, arguments)


@pytest.mark.parametrize("reason", ["changed my mind", "No longer needed", "", " no longer needed"])
def test_cancellation_needs_one_of_two_reasons(store: Store, reason: str) -> None:
    arguments = {"order_id": find_order(store, "pending")["order_id"], "reason": reason}
    assert "reason: expected" in refusal_sentence(store, tools.CANCEL_ORDER, arguments)


@pytest.mark.parametrize("tool", [*REPLACING, tools.RETURN_ITEMS])
def test_items_must_be_in_the_order_often_enough(store: Store, tool: str) -> None:
    order = find_order(store, NEEDS[tool], lambda order, user: len({item["item_id"] for item in order["items"]}) > 1)
    arguments = valid_arguments(store, tool, order)
    ids = [item["item_id"] for item in order["items"]]
    item_id = next(item_id for item_id in ids if ids.count(item_id) == 1)
    stranger = find_replacement(store, item_id, is_suitable=lambda variant: variant["item_id"] not in ids)
    for item_ids, sentence in (
        ([stranger], f"is not in {order['order_id']}"),
        ([item_id, stranger], f"is not in {order['order_id']}"),
        ([item_id, item_id], f"appears 1× in {order['order_id']} but 2× in the call"),
        (["no such item"], f"is not in {order['order_id']}"),
        ([], "expected a list of at least one string"),
    ):
        new = {"new_item_ids": [find_replacement(store, item_id)] * len(item_ids)} if "new_item_ids" in arguments else {}
        assert sentence in refusal_sentence(store, tool, {**arguments, "item_ids": item_ids, **new})


@pytest.mark.parametrize("tool", REPLACING)
def test_replacement_must_be_an_available_variant_of_the_same_product(store: Store, tool: str) -> None:
    order = find_order(store, NEEDS[tool])
    arguments = valid_arguments(store, tool, order)
    item_id = arguments["item_ids"][0]
    elsewhere = next(
        entry["item_id"]
        for product_id, product in store.state()["products"].items()
        if product_id != find_product(store, item_id)["product_id"]
        for entry in product["variants"]
        if entry["available"]
    )
    sold_out = find_order(store, NEEDS[tool], lambda order, user: _has_sold_out(store, order["items"][0]["item_id"]))
    for wrong, sentence in (
        ({"new_item_ids": [elsewhere]}, "expected an item of the same product"),
        ({"new_item_ids": [item_id]}, "cannot be replaced with itself"),
        ({"new_item_ids": ["1"]}, 'there is no item "1"'),
        ({"new_item_ids": arguments["new_item_ids"] * 2}, "got 1 item_ids and 2 new_item_ids"),
        (
            {
                **valid_arguments(store, tool, sold_out),
                "new_item_ids": [find_replacement(store, sold_out["items"][0]["item_id"], available=False)],
            },
            "is not available",
        ),
    ):
        assert sentence in refusal_sentence(store, tool, {**arguments, **wrong})


def _has_sold_out(store: Store, item_id: str) -> bool:
    return any(not entry["available"] and entry["item_id"] != item_id for entry in find_product(store, item_id)["variants"])


@pytest.mark.parametrize("tool", [*REPLACING, tools.RETURN_ITEMS, tools.MODIFY_ORDER_PAYMENT])
def test_payment_method_of_another_customer_is_refused(store: Store, tool: str) -> None:
    order = find_order(store, NEEDS[tool], has_other_method)
    arguments = valid_arguments(store, tool, order)
    other = next(user for key, user in store.state()["users"].items() if key != order["user_id"] and find_method(user, "gift_card"))
    for entry in (*other["payment_methods"], {"payment_method_id": "credit_card_0000000"}):
        said = refusal_sentence(store, tool, {**arguments, "payment_method_id": entry["payment_method_id"]})
        assert "is not a payment method of this customer" in said


@pytest.mark.parametrize("tool", REPLACING)
def test_payment_method_of_another_customer_is_refused_without_a_difference(store: Store, tool: str) -> None:
    order, _, old, new = find_swap(store, NEEDS[tool], lambda card, old, new: bool(new["price"] == old["price"]))
    arguments = {"order_id": order["order_id"], "item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]]}
    assert "is not a payment method of this customer" in refusal_sentence(store, tool, {**arguments, "payment_method_id": "paypal_0000000"})


@pytest.mark.parametrize("tool", REPLACING)
def test_gift_card_must_cover_the_difference(store: Store, tool: str) -> None:
    order, card, old, new = find_swap(store, NEEDS[tool], lambda card, old, new: new["price"] - old["price"] > card["balance"])
    arguments = {"order_id": order["order_id"], "item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]]}
    said = refusal_sentence(store, tool, {**arguments, "payment_method_id": card["payment_method_id"]})
    assert f"the balance of {card['payment_method_id']} is {card['balance']:.2f}, but {new['price'] - old['price']:.2f} is needed" in said


def test_gift_card_must_cover_the_whole_order(store: Store) -> None:
    def is_suitable(order: Row, user: Row) -> bool:
        card = find_method(user, "gift_card")
        return (
            card is not None
            and card["payment_method_id"] not in net_payments(order)
            and card["balance"] < order["payment_history"][0]["amount"]
        )

    order = find_order(store, "pending", is_suitable)
    card = find_method(find_user(store, order), "gift_card")
    assert card is not None
    arguments = {"order_id": order["order_id"], "payment_method_id": card["payment_method_id"]}
    assert "is needed" in refusal_sentence(store, tools.MODIFY_ORDER_PAYMENT, arguments)


def test_current_payment_method_is_refused_as_a_new_one(store: Store) -> None:
    order = find_order(store, "pending", has_other_method)
    first = order["payment_history"][0]["payment_method_id"]
    assert "expected another payment method" in refusal_sentence(
        store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": first}
    )
    arguments = valid_arguments(store, tools.MODIFY_ORDER_PAYMENT, order)
    call_tool(store, tools.MODIFY_ORDER_PAYMENT, arguments)
    assert "already" in refusal_sentence(store, tools.MODIFY_ORDER_PAYMENT, arguments)


def test_refund_goes_only_to_the_original_method_or_a_gift_card(store: Store) -> None:
    order = find_order(store, "delivered", lambda order, user: has_other_method(order, user) and find_method(user, "gift_card") is not None)
    arguments = valid_arguments(store, tools.RETURN_ITEMS, order)
    user = find_user(store, order)
    for entry in user["payment_methods"]:
        asked = {**arguments, "payment_method_id": entry["payment_method_id"]}
        if entry["source"] != "gift_card" and entry["payment_method_id"] not in net_payments(order):
            assert "a refund goes there or to a gift card" in refusal_sentence(store, tools.RETURN_ITEMS, asked)
        else:
            assert call_tool(store.copy(), tools.RETURN_ITEMS, asked)["return_payment_method_id"] == entry["payment_method_id"]


@pytest.mark.parametrize("part", [part for part in ADDRESS if part != "address2"])
@pytest.mark.parametrize("value", ["", "   ", None])
def test_incomplete_address_is_refused(store: Store, part: str, value: str | None) -> None:
    order = find_order(store, "pending")
    address = {**ADDRESS, part: value}
    assert part in refusal_sentence(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **address})
    assert part in refusal_sentence(store, tools.MODIFY_USER_ADDRESS, {"user_id": order["user_id"], **address})
