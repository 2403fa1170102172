"""Payments and refunds between an order and its customer's payment methods.

An order's `payment_history` records them; a gift card's balance changes immediately. Both rows are changed in place.
"""

from collections.abc import Iterable
from typing import Any

from callmark.worlds.tool_calls import ToolError, quote_value


def sum_amounts(amounts: Iterable[float]) -> float:
    """Return the sum in whole cents; 0 for no amounts."""
    return round(sum(amounts), 2)


def net_payments(order: dict[str, Any]) -> dict[str, float]:
    """Return what each payment method has paid minus refunds. Empty for a cancelled order."""
    totals: dict[str, float] = {}
    for entry in order["payment_history"]:
        amount = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
        totals[entry["payment_method_id"]] = sum_amounts((totals.get(entry["payment_method_id"], 0.0), amount))
    return {method_id: amount for method_id, amount in totals.items() if amount > 0}


def find_payment_method(user: dict[str, Any], payment_method_id: str) -> dict[str, Any]:
    """Return the user's payment method; one of another user raises `ToolError`."""
    for method in user["payment_methods"]:
        if method["payment_method_id"] == payment_method_id:
            found: dict[str, Any] = method
            return found
    own_ids = ", ".join(method["payment_method_id"] for method in user["payment_methods"])
    raise ToolError(f"{quote_value(payment_method_id)} is not a payment method of this customer; expected one of {own_ids}")


def check_balance(method: dict[str, Any], amount: float) -> None:
    """Raise `ToolError` for a gift card whose balance is too low. Other methods have no balance."""
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise ToolError(f"the balance of {method['payment_method_id']} is {method['balance']:.2f}, but {amount:.2f} is needed")


def pay(order: dict[str, Any], user: dict[str, Any], payment_method_id: str, amount: float) -> None:
    """Charge the method; raise `ToolError` if it cannot pay."""
    method = find_payment_method(user, payment_method_id)
    check_balance(method, amount)
    _record_transaction(order, method, "payment", amount, -amount)


def refund(order: dict[str, Any], user: dict[str, Any], payment_method_id: str, amount: float) -> None:
    """Refund the amount to the method."""
    _record_transaction(order, find_payment_method(user, payment_method_id), "refund", amount, amount)


def _record_transaction(order: dict[str, Any], method: dict[str, Any], kind: str, amount: float, change: float) -> None:
    order["payment_history"].append({"transaction_type": kind, "amount": amount, "payment_method_id": method["payment_method_id"]})
    if method["source"] == "gift_card":
        method["balance"] = sum_amounts((method["balance"], change))
