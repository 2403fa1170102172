"""A plan under construction: the user, their goals, and the calls that a correct agent makes for them."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from callmark import Call
from callmark.worlds.retail import tools
from callmark.worlds.retail.store.payments import sum_amounts
from callmark.worlds.retail.store.records import Records, Row, changed_options, last_payment_method_id

MAX_ORDERS_SEARCHED = 4  # for a user who does not know the order number

Goal = dict[str, Any]
OrderPredicate = Callable[["PlanDraft", Row], bool]

_EMPTY_GOAL: Goal = {
    "kind": "",
    "outcome": "done",
    "refusal_reason": "",
    "refusal_reaction": "accepts",
    "after_refusal": False,
    "volunteered_slots": [],
    "order_id": "",
    "knows_order_id": True,
    "same_order": False,
    "wrong_order_id": "",
    "described_by_item": "",
    "items": [],
    "all_items": False,
    "other_product": "",
    "alternative": None,
    "payment": None,
    "original_payment": None,
    "other_payment": None,
    "reason": "",
    "address": None,
    "same_address": False,
    "second_thought": {},
    "question": "",
    "product": "",
    "requested_options": {},
    "topic": "",
    "order_owner": "",
    "uses_calculator": False,
}


class PlanDraft:
    """A plan under construction. The first goal takes the first suitable order; `rng` makes the other choices."""

    def __init__(self, records: Records, rng: Random, orders: Sequence[Row]) -> None:
        self.records = records
        self.rng = rng
        self.user: Row = {}
        self.goals: list[Goal] = []
        self.calls: list[Call] = []
        self.branches: list[str] = []
        self._orders = orders
        self._used_orders: list[str] = []  # of earlier goals
        self._looked_up: list[str] = []  # orders, products and lists that were looked up

    @property
    def has_goals(self) -> bool:
        """Return whether the plan has a goal, and so a user."""
        return bool(self.goals)

    def find_order(self, is_suitable: OrderPredicate) -> Row | None:
        """Return a suitable order, or None: of any user for the first goal, else an unused one of the same user.

        The owner of the first order becomes the plan's user.
        """
        for order in self._orders:
            if self.user and (order["user_id"] != self.user["user_id"] or order["order_id"] in self._used_orders):
                continue
            before, self.user = self.user, self.records.users[order["user_id"]]
            if is_suitable(self, order):
                self._used_orders.append(order["order_id"])
                return order
            self.user = before
        return None

    def add_goal(self, kind: str, order: Row | None = None, **fields: Any) -> Goal:
        """Add a goal with the details of its order."""
        goal = {**_EMPTY_GOAL, "kind": kind, "uses_calculator": self.rng.random() < 0.5}
        if order is not None:
            goal |= {"order_id": order["order_id"], "original_payment": self.payment_method(last_payment_method_id(order))}
        goal |= fields
        if goal["outcome"] == "refused" and self.rng.random() < 0.2:
            goal["refusal_reaction"] = "asks why"
        self.goals.append(goal)
        return goal

    def look_up_order(self, order: Row, goal: Goal) -> None:
        """Add the calls that look up the order, unless it was looked up before.

        For a user who does not know its number, several orders are searched.
        """
        order_id, own_orders = order["order_id"], self.user["orders"]
        if order_id in self._looked_up:
            return
        names = [item["name"] for item in order["items"]]
        other_names = [item["name"] for other_id in own_orders if other_id != order_id for item in self.records.orders[other_id]["items"]]
        unique_names = [name for name in names if name not in other_names]
        if unique_names and 1 < len(own_orders) <= MAX_ORDERS_SEARCHED and self.rng.random() < 0.4:
            goal_names = [item["name"] for item in goal["items"] if item["name"] in unique_names]
            goal |= {"knows_order_id": False, "described_by_item": (goal_names or unique_names)[0]}
            self.branches.append("order: number not known")
            order_ids = [other_id for other_id in own_orders[: own_orders.index(order_id) + 1] if other_id not in self._looked_up]
        else:
            order_ids = [order_id]
            if len(own_orders) > 1 and self.rng.random() < 0.08:
                goal["wrong_order_id"] = self._mistype_order_id(order_id)
                self.branches.append("order: wrong number first")
        for searched_id in order_ids:
            self.look_up(tools.GET_ORDER, searched_id, order_id=searched_id)

    def look_up(self, tool: str, key: str, **arguments: Any) -> None:
        """Add a lookup call, unless it was made before."""
        if key not in self._looked_up:
            self._looked_up.append(key)
            self.add_call(tool, **arguments)

    def add_call(self, tool: str, **arguments: Any) -> None:
        """Add a call to the expected ones."""
        self.calls.append(Call(tool, arguments))

    def payment_method(self, payment_method_id: str) -> Row:
        """Return a payment method of the user in the form of a plan."""
        method = next(entry for entry in self.user["payment_methods"] if entry["payment_method_id"] == payment_method_id)
        return {
            "payment_method_id": payment_method_id,
            "source": method["source"],
            "brand": method.get("brand", "").capitalize(),
            "last_four": method.get("last_four", ""),
        }

    def payment_methods(self, *sources: str) -> list[Row]:
        """Return the user's payment methods from these sources."""
        return [entry for entry in self.user["payment_methods"] if entry["source"] in sources]

    def can_pay(self, method: Row, amount: float) -> bool:
        """Return whether a method can pay an amount. Gift cards pay for the first goal only, because their balance may change later."""
        return bool(method["source"] != "gift_card" or (not self.has_goals and method["balance"] >= amount))

    def replacement_variants(self, item: Row, *, price: str = "any", available: bool = True) -> list[Row]:
        """Return variants that can replace an item, fewest changes first. `price`: same, more, less or any."""
        variants = self.records.products[item["product_id"]]["variants"]
        replacements = [
            {
                "new_item_id": variant["item_id"],
                "new_options": variant["options"],
                "new_price": variant["price"],
                "changes": changed_options(item["options"], variant["options"]),
            }
            for variant in variants
            if variant["item_id"] != item["item_id"]
            and variant["available"] == available
            and price in ("any", _price_relation(item, variant))
        ]
        self.rng.shuffle(replacements)
        return sorted(replacements, key=lambda entry: len(entry["changes"]))

    def _mistype_order_id(self, order_id: str) -> str:
        """Return the number with two digits swapped or one digit changed; never the number of another order."""
        digits = order_id[2:]
        for position in (3, 2, 4, 1, 5):
            swapped = f"#W{digits[:position]}{digits[position + 1]}{digits[position]}{digits[position + 2 :]}"
            if swapped not in self.records.orders and swapped != order_id:
                return swapped
        return f"{order_id[:-1]}{(int(order_id[-1]) + 1) % 10}"


def price_difference(items: Sequence[Row]) -> float:
    """Return what the new items cost more than the old ones; negative if they are cheaper."""
    return sum_amounts([*(item["new_price"] for item in items), *(-item["price"] for item in items)])


def difference_expression(items: Sequence[Row]) -> str:
    """Return the arithmetic expression of the difference, larger side first; "" if there is none."""
    sides = [_sum_expression(items, "new_price"), _sum_expression(items, "price")]
    extra = price_difference(items)
    return " - ".join(sides if extra > 0 else reversed(sides)) if extra else ""


def total_expression(items: Sequence[Row]) -> str:
    """Return the arithmetic expression of the items' total; "" for a single item."""
    return " + ".join(f"{item['price']:.2f}" for item in items) if len(items) > 1 else ""


def unambiguous_items(order: Row) -> list[Row]:
    """Return the items of an order that can be named by product name alone."""
    names = [item["name"] for item in order["items"]]
    return [item for item in order["items"] if names.count(item["name"]) == 1]


def _price_relation(item: Row, variant: Row) -> str:
    return "same" if variant["price"] == item["price"] else "more" if variant["price"] > item["price"] else "less"


def _sum_expression(items: Sequence[Row], key: str) -> str:
    prices = " + ".join(f"{item[key]:.2f}" for item in items)
    return f"({prices})" if len(items) > 1 else prices
