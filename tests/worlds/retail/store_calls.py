"""Orders that suit a test, and arguments with which an action on them succeeds."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.store.payments import net_payments, sum_amounts
from callmark.worlds.retail.store.store import Store

Row = dict[str, Any]
ADDRESS = {"address1": "12 Elm Street", "address2": "", "city": "Denver", "state": "CO", "country": "USA", "zip": "80205"}
NEEDS = {
    tools.CANCEL_ORDER: "pending",
    tools.MODIFY_ORDER_ADDRESS: "pending",
    tools.MODIFY_ORDER_ITEMS: "pending",
    tools.MODIFY_ORDER_PAYMENT: "pending",
    tools.RETURN_ITEMS: "delivered",
    tools.EXCHANGE_ITEMS: "delivered",
}


def call_tool(store: Store, tool: str, arguments: Row) -> Any:
    result = store.call(tool, arguments)
    assert not result.is_error, result.text
    return json.loads(result.text)


def refusal_sentence(store: Store, tool: str, arguments: Any) -> str:
    """Return the error of a call, after checking that there is one and that every byte of the database is unchanged."""
    before, state = store._db.serialize(), store.state_text()  # the text alone may be cached
    result = store.call(tool, arguments)
    assert result.is_error, (tool, result.text)
    assert store._db.serialize() == before
    assert store.state_text() == state
    assert len(result.text) < 700
    return result.text


def find_orders(store: Store, status: str, is_suitable: Callable[[Row, Row], bool] = lambda order, user: True) -> Iterator[Row]:
    """Yield suitable orders with that status, including their ids."""
    state = store.state()
    for order_id, order in state["orders"].items():
        if order["status"] == status and is_suitable(order, state["users"][order["user_id"]]):
            yield {"order_id": order_id, **order}


def find_order(store: Store, status: str, is_suitable: Callable[[Row, Row], bool] = lambda order, user: True) -> Row:
    return next(find_orders(store, status, is_suitable))


def find_method(user: Row, source: str) -> Row | None:
    return next((entry for entry in user["payment_methods"] if entry["source"] == source), None)


def find_user(store: Store, order: Row) -> Row:
    return store.get_user_details(order["user_id"])


def find_product(store: Store, item_id: str) -> Row:
    return store.get_product_details(store._item(item_id)["product_id"])


def find_replacement(
    store: Store, item_id: str, *, available: bool = True, is_suitable: Callable[[Row], bool] = lambda variant: True
) -> str:
    """Return the id of another variant of the same product."""
    variants = [
        entry for entry in find_product(store, item_id)["variants"] if entry["item_id"] != item_id and entry["available"] is available
    ]
    return str(next(entry["item_id"] for entry in variants if is_suitable(entry)))


def net_amount(order: Row) -> float:
    """Return payments minus refunds."""
    return sum_amounts(entry["amount"] * (1 if entry["transaction_type"] == "payment" else -1) for entry in order["payment_history"])


def has_other_method(order: Row, user: Row) -> bool:
    """Return whether there is a card or PayPal account that the order was not paid with."""
    return any(
        entry["source"] != "gift_card" and entry["payment_method_id"] not in net_payments(order) for entry in user["payment_methods"]
    )


def valid_arguments(store: Store, tool: str, order: Row) -> Row:
    """Return arguments that are valid if the order's status allows the action."""
    user = find_user(store, order)
    item_id = order["items"][0]["item_id"]
    current_method = order["payment_history"][0]["payment_method_id"]
    other_methods = [entry["payment_method_id"] for entry in user["payment_methods"] if entry["source"] != "gift_card"]
    replaced = {"item_ids": [item_id], "new_item_ids": [find_replacement(store, item_id)], "payment_method_id": other_methods[0]}
    asked: dict[str, Row] = {
        tools.CANCEL_ORDER: {"reason": "no longer needed"},
        tools.MODIFY_ORDER_ADDRESS: ADDRESS,
        tools.MODIFY_ORDER_PAYMENT: {"payment_method_id": next((entry for entry in other_methods if entry != current_method), "")},
        tools.MODIFY_ORDER_ITEMS: replaced,
        tools.EXCHANGE_ITEMS: replaced,
        tools.RETURN_ITEMS: {"item_ids": [item_id], "payment_method_id": current_method},
    }
    return {"order_id": order["order_id"], **asked[tool]}


def find_swap(store: Store, status: str, is_suitable: Callable[[Row, Row, Row], bool]) -> tuple[Row, Row, Row, Row]:
    """Return an order, its customer's gift card, an item of the order and an available replacement; the last three are suitable."""
    return next(
        (order, card, old, new)
        for order in find_orders(store, status)
        if (card := find_method(find_user(store, order), "gift_card")) is not None
        for old in order["items"]
        for new in find_product(store, old["item_id"])["variants"]
        if new["available"] and new["item_id"] != old["item_id"] and is_suitable(card, old, new)
    )


def calls_of_every_tool(store: Store) -> list[tuple[str, Row]]:
    """Return a call of every tool. They succeed one after the other: each action has its own order."""
    pending, delivered = (list(find_orders(store, status, has_other_method)) for status in ("pending", "delivered"))
    places = {"pending": iter(pending), "delivered": iter(delivered)}
    user_id = pending[0]["user_id"]
    user = store.get_user_details(user_id)
    return [
        (tools.FIND_BY_EMAIL, {"email": user["email"]}),
        (tools.FIND_BY_NAME_ZIP, {**user["name"], "zip": user["address"]["zip"]}),
        (tools.GET_USER, {"user_id": user_id}),
        (tools.GET_ORDER, {"order_id": pending[0]["order_id"]}),
        (tools.GET_PRODUCT, {"product_id": next(iter(store.state()["products"]))}),
        (tools.LIST_PRODUCT_TYPES, {}),
        (tools.CALCULATE, {"expression": "19.99 + 5"}),
        *((tool, valid_arguments(store, tool, next(places[status]))) for tool, status in NEEDS.items()),
        (tools.MODIFY_USER_ADDRESS, {"user_id": user_id, **ADDRESS}),
        (tools.TRANSFER, {"summary": "They want to speak to somebody."}),
    ]
