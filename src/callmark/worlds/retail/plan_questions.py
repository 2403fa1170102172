"""Plans in which something is asked, in which a person takes over, and in which somebody asks about another's order: nothing is written."""

from typing import Any

from callmark.worlds.retail import tools
from callmark.worlds.retail.naming import noun
from callmark.worlds.retail.plan_draft import Draft, items_sum, named_once, swap_sum
from callmark.worlds.retail.records import Row

PRODUCT_QUESTIONS = {"options": 1, "count": 1, "cheapest": 1, "available": 1, "not available": 1}
PRICE_QUESTIONS = {"refund": 1, "total": 1, "difference": 1}
STATUS_QUESTIONS = {"status": 2, "items": 1, "address": 1, "payment": 1}
TRANSFERS = {"asked for": 2, "asked for after a refusal": 1, "beyond scope": 3}
OTHERS = {"somebody else's order": 1}

_TROUBLES = (
    "my {name} that arrived damaged",
    "my {name} that never arrived, although it says delivered",
    "the packaging of my {name}",
    "a scratch on my {name}",
    "a complaint about my {name}",
)
_BROKEN = ("my {name} that stopped working after two days", "my {name} that came without a manual", "a strange noise from my {name}")
_INCOMPLETE = ("my {name} that came with a part missing", "the assembly of my {name}, which the manual does not explain")
_BEYOND = (
    "a price match for my {name}",
    "an invoice in my company's name for my {name}",
    "adding a new credit card to my account",
    "changing the email address of my account",
    "a discount code that did not work for my {name}",
    "a reduction in price, since my {name} went on sale",
    "a second account for my business",
)
_UNDER_WARRANTY = ("a repair of my {name} under warranty", "an extended warranty for my {name}")
_WITH_A_PLUG = frozenset(
    (
        "Laptop", "Tablet", "Smartphone", "Smart Watch", "Wireless Earbuds", "Headphones", "Bluetooth Speaker", "Mechanical Keyboard",
        "Gaming Mouse", "Monitor", "Webcam", "Action Camera", "E-Reader", "Desk Lamp", "Electric Kettle", "Coffee Maker",
        "Espresso Machine", "Toaster", "Blender", "Air Fryer", "Vacuum Cleaner",
    )
)  # fmt: skip
_ASSEMBLED = frozenset(("Bookshelf", "Office Chair", "Mountain Bike", "Tent"))
_REFUSED = ("what was just refused", "an exception to that rule", "that decision", "having my order looked at again")
_WHOSE = ("my brother", "my sister", "my roommate", "my mother", "my father", "a friend", "my neighbor", "my wife", "my husband")


def product_question(draft: Draft, variant: str) -> bool:
    """What is asked about a product type, whoever asks."""
    if not draft.is_begun and draft.find(lambda draft, order: True) is None:
        return False
    product = draft.chance.choice(list(draft.records.products.values()))
    fields: dict[str, Any] = {"question": variant, "product": product["name"]}
    if variant.endswith("available"):
        ones = [one for one in product["variants"] if one["available"] == (variant == "available")]
        fields |= {"question": "available", "wanted_options": draft.chance.choice(ones)["options"]}
    draft.wish("product question", **fields)
    draft.see(tools.LIST_PRODUCT_TYPES, "product types")
    draft.see(tools.GET_PRODUCT, product["product_id"], product_id=product["product_id"])
    return True


def price_question(draft: Draft, variant: str) -> bool:
    """What items cost together, or another variant beyond what somebody has. Nothing is changed."""

    def dearer(draft: Draft, order: Row) -> list[Row]:
        return [item | new for item in named_once(order) for new in draft.replacements(item) if new["new_price"] != item["price"]]

    def fits(draft: Draft, order: Row) -> bool:
        if variant == "difference":
            return order["status"] in ("delivered", "pending") and bool(dearer(draft, order))
        if variant == "refund":
            return order["status"] == "delivered" and len(named_once(order)) > 1
        return len(order["items"]) > 1 and order["status"] != "cancelled"

    order = draft.find(fits)
    if order is None:
        return False
    if variant == "difference":
        items = [draft.chance.choice(dearer(draft, order))]
    else:
        items = order["items"] if variant == "total" else draft.chance.sample(named_once(order), 2)
    wish = draft.wish("price question", order, question=variant, items=items, all_items=variant == "total")
    draft.look_up(order, wish)
    if variant == "difference":
        draft.see(tools.GET_PRODUCT, items[0]["product_id"], product_id=items[0]["product_id"])
    draft.call(tools.CALCULATE, expression=swap_sum(items) if variant == "difference" else items_sum(items))
    return True


def order_status(draft: Draft, variant: str) -> bool:
    """What is asked about an order."""
    order = draft.find(lambda draft, order: True)
    if order is None:
        return False
    draft.look_up(order, draft.wish("order status", order, question=variant))
    return True


def transfer(draft: Draft, variant: str) -> bool:
    """A wish that a person has to take care of."""
    order = draft.find(lambda draft, order: order["status"] == ("processed" if variant.endswith("refusal") else "delivered"))
    if order is None:
        return False
    if variant.endswith("refusal"):
        reason = "no longer needed"
        wish = draft.wish("cancel", order, reason=reason, outcome="refused", because="shipped", takes_refusal="accepts")
        draft.look_up(order, wish)
        ask_for_a_person(draft, after_refusal=True)
        return True
    if variant == "asked for":
        ask_for_a_person(draft, name=order["items"][0]["name"])
        return True
    name = order["items"][0]["name"]
    topic = draft.chance.choice((*_BEYOND, *(_UNDER_WARRANTY if name in _WITH_A_PLUG else ()))).format(name=noun(name))
    draft.wish("beyond scope", topic=topic, outcome="transferred")
    _hand_over(draft)
    return True


def ask_for_a_person(draft: Draft, *, name: str = "", after_refusal: bool = False) -> None:
    """The customer wants to talk to a person, about something that they have or about what they were refused."""
    troubles = (*_TROUBLES, *(_BROKEN if name in _WITH_A_PLUG else ()), *(_INCOMPLETE if name in _ASSEMBLED else ()))
    topic = draft.chance.choice(_REFUSED if after_refusal else troubles).format(name=noun(name))
    draft.wish("human", topic=topic, outcome="transferred", after_refusal=after_refusal)
    _hand_over(draft)


def about_another_customer(draft: Draft, variant: str) -> bool:
    """Somebody asks about an order that is not theirs."""
    if not draft.is_begun and draft.find(lambda draft, order: True) is None:
        return False
    others = [order["order_id"] for order in draft.records.orders.values() if order["user_id"] != draft.user["user_id"]]
    whose = draft.chance.choice(_WHOSE)
    wish = draft.wish("other customer", whose=whose, outcome="refused", because="not theirs")
    wish["order_id"] = draft.chance.choice(others)
    return True


def _hand_over(draft: Draft) -> None:
    """In what words a case is summed up is the agent's affair."""
    draft.call(tools.TRANSFER, summary={"$any": True})
