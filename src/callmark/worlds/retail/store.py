"""The store itself: customers, products and orders in SQLite, made from a seed, and every tool as a method.

A method gives back plain data, or raises `Refused` with a sentence; then nothing was changed. `call` does the same by a tool's name and
with whatever arguments a model came up with. A row of a table is kept as its JSON text, beside the columns that are searched: so the state
is put together from texts, and nothing that did not change is written out again.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Self

from callmark.worlds.answering import Answer, Refused, checked, shown
from callmark.worlds.retail import arithmetic, tools
from callmark.worlds.retail.goods import make_products
from callmark.worlds.retail.orders import make_orders
from callmark.worlds.retail.payments import check_balance, method_of, paid, pay, refund, total
from callmark.worlds.retail.people import make_users

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
    """A store of its own, in memory. `copy` is cheap; copies know nothing of each other."""

    def __init__(self, seed: int = 7) -> None:
        self._db = _database()
        self._db.executescript(_SCHEMA)
        self._text: str | None = None
        _fill(self._db, Random(seed))

    def copy(self) -> Self:
        """Another store in the state that this one is in."""
        other = object.__new__(type(self))
        other._db = _database()
        self._db.backup(other._db)
        other._text = self.state_text()
        return other

    def close(self) -> None:
        self._db.close()

    def state(self) -> dict[str, dict[str, Row]]:
        """Every table, row by row, by its key. Of the items of an order it has ids and prices: the rest is the product's."""
        found: dict[str, dict[str, Row]] = json.loads(self.state_text())
        return found

    def state_text(self) -> str:
        """`state` as JSON. It costs nothing where nothing was written since it was last asked for."""
        if self._text is None:
            tables = []
            for table, key in TABLES.items():
                rows = ",".join([f'"{name}":{row}' for name, row in self._db.execute(f"select {key}, row from {table} order by {key}")])
                tables.append(f'"{table}":{{{rows}}}')
            self._text = f"{{{','.join(tables)}}}"
        return self._text

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Carry out a tool call. An unknown tool, wrong arguments and a refusal are errors that say why, and change nothing."""
        try:
            if name not in _TOOLS:
                raise Refused(f"there is no tool {shown(name)}, one of {', '.join(_TOOLS)} was expected")
            result = _METHODS[name](self, **checked(_TOOLS[name], arguments, may_be_empty=("address2",)))
        except Refused as refusal:
            return Answer(str(refusal), is_error=True)
        return Answer(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))

    def find_user_id_by_email(self, email: str) -> Row:
        """Case does not count."""
        found = self._db.execute("select user_id from users where email = ?", (email.strip().lower(),)).fetchone()
        if found is None:
            raise Refused(f"there is no customer with the email {shown(email)}")
        return {"user_id": found[0]}

    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> Row:  # noqa: A002 - the argument's name
        """Case does not count. The zip code is that of the default address."""
        wanted = (first_name.strip().casefold(), last_name.strip().casefold(), zip.strip())
        for user_id, text in self._db.execute("select user_id, row from users order by user_id"):
            user = json.loads(text)
            if wanted == (*(name.casefold() for name in user["name"].values()), user["address"]["zip"]):
                return {"user_id": user_id}
        raise Refused(f"there is no customer called {shown(f'{first_name} {last_name}')} with the zip code {shown(zip)}")

    def get_user_details(self, user_id: str) -> Row:
        """The customer and the numbers of all their orders."""
        orders = self._db.execute("select order_id from orders where user_id = ? order by order_id", (user_id,))
        return {"user_id": user_id, **self._user(user_id), "orders": [order_id for (order_id,) in orders]}

    def get_order_details(self, order_id: str) -> Row:
        """The order; its items with their names and options."""
        order = self._order(order_id)
        items = [{**self._item(item["item_id"]), "price": item["price"]} for item in order["items"]]
        for item in items:
            del item["available"]  # it says whether another one can be had, not this one
        return {"order_id": order_id, **order, "items": items}

    def get_product_details(self, product_id: str) -> Row:
        """The product type and all its variants, also those that are sold out."""
        return {"product_id": product_id, **self._row("products", product_id, "product", "6086499569")}

    def list_all_product_types(self) -> Row:
        """Product ids by name, in the order of the names."""
        products = self._db.execute("select product_id, row from products").fetchall()
        return dict(sorted((json.loads(row)["name"], product_id) for product_id, row in products))

    def cancel_pending_order(self, order_id: str, reason: str) -> Row:
        """Everything paid is refunded the way it was paid; what came from a gift card is on it again."""
        order = self._order_that_is("pending", order_id, "cancelled")
        user = self._user(order["user_id"])
        for method_id, amount in paid(order).items():
            refund(order, user, method_id, amount)
        return self._write(order_id, order | {"status": "cancelled", "cancel_reason": reason}, user)

    def modify_pending_order_address(self, order_id: str, **address: str) -> Row:
        """Only the order's address is changed, not the customer's own."""
        order = self._order_that_is("pending", order_id, "modified")
        return self._write(order_id, order | {"address": _in_order(address)})

    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Row:
        """The other method pays all of it, and what was paid is refunded."""
        order = self._order_that_is("pending", order_id, "modified")
        user = self._user(order["user_id"])
        before = paid(order)
        if payment_method_id in before:
            raise Refused(f"{order_id} is paid with {payment_method_id} already, another payment method was expected")
        pay(order, user, payment_method_id, total(before.values()))
        for method_id, amount in before.items():
            refund(order, user, method_id, amount)
        return self._write(order_id, order, user)

    def modify_pending_order_items(self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str) -> Row:
        """The new items stand where the old ones stood. The difference is paid or refunded at once."""
        order = self._order_that_is("pending", order_id, "modified")
        user = self._user(order["user_id"])
        difference = 0.0
        for item_id, new in self._replacements(order_id, order, item_ids, new_item_ids):
            place = next(place for place, item in enumerate(order["items"]) if item["item_id"] == item_id)
            difference = total((difference, new["price"], -order["items"][place]["price"]))
            order["items"][place] = new
        method_of(user, payment_method_id)
        if difference > 0:
            pay(order, user, payment_method_id, difference)
        elif difference < 0:
            refund(order, user, payment_method_id, -difference)
        return self._write(order_id, order | {"status": MODIFIED}, user)

    def modify_user_address(self, user_id: str, **address: str) -> Row:
        """The default address. The orders' addresses stay as they are."""
        user = self._user(user_id) | {"address": _in_order(address)}
        with self._db:
            self._save("users", user_id, user)
        return self.get_user_details(user_id)

    def return_delivered_order_items(self, order_id: str, item_ids: list[str], payment_method_id: str) -> Row:
        """Noted as asked for; the money goes back when the items have come back."""
        order = self._order_that_is("delivered", order_id, "returned")
        _check_ordered(order_id, order, item_ids)
        method = method_of(self._user(order["user_id"]), payment_method_id)
        if payment_method_id not in paid(order) and method["source"] != "gift_card":
            raise Refused(
                f"{payment_method_id} cannot take the refund: {order_id} was paid with {', '.join(paid(order))}, "
                "and a refund goes there or to a gift card"
            )
        asked = {"return_items": sorted(item_ids), "return_payment_method_id": payment_method_id}
        return self._write(order_id, order | {"status": RETURNED} | asked)

    def exchange_delivered_order_items(self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str) -> Row:
        """Noted as asked for; the difference is paid or refunded when the items have come back."""
        order = self._order_that_is("delivered", order_id, "exchanged")
        replacements = self._replacements(order_id, order, item_ids, new_item_ids)
        prices = {item["item_id"]: item["price"] for item in order["items"]}
        difference = total(new["price"] - prices[item_id] for item_id, new in replacements)
        check_balance(method_of(self._user(order["user_id"]), payment_method_id), difference)
        asked = {
            "exchange_items": [item_id for item_id, _ in replacements],
            "exchange_new_items": [new["item_id"] for _, new in replacements],
            "exchange_price_difference": difference,
            "exchange_payment_method_id": payment_method_id,
        }
        return self._write(order_id, order | {"status": EXCHANGED} | asked)

    def calculate(self, expression: str) -> str:
        return arithmetic.calculate(expression)

    def transfer_to_human_agents(self, summary: str) -> str:
        """The store keeps nothing of it."""
        return "Transfer successful"

    def _row(self, table: str, key: str, what: str, example: str) -> Row:
        found = self._db.execute(f"select row from {table} where {TABLES[table]} = ?", (key,)).fetchone()
        if found is None:
            raise Refused(f"there is no {what} {shown(key)}, an id such as {example} was expected")
        row: Row = json.loads(found[0])
        return row

    def _user(self, user_id: str) -> Row:
        return self._row("users", user_id, "customer", "sara_doe_496")

    def _order(self, order_id: str) -> Row:
        return self._row("orders", order_id, "order", "#W1234567")

    def _order_that_is(self, status: str, order_id: str, to_be: str) -> Row:
        order = self._order(order_id)
        if order["status"] != status:
            raise Refused(f"{order_id} is {order['status']}, only an order that is {status} can be {to_be}")
        return order

    def _item(self, item_id: str) -> Row:
        """A variant and the product that it is one of."""
        found = self._db.execute(
            "select product_id, row from items join products using (product_id) where item_id = ?", (item_id,)
        ).fetchone()
        if found is None:
            raise Refused(f"there is no item {shown(item_id)}, an id such as 1008292230 was expected")
        product = json.loads(found[1])
        variant = next(one for one in product["variants"] if one["item_id"] == item_id)
        return {"item_id": item_id, "product_id": found[0], "name": product["name"], **variant}

    def _replacements(self, order_id: str, order: Row, item_ids: list[str], new_item_ids: list[str]) -> list[tuple[str, Row]]:
        """What each item is replaced by, as an order has it; sorted, so that the same wish in another order leads to the same state."""
        _check_ordered(order_id, order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Refused(
                f"item_ids has {len(item_ids)} and new_item_ids has {len(new_item_ids)} entries, one new item for each was expected"
            )
        found = []
        for item_id, new_item_id in sorted(zip(item_ids, new_item_ids, strict=True)):
            old, new = self._item(item_id), self._item(new_item_id)
            if item_id == new_item_id:
                raise Refused(f"{item_id} would be replaced by itself, another item was expected")
            if old["product_id"] != new["product_id"]:
                raise Refused(f"{new_item_id} is a {new['name']} and {item_id} a {old['name']}, an item of the same product was expected")
            if not new["available"]:
                raise Refused(f"{new_item_id} ({', '.join(new['options'].values())}) is not available")
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
        self._text = None


_METHODS: dict[str, Callable[..., Any]] = {name: getattr(Store, name) for name in _TOOLS}


def _database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _row_text(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _in_order(address: dict[str, str]) -> dict[str, str]:
    """However it was given, so that the same address is the same bytes."""
    return {part: address[part] for part in tools.ADDRESS}


def _check_ordered(order_id: str, order: Row, item_ids: list[str]) -> None:
    ordered = Counter(item["item_id"] for item in order["items"])
    for item_id, number in Counter(item_ids).items():
        if number > ordered[item_id]:
            found = (
                f"is in {order_id} {ordered[item_id]} times and is asked for {number} times"
                if ordered[item_id]
                else f"is not in {order_id}"
            )
            raise Refused(f"the item {shown(item_id)} {found}, items of the order were expected: {', '.join(ordered.elements())}")


def _fill(db: sqlite3.Connection, chance: Random) -> None:
    users, products = make_users(chance), make_products(chance)
    orders = make_orders(chance, users, products)
    with db:
        db.executemany("insert into users values (?, ?, ?)", [(user.pop("user_id"), user["email"], _row_text(user)) for user in users])
        db.executemany(
            "insert into orders values (?, ?, ?)", [(order.pop("order_id"), order["user_id"], _row_text(order)) for order in orders]
        )
        for product in products:
            product_id = product.pop("product_id")
            db.execute("insert into products values (?, ?)", (product_id, _row_text(product)))
            db.executemany("insert into items values (?, ?)", [(variant["item_id"], product_id) for variant in product["variants"]])
