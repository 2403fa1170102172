"""Plan generation: which user has which goals, what they volunteer, and the calls that a correct agent makes.

A plan depends only on the seed and its index. Kinds of plan come in rounds that are shuffled by the seed, so that every stretch of plans
has all kinds in the proportions of `KIND_WEIGHTS`, or equally often if they are balanced. The same holds for the variants of each kind and
for the login methods.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from callmark import Call, Case
from callmark.worlds.retail import tools
from callmark.worlds.retail.plans import order_goals, question_goals
from callmark.worlds.retail.plans.draft import PlanDraft
from callmark.worlds.retail.plans.instructions import write_completion_condition, write_instructions
from callmark.worlds.retail.plans.swap_goals import SWAP_WEIGHTS, add_swap
from callmark.worlds.retail.plans.volunteered_slots import choose_volunteered_slots
from callmark.worlds.retail.store.records import Records, Row

STYLES = ("plain", "plain", "chatty", "terse", "polite", "impatient", "unsure")
LOGIN_WEIGHTS = {"email": 13, "name and zip": 5, "mistyped email": 2}
BALANCED_LOGIN_WEIGHTS = {"email": 5, "name and zip": 4, "mistyped email": 1}
FURTHER_GOAL_RATES = (0.16, 0.25)  # shares of plans with one goal that get a second, and of those with two that get a third
HUMAN_REQUEST_RATE = 0.12  # after a refusal


class GoalKind(NamedTuple):
    """How to add a goal of a kind, the weights of its variants, and the variants that may follow another goal."""

    add: Callable[[PlanDraft, str], bool]
    variants: Mapping[str, int]
    follow_up_variants: tuple[str, ...] = ()


GOAL_KINDS = {
    "exchange": GoalKind(lambda draft, variant: add_swap(draft, "exchange", variant), SWAP_WEIGHTS, ("same price", "costs less")),
    "order items": GoalKind(lambda draft, variant: add_swap(draft, "order items", variant), SWAP_WEIGHTS, ("same price",)),
    "order address": GoalKind(order_goals.add_order_address_change, order_goals.ORDER_ADDRESS_WEIGHTS, ("changed",)),
    "return": GoalKind(order_goals.add_return, order_goals.RETURN_WEIGHTS, ("one item", "whole order")),
    "cancel": GoalKind(order_goals.add_cancellation, order_goals.CANCELLATION_WEIGHTS, ("no longer needed", "ordered by mistake")),
    "order payment": GoalKind(order_goals.add_payment_change, order_goals.PAYMENT_WEIGHTS, ("changed",)),
    "default address": GoalKind(order_goals.add_default_address_change, order_goals.DEFAULT_ADDRESS_WEIGHTS, ("changed",)),
    "product question": GoalKind(question_goals.add_product_question, question_goals.PRODUCT_QUESTION_WEIGHTS, ("count", "available")),
    "price question": GoalKind(question_goals.add_price_question, question_goals.PRICE_QUESTION_WEIGHTS, ("total",)),
    "order status": GoalKind(question_goals.add_order_question, question_goals.ORDER_QUESTION_WEIGHTS, ("status", "items")),
    "transfer": GoalKind(question_goals.add_transfer, question_goals.TRANSFER_WEIGHTS),
    "other customer": GoalKind(question_goals.add_other_customer_question, question_goals.OTHER_CUSTOMER_WEIGHTS),
}
KIND_WEIGHTS = {
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
    *(f"login: {login}" for login in LOGIN_WEIGHTS),
    "order: number not known",
    "order: wrong number first",
    *(f"{kind}: {variant}" for kind, goal_kind in GOAL_KINDS.items() for variant in goal_kind.variants),
    "goals: two",
    "goals: three",
    "refused: asked why",
    "refused: asked for a person",
)


def make_plan(records: Records, index: int, *, seed: int, balance: bool = False) -> Case:
    """Return the plan with that index, starting at 0."""
    rng = Random(f"{seed}/{index}/{balance}/plan")
    kind, place = _take_turn(KIND_WEIGHTS if not balance else dict.fromkeys(GOAL_KINDS, 1), index, f"{seed}/kinds/{balance}")
    draft = PlanDraft(records, rng, records.shuffled_orders(f"{seed}/{kind}", place))
    variant, _ = _take_turn(GOAL_KINDS[kind].variants, place, f"{seed}/{kind}")
    if not GOAL_KINDS[kind].add(draft, variant):
        raise LookupError(f"the store has no order for a plan {kind}: {variant}")
    draft.branches.append(f"{kind}: {variant}")
    _add_further_goals(draft)
    login, _ = _take_turn(LOGIN_WEIGHTS if not balance else BALANCED_LOGIN_WEIGHTS, index, f"{seed}/login")
    return _make_case(draft, kind, index, seed=seed, login=login)


def _take_turn(weights: Mapping[str, int], place: int, seed: str) -> tuple[str, int]:
    """Return the name at a position of the weighted rotation, and how often it occurred before. Each round is shuffled again."""
    size = sum(weights.values())
    round_index, position = divmod(place, size)
    rotation = [name for name, weight in weights.items() for _ in range(weight)]
    Random(f"{seed}/{round_index}").shuffle(rotation)
    return rotation[position], round_index * weights[rotation[position]] + rotation[:position].count(rotation[position])


def _add_further_goals(draft: PlanDraft) -> None:
    """Add further goals to some plans, of other kinds and about other orders. After a refusal, the user may ask for a human instead."""
    last = draft.goals[-1]
    if last["outcome"] == "refused" and last["refusal_reaction"] == "accepts" and draft.rng.random() < HUMAN_REQUEST_RATE:
        question_goals.add_human_request(draft, after_refusal=True)
    for rate in FURTHER_GOAL_RATES[len(draft.goals) - 1 :]:
        if draft.goals[-1]["outcome"] == "transferred" or draft.rng.random() >= rate:
            break
        taken = [goal["kind"] for goal in draft.goals]
        candidates = [
            (kind, variant) for kind, goal_kind in GOAL_KINDS.items() if kind not in taken for variant in goal_kind.follow_up_variants
        ]
        draft.rng.shuffle(candidates)
        branch = next((f"{kind}: {variant}" for kind, variant in candidates if GOAL_KINDS[kind].add(draft, variant)), None)
        if branch is None:  # a user with a single order who already has every goal that needs no order
            break
        draft.branches.append(branch)
    if draft.goals[-1]["after_refusal"]:
        draft.branches.append("refused: asked for a person")
    if any(goal["refusal_reaction"] == "asks why" for goal in draft.goals):
        draft.branches.append("refused: asked why")
    if len(draft.goals) > 1:
        draft.branches.append("goals: two" if len(draft.goals) == 2 else "goals: three")


def _make_case(draft: PlanDraft, kind: str, index: int, *, seed: int, login: str) -> Case:
    user = draft.user
    name, volunteered_slots = user["name"], choose_volunteered_slots(draft)
    plan: Row = {
        "type": kind,
        "branches": list(dict.fromkeys([f"login: {login}", *draft.branches])),
        "customer": {"user_id": user["user_id"], **name, "email": user["email"], "zip": user["address"]["zip"]},
        "login": login,
        "mistyped_email": _mistype_email(user["email"], draft.rng) if login == "mistyped email" else "",
        "volunteered_slots": volunteered_slots,
        "style": draft.rng.choice(STYLES),
        "goals": draft.goals,
        "seed": seed,
    }
    details_call = Call(tools.GET_USER, {"user_id": user["user_id"]})
    name_call = Call(tools.FIND_BY_NAME_ZIP, {**name, "zip": user["address"]["zip"]})
    email_call = Call(tools.FIND_BY_EMAIL, {"email": user["email"]})
    return Case(
        f"{kind.replace(' ', '-')}-{index:04}",
        expected=(email_call if login == "email" else name_call, details_call, *draft.calls),
        instructions=write_instructions(plan),
        completion=write_completion_condition(plan),
        scenario_type=kind,
        data={"plan": plan},
    )


def _mistype_email(email: str, rng: Random) -> str:
    """Return the address with a part missing, so that it is invalid and nobody needs to be looked up."""
    return rng.choice((email.rpartition(".")[0], email.replace("@", "")))


def make_plans(records: Records, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
    """Return `number` plans from the index `start` on."""
    return [make_plan(records, index, seed=seed, balance=balance) for index in range(start, start + number)]
