"""What the customers have ordered before the day on which the store opens its doors to us."""

from random import Random
from typing import Any

from callmark.worlds.retail.people import MOST_ON_A_GIFT_CARD, make_address

STATUSES = {"pending": 450, "processed": 100, "delivered": 400, "cancelled": 50}
ORDERS = sum(STATUSES.values())
REASONS = ("no longer needed", "ordered by mistake")


def make_orders(chance: Random, users: list[dict[str, Any]], products: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At least one order of each user; what was paid is what the items cost, and a cancelled order was refunded."""
    statuses = [status for status, number in STATUSES.items() for _ in range(number)]
    chance.shuffle(statuses)
    buyers = [*users, *chance.choices(users, k=ORDERS - len(users))]
    numbers = chance.sample(range(1_000_000, 10_000_000), ORDERS)
    return [_order(f"#W{number}", user, status, chance, products) for number, user, status in zip(numbers, buyers, statuses, strict=True)]


def _order(order_id: str, user: dict[str, Any], status: str, chance: Random, products: list[dict[str, Any]]) -> dict[str, Any]:
    bought = [chance.choice(product["variants"]) for product in chance.sample(products, chance.choice((1, 1, 2, 2, 2, 3, 3, 4, 5)))]
    if len(bought) > 1 and chance.random() < 0.15:
        bought[-1] = bought[0]  # two of the same
    items = [{"item_id": variant["item_id"], "price": variant["price"]} for variant in bought]
    total = round(sum(item["price"] for item in items), 2)
    methods = [one for one in user["payment_methods"] if one["source"] != "gift_card" or total <= MOST_ON_A_GIFT_CARD]
    paid = {"transaction_type": "payment", "amount": total, "payment_method_id": chance.choice(methods)["payment_method_id"]}
    order: dict[str, Any] = {
        "order_id": order_id,
        "user_id": user["user_id"],
        "status": status,
        "address": user["address"] if chance.random() < 0.85 else make_address(chance),
        "items": items,
        "payment_history": [paid],
    }
    if status == "cancelled":
        order["payment_history"].append({**paid, "transaction_type": "refund"})
        order["cancel_reason"] = chance.choice(REASONS)
    return order
