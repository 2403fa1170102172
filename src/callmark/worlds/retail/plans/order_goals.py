"""Goals that cancel or return an order, change its address or payment, or change the default address."""

import re
from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.plans.draft import Goal, PlanDraft, total_expression, unambiguous_items
from callmark.worlds.retail.plans.swap_goals import add_order_after_swap
from callmark.worlds.retail.store.customers import make_address
from callmark.worlds.retail.store.orders import REASONS
from callmark.worlds.retail.store.payments import net_payments, sum_amounts
from callmark.worlds.retail.store.records import Row

NO_LONGER_NEEDED, BY_MISTAKE = REASONS
CANCELLATION_WEIGHTS = {
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
ORDER_ADDRESS_WEIGHTS = {"changed": 6, "shipped": 1, "delivered": 1, "second thought": 2, "declined": 1, "moved": 2, "once changed": 1}
DEFAULT_ADDRESS_WEIGHTS = {"changed": 4, "second thought": 1, "declined": 1}
RETURN_WEIGHTS = {
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
PAYMENT_WEIGHTS = {
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
_NON_GIFT_CARD_SOURCES = ("credit_card", "paypal")


def add_cancellation(draft: PlanDraft, variant: str) -> bool:
    """Add a goal to cancel an order, or a part of it. Return False if no order is suitable."""
    if variant == "once changed":
        order = add_order_after_swap(draft)
        if order is None:
            return False
        draft.add_goal("cancel", order, same_order=True, reason=NO_LONGER_NEEDED, outcome="refused", refusal_reason="changed once")
        return True
    status = _STATUS.get(variant, "pending")
    order = draft.find_order(
        lambda draft, order: (
            order["status"] == status and (variant != "part of an order" or len(order["items"]) > 1 <= len(unambiguous_items(order)))
        )
    )
    if order is None:
        return False
    reason = variant if variant in REASONS else draft.rng.choice(OTHER_REASONS if variant == "other reason" else REASONS)
    fields: dict[str, Any] = {"reason": reason}
    if variant == "part of an order":
        fields["items"] = [draft.rng.choice(unambiguous_items(order))]
    if variant == "declined":
        fields["outcome"] = "declined"
    elif variant not in REASONS:
        fields |= {"outcome": "refused", "refusal_reason": variant}
    goal = draft.add_goal("cancel", order, **fields)
    draft.look_up_order(order, goal)
    if variant in REASONS:
        draft.add_call(tools.CANCEL_ORDER, order_id=order["order_id"], reason=reason)
    return True


def add_order_address_change(draft: PlanDraft, variant: str) -> bool:
    """Add a goal to change an order's address. Return False if no order is suitable."""
    if variant == "once changed":
        order = add_order_after_swap(draft)
        if order is None:
            return False
        address = make_address(draft.rng)
        draft.add_goal("order address", order, same_order=True, address=address, outcome="refused", refusal_reason="changed once")
        return True
    status = _STATUS.get(variant, "pending")
    order = draft.find_order(lambda draft, order: order["status"] == status)
    if order is None:
        return False
    goal = _add_address_goal(draft, "order address", variant, order)
    draft.look_up_order(order, goal)
    if goal["outcome"] == "done":
        draft.add_call(tools.MODIFY_ORDER_ADDRESS, order_id=order["order_id"], **_final_address(goal))
    if variant == "moved":
        draft.add_goal("default address", address=goal["address"], same_address=True)
        draft.add_call(tools.MODIFY_USER_ADDRESS, user_id=draft.user["user_id"], **goal["address"])
    return True


def add_default_address_change(draft: PlanDraft, variant: str) -> bool:
    """Add a goal to change the default address; as a first goal, for any user."""
    if not draft.has_goals and draft.find_order(lambda draft, order: True) is None:
        return False
    goal = _add_address_goal(draft, "default address", variant)
    if goal["outcome"] == "done":
        draft.add_call(tools.MODIFY_USER_ADDRESS, user_id=draft.user["user_id"], **_final_address(goal))
    return True


def add_payment_change(draft: PlanDraft, variant: str) -> bool:
    """Add a goal to change an order's payment method. Return False if no order is suitable."""

    def payment_options(draft: PlanDraft, order: Row) -> list[tuple[str, str]]:
        """Return pairs of the method named first and the one named if that is not possible."""
        current_id, price = next(iter(net_payments(order))), sum_amounts(net_payments(order).values())
        other_methods = [method for method in draft.user["payment_methods"] if method["payment_method_id"] != current_id]
        payable_ids = [method["payment_method_id"] for method in other_methods if draft.can_pay(method, price)]
        if variant == "same method":
            return [(current_id, "")]
        if variant.startswith("gift card"):
            low_cards = [
                method["payment_method_id"] for method in other_methods if method["source"] == "gift_card" and method["balance"] < price
            ]
            return [(card, fallback_id) for card in low_cards for fallback_id in (payable_ids if variant.endswith("taken") else [""])]
        return [(method_id, "") for method_id in payable_ids]

    status = _STATUS.get(variant, "pending")
    order = draft.find_order(lambda draft, order: order["status"] == status and bool(payment_options(draft, order)))
    if order is None:
        return False
    first, fallback = draft.rng.choice(payment_options(draft, order))
    fields: dict[str, Any] = {"payment": draft.payment_method(first), "other_payment": draft.payment_method(fallback) if fallback else None}
    refusal_reason = {"same method": "same method", "shipped": "shipped", "gift card too small, left": "gift card"}.get(variant, "")
    outcome = "declined" if variant == "declined" else "refused" if refusal_reason else "done"
    goal = draft.add_goal("order payment", order, **fields, outcome=outcome, refusal_reason=refusal_reason)
    if variant == "same method":
        goal["original_payment"] = None  # the user does not know that it is the same
    draft.look_up_order(order, goal)
    if outcome == "done":
        draft.add_call(tools.MODIFY_ORDER_PAYMENT, order_id=order["order_id"], payment_method_id=fallback or first)
    return True


def add_return(draft: PlanDraft, variant: str) -> bool:
    """Add a goal to return items. Return False if no order is suitable."""
    item_count = {"several items": 2, "second thought": 2, "once only": 2}.get(variant, 1)
    is_undelivered = variant == "not delivered"

    def is_suitable(draft: PlanDraft, order: Row) -> bool:
        status_fits = order["status"] in (("pending", "processed") if is_undelivered else ("delivered",))
        if variant == "whole order":
            return status_fits and len(order["items"]) > 1
        return status_fits and len(unambiguous_items(order)) >= item_count and bool(_refund_options(draft, order, variant))

    order = draft.find_order(is_suitable)
    if order is None:
        return False
    chosen = order["items"] if variant == "whole order" else draft.rng.sample(unambiguous_items(order), item_count)
    items = chosen[:1] if variant == "once only" else chosen
    first, fallback = draft.rng.choice(_refund_options(draft, order, variant))
    fields: dict[str, Any] = {"payment": draft.payment_method(first), "other_payment": draft.payment_method(fallback) if fallback else None}
    fields |= {"all_items": variant == "whole order"}
    final_items = items
    if variant == "second thought":
        if draft.rng.random() < 0.5:
            final_items, fields["second_thought"] = items[:1], {"items": items[:1], "left_out": [items[1]["name"]], "added": []}
        else:
            items, fields["second_thought"] = items[:1], {"items": items, "left_out": [], "added": [items[1]["name"]]}
    if is_undelivered:
        fields |= {"outcome": "refused", "refusal_reason": "not delivered"}
    elif variant == "declined":
        fields["outcome"] = "declined"
    goal = draft.add_goal("return", order, items=items, **fields)
    draft.look_up_order(order, goal)
    if is_undelivered:
        return True
    _add_calculation(draft, items)
    if final_items != items:
        _add_calculation(draft, final_items)
    if variant != "declined":
        ids = [item["item_id"] for item in final_items]
        draft.add_call(tools.RETURN_ITEMS, order_id=order["order_id"], item_ids=ids, payment_method_id=fallback or first)
    if variant == "once only":
        draft.add_goal(
            "return",
            order,
            items=chosen[1:],
            payment=draft.payment_method(first),
            same_order=True,
            outcome="refused",
            refusal_reason="asked once",
        )
    return True


def _refund_options(draft: PlanDraft, order: Row, variant: str) -> list[tuple[str, str]]:
    """Return pairs of the refund method named first and the one named if that is not possible."""
    original = next(iter(net_payments(order)))
    cards = [method["payment_method_id"] for method in draft.payment_methods("gift_card") if method["payment_method_id"] != original]
    if variant == "to a gift card":
        return [(card, "") for card in cards]
    if variant == "to where it cannot go":
        other_ids = [
            method["payment_method_id"]
            for method in draft.payment_methods(*_NON_GIFT_CARD_SOURCES)
            if method["payment_method_id"] != original
        ]
        return [(method_id, fallback_id) for method_id in other_ids for fallback_id in (original, *cards)]
    return [(original, "")]


def _add_calculation(draft: PlanDraft, items: list[Row]) -> None:
    if expression := total_expression(items):
        draft.add_call(tools.CALCULATE, expression=expression)


def _add_address_goal(draft: PlanDraft, kind: str, variant: str, order: Row | None = None) -> Goal:
    address = make_address(draft.rng)
    fields: dict[str, Any] = {"address": address}
    if variant == "second thought":
        fields["second_thought"] = {"address": _correct_address(address)}
    elif variant == "declined":
        fields["outcome"] = "declined"
    elif variant in _STATUS:
        fields |= {"outcome": "refused", "refusal_reason": variant}
    return draft.add_goal(kind, order, **fields)


def _correct_address(address: Row) -> Row:
    """Return the address with another apartment, or another house number if there is none; `part` names the difference."""
    part = "address2" if address["address2"] else "address1"
    return address | {part: re.sub(r"\d+", lambda match: str(int(match[0]) + 2), address[part], count=1), "part": part}


def _final_address(goal: Goal) -> Row:
    address = goal["second_thought"].get("address", goal["address"])
    return {name: value for name, value in address.items() if name != "part"}
