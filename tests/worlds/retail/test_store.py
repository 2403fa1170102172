"""The store itself: what its tools do."""

from collections.abc import Callable
from typing import Any

import pytest

from callmark import ToolResult
from callmark.worlds.retail import tools
from callmark.worlds.retail.store.payments import net_payments, sum_amounts
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
    net,
    orders,
    product_of,
    refusal,
    two_ways_to_pay,
    user_of,
)


def changed(before: Any, after: Any) -> set[tuple[str, str]]:
    return {
        (table, key) for table in before for key in {**before[table], **after[table]} if before[table].get(key) != after[table].get(key)
    }


def paid_by(source: str) -> Callable[[Row, Row], bool]:
    return lambda order, user: order["payment_history"][0]["payment_method_id"].startswith(source)


def test_a_customer_is_found_by_email_and_by_name_and_zip_whatever_the_case(store: Store) -> None:
    user_id, user = next(iter(store.state()["users"].items()))
    name = user["name"]
    by_name = {"first_name": name["first_name"].upper(), "last_name": name["last_name"].lower(), "zip": user["address"]["zip"]}
    assert done(store, tools.FIND_BY_EMAIL, {"email": user["email"].upper()}) == {"user_id": user_id}
    assert done(store, tools.FIND_BY_NAME_ZIP, by_name) == {"user_id": user_id}
    assert "no customer called" in refusal(store, tools.FIND_BY_NAME_ZIP, {**by_name, "zip": "00000"})


def test_details_have_what_a_customer_may_ask_for(store: Store) -> None:
    order = an_order(store, "pending", lambda order, user: len(order["items"]) > 1)
    told = done(store, tools.GET_ORDER, {"order_id": order["order_id"]})
    assert list(told) == ["order_id", "user_id", "status", "address", "items", "payment_history"]
    for item in told["items"]:
        assert list(item) == ["item_id", "product_id", "name", "options", "price"]
        product = done(store, tools.GET_PRODUCT, {"product_id": item["product_id"]})
        variant = next(one for one in product["variants"] if one["item_id"] == item["item_id"])
        assert (product["name"], variant["options"], variant["price"]) == (item["name"], item["options"], item["price"])
        assert done(store, tools.LIST_PRODUCT_TYPES, {})[item["name"]] == item["product_id"]
    user = done(store, tools.GET_USER, {"user_id": told["user_id"]})
    assert list(user) == ["user_id", "name", "email", "address", "payment_methods", "orders"]
    assert told["order_id"] in user["orders"]
    assert user["orders"] == [key for key, row in store.state()["orders"].items() if row["user_id"] == user["user_id"]]


def test_reading_changes_nothing(store: Store) -> None:
    before = store.state_text()
    order = an_order(store, "pending")
    product_id = next(iter(store.state()["products"]))
    for tool, given in (
        (tools.GET_ORDER, {"order_id": order["order_id"]}),
        (tools.GET_USER, {"user_id": order["user_id"]}),
        (tools.GET_PRODUCT, {"product_id": product_id}),
        (tools.LIST_PRODUCT_TYPES, {}),
    ):
        done(store, tool, given)
    assert store.call(tools.TRANSFER, {"summary": "They want to speak to somebody."}) == ToolResult("Transfer successful")
    assert store.call(tools.CALCULATE, {"expression": "2 * (19.99 + 5)"}) == ToolResult("49.98")
    assert store.copy().state_text() == before == store.state_text()


@pytest.mark.parametrize("tool", NEEDS)
def test_an_action_changes_the_one_order_and_gives_it_as_it_is_then(store: Store, tool: str) -> None:
    order = an_order(store, NEEDS[tool], lambda order, user: two_ways_to_pay(order, user) and paid_by("credit_card")(order, user))
    before = store.state()
    told = done(store, tool, arguments(store, tool, order))
    assert changed(before, store.state()) == {("orders", order["order_id"])}
    assert told == done(store, tools.GET_ORDER, {"order_id": order["order_id"]})


def test_a_cancelled_order_is_refunded_the_way_it_was_paid(store: Store) -> None:
    order = an_order(store, "pending", paid_by("gift_card"))
    card = method(user_of(store, order), "gift_card")
    told = done(store, tools.CANCEL_ORDER, {"order_id": order["order_id"], "reason": "ordered by mistake"})
    assert (told["status"], told["cancel_reason"]) == ("cancelled", "ordered by mistake")
    assert net_payments(told) == {}
    after = method(user_of(store, order), "gift_card")
    assert card is not None
    assert after is not None
    assert after["balance"] == sum_amounts((card["balance"], order["payment_history"][0]["amount"]))


def test_another_address_of_an_order_is_not_the_customers_and_the_other_way_round(store: Store) -> None:
    order = an_order(store, "pending")
    user = user_of(store, order)
    assert done(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **ADDRESS})["address"] == ADDRESS
    assert user_of(store, order) == user
    moved = {**ADDRESS, "address1": "1 Oak Street", "address2": "Apt 2"}
    assert done(store, tools.MODIFY_USER_ADDRESS, {"user_id": order["user_id"], **moved}) == {**user, "address": moved}
    assert done(store, tools.GET_ORDER, {"order_id": order["order_id"]})["address"] == ADDRESS


def test_another_payment_method_pays_all_and_the_first_gets_all_back(store: Store) -> None:
    def fits(order: Row, user: Row) -> bool:
        card = method(user, "gift_card")
        return paid_by("credit_card")(order, user) and card is not None and card["balance"] >= order["payment_history"][0]["amount"]

    order = an_order(store, "pending", fits)
    card = method(user_of(store, order), "gift_card")
    assert card is not None
    amount, first = order["payment_history"][0]["amount"], order["payment_history"][0]["payment_method_id"]
    told = done(store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": card["payment_method_id"]})
    assert told["status"] == "pending"
    assert net_payments(told) == {card["payment_method_id"]: amount}
    assert method(user_of(store, order), "gift_card") == {**card, "balance": sum_amounts((card["balance"], -amount))}
    back = done(store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": first})
    assert net_payments(back) == {first: amount}
    assert method(user_of(store, order), "gift_card") == card


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_modified_items_stand_in_the_place_of_the_old_and_the_difference_is_settled(store: Store, sign: int) -> None:
    def fits(card: Row, old: Row, new: Row) -> bool:
        return (new["price"] > old["price"]) - (new["price"] < old["price"]) == sign and bool(card["balance"] >= new["price"])

    order, card, old, new = a_replacement(store, "pending", fits)
    given = {"item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]], "payment_method_id": card["payment_method_id"]}
    told = done(store, tools.MODIFY_ORDER_ITEMS, {"order_id": order["order_id"], **given})
    difference = sum_amounts((new["price"], -old["price"]))
    kind = "payment" if sign > 0 else "refund"
    entry = {"transaction_type": kind, "amount": abs(difference), "payment_method_id": card["payment_method_id"]}
    assert told["status"] == MODIFIED
    place = [item["item_id"] for item in order["items"]].index(old["item_id"])
    assert [item["item_id"] for item in told["items"]][place] == new["item_id"]
    assert told["payment_history"] == order["payment_history"] + ([entry] if sign else [])
    assert net(told) == sum_amounts(item["price"] for item in told["items"])
    assert method(user_of(store, order), "gift_card") == {**card, "balance": sum_amounts((card["balance"], -difference))}


def test_what_is_to_be_returned_or_exchanged_is_noted_and_nothing_is_paid_yet(store: Store) -> None:
    first, second = [*orders(store, "delivered", lambda order, user: len(order["items"]) > 1)][:2]
    given = arguments(store, tools.RETURN_ITEMS, first)
    told = done(store, tools.RETURN_ITEMS, given)
    assert (told["status"], told["return_items"]) == (RETURNED, given["item_ids"])
    assert told["return_payment_method_id"] == given["payment_method_id"]
    given = arguments(store, tools.EXCHANGE_ITEMS, second)
    told = done(store, tools.EXCHANGE_ITEMS, given)
    prices = [
        next(one["price"] for one in product_of(store, item_id)["variants"] if one["item_id"] == item_id)
        for item_id in (given["new_item_ids"][0], given["item_ids"][0])
    ]
    assert (told["status"], told["exchange_price_difference"]) == (EXCHANGED, sum_amounts((prices[0], -prices[1])))
    assert (told["exchange_items"], told["exchange_new_items"]) == (given["item_ids"], given["new_item_ids"])
    assert told["payment_history"] == second["payment_history"]
    assert [item["item_id"] for item in told["items"]] == [item["item_id"] for item in second["items"]]


@pytest.mark.parametrize("tool", [tools.MODIFY_ORDER_ITEMS, tools.EXCHANGE_ITEMS, tools.RETURN_ITEMS])
def test_the_same_wish_in_another_order_leads_to_the_same_state(seeded: Store, tool: str) -> None:
    one, other = seeded.copy(), seeded.copy()
    order = an_order(one, NEEDS[tool], lambda order, user: len({item["item_id"] for item in order["items"]}) > 2)
    given = arguments(one, tool, order)
    given["item_ids"] = [item["item_id"] for item in order["items"]][:3]
    if "new_item_ids" in given:
        given["new_item_ids"] = [another(one, item_id) for item_id in given["item_ids"]]
    done(one, tool, given)
    done(other, tool, {key: value[::-1] if isinstance(value, list) else value for key, value in given.items()})
    assert one.state_text() == other.state_text()


def test_an_address_is_the_same_bytes_in_whichever_order_it_is_given(seeded: Store) -> None:
    one, other = seeded.copy(), seeded.copy()
    order = an_order(one, "pending")
    for tool, key in ((tools.MODIFY_ORDER_ADDRESS, "order_id"), (tools.MODIFY_USER_ADDRESS, "user_id")):
        given = {key: order[key], **ADDRESS}
        done(one, tool, given)
        done(other, tool, dict(reversed(given.items())))
    assert one.state_text() == other.state_text()


def test_both_of_an_item_that_was_ordered_twice_can_be_replaced_each_by_another(store: Store) -> None:
    order = an_order(store, "pending", lambda order, user: len(order["items"]) > len({item["item_id"] for item in order["items"]}))
    ids = [item["item_id"] for item in order["items"]]
    twice = next(item_id for item_id in ids if ids.count(item_id) > 1)
    new = [one["item_id"] for one in product_of(store, twice)["variants"] if one["available"] and one["item_id"] != twice][:2]
    given = {**arguments(store, tools.MODIFY_ORDER_ITEMS, order), "item_ids": [twice, twice], "new_item_ids": new}
    told = [item["item_id"] for item in done(store, tools.MODIFY_ORDER_ITEMS, given)["items"]]
    assert sorted(told) == sorted([*(item_id for item_id in ids if item_id != twice), *new])


def test_copies_know_nothing_of_each_other(seeded: Store) -> None:
    one, other = seeded.copy(), seeded.copy()
    order = an_order(one, "pending")
    done(one, tools.CANCEL_ORDER, {"order_id": order["order_id"], "reason": "no longer needed"})
    assert other.state_text() == seeded.state_text() != one.state_text()
    assert one.copy().state()["orders"][order["order_id"]]["status"] == "cancelled"


ADDRESS_PARTS = "address1 address2 city state country zip"
PARAMETERS = {
    "calculate": "expression",
    "cancel_pending_order": "order_id reason",
    "exchange_delivered_order_items": "order_id item_ids new_item_ids payment_method_id",
    "find_user_id_by_email": "email",
    "find_user_id_by_name_zip": "first_name last_name zip",
    "get_order_details": "order_id",
    "get_product_details": "product_id",
    "get_user_details": "user_id",
    "list_all_product_types": "",
    "modify_pending_order_address": f"order_id {ADDRESS_PARTS}",
    "modify_pending_order_items": "order_id item_ids new_item_ids payment_method_id",
    "modify_pending_order_payment": "order_id payment_method_id",
    "modify_user_address": f"user_id {ADDRESS_PARTS}",
    "return_delivered_order_items": "order_id item_ids payment_method_id",
    "transfer_to_human_agents": "summary",
}


def test_the_fifteen_tools_take_what_those_of_the_real_conversations_take() -> None:
    assert {tool.name: tool.parameters["required"] for tool in tools.TOOLS} == {name: keys.split() for name, keys in PARAMETERS.items()}
    for tool in tools.TOOLS:
        assert tool.description
        assert list(tool.parameters["properties"]) == tool.parameters["required"]
        assert all(argument["description"] for argument in tool.parameters["properties"].values())
