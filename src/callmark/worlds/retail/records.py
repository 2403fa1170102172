"""What plans are made from: the store's customers, orders and products as its tools tell them, and what can come in place of an item."""

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from callmark.worlds.retail.store import Store

MOST_OFFERED = 4  # variants that are named when the one that was wanted is sold out
_STRIDE = 619  # orders that one plan begins to look after the plan before it: far enough to meet others

Row = dict[str, Any]


class Records(NamedTuple):
    """By id. Orders have their items with names and options; a customer has the numbers of their orders, in the order the store gives."""

    users: Mapping[str, Row]
    orders: Mapping[str, Row]
    products: Mapping[str, Row]

    def in_turn(self, seed: str, place: int) -> list[Row]:
        """All orders, mixed by the seed, beginning with others at each place."""
        mixed = list(self.orders.values())
        Random(f"{seed}/orders").shuffle(mixed)
        start = place * _STRIDE % len(mixed)
        return mixed[start:] + mixed[:start]


def read_records(store: Store) -> Records:
    """Everything in the store as it is now."""
    state = store.state()
    products: dict[str, Row] = {key: {"product_id": key, **row} for key, row in state["products"].items()}
    variants = {
        variant["item_id"]: {"item_id": variant["item_id"], "product_id": key, "name": row["name"], "options": variant["options"]}
        for key, row in products.items()
        for variant in row["variants"]
    }
    orders = {
        key: {"order_id": key, **row, "items": [{**variants[item["item_id"]], "price": item["price"]} for item in row["items"]]}
        for key, row in state["orders"].items()
    }
    of_users: dict[str, list[str]] = {}
    for key in sorted(orders):
        of_users.setdefault(orders[key]["user_id"], []).append(key)
    users = {key: {"user_id": key, **row, "orders": of_users.get(key, [])} for key, row in state["users"].items()}
    return Records(users, orders, products)


def changes_between(options: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """The options that differ, as they are in the others."""
    return {name: value for name, value in others.items() if options.get(name) != value}


def variant_with(product: Row, options: Mapping[str, str]) -> Row | None:
    """The variant that has all these options; None where it is not made."""
    return next((variant for variant in product["variants"] if variant["options"] == options), None)


def offered(product: Row, item: Row, wanted: Mapping[str, str]) -> list[Row]:
    """What is available in place of an item, where the wanted options are not: those nearest to them, at most `MOST_OFFERED`."""
    possible = [variant for variant in product["variants"] if variant["available"] and variant["item_id"] != item["item_id"]]
    return sorted(possible, key=lambda variant: (len(changes_between(wanted, variant["options"])), variant["item_id"]))[:MOST_OFFERED]


def paid_with(order: Row) -> str:
    """The payment method that paid for the order last."""
    return next(str(one["payment_method_id"]) for one in reversed(order["payment_history"]) if one["transaction_type"] == "payment")
