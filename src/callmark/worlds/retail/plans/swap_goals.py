"""Goals that replace items with other variants, before shipping (`order items`) or after delivery (`exchange`)."""

from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.plans.draft import Goal, PlanDraft, difference_expression, price_difference, unambiguous_items
from callmark.worlds.retail.store.records import Row, available_alternatives, changed_options, last_payment_method_id

SWAP_WEIGHTS = {  # how often each variant is chosen
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


def add_swap(draft: PlanDraft, kind: str, variant: str) -> bool:
    """Add a goal to swap items. Return False if no order is suitable."""
    if variant == "too early or late":
        return _add_swap_at_wrong_status(draft, kind)
    if variant == "other product":
        return _add_swap_for_other_product(draft, kind)
    if variant == "gift card too small":
        return _add_swap_with_low_gift_card(draft, kind)
    if variant.startswith("sold out"):
        return _add_sold_out_swap(draft, kind, is_accepted=variant.endswith("taken"))
    price = _PRICES.get(variant, "any")
    item_count = 2 if variant in ("two items", "once only") else 1
    min_variants = 2 if variant == "second thought" else 1

    def is_suitable(draft: PlanDraft, order: Row) -> bool:
        items = [item for item in unambiguous_items(order) if len(draft.replacement_variants(item, price=price)) >= min_variants]
        return order["status"] in _STATUS[kind] and len(items) >= item_count

    order = draft.find_order(is_suitable)
    if order is None:
        return False
    swappable = [item for item in unambiguous_items(order) if len(draft.replacement_variants(item, price=price)) >= min_variants]
    chosen = [item | draft.replacement_variants(item, price=price)[0] for item in draft.rng.sample(swappable, item_count)]
    items = chosen[:1] if variant == "once only" else chosen
    other_variants = [new for new in draft.replacement_variants(items[0], price=price) if new["new_item_id"] != items[0]["new_item_id"]]
    revised = other_variants[0] if variant == "second thought" else None
    final_items = [items[0] | revised] if revised else items
    payment = _choose_payment(draft, order, max(price_difference(items), price_difference(final_items)))
    goal = draft.add_goal(kind, order, items=items, payment=payment, outcome="declined" if variant == "declined" else "done")
    if revised:
        goal["second_thought"] = {"replacement": revised}
    if len(items) > 1:
        goal["uses_calculator"] = True
    draft.look_up_order(order, goal)
    for item in items:
        draft.look_up(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _add_calculation(draft, goal, items)
    if revised:
        _add_calculation(draft, goal, final_items)
    if variant != "declined":
        _add_write_call(
            draft,
            kind,
            order,
            final_items,
            payment if price_difference(final_items) else draft.payment_method(last_payment_method_id(order)),
        )
    if variant == "once only":
        draft.add_goal(
            kind, order, items=chosen[1:], payment=payment, same_order=True, outcome="refused",
            refusal_reason="asked once" if kind == "exchange" else "changed once",
        )  # fmt: skip
    return True


def add_first_swap(draft: PlanDraft, order: Row) -> None:
    """Add a swap at the same price in a pending order, after which nothing else can be changed in it."""
    item = next(item for item in unambiguous_items(order) if draft.replacement_variants(item, price="same"))
    item = item | draft.replacement_variants(item, price="same")[0]
    goal = draft.add_goal("order items", order, items=[item])
    goal["payment"] = goal["original_payment"]
    draft.look_up_order(order, goal)
    draft.look_up(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _add_write_call(draft, "order items", order, [item], goal["payment"])


def add_order_after_swap(draft: PlanDraft) -> Row | None:
    """Return an order after adding a swap of its items, or None if no order is suitable."""
    order = draft.find_order(_can_swap)
    if order is not None:
        add_first_swap(draft, order)
    return order


def _can_swap(draft: PlanDraft, order: Row) -> bool:
    """Return whether `add_first_swap` is possible."""
    return order["status"] == "pending" and any(draft.replacement_variants(item, price="same") for item in unambiguous_items(order))


def _add_swap_at_wrong_status(draft: PlanDraft, kind: str) -> bool:
    order = draft.find_order(
        lambda draft, order: (
            order["status"] in _WRONG_STATUS[kind] and any(draft.replacement_variants(item) for item in unambiguous_items(order))
        )
    )
    if order is None:
        return False
    item = next(item for item in unambiguous_items(order) if draft.replacement_variants(item))
    refusal_reason = "not delivered" if kind == "exchange" else "shipped"
    goal = draft.add_goal(kind, order, items=[item | draft.replacement_variants(item)[0]], outcome="refused", refusal_reason=refusal_reason)
    goal["payment"] = goal["original_payment"]
    draft.look_up_order(order, goal)
    return True


def _add_swap_for_other_product(draft: PlanDraft, kind: str) -> bool:
    order = draft.find_order(lambda draft, order: order["status"] in _STATUS[kind] and bool(unambiguous_items(order)))
    if order is None:
        return False
    item = draft.rng.choice(unambiguous_items(order))
    other_products = sorted(product["name"] for product in draft.records.products.values() if product["name"] != item["name"])
    singular = [name for name in other_products if not name.endswith("s")]
    goal = draft.add_goal(
        kind, order, items=[item], other_product=draft.rng.choice(singular), outcome="refused", refusal_reason="other product"
    )  # fmt: skip
    goal["payment"] = goal["original_payment"]
    draft.look_up_order(order, goal)
    return True


def _add_sold_out_swap(draft: PlanDraft, kind: str, *, is_accepted: bool) -> bool:
    order = draft.find_order(
        lambda draft, order: (
            order["status"] in _STATUS[kind] and any(draft.replacement_variants(item, available=False) for item in unambiguous_items(order))
        )
    )
    if order is None:
        return False
    item = next(item for item in unambiguous_items(order) if draft.replacement_variants(item, available=False))
    sold_out_item = item | draft.replacement_variants(item, available=False)[0]
    alternative_variant = draft.rng.choice(
        available_alternatives(draft.records.products[item["product_id"]], item, sold_out_item["new_options"])
    )
    alternative = {
        "new_item_id": alternative_variant["item_id"],
        "new_options": alternative_variant["options"],
        "new_price": alternative_variant["price"],
        "changes": changed_options(item["options"], alternative_variant["options"]),
    }
    payment = _choose_payment(draft, order, price_difference([item | alternative]))
    fields: dict[str, Any] = {"alternative": alternative} if is_accepted else {"outcome": "refused", "refusal_reason": "sold out"}
    goal = draft.add_goal(kind, order, items=[sold_out_item], payment=payment, **fields)
    draft.look_up_order(order, goal)
    draft.look_up(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    if is_accepted:
        _add_calculation(draft, goal, [item | alternative])
        _add_write_call(draft, kind, order, [item | alternative], payment)
    return True


def _add_swap_with_low_gift_card(draft: PlanDraft, kind: str) -> bool:
    def unaffordable_items(draft: PlanDraft, order: Row) -> list[Row]:
        cards = draft.payment_methods("gift_card")
        if not cards or len(draft.user["payment_methods"]) < 2:
            return []
        return [
            item | new
            for item in unambiguous_items(order)
            for new in draft.replacement_variants(item, price="more")
            if price_difference([item | new]) > cards[0]["balance"]
        ]

    order = draft.find_order(lambda draft, order: order["status"] in _STATUS[kind] and bool(unaffordable_items(draft, order)))
    if order is None:
        return False
    item = draft.rng.choice(unaffordable_items(draft, order))
    card, other_method = draft.payment_methods("gift_card")[0], draft.rng.choice(draft.payment_methods("credit_card", "paypal"))
    payment = draft.payment_method(other_method["payment_method_id"])
    goal = draft.add_goal(kind, order, items=[item], payment=draft.payment_method(card["payment_method_id"]), other_payment=payment)
    draft.look_up_order(order, goal)
    draft.look_up(tools.GET_PRODUCT, item["product_id"], product_id=item["product_id"])
    _add_calculation(draft, goal, [item])
    _add_write_call(draft, kind, order, [item], payment)
    return True


def _choose_payment(draft: PlanDraft, order: Row, amount: float) -> Row:
    """Return the payment method for the difference, usually the original one."""
    original = last_payment_method_id(order)
    payable_ids = [method["payment_method_id"] for method in draft.user["payment_methods"] if draft.can_pay(method, amount)]
    keeps_original = amount == 0 or (original in payable_ids and draft.rng.random() < 0.5)
    return draft.payment_method(original if keeps_original else draft.rng.choice(payable_ids))


def _add_calculation(draft: PlanDraft, goal: Goal, items: list[Row]) -> None:
    if goal["uses_calculator"] and (expression := difference_expression(items)):
        draft.add_call(tools.CALCULATE, expression=expression)


def _add_write_call(draft: PlanDraft, kind: str, order: Row, items: list[Row], payment: Row) -> None:
    draft.add_call(
        _TOOL[kind],
        order_id=order["order_id"],
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[item["new_item_id"] for item in items],
        payment_method_id=payment["payment_method_id"],
    )
