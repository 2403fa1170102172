"""The schema of a plan, so that an invalid plan that was edited by hand is rejected with a clear message."""

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from callmark import BadInput, Case

GoalKind = Literal[
    "cancel",
    "order address",
    "order items",
    "order payment",
    "default address",
    "return",
    "exchange",
    "product question",
    "order status",
    "price question",
    "human",
    "beyond scope",
    "other customer",
]


class _Customer(TypedDict):
    first_name: str
    last_name: str
    email: str
    zip: str


class _Item(TypedDict):
    item_id: str
    product_id: str
    name: str
    options: dict[str, str]
    price: float


class _Method(TypedDict):
    payment_method_id: str
    source: Literal["credit_card", "paypal", "gift_card"]
    brand: str
    last_four: str


class _Goal(TypedDict):
    kind: GoalKind
    outcome: Literal["done", "refused", "declined", "transferred"]
    refusal_reason: str
    refusal_reaction: str
    after_refusal: bool
    volunteered_slots: list[str]
    order_id: str
    knows_order_id: bool
    same_order: bool
    wrong_order_id: str
    described_by_item: str
    items: list[_Item]
    all_items: bool
    other_product: str
    alternative: dict[str, Any] | None
    payment: _Method | None
    original_payment: _Method | None
    other_payment: _Method | None
    reason: str
    address: dict[str, str] | None
    same_address: bool
    second_thought: dict[str, Any]
    question: str
    product: str
    requested_options: dict[str, str]
    topic: str
    order_owner: str
    uses_calculator: bool


class _Plan(TypedDict):
    customer: _Customer
    login: Literal["email", "name and zip", "mistyped email"]
    mistyped_email: str
    volunteered_slots: list[str]
    style: str
    seed: int
    goals: Annotated[list[_Goal], Meta(min_length=1)]


def read_plan(case: Case) -> dict[str, Any]:
    """Return the plan of a scenario unchanged. A missing or incomplete one raises `BadInput`."""
    plan: dict[str, Any] = case.data.get("plan", {})
    try:
        msgspec.convert(plan, _Plan)
    except msgspec.ValidationError as problem:
        raise BadInput(
            f"{case.id}: `data.plan` is not a plan of the retail store: {problem}", "Use plans that `callmark synth` generates."
        ) from None
    return plan
