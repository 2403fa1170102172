"""Money that goes to and fro between an order and its customer's payment methods.

An order's `payment_history` says what was paid and refunded; a gift card's balance changes at once. Both rows are changed in place.
"""

from collections.abc import Iterable
from typing import Any

from callmark.worlds.answering import Refused, shown


def total(amounts: Iterable[float]) -> float:
    """In whole cents; of nothing 0."""
    return round(sum(amounts), 2)


def paid(order: dict[str, Any]) -> dict[str, float]:
    """What each payment method has paid and not got back. Empty for an order that was cancelled."""
    sums: dict[str, float] = {}
    for entry in order["payment_history"]:
        amount = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
        sums[entry["payment_method_id"]] = total((sums.get(entry["payment_method_id"], 0.0), amount))
    return {method_id: amount for method_id, amount in sums.items() if amount > 0}


def method_of(user: dict[str, Any], payment_method_id: str) -> dict[str, Any]:
    """The user's payment method; what is not theirs raises `Refused`."""
    for method in user["payment_methods"]:
        if method["payment_method_id"] == payment_method_id:
            found: dict[str, Any] = method
            return found
    theirs = ", ".join(method["payment_method_id"] for method in user["payment_methods"])
    raise Refused(f"{shown(payment_method_id)} is no payment method of this customer, one of {theirs} was expected")


def check_balance(method: dict[str, Any], amount: float) -> None:
    """A gift card with less on it than the amount raises `Refused`; nothing else has a balance."""
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refused(f"there are {method['balance']:.2f} on {method['payment_method_id']}, and {amount:.2f} would be paid with it")


def pay(order: dict[str, Any], user: dict[str, Any], payment_method_id: str, amount: float) -> None:
    """The method pays the amount; `Refused` where it cannot."""
    method = method_of(user, payment_method_id)
    check_balance(method, amount)
    _enter(order, method, "payment", amount, -amount)


def refund(order: dict[str, Any], user: dict[str, Any], payment_method_id: str, amount: float) -> None:
    """The method gets the amount back."""
    _enter(order, method_of(user, payment_method_id), "refund", amount, amount)


def _enter(order: dict[str, Any], method: dict[str, Any], kind: str, amount: float, change: float) -> None:
    order["payment_history"].append({"transaction_type": kind, "amount": amount, "payment_method_id": method["payment_method_id"]})
    if method["source"] == "gift_card":
        method["balance"] = total((method["balance"], change))
