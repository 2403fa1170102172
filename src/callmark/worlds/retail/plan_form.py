"""What a plan of the store has to have, so that one that was changed by hand is refused in a sentence."""

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from callmark.errors import BadInput
from callmark.types import Case

_Kind = Literal[
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


class _Wish(TypedDict):
    kind: _Kind
    outcome: Literal["done", "refused", "declined", "transferred"]
    because: str
    takes_refusal: str
    after_refusal: bool
    tells: list[str]
    order_id: str
    knows_order: bool
    same_order: bool
    wrong_order_id: str
    described_by: str
    items: list[_Item]
    all_items: bool
    other_product: str
    alternative: dict[str, Any] | None
    payment: _Method | None
    paid_with: _Method | None
    other_payment: _Method | None
    reason: str
    address: dict[str, str] | None
    same_address: bool
    second_thought: dict[str, Any]
    question: str
    product: str
    wanted_options: dict[str, str]
    topic: str
    whose: str
    works_out_sums: bool


class _Plan(TypedDict):
    customer: _Customer
    login: Literal["email", "name and zip", "mistyped email"]
    mistyped_email: str
    tells: list[str]
    manner: str
    seed: int
    wishes: Annotated[list[_Wish], Meta(min_length=1)]


def plan_of(case: Case) -> dict[str, Any]:
    """The plan of a scenario, as it is. One that is missing, or lacks something, raises `BadInput`."""
    plan: dict[str, Any] = case.data.get("plan", {})
    try:
        msgspec.convert(plan, _Plan)
    except msgspec.ValidationError as problem:
        raise BadInput(
            f"{case.id}: `data.plan` is no plan of the retail store: {problem}", "Use plans that `callmark synth` makes."
        ) from None
    return plan
