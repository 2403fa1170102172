"""The orders that exist when the store starts."""

from random import Random
from typing import Any

from callmark.worlds.retail.store.customers import MAX_GIFT_CARD_BALANCE, make_address

STATUSES = {"pending": 450, "processed": 100, "delivered": 400, "cancelled": 50}
ORDERS = sum(STATUSES.values())
REASONS = ("no longer needed", "ordered by mistake")


def make_orders(rng: Random, users: list[dict[str, Any]], products: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at least one order for each user. The payment equals the price of the items; cancelled orders are refunded."""
    statuses = [status for status, number in STATUSES.items() for _ in range(number)]
    rng.shuffle(statuses)
    buyers = [*users, *rng.choices(users, k=ORDERS - len(users))]
    numbers = rng.sample(range(1_000_000, 10_000_000), ORDERS)
    return [_order(f"#W{number}", user, status, rng, products) for number, user, status in zip(numbers, buyers, statuses, strict=True)]


def _order(order_id: str, user: dict[str, Any], status: str, rng: Random, products: list[dict[str, Any]]) -> dict[str, Any]:
    variants = [rng.choice(product["variants"]) for product in rng.sample(products, rng.choice((1, 1, 2, 2, 2, 3, 3, 4, 5)))]
    if len(variants) > 1 and rng.random() < 0.15:
        variants[-1] = variants[0]  # two of the same
    items = [{"item_id": variant["item_id"], "price": variant["price"]} for variant in variants]
    total = round(sum(item["price"] for item in items), 2)
    methods = [method for method in user["payment_methods"] if method["source"] != "gift_card" or total <= MAX_GIFT_CARD_BALANCE]
    payment = {"transaction_type": "payment", "amount": total, "payment_method_id": rng.choice(methods)["payment_method_id"]}
    order: dict[str, Any] = {
        "order_id": order_id,
        "user_id": user["user_id"],
        "status": status,
        "address": user["address"] if rng.random() < 0.85 else make_address(rng),
        "items": items,
        "payment_history": [payment],
    }
    if status == "cancelled":
        order["payment_history"].append({**payment, "transaction_type": "refund"})
        order["cancel_reason"] = rng.choice(REASONS)
    return order
