"""Phrases for operations, fields and rows."""

import re
from typing import Any

import pytest

from callmark.simulation.mock_api.amounts import is_money
from callmark.simulation.mock_api.api import MockApi, OperationMeaning
from callmark.simulation.mock_api.effects import Effect
from callmark.simulation.operations import Api, Operation
from callmark.synthesis.api_phrases import (
    describe_row,
    distinguishing_traits,
    drop_conditions,
    field_label,
    format_date,
    format_option,
    format_value,
    join_texts,
    phrase_action,
    phrase_wish,
    question_label,
    refer_to_known,
    reference_label,
    to_second_person,
)
from callmark.types import Tool

_ORDER = {
    "type": "object",
    "x-named": "Order",
    "properties": {
        "order_id": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "shipped", "delivered", "cancelled", "return requested"]},
        "due_on": {"type": "string", "format": "date"},
    },
}
_KEY = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


@pytest.mark.parametrize(
    ("method", "path", "wish"),
    [
        ("get", "/cars", "see the cars"),
        ("get", "/cars/{plate}", "look up a car"),
        ("delete", "/cars/{plate}", "delete a car"),
        ("patch", "/cars/{plate}", "update a car"),
        ("post", "/cars", "add a car"),
        ("get", "/cars/{plate}/trips", "see the trips of a car"),
        ("post", "/cars/{plate}/trips", "add a trip for a car"),
        ("post", "/visits/{number}/cancel", "cancel a visit"),
        ("patch", "/users/{id}", "update my account"),
        ("get", "/", "look up that"),
    ],
)
def test_operation_without_a_name_is_phrased_by_its_path(method: str, path: str, wish: str) -> None:
    name = re.sub(r"[^A-Za-z0-9]+", "_", f"{method} {path}").strip("_")
    tool = Tool(name, "", {"type": "object", "properties": {}})
    assert phrase_wish(MockApi(Api("", "", (Operation(tool, method, path),))).meanings[name]) == wish


@pytest.mark.parametrize(
    ("name", "money"),
    [("price", True), ("unitPrice", True), ("amount_due", True), ("balance", True), ("km", False), ("payment_number", False), ("", False)],
)
def test_amount_of_money_is_recognized_by_its_name(name: str, money: bool) -> None:
    assert is_money(name) is money
    assert ("$" in describe_row({name: 2.5}, "")) is money


def meaning(name: str, summary: str = "", *, method: str = "post", description: str = "", policy: str = "") -> OperationMeaning:
    tool = Tool(name, "\n\n".join(filter(None, (summary, description))), _KEY)
    operation = Operation(tool, method, "/orders/{order_id}/do", summary, _ORDER)
    look = Operation(Tool("get_order", "", _KEY), "get", "/orders/{order_id}", "", _ORDER)
    return MockApi(Api("", policy, (look, operation))).meanings[name]


@pytest.mark.parametrize(
    ("name", "summary", "method", "wish", "deed"),
    [
        ("cancel_pending_order", "Cancel a pending order", "post", "cancel a pending order", "cancel the pending order"),
        ("x", "Cancels a pending order.", "post", "cancel a pending order", "cancel the pending order"),
        ("x", "Change a customer's default address", "put", "change my default address", "change your default address"),
        ("x", "Update the contact data of a member", "patch", "update my contact data", "update your contact data"),
        ("x", "Send a coupon to a customer", "post", "get a coupon", "send a coupon to you"),
        ("x", "Get the details of a user", "get", "see my details", None),
        ("x", "Get the status and details of an order", "get", "see the status and details of an order", None),
        ("x", "Returns a member's record", "get", "look up my record", None),
        ("x", "List all orders", "get", "see all orders", None),
        ("x", "Delete user", "delete", "delete my account", "delete your account"),
        ("x", "Get user by user name", "get", "look up my account", None),
        ("x", "Delete user resource.", "delete", "delete my account", "delete your account"),
        ("x", "Delete special order", "delete", "delete a special order", "delete the special order"),
        ("x", "Delete Orders [DEPRECATED]", "delete", "delete orders", "delete orders"),
        ("x", "Archive Special Order Items (beta)", "post", "archive special order items", None),
        ("x", "Search the Acme catalog", "get", "search the Acme catalog", None),
        ("x", "Transfer the customer to a human agent", "post", "transfer me to a human agent", "transfer you to a human agent"),
        ("cancel_order", "", "post", "cancel an order", "cancel the order"),
        ("refundPayments", "", "post", "refund a payment", "refund a payment"),
        ("orders_do", "", "post", "make a do", "make a do"),
        (
            "archive_order",
            "The order desk's own archive of what was once ordered, " + "long " * 20,
            "post",
            "archive an order",
            "archive the order",
        ),
    ],
)
def test_operation_is_phrased_as_a_wish(name: str, summary: str, method: str, wish: str, deed: str | None) -> None:
    found = meaning(name, summary, method=method)
    assert phrase_wish(found) == wish
    assert deed is None or phrase_action(found) == deed


@pytest.mark.parametrize(
    ("name", "said", "policy", "sets", "only"),
    [
        ("cancel_order", "", "", {"status": "cancelled"}, ()),
        ("cancel_pending_order", "", "", {"status": "cancelled"}, ("pending",)),
        ("cancel_order", "Cancel a pending or shipped order.", "", {"status": "cancelled"}, ("pending", "shipped")),
        ("send_back", "The status becomes 'return requested'.", "", {"status": "return requested"}, ()),
        ("return_items", "Only delivered orders can be returned.", "", {"status": "return requested"}, ("delivered",)),
        ("return_items", "", "Some talk. Only delivered orders can be returned.", {"status": "return requested"}, ("delivered",)),
        ("change_address", "A shipped order cannot be changed.", "Only delivered orders can be returned.", {}, ()),
        ("change_address", "", "", {}, ()),
    ],
)
def test_effect_and_condition_of_an_operation(name: str, said: str, policy: str, sets: dict[str, Any], only: tuple[str, ...]) -> None:
    effect = meaning(name, description=said, policy=policy).effect
    assert (effect.new_values, effect.allowed_values) == (sets, only)
    assert effect.allows({"status": only[0] if only else "shipped"})
    assert effect.allows({"status": "return requested"}) is not bool(only)


def test_read_has_no_effect() -> None:
    assert meaning("cancel_order", method="get").effect == Effect()


def test_renewal_extends_dates() -> None:
    row = {"order_id": "1", "status": "shipped", "due_on": "2025-05-20"}
    assert meaning("renew_order").effect.changes_to(row) == {"due_on": "2025-06-10"}
    assert meaning("renew_order").effect.changes_to({**row, "due_on": "soon"}) == {}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (drop_conditions("cancel a pending order", ["pending"]), "cancel an order"),
        (drop_conditions("cancel an order", ["pending"]), "cancel an order"),
        (refer_to_known("cancel a pending order", "order", "this"), "cancel this order"),
        (refer_to_known("say hello", "", "this"), "say hello"),
        (to_second_person("see my orders because I need them sent to me"), "see your orders because you need them sent to you"),
        (field_label("zip"), "zip code"),
        (field_label("zip_code"), "zip code"),
        (field_label("orderId"), "order ID"),
        (field_label("address1"), "street"),
        (field_label(""), "value"),
        (question_label("neededBy"), "needed-by date"),
        (question_label("reason"), "reason"),
        (reference_label("new_item_ids"), "new items"),
        (reference_label("payment_method_id"), "payment method"),
        (reference_label("id"), "ID"),
        (format_value([1, "b", True]), "1, b and yes"),
        (format_value({"monthly": 1, "city": "Rome", "amount": 2.5}), "monthly 1, Rome, 2.5"),
        (format_date("2025-06-02", long=True), "June 2, 2025"),
        (format_date("2025-06-02", long=False), "2025-06-02"),
        (format_date("2025-06-31", long=True), "2025-06-31"),
        (format_date("soon", long=True), "soon"),
        (join_texts([]), ""),
        (join_texts(["a"]), "a"),
        (join_texts(["a", "b", "c"], "or"), "a, b or c"),
    ],
)
def test_phrases(found: str, expected: str) -> None:
    assert found == expected


_SHOWN = {"order_id": "#W1", "status": "pending", "placed_on": "2025-05-06", "items": [{"name": "Desk Lamp"}], "total": 12.5}


def test_row_is_distinguished_from_others() -> None:
    assert distinguishing_traits(_SHOWN, "order_id") == [
        "the one with the Desk Lamp",
        "the pending one",
        "the one placed on 2025-05-06",
        "the one for $12.50",
        "#W1",
    ]
    assert distinguishing_traits({"id": 7}, "id") == ["7"]
    assert distinguishing_traits({}, "id") == [""]
    assert describe_row(_SHOWN, "order_id") == "pending, placed on 2025-05-06, Desk Lamp, $12.50"
    assert format_option(_SHOWN, "order_id") == "#W1 (pending, placed on 2025-05-06, Desk Lamp, $12.50)"
    assert format_option({"id": "0" * 30, "title": "Notes"}, "id") == "Notes"
    assert format_option({"id": 7}, "id") == "7"
    assert format_option({"id": "0" * 30, "title": "Notes"}, "id", long_keys=True) == f"{'0' * 30} (Notes)"


def test_names_come_first_and_addresses_of_pages_and_states_of_addresses_are_left_out() -> None:
    album = {"created_at": "2025-05-06T10:00:00Z", "count": 3, "self": "https://example.com/1", "albumName": "Summer", "id": 7}
    assert describe_row(album, "id") == "Summer, count 3, created at 2025-05-06T10:00:00Z"
    assert distinguishing_traits(album, "id") == ["Summer", "7"]
    order = {"id": 7, "city": "Boise", "state": "ID", "opened_at": "2025-05-06", "people": [{"name": "Rosa Ali"}]}
    assert distinguishing_traits(order, "id") == ["the one with Rosa Ali", "the one opened on 2025-05-06", "7"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [({"price": 2.5}, "$2.50"), ({"price": 2.5, "currency": "usd"}, "$2.50"), ({"price": 1200.5, "currency": "nok"}, "1,200.50 NOK")],
)
def test_amount_is_in_the_currency_of_its_row(row: dict[str, Any], expected: str) -> None:
    assert describe_row(row, "").startswith(expected)
