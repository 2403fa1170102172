"""Orders of a store that fit what a test needs, and arguments with which an action on them succeeds."""

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


def done(store: Store, tool: str, arguments: Row) -> Any:
    answer = store.call(tool, arguments)
    assert not answer.is_error, answer.text
    return json.loads(answer.text)


def refusal(store: Store, tool: str, arguments: Any) -> str:
    """Why it is refused; and it is made sure of that it is, and that every byte of the database is as before."""
    before, told = store._db.serialize(), store.state_text()  # the latter alone may be one that was kept
    answer = store.call(tool, arguments)
    assert answer.is_error, (tool, answer.text)
    assert store._db.serialize() == before
    assert store.state_text() == told
    assert len(answer.text) < 700
    return answer.text


def orders(store: Store, status: str, fits: Callable[[Row, Row], bool] = lambda order, user: True) -> Iterator[Row]:
    """Orders in that status that fit, with their id, each beside its user."""
    state = store.state()
    for order_id, order in state["orders"].items():
        if order["status"] == status and fits(order, state["users"][order["user_id"]]):
            yield {"order_id": order_id, **order}


def an_order(store: Store, status: str, fits: Callable[[Row, Row], bool] = lambda order, user: True) -> Row:
    return next(orders(store, status, fits))


def method(user: Row, source: str) -> Row | None:
    return next((one for one in user["payment_methods"] if one["source"] == source), None)


def user_of(store: Store, order: Row) -> Row:
    return store.get_user_details(order["user_id"])


def product_of(store: Store, item_id: str) -> Row:
    return store.get_product_details(store._item(item_id)["product_id"])


def another(store: Store, item_id: str, *, available: bool = True, fits: Callable[[Row], bool] = lambda variant: True) -> str:
    """The id of another variant of the same product."""
    variants = [one for one in product_of(store, item_id)["variants"] if one["item_id"] != item_id and one["available"] is available]
    return str(next(one["item_id"] for one in variants if fits(one)))


def net(order: Row) -> float:
    """What was paid without what was refunded."""
    return sum_amounts(entry["amount"] * (1 if entry["transaction_type"] == "payment" else -1) for entry in order["payment_history"])


def two_ways_to_pay(order: Row, user: Row) -> bool:
    """Whether there is a card or an account that the order was not paid with."""
    return any(one["source"] != "gift_card" and one["payment_method_id"] not in net_payments(order) for one in user["payment_methods"])


def arguments(store: Store, tool: str, order: Row) -> Row:
    """With these it works, if the order's status allows it."""
    user = user_of(store, order)
    item_id = order["items"][0]["item_id"]
    used = order["payment_history"][0]["payment_method_id"]
    other = [one["payment_method_id"] for one in user["payment_methods"] if one["source"] != "gift_card"]
    replaced = {"item_ids": [item_id], "new_item_ids": [another(store, item_id)], "payment_method_id": other[0]}
    asked: dict[str, Row] = {
        tools.CANCEL_ORDER: {"reason": "no longer needed"},
        tools.MODIFY_ORDER_ADDRESS: ADDRESS,
        tools.MODIFY_ORDER_PAYMENT: {"payment_method_id": next((one for one in other if one != used), "")},
        tools.MODIFY_ORDER_ITEMS: replaced,
        tools.EXCHANGE_ITEMS: replaced,
        tools.RETURN_ITEMS: {"item_ids": [item_id], "payment_method_id": used},
    }
    return {"order_id": order["order_id"], **asked[tool]}


def a_replacement(store: Store, status: str, fits: Callable[[Row, Row, Row], bool]) -> tuple[Row, Row, Row, Row]:
    """An order, the gift card of its customer, an item of the order and an available variant in its place; the last three fit."""
    return next(
        (order, card, old, new)
        for order in orders(store, status)
        if (card := method(user_of(store, order), "gift_card")) is not None
        for old in order["items"]
        for new in product_of(store, old["item_id"])["variants"]
        if new["available"] and new["item_id"] != old["item_id"] and fits(card, old, new)
    )


def every_call(store: Store) -> list[tuple[str, Row]]:
    """A call of every tool. They succeed one after the other: each action has an order of its own."""
    pending, delivered = (list(orders(store, status, two_ways_to_pay)) for status in ("pending", "delivered"))
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
        *((tool, arguments(store, tool, next(places[status]))) for tool, status in NEEDS.items()),
        (tools.MODIFY_USER_ADDRESS, {"user_id": user_id, **ADDRESS}),
        (tools.TRANSFER, {"summary": "They want to speak to somebody."}),
    ]
