"""Plans of conversations with the store: who calls, what they want, what they say unasked, and the calls that a good agent makes.

A plan depends on the seed and its index alone. Kinds of plan come in rounds, mixed by the seed, so that every stretch of plans has all
kinds, in the proportions of `MIX`, or each as often as the others where they are balanced; likewise the variants of each kind, and how
people log in.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from callmark.types import Call, Case
from callmark.worlds.retail import plan_orders, plan_questions, tools
from callmark.worlds.retail.plan_draft import Draft
from callmark.worlds.retail.plan_prose import completion, instructions
from callmark.worlds.retail.plan_swaps import SWAPS, swap
from callmark.worlds.retail.plan_telling import what_is_told
from callmark.worlds.retail.records import Records, Row

MANNERS = ("plain", "plain", "chatty", "terse", "polite", "impatient", "unsure")
LOGINS = {"email": 13, "name and zip": 5, "mistyped email": 2}
BALANCED_LOGINS = {"email": 5, "name and zip": 4, "mistyped email": 1}
MORE_WISHES = (0.16, 0.25)  # how often a plan of one wish gets a second, and one of two a third
ASKS_FOR_A_PERSON = 0.12  # after a refusal


class _Kind(NamedTuple):
    """How a wish of the kind is made, its variants by how often each is taken, and those that may come as a further wish."""

    made: Callable[[Draft, str], bool]
    variants: Mapping[str, int]
    further: tuple[str, ...] = ()


KINDS = {
    "exchange": _Kind(lambda draft, variant: swap(draft, "exchange", variant), SWAPS, ("same price", "costs less")),
    "order items": _Kind(lambda draft, variant: swap(draft, "order items", variant), SWAPS, ("same price",)),
    "order address": _Kind(plan_orders.order_address, plan_orders.ORDER_ADDRESSES, ("changed",)),
    "return": _Kind(plan_orders.send_back, plan_orders.RETURNS, ("one item", "whole order")),
    "cancel": _Kind(plan_orders.cancel, plan_orders.CANCELS, ("no longer needed", "ordered by mistake")),
    "order payment": _Kind(plan_orders.order_payment, plan_orders.PAYMENTS, ("changed",)),
    "default address": _Kind(plan_orders.default_address, plan_orders.DEFAULT_ADDRESSES, ("changed",)),
    "product question": _Kind(plan_questions.product_question, plan_questions.PRODUCT_QUESTIONS, ("count", "available")),
    "price question": _Kind(plan_questions.price_question, plan_questions.PRICE_QUESTIONS, ("total",)),
    "order status": _Kind(plan_questions.order_status, plan_questions.STATUS_QUESTIONS, ("status", "items")),
    "transfer": _Kind(plan_questions.transfer, plan_questions.TRANSFERS),
    "other customer": _Kind(plan_questions.about_another_customer, plan_questions.OTHERS),
}
MIX = {
    "exchange": 8,
    "order items": 7,
    "order address": 7,
    "return": 5,
    "cancel": 5,
    "order payment": 3,
    "default address": 3,
    "product question": 3,
    "price question": 2,
    "transfer": 3,
    "order status": 1,
    "other customer": 1,
}
BRANCHES = (
    *(f"login: {login}" for login in LOGINS),
    "order: number not known",
    "order: wrong number first",
    *(f"{kind}: {variant}" for kind, made in KINDS.items() for variant in made.variants),
    "wishes: two",
    "wishes: three",
    "refused: asked why",
    "refused: asked for a person",
)


def plan(records: Records, index: int, *, seed: int, balance: bool = False) -> Case:
    """The plan with that index, from 0 on."""
    chance = Random(f"{seed}/{index}/{balance}/plan")
    kind, place = _in_turn(MIX if not balance else dict.fromkeys(KINDS, 1), index, f"{seed}/kinds/{balance}")
    draft = Draft(records, chance, records.in_turn(f"{seed}/{kind}", place))
    variant, _ = _in_turn(KINDS[kind].variants, place, f"{seed}/{kind}")
    if not KINDS[kind].made(draft, variant):
        raise LookupError(f"the store has no order for a plan {kind}: {variant}")
    draft.branches.append(f"{kind}: {variant}")
    _add_wishes(draft)
    login, _ = _in_turn(LOGINS if not balance else BALANCED_LOGINS, index, f"{seed}/login")
    return _case(draft, kind, index, seed=seed, login=login)


def _in_turn(weights: Mapping[str, int], place: int, seed: str) -> tuple[str, int]:
    """Whose turn it is at a place, and how often it was theirs before: in each round all have theirs as often as they weigh, mixed anew."""
    size = sum(weights.values())
    number, at = divmod(place, size)
    order = [name for name, weight in weights.items() for _ in range(weight)]
    Random(f"{seed}/{number}").shuffle(order)
    return order[at], number * weights[order[at]] + order[:at].count(order[at])


def _add_wishes(draft: Draft) -> None:
    """Further wishes, for some: of other kinds, about other orders of theirs. A refusal may make them ask for a person instead."""
    last = draft.wishes[-1]
    if last["outcome"] == "refused" and last["takes_refusal"] == "accepts" and draft.chance.random() < ASKS_FOR_A_PERSON:
        plan_questions.ask_for_a_person(draft, after_refusal=True)
    for more in MORE_WISHES[len(draft.wishes) - 1 :]:
        if draft.wishes[-1]["outcome"] == "transferred" or draft.chance.random() >= more:
            break
        taken = [wish["kind"] for wish in draft.wishes]
        possible = [(kind, variant) for kind, made in KINDS.items() if kind not in taken for variant in made.further]
        draft.chance.shuffle(possible)
        made = next((f"{kind}: {variant}" for kind, variant in possible if KINDS[kind].made(draft, variant)), None)
        if made is None:  # somebody with one order, who has asked for all that needs none
            break
        draft.branches.append(made)
    if draft.wishes[-1]["after_refusal"]:
        draft.branches.append("refused: asked for a person")
    if any(wish["takes_refusal"] == "asks why" for wish in draft.wishes):
        draft.branches.append("refused: asked why")
    if len(draft.wishes) > 1:
        draft.branches.append("wishes: two" if len(draft.wishes) == 2 else "wishes: three")


def _case(draft: Draft, kind: str, index: int, *, seed: int, login: str) -> Case:
    user = draft.user
    name, tells = user["name"], what_is_told(draft)
    about: Row = {
        "type": kind,
        "branches": list(dict.fromkeys([f"login: {login}", *draft.branches])),
        "customer": {"user_id": user["user_id"], **name, "email": user["email"], "zip": user["address"]["zip"]},
        "login": login,
        "mistyped_email": _mistyped(user["email"], draft.chance) if login == "mistyped email" else "",
        "tells": tells,
        "manner": draft.chance.choice(MANNERS),
        "wishes": draft.wishes,
        "seed": seed,
    }
    seen = Call(tools.GET_USER, {"user_id": user["user_id"]})
    by_name = Call(tools.FIND_BY_NAME_ZIP, {**name, "zip": user["address"]["zip"]})
    by_email = Call(tools.FIND_BY_EMAIL, {"email": user["email"]})
    return Case(
        f"{kind.replace(' ', '-')}-{index:04}",
        expected=(by_email if login == "email" else by_name, seen, *draft.calls),
        instructions=instructions(about),
        completion=completion(about),
        scenario_type=kind,
        data={"plan": about},
    )


def _mistyped(email: str, chance: Random) -> str:
    """The address with something missing, so that it is none: nobody need be looked for in vain."""
    return chance.choice((email.rpartition(".")[0], email.replace("@", "")))


def plans(records: Records, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
    """The plans from `start` on."""
    return [plan(records, index, seed=seed, balance=balance) for index in range(start, start + number)]
