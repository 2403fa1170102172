"""The store's records for generating plans, and lookups in them."""

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from callmark.worlds.retail.store.store import Store

MAX_ALTERNATIVES = 4  # variants to offer for a sold-out one
_STRIDE = 619  # orders between the starting points of two plans, far enough apart to find others

Row = dict[str, Any]


class Records(NamedTuple):
    """Customers, orders and products by id. Orders have items with names and options; customers have their order numbers in store order."""

    users: Mapping[str, Row]
    orders: Mapping[str, Row]
    products: Mapping[str, Row]

    def shuffled_orders(self, seed: str, index: int) -> list[Row]:
        """Return all orders shuffled by the seed, rotated so that each position starts at another order."""
        shuffled = list(self.orders.values())
        Random(f"{seed}/orders").shuffle(shuffled)
        start = index * _STRIDE % len(shuffled)
        return shuffled[start:] + shuffled[:start]


def read_records(store: Store) -> Records:
    """Return everything in the store in its current state."""
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
    orders_by_user: dict[str, list[str]] = {}
    for key in sorted(orders):
        orders_by_user.setdefault(orders[key]["user_id"], []).append(key)
    users = {key: {"user_id": key, **row, "orders": orders_by_user.get(key, [])} for key, row in state["users"].items()}
    return Records(users, orders, products)


def changed_options(options: Mapping[str, str], new_options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that differ, with their new values."""
    return {name: value for name, value in new_options.items() if options.get(name) != value}


def find_variant(product: Row, options: Mapping[str, str]) -> Row | None:
    """Return the variant with exactly these options, or None."""
    return next((variant for variant in product["variants"] if variant["options"] == options), None)


def available_alternatives(product: Row, item: Row, requested_options: Mapping[str, str]) -> list[Row]:
    """Return available variants for an item whose requested variant is sold out, closest first, at most `MAX_ALTERNATIVES`."""
    available = [variant for variant in product["variants"] if variant["available"] and variant["item_id"] != item["item_id"]]
    return sorted(available, key=lambda variant: (len(changed_options(requested_options, variant["options"])), variant["item_id"]))[
        :MAX_ALTERNATIVES
    ]


def last_payment_method_id(order: Row) -> str:
    """Return the id of the payment method that last paid for the order."""
    return next(str(entry["payment_method_id"]) for entry in reversed(order["payment_history"]) if entry["transaction_type"] == "payment")
