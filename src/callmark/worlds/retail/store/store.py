"""The store's backend: customers, products and orders in SQLite, generated from a seed, with every tool as a method.

A method returns plain data, or raises `ToolError` and changes nothing. `call` does the same by tool name, with any arguments that a model
sends. Each row is stored as JSON text next to the columns that are searched, so the state is assembled from texts and unchanged rows are
never serialized again.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Self

from callmark import ToolResult
from callmark.worlds.retail import tools
from callmark.worlds.retail.store import calculator
from callmark.worlds.retail.store.catalog import make_products
from callmark.worlds.retail.store.customers import make_users
from callmark.worlds.retail.store.orders import make_orders
from callmark.worlds.retail.store.payments import check_balance, find_payment_method, net_payments, pay, refund, sum_amounts
from callmark.worlds.tool_calls import ToolError, quote_value, validate_arguments

TABLES = {"users": "user_id", "orders": "order_id", "products": "product_id"}
MODIFIED, RETURNED, EXCHANGED = "pending (items modified)", "return requested", "exchange requested"

Row = dict[str, Any]

_SCHEMA = """
create table users (user_id text primary key, email text not null unique, row text not null) without rowid;
create table orders (order_id text primary key, user_id text not null references users, row text not null) without rowid;
create table products (product_id text primary key, row text not null) without rowid;
create table items (item_id text primary key, product_id text not null references products) without rowid;
create index orders_of_users on orders (user_id);
"""
_TOOLS = {tool.name: tool for tool in tools.TOOLS}


class Store:
    """A store in memory. `copy` is cheap; copies share nothing."""

    def __init__(self, seed: int = 7) -> None:
        self._db = _database()
        self._db.executescript(_SCHEMA)
        self._cached_text: str | None = None
        _fill(self._db, Random(seed))

    def copy(self) -> Self:
        """Return another store with the same state."""
        other = object.__new__(type(self))
        other._db = _database()
        self._db.backup(other._db)
        other._cached_text = self.state_text()
        return other

    def close(self) -> None:
        self._db.close()

    def state(self) -> dict[str, dict[str, Row]]:
        """Return every table as rows by key. Items of an order have only ids and prices; the rest belongs to the product."""
        found: dict[str, dict[str, Row]] = json.loads(self.state_text())
        return found

    def state_text(self) -> str:
        """Return `state` as JSON, cached until the next write."""
        if self._cached_text is None:
            tables = []
            for table, key in TABLES.items():
                rows = ",".join([f'"{name}":{row}' for name, row in self._db.execute(f"select {key}, row from {table} order by {key}")])
                tables.append(f'"{table}":{{{rows}}}')
            self._cached_text = f"{{{','.join(tables)}}}"
        return self._cached_text

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool call. An unknown tool, invalid arguments and a refusal return an error that says why, and change nothing."""
        try:
            if name not in _TOOLS:
                raise ToolError(f"there is no tool {quote_value(name)}; expected one of {', '.join(_TOOLS)}")
            result = _METHODS[name](self, **validate_arguments(_TOOLS[name], arguments, may_be_empty=("address2",)))
        except ToolError as refusal:
            return ToolResult(str(refusal), is_error=True)
        return ToolResult(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))

    def find_user_id_by_email(self, email: str) -> Row:
        """Return the user's id; case is ignored."""
        found = self._db.execute("select user_id from users where email = ?", (email.strip().lower(),)).fetchone()
        if found is None:
            raise ToolError(f"there is no customer with the email {quote_value(email)}")
        return {"user_id": found[0]}

    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> Row:  # noqa: A002 - the argument's name
        """Return the user's id; case is ignored. The zip code is that of the default address."""
        key = (first_name.strip().casefold(), last_name.strip().casefold(), zip.strip())
        for user_id, text in self._db.execute("select user_id, row from users order by user_id"):
            user = json.loads(text)
            if key == (*(name.casefold() for name in user["name"].values()), user["address"]["zip"]):
                return {"user_id": user_id}
        raise ToolError(f"there is no customer named {quote_value(f'{first_name} {last_name}')} with the zip code {quote_value(zip)}")

    def get_user_details(self, user_id: str) -> Row:
        """Return the customer with the numbers of all their orders."""
        orders = self._db.execute("select order_id from orders where user_id = ? order by order_id", (user_id,))
        return {"user_id": user_id, **self._user(user_id), "orders": [order_id for (order_id,) in orders]}

    def get_order_details(self, order_id: str) -> Row:
        """Return the order; its items have names and options."""
        order = self._order(order_id)
        items = [{**self._item(item["item_id"]), "price": item["price"]} for item in order["items"]]
        for item in items:
            del item["available"]  # the availability of new items, not of this one
        return {"order_id": order_id, **order, "items": items}

    def get_product_details(self, product_id: str) -> Row:
        """Return the product type with all its variants, including sold-out ones."""
        return {"product_id": product_id, **self._row("products", product_id, "product", "6086499569")}

    def list_all_product_types(self) -> Row:
        """Return product ids by name, sorted by name."""
        products = self._db.execute("select product_id, row from products").fetchall()
        return dict(sorted((json.loads(row)["name"], product_id) for product_id, row in products))

    def cancel_pending_order(self, order_id: str, reason: str) -> Row:
        """Cancel the order and refund each payment to its method; gift cards get their balance back immediately."""
        order = self._order_with_status("pending", order_id, "cancelled")
        user = self._user(order["user_id"])
        for method_id, amount in net_payments(order).items():
            refund(order, user, method_id, amount)
        return self._write(order_id, order | {"status": "cancelled", "cancel_reason": reason}, user)

    def modify_pending_order_address(self, order_id: str, **address: str) -> Row:
        """Change the order's address, not the customer's default one."""
        order = self._order_with_status("pending", order_id, "modified")
        return self._write(order_id, order | {"address": _normalize_address(address)})

    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Row:
        """Charge the whole amount to another method and refund the earlier payment."""
        order = self._order_with_status("pending", order_id, "modified")
        user = self._user(order["user_id"])
        payments = net_payments(order)
        if payment_method_id in payments:
            raise ToolError(f"{order_id} is already paid with {payment_method_id}; expected another payment method")
        pay(order, user, payment_method_id, sum_amounts(payments.values()))
        for method_id, amount in payments.items():
            refund(order, user, method_id, amount)
        return self._write(order_id, order, user)

    def modify_pending_order_items(self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str) -> Row:
        """Replace items in place, and charge or refund the difference immediately."""
        order = self._order_with_status("pending", order_id, "modified")
        user = self._user(order["user_id"])
        difference = 0.0
        for item_id, new in self._replacements(order_id, order, item_ids, new_item_ids):
            position = next(position for position, item in enumerate(order["items"]) if item["item_id"] == item_id)
            difference = sum_amounts((difference, new["price"], -order["items"][position]["price"]))
            order["items"][position] = new
        find_payment_method(user, payment_method_id)
        if difference > 0:
            pay(order, user, payment_method_id, difference)
        elif difference < 0:
            refund(order, user, payment_method_id, -difference)
        return self._write(order_id, order | {"status": MODIFIED}, user)

    def modify_user_address(self, user_id: str, **address: str) -> Row:
        """Change the default address. Addresses of orders do not change."""
        user = self._user(user_id) | {"address": _normalize_address(address)}
        with self._db:
            self._save("users", user_id, user)
        return self.get_user_details(user_id)

    def return_delivered_order_items(self, order_id: str, item_ids: list[str], payment_method_id: str) -> Row:
        """Record the return request. The refund follows when the items have come back."""
        order = self._order_with_status("delivered", order_id, "returned")
        _check_items(order_id, order, item_ids)
        method = find_payment_method(self._user(order["user_id"]), payment_method_id)
        if payment_method_id not in net_payments(order) and method["source"] != "gift_card":
            raise ToolError(
                f"{payment_method_id} cannot take the refund: {order_id} was paid with {', '.join(net_payments(order))}, "
                "and a refund goes there or to a gift card"
            )
        request = {"return_items": sorted(item_ids), "return_payment_method_id": payment_method_id}
        return self._write(order_id, order | {"status": RETURNED} | request)

    def exchange_delivered_order_items(self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str) -> Row:
        """Record the exchange request. The difference is settled when the items have come back."""
        order = self._order_with_status("delivered", order_id, "exchanged")
        replacements = self._replacements(order_id, order, item_ids, new_item_ids)
        prices = {item["item_id"]: item["price"] for item in order["items"]}
        difference = sum_amounts(new["price"] - prices[item_id] for item_id, new in replacements)
        check_balance(find_payment_method(self._user(order["user_id"]), payment_method_id), difference)
        request = {
            "exchange_items": [item_id for item_id, _ in replacements],
            "exchange_new_items": [new["item_id"] for _, new in replacements],
            "exchange_price_difference": difference,
            "exchange_payment_method_id": payment_method_id,
        }
        return self._write(order_id, order | {"status": EXCHANGED} | request)

    def calculate(self, expression: str) -> str:
        return calculator.calculate(expression)

    def transfer_to_human_agents(self, summary: str) -> str:
        """Return a note; the store records nothing."""
        return "Transfer successful"

    def _row(self, table: str, key: str, noun: str, example: str) -> Row:
        found = self._db.execute(f"select row from {table} where {TABLES[table]} = ?", (key,)).fetchone()
        if found is None:
            raise ToolError(f"there is no {noun} {quote_value(key)}; expected an id such as {example}")
        row: Row = json.loads(found[0])
        return row

    def _user(self, user_id: str) -> Row:
        return self._row("users", user_id, "customer", "sara_doe_496")

    def _order(self, order_id: str) -> Row:
        return self._row("orders", order_id, "order", "#W1234567")

    def _order_with_status(self, status: str, order_id: str, action: str) -> Row:
        order = self._order(order_id)
        if order["status"] != status:
            raise ToolError(f"{order_id} is {order['status']}; only an order that is {status} can be {action}")
        return order

    def _item(self, item_id: str) -> Row:
        """Return a variant with its product."""
        found = self._db.execute(
            "select product_id, row from items join products using (product_id) where item_id = ?", (item_id,)
        ).fetchone()
        if found is None:
            raise ToolError(f"there is no item {quote_value(item_id)}; expected an id such as 1008292230")
        product = json.loads(found[1])
        variant = next(candidate for candidate in product["variants"] if candidate["item_id"] == item_id)
        return {"item_id": item_id, "product_id": found[0], "name": product["name"], **variant}

    def _replacements(self, order_id: str, order: Row, item_ids: list[str], new_item_ids: list[str]) -> list[tuple[str, Row]]:
        """Return each item id with its replacement, sorted, so that the order of the arguments does not change the state."""
        _check_items(order_id, order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise ToolError(f"expected one new item for each item, got {len(item_ids)} item_ids and {len(new_item_ids)} new_item_ids")
        found = []
        for item_id, new_item_id in sorted(zip(item_ids, new_item_ids, strict=True)):
            old, new = self._item(item_id), self._item(new_item_id)
            if item_id == new_item_id:
                raise ToolError(f"{item_id} cannot be replaced with itself; expected another item")
            if old["product_id"] != new["product_id"]:
                raise ToolError(f"{new_item_id} is a {new['name']} and {item_id} a {old['name']}; expected an item of the same product")
            if not new["available"]:
                raise ToolError(f"{new_item_id} ({', '.join(new['options'].values())}) is not available")
            found.append((item_id, {"item_id": new_item_id, "price": new["price"]}))
        return found

    def _write(self, order_id: str, order: Row, user: Row | None = None) -> Row:
        with self._db:
            self._save("orders", order_id, order)
            if user is not None:
                self._save("users", order["user_id"], user)
        return self.get_order_details(order_id)

    def _save(self, table: str, key: str, row: Row) -> None:
        self._db.execute(f"update {table} set row = ? where {TABLES[table]} = ?", (_row_text(row), key))
        self._cached_text = None


_METHODS: dict[str, Callable[..., Any]] = {name: getattr(Store, name) for name in _TOOLS}


def _database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _row_text(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _normalize_address(address: dict[str, str]) -> dict[str, str]:
    """Return the address with its parts in a fixed order, so that equal addresses are equal bytes."""
    return {part: address[part] for part in tools.ADDRESS}


def _check_items(order_id: str, order: Row, item_ids: list[str]) -> None:
    ordered = Counter(item["item_id"] for item in order["items"])
    for item_id, number in Counter(item_ids).items():
        if number > ordered[item_id]:
            found = f"appears {ordered[item_id]}× in {order_id} but {number}× in the call" if ordered[item_id] else f"is not in {order_id}"
            raise ToolError(f"the item {quote_value(item_id)} {found}; expected items of the order: {', '.join(ordered.elements())}")


def _fill(db: sqlite3.Connection, rng: Random) -> None:
    users, products = make_users(rng), make_products(rng)
    orders = make_orders(rng, users, products)
    with db:
        db.executemany("insert into users values (?, ?, ?)", [(user.pop("user_id"), user["email"], _row_text(user)) for user in users])
        db.executemany(
            "insert into orders values (?, ?, ?)", [(order.pop("order_id"), order["user_id"], _row_text(order)) for order in orders]
        )
        for product in products:
            product_id = product.pop("product_id")
            db.execute("insert into products values (?, ?)", (product_id, _row_text(product)))
            db.executemany("insert into items values (?, ?)", [(variant["item_id"], product_id) for variant in product["variants"]])
