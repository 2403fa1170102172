"""The store's backend: what its tools do."""

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
    call_tool,
    find_method,
    find_order,
    find_orders,
    find_product,
    find_replacement,
    find_swap,
    find_user,
    has_other_method,
    net_amount,
    refusal_sentence,
    valid_arguments,
)


def changed_rows(before: Any, after: Any) -> set[tuple[str, str]]:
    return {
        (table, key) for table in before for key in {**before[table], **after[table]} if before[table].get(key) != after[table].get(key)
    }


def is_paid_by(source: str) -> Callable[[Row, Row], bool]:
    return lambda order, user: order["payment_history"][0]["payment_method_id"].startswith(source)


def test_customer_lookup_ignores_case(store: Store) -> None:
    user_id, user = next(iter(store.state()["users"].items()))
    name = user["name"]
    by_name = {"first_name": name["first_name"].upper(), "last_name": name["last_name"].lower(), "zip": user["address"]["zip"]}
    assert call_tool(store, tools.FIND_BY_EMAIL, {"email": user["email"].upper()}) == {"user_id": user_id}
    assert call_tool(store, tools.FIND_BY_NAME_ZIP, by_name) == {"user_id": user_id}
    assert "no customer named" in refusal_sentence(store, tools.FIND_BY_NAME_ZIP, {**by_name, "zip": "00000"})


def test_details_contain_what_a_customer_may_ask_for(store: Store) -> None:
    order = find_order(store, "pending", lambda order, user: len(order["items"]) > 1)
    result = call_tool(store, tools.GET_ORDER, {"order_id": order["order_id"]})
    assert list(result) == ["order_id", "user_id", "status", "address", "items", "payment_history"]
    for item in result["items"]:
        assert list(item) == ["item_id", "product_id", "name", "options", "price"]
        product = call_tool(store, tools.GET_PRODUCT, {"product_id": item["product_id"]})
        variant = next(entry for entry in product["variants"] if entry["item_id"] == item["item_id"])
        assert (product["name"], variant["options"], variant["price"]) == (item["name"], item["options"], item["price"])
        assert call_tool(store, tools.LIST_PRODUCT_TYPES, {})[item["name"]] == item["product_id"]
    user = call_tool(store, tools.GET_USER, {"user_id": result["user_id"]})
    assert list(user) == ["user_id", "name", "email", "address", "payment_methods", "orders"]
    assert result["order_id"] in user["orders"]
    assert user["orders"] == [key for key, row in store.state()["orders"].items() if row["user_id"] == user["user_id"]]


def test_reading_changes_nothing(store: Store) -> None:
    before = store.state_text()
    order = find_order(store, "pending")
    product_id = next(iter(store.state()["products"]))
    for tool, arguments in (
        (tools.GET_ORDER, {"order_id": order["order_id"]}),
        (tools.GET_USER, {"user_id": order["user_id"]}),
        (tools.GET_PRODUCT, {"product_id": product_id}),
        (tools.LIST_PRODUCT_TYPES, {}),
    ):
        call_tool(store, tool, arguments)
    assert store.call(tools.TRANSFER, {"summary": "They want to speak to somebody."}) == ToolResult("Transfer successful")
    assert store.call(tools.CALCULATE, {"expression": "2 * (19.99 + 5)"}) == ToolResult("49.98")
    assert store.copy().state_text() == before == store.state_text()


@pytest.mark.parametrize("tool", NEEDS)
def test_action_changes_only_its_order_and_returns_it(store: Store, tool: str) -> None:
    order = find_order(store, NEEDS[tool], lambda order, user: has_other_method(order, user) and is_paid_by("credit_card")(order, user))
    before = store.state()
    result = call_tool(store, tool, valid_arguments(store, tool, order))
    assert changed_rows(before, store.state()) == {("orders", order["order_id"])}
    assert result == call_tool(store, tools.GET_ORDER, {"order_id": order["order_id"]})


def test_cancelled_order_is_refunded_to_its_payment_methods(store: Store) -> None:
    order = find_order(store, "pending", is_paid_by("gift_card"))
    card = find_method(find_user(store, order), "gift_card")
    result = call_tool(store, tools.CANCEL_ORDER, {"order_id": order["order_id"], "reason": "ordered by mistake"})
    assert (result["status"], result["cancel_reason"]) == ("cancelled", "ordered by mistake")
    assert net_payments(result) == {}
    after = find_method(find_user(store, order), "gift_card")
    assert card is not None
    assert after is not None
    assert after["balance"] == sum_amounts((card["balance"], order["payment_history"][0]["amount"]))


def test_order_address_and_default_address_are_independent(store: Store) -> None:
    order = find_order(store, "pending")
    user = find_user(store, order)
    assert call_tool(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **ADDRESS})["address"] == ADDRESS
    assert find_user(store, order) == user
    moved = {**ADDRESS, "address1": "1 Oak Street", "address2": "Apt 2"}
    assert call_tool(store, tools.MODIFY_USER_ADDRESS, {"user_id": order["user_id"], **moved}) == {**user, "address": moved}
    assert call_tool(store, tools.GET_ORDER, {"order_id": order["order_id"]})["address"] == ADDRESS


def test_new_payment_method_pays_all_and_the_old_one_is_refunded(store: Store) -> None:
    def is_suitable(order: Row, user: Row) -> bool:
        card = find_method(user, "gift_card")
        return is_paid_by("credit_card")(order, user) and card is not None and card["balance"] >= order["payment_history"][0]["amount"]

    order = find_order(store, "pending", is_suitable)
    card = find_method(find_user(store, order), "gift_card")
    assert card is not None
    amount, first = order["payment_history"][0]["amount"], order["payment_history"][0]["payment_method_id"]
    result = call_tool(store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": card["payment_method_id"]})
    assert result["status"] == "pending"
    assert net_payments(result) == {card["payment_method_id"]: amount}
    assert find_method(find_user(store, order), "gift_card") == {**card, "balance": sum_amounts((card["balance"], -amount))}
    back = call_tool(store, tools.MODIFY_ORDER_PAYMENT, {"order_id": order["order_id"], "payment_method_id": first})
    assert net_payments(back) == {first: amount}
    assert find_method(find_user(store, order), "gift_card") == card


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_modified_items_replace_the_old_ones_and_the_difference_is_settled(store: Store, sign: int) -> None:
    def is_suitable(card: Row, old: Row, new: Row) -> bool:
        return (new["price"] > old["price"]) - (new["price"] < old["price"]) == sign and bool(card["balance"] >= new["price"])

    order, card, old, new = find_swap(store, "pending", is_suitable)
    arguments = {"item_ids": [old["item_id"]], "new_item_ids": [new["item_id"]], "payment_method_id": card["payment_method_id"]}
    result = call_tool(store, tools.MODIFY_ORDER_ITEMS, {"order_id": order["order_id"], **arguments})
    difference = sum_amounts((new["price"], -old["price"]))
    kind = "payment" if sign > 0 else "refund"
    entry = {"transaction_type": kind, "amount": abs(difference), "payment_method_id": card["payment_method_id"]}
    assert result["status"] == MODIFIED
    place = [item["item_id"] for item in order["items"]].index(old["item_id"])
    assert [item["item_id"] for item in result["items"]][place] == new["item_id"]
    assert result["payment_history"] == order["payment_history"] + ([entry] if sign else [])
    assert net_amount(result) == sum_amounts(item["price"] for item in result["items"])
    assert find_method(find_user(store, order), "gift_card") == {**card, "balance": sum_amounts((card["balance"], -difference))}


def test_return_and_exchange_are_recorded_without_a_payment(store: Store) -> None:
    first, second = [*find_orders(store, "delivered", lambda order, user: len(order["items"]) > 1)][:2]
    arguments = valid_arguments(store, tools.RETURN_ITEMS, first)
    result = call_tool(store, tools.RETURN_ITEMS, arguments)
    assert (result["status"], result["return_items"]) == (RETURNED, arguments["item_ids"])
    assert result["return_payment_method_id"] == arguments["payment_method_id"]
    arguments = valid_arguments(store, tools.EXCHANGE_ITEMS, second)
    result = call_tool(store, tools.EXCHANGE_ITEMS, arguments)
    prices = [
        next(entry["price"] for entry in find_product(store, item_id)["variants"] if entry["item_id"] == item_id)
        for item_id in (arguments["new_item_ids"][0], arguments["item_ids"][0])
    ]
    assert (result["status"], result["exchange_price_difference"]) == (EXCHANGED, sum_amounts((prices[0], -prices[1])))
    assert (result["exchange_items"], result["exchange_new_items"]) == (arguments["item_ids"], arguments["new_item_ids"])
    assert result["payment_history"] == second["payment_history"]
    assert [item["item_id"] for item in result["items"]] == [item["item_id"] for item in second["items"]]


@pytest.mark.parametrize("tool", [tools.MODIFY_ORDER_ITEMS, tools.EXCHANGE_ITEMS, tools.RETURN_ITEMS])
def test_order_of_item_ids_does_not_change_the_state(seeded: Store, tool: str) -> None:
    entry, other = seeded.copy(), seeded.copy()
    order = find_order(entry, NEEDS[tool], lambda order, user: len({item["item_id"] for item in order["items"]}) > 2)
    arguments = valid_arguments(entry, tool, order)
    arguments["item_ids"] = [item["item_id"] for item in order["items"]][:3]
    if "new_item_ids" in arguments:
        arguments["new_item_ids"] = [find_replacement(entry, item_id) for item_id in arguments["item_ids"]]
    call_tool(entry, tool, arguments)
    call_tool(other, tool, {key: value[::-1] if isinstance(value, list) else value for key, value in arguments.items()})
    assert entry.state_text() == other.state_text()


def test_order_of_address_parts_does_not_change_the_state(seeded: Store) -> None:
    entry, other = seeded.copy(), seeded.copy()
    order = find_order(entry, "pending")
    for tool, key in ((tools.MODIFY_ORDER_ADDRESS, "order_id"), (tools.MODIFY_USER_ADDRESS, "user_id")):
        arguments = {key: order[key], **ADDRESS}
        call_tool(entry, tool, arguments)
        call_tool(other, tool, dict(reversed(arguments.items())))
    assert entry.state_text() == other.state_text()


def test_item_ordered_twice_can_be_replaced_twice(store: Store) -> None:
    order = find_order(store, "pending", lambda order, user: len(order["items"]) > len({item["item_id"] for item in order["items"]}))
    ids = [item["item_id"] for item in order["items"]]
    twice = next(item_id for item_id in ids if ids.count(item_id) > 1)
    new = [entry["item_id"] for entry in find_product(store, twice)["variants"] if entry["available"] and entry["item_id"] != twice][:2]
    arguments = {**valid_arguments(store, tools.MODIFY_ORDER_ITEMS, order), "item_ids": [twice, twice], "new_item_ids": new}
    result = [item["item_id"] for item in call_tool(store, tools.MODIFY_ORDER_ITEMS, arguments)["items"]]
    assert sorted(result) == sorted([*(item_id for item_id in ids if item_id != twice), *new])


def test_copies_are_independent(seeded: Store) -> None:
    entry, other = seeded.copy(), seeded.copy()
    order = find_order(entry, "pending")
    call_tool(entry, tools.CANCEL_ORDER, {"order_id": order["order_id"], "reason": "no longer needed"})
    assert other.state_text() == seeded.state_text() != entry.state_text()
    assert entry.copy().state()["orders"][order["order_id"]]["status"] == "cancelled"


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


def test_tools_take_the_same_arguments_as_in_real_conversations() -> None:
    assert {tool.name: tool.parameters["required"] for tool in tools.TOOLS} == {name: keys.split() for name, keys in PARAMETERS.items()}
    for tool in tools.TOOLS:
        assert tool.description
        assert list(tool.parameters["properties"]) == tool.parameters["required"]
        assert all(argument["description"] for argument in tool.parameters["properties"].values())
