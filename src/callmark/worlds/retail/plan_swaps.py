"""Plans in which items are replaced by other variants: before they are sent (`order items`) or after they came (`exchange`)."""

from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.plan_draft import Draft, Wish, difference, named_once, swap_sum
from callmark.worlds.retail.records import Row, changes_between, offered, paid_with

SWAPS = {  # how often each is taken, among those of its kind
    "same price": 3,
    "costs more": 3,
    "costs less": 3,
    "two items": 2,
    "sold out, another taken": 2,
    "sold out, left": 1,
    "other product": 1,
    "too early or late": 1,
    "second thought": 2,
    "declined": 1,
    "gift card too small": 1,
    "once only": 1,
}
_STATUS = {"exchange": ("delivered",), "order items": ("pending",)}
_WRONG_STATUS = {"exchange": ("pending", "processed"), "order items": ("processed",)}
_TOOL = {"exchange": tools.EXCHANGE_ITEMS, "order items": tools.MODIFY_ORDER_ITEMS}
_PRICES = {"same price": "same", "costs more": "more", "costs less": "less"}


def swap(draft: Draft, kind: str, variant: str) -> bool:
    """A wish for another variant of something. False: there is no order that it could be about."""
    if variant == "too early or late":
        return _at_the_wrong_time(draft, kind)
    if variant == "other product":
        return _for_another_product(draft, kind)
    if variant == "gift card too small":
        return _with_too_small_a_gift_card(draft, kind)
    if variant.startswith("sold out"):
        return _sold_out(draft, kind, taken=variant.endswith("taken"))
    price = _PRICES.get(variant, "any")
    number = 2 if variant in ("two items", "once only") else 1
    least = 2 if variant == "second thought" else 1

    def fits(draft: Draft, order: Row) -> bool:
        items = [item for item in named_once(order) if len(draft.replacements(item, price=price)) >= least]
        return order["status"] in _STATUS[kind] and len(items) >= number

    order = draft.find(fits)
    if order is None:
        return False
    possible = [item for item in named_once(order) if len(draft.replacements(item, price=price)) >= least]
    chosen = [item | draft.replacements(item, price=price)[0] for item in draft.chance.sample(possible, number)]
    items = chosen[:1] if variant == "once only" else chosen
    others = [new for new in draft.replacements(items[0], price=price) if new["new_item_id"] != items[0]["new_item_id"]]
    later = others[0] if variant == "second thought" else None
    in_the_end = [items[0] | later] if later else items
    payment = _payment(draft, order, max(difference(items), difference(in_the_end)))
    wish = draft.wish(kind, order, items=items, payment=payment, outcome="declined" if variant == "declined" else "done")
    if later:
        wish["second_thought"] = {"wanted": later}
    if len(items) > 1:
        wish["works_out_sums"] = True
    draft.look_up(order, wish)
    for item in items:
        draft.see(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _sum(draft, wish, items)
    if later:
        _sum(draft, wish, in_the_end)
    if variant != "declined":
        _write(draft, kind, order, in_the_end, payment if difference(in_the_end) else draft.method(paid_with(order)))
    if variant == "once only":
        draft.wish(
            kind, order, items=chosen[1:], payment=payment, same_order=True, outcome="refused",
            because="asked once" if kind == "exchange" else "changed once",
        )  # fmt: skip
    return True


def first_swap(draft: Draft, order: Row) -> None:
    """Another variant at the same price of something in a pending order, so that nothing else can be changed in it afterwards."""
    item = next(item for item in named_once(order) if draft.replacements(item, price="same"))
    item = item | draft.replacements(item, price="same")[0]
    wish = draft.wish("order items", order, items=[item])
    wish["payment"] = wish["paid_with"]
    draft.look_up(order, wish)
    draft.see(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _write(draft, "order items", order, [item], wish["payment"])


def swapped_once(draft: Draft) -> Row | None:
    """An order of which something is swapped first; None where there is none that it can be done with."""
    order = draft.find(_can_be_swapped)
    if order is not None:
        first_swap(draft, order)
    return order


def _can_be_swapped(draft: Draft, order: Row) -> bool:
    """Whether `first_swap` is possible."""
    return order["status"] == "pending" and any(draft.replacements(item, price="same") for item in named_once(order))


def _at_the_wrong_time(draft: Draft, kind: str) -> bool:
    order = draft.find(
        lambda draft, order: order["status"] in _WRONG_STATUS[kind] and any(draft.replacements(item) for item in named_once(order))
    )
    if order is None:
        return False
    item = next(item for item in named_once(order) if draft.replacements(item))
    because = "not delivered" if kind == "exchange" else "shipped"
    wish = draft.wish(kind, order, items=[item | draft.replacements(item)[0]], outcome="refused", because=because)
    wish["payment"] = wish["paid_with"]
    draft.look_up(order, wish)
    return True


def _for_another_product(draft: Draft, kind: str) -> bool:
    order = draft.find(lambda draft, order: order["status"] in _STATUS[kind] and bool(named_once(order)))
    if order is None:
        return False
    item = draft.chance.choice(named_once(order))
    others = sorted(product["name"] for product in draft.records.products.values() if product["name"] != item["name"])
    singular = [name for name in others if not name.endswith("s")]
    wish = draft.wish(
        kind, order, items=[item], other_product=draft.chance.choice(singular), outcome="refused", because="other product"
    )  # fmt: skip
    wish["payment"] = wish["paid_with"]
    draft.look_up(order, wish)
    return True


def _sold_out(draft: Draft, kind: str, *, taken: bool) -> bool:
    order = draft.find(
        lambda draft, order: (
            order["status"] in _STATUS[kind] and any(draft.replacements(item, available=False) for item in named_once(order))
        )
    )
    if order is None:
        return False
    item = next(item for item in named_once(order) if draft.replacements(item, available=False))
    wanted = item | draft.replacements(item, available=False)[0]
    there = draft.chance.choice(offered(draft.records.products[item["product_id"]], item, wanted["new_options"]))
    alternative = {
        "new_item_id": there["item_id"],
        "new_options": there["options"],
        "new_price": there["price"],
        "changes": changes_between(item["options"], there["options"]),
    }
    payment = _payment(draft, order, difference([item | alternative]))
    fields: dict[str, Any] = {"alternative": alternative} if taken else {"outcome": "refused", "because": "sold out"}
    wish = draft.wish(kind, order, items=[wanted], payment=payment, **fields)
    draft.look_up(order, wish)
    draft.see(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    if taken:
        _sum(draft, wish, [item | alternative])
        _write(draft, kind, order, [item | alternative], payment)
    return True


def _with_too_small_a_gift_card(draft: Draft, kind: str) -> bool:
    def too_dear(draft: Draft, order: Row) -> list[Row]:
        cards = draft.methods("gift_card")
        if not cards or len(draft.user["payment_methods"]) < 2:
            return []
        return [
            item | new
            for item in named_once(order)
            for new in draft.replacements(item, price="more")
            if difference([item | new]) > cards[0]["balance"]
        ]

    order = draft.find(lambda draft, order: order["status"] in _STATUS[kind] and bool(too_dear(draft, order)))
    if order is None:
        return False
    item = draft.chance.choice(too_dear(draft, order))
    card, other = draft.methods("gift_card")[0], draft.chance.choice(draft.methods("credit_card", "paypal"))
    payment = draft.method(other["payment_method_id"])
    wish = draft.wish(kind, order, items=[item], payment=draft.method(card["payment_method_id"]), other_payment=payment)
    draft.look_up(order, wish)
    draft.see(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _sum(draft, wish, [item])
    _write(draft, kind, order, [item], payment)
    return True


def _payment(draft: Draft, order: Row, sum_: float) -> Row:
    """What pays the difference: what the order was paid with more often than not."""
    paid = paid_with(order)
    able = [one["payment_method_id"] for one in draft.user["payment_methods"] if draft.can_pay(one, sum_)]
    is_kept = sum_ == 0 or (paid in able and draft.chance.random() < 0.5)
    return draft.method(paid if is_kept else draft.chance.choice(able))


def _sum(draft: Draft, wish: Wish, items: list[Row]) -> None:
    if wish["works_out_sums"] and (expression := swap_sum(items)):
        draft.call(tools.CALCULATE, expression=expression)


def _write(draft: Draft, kind: str, order: Row, items: list[Row], payment: Row) -> None:
    draft.call(
        _TOOL[kind],
        order_id=order["order_id"],
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[item["new_item_id"] for item in items],
        payment_method_id=payment["payment_method_id"],
    )
