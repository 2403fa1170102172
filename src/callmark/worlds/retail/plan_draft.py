"""A plan while it is made: whom it is about, what they want, one wish after the other, and the calls that a good agent makes for it."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from callmark.types import Call
from callmark.worlds.retail import tools
from callmark.worlds.retail.payments import total
from callmark.worlds.retail.records import Records, Row, changes_between, paid_with

MOST_LOOKED_THROUGH = 4  # orders, where somebody does not know the number of theirs

Wish = dict[str, Any]
Fits = Callable[["Draft", Row], bool]

_NOTHING: Wish = {
    "kind": "",
    "outcome": "done",
    "because": "",
    "takes_refusal": "accepts",
    "after_refusal": False,
    "tells": [],
    "order_id": "",
    "knows_order": True,
    "same_order": False,
    "wrong_order_id": "",
    "described_by": "",
    "items": [],
    "all_items": False,
    "other_product": "",
    "alternative": None,
    "payment": None,
    "paid_with": None,
    "other_payment": None,
    "reason": "",
    "address": None,
    "same_address": False,
    "second_thought": {},
    "question": "",
    "product": "",
    "wanted_options": {},
    "topic": "",
    "whose": "",
    "works_out_sums": False,
}


class Draft:
    """Chance decides what is left open; `orders` are looked at in turn for one that fits the first wish."""

    def __init__(self, records: Records, chance: Random, orders: Sequence[Row]) -> None:
        self.records = records
        self.chance = chance
        self.user: Row = {}
        self.wishes: list[Wish] = []
        self.calls: list[Call] = []
        self.branches: list[str] = []
        self._orders = orders
        self._touched: list[str] = []  # orders that a wish was about
        self._seen: list[str] = []  # orders, products and lists that were looked up

    @property
    def is_begun(self) -> bool:
        """Whether there is a wish, and so a customer, already."""
        return bool(self.wishes)

    def find(self, fits: Fits) -> Row | None:
        """An order that fits: of anybody for the first wish, else one of the same customer that nothing was said about yet. The customer of
        the order that was found first is the plan's.
        """
        for order in self._orders:
            if self.user and (order["user_id"] != self.user["user_id"] or order["order_id"] in self._touched):
                continue
            before, self.user = self.user, self.records.users[order["user_id"]]
            if fits(self, order):
                self._touched.append(order["order_id"])
                return order
            self.user = before
        return None

    def wish(self, kind: str, order: Row | None = None, **fields: Any) -> Wish:
        """One more wish, with everything that there is to say about the order."""
        made = {**_NOTHING, "kind": kind, "works_out_sums": self.chance.random() < 0.5}
        if order is not None:
            made |= {"order_id": order["order_id"], "paid_with": self.method(paid_with(order))}
        made |= fields
        if made["outcome"] == "refused" and self.chance.random() < 0.2:
            made["takes_refusal"] = "asks why"
        self.wishes.append(made)
        return made

    def look_up(self, order: Row, wish: Wish) -> None:
        """The calls that it takes to see the order; none where it was seen. Who does not know the number has several looked at."""
        order_id, theirs = order["order_id"], self.user["orders"]
        if order_id in self._seen:
            return
        names = [item["name"] for item in order["items"]]
        others = [item["name"] for other in theirs if other != order_id for item in self.records.orders[other]["items"]]
        telling = [name for name in names if name not in others]
        if telling and 1 < len(theirs) <= MOST_LOOKED_THROUGH and self.chance.random() < 0.4:
            of_the_wish = [item["name"] for item in wish["items"] if item["name"] in telling]
            wish |= {"knows_order": False, "described_by": (of_the_wish or telling)[0]}
            self.branches.append("order: number not known")
            looked_at = [other for other in theirs[: theirs.index(order_id) + 1] if other not in self._seen]
        else:
            looked_at = [order_id]
            if len(theirs) > 1 and self.chance.random() < 0.08:
                wish["wrong_order_id"] = self._mistaken(order_id)
                self.branches.append("order: wrong number first")
        for one in looked_at:
            self.see(tools.GET_ORDER, one, order_id=one)

    def see(self, tool: str, what: str, **arguments: Any) -> None:
        """A look at something, unless it was seen before."""
        if what not in self._seen:
            self._seen.append(what)
            self.call(tool, **arguments)

    def call(self, tool: str, **arguments: Any) -> None:
        self.calls.append(Call(tool, arguments))

    def method(self, payment_method_id: str) -> Row:
        """A payment method of the customer, as plans have them."""
        found = next(one for one in self.user["payment_methods"] if one["payment_method_id"] == payment_method_id)
        return {
            "payment_method_id": payment_method_id,
            "source": found["source"],
            "brand": found.get("brand", "").capitalize(),
            "last_four": found.get("last_four", ""),
        }

    def methods(self, *sources: str) -> list[Row]:
        """The customer's payment methods of these sources."""
        return [one for one in self.user["payment_methods"] if one["source"] in sources]

    def can_pay(self, method: Row, sum_: float) -> bool:
        """A gift card pays in the first wish only: later its balance may be another."""
        return bool(method["source"] != "gift_card" or (not self.is_begun and method["balance"] >= sum_))

    def replacements(self, item: Row, *, price: str = "any", available: bool = True) -> list[Row]:
        """Variants in place of an item, those that differ least first, as a wish has them. `price`: same, more, less or any."""
        variants = self.records.products[item["product_id"]]["variants"]
        fitting = [
            {
                "new_item_id": variant["item_id"],
                "new_options": variant["options"],
                "new_price": variant["price"],
                "changes": changes_between(item["options"], variant["options"]),
            }
            for variant in variants
            if variant["item_id"] != item["item_id"] and variant["available"] == available and price in ("any", _dearer(item, variant))
        ]
        self.chance.shuffle(fitting)
        return sorted(fitting, key=lambda one: len(one["changes"]))

    def _mistaken(self, order_id: str) -> str:
        """The number with two digits mixed up, or one off; never another order's."""
        digits = order_id[2:]
        for at in (3, 2, 4, 1, 5):
            mixed = f"#W{digits[:at]}{digits[at + 1]}{digits[at]}{digits[at + 2 :]}"
            if mixed not in self.records.orders and mixed != order_id:
                return mixed
        return f"{order_id[:-1]}{(int(order_id[-1]) + 1) % 10}"


def difference(items: Sequence[Row]) -> float:
    """What the new items cost beyond the old ones; less than nothing where they are cheaper."""
    return total([*(item["new_price"] for item in items), *(-item["price"] for item in items)])


def swap_sum(items: Sequence[Row]) -> str:
    """The sum that tells the difference, larger side first; an empty text where there is none."""
    sides = [_added(items, "new_price"), _added(items, "price")]
    more = difference(items)
    return " - ".join(sides if more > 0 else reversed(sides)) if more else ""


def items_sum(items: Sequence[Row]) -> str:
    """The sum that tells what items cost together; an empty text for one item, whose price is known."""
    return " + ".join(f"{item['price']:.2f}" for item in items) if len(items) > 1 else ""


def named_once(order: Row) -> list[Row]:
    """The items of an order that its customer can call by name alone."""
    names = [item["name"] for item in order["items"]]
    return [item for item in order["items"] if names.count(item["name"]) == 1]


def _dearer(item: Row, variant: Row) -> str:
    return "same" if variant["price"] == item["price"] else "more" if variant["price"] > item["price"] else "less"


def _added(items: Sequence[Row], key: str) -> str:
    prices = " + ".join(f"{item[key]:.2f}" for item in items)
    return f"({prices})" if len(items) > 1 else prices
