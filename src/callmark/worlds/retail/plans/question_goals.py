"""Goals without a write: questions, transfers to a human, and questions about another customer's order."""

from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.language.noun_phrases import product_noun
from callmark.worlds.retail.plans.draft import PlanDraft, difference_expression, total_expression, unambiguous_items
from callmark.worlds.retail.store.records import Row

PRODUCT_QUESTION_WEIGHTS = {"options": 1, "count": 1, "cheapest": 1, "available": 1, "not available": 1}
PRICE_QUESTION_WEIGHTS = {"refund": 1, "total": 1, "difference": 1}
ORDER_QUESTION_WEIGHTS = {"status": 2, "items": 1, "address": 1, "payment": 1}
TRANSFER_WEIGHTS = {"asked for": 2, "asked for after a refusal": 1, "beyond scope": 3}
OTHER_CUSTOMER_WEIGHTS = {"somebody else's order": 1}

_TROUBLES = (
    "my {name} that arrived damaged",
    "my {name} that never arrived, although it says delivered",
    "the packaging of my {name}",
    "a scratch on my {name}",
    "a complaint about my {name}",
)
_DEVICE_TROUBLES = (
    "my {name} that stopped working after two days",
    "my {name} that came without a manual",
    "a strange noise from my {name}",
)
_ASSEMBLY_TROUBLES = ("my {name} that came with a part missing", "the assembly of my {name}, which the manual does not explain")
_BEYOND_SCOPE_TOPICS = (
    "a price match for my {name}",
    "an invoice in my company's name for my {name}",
    "adding a new credit card to my account",
    "changing the email address of my account",
    "a discount code that did not work for my {name}",
    "a reduction in price, since my {name} went on sale",
    "a second account for my business",
)
_WARRANTY_TOPICS = ("a repair of my {name} under warranty", "an extended warranty for my {name}")
_DEVICES = frozenset(
    (
        "Laptop", "Tablet", "Smartphone", "Smart Watch", "Wireless Earbuds", "Headphones", "Bluetooth Speaker", "Mechanical Keyboard",
        "Gaming Mouse", "Monitor", "Webcam", "Action Camera", "E-Reader", "Desk Lamp", "Electric Kettle", "Coffee Maker",
        "Espresso Machine", "Toaster", "Blender", "Air Fryer", "Vacuum Cleaner",
    )
)  # fmt: skip
_ASSEMBLED = frozenset(("Bookshelf", "Office Chair", "Mountain Bike", "Tent"))
_REFUSAL_TOPICS = ("what was just refused", "an exception to that rule", "that decision", "having my order looked at again")
_ORDER_OWNERS = ("my brother", "my sister", "my roommate", "my mother", "my father", "a friend", "my neighbor", "my wife", "my husband")


def add_product_question(draft: PlanDraft, variant: str) -> bool:
    """Add a question about a product type."""
    if not draft.has_goals and draft.find_order(lambda draft, order: True) is None:
        return False
    product = draft.rng.choice(list(draft.records.products.values()))
    fields: dict[str, Any] = {"question": variant, "product": product["name"]}
    if variant.endswith("available"):
        candidates = [variant_row for variant_row in product["variants"] if variant_row["available"] == (variant == "available")]
        fields |= {"question": "available", "requested_options": draft.rng.choice(candidates)["options"]}
    draft.add_goal("product question", **fields)
    draft.look_up(tools.LIST_PRODUCT_TYPES, "product types")
    draft.look_up(tools.GET_PRODUCT, product["product_id"], product_id=product["product_id"])
    return True


def add_price_question(draft: PlanDraft, variant: str) -> bool:
    """Add a question about the total of items, or about the price difference to another variant."""

    def repriced_items(draft: PlanDraft, order: Row) -> list[Row]:
        return [
            item | new for item in unambiguous_items(order) for new in draft.replacement_variants(item) if new["new_price"] != item["price"]
        ]

    def is_suitable(draft: PlanDraft, order: Row) -> bool:
        if variant == "difference":
            return order["status"] in ("delivered", "pending") and bool(repriced_items(draft, order))
        if variant == "refund":
            return order["status"] == "delivered" and len(unambiguous_items(order)) > 1
        return len(order["items"]) > 1 and order["status"] != "cancelled"

    order = draft.find_order(is_suitable)
    if order is None:
        return False
    if variant == "difference":
        items = [draft.rng.choice(repriced_items(draft, order))]
    else:
        items = order["items"] if variant == "total" else draft.rng.sample(unambiguous_items(order), 2)
    goal = draft.add_goal("price question", order, question=variant, items=items, all_items=variant == "total")
    draft.look_up_order(order, goal)
    if variant == "difference":
        draft.look_up(tools.GET_PRODUCT, items[0]["product_id"], product_id=items[0]["product_id"])
    draft.add_call(tools.CALCULATE, expression=difference_expression(items) if variant == "difference" else total_expression(items))
    return True


def add_order_question(draft: PlanDraft, variant: str) -> bool:
    """Add a question about an order."""
    order = draft.find_order(lambda draft, order: True)
    if order is None:
        return False
    draft.look_up_order(order, draft.add_goal("order status", order, question=variant))
    return True


def add_transfer(draft: PlanDraft, variant: str) -> bool:
    """Add a goal that only a human can handle."""
    order = draft.find_order(lambda draft, order: order["status"] == ("processed" if variant.endswith("refusal") else "delivered"))
    if order is None:
        return False
    if variant.endswith("refusal"):
        reason = "no longer needed"
        goal = draft.add_goal("cancel", order, reason=reason, outcome="refused", refusal_reason="shipped", refusal_reaction="accepts")
        draft.look_up_order(order, goal)
        add_human_request(draft, after_refusal=True)
        return True
    if variant == "asked for":
        add_human_request(draft, name=order["items"][0]["name"])
        return True
    name = order["items"][0]["name"]
    topic = draft.rng.choice((*_BEYOND_SCOPE_TOPICS, *(_WARRANTY_TOPICS if name in _DEVICES else ()))).format(name=product_noun(name))
    draft.add_goal("beyond scope", topic=topic, outcome="transferred")
    _add_transfer_call(draft)
    return True


def add_human_request(draft: PlanDraft, *, name: str = "", after_refusal: bool = False) -> None:
    """Add a request for a human, about an item or about a refusal."""
    troubles = (*_TROUBLES, *(_DEVICE_TROUBLES if name in _DEVICES else ()), *(_ASSEMBLY_TROUBLES if name in _ASSEMBLED else ()))
    topic = draft.rng.choice(_REFUSAL_TOPICS if after_refusal else troubles).format(name=product_noun(name))
    draft.add_goal("human", topic=topic, outcome="transferred", after_refusal=after_refusal)
    _add_transfer_call(draft)


def add_other_customer_question(draft: PlanDraft, variant: str) -> bool:
    """Add a question about an order of another customer."""
    if not draft.has_goals and draft.find_order(lambda draft, order: True) is None:
        return False
    other_orders = [order["order_id"] for order in draft.records.orders.values() if order["user_id"] != draft.user["user_id"]]
    owner = draft.rng.choice(_ORDER_OWNERS)
    goal = draft.add_goal("other customer", order_owner=owner, outcome="refused", refusal_reason="not theirs")
    goal["order_id"] = draft.rng.choice(other_orders)
    return True


def _add_transfer_call(draft: PlanDraft) -> None:
    """Add the transfer call; any summary is accepted."""
    draft.add_call(tools.TRANSFER, summary={"$any": True})
