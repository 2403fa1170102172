"""Plans in which an order is cancelled, sent elsewhere, paid otherwise or sent back, and in which somebody has moved."""

import re
from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.orders import REASONS
from callmark.worlds.retail.payments import paid, total
from callmark.worlds.retail.people import make_address
from callmark.worlds.retail.plan_draft import Draft, Wish, items_sum, named_once
from callmark.worlds.retail.plan_swaps import swapped_once
from callmark.worlds.retail.records import Row

NO_LONGER_NEEDED, BY_MISTAKE = REASONS
CANCELS = {
    "no longer needed": 4,
    "ordered by mistake": 4,
    "shipped": 1,
    "delivered": 1,
    "cancelled": 1,
    "other reason": 1,
    "part of an order": 1,
    "declined": 1,
    "once changed": 1,
}
ORDER_ADDRESSES = {"changed": 6, "shipped": 1, "delivered": 1, "second thought": 2, "declined": 1, "moved": 2, "once changed": 1}
DEFAULT_ADDRESSES = {"changed": 4, "second thought": 1, "declined": 1}
RETURNS = {
    "one item": 3,
    "several items": 2,
    "whole order": 2,
    "to a gift card": 2,
    "to where it cannot go": 1,
    "not delivered": 1,
    "second thought": 2,
    "declined": 1,
    "once only": 1,
}
PAYMENTS = {
    "changed": 6,
    "gift card too small, another taken": 2,
    "gift card too small, left": 1,
    "same method": 1,
    "shipped": 1,
    "declined": 1,
}
OTHER_REASONS = (
    "I found it cheaper somewhere else",
    "it takes too long to arrive",
    "I forgot to use my discount code",
    "the price dropped after I ordered",
    "I want to order it again with a friend's voucher",
)
_STATUS = {"shipped": "processed", "delivered": "delivered", "cancelled": "cancelled"}
_ELSEWHERE = ("credit_card", "paypal")


def cancel(draft: Draft, variant: str) -> bool:
    """A wish to cancel an order, or a part of it."""
    if variant == "once changed":
        order = swapped_once(draft)
        if order is None:
            return False
        draft.wish("cancel", order, same_order=True, reason=NO_LONGER_NEEDED, outcome="refused", because="changed once")
        return True
    status = _STATUS.get(variant, "pending")
    order = draft.find(
        lambda draft, order: (
            order["status"] == status and (variant != "part of an order" or len(order["items"]) > 1 <= len(named_once(order)))
        )
    )
    if order is None:
        return False
    reason = variant if variant in REASONS else draft.chance.choice(OTHER_REASONS if variant == "other reason" else REASONS)
    fields: dict[str, Any] = {"reason": reason}
    if variant == "part of an order":
        fields["items"] = [draft.chance.choice(named_once(order))]
    if variant == "declined":
        fields["outcome"] = "declined"
    elif variant not in REASONS:
        fields |= {"outcome": "refused", "because": variant}
    wish = draft.wish("cancel", order, **fields)
    draft.look_up(order, wish)
    if variant in REASONS:
        draft.call(tools.CANCEL_ORDER, order_id=order["order_id"], reason=reason)
    return True


def order_address(draft: Draft, variant: str) -> bool:
    """A wish to have an order sent elsewhere."""
    if variant == "once changed":
        order = swapped_once(draft)
        if order is None:
            return False
        address = make_address(draft.chance)
        draft.wish("order address", order, same_order=True, address=address, outcome="refused", because="changed once")
        return True
    status = _STATUS.get(variant, "pending")
    order = draft.find(lambda draft, order: order["status"] == status)
    if order is None:
        return False
    wish = _address_wish(draft, "order address", variant, order)
    draft.look_up(order, wish)
    if wish["outcome"] == "done":
        draft.call(tools.MODIFY_ORDER_ADDRESS, order_id=order["order_id"], **_in_the_end(wish))
    if variant == "moved":
        draft.wish("default address", address=wish["address"], same_address=True)
        draft.call(tools.MODIFY_USER_ADDRESS, user_id=draft.user["user_id"], **wish["address"])
    return True


def default_address(draft: Draft, variant: str) -> bool:
    """A wish for another address of the account. Where it is the first, anybody may have it."""
    if not draft.is_begun and draft.find(lambda draft, order: True) is None:
        return False
    wish = _address_wish(draft, "default address", variant)
    if wish["outcome"] == "done":
        draft.call(tools.MODIFY_USER_ADDRESS, user_id=draft.user["user_id"], **_in_the_end(wish))
    return True


def order_payment(draft: Draft, variant: str) -> bool:
    """A wish to pay an order in another way."""

    def ways(draft: Draft, order: Row) -> list[tuple[str, str]]:
        """What they name first, and what they name when that cannot be done."""
        now, price = next(iter(paid(order))), total(paid(order).values())
        others = [one for one in draft.user["payment_methods"] if one["payment_method_id"] != now]
        able = [one["payment_method_id"] for one in others if draft.can_pay(one, price)]
        if variant == "same method":
            return [(now, "")]
        if variant.startswith("gift card"):
            small = [one["payment_method_id"] for one in others if one["source"] == "gift_card" and one["balance"] < price]
            return [(card, other) for card in small for other in (able if variant.endswith("taken") else [""])]
        return [(one, "") for one in able]

    status = _STATUS.get(variant, "pending")
    order = draft.find(lambda draft, order: order["status"] == status and bool(ways(draft, order)))
    if order is None:
        return False
    first, then = draft.chance.choice(ways(draft, order))
    fields: dict[str, Any] = {"payment": draft.method(first), "other_payment": draft.method(then) if then else None}
    because = {"same method": "same method", "shipped": "shipped", "gift card too small, left": "gift card"}.get(variant, "")
    outcome = "declined" if variant == "declined" else "refused" if because else "done"
    wish = draft.wish("order payment", order, **fields, outcome=outcome, because=because)
    if variant == "same method":
        wish["paid_with"] = None  # they do not know that it is the same
    draft.look_up(order, wish)
    if outcome == "done":
        draft.call(tools.MODIFY_ORDER_PAYMENT, order_id=order["order_id"], payment_method_id=then or first)
    return True


def send_back(draft: Draft, variant: str) -> bool:
    """A wish to return items."""
    number = {"several items": 2, "second thought": 2, "once only": 2}.get(variant, 1)
    wrong_time = variant == "not delivered"

    def fits(draft: Draft, order: Row) -> bool:
        status_fits = order["status"] in (("pending", "processed") if wrong_time else ("delivered",))
        if variant == "whole order":
            return status_fits and len(order["items"]) > 1
        return status_fits and len(named_once(order)) >= number and bool(_refunds(draft, order, variant))

    order = draft.find(fits)
    if order is None:
        return False
    chosen = order["items"] if variant == "whole order" else draft.chance.sample(named_once(order), number)
    items = chosen[:1] if variant == "once only" else chosen
    first, then = draft.chance.choice(_refunds(draft, order, variant))
    fields: dict[str, Any] = {"payment": draft.method(first), "other_payment": draft.method(then) if then else None}
    fields |= {"all_items": variant == "whole order"}
    in_the_end = items
    if variant == "second thought":
        if draft.chance.random() < 0.5:
            in_the_end, fields["second_thought"] = items[:1], {"items": items[:1], "left_out": [items[1]["name"]], "added": []}
        else:
            items, fields["second_thought"] = items[:1], {"items": items, "left_out": [], "added": [items[1]["name"]]}
    if wrong_time:
        fields |= {"outcome": "refused", "because": "not delivered"}
    elif variant == "declined":
        fields["outcome"] = "declined"
    wish = draft.wish("return", order, items=items, **fields)
    draft.look_up(order, wish)
    if wrong_time:
        return True
    _sum(draft, items)
    if in_the_end != items:
        _sum(draft, in_the_end)
    if variant != "declined":
        ids = [item["item_id"] for item in in_the_end]
        draft.call(tools.RETURN_ITEMS, order_id=order["order_id"], item_ids=ids, payment_method_id=then or first)
    if variant == "once only":
        draft.wish("return", order, items=chosen[1:], payment=draft.method(first), same_order=True, outcome="refused", because="asked once")
    return True


def _refunds(draft: Draft, order: Row, variant: str) -> list[tuple[str, str]]:
    """Where the refund goes: what they name first, and what they name when it cannot go there."""
    original = next(iter(paid(order)))
    cards = [one["payment_method_id"] for one in draft.methods("gift_card") if one["payment_method_id"] != original]
    if variant == "to a gift card":
        return [(card, "") for card in cards]
    if variant == "to where it cannot go":
        elsewhere = [one["payment_method_id"] for one in draft.methods(*_ELSEWHERE) if one["payment_method_id"] != original]
        return [(one, other) for one in elsewhere for other in (original, *cards)]
    return [(original, "")]


def _sum(draft: Draft, items: list[Row]) -> None:
    if expression := items_sum(items):
        draft.call(tools.CALCULATE, expression=expression)


def _address_wish(draft: Draft, kind: str, variant: str, order: Row | None = None) -> Wish:
    address = make_address(draft.chance)
    fields: dict[str, Any] = {"address": address}
    if variant == "second thought":
        fields["second_thought"] = {"address": _corrected(address)}
    elif variant == "declined":
        fields["outcome"] = "declined"
    elif variant in _STATUS:
        fields |= {"outcome": "refused", "because": variant}
    return draft.wish(kind, order, **fields)


def _corrected(address: Row) -> Row:
    """The address with another apartment, or house number where there is none; `part` is what differs."""
    part = "address2" if address["address2"] else "address1"
    return address | {part: re.sub(r"\d+", lambda found: str(int(found[0]) + 2), address[part], count=1), "part": part}


def _in_the_end(wish: Wish) -> Row:
    address = wish["second_thought"].get("address", wish["address"])
    return {name: value for name, value in address.items() if name != "part"}
