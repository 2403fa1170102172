"""Which slots users volunteer with their greeting and with each goal. The agent asks for the rest."""

from collections.abc import Mapping

from callmark.worlds.retail.plans.draft import Goal, PlanDraft, price_difference

_GOAL_RATE, _LOGIN_RATE = 0.93, 0.55  # of greetings that contain them
_SLOT_RATES: Mapping[str, Mapping[str, float]] = {  # by kind of goal: how often each slot is volunteered with it
    "cancel": {"order": 0.75, "reason": 0.5},
    "order address": {"order": 0.75, "address": 0.6},
    "default address": {"address": 0.65},
    "order items": {"order": 0.7, "items": 0.9, "replacement": 0.8},
    "exchange": {"order": 0.7, "items": 0.9, "replacement": 0.8},
    "return": {"order": 0.7, "items": 0.9, "payment": 0.35},
    "order payment": {"order": 0.7, "payment": 0.65},
    "order status": {"order": 0.8},
    "price question": {"order": 0.75, "items": 1, "replacement": 1},
    "human": {"topic": 0.5},
    "beyond scope": {"topic": 1},
    "other customer": {"order": 1},
}


def choose_volunteered_slots(draft: PlanDraft) -> list[str]:
    """Return the contents of the greeting after the hello, and set the volunteered slots of each goal."""
    for goal in draft.goals:
        goal["volunteered_slots"] = _choose_slots(draft, goal)
    return [slot for slot, rate in (("goal", _GOAL_RATE), ("login", _LOGIN_RATE)) if draft.rng.random() < rate]


def _choose_slots(draft: PlanDraft, goal: Goal) -> list[str]:
    chances = dict(_SLOT_RATES.get(goal["kind"], {}))
    if goal["refusal_reason"] == "part of an order":
        chances["items"] = 1
    if goal["same_address"]:
        chances["address"] = 1
    if goal["after_refusal"]:
        chances["topic"] = 1
    if goal["kind"] in ("order items", "exchange") and not goal["other_product"] and price_difference(goal["items"]):
        chances["payment"] = 0.3
    slots = [slot for slot, rate in chances.items() if draft.rng.random() < rate]
    if goal["kind"] in ("order items", "exchange") and "items" not in slots:
        slots = [slot for slot in slots if slot != "replacement"]
    return slots
